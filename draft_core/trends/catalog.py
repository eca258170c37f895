"""Integrated actuators one can buy or build: one `Module` for each row of data/actuators.csv."""

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from draft_core.errors import DraftError, close_match
from draft_core.trends.tables import read_text

FAMILIES = ("qdd", "midgear", "harmonic")


@dataclass(frozen=True)
class Module:
    """One catalogued module: motor, reduction and housing in one cylinder.

    Attributes:
        vendor: who makes it, or the research project.
        model: its name, unique in the catalogue.
        family: one of `FAMILIES`, by kind of reduction.
        peak_torque: at the output [N m].
        no_load_speed: at the output [rad/s].
        gear: reduction N, or None where unpublished.
        mass: of the whole module [kg].
        radius: outer radius, half the side of a square body [m].
        length: along the axis [m].
        rotor_inertia: at the rotor, before the reduction [kg m²], or None where unpublished.
        published_power: peak output power as printed [W], or None where it is not.
        in_gear_fits: whether the trends in torque and gear are fitted to it.
        in_inertia_fit: whether the rotor inertia trend is fitted to it.
        source: where the figures were printed.
        doubt: what is suspect about them; empty for most.
    """

    vendor: str
    model: str
    family: str
    peak_torque: float
    no_load_speed: float
    gear: float | None
    mass: float
    radius: float
    length: float
    rotor_inertia: float | None
    published_power: float | None
    in_gear_fits: bool
    in_inertia_fit: bool
    source: str
    doubt: str

    @property
    def volume(self) -> float:
        """Volume of the enclosing cylinder, π r² ℓ [m³]."""
        return math.pi * self.radius**2 * self.length

    @property
    def aspect(self) -> float:
        """Length over diameter, q = ℓ / 2r."""
        return self.length / (2 * self.radius)

    @property
    def peak_power(self) -> float:
        """Greatest output power of the straight torque-speed line, τ ω / 4 [W]."""
        return self.peak_torque * self.no_load_speed / 4

    @property
    def torque_density(self) -> float:
        """Peak torque over mass [N m/kg]."""
        return self.peak_torque / self.mass

    @property
    def power_density(self) -> float:
        """Peak power, as printed where it is, over mass [W/kg]."""
        return (self.published_power or self.peak_power) / self.mass


@cache
def catalogue() -> Mapping[str, Module]:
    """Return every module by its model name, in the order of the file."""
    rows = csv.DictReader(read_text("actuators.csv").splitlines())
    return MappingProxyType({row["model"]: _module(row) for row in rows})


def module(name: str) -> Module:
    """Return the module of a model name.

    Raises:
        DraftError: the catalogue has no such model; names the nearest one.
    """
    modules = catalogue()
    if name not in modules:
        raise DraftError(
            f"no catalogued actuator is called {name!r}{close_match(name, modules)}; "
            f"draft_core/trends/data/actuators.csv lists all {len(modules)}."
        )
    return modules[name]


def _module(row: Mapping[str, str]) -> Module:
    return Module(
        vendor=row["vendor"],
        model=row["model"],
        family=row["family"],
        peak_torque=float(row["peak_torque_n_m"]),
        no_load_speed=float(row["no_load_speed_rad_s"]),
        gear=_optional(row["gear"]),
        mass=float(row["mass_kg"]),
        radius=float(row["radius_m"]),
        length=float(row["length_m"]),
        rotor_inertia=_optional(row["rotor_inertia_kg_m2"]),
        published_power=_optional(row["peak_power_w"]),
        in_gear_fits=row["in_gear_fits"] == "1",
        in_inertia_fit=row["in_inertia_fit"] == "1",
        source=row["source"],
        doubt=row["doubt"],
    )


def _optional(text: str) -> float | None:
    return float(text) if text else None
