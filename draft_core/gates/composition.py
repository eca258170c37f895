"""A robot is made up as others of its population are.

    p10 ≤ Σ m_actuator / m ≤ p90,   p10 ≤ m_trunk / m ≤ p90,
    m within 2 σ (in its logarithm) of c size^e

The trunk is its link with all it carries, as in the robots the percentiles are of. The size is, of
a quadruped, the length of its thigh and shank (the mean where they differ); of a humanoid, the
vertical span of its joint frames at the reference pose.

Source: the structural trends, `draft_core.trends.structure.audit`. Kinks: inside each interval,
where the nearer limit changes; where another joint becomes the highest or lowest.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from draft_core import rotations
from draft_core.anatomy import Anatomy
from draft_core.formula import Formula
from draft_core.gates.margins import Gate, Margin, within
from draft_core.gates.masses import owners, role_mass, trunk_mass
from draft_core.namespace import namespace, stack
from draft_core.tree import Leaf, RobotTree
from draft_core.trends import structure

NAME = "composition"
_LEG = ("thigh", "shank")


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return the margins of actuator and trunk fraction and of the mass for the robot's size."""
    population = anatomy.tree.population
    return [] if population is None else list(_margins(anatomy, population))


def _margins(anatomy: Anatomy, population: str) -> Iterator[Margin]:
    audit, total, of = structure.audit(population), anatomy.total_mass, owners(anatomy.tree)
    if anatomy.parts.drives:
        share = role_mass(anatomy, "actuator") / total
        yield _fraction("the actuators make", population, share, audit.actuator_fraction)
    if of.trunk.any():
        share = trunk_mass(anatomy) / total
        yield _fraction("the trunk makes", population, share, audit.trunk_fraction)
    size = robot_size(anatomy)
    if size is not None:
        low, high = audit.mass_band(size)
        yield Margin(
            gate=NAME,
            subject="mass for its size",
            value=within(total, low, high),
            measured=total,
            limit=(low, high),
            unit="kg",
            level="warning",
            text=f"the robot weighs {{measured}} kg; a {population} of its size weighs {{low}} to "
            "{high} kg",
        )


def _fraction(what: str, population: str, share: Any, band: tuple[float, float]) -> Margin:
    return Margin(
        gate=NAME,
        subject=f"mass fraction of {what.rpartition(' ')[0]}",
        value=within(share, *band),
        measured=share,
        limit=band,
        unit="",
        level="warning",
        text=f"{what} up {{measured}} of the mass; eight in ten {population}s have {{low}} to "
        "{high}",
    )


def robot_size(anatomy: Anatomy) -> Any:
    """Return the robot's size as its population measures it [m]; None where it has none."""
    if anatomy.tree.population == "humanoid":
        return _span(anatomy)
    lengths = _leg_lengths(anatomy.tree)
    if not all(lengths.values()):
        return None
    means = (sum(_value(x, anatomy.env) for x in of) / len(of) for of in lengths.values())
    return sum(means)


def _value(length: Leaf, env: Mapping[str, Any]) -> Any:
    return length if isinstance(length, float | int) else length.evaluate(env)


@lru_cache(maxsize=32)
def _leg_lengths(tree: RobotTree) -> dict[str, tuple[Leaf, ...]]:
    """Return what gives the length of each thigh and shank; the trend reads it first."""
    found: dict[str, dict[Leaf, None]] = {name: {} for name in _LEG}
    for solid in (solid for link in tree.links for solid in link.solids):
        rule = solid.mass.stated if solid.mass else None
        if solid.segment and solid.segment.name in found and isinstance(rule, Formula):
            found[solid.segment.name][rule.arguments[0]] = None
    return {name: tuple(lengths) for name, lengths in found.items()}


def _span(anatomy: Anatomy) -> Any:
    """Return the vertical distance of the highest and the lowest joint, all at zero [m]."""
    fields, links = anatomy.fields, anatomy.tree.links
    number = {link.name: i for i, link in enumerate(links, start=1)}
    turns = rotations.rotation(fields["body_quat"])
    # the vertical and the height of each link's origin, seen from the link itself
    up, height = [np.array([0.0, 0.0, 1.0])], [0.0]
    for body, link in enumerate(links, start=1):
        parent = number[link.parent] if link.parent else 0
        height.append(height[parent] + up[parent] @ fields["body_pos"][body])
        up.append(up[parent] @ turns[body])
    moving = [height[number[x.name]] for x in links if x.joint and x.joint.type != "free"]
    if len(moving) < 2:
        return None
    heights = stack(moving)
    return namespace(heights).max(heights) - namespace(heights).min(heights)


GATE = Gate(
    NAME,
    "Mass-composition audit",
    "the mass fractions of actuators and trunk, and the mass for its size, are usual in the "
    "population",
    margins,
)
