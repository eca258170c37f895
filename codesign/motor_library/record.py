"""What is kept of the choice of a motor: in `Solution.motor_choice` and in solution.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MotorTrial:
    """One motor that a motion was solved for.

    Attributes:
        group: what it was chosen for: the library's name, or a motor class such as "motors.leg".
        motor: its name.
        status: how the solve ended, a `SolveStatus`.
        message: what that means.
        objective: objective with this motor; None where it was not solved.
        iterations: solver iterations.
        wall_s: wall time; [s].
    """

    group: str
    motor: str
    status: str
    message: str
    objective: float | None
    iterations: int
    wall_s: float


@dataclass(frozen=True)
class MotorRecord:
    """Which real motor an answer is built with, and what that costs.

    Attributes:
        motors: the motor of each group (see `MotorTrial`); empty where none would do.
        torque: peak torque that the continuous answer needs, by group; [N m].
        speed: top joint speed that it needs, by group; [rad/s].
        trials: every motor that was tried, in order.
        continuous_objective: objective while the motor was a continuous quantity.
        objective: objective with the real motor; None where none would do.
        price: what the rounding to a real motor costs, in the objective's unit; negative is a gain.
        unit: unit of the objective where it is known.
        mass_change: how much heavier the robot became; [kg].
        design_change: design variables that both answers have, name → (before, after).
        sentence: all of that in a sentence or two.
    """

    motors: Mapping[str, str]
    torque: Mapping[str, float]
    speed: Mapping[str, float]
    trials: tuple[MotorTrial, ...]
    continuous_objective: float
    objective: float | None
    price: float | None
    unit: str
    mass_change: float | None
    design_change: Mapping[str, tuple[float, float]]
    sentence: str
