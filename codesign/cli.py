"""The command line: list, solve, refine, show, replay, export, robots, compile.

Exit status: 0 done, 1 solved nothing (the report says why), 2 bad input (one line on stderr).
Heavy packages are imported inside the commands, so that help and mistakes are quick.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codesign.commands.extras import (
    beside_specialists,
    motor_folder,
    require_tasks,
    with_real_motor,
)
from codesign.commands.output import columns, drop_output, replay_note, say, summary, warn
from codesign.errors import CodesignError, ProblemError, SolutionError

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solution import Solution
    from codesign.tasks import Tasks, TasksSolution

app = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    rich_markup_mode=None,
    help="Find a robot's dimensions, masses, motors and motion together.",
)

_INTERRUPTED = 130  # what typer makes of Ctrl-C

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="An option or parameter; may be repeated."),
]


@app.command("list")
def list_command() -> None:
    """List the problems that come with codesign."""
    import importlib

    entries = importlib.import_module("problems").registry()
    say(columns([[entry.name, entry.summary] for entry in entries.values()]))


@app.command("solve")
def solve_command(
    problem: Annotated[str, typer.Argument(help="A name from `list`, or path/to/file.py:Class.")],
    seed: Annotated[int, typer.Option(help="Seed of the random start.")] = 0,
    starts: Annotated[
        int, typer.Option(help="Seeds to try, from --seed on; the best is kept.")
    ] = 1,
    jobs: Annotated[int, typer.Option(help="Starts solved at the same time.")] = 1,
    knots: Annotated[int | None, typer.Option(help="Knots, instead of the problem's own.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Wall time [s].")] = None,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="Result folder, replaced; default out/NAME.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the path alone.")] = False,
    alone: Annotated[
        bool,
        typer.Option(
            "--specialists", help="Of tasks that share a design: also solve each task alone."
        ),
    ] = False,
    choose: Annotated[
        bool,
        typer.Option(
            "--choose-motor", help="Then solve with the smallest real motor, into DIR-motor."
        ),
    ] = False,
    solver: Annotated[str, typer.Option(help="ipopt, or uno for a second opinion.")] = "ipopt",
    guess: Annotated[
        str | None,
        typer.Option(help="What the start is made of: keyframes, home, automatic or improved."),
    ] = None,
) -> None:
    """Solve a problem; the last line printed is the path of the report.

    --set takes the problem's options, e.g. --set beta=1.0; those of one task of several as
    --set step.knots=31.
    """
    from codesign.problem_source import make_problem, problem_class
    from codesign.result_folder import check_result_folder

    kind = problem_class(problem)
    given = [*(settings or ()), *([f"knots={knots}"] if knots is not None else [])]
    task = make_problem(kind, given)
    folder = out if out is not None else Path("out") / _folder_name(problem, kind)
    check_result_folder(folder)
    require_tasks(task, alone)
    beside = motor_folder(task, folder) if choose else None
    choice = None
    with _user_code(task):
        solution = _solve(task, seed, starts, jobs, time_limit, quiet, solver, guess)
        if alone:
            solution = beside_specialists(task, solution, seed, starts, jobs, time_limit)
        if choose and solution.success:
            choice = with_real_motor(task, solution, time_limit, quiet)
            solution = choice.continuous
        elif choose:
            warn("no motor is chosen, as the solve before it is no success")
    command = _command_again(problem, seed, starts, time_limit, given, out, alone)
    command += " --choose-motor" if choose else ""
    command += f" --solver {solver}" if solver != "ipopt" else ""
    command += f" --guess {guess}" if guess is not None else ""
    for note in _saved(solution, folder, command):
        warn(note)
    chosen = choice if choice is not None and choice.success else None
    if chosen is not None and beside is not None:
        for note in _saved(chosen.solution, beside, command):
            warn(note)
    if not quiet:
        say(f"{summary(solution)}\n{replay_note(folder)}")
        if chosen is not None and beside is not None:
            say(str(beside / "report.html"))
    say(str(folder / "report.html"))
    if not solution.success or (choice is not None and chosen is None):
        raise typer.Exit(1)


@app.command("refine")
def refine_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that a solve wrote.")],
    out: Annotated[Path, typer.Option(help="Result folder, replaced; may be DIR itself.")],
    change: Annotated[
        float | None, typer.Option(help="Most change of the objective between meshes.")
    ] = None,
    energy: Annotated[
        float | None,
        typer.Option(help="Most energy from the integrator, as a share of the actuator work."),
    ] = None,
    floor: Annotated[
        float | None, typer.Option(help="A change of the objective below this is none [its unit].")
    ] = None,
    most_knots: Annotated[int | None, typer.Option(help="Knots of the finest mesh.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Wall time [s].")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the path alone.")] = False,
) -> None:
    """Split every interval in two and solve again, until the mesh no longer decides the answer.

    The problem is read again from its file. What was refined before goes on from its finest mesh.
    Exit status 1 where the thresholds were not reached; the finest solution is written then too.
    """
    from codesign.result_folder import check_result_folder
    from codesign.solve.refine import problem_of
    from codesign.storage import load_solution

    check_result_folder(out)
    coarse = load_solution(folder)
    stated = {"change": change, "energy": energy, "floor": floor, "most_knots": most_knots}
    given = {name: value for name, value in stated.items() if value is not None}
    options: dict[str, Any] = given | {"time_limit": time_limit}
    if quiet:
        options["progress"] = lambda progress: None
    task = problem_of(coarse)
    with _user_code(task):
        solution = coarse.refine(problem=task, **options)
    words = ["codesign", "refine", str(folder), "--out", str(out)]
    for name, value in (given | ({"time_limit": time_limit} if time_limit else {})).items():
        words += [f"--{name.replace('_', '-')}", f"{value:g}"]
    for note in _saved(solution, out, shlex.join(words)):
        warn(note)
    if not quiet:
        say(f"{summary(solution)}\n{replay_note(out)}")
    say(str(out / "report.html"))
    if not solution.is_mesh_converged:
        raise typer.Exit(1)


@app.command("show")
def show_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that a solve wrote.")],
) -> None:
    """Show a saved solution: verdict, design, what took how long.

    Exit status 0 for a solve that failed too: it is shown. The verdict is in the first line.
    """
    from codesign import load

    say(summary(load(folder)))


@app.command("export")
def export_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that a solve wrote.")],
    out: Annotated[Path, typer.Option(help="Folder to write the robot to.")],
) -> None:
    """Write the robot of a saved solution as MJCF and URDF."""
    from codesign.storage import load_solution

    solution = load_solution(folder)
    if not solution.success:
        warn(f"this solution is no success ({solution.message}); exported as it is")
    say(str(solution.export(out) / "robot.xml"))


@app.command("replay")
def replay_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that a solve wrote.")],
) -> None:
    """Simulate a saved solution's plan in MuJoCo under feedback; writes DIR/replay.json."""
    from codesign.storage import load_solution

    result = load_solution(folder).replay()
    try:
        result.save(folder / "replay.json")
    except OSError as error:
        raise SolutionError(f"cannot write to '{folder}': {error.strerror}") from error
    rows = [
        [name, ("yes" if value else "no") if isinstance(value, bool) else f"{value:.4g}"]
        for name, value in result.to_json().items()
    ]
    say(columns([[name.replace("_", " "), value] for name, value in rows]))


