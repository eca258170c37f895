"""For every gate: where its limits are, worked out by hand, on the robot of `robots.py`.

One parameter is moved to the limit; 0.01 % to either side the gate passes and does not.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from draft_core.mjcf import compile_xml, drawing, robot_xml
from draft_core.quantities import quantities
from draft_core.tree import RobotTree
from draft_core.trends import actuator, limits, structure
from tests.draft_core.gates.robots import biped, miscounted, swallowed

HIP, KNEE = 20.0, 100.0  # peak torques [N m]
GEAR, ASPECT, THIGH, SHANK = 9.0, 0.6, 0.19, 0.19
TRUNK = 0.3 * 0.15 * 0.11  # [m³]


@dataclass(frozen=True)
class Case:
    """One limit of one gate.

    Attributes:
        gate: its name.
        subject: of the margin.
        level: of the margin.
        parameter: what is moved.
        limit: the parameter's value at the limit.
        fails: on which side the gate does not pass.
        robot: builds the robot.
    """

    gate: str
    subject: str
    level: Literal["error", "warning"]
    parameter: str
    limit: Callable[[], float]
    fails: Literal["above", "below"]
    robot: Callable[..., RobotTree] = biped

    def value(self, side: Literal["inside", "outside"], by: float = 1e-4) -> float:
        """Return the parameter's value beside the limit, by a part of it."""
        limit = self.limit()
        outward = 1 if self.fails == "above" else -1
        return limit + (outward if side == "outside" else -outward) * by * abs(limit)


def hip_mass() -> float:
    return actuator.mass(HIP)


def knee_mass() -> float:
    return actuator.mass(KNEE)


def hip_volume() -> float:
    return actuator.volume(HIP, GEAR)


def hip_radius() -> float:
    return (hip_volume() / (2 * math.pi * ASPECT)) ** (1 / 3)


def hip_length() -> float:
    return 2 * ASPECT * hip_radius()


def knee_radius() -> float:
    return actuator.radius(actuator.volume(KNEE, GEAR), actuator.aspect(KNEE, GEAR))


def knee_length() -> float:
    return 2 * actuator.aspect(KNEE, GEAR) * knee_radius()


def torque_of_density(density: float) -> float:
    # τ / m = τ^(1 − a) / c
    c = actuator.coefficients()
    return (density * c.mass) ** (1 / (1 - c.mass_torque))


def speed_of_power(power: float) -> float:
    return 4 * power / HIP


@functools.cache
def masses() -> tuple[float, float, float]:
    """Return the masses of trunk, actuators and all without the payload, as MuJoCo reads them."""
    tree = biped()
    env = tree.resolve()
    fields = quantities(tree, env)
    model = compile_xml(tree, robot_xml(tree, fields, drawing(tree, env, fields)))
    trunk = sum(float(model.body(name).mass[0]) for name in ("trunk", "tail"))
    return trunk, 2 * (hip_mass() + knee_mass()), float(model.body_mass.sum()) - 0.05


def payload_of_trunk_fraction() -> float:
    # (T + p) / (M + p) = f
    trunk, _, total = masses()
    most = structure.audit("quadruped").trunk_fraction[1]
    return (most * total - trunk) / (1 - most)


def payload_of_actuator_fraction() -> float:
    _, actuators, total = masses()
    return actuators / structure.audit("quadruped").actuator_fraction[0] - total


def payload_of_size() -> float:
    audit = structure.audit("quadruped")
    middle = audit.size_c * (THIGH + SHANK) ** audit.size_e
    return middle * math.exp(2 * audit.size_sigma) - masses()[2]


def thigh_radius_of_density() -> float:
    # m = 2 ρ π r² L, L within the fitted range and its mass per metre within the percentiles
    thigh = structure.segment_class("quadruped", "thigh")
    mass = thigh.c * THIGH**thigh.e
    return math.sqrt(mass / (2 * thigh.density[1] * math.pi * THIGH))


def tolerance(radius: float) -> float:
    return max(0.0005, 0.02 * radius)


def shared(least: float | None = None, most: float | None = None) -> float:
    """Return the factor on one hip motor at which all actuators weigh so much of what they should.

    (k + 1) m_h + 2 m_k = ratio (2 m_h + 2 m_k)
    """
    total = 2 * (hip_mass() + knee_mass())
    ratio = least or most or 1.0
    return 1 + (ratio - 1) * total / hip_mass()


