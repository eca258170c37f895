"""A motor is about as thick as modules of its power are.

    ½ · 8 mm · P^(1/3) ≤ r ≤ 2 · 15 mm · P^(1/3),   P in W

Strain-wave modules are slow and strong, so that power says little of their size: classes anchored
on one are not held to it.

Source: Draft (Nguyen, Coelho, Kim 2026). One kink, inside, where the nearer limit changes.
"""

from draft_core.anatomy import Anatomy
from draft_core.gates.margins import Gate, Margin, within

LEAST, MOST = 0.5 * 0.008, 2 * 0.015  # [m / W^(1/3)]
_EXEMPT = "harmonic"


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return one margin for each motor class that is not anchored on a strain-wave module."""
    found = []
    for key, kind in anatomy.parts.motors.items():
        if kind.family == _EXEMPT:
            continue
        radius, scale = anatomy.motor(key, "radius"), anatomy.motor(key, "peak_power") ** (1 / 3)
        low, high = LEAST * scale, MOST * scale
        found.append(
            Margin(
                gate="radius",
                subject=f"{key}, radius for its power",
                value=within(radius, low, high),
                measured=radius,
                limit=(low, high),
                unit="m",
                level="warning",
                text=f"{key} has a radius of {{measured}} m; {{low}} to {{high}} m is usual for "
                "its power",
            )
        )
    return found


GATE = Gate(
    "radius",
    "Package radius",
    "a motor's radius is 4 to 30 mm times the cube root of its peak power in W",
    margins,
)
