"""Every gate passes, nearly passes, barely fails and is overridden where its rule says so."""

from __future__ import annotations

from typing import Any

import pytest

from draft_core.errors import DraftError
from draft_core.feasibility import FeasibilityReport, feasibility
from draft_core.gates import GATES, Margin, apply_switches, chosen, feasible_vector, gate_margins
from draft_core.gates.margins import digits
from draft_core.tree import RobotTree
from tests.draft_core.gates.cases import CASES, Case
from tests.draft_core.gates.robots import biped

EVERY_CASE = pytest.mark.parametrize(
    "case", CASES, ids=lambda c: f"{c.gate}-{c.level}-{c.parameter}-{c.fails}"
)


def margin_of(case: Case, tree: RobotTree, **design: float) -> Margin:
    margins = gate_margins(tree, tree.resolve(design), [case.gate])
    (found,) = (m for m in margins if m.subject == case.subject and m.level == case.level)
    return found


def report_of(tree: RobotTree, **design: float) -> FeasibilityReport:
    return feasibility(tree, tree.resolve(design))


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_every_gate_has_its_cases(gate: Any):
    levels = {case.level for case in CASES if case.gate == gate.name}
    assert levels
    assert ("error" in levels) == (gate.switch is not None)


def test_names_of_gates_and_switches_differ():
    assert len({gate.name for gate in GATES}) == len(GATES)
    switches = [gate.switch for gate in GATES if gate.switch]
    assert len(set(switches)) == len(switches)


def test_the_robot_of_the_cases_passes_every_gate():
    report = report_of(biped())
    assert report.is_feasible
    assert not report.warnings
    assert {m.gate for m in report.margins} == {gate.name for gate in GATES}


@EVERY_CASE
def test_a_design_just_inside_passes(case: Case):
    tree = case.robot()
    margin = margin_of(case, tree, **{case.parameter: case.value("inside")})
    assert 0 <= margin.value < 1e-3
    assert margin.passes
    report = report_of(tree, **{case.parameter: case.value("inside")})
    assert margin.message not in (*report.refusals, *report.warnings)


@EVERY_CASE
def test_a_design_just_outside_fails(case: Case):
    tree = case.robot()
    design = {case.parameter: case.value("outside")}
    margin = margin_of(case, tree, **design)
    assert -1e-3 < margin.value < 0
    assert not margin.passes
    report = report_of(tree, **design)
    if case.level == "error":
        (refusal,) = (text for text in report.refusals if text.startswith(margin.message))
        assert refusal.endswith(f"{margin.switch}=true (in parameters.yaml or by --set) allows it")
    else:
        assert margin.message in report.warnings
        assert not any(margin.message in text for text in report.refusals)


@EVERY_CASE
def test_a_switch_turns_a_refusal_into_a_recorded_override(case: Case):
    switches = {gate.name: gate.switch for gate in GATES}
    design = {case.parameter: case.value("outside")}
    if switches[case.gate] is None or case.level == "warning":
        # A warning refuses nothing, so that there is nothing to allow.
        assert case.level == "warning"
        assert margin_of(case, case.robot(), **design).switch is None
        return
    tree = case.robot(**{str(switches[case.gate]): True})
    margin, report = margin_of(case, tree, **design), report_of(tree, **design)
    allowed = f"would refuse: {margin.message}; allowed by {margin.switch}"
    assert allowed in report.overrides.allowed
    assert not any(margin.message in text for text in report.refusals)
    assert report.overrides.switches == (margin.switch,)


@EVERY_CASE
def test_every_sign_agrees_with_the_verdict(case: Case):
    for side in ("inside", "outside"):
        tree = case.robot()
        report = report_of(tree, **{case.parameter: case.value(side)})
        failing = [m for m in report.margins if not m.value >= 0]
        assert report.is_feasible == (not [m for m in failing if m.level == "error"])
        assert len(report.refusals) == len([m for m in failing if m.level == "error"])
        assert len(report.warnings) == len([m for m in failing if m.level == "warning"])
        assert report.verdict == ("feasible" if report.is_feasible else "refused")
        values, _ = feasible_vector(tree, tree.resolve({case.parameter: case.value(side)}))
        assert bool((values >= 0).all()) == report.is_feasible


def test_a_margin_that_is_no_number_does_not_pass():
    nan = Margin("packing", "x", float("nan"), 1.0, 1.0, "m", "error", "x is {measured} of {limit}")
    assert not nan.passes
    assert not apply_switches(biped(), biped().resolve(), [nan]).is_feasible


def test_rounding_about_zero_is_not_printed():
    assert digits(-6.9e-18) == "0"
    assert digits(-0.00149) == "-0.00149"


def test_a_gate_goes_by_name():
    tree = biped()
    names = ["packing", "aspect"]
    assert [gate.name for gate in chosen(names)] == names
    assert {m.gate for m in gate_margins(tree, tree.resolve(), names)} == set(names)
    with pytest.raises(
        DraftError, match=r"no gate is called 'packin' \(did you mean 'packing'\?\)"
    ):
        gate_margins(tree, tree.resolve(), ["packin"])


def test_the_vector_of_constraints_holds_every_error_that_no_switch_allows():
    tree = biped()
    errors = [m for m in gate_margins(tree, tree.resolve()) if m.level == "error"]
    values, labels = feasible_vector(tree, tree.resolve())
    assert list(values) == [m.value for m in errors]
    assert labels == tuple(f"{m.gate}: {m.subject}" for m in errors)
    allowed = biped(allow_motor_overlap=True, allow_hypothetical=True)
    _, labels = feasible_vector(allowed, allowed.resolve(), ["packing", "frontier", "in_root"])
    assert {label.partition(":")[0] for label in labels} == {"in_root"}
    values, labels = feasible_vector(allowed, allowed.resolve(), ["packing"])
    assert values.shape == (0,)
    assert labels == ()


def test_a_switch_must_be_true_or_false():
    tree = biped({"allow_motor_overlap: false": "allow_motor_overlap: 1"})
    with pytest.raises(DraftError, match=r"allow_motor_overlap is 1\.0; a switch is true or false"):
        feasibility(tree, tree.resolve())


def test_a_switch_that_there_is_not_is_refused():
    tree = biped({"allow_motor_overlap: false": "allow_motor_overlaps: true"})
    with pytest.raises(DraftError, match="did you mean 'allow_motor_overlap'"):
        feasible_vector(tree, tree.resolve())


def test_a_switch_may_follow_from_others():
    tree = biped({"allow_motor_overlap: false": 'allow_motor_overlap: "${thigh < 1}"'})
    assert report_of(tree).overrides.switches == ("allow_motor_overlap",)
