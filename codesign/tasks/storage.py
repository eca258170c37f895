"""An answer of several tasks on disk: solution.json, report.html, and tasks/NAME for each task.

Each tasks/NAME is a result of its own, which `codesign show`, `replay` and `export` read. What is
read back is checked: each task's solution.json against its digest, the shared design, the verdict
and the combined objective against those of the tasks.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from codesign.certificate import Price
from codesign.certificate.record import PriceRow, finite
from codesign.errors import SolutionError
from codesign.record import (
    FORMAT,
    Number,
    StartRow,
    as_json,
    decode,
    number,
    start_records,
)
from codesign.result_folder import TASKS, check_result_folder
from codesign.solution import DesignValue, Solution
from codesign.solve.status import SolveStatus
from codesign.storage import load_solution, task_folders, write_solution
from codesign.tasks.sharing import Specialist
from codesign.tasks.solution import TasksSolution, combined
from draft_core.errors import DraftError
from draft_core.swap import replacing

_SAME = 1e-9  # relative: a number that was written and read back


class _Task(msgspec.Struct):
    """What the whole says of one task; the rest is in its own folder."""

    weight: float
    objective: Number
    status: SolveStatus
    success: bool
    message: str


class _Specialist(msgspec.Struct):
    """`codesign.tasks.sharing.Specialist`."""

    task: str
    status: str
    objective: Number
    design: dict[str, Number]
    iterations: int
    wall_s: Number


class TasksRecord(msgspec.Struct):
    """solution.json of several tasks. `sha256` maps each task's solution.json to its digest."""

    format: int
    problem: str
    options: dict[str, Any]
    seed: int
    status: SolveStatus
    success: bool
    message: str
    objective: Number
    combine: str
    design: dict[str, DesignValue]
    tasks: dict[str, _Task]
    iterations: int
    wall_s: float
    build_s: float
    question: str
    versions: dict[str, str]
    sha256: dict[str, str]
    starts: list[StartRow]
    specialists: list[_Specialist]
    prices: list[PriceRow]


def save_tasks(
    solution: TasksSolution, folder: Path, command: str | None = None
) -> tuple[str, ...]:
    """Write an answer to a folder, whole or not at all; see `TasksSolution.save`.

    Returns:
        What could not be drawn or simulated, and why; the rest is saved all the same.
    """
    from codesign.tasks.page import tasks_page

    check_result_folder(folder)
    notes: list[str] = []
    digests: dict[str, str] = {}
    try:
        with replacing(folder) as stage:
            for name, task in solution.tasks.items():
                place = stage / TASKS / name
                place.mkdir(parents=True)
                notes += (f"{name}: {note}" for note in write_solution(task, place, command))
                content = (place / "solution.json").read_bytes()
                digests[f"{TASKS}/{name}/solution.json"] = hashlib.sha256(content).hexdigest()
            (stage / "solution.json").write_text(_encode(solution, digests), encoding="utf-8")
            page = tasks_page(solution, command).encode(errors="replace")
            (stage / "report.html").write_bytes(page)
    except DraftError as error:
        raise SolutionError(f"cannot write the solution to '{folder}': {error}") from error
    except OSError as error:
        why = error.strerror or error
        raise SolutionError(f"cannot write the solution to '{folder}': {why}") from error
    return tuple(notes)


def load_tasks(folder: Path) -> TasksSolution:
    """Read an answer of several tasks.

    Raises:
        SolutionError: the folder does not hold one, or what it holds does not agree.
    """
    try:
        content = (folder / "solution.json").read_bytes()
        files = {
            f"{TASKS}/{place.name}/solution.json": (place / "solution.json").read_bytes()
            for place in task_folders(folder)
        }
    except OSError as error:
        raise SolutionError(
            f"cannot read the solution in '{folder}': {error.strerror or error}"
        ) from error
    try:
        record = decode(content, TasksRecord)
        if not record.tasks:
            raise SolutionError("it has no tasks")
    except SolutionError as error:
        raise SolutionError(
            f"cannot read the solution in '{folder}': solution.json: {error}"
        ) from None
    names = {f"{TASKS}/{name}/solution.json": name for name in record.tasks}
    for name, digest in ((name, record.sha256.get(name)) for name in names):
        if name not in files:
            raise SolutionError(f"'{folder}' holds no whole solution: {name} is missing")
        if hashlib.sha256(files[name]).hexdigest() != digest:
            raise SolutionError(
                f"cannot read the solution in '{folder}': {name} is not the file that was saved "
                "with solution.json (its sha256 differs)"
            )
    tasks = {name: load_solution(folder / TASKS / name) for name in record.tasks}
    _check(folder, record, tasks)
    return _assemble(record, tasks)


