"""How far the catalogue reaches: densities by family of reduction, aspects, package density."""

from dataclasses import dataclass
from functools import cache

from draft_core.errors import DraftError, close_match, known_names
from draft_core.trends.tables import actuator_fits

EVERY_FAMILY = "all"


@dataclass(frozen=True)
class Frontier:
    """The best and the 90th percentile of a family of modules, and who is best.

    Attributes:
        torque_density: greatest peak torque over mass [N m/kg].
        torque_density_p90: its 90th percentile.
        best_torque: the module that reaches the greatest.
        power_density: greatest peak power over mass [W/kg].
        power_density_p90: its 90th percentile.
        best_power: the module that reaches the greatest.
    """

    torque_density: float
    torque_density_p90: float
    best_torque: str
    power_density: float
    power_density_p90: float
    best_power: str


@dataclass(frozen=True)
class Spread:
    """Least, greatest and percentiles of a quantity over the catalogue."""

    min: float
    p10: float
    median: float
    p90: float
    max: float


@cache
def frontier(family: str = EVERY_FAMILY) -> Frontier:
    """Return the frontier of one family of `draft_core.trends.catalog.FAMILIES`, or of all.

    Raises:
        DraftError: there is no such family.
    """
    data = _entry("frontier", family)
    torque, power = data["torque_density_n_m_per_kg"], data["power_density_w_per_kg"]
    return Frontier(
        torque["max"], torque["p90"], torque["best"], power["max"], power["p90"], power["best"]
    )


@cache
def aspect(family: str = EVERY_FAMILY) -> Spread:
    """Return the spread of length over diameter of one family, or of all.

    Raises:
        DraftError: there is no such family.
    """
    return Spread(**_entry("aspect", family))


@cache
def package_density() -> Spread:
    """Return the spread of mass over enclosing volume [kg/m³] of all modules."""
    return Spread(**actuator_fits()["package_density_kg_m3"])


def _entry(table: str, family: str) -> dict:
    entries = actuator_fits()[table]
    if family not in entries:
        raise DraftError(
            f"no family of actuators is called {family!r}{close_match(family, entries)}. "
            f"There are: {known_names(entries)}."
        )
    return entries[family]
