"""What sharing a design costs: each task beside its specialist, the same task solved alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codesign.errors import CodesignError
from codesign.solve.starts_record import NO_ROBOT
from codesign.solve.status import SolveStatus

if TYPE_CHECKING:
    from codesign.solution import Solution
    from codesign.solve.progress import ProgressFunction
    from codesign.tasks.solution import TasksSolution
    from codesign.tasks.statement import Tasks


@dataclass(frozen=True)
class Specialist:
    """A task solved alone, with a design of its own.

    Attributes:
        task: name of the task.
        status: how its solve ended: a `SolveStatus`, or "no_robot" where it came to none.
        objective: its objective; NaN where there is none.
        design: its design variables by name; empty where there are none.
        iterations: solver iterations.
        wall_s: wall time of the solve; [s].
    """

    task: str
    status: str
    objective: float
    design: Mapping[str, float]
    iterations: int
    wall_s: float

    @property
    def success(self) -> bool:
        """Whether it was solved."""
        return self.status == SolveStatus.SOLVED


@dataclass(frozen=True)
class PriceOfSharing:
    """One row of the table: what one task pays.

    Attributes:
        task: name of the task.
        specialist: objective alone; NaN unless that was solved.
        shared: objective with the shared design; NaN unless that was solved.
        ratio: shared / specialist; NaN where one of them is, or the specialist's is not positive.
    """

    task: str
    specialist: float
    shared: float
    ratio: float


def specialists(
    tasks: Tasks,
    seed: int = 0,
    *,
    shared: TasksSolution | None = None,
    starts: int = 1,
    jobs: int = 1,
    time_limit: float | None = None,
    progress: ProgressFunction | None = None,
    between: Callable[[str], None] = lambda task: None,
) -> tuple[Specialist, ...]:
    """Solve each task alone, from the same seeds as the shared design, and return the best.

    Args:
        tasks: the tasks.
        seed: seed of the first start.
        shared: an answer with one design, from which each task is solved alone as well: what meets
            the task with a shared design meets it alone, so that sharing costs nothing or more.
        starts: random starts of each task; the best is kept.
        jobs: starts solved at the same time.
        time_limit: wall time of each task; [s].
        progress: as in `Problem.solve`.
        between: called with a task's name before it is solved.
    """
    rows = []
    for name, task in tasks.problems.items():
        between(name)
        beginnings: list[dict[str, Any]] = [{"seed": seed, "starts": starts, "jobs": jobs}]
        if shared is not None and shared.tasks[name].success:
            beginnings.append({"seed": seed, "start": shared.tasks[name]})
        found: list[Specialist] = []
        for options in beginnings:
            try:
                alone = task.solve(time_limit=time_limit, progress=progress, **options)
            except CodesignError:
                found.append(Specialist(name, NO_ROBOT, math.nan, {}, 0, math.nan))
            else:
                found.append(_specialist(name, alone))
        rows.append(min(found, key=lambda row: (not row.success, row.objective)))
    return tuple(rows)


def _specialist(name: str, alone: Solution) -> Specialist:
    wall_s = sum(row.wall_s for row in alone.starts) if alone.starts else alone.wall_s
    return Specialist(
        name, str(alone.status), alone.objective, alone.design, alone.iterations, wall_s
    )


def price_of_sharing(
    shared: TasksSolution, alone: Sequence[Specialist]
) -> tuple[PriceOfSharing, ...]:
    """Return what each task pays for a shared design.

    Args:
        shared: the answer with one design.
        alone: the specialists of the same tasks.
    """
    rows = []
    for specialist in alone:
        task = shared.tasks[specialist.task]
        a = specialist.objective if specialist.success else math.nan
        b = task.objective if task.success else math.nan
        rows.append(PriceOfSharing(specialist.task, a, b, b / a if a > 0 else math.nan))
    return tuple(rows)


def price_table(shared: TasksSolution, alone: Sequence[Specialist]) -> list[list[str]]:
    """Return the table's cells as text: a head, and a row for each task.

    The designs follow: the shared one, and each specialist's.
    """
    rows = [["task", "specialist", "shared", "ratio"]]
    rows += [
        [row.task, *(_cell(value) for value in (row.specialist, row.shared, row.ratio))]
        for row in price_of_sharing(shared, alone)
    ]
    return rows


def design_rows(shared: TasksSolution, alone: Sequence[Specialist]) -> list[list[str]]:
    """Return the designs as text: a head, and a row for each variable."""
    rows = [["design", "shared", *(row.task for row in alone), "unit"]]
    for name, value in shared.design_values.items():
        own = [_cell(row.design.get(name, math.nan)) for row in alone]
        rows.append([name, _cell(value.value), *own, value.unit])
    return rows


def _cell(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "–"
