"""A motor whose gear and speed are both stated has a speed that modules of that gear have.

    0.4 ≤ ω / ω(N) ≤ 2.5,   ω(N) = c N^b, or that of the part a class is anchored on

Where a class states only one of the two, the other follows from the trend and the ratio is 1; such
classes are not listed.

Source: Draft (Nguyen, Coelho, Kim 2026). One kink, inside, where the nearer limit changes.
"""

from draft_core.anatomy import Anatomy
from draft_core.gates.margins import Gate, Margin, within
from draft_core.trends import actuator

LEAST, MOST = 0.4, 2.5
_STATES_BOTH = "torque_speed_gear"


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return one margin for each motor class that states both its gear and its speed."""
    found = []
    for key, kind in anatomy.parts.motors.items():
        if kind.mode != _STATES_BOTH:
            continue
        usual = actuator.no_load_speed(anatomy.motor(key, "gear"), kind.part)
        ratio = anatomy.motor(key, "no_load_speed") / usual
        found.append(
            Margin(
                gate="speed",
                subject=f"{key}, speed at its gear",
                value=within(ratio, LEAST, MOST),
                measured=ratio,
                limit=(LEAST, MOST),
                unit="",
                level="warning",
                text=f"{key} is {{measured}} times as fast as modules of its gear; {{low}} to "
                "{high} times is usual",
            )
        )
    return found


GATE = Gate(
    "speed",
    "Speed against gear",
    "no-load speed / that of the trend at the same gear is within 0.4 and 2.5",
    margins,
)
