"""The catalogue: what it holds, that it is well formed, and that it travels with the package."""

from __future__ import annotations

import csv
import math
from importlib.resources import files
from pathlib import Path

import pytest

from draft_core.errors import DraftError
from draft_core.trends.catalog import FAMILIES, Module, catalogue, module
from draft_core.trends.tables import read_text

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "draft"
MODULES = tuple(catalogue().values())


def test_the_catalogue_holds_111_products_of_11_vendors_and_three_research_modules():
    research = [m for m in MODULES if m.source.startswith("research")]
    products = [m for m in MODULES if m not in research]
    assert (len(MODULES), len(products), len(research)) == (114, 111, 3)
    assert len({m.vendor for m in products}) == 11
    assert {name: sum(m.family == name for m in MODULES) for name in FAMILIES} == {
        "qdd": 33,
        "midgear": 33,
        "harmonic": 48,
    }


def test_no_two_rows_share_a_model_name():
    names = [row["model"] for row in csv.DictReader(read_text("actuators.csv").splitlines())]
    assert sorted(names) == sorted(set(names)) == sorted(catalogue())


def test_the_trends_are_fitted_to_103_modules_of_known_gear_and_88_of_known_inertia():
    geared = [m for m in MODULES if m.in_gear_fits]
    rotors = [m for m in MODULES if m.in_inertia_fit]
    assert (len(geared), len(rotors)) == (103, 88)
    assert all((m.gear is not None) == m.in_gear_fits for m in MODULES)
    assert all(m.in_gear_fits and m.rotor_inertia is not None for m in rotors)


def test_four_rows_are_suspect_and_say_why():
    assert [m.model for m in MODULES if m.doubt] == [
        "RMD-X8-P9-25-C-N",
        "EPS-CEM-25-E-N",
        "EPS-RH-17-Lite-100-C-N-D",
        "EPS-HM-60-15-100-C",
    ]


@pytest.mark.parametrize("part", MODULES, ids=lambda m: m.model)
def test_every_figure_is_positive_in_si_units_and_has_a_source(part: Module):
    numbers = (part.gear, part.rotor_inertia, part.published_power)
    assert all(math.isfinite(x) and x > 0 for x in numbers if x is not None)
    # The catalogue spans these orders of magnitude; a value in other units would leave them.
    assert 1 < part.peak_torque < 2000
    assert 1 < part.no_load_speed < 100
    assert 0.1 < part.mass < 10
    assert 0.02 < part.radius < 0.1
    assert 0.02 < part.length < 0.2
    assert part.rotor_inertia is None or 1e-8 < part.rotor_inertia < 1e-2
    assert part.source
    assert part.vendor


def test_a_module_states_its_volume_aspect_and_densities():
    part = module("MIT U12")
    assert part.volume == pytest.approx(math.pi * 0.063**2 * 0.046)
    assert part.aspect == pytest.approx(0.046 / 0.126)
    assert part.torque_density == pytest.approx(72 / 1.1)
    assert part.power_density == pytest.approx(72 * 40 / 4 / 1.1)


def test_power_density_takes_the_printed_power_where_there_is_one():
    part = module("MIT Mini Cheetah (U8)")
    assert part.power_density == pytest.approx(250 / 0.48)
    assert part.peak_power == pytest.approx(17 * 40 / 4)


def test_an_unknown_model_is_refused_with_the_nearest_one():
    with pytest.raises(DraftError, match=r"'MIT U13'.*did you mean 'MIT U1[02]'") as error:
        module("MIT U13")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["actuators.csv", "actuators.yaml", "structure.yaml"])
def test_the_data_are_found_as_resources_of_the_package(name: str):
    assert (files("draft_core.trends") / "data" / name).is_file()


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the reference figures are not here")
def test_every_figure_is_the_reference_table_s():
    columns = {
        "peak_torque_nm": "peak_torque",
        "noload_speed_rad_s": "no_load_speed",
        "gear_ratio": "gear",
        "mass_kg": "mass",
        "outer_radius_m": "radius",
        "length_m": "length",
        "rotor_inertia_kgm2": "rotor_inertia",
        "peak_power_w": "published_power",
    }
    rows = list(csv.DictReader((REFERENCE / "actuators.csv").read_text().splitlines()))
    assert [row["model"] for row in rows] == list(catalogue())
    for row in rows:
        part = module(row["model"])
        assert (row["vendor"], row["family"]) == (part.vendor, part.family)
        for column, field in columns.items():
            assert getattr(part, field) == (float(row[column]) if row[column] else None)
