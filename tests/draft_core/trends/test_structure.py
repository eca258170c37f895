"""The structural trends: figures, what happens at their kinks, and what is refused."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from draft_core.backend import jax, jnp
from draft_core.errors import DraftError
from draft_core.trends import structure

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "draft"
EVERY_CLASS = [(name, cls) for name in structure.populations() for cls in structure.classes(name)]


@pytest.mark.parametrize(
    ("cls", "length", "mass"),
    [
        ("thigh", 0.22, 0.48276),  # inside the range: 28.336857 * 0.22^2.6896
        ("shank", 0.22, 0.25167),
        ("hip_link", 0.14288, 0.23739),  # kg/m held at the longest length fitted, 0.1278
        ("thigh", 0.38, 1.82723),  # the same at 0.35
    ],
)
def test_quadruped_members_weigh_what_the_published_trends_say(
    cls: str, length: float, mass: float
):
    assert structure.member_mass("quadruped", cls, length) == pytest.approx(mass, rel=3e-5)


def test_a_humanoid_thigh_outweighs_a_quadruped_s_more_than_threefold():
    humanoid, quadruped = (
        structure.member_mass(name, "thigh", 0.22) for name in ("humanoid", "quadruped")
    )
    assert humanoid > 3 * quadruped


def test_trunks_have_the_published_densities():
    assert round(structure.trunk_density("humanoid")) == 716
    assert round(structure.trunk_density("quadruped")) == 654
    assert structure.trunk_class("humanoid") == "torso"
    assert structure.trunk_class("quadruped") == "pelvis"
    for name in structure.populations():  # the trunk's density is its class's median
        trunk = structure.trunk_class(name)
        assert structure.trunk_density(name) == structure.density_norm(name, trunk)


@pytest.mark.parametrize(("population", "cls"), EVERY_CLASS)
def test_no_member_gets_lighter_as_it_lengthens(population: str, cls: str):
    trend = structure.segment_class(population, cls)
    lengths = np.linspace(1e-6, 2 * trend.length[1], 2001)
    masses = structure.member_mass(population, cls, lengths)
    # 1e-15 of slack, where a mass is constant (e = 0) up to rounding.
    assert trend.e >= 0
    assert np.all(np.diff(masses) > -1e-15)
    np.testing.assert_array_less(trend.kg_per_m[0] * (1 - 1e-12), masses / lengths)
    np.testing.assert_array_less(masses / lengths, trend.kg_per_m[2] * (1 + 1e-12))


@pytest.mark.parametrize(("population", "cls"), EVERY_CLASS)
def test_mass_is_proportional_to_length_outside_the_fitted_range(population: str, cls: str):
    shortest, longest = structure.segment_class(population, cls).length
    for edge, factor in ((shortest, 0.5), (shortest, 1e-9), (longest, 2.0)):
        outside = structure.member_mass(population, cls, factor * edge)
        assert outside == pytest.approx(factor * structure.member_mass(population, cls, edge))
    assert structure.member_mass(population, cls, 0.0) == 0


@pytest.mark.parametrize(("population", "cls"), EVERY_CLASS)
def test_mass_is_continuous_and_its_slope_jumps_where_kinks_say(population: str, cls: str):
    kinks = structure.kinks(population, cls)
    assert kinks

    def slope(length: float) -> float:
        step = 1e-6 * length
        ahead, behind = (
            structure.member_mass(population, cls, length + by) for by in (step, -step)
        )
        return (ahead - behind) / (2 * step)

    for kink in kinks:
        here, below, above = (
            structure.member_mass(population, cls, kink * factor)
            for factor in (1, 1 - 1e-9, 1 + 1e-9)
        )
        assert below == pytest.approx(here, rel=1e-8)
        assert above == pytest.approx(here, rel=1e-8)
        # m' is μ outside and e μ inside, so that it jumps by |1 - e| μ: as little as 0.45 %.
        jump = abs(slope(kink * 1.0001) - slope(kink * 0.9999))
        e, per_metre = structure.segment_class(population, cls).e, here / kink
        assert jump == pytest.approx(abs(1 - e) * per_metre, rel=0.02)

    # Between kinks m is a power law: the logarithmic slope is one and the same number.
    ends = (1e-3, *kinks, 2.0)
    for low, high in pairwise(ends):
        if high > low * 1.01:
            inside = np.geomspace(low * 1.001, high * 0.999, 5)
            powers = [
                slope(x) * x / structure.member_mass(population, cls, x) for x in inside.tolist()
            ]
            np.testing.assert_allclose(powers, powers[0], atol=1e-6)


def test_the_clamp_on_mass_per_metre_binds_in_four_classes_inside_their_ranges():
    # Elsewhere the percentiles lie outside what the law gives over its fitted range.
    bound = {
        (name, cls): tuple(
            round(kink, 4)
            for kink in structure.kinks(name, cls)
            if kink not in structure.segment_class(name, cls).length
        )
        for name, cls in EVERY_CLASS
    }
    assert {key: kinks for key, kinks in bound.items() if kinks} == {
        ("humanoid", "elbow_link"): (0.1422,),
        ("humanoid", "torso"): (0.1205,),
        ("quadruped", "thigh"): (0.1498,),
        ("quadruped", "shank"): (0.1734,),
    }


@pytest.mark.parametrize(("population", "cls"), EVERY_CLASS)
def test_floats_numpy_and_jax_agree(population: str, cls: str):
    lengths = [0.01, *structure.kinks(population, cls), 0.2, 0.9]
    floats = [structure.member_mass(population, cls, length) for length in lengths]
    assert all(type(mass) is float for mass in floats)
    arrays = structure.member_mass(population, cls, np.array(lengths))
    np.testing.assert_allclose(arrays, floats, rtol=1e-14)
    traced = jax.jit(lambda length: structure.member_mass(population, cls, length))
    np.testing.assert_allclose(traced(jnp.array(lengths)), floats, rtol=1e-13)


@pytest.mark.parametrize(("population", "cls"), EVERY_CLASS)
def test_gradients_are_finite_everywhere_and_right_away_from_kinks(population: str, cls: str):
    gradient = jax.jit(jax.grad(lambda length: structure.member_mass(population, cls, length)))
    kinks = structure.kinks(population, cls)
    edges = structure.segment_class(population, cls).length
    for length in (0.0, 1e-12, *kinks, *edges):
        assert math.isfinite(gradient(length))
    for kink in kinks:  # at a kink, between the slopes on its two sides
        sides = sorted([float(gradient(kink * 0.9999)), float(gradient(kink * 1.0001))])
        assert sides[0] * 0.999 <= gradient(kink) <= sides[1] * 1.001
    for low, high in pairwise((1e-3, *kinks, 2.0)):
        length = math.sqrt(low * high)
        step = 1e-7 * length
        ahead, behind = (
            structure.member_mass(population, cls, length + by) for by in (step, -step)
        )
        # Cancellation over steps of 1e-7 leaves about 1e-9 of m / L.
        tolerance = 1e-8 * structure.member_mass(population, cls, length) / length
        difference = (ahead - behind) / (2 * step)
        assert gradient(length) == pytest.approx(difference, rel=1e-7, abs=tolerance)


def test_link_densities_span_thigh_shank_and_forearm():
    assert structure.link_density_band("humanoid") == (35.61518, 1457.00632)
    assert structure.link_density_band("quadruped") == (117.33902, 1276.70581)


def test_the_audit_bands_are_the_published_ones():
    audit = structure.audit("quadruped")
    assert audit.actuator_fraction == (0.28167, 0.59224)
    assert audit.trunk_fraction == (0.42428, 0.55002)
    low, high = audit.mass_band(0.48)
    # Two standard deviations of the logarithm about 136.443236 * 0.48^2.4688 = 22.29 kg.
    assert math.sqrt(low * high) == pytest.approx(136.443236 * 0.48**2.4688)
    assert math.log(high / low) == pytest.approx(4 * 0.2681)


def test_a_rule_says_population_class_law_and_range():
    assert structure.member_rule("quadruped", "thigh") == (
        "m = 28.34 L^2.69 (quadruped thigh, L in 0.12..0.35 m, 1.15..7.48 kg/m)"
    )


def test_an_unknown_population_is_refused_with_those_there_are():
    with pytest.raises(
        DraftError, match=r"'quadroped'.*did you mean.*humanoid, quadruped"
    ) as error:
        structure.member_mass("quadroped", "thigh", 0.2)
    assert "\n" not in str(error.value)


def test_populations_are_never_mixed():
    assert "forearm" in structure.classes("humanoid")
    with pytest.raises(DraftError, match=r"'quadruped' has no segment class 'forearm'.*hip_link"):
        structure.member_mass("quadruped", "forearm", 0.2)


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the reference figures are not here")
def test_every_figure_is_the_reference_table_s():
    reference = yaml.safe_load((REFERENCE / "structure_trends.yaml").read_text())["populations"]
    assert list(reference) == list(structure.populations())
    for name, population in reference.items():
        assert list(population["classes"]) == list(structure.classes(name))
        for cls, theirs in population["classes"].items():
            ours = structure.segment_class(name, cls)
            percentiles = ("p10", "median", "p90")
            assert (ours.c, ours.e, ours.n) == (theirs["c_kg"], theirs["e"], theirs["n"])
            assert (ours.gmfe, ours.loo) == (theirs["gmfe_in_sample"], theirs["loo_gmfe"])
            assert list(ours.length) == theirs["length_m"]
            assert list(ours.kg_per_m) == [theirs["kg_per_m"][p] for p in percentiles]
            assert list(ours.density) == [theirs["density_kg_m3"][p] for p in percentiles]
