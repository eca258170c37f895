"""A motor's length over its diameter is one that catalogued modules have.

    min q_i ≤ q ≤ max q_i,   q = ℓ / 2r

Source: the catalogue, `draft_core.trends.limits.aspect`. One kink, inside, where the nearer limit
changes.
"""

from draft_core.anatomy import Anatomy
from draft_core.gates.margins import Gate, Margin, within
from draft_core.trends import limits


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return one margin for each motor class that a joint uses."""
    spread = limits.aspect()
    found = []
    for key in anatomy.parts.motors:
        aspect = anatomy.motor(key, "aspect")
        found.append(
            Margin(
                gate="aspect",
                subject=f"{key}, length over diameter",
                value=within(aspect, spread.min, spread.max),
                measured=aspect,
                limit=(spread.min, spread.max),
                unit="",
                level="warning",
                text=f"{key} is {{measured}} times as long as its diameter; catalogued modules "
                "are {low} to {high} times",
            )
        )
    return found


GATE = Gate(
    "aspect",
    "Aspect",
    "a motor's length / diameter is within the catalogue's least and greatest",
    margins,
)
