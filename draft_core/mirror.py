"""``mirror_of``: a node's mirror image across y = 0, with left/right names swapped.

Positions and directions are vectors (x, −y, z). Turns are pseudovectors (−x, y, −z): a mirrored
hinge keeps the sign of its angle, so that equal joint angles left and right give mirrored poses,
and keeps its range. A mirrored thruster spins the other way. `quantities` does the arithmetic;
this module does the names.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from draft_core.errors import DraftError
from draft_core.tree import ContactPoint, Link, Site, Thruster

_PAIRS = (("left", "right"), ("fl", "fr"), ("ml", "mr"), ("rl", "rr"), ("bl", "br"), ("l", "r"))
_OTHER = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_OTHER |= {k.capitalize(): v.capitalize() for k, v in _OTHER.items()}
_OTHER |= {k.upper(): v.upper() for k, v in _OTHER.items()}
_TOKEN = re.compile(
    rf"(?<![A-Za-z])({'|'.join(sorted(_OTHER, key=len, reverse=True))})(?![A-Za-z])"
)

_Named = TypeVar("_Named", Site, ContactPoint, Thruster)


def mirrored_name(name: str) -> str:
    """Return the name with each of left/right, fl/fr, ml/mr, rl/rr, bl/br, l/r swapped."""
    return _TOKEN.sub(lambda match: _OTHER[match.group(1)], name)


def mirrored_link(
    name: str, source: Link, parent: str | None, images: Mapping[str, str], where: str
) -> Link:
    """Return the mirror image of a link under a new name.

    Args:
        name: the new node's.
        source: the node it mirrors.
        parent: the node it hangs from.
        images: names of mirror images by their originals'.
        where: place of the new node, for messages.

    Raises:
        DraftError: a site, contact point or thruster has a name without a side.
    """

    def renamed(items: tuple[_Named, ...]) -> tuple[_Named, ...]:
        return tuple(replace(item, name=_swapped(item.name, where)) for item in items)

    joint, motor = source.joint, source.motor
    if joint is not None:
        own = name if joint.name == source.name else _swapped(joint.name, where)
        if motor is not None:
            motor_name = own if motor.name == joint.name else _swapped(motor.name, where)
            carrier = motor.carrier and images.get(motor.carrier, motor.carrier)
            motor = replace(motor, name=motor_name, carrier=carrier)
        joint = replace(joint, name=own)
    return replace(
        source,
        name=name,
        parent=parent,
        joint=joint,
        motor=motor,
        solids=tuple(
            replace(s, name=name + s.name[len(source.name) :], mirrored=True) for s in source.solids
        ),
        sites=renamed(source.sites),
        contacts=renamed(source.contacts),
        thrusters=renamed(source.thrusters),
        mirrored=True,
    )


def _swapped(name: str, where: str) -> str:
    other = mirrored_name(name)
    if other == name:
        raise DraftError(
            f"{where} mirrors {name!r}, whose name has no side to swap; name it with left/right, "
            f"fl/fr, ml/mr, rl/rr or l/r, such as '{name}_l'."
        )
    return other
