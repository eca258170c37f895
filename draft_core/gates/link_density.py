"""A density stated for a structural member is one that measured members have.

    min p10 ≤ ρ ≤ max p90   over thigh, shank and, where the population has one, forearm

Members whose mass is stated or follows from a trend are not held to it; see `member_density`.

Source: the structural trends, `draft_core.trends.structure.link_density_band`. One kink, inside,
where the nearer limit changes.
"""

from functools import lru_cache

from draft_core.anatomy import Anatomy
from draft_core.gates.margins import Gate, Margin, joint_name, within
from draft_core.tree import RobotTree, Scalar
from draft_core.trends import structure

NAME, SWITCH = "link_density", "allow_link_density"


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return one margin for each density that structural members state."""
    population = anatomy.tree.population
    if population is None:
        return []
    low, high = structure.link_density_band(population)
    found = []
    for name, stated in _stated(anatomy.tree):
        density = stated.evaluate(anatomy.env)
        found.append(
            Margin(
                gate=NAME,
                subject=name,
                value=within(density, low, high),
                measured=density,
                limit=(low, high),
                unit="kg/m^3",
                level="error",
                text=f"{name}: a stated density of {{measured}} kg/m^3; structure of a "
                f"{population} has {{low}} to {{high}} kg/m^3",
                switch=SWITCH,
            )
        )
    return found


@lru_cache(maxsize=32)
def _stated(tree: RobotTree) -> tuple[tuple[str, Scalar], ...]:
    """Return the densities that members state, one for all that state the same."""
    alike: dict[Scalar, list[str]] = {}
    for solid in (solid for link in tree.links for solid in link.solids):
        if solid.role == "structure" and solid.segment is None and solid.density is not None:
            alike.setdefault(solid.density, []).append(solid.name)
    return tuple((joint_name(names), stated) for stated, names in alike.items())


GATE = Gate(
    NAME,
    "Stated link density",
    "a density stated for a structural member is within those measured for thighs, shanks and "
    "forearms",
    margins,
    SWITCH,
)
