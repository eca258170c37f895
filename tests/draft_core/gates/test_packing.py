"""Actuators that share a place are refused, whoever carries them and however thin they are."""

from __future__ import annotations

import pytest

import draft_core
from draft_core.anatomy import anatomy
from draft_core.backend import jax, jnp
from draft_core.gates import chains, feasible_vector, packing
from tests.draft_core.gates.robots import shipped

PARAMETERS = "height: 0.2\nat: {at}\nmotors:\n  leg: {{peak_torque: {torque}, gear: 6{aspect}}}\n"
TREE = """
robot: legs
population: quadruped
nodes:
  body: {primitive: root, joint: free, shape: box, size: [0.1, 0.1, 0.1], center: [0, 0, 0.3],
    mass: 3}
  one: {primitive: basic, parent: body, joint: {type: hinge, axis: [0, 1, 0]}, motor: leg,
    length: 0.2, radius: 0.02, segment: thigh}
"""
NEXT = """
  two: {primitive: basic, parent: one, pos: [0, 0, "${at}"],
    joint: {type: hinge, axis: [0, 1, 0]}, motor: leg, length: 0.2, radius: 0.02, segment: shank}
"""
SIBLING = NEXT.replace("parent: one", "parent: body")
THIRD = """
  two: {primitive: basic, parent: one, pos: [0, 0, "${-height}"],
    joint: {type: hinge, axis: [0, 1, 0]}, motor: leg, length: 0.2, radius: 0.02, segment: shank}
  three: {primitive: basic, parent: two, pos: [0, 0, "${height + at}"],
    joint: {type: hinge, axis: [0, 1, 0]}, motor: leg, length: 0.1, radius: 0.02, mass: 0.1}
"""
PLACES = {"next": NEXT, "sibling": SIBLING, "third": THIRD}


def legs(make_robot, nodes: str, torque: float = 25.0, aspect: str = "", at: float = 0.0):
    stated = PARAMETERS.format(torque=torque, aspect=aspect, at=at)
    return draft_core.load(make_robot(stated, TREE + nodes))


@pytest.mark.parametrize("thin", [(25.0, ", aspect: 1.0e-4"), (1e-9, "")], ids=["disc", "tiny"])
@pytest.mark.parametrize("place", PLACES)
def test_motors_in_one_place_are_refused_however_small(make_robot, place, thin):
    # Half a millimetre of overlap is tolerated; a disc 0.02 mm thick, or a motor of 1e-9 N m, lies
    # in another of its kind with less, and two in one place once passed.
    torque, aspect = thin
    report = legs(make_robot, PLACES[place], torque, aspect).check()
    assert any(m.gate == "packing" and m.level == "error" and m.value < 0 for m in report.margins)
    assert not report.is_feasible


@pytest.mark.parametrize("place", ["sibling", "third"])
def test_motors_in_one_place_are_refused_though_they_do_not_follow_each_other(make_robot, place):
    # Two hip motors of sibling legs in one place, and a chain folded back on itself, were only
    # warnings, which `feasible` does not see.
    robot = legs(make_robot, PLACES[place])
    tree = robot.tree
    value, labels = feasible_vector(tree, tree.resolve(), ["packing"])
    assert value[labels.index("packing: centres of all other actuators")] < 0
    refusal = robot.check().refusal()
    assert "between the actuators of one and" in refusal
    assert "one's centre is 0 of the way from the other's centre to its surface" in refusal


def test_motors_that_are_not_consecutive_may_touch_but_not_share_a_centre(make_robot):
    robot = legs(make_robot, SIBLING)
    radius = robot.tree.resolve()["motors.leg.radius"]
    apart = [robot.check({"at": at * radius}).is_feasible for at in (0.99, 1.01)]
    assert apart == [False, True]
    allowed = draft_core.load(robot.folder, {"allow_motor_overlap": True})
    assert allowed.check({"at": 0.0}).is_feasible


@pytest.mark.parametrize("name", ["quadruped", "cheetah", "bear", "giraffe", "humanoid"])
def test_the_nearest_centres_are_found_among_all_pairs(name: str):
    tree = shipped(name).tree
    static, seen = chains.actuators(tree), anatomy(tree, tree.resolve())
    least = []
    for pair in static.apart:
        (i, j) = static.index[pair]
        for a, b in ((i, j), (j, i)):
            local = seen.turn[a].T @ (seen.pos[b] - seen.pos[a])
            radius, half = seen.fields["geom_size"][a, :2]
            across = (local[0] ** 2 + local[1] ** 2) ** 0.5
            least.append(max(across / radius, abs(local[2]) / half))
    (margin,) = (m for m in packing.margins(seen) if m.subject.startswith("centres"))
    assert margin.measured == pytest.approx(min(least), abs=1e-12)
    assert margin.value == pytest.approx(min(least) ** 2 - 1, abs=1e-12)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("at", [0.0, 0.03])
def test_slopes_are_finite_and_values_the_same_where_motors_coincide(make_robot, place, at):
    tree = legs(make_robot, PLACES[place]).tree

    def margins(x):
        return feasible_vector(tree, tree.resolve({"at": x}), ["packing"])[0]

    assert jnp.isfinite(jax.jacfwd(margins)(at)).all()
    assert margins(jnp.asarray(at)) == pytest.approx(margins(at), abs=1e-12)
