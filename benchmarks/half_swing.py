"""The mass of a half swing: a design problem whose answer is known in closed form.

A mass on a spring of k = 100 N/m starts at rest at 1 m and is to be nearest −1 m after
T = π √(5/k). In continuous time that is 5 kg. The implicit midpoint rule turns by 2 atan(ωh/2) a
step, so that in 25 steps it is k (h / (2 tan(π/50)))² = 4.9868 kg. The mass may be anything from
1 g to 10 kg: a robot without mass is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.handwritten.spring import DURATION, INTERVALS, MASS_BOUNDS
from codesign import Problem, Trajectory
from codesign.constraints import Constraint, equal


class HalfSwing(Problem):
    """A mass on a spring swings from 1 m to −1 m in a given time: which mass?"""

    robot = Path(__file__).with_name("robots") / "spring"
    design = {"mass": (*MASS_BOUNDS, 8.0)}
    duration = DURATION
    step_range = (1.0, 1.0)
    knots = INTERVALS + 1
    integrator = "implicit_midpoint"

    def objective(self, traj: Trajectory) -> Any:
        """Return the final position; [m].

        Nothing gets below −1 m, so that the least is the nearest. The square of the error would be
        flat to fourth order in the mass.
        """
        return traj.q[-1, 0]

    def constraints(self, traj: Trajectory) -> Iterator[Constraint]:
        """Yield: at rest at 1 m, and a motor that does nothing."""
        yield equal(traj.q[0, 0], 1.0, name="start", unit="m", knot=0)
        yield equal(traj.v[0, 0], 0.0, name="start speed", unit="m/s", knot=0)
        yield equal(traj.u, 0.0, name="no motor", unit="N")
