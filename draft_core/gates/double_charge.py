"""The space that actuators take in the trunk is not charged at the trunk's density as well.

    ρ Σ V_i f_i / m_trunk ≤ 5 %

V_i is the volume of actuator i and f_i the part of it within the trunk, estimated by the box around
the trunk's mesh: the product over the root's axes of the part of the cylinder's extent
e = h |a| + r √(1 − a²) that lies within it. A trunk whose mass is stated is not charged by volume.

Source: Draft (Nguyen, Coelho, Kim 2026), which samples. Kinks: where a cylinder's extent begins or
ends to lie within the box.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from draft_core.anatomy import Anatomy, parts
from draft_core.gates.margins import Gate, Margin, below
from draft_core.gates.masses import owners, volumes
from draft_core.namespace import namespace
from draft_core.tree import RobotTree
from draft_core.vectors import root

NAME, MOST = "double_charge", 0.05


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return one margin, or none where no trunk is charged by its volume."""
    trunk, at = anatomy.parts.trunk, owners(anatomy.tree).trunk_solid
    index = _actuators(anatomy.tree)
    if trunk is None or trunk.density is None or at is None or not len(index):
        return []
    volume = (volumes(anatomy)[index] * inside(anatomy, index)).sum()
    charged = trunk.density.evaluate(anatomy.env) * volume
    share = charged / anatomy.fields["solid_mass"][at]
    return [
        Margin(
            gate=NAME,
            subject="actuators in the trunk",
            value=below(share, MOST),
            measured=share,
            limit=MOST,
            unit="",
            level="warning",
            text="the trunk is charged {measured} of its mass for space that actuators take; "
            "{limit} is tolerated",
        )
    ]


def inside(anatomy: Anatomy, index: Int[np.ndarray, " n"]) -> Float[Any, " n"]:
    """Return the part of each cylinder's volume that lies in the box around the trunk (n,)."""
    low, high = anatomy.vertices.min(axis=0), anatomy.vertices.max(axis=0)
    size, axis = anatomy.fields["geom_size"][index], anatomy.turn[index][:, :, 2]
    xp = namespace(low, size, axis)
    across = root(xp, xp.maximum(1 - axis * axis, 0.0))
    extent = size[:, 1:2] * xp.abs(axis) + size[:, :1] * across
    middle = anatomy.pos[index]
    part = xp.minimum(middle + extent, high) - xp.maximum(middle - extent, low)
    part = xp.maximum(part, 0.0) / (2 * extent)
    return part[:, 0] * part[:, 1] * part[:, 2]


@lru_cache(maxsize=32)
def _actuators(tree: RobotTree) -> np.ndarray:
    rows = enumerate(parts(tree).solids)
    return np.array([i for i, s in rows if s.role == "actuator" and s.shape == "cylinder"], int)


GATE = Gate(
    NAME,
    "Trunk double charge",
    "the volume of actuators within the trunk, at the trunk's density, is at most 5 % of its mass",
    margins,
)
