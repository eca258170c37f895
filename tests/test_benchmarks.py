"""Benchmarks run in their smallest size and leave a record; peers solve the same program."""

from __future__ import annotations

import json
import math
import shlex
from importlib.metadata import version

import casadi as ca
import numpy as np
import pytest

from benchmarks import compile as compile_benchmark
from benchmarks import derivatives, dymos_peer, gallery, peers
from benchmarks.common import machine, record, settings, show
from benchmarks.half_swing import HalfSwing
from benchmarks.handwritten.quadcopter import quadcopter as quadcopter_by_hand
from benchmarks.handwritten.spring import spring as spring_by_hand
from problems.quadcopter.problem import Quadcopter


def run(module, folder):
    """Return the record that a quick run writes."""
    module.main(["--quick", "--out", str(folder)])
    path = folder / f"{module.__name__.rpartition('.')[2]}.json"
    content = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))
    assert content["quick"] is True
    assert {"date", "command", "cpus", "load_average", "packages"} <= set(content["machine"])
    assert content["machine"]["packages"]["casadi"] == version("casadi")
    return content


def test_traced_derivatives_equal_those_of_xla(tmp_path, capsys) -> None:
    content = run(derivatives, tmp_path)
    figures = content["intervals"]["halfswing"]["figures"]
    assert set(figures) == set(derivatives.KINDS)
    for row in figures.values():
        assert row["largest_difference"] < 1e-12
        assert row["run_ratio"] == pytest.approx(row["xla_run_s"] / row["traced_run_s"])
    seconds = content["iteration"]["median"]
    parts = seconds["derivatives_s"] + seconds["callback_s"] + seconds["rest_s"]
    assert parts == pytest.approx(seconds["iteration_s"])
    assert list(content["design_variables"]["median"]) == ["1", "2"]
    assert "derivatives / IPOPT" in capsys.readouterr().out


def test_compile_benchmark_stands_beside_mujoco(tmp_path, capsys) -> None:
    content = run(compile_benchmark, tmp_path)
    row = content["robots"]["hopper"]
    assert row["ratio"] == pytest.approx(row["compile_s"] / row["mujoco_s"])
    assert "wanted: ratio below 5" in capsys.readouterr().out


def test_gallery_draws_each_robot_with_its_mass() -> None:
    svg = gallery.picture(["hopper"])
    assert "hopper, 2." in svg
    assert svg.count("<polygon") > 10


def test_peers_agree(tmp_path, capsys) -> None:
    content = run(peers, tmp_path)
    h = HalfSwing.duration / 25
    discrete = 100 * (h / (2 * math.tan(math.pi / 50))) ** 2  # see benchmarks/half_swing.py
    for who in (peers.OURS, peers.BY_HAND):
        found = content["spring"]["summary"][who]
        assert found["design"]["mass"] == pytest.approx(discrete, rel=1e-4)
        assert found["solved"] == 1
        radius = content["quadcopter"]["summary"][who]["design"]["radius"]
        assert radius == pytest.approx(0.5, abs=1e-3)
    assert content["spring"]["ratios"]["tight_objective_gap"] < 1e-8
    # several local optima, within 1e-4 of each other, are parted by rounding alone
    assert content["quadcopter"]["ratios"]["tight_objective_gap"] < 1e-4
    assert "codesign / by hand" in capsys.readouterr().out


def test_a_missing_dymos_is_said_and_costs_nothing(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(dymos_peer, "is_installed", lambda: False)
    monkeypatch.setattr(peers, "TASKS", peers.TASKS[:1])
    content = run(peers, tmp_path)
    assert content["spring"]["dymos"] == "not installed (pip install dymos)"
    assert "dymos: not installed (pip install dymos)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("problem", "by_hand"), [(HalfSwing, spring_by_hand), (Quadcopter, quadcopter_by_hand)]
)
def test_the_program_by_hand_is_the_same_row_for_row(problem, by_hand) -> None:
    # An oracle too: equations written on paper against traced MuJoCo MJX.
    ours, theirs = problem().transcription.program, by_hand()
    values = ca.Function("values", [theirs.x], [theirs.f, theirs.g])
    np.testing.assert_array_equal(ours.lower, theirs.lower)
    np.testing.assert_allclose(ours.upper, theirs.upper, rtol=1e-15)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = rng.uniform(0.2, 1.5, ours.layout.size)
        f, g = (np.array(value) for value in values(x))
        rows = np.array(ours.derivatives["jac_g"](x, (0.0, 1.0))[0])
        np.testing.assert_allclose(rows, g, atol=1e-12)
        np.testing.assert_allclose(ours.derivatives["grad_f"](x, (0.0, 1.0))[0], f, rtol=1e-15)


def test_a_record_is_strict_json(tmp_path) -> None:
    asked = settings("", 1, ["--out", str(tmp_path / "deep" / "folder")])
    path = record(
        "thing", asked, {"rows": [{"a": np.float64(1.5), "b": np.inf, 0.5: np.arange(2)}]}
    )
    content = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))
    assert content["rows"] == [{"a": 1.5, "b": None, "0.5": [0, 1]}]


def test_a_record_says_how_to_make_it_again() -> None:
    assert shlex.split(machine()["command"])[:2] == ["python", "-m"]


@pytest.mark.parametrize("seeds", ["0", "-3", "many"])
def test_a_bad_number_of_seeds_is_refused(seeds, capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        settings("", 1, ["--seeds", seeds])
    assert stopped.value.code == 2
    assert "--seeds" in capsys.readouterr().err


def test_a_table_is_aligned(capsys) -> None:
    show("title", ["name", "x"], [["a", 1.0], ["longer", math.nan], ["b", True]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "title",
        "  name      x",
        "  a         1",
        "  longer    –",
        "  b       yes",
    ]
