"""Solutions on disk: solution.json, trajectory.npz, replay.json, robots, report.html. No pickle.

A result is saved whole or not at all, and what is read back is checked: files against the digests
in solution.json, arrays against the robot and against each other, the verdict against its numbers.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import draft_core
from codesign.errors import SolutionError
from codesign.record import Record, decode, encode, number
from codesign.replay import Replay
from codesign.result_folder import check_result_folder
from codesign.solution import Solution
from codesign.solve.status import SolveStatus
from codesign.terrain import Relief
from codesign.terrain.relief import FLAT_NAME
from draft_core import Robot
from draft_core.errors import DraftError
from draft_core.export import Refused, write_refused
from draft_core.swap import replacing

SOURCE = "robot_source"
RESOLVED = "robot/parameters_resolved.yaml"
ARRAYS = ("t", "q", "v", "u", "contact_force", "dt", "normal", "tangent", "slide")
GROUND = "ground_"  # begins the names of the arrays of a ground that is not level
_SAME = 1e-9  # relative: a number that was written and read back
_CLOCK = 1e-6  # of the duration: times and the sum of the steps agree


def save(solution: Solution, folder: Path, command: str | None = None) -> tuple[str, ...]:
    """Write a solution to a folder, whole or not at all; see `Solution.save`.

    Returns:
        What could not be drawn or simulated, and why; the rest is saved all the same.
    """
    check_result_folder(folder)
    try:
        with replacing(folder) as stage:
            return write_solution(solution, stage, command)
    except DraftError as error:
        raise SolutionError(f"cannot write the solution to '{folder}': {error}") from error
    except OSError as error:
        why = error.strerror or error
        raise SolutionError(f"cannot write the solution to '{folder}': {why}") from error


def write_solution(solution: Solution, stage: Path, command: str | None) -> tuple[str, ...]:
    """Write a solution into an empty folder; see `save`.

    Raises:
        DraftError: its robot cannot be written.
        OSError: the disk refuses.
    """
    _write_result(solution, stage)
    replay, notes = _replayed(solution)
    if replay is not None:
        replay.save(stage / "replay.json")
    page, undrawn = _page(solution, command, replay, notes)
    (stage / "report.html").write_text(page, encoding="utf-8")
    return (*notes, *undrawn)


def _write_result(solution: Solution, stage: Path) -> None:
    """Write what the solve found: everything that cannot be made again."""
    source = stage / SOURCE
    source.mkdir()
    files = {f"{SOURCE}/{name}": content for name, content in solution.robot_source.items()}
    files["trajectory.npz"] = _packed(solution)
    for name, content in files.items():
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        (stage / name).write_bytes(content)
    try:
        solution.export(stage / "robot")
    except Refused as refusal:  # the report says why; there is no robot to write
        write_refused(solution.robot.tree, solution.design, refusal.report, stage / "robot")
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    (stage / "solution.json").write_text(encode(solution, digests), encoding="utf-8")


def _packed(solution: Solution) -> bytes:
    stream = io.BytesIO()
    arrays = {name: getattr(solution, name) for name in ARRAYS}
    if solution.relief is not None:
        arrays |= {GROUND + key: value for key, value in vars(solution.relief).items()}
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def _replayed(solution: Solution) -> tuple[Replay | None, tuple[str, ...]]:
    """Return the replay of a success, or why there is none."""
    if not solution.success:
        return None, ()
    if solution.relief is None and solution.terrain != FLAT_NAME:
        where = f"ground '{solution.terrain}' has no finite height everywhere around the motion"
        return None, (f"the plan is not replayed: {where}",)
    try:
        return solution.replay(), ()
    except Exception as error:  # a solve is worth more than its replay
        return None, (f"the plan could not be replayed: {_reason(error)}",)


def _page(
    solution: Solution, command: str | None, replay: Replay | None, remarks: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """Return the report, or a page that says why there is none."""
    from codesign.report.page import report_html

    try:
        page = report_html(
            solution,
            solution.compile(),
            question=solution.question or None,
            markers=solution.markers,
            command=command,
            replay=replay,
            remarks=remarks,
        )
        page.encode()  # lone surrogates of a user's text are found here, not on the disk
    except Exception as error:  # a solve is worth more than its report
        note = f"the report could not be drawn: {_reason(error)}"
        return _PLAIN_PAGE.format(escape(solution.problem), escape(note)), (note,)
    return page, ()


_PLAIN_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{0}</title>'
    "<h1>{0}</h1><p>{1}.</p><p>The solution itself is whole: see solution.json.</p></html>\n"
)


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()).encode(errors="replace").decode()[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def load_solution(folder: Path) -> Solution:
    """Read a saved solution of one problem; see `codesign.load`.

    Raises:
        SolutionError: the folder holds none, or several tasks that share a design.
    """
    tasks = task_folders(folder)
    if tasks:
        raise SolutionError(
            f"'{folder}' holds several tasks that share a design; give the folder of one: "
            f"{', '.join(str(place) for place in tasks)}"
        )
    try:
        return _solution_in(folder)
    except FileNotFoundError as error:
        raise SolutionError(
            f"'{folder}' holds no solution: {Path(str(error.filename)).name} is missing. "
            "Give a folder that `codesign solve` wrote"
        ) from error
    except OSError as error:
        raise SolutionError(
            f"cannot read the solution in '{folder}': {error.strerror or error}"
        ) from error
    except (ValueError, MemoryError) as error:
        raise SolutionError(f"cannot read the solution in '{folder}': {error}") from error


def _solution_in(folder: Path) -> Solution:
    try:
        record = decode((folder / "solution.json").read_bytes())
    except SolutionError as error:
        raise SolutionError(f"solution.json: {error}") from None
    content = (folder / "trajectory.npz").read_bytes()
    source = folder / SOURCE
    _check_digests(record, {"trajectory.npz": content, **_source_bytes(source)})
    robot = _robot(source)
    arrays = _arrays(content)
    relief = _relief({name: arrays.pop(name) for name in list(arrays) if name not in ARRAYS})
    _check_shapes(record, arrays, robot)
    _check_verdict(record, arrays)
    _check_design(record, folder / RESOLVED)
    return _assemble(record, arrays, robot, relief)


def task_folders(folder: Path) -> list[Path]:
    """Return the folders of the tasks in a result of several; none for one of a single problem."""
    if (folder / "trajectory.npz").exists():
        return []
    return sorted(place.parent for place in folder.glob("tasks/*/solution.json"))


def _source_bytes(source: Path) -> dict[str, bytes]:
    paths = {path for path in source.rglob("*") if path.is_file()}
    paths |= {source / "parameters.yaml", source / "tree.yaml"}
    names = sorted(path.relative_to(source).as_posix() for path in paths)
    return {f"{SOURCE}/{name}": (source / name).read_bytes() for name in names}


def _check_digests(record: Record, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        if record.sha256.get(name) != hashlib.sha256(content).hexdigest():
            raise SolutionError(
                f"{name} is not the file that was saved with solution.json (its sha256 differs)"
            )


def _robot(source: Path) -> Robot:
    try:
        return draft_core.load(source)
    except DraftError as error:
        raise SolutionError(f"{SOURCE}: {error}") from error


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            names = [name for name in stored if name in ARRAYS or name.startswith(GROUND)]
            found = {name: np.asarray(stored[name]) for name in names}
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen kinds on foreign bytes
        raise SolutionError(f"trajectory.npz: {_reason(error)}") from error
    for name in ARRAYS:
        if name not in found:
            raise SolutionError(f"trajectory.npz has no array '{name}'")
    for name in found:
        if found[name].dtype.kind not in "fiu":
            raise SolutionError(f"trajectory.npz: '{name}' holds {found[name].dtype}, not numbers")
    return {name: values.astype(float) for name, values in found.items()}


def _relief(arrays: Mapping[str, np.ndarray]) -> Relief | None:
    """Return the ground that a trajectory.npz holds; None for level ground."""
    if not arrays:
        return None
    parts = [arrays.get(GROUND + name, np.zeros(0)) for name in ("x", "y", "height")]
    relief = Relief(*parts)
    if not relief.is_whole:
        raise SolutionError("trajectory.npz: 'ground_x', '_y' and '_height' describe no ground")
    return relief


def _check_shapes(record: Record, arrays: Mapping[str, np.ndarray], robot: Robot) -> None:
    """Check that arrays fit the robot and each other."""
    model, nc = robot.base_model, len(robot.contacts)
    knots = arrays["t"].shape[0] if arrays["t"].ndim == 1 else 0
    if knots < 2:
        raise SolutionError("trajectory.npz: 't' must be a list of two times or more")
    n = knots - 1
    wanted = {
        "t": (knots,),
        "q": (knots, model.nq),
        "v": (knots, model.nv),
        "u": (n, model.nu),
        "contact_force": (n, nc, 3),
        "dt": (n,),
        "normal": (n, nc),
        "tangent": (n, nc, 4),
        "slide": (n, nc),
    }
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise SolutionError(
                f"trajectory.npz: '{name}' has shape {arrays[name].shape}; {knots} knots of robot "
                f"'{robot.name}' need {shape}"
            )
    for name, work in _works(record).items():
        if len(work) != n:
            raise SolutionError(f"solution.json: energy.{name} has {len(work)} entries, not {n}")
    for name in record.design:
        if name not in robot.parameters:
            raise SolutionError(f"solution.json: robot '{robot.name}' has no parameter '{name}'")


def _works(record: Record) -> dict[str, list[Any]]:
    energy = record.energy
    return {
        "change": energy.change,
        "actuator_work": energy.actuator_work,
        "contact_work": energy.contact_work,
        "damping_work": energy.damping_work,
        "numerical_energy": energy.numerical_energy,
    }


def _check_verdict(record: Record, arrays: Mapping[str, np.ndarray]) -> None:
    """Check that a success is one by its own numbers."""
    is_solved = record.status is SolveStatus.SOLVED
    if record.success != is_solved:
        raise SolutionError(
            f"solution.json: success is {record.success}, yet its status is '{record.status}'"
        )
    if not is_solved:
        return
    for name, values in arrays.items():
        if not np.all(np.isfinite(values)):
            raise SolutionError(f"trajectory.npz: '{name}' of a solved problem is not finite")
    clock = np.concatenate([[0.0], np.cumsum(arrays["dt"])])
    if np.any(arrays["dt"] <= 0) or np.any(np.abs(arrays["t"] - clock) > _CLOCK * clock[-1]):
        raise SolutionError("trajectory.npz: 't' is not the sum of the time steps 'dt'")
    verdict = record.audit()
    if not (verdict.is_feasible and verdict.is_physical and verdict.has_true_peaks):
        raise SolutionError(
            "solution.json: its status is 'solved', yet it violates constraints by "
            f"{verdict.max_violation:.3g}, complementarity by {verdict.max_complementarity:.3g}, "
            f"its contacts do {verdict.energy.worst_contact_work:.3g} J of work, its integrator "
            f"{verdict.energy.made_by_integrator:.3g} J, and its peaks are off by "
            f"{verdict.objective_gap:.3g}"
        )


def _check_design(record: Record, resolved: Path) -> None:
    """Check the design against the parameters that the compiled robot was written with."""
    text = resolved.read_text(encoding="utf-8")
    try:
        document = yaml.safe_load(text)
        values = {name: float(document["parameters"][name]["value"]) for name in record.design}
    except (yaml.YAMLError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise SolutionError(f"{RESOLVED} does not state the design's parameters") from None
    for name, value in values.items():
        stated = record.design[name].value
        if not abs(stated - value) <= _SAME * max(abs(value), 1e-300):
            raise SolutionError(
                f"solution.json says {name} = {stated:.9g}, {RESOLVED} says {value:.9g}; "
                "solve again rather than editing a result"
            )


def _assemble(
    record: Record, arrays: Mapping[str, np.ndarray], robot: Robot, relief: Relief | None
) -> Solution:
    return Solution(
        problem=record.problem,
        options=record.options,
        seed=record.seed,
        status=record.status,
        message=record.message,
        objective=number(record.objective),
        design_values=record.design,
        audit=record.audit(),
        notes=tuple(record.notes),
        phases=record.stages(),
        starts=record.outcomes(),
        mesh=record.meshes(),
        source=record.source,
        overrides=tuple(record.overrides),
        motor_choice=record.motor_choice,
        certification=record.certification(),
        task=None,
        guess=record.guess,
        wall_s=record.wall_s,
        build_s=record.build_s,
        robot_folder=record.robot_folder,
        robot=robot,
        robot_source=dict(robot.source),
        terrain=record.terrain,
        relief=relief,
        question=record.question,
        markers={name: [number(x) for x in point] for name, point in record.markers.items()},
        versions=record.versions,
        **arrays,
    )
