"""The fits: the published constants, and scores recomputed by a plain loop over the file."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from draft_core.errors import DraftError
from draft_core.trends import fits, limits
from draft_core.trends.tables import read_text, read_yaml

FITTED = read_yaml("actuators.yaml")
FITS = FITTED["fits"]


@functools.cache
def fresh() -> dict:
    return fits.fit_catalogue()


def test_the_written_file_is_a_fresh_fit_of_the_catalogue():
    assert fits.is_same(fresh(), FITTED)


def test_check_passes_on_the_written_file_and_fails_on_another(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assert fits.main(["--check"]) == 0
    assert "agrees" in capsys.readouterr().out
    fits_of_mass = FITS | {"mass": FITS["mass"] | {"c": FITS["mass"]["c"] * (1 + 1e-8)}}
    monkeypatch.setattr(fits, "read_yaml", lambda name: FITTED | {"fits": fits_of_mass})
    assert fits.main(["--check"]) == 1
    assert "differs" in capsys.readouterr().out


def test_a_run_writes_what_check_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written = tmp_path / "actuators.yaml"
    monkeypatch.setattr(fits, "OUTPUT", written)
    assert fits.main([]) == 0
    text = written.read_text()
    assert text.splitlines()[:4] == read_text("actuators.yaml").splitlines()[:4]
    monkeypatch.setattr(fits, "read_yaml", lambda name: fits.yaml.safe_load(text))
    assert fits.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("law", "constant", "printed"),
    [
        # m = 0.0653 tau^0.666
        ("mass", "c", "0.0653"),
        ("mass", "torque", "0.666"),
        # N = 327 w^-1.066, the inverse of w = 228.5 N^-0.938
        ("reduction", "c", "327"),
        ("reduction", "speed", "-1.066"),
        ("speed", "c", "228.5"),
        ("speed", "gear", "-0.938"),
        # V = tau^0.700 N^-0.167 / 23948 (the factor is held below)
        ("volume", "torque", "0.700"),
        ("volume", "gear", "-0.167"),
        # q = 0.401 tau^-0.098 N^0.316
        ("aspect", "c", "0.401"),
        ("aspect", "torque", "-0.098"),
        ("aspect", "gear", "0.316"),
        # J = 27.2 r^4
        ("rotor_inertia", "c", "27.2"),
        ("rotor_inertia", "radius", "4"),
    ],
)
def test_the_fits_reproduce_the_published_constants(law: str, constant: str, printed: str):
    digits = len(printed.partition(".")[2])
    assert f"{FITS[law][constant]:.{digits}f}" == printed


def test_the_volume_factor_is_one_over_23948():
    assert round(1 / FITS["volume"]["c"]) == 23948


@pytest.mark.parametrize(
    ("law", "score"),
    [
        ("mass", 1.28),
        ("reduction", 1.33),
        ("radius", 1.12),
        ("length", 1.14),
        ("rotor_inertia", 1.56),  # its radius predicted as well
    ],
)
def test_the_leave_one_out_scores_are_the_published_ones(law: str, score: float):
    assert round(FITS[law]["loo_gmfe"], 2) == score


# The same scores by the shortest means: rows of the file, normal equations, a loop.


def rows() -> list[dict[str, str]]:
    table = csv.DictReader(read_text("actuators.csv").splitlines())
    return [row for row in table if row["in_gear_fits"] == "1"]


ROWS = rows()


def numbers(name: str) -> np.ndarray:
    return np.array([float(row[name] or "nan") for row in ROWS])


TORQUE, GEAR, SPEED = map(numbers, ("peak_torque_n_m", "gear", "no_load_speed_rad_s"))
RADIUS, LENGTH, MASS = map(numbers, ("radius_m", "length_m", "mass_kg"))
INERTIA = np.where(numbers("in_inertia_fit") == 1, numbers("rotor_inertia_kg_m2"), np.nan)
CLEAN = np.array([not row["doubt"] for row in ROWS])
UNITS = np.arange(len(ROWS))
VENDORS = np.array([row["vendor"] for row in ROWS])
TRUTHS = {
    "mass": MASS,
    "reduction": GEAR,
    "volume": math.pi * RADIUS**2 * LENGTH,
    "aspect": LENGTH / RADIUS / 2,
    "radius": RADIUS,
    "length": LENGTH,
    "rotor_inertia": INERTIA,
}


def law(target: np.ndarray, *inputs: np.ndarray) -> Callable[..., np.ndarray]:
    columns = np.log(np.stack([np.full(len(target), math.e), *inputs], axis=1))
    solution = np.linalg.solve(columns.T @ columns, columns.T @ np.log(target))
    return lambda *at: np.exp(solution[0] + sum(k * np.log(x) for k, x in zip(solution[1:], at)))  # noqa: B905


def chain(fit: np.ndarray, at: np.ndarray) -> dict[str, np.ndarray]:
    """What laws fitted to some rows say of others."""
    volume = law(TRUTHS["volume"][fit], TORQUE[fit], GEAR[fit])(TORQUE[at], GEAR[at])
    aspect = law(TRUTHS["aspect"][fit], TORQUE[fit], GEAR[fit])(TORQUE[at], GEAR[at])
    radius = np.cbrt(volume / (2 * math.pi * aspect))
    # The inverse of ln w = p ln N + b, as a straight line.
    p, b = np.polyfit(np.log(GEAR[fit]), np.log(SPEED[fit]), 1)
    k = np.exp(np.nanmean(np.log(INERTIA[fit] / RADIUS[fit] ** 4)))
    return {
        "mass": law(MASS[fit], TORQUE[fit])(TORQUE[at]),
        "reduction": np.exp((np.log(SPEED[at]) - b) / p),
        "volume": volume,
        "aspect": aspect,
        "radius": radius,
        "length": volume / (math.pi * radius**2),
        "rotor_inertia": k * radius**4,
    }


def scores(labels: np.ndarray, keep: np.ndarray) -> dict[str, float]:
    errors: dict[str, list[float]] = {name: [] for name in TRUTHS}
    for label in np.unique(labels[keep]):
        at = keep & (labels == label)
        for name, guess in chain(keep & ~at, at).items():
            errors[name] += np.abs(np.log(guess / TRUTHS[name][at])).tolist()
    return {name: math.exp(np.nanmean(of_name)) for name, of_name in errors.items()}


@pytest.mark.parametrize("labels", [UNITS, VENDORS], ids=["loo_gmfe", "vendor_out_gmfe"])
@pytest.mark.parametrize(
    ("entry", "keep"),
    [("fits", CLEAN | True), ("fits_without_suspect_rows", CLEAN)],
    ids=["every row", "without suspect rows"],
)
def test_a_plain_loop_gives_the_same_scores(entry: str, keep: np.ndarray, labels: np.ndarray):
    score = "loo_gmfe" if labels is UNITS else "vendor_out_gmfe"
    for name, value in scores(labels, keep).items():
        # Two ways of solving the same least squares differ by rounding alone.
        assert FITTED[entry][name][score] == pytest.approx(value, rel=1e-9)


def test_scores_from_the_module_s_own_radius_hold_out_only_the_factor():
    # k without row i is exp of the mean of the others' ln(J / r^4), so that the held-out error
    # is the deviation from the mean times n / (n - 1).
    logs = np.log(INERTIA / RADIUS**4)
    logs = logs[np.isfinite(logs)]
    error = np.abs(logs - logs.mean()) * len(logs) / (len(logs) - 1)
    assert FITS["rotor_inertia"]["loo_gmfe_own_radius"] == pytest.approx(math.exp(error.mean()))


def test_standard_errors_are_those_of_numpy_s_straight_line():
    _, covariance = np.polyfit(np.log(TORQUE), np.log(MASS), 1, cov=True)
    assert FITS["mass"]["stderr"]["torque"] == pytest.approx(math.sqrt(covariance[0, 0]))
    assert FITS["mass"]["stderr"]["ln_c"] == pytest.approx(math.sqrt(covariance[1, 1]))


def test_a_law_is_recovered_exactly_from_points_on_it():
    x, y = np.array([1.0, 2.0, 5.0, 7.0, np.nan]), np.array([3.0, 1.0, 4.0, 2.0, 6.0])
    fitted = fits.fit_power_law(0.3 * x**1.5 * y**-0.5, x, y)
    assert fitted.c == pytest.approx(0.3)
    assert fitted.exponents == pytest.approx((1.5, -0.5))
    assert (fitted.n, fitted.r2) == (4, pytest.approx(1))


def test_suspect_rows_move_no_law_by_more_than_their_scores_tell():
    clean = FITTED["fits_without_suspect_rows"]
    assert len(FITTED["suspect_rows"]) == 4
    for name, law_of in FITS.items():
        if "loo_gmfe" in law_of:
            assert abs(clean[name]["loo_gmfe"] - law_of["loo_gmfe"]) < 0.04


def test_the_frontier_is_the_published_one():
    expected = {
        "qdd": (84.5, 64.0, "RS04", 728.5, 531.7, "RS06"),
        "midgear": (159.0, 117.4, "AKH70-48 V1.0 KV41", 871.3, 361.7, "IM6014"),
        "harmonic": (141.7, 128.6, "eRob110H-160", 132.0, 96.3, "eRob110H-50"),
        "all": (159.0, 121.1, "AKH70-48 V1.0 KV41", 871.3, 419.4, "IM6014"),
    }
    for family, figures in expected.items():
        found = limits.frontier(family)
        assert (
            round(found.torque_density, 1),
            round(found.torque_density_p90, 1),
            found.best_torque,
            round(found.power_density, 1),
            round(found.power_density_p90, 1),
            found.best_power,
        ) == figures


def test_aspects_and_package_densities_are_the_published_ones():
    found = limits.aspect()
    figures = (found.min, found.max, found.p10, found.p90, found.median)
    assert [round(figure, 3) for figure in figures] == [0.282, 1.685, 0.408, 1.116, 0.852]
    density = limits.package_density()
    figures = (density.p10, density.median, density.p90)
    assert [round(figure, 1) for figure in figures] == [1667.6, 2482.4, 3059.8]


@pytest.mark.parametrize("ask", [limits.frontier, limits.aspect])
def test_an_unknown_family_is_refused_with_those_there_are(ask: Callable[[str], object]):
    with pytest.raises(DraftError, match=r"'qd'.*did you mean 'qdd'.*harmonic, midgear, qdd"):
        ask("qd")
