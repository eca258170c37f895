"""No motor has more torque or power per mass than the best catalogued module of its family.

    τ / m ≤ max τ_i / m_i,   P / m ≤ max P_i / m_i,   P = τ ω / 4

The family is that of the catalogued part a class is anchored on; without one it is the whole
catalogue. Above the family's 90th percentile a class is rare, which is a warning.

Source: Nguyen, Coelho, Kim (2026), arXiv 2609.38405, the actuator frontier; `trends.fits` computes
the figures from the catalogue. Smooth.
"""

from functools import lru_cache
from typing import NamedTuple

from draft_core.anatomy import Anatomy
from draft_core.gates.margins import Gate, Level, Margin, below
from draft_core.motors import MotorClass
from draft_core.trends import limits

NAME, SWITCH = "frontier", "allow_hypothetical"


class _Rule(NamedTuple):
    """One margin of a class, but for its numbers."""

    field: str
    subject: str
    most: float
    unit: str
    level: Level
    text: str
    switch: str | None


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return four margins for each motor class that a joint uses."""
    found = []
    for key, kind in anatomy.parts.motors.items():
        mass = anatomy.motor(key, "mass")
        for field, subject, most, unit, level, text, switch in _rules(kind):
            density = anatomy.motor(key, field) / mass
            value = below(density, most)
            found.append(Margin(NAME, subject, value, density, most, unit, level, text, switch))
    return found


@lru_cache(maxsize=256)
def _rules(kind: MotorClass) -> tuple[_Rule, ...]:
    edge = limits.frontier(kind.family or limits.EVERY_FAMILY)
    torque = (edge.torque_density, edge.best_torque, edge.torque_density_p90)
    power = (edge.power_density, edge.best_power, edge.power_density_p90)
    return (
        *_both_levels(kind, "peak_torque", "torque density", "N m/kg", *torque),
        *_both_levels(kind, "peak_power", "power density", "W/kg", *power),
    )


def _both_levels(
    kind: MotorClass, field: str, what: str, unit: str, most: float, best: str, p90: float
) -> tuple[_Rule, _Rule]:
    kin = f"the {kind.family} family" if kind.family else "the catalogue"
    subject, start = f"{kind.key}, {what}", f"{kind.key} has {{measured}} {unit}"
    error = f"{start}; the best module of {kin}, {best}, has {{limit}} {unit}"
    rare = f"{start}; nine in ten modules of {kin} have at most {{limit}} {unit}"
    return (
        _Rule(field, subject, most, unit, "error", error, SWITCH),
        _Rule(field, f"{subject}, 90th percentile", p90, unit, "warning", rare, None),
    )


GATE = Gate(
    NAME,
    "Torque and power density",
    "peak torque / mass and peak power / mass of a motor class are at most the greatest of its "
    "family",
    margins,
    SWITCH,
)
