"""Tightening the complementarity relaxation ε over warm-started solves.

Each stage solves the program at one ε from the previous stage's point. Where a stage with the objective
fails, a feasibility stage (objective weight 0) is put before it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from codesign.solve.ipopt import Ipopt, Point, StageResult, StopRequest, Vector
from codesign.solve.progress import Progress, ProgressFunction
from codesign.solve.status import SolveStatus

RELAXATIONS = (1e-2, 1e-3, 1e-4)


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
        point: where it ended.
        stopped: why it was stopped from outside, None when it was not.
    """

    stages: tuple[Stage, ...]
    point: Point
    stopped: SolveStatus | None = None

    @property
    def last(self) -> Stage:
        """The final stage."""
        return self.stages[-1]

    @property
    def iterations(self) -> int:
        """Iterations of all stages."""
        return sum(stage.result.iterations for stage in self.stages)


def follow(
    ipopt: Ipopt,
    start: Point,
    bounds: tuple[Vector, Vector],
    relaxations: Sequence[float],
    stop: StopRequest,
    report: ProgressFunction,
    began: float,
) -> Path:
    """Run the homotopy from a starting point and return every stage.

    Args:
        ipopt: solver bound to the program.
        start: starting point in scaled variables.
        bounds: bounds of x.
        relaxations: ε of each stage, decreasing.
        stop: deadline and interrupt.
        report: progress.
        began: `time.monotonic()` at which the whole solve began; [s].
    """
    stages: list[Stage] = []
    point = start
    for relaxation in relaxations:
        for phase in ("objective", "feasibility", "objective"):
            done = sum(stage.result.iterations for stage in stages)

            def tell(iteration: int, objective: float, violation: float) -> None:
                seconds = time.monotonic() - began
                report(
                    Progress(phase, relaxation, done + iteration, objective, violation, seconds)  # noqa: B023
                )

            weight = 0.0 if phase == "feasibility" else 1.0
            result = ipopt.run(point, bounds, (relaxation, weight), stop, tell)
            stages.append(Stage(phase, relaxation, result))
            point = Point(result.point.x)
            if stop or (result.converged and phase == "objective"):
                break
            if phase == "feasibility" and not result.converged:
                break
        if stop or not stages[-1].result.converged:
            break
    return Path(tuple(stages), point, stop.reason if stop else None)
