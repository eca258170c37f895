"""From a `Problem` to a `Solution`: transcribe once, then follow the relaxation from each start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from codesign.errors import ProblemError, SolverError
from codesign.solve.checks import require_numbers
from codesign.solve.guesses import FROM_SOLUTION, chosen_guess, require_guess
from codesign.solve.homotopy import RELAXATIONS, Solvers
from codesign.solve.ipopt import StopRequest, interrupt_stops
from codesign.solve.parallel import Crashed, Outcome, parallel
from codesign.solve.progress import Progress, ProgressFunction, TerminalProgress, default_progress
from codesign.solve.starts_record import CRASHED, NO_ROBOT, StartRecord
from codesign.solve.strategy import DEFAULT, Strategy, require_solver
from codesign.solve.transcribed import MAX_ITERATIONS, Beginning, Transcription, transcribe

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solution import Solution
    from codesign.tasks import Tasks
    from codesign.tasks.solving import JointTranscription


def solve(
    problem: Problem | Tasks,
    *,
    seed: int = 0,
    starts: int = 1,
    jobs: int = 1,
    start: Solution | str | Path | None = None,
    time_limit: float | None = None,
    max_iterations: int = MAX_ITERATIONS,
    relaxations: Sequence[float] = RELAXATIONS,
    progress: ProgressFunction | None = None,
    guess: str | None = None,
    solver: str = DEFAULT.solver,
    strategy: Strategy = DEFAULT,
) -> Solution:
    """Solve a problem from one or several random starts and return the best answer.

    Args:
        problem: the robot and the task.
        seed: seed of the first start; further starts use seed + 1, seed + 2, …
        starts: number of random starts; what came of each is in the answer's `starts`.
        jobs: processes that take starts at the same time; 1 solves them here, one by one. The
            answer to a seed is the same.
        start: an earlier solution, or the folder of a saved one, to begin from instead of a random
            start.
        time_limit: wall time from the call on, at which the solver is stopped; building counts but
            is not cut short; [s].
        max_iterations: most iterations of each stage.
        relaxations: complementarity relaxations ε to pass through, decreasing.
        progress: called while the solve runs; None draws a line on a terminal and is silent
            elsewhere.
        guess: what random starts are made of, see `codesign.solve.guesses`; None takes the
            problem's keyframes, and an automatic start where it gives none.
        solver: one of `codesign.solve.strategy.SOLVERS`.
        strategy: how the program is stated and solved; its solver is the one named here.

    Raises:
        ProblemError: the problem is stated wrongly.
        SolverError: a setting is out of range.
    """
    from codesign.problem import Problem

    _check_settings(seed, starts, jobs, time_limit, max_iterations, relaxations)
    require_solver(solver)
    if strategy != DEFAULT and (jobs > 1 or not isinstance(problem, Problem)):
        raise SolverError("a strategy is followed for one task in one process: use jobs=1")
    strategy = replace(strategy, solver=solver)
    first = _solution_to_start_from(start, problem)
    if progress is not None and not callable(progress):
        raise SolverError(f"progress is {progress!r}; it must be a function of a Progress")
    require_guess(guess)
    if first is not None and guess is not None:
        raise SolverError("give a start or a guess, not both")
    made_of = FROM_SOLUTION if first is not None else guess
    if first is None and isinstance(problem, Problem):
        made_of = chosen_guess(problem, guess)
    began = time.monotonic()
    report = default_progress() if progress is None else progress
    stop = StopRequest(began + time_limit if time_limit is not None else float("inf"))
    report(Progress("build"))
    seeds = range(seed, seed + starts)
    if jobs > 1 and starts > 1:
        _check_markers(problem)
        options = {"start": first, "max_iterations": max_iterations, "relaxations": relaxations}
        options["solver"] = solver
        options["guess"] = None if first is not None else made_of
        outcomes = parallel(problem, seeds, jobs, options, stop)
    else:
        ready = _stated(problem, strategy.formulation)
        solvers = ready.solvers(max_iterations, strategy)
        _check_markers(problem)
        since = began if starts == 1 else None
        outcomes = _one_by_one(
            problem, ready, solvers, seeds, (made_of, first), relaxations, stop, report, since
        )
    try:
        with interrupt_stops(stop):
            return _best(outcomes, starts, report, began)
    finally:
        if isinstance(report, TerminalProgress):
            report.close()


def _check_markers(problem: Problem | Tasks) -> None:
    """Refuse markers that are no points, before the solve rather than after it."""
    from codesign.problem import Problem
    from codesign.solution import checked_markers

    for part in [problem] if isinstance(problem, Problem) else problem.problems.values():
        checked_markers(part, part.plant.space.as_dict(part.plant.space.initial))


def _stated(problem: Any, formulation: str) -> Any:
    """Return a problem's transcription in a formulation; each is made once."""
    ready = problem.transcription
    if formulation == DEFAULT.formulation:
        return ready
    if formulation not in ready.variants:
        ready.variants[formulation] = transcribe(problem, formulation)
    return ready.variants[formulation]


