"""What the structure of a link weighs, without its actuators, from its length.

    m = c L^e     per population (humanoid, quadruped) and segment class, with e ≥ 0

The law holds within the lengths it was fitted to; outside, the mass per metre is held at the
nearest edge. Everywhere it is kept between the class's 10th and 90th percentile of mass per metre:

    m = L · clip(c clip(L, L₀, L₁)^(e−1), p10, p90)

So m is continuous and proportional to L towards zero. Its slope jumps at the edges of the fitted
range and where a percentile begins or ends to bind (`kinks` lists them); it is finite on both
sides. A trunk is its volume times `trunk_density`. Populations are never mixed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from draft_core.errors import DraftError, close_match, known_names
from draft_core.namespace import namespace
from draft_core.trends.tables import read_yaml

MEMBERS = ("thigh", "shank", "forearm")  # whose densities bound a stated link density


@dataclass(frozen=True)
class SegmentClass:
    """The trend of one class of segments.

    Attributes:
        c: factor of m = c L^e [kg / m^e].
        e: exponent.
        length: fitted range [m].
        kg_per_m: 10th percentile, median and 90th percentile [kg/m].
        density: the same three of mass over volume [kg/m³].
        n: segments fitted.
        gmfe: geometric mean fold error in sample.
        loo: the same with whole robots held out; None where unpublished.
    """

    c: float
    e: float
    length: tuple[float, float]
    kg_per_m: tuple[float, float, float]
    density: tuple[float, float, float]
    n: int
    gmfe: float
    loo: float | None


@dataclass(frozen=True)
class Audit:
    """What whole robots of a population look like.

    Attributes:
        actuator_fraction: 10th and 90th percentile of actuator mass over total mass.
        trunk_fraction: the same of trunk mass.
        size_c: factor of total mass = c size^e [kg / m^e].
        size_e: exponent.
        size_sigma: standard deviation of the log of mass about it.
        size_band_sigmas: half width of the band, in those.
        size: range of sizes fitted [m]: for humanoids the vertical span of the joint frames in
            the neutral pose, for quadrupeds thigh plus shank.
    """

    actuator_fraction: tuple[float, float]
    trunk_fraction: tuple[float, float]
    size_c: float
    size_e: float
    size_sigma: float
    size_band_sigmas: float
    size: tuple[float, float]

    def mass_band(self, size: Any) -> tuple[Any, Any]:
        """Return the least and the greatest usual total mass [kg] at a size [m]."""
        middle = self.size_c * size**self.size_e
        factor = math.exp(self.size_band_sigmas * self.size_sigma)
        return middle / factor, middle * factor


@dataclass(frozen=True)
class Population:
    """The trends of one kind of robot."""

    trunk_class: str
    trunk_density: float
    audit: Audit
    classes: Mapping[str, SegmentClass]


@cache
def populations() -> Mapping[str, Population]:
    """Return the trends of every population by name."""
    data = read_yaml("structure.yaml")["populations"]
    return MappingProxyType({name: _population(entry) for name, entry in data.items()})


def classes(population: str) -> Mapping[str, SegmentClass]:
    """Return the segment classes of a population by name."""
    return _named(population).classes


def segment_class(population: str, cls: str) -> SegmentClass:
    """Return one segment class of a population.

    Raises:
        DraftError: the population or the class is unknown; lists those there are.
    """
    known = classes(population)
    if cls not in known:
        raise DraftError(
            f"population {population!r} has no segment class {cls!r}{close_match(cls, known)}. "
            f"It has: {known_names(known)}."
        )
    return known[cls]


def member_mass(population: str, cls: str, length: Any) -> Any:
    """Return the mass [kg] of a structural member of a length [m], actuators not included.

    Raises:
        DraftError: the population or the class is unknown.
    """
    trend = segment_class(population, cls)
    low, _, high = trend.kg_per_m
    if isinstance(length, float | int):
        inside = min(max(length, trend.length[0]), trend.length[1])
        return min(max(trend.c * inside ** (trend.e - 1), low), high) * length
    xp = namespace(length)
    inside = xp.minimum(xp.maximum(length, trend.length[0]), trend.length[1])
    return xp.minimum(xp.maximum(trend.c * inside ** (trend.e - 1), low), high) * length


def kinks(population: str, cls: str) -> tuple[float, ...]:
    """Return the lengths [m] at which the slope of `member_mass` jumps, ascending."""
    trend = segment_class(population, cls)
    low, _, high = trend.kg_per_m
    shortest, longest = trend.length

    def per_metre(length: float) -> float:
        return trend.c * length ** (trend.e - 1)

    edges = [edge for edge in trend.length if low < per_metre(edge) < high]
    bounds = [(bound / trend.c) ** (1 / (trend.e - 1)) for bound in (low, high)]
    return tuple(sorted(edges + [bound for bound in bounds if shortest <= bound <= longest]))


def member_rule(population: str, cls: str) -> str:
    """Return the rule of `member_mass` as a report prints it."""
    trend = segment_class(population, cls)
    low, _, high = trend.kg_per_m
    shortest, longest = trend.length
    return (
        f"m = {trend.c:.4g} L^{trend.e:.4g} ({population} {cls}, L in {shortest:g}..{longest:g} m, "
        f"{low:.3g}..{high:.3g} kg/m)"
    )


def trunk_class(population: str) -> str:
    """Return the segment class a population's trunk belongs to."""
    return _named(population).trunk_class


def trunk_density(population: str) -> float:
    """Return the density [kg/m³] a trunk's volume is multiplied by, actuators not included."""
    return _named(population).trunk_density


def density_norm(population: str, cls: str) -> float:
    """Return the median density [kg/m³] of a class, actuators not included."""
    return segment_class(population, cls).density[1]


def link_density_band(population: str) -> tuple[float, float]:
    """Return the densities [kg/m³] a stated link density may have.

    From the least 10th to the greatest 90th percentile of thigh, shank and, where the population
    has one, forearm.
    """
    known = classes(population)
    bands = [known[name].density for name in MEMBERS if name in known]
    return min(band[0] for band in bands), max(band[2] for band in bands)


def audit(population: str) -> Audit:
    """Return what whole robots of a population look like."""
    return _named(population).audit


def _named(population: str) -> Population:
    known = populations()
    if population not in known:
        raise DraftError(
            f"no population is called {population!r}{close_match(population, known)}. "
            f"There are: {known_names(known)}."
        )
    return known[population]


def _population(data: Mapping[str, Any]) -> Population:
    return Population(
        trunk_class=data["trunk"]["class"],
        trunk_density=data["trunk"]["density_kg_m3"],
        audit=_audit(data["audit"]),
        classes=MappingProxyType(
            {name: _segment_class(entry) for name, entry in data["classes"].items()}
        ),
    )


def _segment_class(data: Mapping[str, Any]) -> SegmentClass:
    return SegmentClass(
        c=data["c"],
        e=data["e"],
        length=tuple(data["length_m"]),
        kg_per_m=tuple(data["kg_per_m"]),
        density=tuple(data["density_kg_m3"]),
        n=data["n"],
        gmfe=data["gmfe"],
        loo=data["loo"],
    )


def _audit(data: Mapping[str, Any]) -> Audit:
    size = data["mass_vs_size"]
    return Audit(
        actuator_fraction=tuple(data["actuator_mass_fraction"]),
        trunk_fraction=tuple(data["trunk_mass_fraction"]),
        size_c=size["c"],
        size_e=size["e"],
        size_sigma=size["sigma"],
        size_band_sigmas=size["band_sigmas"],
        size=tuple(size["size_m"]),
    )
