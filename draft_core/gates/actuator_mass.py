"""The actuators a robot carries weigh what its joints' motor classes say.

    |Σ m of actuator solids / Σ m of the driven joints' classes − 1| ≤ 5 %

It finds an actuator that is lost or counted twice, such as one that an imported module brings along
beside the cylinder of its class.

Source: Draft (Nguyen, Coelho, Kim 2026). One kink, where both masses agree.
"""

from draft_core.anatomy import Anatomy
from draft_core.gates.margins import Gate, Margin, within
from draft_core.gates.masses import role_mass

NAME, RELATIVE = "actuator_mass", 0.05


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return one margin, or none where no joint has a motor class."""
    drives = anatomy.parts.drives
    if not drives:
        return []
    stated = sum(anatomy.motor(kind.key, "mass") for _, kind in drives)
    ratio = role_mass(anatomy, "actuator") / stated
    return [
        Margin(
            gate=NAME,
            subject="all actuators",
            value=within(ratio, 1 - RELATIVE, 1 + RELATIVE),
            measured=ratio,
            limit=(1 - RELATIVE, 1 + RELATIVE),
            unit="",
            level="warning",
            text=f"the actuators weigh {{measured}} times what the classes of the {len(drives)} "
            "driven joints say; {low} to {high} times is agreement",
        )
    ]


GATE = Gate(
    NAME,
    "Actuator-mass audit",
    "the mass of all actuators is within 5 % of the sum of the driven joints' classes",
    margins,
)
