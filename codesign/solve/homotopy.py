"""Feasibility, then the objective at a complementarity relaxation ε that tightens.

A feasibility stage (`codesign.nlp.elastic`) comes first: it finds a point that meets the task, or
finds that the task cannot be met nearby and says which part. From there each stage minimises the
objective at one ε from the previous stage's point, all but the last loosely
(docs/decisions/0010-loose-early-stages.md); where one fails, feasibility is sought again at
that ε and the objective tried once more (docs/decisions/0004-feasibility-first.md).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from codesign.nlp import ElasticProgram
from codesign.solve.ipopt import Ipopt, Point, StageResult, StopRequest, Vector
from codesign.solve.modes import ModeBounds
from codesign.solve.progress import Progress, ProgressFunction
from codesign.solve.status import SolveStatus
from codesign.solve.uno import Uno

RELAXATIONS = (1e-2, 1e-3, 1e-4)
_NO_STRETCH = 1e-5  # a task stretched less than this is met; scaled


@dataclass(frozen=True)
class Solvers:
    """IPOPT bound to a program and to its elastic form.

    Attributes:
        program: for the objective.
        elastic: for feasibility.
        softened: the elastic form itself.
        early: for the objective before the last relaxation.
        modes: how bounds narrow in a last stage with contact modes held; None has none.
    """

    program: Ipopt | Uno
    elastic: Ipopt | Uno
    softened: ElasticProgram
    early: Ipopt | Uno
    modes: ModeBounds | None = None


@dataclass(frozen=True)
class Stage:
    """One stage of the homotopy, as it was run."""

    phase: str
    relaxation: float
    result: StageResult


@dataclass(frozen=True)
class Path:
    """All stages in order; the last one holds the answer.

    Attributes:
        stages: every stage that was run.
        point: where it ended; with multipliers where that is the end of an objective's stage.
        stopped: why it was stopped from outside, None when it was not.
        is_impossible: whether a feasibility stage converged without meeting the task.
        is_feasible: whether the point meets the task though the objective's last stage failed.
    """

    stages: tuple[Stage, ...]
    point: Point
    stopped: SolveStatus | None = None
    is_impossible: bool = False
    is_feasible: bool = False

    @property
    def last(self) -> Stage:
        """The final stage."""
        return self.stages[-1]


@dataclass
class _Walk:
    """The running state of `follow`."""

    solvers: Solvers
    bounds: tuple[Vector, Vector]
    stop: StopRequest
    report: ProgressFunction
    began: float
    last: float
    stages: list[Stage] = field(default_factory=list)

    def stopped(self, x: Vector) -> Path:
        """Return the path of a solve that was stopped from outside."""
        return Path(tuple(self.stages), Point(x), self.stop.reason)

    def run(self, phase: str, relaxation: float, x: Vector) -> StageResult:
        """Run one stage and record it."""
        done = sum(stage.result.iterations for stage in self.stages)

        def tell(iteration: int, objective: float, violation: float) -> None:
            seconds = time.monotonic() - self.began
            self.report(
                Progress(phase, relaxation, done + iteration, objective, violation, seconds)
            )

        parameters = (relaxation, 1.0)
        solver, bounds, start = self.solvers.program, self.bounds, x
        if relaxation > self.last:
            solver = self.solvers.early
        if phase == "feasibility":
            softened = self.solvers.softened
            solver, bounds = self.solvers.elastic, softened.bounds(self.bounds)
            start = softened.start(x, parameters)
        result = solver.run(Point(start), bounds, parameters, self.stop, tell)
        self.stages.append(Stage(phase, relaxation, result))
        return result

    def hold_modes(self, point: Point, relaxation: float) -> Point:
        """Return the point of a last stage with contact modes held, the given one if it fails."""
        if self.solvers.modes is None or self.stop:
            return point
        upper, rows = self.solvers.modes(point.x, self.bounds[1])
        bounds = (self.bounds[0], upper)
        start = Point(np.clip(point.x, *bounds))
        result = self.solvers.program.run(
            start, bounds, (relaxation, 1.0), self.stop, lambda *_: None, rows
        )
        stage = Stage("objective", relaxation, result)
        self.stages.insert(len(self.stages) - (not result.converged), stage)
        return result.point if result.converged else point


def follow(
    solvers: Solvers,
    start: Point,
    bounds: tuple[Vector, Vector],
    relaxations: Sequence[float],
    stop: StopRequest,
    report: ProgressFunction,
    began: float,
    start_is_feasible: bool = False,
) -> Path:
    """Run the homotopy from a starting point and return every stage.

    Args:
        solvers: solvers bound to the program.
        start: starting point in scaled variables.
        bounds: bounds of x.
        relaxations: ε of each stage, decreasing.
        stop: deadline and interrupt.
        report: progress.
        began: `time.monotonic()` at which the whole solve began; [s].
        start_is_feasible: whether the first feasibility stage can be left out.
    """
    walk = _Walk(solvers, bounds, stop, report, began, relaxations[-1])
    x, is_feasible = start.x, start_is_feasible
    point = start
    for relaxation in relaxations:
        if not is_feasible:
            easier = walk.run("feasibility", relaxation, x)
            x = easier.point.x[: len(x)]
            is_feasible = easier.converged
            if stop:
                return walk.stopped(x)
            if easier.converged and solvers.softened.stretch(easier.point.x) > _NO_STRETCH:
                return Path(tuple(walk.stages), Point(x), is_impossible=True)
        result = walk.run("objective", relaxation, x)
        if not (stop or result.converged):
            easier = walk.run("feasibility", relaxation, x)
            x, is_feasible = easier.point.x[: len(x)], easier.converged
            if not stop:
                if easier.converged and solvers.softened.stretch(easier.point.x) > _NO_STRETCH:
                    return Path(tuple(walk.stages), Point(x), is_impossible=True)
                result = walk.run("objective", relaxation, x)
        if stop:
            kept = x if is_feasible and result.violation > _NO_STRETCH else result.point.x[: len(x)]
            return walk.stopped(kept)
        if not result.converged:
            kept = Point(x) if is_feasible else result.point
            return Path(tuple(walk.stages), kept, is_feasible=is_feasible)
        point, is_feasible = result.point, True
        x = point.x
    point = walk.hold_modes(point, relaxations[-1])
    return Path(tuple(walk.stages), point)
