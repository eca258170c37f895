"""The benchmark of the published studies: a quick run, its tables and pictures, its judgements."""

from __future__ import annotations

import json
import math
from xml.etree import ElementTree

import pytest

from benchmarks import paper
from benchmarks.studies import pictures, tables
from benchmarks.studies.statement import BY_NAME, STUDIES, published, published_of
from benchmarks.studies.summary import checks, claims, summary


def row(seed: int, **changes) -> dict:
    figures = {
        "seed": seed,
        "success": True,
        "counted": True,
        "status": "solved",
        "message": "",
        "objective": 0.2 + 0.01 * seed,
        "iterations": 100,
        "seconds": 5.0 + seed,
        "solver_s": 4.0,
        "derivatives_s": 1.0,
        "ipopt_s": 2.5,
        "build_s": 1.0,
        "peak_effort": 0.2 + 0.01 * seed,
        "duration": 4.0,
        "contact_work_share": 1e-3,
        "energy_share": 0.01,
        "complementarity": 9e-5,
        "dynamics_residual": 1e-8,
        "violation": 1e-8,
    }
    return figures | changes


def record(study: str, design: dict[str, float], rows: int = 3, **changes) -> dict:
    """Return a study's record whose counted starts all have one design."""
    bounds = {name: (0.0, 1.0, 0.5, "m") for name in design}
    meshes = [
        {"knots": 16, "objective": 0.2, "change": None, "success": True},
        {"knots": 31, "objective": 0.21, "change": 0.05, "success": True},
        {"knots": 61, "objective": None, "change": None, "success": False},
    ]
    more = {"energy_share": 0.01, "contact_work_share": 0.0, "iterations": 9, "wall_s": 1.0}
    packages = {name: "1" for name in ("codesign", "casadi", "mujoco", "jax")}
    found = {
        "study": study,
        "quick": False,
        "machine": {
            "command": "python -m benchmarks.paper",
            "date": "2026-01-01",
            "processor": "one",
            "cpus": 2,
            "python": "3.11",
            "packages": packages,
        },
        "jobs": 1,
        "guess": "automatic",
        "integrator": "implicit_midpoint",
        "bounds": bounds,
        "rows": [row(seed, design=design) for seed in range(rows)],
        "refined": {
            "seed": 0,
            "rows": [mesh | more for mesh in meshes],
            "converged": True,
            "note": "mesh-converged",
            "peak_effort": 0.19,
        },
    }
    return found | changes


BIPED = {"lower_leg_length": 0.2, "upper_leg_length": 0.1, "body_mass": 0.02}
QUADRUPED = {"lower_leg_length": 1.0, "upper_leg_length": 1.0}


def test_a_quick_run_writes_records_tables_and_pictures(tmp_path, capsys):
    out = tmp_path / "out"
    paper.main(["--quick", "--studies", "quadcopter", "--out", str(out)])
    found = json.loads((out / "paper" / "quadcopter.json").read_text())
    assert found["quick"] is True
    (first,) = found["rows"]
    assert first["design"] == pytest.approx({"radius": 0.5, "mass": 0.3}, abs=1e-3)
    assert first["counted"]
    assert first["derivatives_s"] + first["ipopt_s"] <= first["solver_s"]
    assert [mesh["knots"] for mesh in found["refined"]["rows"]] == [16, 31]
    assert found["grid"]["solved"] == 4
    assert found["grid"]["minimum"] == {"radius": 0.5, "mass": 0.3}
    text = (out / "paper" / "results.md").read_text()
    assert "| quadcopter | 20/20 | 1/1 |" in text
    for name in ("surface", "motion", "designs"):
        picture = out / "paper" / "results" / f"quadcopter_{name}.svg"
        assert ElementTree.fromstring(picture.read_text()).tag.endswith("svg")
        assert f"results/quadcopter_{name}.svg" in text
    assert "least thrust of the grid at (0.5, 0.3)" in capsys.readouterr().out
    before = (out / "paper" / "quadcopter.json").read_text()
    paper.main(["--quick", "--studies", "quadcopter", "--resume", "--out", str(out)])
    again = json.loads((out / "paper" / "quadcopter.json").read_text())
    assert again["rows"] == json.loads(before)["rows"]
    assert "seed 0" not in capsys.readouterr().out  # nothing was solved again


def test_an_unknown_study_is_refused(capsys):
    with pytest.raises(SystemExit) as stopped:
        paper.main(["--studies", "octopus"])
    assert stopped.value.code == 2
    assert "there is no study 'octopus'. There are: quadcopter" in capsys.readouterr().err


