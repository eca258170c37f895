"""What an actuator module weighs and measures, from its torque and its gear.

    ω = c N^b                 no-load speed;   N = (ω / c)^(1/b)   its exact inverse
    m = c τ^a                 mass
    V = c τ^a N^b             volume of the cylinder;   q = c τ^a N^b   its aspect ℓ / 2r
    r = (V / 2πq)^(1/3)       radius;   ℓ = 2 q r   length
    J = k r⁴                  inertia at the rotor;   N² J   at the joint (armature)

The coefficients are those of data/actuators.yaml, written by `draft_core.trends.fits`. Anchored on
a catalogued part, each law is a ratio to the part, x = x_part (τ/τ_part)^a (N/N_part)^b: the part
itself at its own torque and gear, the trend for the deviation from it.

Every function takes positive floats, NumPy or JAX values, and is smooth there: plain operators
only, so that floats stay floats.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from draft_core.trends.catalog import Module
from draft_core.trends.tables import actuator_fits


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The fitted constants, SI units: the factor of each law and its exponents."""

    mass: float
    mass_torque: float
    speed: float
    speed_gear: float
    volume: float
    volume_torque: float
    volume_gear: float
    aspect: float
    aspect_torque: float
    aspect_gear: float
    inertia: float


@cache
def coefficients() -> Coefficients:
    """Return the constants of data/actuators.yaml, every row of the fits included."""
    fits = actuator_fits()["fits"]
    mass, speed, volume, aspect = (fits[name] for name in ("mass", "speed", "volume", "aspect"))
    return Coefficients(
        mass=mass["c"],
        mass_torque=mass["torque"],
        speed=speed["c"],
        speed_gear=speed["gear"],
        volume=volume["c"],
        volume_torque=volume["torque"],
        volume_gear=volume["gear"],
        aspect=aspect["c"],
        aspect_torque=aspect["torque"],
        aspect_gear=aspect["gear"],
        inertia=fits["rotor_inertia"]["c"],
    )


def no_load_speed(gear: Any, part: Module | None = None) -> Any:
    """Return the output speed [rad/s] at which modules of this gear give no torque."""
    c = coefficients()
    if part is None or part.gear is None:
        return c.speed * gear**c.speed_gear
    return part.no_load_speed * (gear / part.gear) ** c.speed_gear


def gear(no_load_speed: Any, part: Module | None = None) -> Any:
    """Return the reduction N of modules of this no-load speed [rad/s]: its exact inverse."""
    c = coefficients()
    if part is None or part.gear is None:
        return (no_load_speed / c.speed) ** (1 / c.speed_gear)
    return part.gear * (no_load_speed / part.no_load_speed) ** (1 / c.speed_gear)


def peak_power(torque: Any, speed: Any) -> Any:
    """Return the greatest power [W] on the line from stall torque to no-load speed, τ ω / 4."""
    return torque * speed / 4


def mass(torque: Any, part: Module | None = None) -> Any:
    """Return the mass [kg] of a module of this peak torque [N m]."""
    c = coefficients()
    if part is None:
        return c.mass * torque**c.mass_torque
    return part.mass * (torque / part.peak_torque) ** c.mass_torque


def volume(torque: Any, gear: Any, part: Module | None = None) -> Any:
    """Return the volume [m³] of the module's cylinder; gear plays no role for a part without."""
    c = coefficients()
    if part is None:
        return c.volume * torque**c.volume_torque * gear**c.volume_gear
    return part.volume * _deviation(torque, gear, part, c.volume_torque, c.volume_gear)


def aspect(torque: Any, gear: Any, part: Module | None = None) -> Any:
    """Return the module's length over diameter; gear plays no role for a part without."""
    c = coefficients()
    if part is None:
        return c.aspect * torque**c.aspect_torque * gear**c.aspect_gear
    return part.aspect * _deviation(torque, gear, part, c.aspect_torque, c.aspect_gear)


def radius(volume: Any, aspect: Any) -> Any:
    """Return the radius [m] of the cylinder of a volume [m³] and an aspect ℓ / 2r."""
    return (volume / (2 * math.pi * aspect)) ** (1 / 3)


def length(radius: Any, aspect: Any) -> Any:
    """Return the length [m] of the cylinder of a radius [m] and an aspect ℓ / 2r."""
    return 2 * aspect * radius


def rotor_inertia(radius: Any, part: Module | None = None) -> Any:
    """Return the inertia [kg m²] at the rotor, before the reduction.

    A part that publishes its rotor inertia is scaled by (r / r_part)⁴; any other follows k r⁴.
    """
    if part is None or part.rotor_inertia is None:
        return coefficients().inertia * _fourth(radius)
    return part.rotor_inertia * _fourth(radius / part.radius)


def armature(gear: Any, rotor_inertia: Any) -> Any:
    """Return the rotor's inertia [kg m²] as the joint feels it, N² J."""
    return gear * gear * rotor_inertia


def _deviation(torque: Any, gear: Any, part: Module, by_torque: float, by_gear: float) -> Any:
    ratio = (torque / part.peak_torque) ** by_torque
    return ratio if part.gear is None else ratio * (gear / part.gear) ** by_gear


def _fourth(value: Any) -> Any:
    square = value * value
    return square * square


class _Rules(Mapping[str, str]):
    """The rule of each derived field as a report prints it; reads the constants when asked."""

    def __getitem__(self, field: str) -> str:
        return _rules()[field]

    def __iter__(self) -> Iterator[str]:
        return iter(_rules())

    def __len__(self) -> int:
        return len(_rules())


#: The rule of each derived field of a motor class, its constants as printed.
RULES: Mapping[str, str] = _Rules()


@cache
def _rules() -> Mapping[str, str]:
    c = coefficients()
    return {
        "no_load_speed": f"w = {c.speed:.1f} N^{c.speed_gear:.3f}",
        "gear": f"N = {c.speed ** (-1 / c.speed_gear):.0f} w^{1 / c.speed_gear:.3f}",
        "peak_power": "P = tau w / 4",
        "mass": f"m = {c.mass:.4f} tau^{c.mass_torque:.3f}",
        "volume": f"V = tau^{c.volume_torque:.3f} N^{c.volume_gear:.3f} / {1 / c.volume:.0f}",
        "aspect": f"q = {c.aspect:.3f} tau^{c.aspect_torque:.3f} N^{c.aspect_gear:.3f}",
        "radius": "r = (V / (2 pi q))^(1/3)",
        "length": "l = 2 q r",
        "density": "rho = m / V",
        "rotor_inertia": f"J = {c.inertia:.1f} r^4",
        "armature": "N^2 J",
    }
