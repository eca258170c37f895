"""The actuator formulas: against numbers, their inverses, their anchors and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from draft_core.backend import jax, jnp
from draft_core.trends import actuator
from draft_core.trends.catalog import Module, catalogue, module

MODULES = tuple(catalogue().values())
GEARLESS = module("X5-1")
SILENT = module("GO-M8010-6")  # publishes no rotor inertia


def test_the_trends_give_the_printed_laws_at_72_n_m_and_6_to_1():
    # Printed constants carry three digits or so, hence the tolerance.
    assert actuator.mass(72.0) == pytest.approx(0.0653 * 72**0.666, rel=3e-3)
    assert actuator.no_load_speed(6.0) == pytest.approx(228.5 * 6**-0.938, rel=3e-3)
    assert actuator.gear(40.0) == pytest.approx(327 * 40**-1.066, rel=3e-3)
    assert actuator.volume(72.0, 6.0) == pytest.approx(72**0.7 * 6**-0.167 / 23948, rel=3e-3)
    assert actuator.rotor_inertia(0.063) == pytest.approx(27.2 * 0.063**4, rel=3e-3)
    assert actuator.peak_power(72.0, 40.0) == 720.0
    assert actuator.armature(6.0, 5e-4) == pytest.approx(0.018)


@pytest.mark.parametrize("part", [None, module("MIT U12"), GEARLESS])
@pytest.mark.parametrize("gear", [1.0, 6.0, 9.5, 160.0])
def test_gear_is_the_exact_inverse_of_no_load_speed(gear: float, part: Module | None):
    assert actuator.gear(actuator.no_load_speed(gear, part), part) == pytest.approx(gear, 1e-14)


def test_radius_and_length_make_a_cylinder_of_the_volume_and_aspect():
    radius = actuator.radius(7e-4, 0.6)
    length = actuator.length(radius, 0.6)
    assert math.pi * radius**2 * length == pytest.approx(7e-4)
    assert length / (2 * radius) == pytest.approx(0.6)


@pytest.mark.parametrize("part", MODULES, ids=lambda m: m.model)
def test_a_part_at_its_own_torque_and_gear_is_itself(part: Module):
    gear = 10.0 if part.gear is None else part.gear
    volume = actuator.volume(part.peak_torque, gear, part)
    aspect = actuator.aspect(part.peak_torque, gear, part)
    radius = actuator.radius(volume, aspect)
    assert actuator.mass(part.peak_torque, part) == part.mass
    assert radius == pytest.approx(part.radius, rel=1e-14)
    assert actuator.length(radius, aspect) == pytest.approx(part.length, rel=1e-14)
    if part.rotor_inertia is not None:
        assert actuator.rotor_inertia(part.radius, part) == part.rotor_inertia
    if part.gear is not None:
        assert actuator.no_load_speed(part.gear, part) == part.no_load_speed
        assert actuator.gear(part.no_load_speed, part) == part.gear


def test_the_trend_charges_a_part_s_deviation():
    part = module("AK10-9 V2")
    c = actuator.coefficients()
    assert actuator.mass(96.0, part) == pytest.approx(0.96 * 2**c.mass_torque)
    for of, gear_exponent in ((actuator.volume, c.volume_gear), (actuator.aspect, c.aspect_gear)):
        grown = of(48.0, 18.0, part) / of(48.0, 9.0, part)
        assert grown == pytest.approx(2**gear_exponent)
        # As far as the trend goes, from the part or from the trend's own line.
        assert of(96.0, 18.0, part) / of(48.0, 9.0, part) == pytest.approx(
            of(96.0, 18.0) / of(48.0, 9.0)
        )
    assert actuator.rotor_inertia(0.098, part) == pytest.approx(16 * part.rotor_inertia)  # type: ignore[operator]


def test_a_part_without_a_gear_ratio_is_not_charged_for_one():
    assert actuator.volume(5.0, 6.0, GEARLESS) == actuator.volume(5.0, 60.0, GEARLESS)
    assert actuator.aspect(5.0, 6.0, GEARLESS) == actuator.aspect(5.0, 60.0, GEARLESS)
    assert actuator.gear(9.0, GEARLESS) == actuator.gear(9.0)
    assert actuator.no_load_speed(9.0, GEARLESS) == actuator.no_load_speed(9.0)


def test_a_part_without_a_published_inertia_follows_the_trend():
    assert actuator.rotor_inertia(0.05, SILENT) == actuator.rotor_inertia(0.05)


LAWS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "no_load_speed": (actuator.no_load_speed, (9.0,)),
    "gear": (actuator.gear, (30.0,)),
    "peak_power": (actuator.peak_power, (72.0, 40.0)),
    "mass": (actuator.mass, (72.0,)),
    "volume": (actuator.volume, (72.0, 6.0)),
    "aspect": (actuator.aspect, (72.0, 6.0)),
    "radius": (actuator.radius, (7e-4, 0.6)),
    "length": (actuator.length, (0.05, 0.6)),
    "rotor_inertia": (actuator.rotor_inertia, (0.05,)),
    "armature": (actuator.armature, (6.0, 5e-4)),
}
ANCHORED = ("no_load_speed", "gear", "mass", "volume", "aspect", "rotor_inertia")
CASES = [(name, None) for name in LAWS] + [
    (name, part) for name in ANCHORED for part in (module("MIT U12"), GEARLESS, SILENT)
]


@pytest.mark.parametrize(("name", "part"), CASES)
def test_floats_numpy_and_jax_agree_and_floats_stay_floats(name: str, part: Module | None):
    law, at = LAWS[name]
    options = {} if part is None else {"part": part}
    value = law(*at, **options)
    assert type(value) is float
    arrays = law(*(np.array([x, x]) for x in at), **options)
    np.testing.assert_allclose(arrays, [value, value], rtol=1e-14)
    traced = jax.jit(lambda *x: law(*x, **options))(*map(jnp.asarray, at))
    np.testing.assert_allclose(traced, value, rtol=1e-13)


@pytest.mark.parametrize(("name", "part"), CASES)
def test_gradients_are_those_of_finite_differences(name: str, part: Module | None):
    law, at = LAWS[name]
    options = {} if part is None else {"part": part}
    gradients = jax.grad(lambda *x: law(*x, **options), argnums=tuple(range(len(at))))(*at)
    for i, gradient in enumerate(gradients):
        step = 1e-6 * at[i]

        def moved(by: float, i: int = i) -> float:
            return law(*(x + by * (j == i) for j, x in enumerate(at)), **options)

        # Central differences in steps of 1e-6: cancellation leaves about 1e-10 of the value,
        # and a power law's logarithmic slope is a few tenths.
        difference = (moved(step) - moved(-step)) / (2 * step)
        assert gradient == pytest.approx(difference, rel=1e-8, abs=1e-8 * law(*at) / at[i])


def test_every_rule_prints_the_published_constants():
    assert dict(actuator.RULES) == {
        "no_load_speed": "w = 228.5 N^-0.938",
        "gear": "N = 327 w^-1.066",
        "peak_power": "P = tau w / 4",
        "mass": "m = 0.0653 tau^0.666",
        "volume": "V = tau^0.700 N^-0.167 / 23948",
        "aspect": "q = 0.401 tau^-0.098 N^0.316",
        "radius": "r = (V / (2 pi q))^(1/3)",
        "length": "l = 2 q r",
        "density": "rho = m / V",
        "rotor_inertia": "J = 27.2 r^4",
        "armature": "N^2 J",
    }
