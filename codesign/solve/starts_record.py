"""What came of each random start, and how often a start succeeds.

The success rate has Wilson's interval: for s of n successes and z = 1.96,

    (s + z²/2 ± z √(s (n − s) / n + z²/4)) / (n + z²).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codesign.solution import Solution

Z_95 = 1.959963984540054  # of the normal distribution, two-sided
CRASHED = "crashed"
NO_ROBOT = "no_robot"


@dataclass(frozen=True)
class StartRecord:
    """One start of several.

    Attributes:
        seed: its seed.
        status: how it ended: a `SolveStatus`, "no_robot" (the search ended at a design that
            cannot be built) or "crashed" (its process died).
        success: whether it solved the problem.
        objective: its objective; NaN where there is none.
        design: design variables by name; empty where there is none.
        iterations: solver iterations.
        wall_s: wall time [s].
        message: what its status means.
    """

    seed: int
    status: str
    success: bool
    objective: float
    design: Mapping[str, float]
    iterations: int
    wall_s: float
    message: str

    @classmethod
    def of(cls, solution: Solution) -> StartRecord:
        """Return the record of a start that ended with a solution, successful or not."""
        return cls(
            solution.seed,
            str(solution.status),
            solution.success,
            solution.objective,
            dict(solution.design),
            solution.iterations,
            solution.wall_s,
            solution.message,
        )

    @classmethod
    def without_solution(cls, seed: int, status: str, message: str, wall_s: float) -> StartRecord:
        """Return the record of a start that ended without one."""
        return cls(seed, status, False, math.nan, {}, 0, wall_s, message)


@dataclass(frozen=True)
class StartStatistics:
    """How several starts fared.

    Attributes:
        starts: how many there were.
        solved: how many solved the problem.
        interval: 95 % confidence interval of the success rate (Wilson).
        best: least objective of those that solved it; NaN for none.
        median: median objective of those.
        worst: greatest objective of those.
        median_wall_s: median wall time of all [s].
    """

    starts: int
    solved: int
    interval: tuple[float, float]
    best: float
    median: float
    worst: float
    median_wall_s: float


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a success rate.

    References:
        Wilson (1927), Probable inference, the law of succession, and statistical inference,
        J. Am. Stat. Assoc. 22.
    """
    if trials == 0:
        return 0.0, 1.0
    z2 = Z_95 * Z_95
    middle = successes + z2 / 2
    spread = Z_95 * math.sqrt(successes * (trials - successes) / trials + z2 / 4)
    low, high = (middle - spread) / (trials + z2), (middle + spread) / (trials + z2)
    return (0.0 if successes == 0 else low), (1.0 if successes == trials else high)


def statistics(records: Sequence[StartRecord]) -> StartStatistics:
    """Return how several starts fared."""
    objectives = [record.objective for record in records if record.success]
    nothing = math.nan
    return StartStatistics(
        starts=len(records),
        solved=len(objectives),
        interval=wilson_interval(len(objectives), len(records)),
        best=min(objectives, default=nothing),
        median=median(objectives) if objectives else nothing,
        worst=max(objectives, default=nothing),
        median_wall_s=median([r.wall_s for r in records]) if records else nothing,
    )


def sentence(records: Sequence[StartRecord]) -> str:
    """Return the statistics in one line, for a terminal."""
    told = statistics(records)
    low, high = (100 * bound for bound in told.interval)
    text = f"{told.solved} of {told.starts} starts solved (95 %: {low:.0f} to {high:.0f} %)"
    if told.solved:
        text += f"; objective {told.best:.4g} to {told.worst:.4g}, median {told.median:.4g}"
    odd = [r for r in records if r.status == CRASHED]
    if odd:
        text += f"; {len(odd)} crashed (seeds {', '.join(str(r.seed) for r in odd)})"
    return f"{text}; median {told.median_wall_s:.1f} s a start"
