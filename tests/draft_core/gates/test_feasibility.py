"""The feasibility report: what it holds, and what is written of it."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml

import draft_core
from draft_core import report_text
from draft_core.feasibility import FeasibilityReport, feasibility
from draft_core.formula import Formula
from draft_core.motors import UNITS
from tests.draft_core.gates.robots import biped, shipped, swallowed

SHIPPED = ("quadruped", "cheetah", "bear", "giraffe", "humanoid", "hopper")


def report_of(name: str, drift: float | None = None, **design: float) -> FeasibilityReport:
    tree = shipped(name).tree
    return feasibility(tree, tree.resolve(design), drift=drift)


def refused() -> FeasibilityReport:
    tree = biped()
    return feasibility(tree, tree.resolve({"knee_at": 0.05, "tail_density": 5000.0}))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_written_report_reads_back_as_the_same(name: str):
    report = report_of(name, drift=3.2e-13)
    read = yaml.safe_load(report.to_yaml())
    assert read["schema"] == report_text.SCHEMA
    assert (read["robot"], read["population"]) == (report.robot, report.population)
    assert read["verdict"] == report.verdict
    assert read["round_trip_drift"] == 3.2e-13
    assert read["refusals"] == list(report.refusals)
    assert read["warnings"] == list(report.warnings)
    assert read["overrides"] == {
        "allowed": list(report.overrides.allowed),
        "switches": list(report.overrides.switches),
        "may_enter_root": list(report.overrides.in_root),
        "stated_in_vain": list(report.overrides.in_vain),
        "parameters": list(report.overrides.parameters),
    }
    assert read["mass"] == {
        "total": report.mass.total,
        "by_role": dict(report.mass.by_role),
        "by_link": dict(report.mass.by_link),
    }
    assert read["motors"] == {
        use.kind.key: {
            "part": use.kind.part.model if use.kind.part else None,
            "mode": use.kind.mode,
            "joints": list(use.joints),
            "numbers": dict(use.numbers),
        }
        for use in report.motors
    }
    for key in ("derived", "members"):
        assert read[key] == {
            row.name: {"value": row.value, "unit": row.unit, "rule": row.rule}
            for row in getattr(report, key)
        }
    assert len(read["margins"]) == len(report.margins)
    for row, margin in zip(read["margins"], report.margins, strict=True):
        assert (row["gate"], row["subject"], row["level"], row["unit"], row["switch"]) == (
            *(margin.gate, margin.subject, margin.level, margin.unit, margin.switch),
        )
        assert (row["margin"] >= 0) == margin.passes
        # six digits
        assert row["margin"] == pytest.approx(margin.value, rel=1e-5, abs=1e-12)
        assert row["measured"] == pytest.approx(margin.measured, rel=1e-5, abs=1e-12)
        assert row["limit"] == pytest.approx(
            list(margin.limit) if isinstance(margin.limit, tuple) else margin.limit, rel=1e-5
        )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1e-05, 1e-05),  # PyYAML takes 1e-05, without a point, for text
        (-2e22, -2e22),
        (0.1, 0.1),
        (3, 3.0),
        (math.inf, math.inf),
        (-math.inf, -math.inf),
        (True, True),
        ('a "text": #1', 'a "text": #1'),
        ((1.0, False), [1.0, False]),
        (None, None),
    ],
)
def test_every_kind_of_value_reads_back(value: Any, expected: Any):
    assert yaml.safe_load(report_text._value(value)) == expected
    assert math.isnan(yaml.safe_load(report_text._value(math.nan)))


def test_names_that_yaml_takes_for_something_else_are_quoted():
    names = ("no", "On", "null", "leg-1", "a.b", "x y")
    assert yaml.safe_load(report_text._flow(names)) == list(names)


def test_masses_are_mujoco_s():
    robot = shipped("quadruped")
    model = robot.compile(gates=False).model
    mass = robot.check().mass
    assert mass.total == pytest.approx(float(model.body_mass.sum()), rel=1e-9)
    assert sum(mass.by_role.values()) == pytest.approx(mass.total, rel=1e-12)
    assert sum(mass.by_link.values()) == pytest.approx(mass.total, rel=1e-12)
    for name, value in mass.by_link.items():
        assert value == pytest.approx(float(model.body(name).mass[0]), rel=1e-9)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_trend_s_number_is_there_with_its_rule(name: str):
    tree = shipped(name).tree
    env = tree.resolve()
    report = feasibility(tree, env)
    rows = {row.name: row for row in report.derived}
    for entry in tree.parameters.entries:
        if isinstance(entry.stated, Formula):
            row = rows[entry.name]
            assert (row.value, row.rule) == (env[entry.name], entry.stated.text)
    solids = [s for link in tree.links for s in link.solids if s.segment is not None]
    assert [row.name for row in report.members] == [solid.name for solid in solids]
    members = {row.name: row.value for row in report.members}
    structural = sum(members[s.name] for s in solids if s.role == "structure")
    assert structural == pytest.approx(report.mass.by_role["structure"], rel=1e-12)


def test_a_trunk_s_rule_names_its_density():
    report = report_of("humanoid")
    (trunk,) = (row for row in report.members if row.name == "torso")
    assert trunk.rule.startswith("m = 715.8 kg/m^3 V (humanoid trunk")
    assert trunk.value == report.mass.by_role["trunk"]


def test_classes_in_use_are_listed_with_their_joints_and_numbers():
    report = report_of("quadruped")
    (use,) = report.motors  # M and S are in the file, and no joint uses them
    assert use.kind.key == "motors.L"
    assert len(use.joints) == 12
    assert list(use.numbers) == list(UNITS)
    assert use.numbers["peak_torque"] == 150


def test_numbers_of_a_role_that_shares_a_class_are_not_repeated():
    names = [row.name for row in report_of("quadruped").derived]
    assert "motors.L.mass" in names
    assert not any(name.startswith("joint_motors.") for name in names)


def test_a_design_is_on_record_and_no_longer_derived():
    report = report_of("quadruped", abduction=0.15, upper_leg=0.25, lower_leg=0.22)
    # lower_leg is what the file says as well
    assert set(report.overrides.parameters) == {"abduction", "upper_leg"}
    assert "abduction" not in {row.name for row in report.derived}


def test_an_override_file_is_on_record():
    report = report_of("cheetah")
    assert {"upper_leg", "motors.L.part"} <= set(report.overrides.parameters)
    more = len(report.overrides.parameters) - 8
    assert report.table().endswith(f" and {more} more")


def test_what_a_file_states_in_vain_is_listed():
    tree = biped({"gear: 9.0, aspect": "gear: 9.0, mass: 0.1, aspect"})
    assert feasibility(tree, tree.resolve()).overrides.in_vain == ("motors.hip.mass",)


def test_what_may_enter_the_root_is_on_record():
    tree = swallowed(drop=0.0)
    report = feasibility(tree, tree.resolve())
    assert report.is_feasible
    assert "left_thigh_actuator" in report.overrides.in_root
    assert "in the root" in report.table()


def test_a_refusal_is_one_line_that_says_what_would_work():
    report = refused()
    assert not report.is_feasible
    assert len(report.refusals) == 2
    assert report.refusal() == (
        "'biped' is refused: tail: a stated density of 5000 kg/m^3; structure of a quadruped has "
        "117.3 to 1277 kg/m^3; allow_link_density=true (in parameters.yaml or by --set) allows it "
        "(and 1 more)."
    )
    assert yaml.safe_load(report.to_yaml())["verdict"] == "refused"
    assert report_of("quadruped").refusal() == ""


def test_the_table_says_verdict_mass_motors_and_what_is_unusual():
    lines = report_of("quadruped").table().splitlines()
    assert lines[0].split() == [
        *("quadruped", "feasible,", "31.93", "kg,", "8", "warnings,", "1", "override"),
    ]
    assert lines[1].startswith("mass")
    assert "actuator 22.05 kg" in lines[1]
    assert "12 joints: 150 N m, 50 rad/s, gear 5, 1875 W, 1.838 kg, radius 74.5 mm" in lines[2]
    assert sum(line.startswith("warning") for line in lines) == 8
    assert any("allowed by allow_hypothetical" in line for line in lines)
    table = refused().table()
    assert "refused, " in table
    assert "2 refusals" in table
    assert sum(line.startswith("refused") for line in table.splitlines()) == 2


def test_the_base_quadruped_is_feasible_only_as_a_hypothetical():
    assert report_of("quadruped").overrides.switches == ("allow_hypothetical",)
    robot = draft_core.load("quadruped", {"allow_hypothetical": False})
    report = robot.check()
    (refusal,) = report.refusals
    assert "motors.L has 1020 W/kg; the best module of the catalogue, IM6014" in refusal
    # A knee motor of 15 % less power is within the frontier.
    assert robot.check({"motors.L.no_load_speed": 42.0}).is_feasible


@pytest.mark.parametrize("name", ["cheetah", "bear", "giraffe", "humanoid", "hopper"])
def test_shipped_robots_are_feasible_without_a_switch(name: str):
    report = report_of(name)
    assert report.is_feasible
    assert not report.overrides.allowed
