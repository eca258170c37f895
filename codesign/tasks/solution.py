"""The answer of several tasks that share a design: the design, and a whole solution of each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codesign.audit import Audit
from codesign.certificate import Price
from codesign.errors import SolutionError
from codesign.solution import DesignValue, PhaseRecord, Solution, package_versions
from codesign.solve.starts_record import StartRecord
from codesign.solve.status import SolveStatus
from codesign.tasks.sharing import Specialist

if TYPE_CHECKING:
    from codesign.tasks.statement import Tasks


@dataclass(frozen=True)
class TasksSolution:
    """One design and each task's motion with it.

    Attributes:
        problem: name of the problem.
        options: its plain options, and each task's.
        seed: seed of the start it came from.
        status: how the solve ended; solved only if every task is.
        message: what that means, and the task it is about.
        objective: the combined objective, with true maxima.
        combine: "worst" or "sum".
        weights: weight of each task's objective.
        design_values: the shared design variables by name.
        tasks: each task's own solution, audited like any other.
        wall_s: wall time of the solve, building included; [s].
        build_s: time of tracing and differentiation, all tasks together; [s].
        question: the problem in a sentence.
        versions: versions of the packages that made it.
        starts: what came of each random start, where there were several.
        specialists: what each task reaches alone, where that was asked for.
        prices: what moving each active bound of the shared design is worth to the combined
            objective; what holds a task's motion back is in its own solution.
    """

    problem: str
    options: Mapping[str, Any]
    seed: int
    status: SolveStatus
    message: str
    objective: float
    combine: str
    weights: Mapping[str, float]
    design_values: Mapping[str, DesignValue]
    tasks: Mapping[str, Solution]
    wall_s: float
    build_s: float
    question: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    starts: tuple[StartRecord, ...] = ()
    specialists: tuple[Specialist, ...] = ()
    prices: tuple[Price, ...] = ()

    @property
    def success(self) -> bool:
        """Whether every task's answer met every tolerance and is physical."""
        return self.status is SolveStatus.SOLVED

    @property
    def design(self) -> dict[str, float]:
        """The shared design variables by name, in SI units."""
        return {name: value.value for name, value in self.design_values.items()}

    @property
    def phases(self) -> tuple[PhaseRecord, ...]:
        """Stages of the solve, which all tasks went through together."""
        return next(iter(self.tasks.values())).phases

    @property
    def iterations(self) -> int:
        """Solver iterations over all stages."""
        return sum(phase.iterations for phase in self.phases)

    @property
    def audit(self) -> Audit:
        """The verdict on the task that is furthest from a success."""
        worst = max(self.tasks.values(), key=lambda t: (not t.success, t.audit.max_violation))
        return worst.audit

    @property
    def notes(self) -> tuple[str, ...]:
        """What the designer should know of each task."""
        return tuple(
            f"{name}: {note}"
            for name, task in self.tasks.items()
            for note in task.notes[1:]  # the first one says which task it is
        )

    def require_success(self) -> TasksSolution:
        """Return this solution.

        Raises:
            SolutionError: a task is not solved.
        """
        if not self.success:
            raise SolutionError(self.message)
        return self

    def save(self, folder: str | Path, command: str | None = None) -> Path:
        """Write the answer to a folder: solution.json, report.html, and tasks/NAME for each task.

        Each tasks/NAME is what `Solution.save` writes. The folder is replaced whole or, whatever
        goes wrong, not at all.

        Args:
            folder: new, empty, or holding an earlier result.
            command: shell command that repeats the solve, shown in the reports.

        Raises:
            SolutionError: the folder holds something else, or cannot be written.
        """
        from codesign.tasks.storage import save_tasks

        for note in save_tasks(self, Path(folder), command):
            warnings.warn(note, RuntimeWarning, stacklevel=2)
        return Path(folder)


def combined(combine: str, weights: Mapping[str, float], objectives: Mapping[str, float]) -> float:
    """Return the weighted sum of the tasks' objectives, or the worst of them."""
    weighted = [weights[name] * objective for name, objective in objectives.items()]
    return sum(weighted) if combine == "sum" else max(weighted)


def tasks_solution_of(
    tasks: Tasks, found: Mapping[str, Solution], seed: int, wall_s: float, build_s: float
) -> TasksSolution:
    """Return the answer that the solutions of all tasks make."""
    weights = {name: tasks.weight_of(name) for name in found}
    objectives = {name: solution.objective for name, solution in found.items()}
    status, message = _verdict(found)
    return TasksSolution(
        problem=type(tasks).__name__,
        options=tasks.options,
        seed=seed,
        status=status,
        message=message,
        objective=combined(tasks.combine, weights, objectives),
        combine=tasks.combine,
        weights=weights,
        design_values=next(iter(found.values())).design_values,
        tasks=dict(found),
        wall_s=wall_s,
        build_s=build_s,
        question=(type(tasks).__doc__ or "").strip().split("\n")[0],
        versions=package_versions(),
    )


def _verdict(found: Mapping[str, Solution]) -> tuple[SolveStatus, str]:
    """Return the status of all, and what to tell of the task that is furthest from its own."""
    failed = {name: solution for name, solution in found.items() if not solution.success}
    if not failed:
        return (
            SolveStatus.SOLVED,
            f"every residual of all {len(found)} tasks is below its tolerance",
        )
    name = max(failed, key=lambda key: failed[key].audit.max_violation)
    return failed[name].status, f"task '{name}': {failed[name].message}"