def test_every_published_study_is_stated_and_names_real_design_variables():
    stated = {study.name for study in STUDIES}
    for name, facts in published().items():
        if name == "source":
            continue
        assert name in stated
        task = BY_NAME[name].make(quick=False)
        assert set(facts.get("design", {})) <= set(task.design)
        assert set(facts.get("outside", ())) <= set(facts.get("design", {}))


def test_targets_are_met_or_not_by_their_figures():
    good = {check.what: check for check in checks(record("biped_flat", BIPED))}
    assert all(check.is_met for check in good.values())
    assert good["success at least 3/3"].got == "3/3"
    assert good["mesh-converged objective below 0.506 N m"].got == "0.21 at 31 knots"
    slow = record("biped_flat", BIPED)
    slow["rows"] = [row(seed, design=BIPED, seconds=11.0, counted=seed > 0) for seed in range(3)]
    slow["refined"]["converged"] = False
    missed = {check.what for check in checks(slow) if not check.is_met}
    assert missed == {
        "success at least 3/3",
        "median solve below 10 s",
        "mesh-converged objective below 0.506 N m",
    }


def test_failures_count_as_starts_and_leave_the_objective_alone():
    found = record("biped_flat", BIPED)
    found["rows"][2] |= {"success": False, "counted": False, "objective": None, "seconds": 99.0}
    told = summary(found)
    assert (told["counted"], told["starts"]) == (2, 3)
    assert told["objective"] == pytest.approx(0.205)
    assert told["slowest_s"] == 99.0
    nothing = record("biped_flat", BIPED, rows=1)
    nothing["rows"][0]["counted"] = False
    assert math.isnan(summary(nothing)["objective"])
    assert checks(nothing)[2].is_met is None


def test_the_torque_of_a_regularised_study_is_what_is_compared():
    found = record("hexapod_beta_1", {"leg_mass": 0.1})
    found["rows"] = [row(0, design={"leg_mass": 0.1}, objective=5.0, peak_effort=0.1)]
    assert summary(found)["objective"] == 0.1
    (mesh,) = [check for check in checks(found) if "mesh" in check.what]
    assert mesh.got == "0.19 at 31 knots"


def test_claims_are_judged_by_the_means():
    step = BIPED | {"upper_leg_length": 0.2}
    told = claims({"biped_flat": record("biped_flat", BIPED)})
    assert [claim.agrees for claim in told] == [None, True, True, None, None, None]
    both = claims(
        {
            "biped_flat": record("biped_flat", step),
            "biped_step": record("biped_step", BIPED | {"body_mass": 0.5}),
            "quadruped_torque": record("quadruped_torque", QUADRUPED),
            "quadruped_time": record("quadruped_time", QUADRUPED),
        }
    )
    assert [claim.agrees for claim in both] == [True, False, True, True, False, False]


def test_tables_go_between_their_marks_and_the_rest_stays(tmp_path):
    path = tmp_path / "results.md"
    records = {"biped_flat": record("biped_flat", BIPED)}
    tables.write(path, records, ["biped_flat_designs.svg"])
    path.write_text(path.read_text() + "\nWords of a person.\n")
    records["biped_flat"]["rows"][0]["counted"] = False
    tables.write(path, records, [])
    text = path.read_text()
    assert text.endswith("Words of a person.\n")
    assert "| biped_flat | – of 30 | 2/3 |" in text
    assert "**not met**" in text
    assert text.count(tables.BEGIN) == 1
    path.write_text("no marks")
    with pytest.raises(SystemExit, match="lacks the lines"):
        tables.write(path, records, [])


def test_the_surface_marks_the_least_and_leaves_gaps():
    grid = {
        "radius": [0.1, 0.3, 0.5],
        "mass": [0.3, 0.7],
        "peak_thrust": [[0.9, 0.8, 0.75], [2.0, None, 1.8]],
    }
    svg = pictures.surface(grid)
    assert "at radius 0.5 m and mass 0.3 kg" in svg
    assert "no start succeeded" in svg
    assert ElementTree.fromstring(svg) is not None


def test_a_published_mean_outside_its_bounds_stays_in_the_picture():
    found = record("hexapod_beta_1", {"body_x": 1.0})
    found["bounds"]["body_x"] = (0.9, 1.2, 1.05, "m")
    svg = pictures.spreads(found)
    assert published_of("hexapod_beta_1")["design"]["body_x"][0] == 1.5
    assert "published 1.5 (0.014)" in svg
    assert svg.count('class="start"') == 4  # three starts and the legend's