def _encode(solution: TasksSolution, digests: Mapping[str, str]) -> str:
    return as_json(
        {
            "format": FORMAT,
            "problem": solution.problem,
            "options": dict(solution.options),
            "seed": solution.seed,
            "status": str(solution.status),
            "success": solution.success,
            "message": solution.message,
            "objective": solution.objective,
            "combine": solution.combine,
            "design": {name: asdict(value) for name, value in solution.design_values.items()},
            "tasks": {
                name: {
                    "weight": solution.weights[name],
                    "objective": task.objective,
                    "status": str(task.status),
                    "success": task.success,
                    "message": task.message,
                }
                for name, task in solution.tasks.items()
            },
            "iterations": solution.iterations,
            "wall_s": solution.wall_s,
            "build_s": solution.build_s,
            "question": solution.question,
            "versions": dict(solution.versions),
            "sha256": dict(digests),
            "starts": [asdict(row) for row in solution.starts],
            "specialists": [asdict(row) for row in solution.specialists],
            "prices": [asdict(price) for price in solution.prices],
        }
    )


def _check(folder: Path, record: TasksRecord, tasks: Mapping[str, Solution]) -> None:
    """Check what the whole says against its tasks.

    Raises:
        SolutionError: naming what differs.
    """
    values = {name: value.value for name, value in record.design.items()}
    what = ""
    if record.success != (record.status is SolveStatus.SOLVED):
        what = f"success is {record.success}, yet its status is '{record.status}'"
    elif record.success != all(task.success for task in tasks.values()):
        what = f"success is {record.success}, yet its tasks say otherwise"
    elif record.combine not in ("worst", "sum"):
        what = f"combine is '{record.combine}', neither 'worst' nor 'sum'"
    for name, task in tasks.items():
        if not what and task.design != values:
            what = f"the design is not that of task '{name}'"
    if not what:
        weights = {name: row.weight for name, row in record.tasks.items()}
        objectives = {name: task.objective for name, task in tasks.items()}
        expected, stated = combined(record.combine, weights, objectives), number(record.objective)
        if not (_is_near(stated, expected) or (math.isnan(stated) and not math.isfinite(expected))):
            what = f"the objective is {stated:.9g}, yet its tasks' make {expected:.9g}"
    if what:
        raise SolutionError(f"cannot read the solution in '{folder}': solution.json: {what}")


def _is_near(a: float, b: float) -> bool:
    return abs(a - b) <= _SAME * max(abs(b), 1e-300)


def _assemble(record: TasksRecord, tasks: Mapping[str, Solution]) -> TasksSolution:
    return TasksSolution(
        problem=record.problem,
        options=record.options,
        seed=record.seed,
        status=record.status,
        message=record.message,
        objective=number(record.objective),
        combine=record.combine,
        weights={name: row.weight for name, row in record.tasks.items()},
        design_values=record.design,
        tasks=tasks,
        wall_s=record.wall_s,
        build_s=record.build_s,
        question=record.question,
        versions=record.versions,
        starts=start_records(record.starts),
        prices=tuple(Price(**finite(row)) for row in record.prices),
        specialists=tuple(
            Specialist(
                row.task,
                row.status,
                number(row.objective),
                {name: number(value) for name, value in row.design.items()},
                row.iterations,
                number(row.wall_s),
            )
            for row in record.specialists
        ),
    )