def _one_by_one(
    problem: Any,
    ready: Transcription | JointTranscription,
    solvers: Solvers,
    seeds: Iterable[int],
    beginning: Beginning,
    relaxations: Sequence[float],
    stop: StopRequest,
    report: ProgressFunction,
    since: float | None,
) -> Iterator[Outcome]:
    """Solve from one seed after the other, here; the first one even if there is no time.

    ``since`` is when the only start began, building included; None for several.
    """
    for seed in seeds:
        began = time.monotonic() if since is None else since
        try:
            found: Any = ready.solve_once(
                problem, solvers, seed, beginning, relaxations, stop, report, began
            )
        except ProblemError as error:  # this start ended at a design that is no robot
            found = error
        yield seed, found, time.monotonic() - began
        if stop:
            return


def _best(
    outcomes: Iterable[Outcome], starts: int, report: ProgressFunction, began: float
) -> Solution:
    """Return the best of several solutions, with the records of all.

    Raises:
        CodesignError: no start came to a solution; the last one's reason.
    """
    best: Solution | None = None
    failure: Exception | None = None
    records: dict[int, StartRecord] = {}
    for seed, found, seconds in outcomes:
        if isinstance(found, Exception):
            failure = found
            status = CRASHED if isinstance(found, Crashed) else NO_ROBOT
            records[seed] = StartRecord.without_solution(seed, status, str(found), seconds)
        else:
            records[seed] = StartRecord.of(found)
            best = found if best is None or _is_better(found, best) else best
        if starts > 1:
            note = f"{len(records)} of {starts} starts"
            note += f", best {best.objective:.4g} (seed {best.seed})" if best is not None else ""
            report(Progress("starts", seconds=time.monotonic() - began, note=note))
    if best is None:
        raise failure or SolverError("stopped before the first start")
    if starts == 1:
        return best
    return replace(best, starts=tuple(records[seed] for seed in sorted(records)))


def _check_settings(
    seed: Any, starts: Any, jobs: Any, time_limit: Any, max_iterations: Any, relaxations: Any
) -> None:
    for name, value, least in (
        ("seed", seed, 0),
        ("starts", starts, 1),
        ("jobs", jobs, 1),
        ("max_iterations", max_iterations, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise SolverError(f"{name} is {value!r}; it must be a whole number, {least} or more")
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and time_limit > 0):
        raise SolverError(f"time_limit is {time_limit!r}; it must be a positive number of seconds")
    try:
        values = np.asarray(relaxations, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not len(values) or not np.all(np.diff(values) < 0) or not values[-1] > 0:
        raise SolverError(f"relaxations are {relaxations!r}; they must be positive and decrease")


def _solution_to_start_from(start: Any, problem: Problem | Tasks) -> Any:
    """Return the solution to start from: one of a single problem, for `Tasks` one of `Tasks` too.

    Raises:
        SolverError: it is neither that nor the folder of one.
    """
    from codesign.problem import Problem
    from codesign.solution import Solution, load
    from codesign.tasks.solution import TasksSolution

    found = load(start) if isinstance(start, str | Path) else start
    if isinstance(found, TasksSolution) and isinstance(problem, Problem):
        names = ", ".join(f"'{name}'" for name in found.tasks)
        raise SolverError(
            f"start holds several tasks ({names}); give one of them: start.tasks[name], or its "
            "folder tasks/NAME"
        )
    if found is not None and not isinstance(found, Solution | TasksSolution):
        raise SolverError(
            f"start is a {type(start).__name__}; it must be a Solution or the folder of a saved one"
        )
    for one in found.tasks.values() if isinstance(found, TasksSolution) else [found]:
        if one is not None:
            require_numbers(one)
    return found


def _is_better(a: Solution, b: Solution) -> bool:
    if a.success != b.success:
        return a.success
    if a.success:
        return a.objective < b.objective
    return a.audit.max_violation < b.audit.max_violation
