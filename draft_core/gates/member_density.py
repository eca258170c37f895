"""A structural member is not more than twice as dense as its class usually is.

    m / V ≤ 2 median(ρ of the class),   m = its trend's mass, V its own solid

A member thinner than the links the trend was fitted to gets their mass in less volume.

Source: Draft (Nguyen, Coelho, Kim 2026) and the structural trends. Smooth but where the mass itself
has a kink (`draft_core.trends.structure.kinks`).
"""

from collections.abc import Hashable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from draft_core.anatomy import Anatomy, parts
from draft_core.gates.margins import Gate, Margin, below, joint_name, scalars
from draft_core.gates.masses import volumes
from draft_core.tree import RobotTree
from draft_core.trends import structure

NAME, FACTOR = "member_density", 2.0


class _Members(NamedTuple):
    """Members with a segment: where they are among the solids, and what they may have."""

    places: Int[np.ndarray, " n"]
    names: tuple[str, ...]
    most: tuple[float, ...]
    texts: tuple[str, ...]


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return one margin for each kind of structural member whose mass its segment gives."""
    places, names, most, texts = _members(anatomy.tree)
    if not names:
        return []
    density = scalars(anatomy.mass[places] / volumes(anatomy)[places])
    return [
        Margin(NAME, name, below(rho, limit), rho, limit, "kg/m^3", "warning", text)
        for name, rho, limit, text in zip(names, density, most, texts, strict=True)
    ]


@lru_cache(maxsize=32)
def _members(tree: RobotTree) -> _Members:
    """Return the members to judge, one for all that have the same size and rule."""
    alike: dict[Hashable, list[int]] = {}
    solids = parts(tree).solids
    for i, solid in enumerate(solids):
        if solid.role == "structure" and solid.segment is not None:
            alike.setdefault((solid.shape, solid.size, solid.mass), []).append(i)
    names, most, texts = [], [], []
    for of in alike.values():
        name, segment = joint_name([solids[i].name for i in of]), solids[of[0]].segment
        assert segment is not None
        kind = f"{segment.population} {segment.name}"
        names.append(name)
        most.append(FACTOR * structure.density_norm(segment.population, segment.name))
        texts.append(
            f"{name}: {{measured}} kg/m^3 of structure; {{limit}} kg/m^3 is {FACTOR:g} times "
            f"what a {kind} has"
        )
    places = np.array([of[0] for of in alike.values()], dtype=int)
    return _Members(places, tuple(names), tuple(most), tuple(texts))


GATE = Gate(
    NAME,
    "Member density",
    "a member's mass by its segment / the volume of its solid is at most twice its class's median",
    margins,
)