_ALL = limits.frontier()
_BAND = structure.link_density_band("quadruped")
_USUAL = actuator.no_load_speed(GEAR)
CASES = (
    Case(
        "frontier",
        "motors.hip, torque density",
        "error",
        "motors.hip.peak_torque",
        lambda: torque_of_density(_ALL.torque_density),
        "above",
    ),
    Case(
        "frontier",
        "motors.hip, torque density, 90th percentile",
        "warning",
        "motors.hip.peak_torque",
        lambda: torque_of_density(_ALL.torque_density_p90),
        "above",
    ),
    Case(
        "frontier",
        "motors.hip, power density",
        "error",
        "motors.hip.no_load_speed",
        lambda: speed_of_power(_ALL.power_density * hip_mass()),
        "above",
    ),
    Case(
        "frontier",
        "motors.hip, power density, 90th percentile",
        "warning",
        "motors.hip.no_load_speed",
        lambda: speed_of_power(_ALL.power_density_p90 * hip_mass()),
        "above",
    ),
    Case(
        "speed",
        "motors.hip, speed at its gear",
        "warning",
        "motors.hip.no_load_speed",
        lambda: 2.5 * _USUAL,
        "above",
    ),
    Case(
        "speed",
        "motors.hip, speed at its gear",
        "warning",
        "motors.hip.no_load_speed",
        lambda: 0.4 * _USUAL,
        "below",
    ),
    Case(  # r = 4 mm P^(1/3)
        "radius",
        "motors.hip, radius for its power",
        "warning",
        "motors.hip.no_load_speed",
        lambda: speed_of_power((hip_radius() / 0.004) ** 3),
        "above",
    ),
    Case(  # r = 30 mm P^(1/3)
        "radius",
        "motors.hip, radius for its power",
        "warning",
        "motors.hip.no_load_speed",
        lambda: speed_of_power((hip_radius() / 0.03) ** 3),
        "below",
    ),
    Case(
        "aspect",
        "motors.hip, length over diameter",
        "warning",
        "motors.hip.aspect",
        lambda: limits.aspect().max,
        "above",
    ),
    Case(
        "aspect",
        "motors.hip, length over diameter",
        "warning",
        "motors.hip.aspect",
        lambda: limits.aspect().min,
        "below",
    ),
    Case("link_density", "tail", "error", "tail_density", lambda: _BAND[1], "above"),
    Case("link_density", "tail", "error", "tail_density", lambda: _BAND[0], "below"),
    Case(
        "member_density",
        "left_thigh and 1 like it",
        "warning",
        "thigh_radius",
        thigh_radius_of_density,
        "below",
    ),
    Case(  # parallel cylinders, one above the other
        "packing",
        "left_thigh, left_shank",
        "error",
        "knee_at",
        lambda: hip_radius() + knee_radius() - tolerance((hip_radius() + knee_radius()) / 2),
        "below",
    ),
    Case(  # coaxial cylinders, end to end
        "packing",
        "closest of all other actuators",
        "warning",
        "hip_y",
        lambda: (knee_length() - tolerance(knee_radius())) / 2,
        "below",
    ),
    Case(  # the same, until a centre is at the other's end
        "packing",
        "centres of all other actuators",
        "error",
        "hip_y",
        lambda: max(knee_length(), hip_length()) / 4,
        "below",
    ),
    Case(  # a cylinder under the trunk's flat side
        "in_root",
        "left_thigh_actuator",
        "error",
        "drop",
        lambda: hip_radius() - tolerance(hip_volume() ** (1 / 3) / 2),
        "below",
    ),
    Case(  # both hips, so far in the trunk as (r − drop) / 2r of them
        "double_charge",
        "actuators in the trunk",
        "warning",
        "drop",
        lambda: hip_radius() * (1 - 0.05 * TRUNK / hip_volume()),
        "below",
        swallowed,
    ),
    Case(
        "actuator_mass",
        "all actuators",
        "warning",
        "doubt",
        lambda: shared(most=1.05),
        "above",
        miscounted,
    ),
    Case(
        "actuator_mass",
        "all actuators",
        "warning",
        "doubt",
        lambda: shared(least=0.95),
        "below",
        miscounted,
    ),
    Case(
        "composition",
        "mass fraction of the trunk",
        "warning",
        "payload",
        payload_of_trunk_fraction,
        "above",
    ),
    Case(
        "composition",
        "mass fraction of the actuators",
        "warning",
        "payload",
        payload_of_actuator_fraction,
        "above",
    ),
    Case(
        "composition",
        "mass for its size",
        "warning",
        "payload",
        payload_of_size,
        "above",
    ),
)