@app.command("robots")
def robots_command() -> None:
    """List the robots that come with codesign."""
    from draft_core.robots import ROBOTS

    say(columns([[robot.name, robot.summary] for robot in ROBOTS.values()]))


@app.command("compile")
def compile_command(
    robot: Annotated[
        str, typer.Argument(metavar="ROBOT", help="A robot folder, or a name from `robots`.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write the robot to.")],
    settings: Settings = None,
    overrides: Annotated[
        list[Path] | None,
        typer.Option(help="YAML file of parameters; may be repeated. --set comes after."),
    ] = None,
) -> None:
    """Compile a robot to MJCF and URDF, or refuse it and write nothing."""
    import draft_core
    from codesign.problem_source import parse_setting

    pairs = dict(parse_setting(setting) for setting in settings or ())
    loaded = draft_core.load(robot, [*(overrides or ()), pairs])
    from draft_core.export import Refused

    try:
        compiled = loaded.compile(out=out)
    except Refused as refusal:
        say(refusal.report.table())
        raise
    assert compiled.report is not None
    say(compiled.report.table())
    say(str(out / "robot.xml"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: what follows the program's name; the process's own by default.
    """
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        status = app(words, standalone_mode=False, prog_name="codesign")
        if status == _INTERRUPTED:
            raise KeyboardInterrupt
        return status if isinstance(status, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except BrokenPipeError:
        drop_output()
        return 0
    except _InterruptedSaving as stop:
        return _refuse(str(stop), 1)
    except (KeyboardInterrupt, typer.Abort):
        return _refuse("interrupted before there was anything to keep; nothing is written", 1)
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        return _refuse(message, 1 if type(error).__name__ == "Refused" else 2)


class _InterruptedSaving(Exception):
    """Ctrl-C while a result was written; says what the folder holds now."""


def _saved(solution: Solution | TasksSolution, folder: Path, command: str) -> tuple[str, ...]:
    """Save a solution and return what could not be drawn of it."""
    from codesign.solve.ipopt import StopRequest, interrupt_stops
    from codesign.storage import save
    from codesign.tasks import TasksSolution
    from codesign.tasks.storage import save_tasks
    from draft_core.swap import identity

    before, asked = identity(folder), StopRequest()
    try:
        with interrupt_stops(asked):  # a first Ctrl-C waits: a result is worth more than seconds
            if isinstance(solution, TasksSolution):
                notes = save_tasks(solution, folder, command)
            else:
                notes = save(solution, folder, command)
        if asked.interrupted:
            raise KeyboardInterrupt
        return notes
    except KeyboardInterrupt:
        after = identity(folder)
        if after is None:
            told = "nothing is written"
        elif after == before:
            told = f"'{folder}' is as it was"
        else:
            told = f"'{folder}' holds the new result"
        raise _InterruptedSaving(f"interrupted while saving: {told}") from None


def _message(error: Exception) -> str | None:
    """What to tell about a mistake of the user; None for a mistake of ours."""
    usage = typer.BadParameter.__mro__[2]  # typer's own base of every usage error
    if isinstance(error, usage):
        return _usage_message(error)
    mistakes: list[type[Exception]] = [CodesignError]
    for module, name in (("draft_core.errors", "DraftError"), ("codesign.tracing", "TracingError")):
        if module in sys.modules:
            mistakes.append(getattr(sys.modules[module], name))
    if isinstance(error, OSError) and error.filename is not None:  # a path nothing can be done with
        return f"'{str(error.filename)[:120]}': {error.strerror}"
    return str(error) if isinstance(error, tuple(mistakes)) else None


def _usage_message(error: Any) -> str:
    message = " ".join(str(error.format_message()).split())
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "codesign"
    if message.startswith("No such command"):
        names = sorted(getattr(context.command, "commands", {})) if context is not None else []
        return f"{message} Commands: {', '.join(names)}"
    return f"{message} See: {path} --help"


def _refuse(message: str, status: int) -> int:
    warn(" ".join(message.split()))
    return status


def _folder_name(source: str, kind: type) -> str:
    return kind.__name__.lower() if ".py" in source else source


def _solve(
    task: Problem | Tasks,
    seed: int,
    starts: int,
    jobs: int,
    time_limit: float | None,
    quiet: bool,
    solver: str,
    guess: str | None,
) -> Solution | TasksSolution:
    options: dict[str, Any] = {"seed": seed, "time_limit": time_limit}
    if solver != "ipopt":
        options["solver"] = solver
    if guess is not None:
        options["guess"] = guess
    if starts != 1 or jobs != 1:
        options |= {"starts": starts, "jobs": jobs}
    if quiet:
        options["progress"] = lambda progress: None
    return task.solve(**options)


@contextlib.contextmanager
def _user_code(task: Problem | Tasks) -> Iterator[None]:
    """Tell an error that a user's objective or constraint raises by its line in their file."""
    import inspect

    from codesign.problem_source import describe, is_from

    try:
        yield
    except Exception as error:
        path = Path(inspect.getfile(type(task))).resolve()
        if _message(error) is not None or not is_from(error, path):
            raise
        raise ProblemError(describe(error, path)) from error


def _command_again(
    problem: str,
    seed: int,
    starts: int,
    time_limit: float | None,
    settings: Sequence[str],
    out: Path | None,
    alone: bool,
) -> str:
    words = ["codesign", "solve", problem, "--seed", str(seed)]
    words += ["--starts", str(starts)] if starts != 1 else []
    words += ["--time-limit", f"{time_limit:g}"] if time_limit is not None else []
    for setting in settings:
        words += ["--set", setting]
    words += ["--specialists"] if alone else []
    words += ["--out", str(out)] if out is not None else []
    return shlex.join(words)


if __name__ == "__main__":
    sys.exit(main())
