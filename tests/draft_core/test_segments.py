"""Segments of several nodes weigh what their trend says, written out or mirrored."""

from __future__ import annotations

import pytest

import draft_core
from draft_core.errors import DraftError
from draft_core.trends import structure

PARAMETERS = "motors:\n  leg: {peak_torque: 25, gear: 6}\n"
BODY = """
robot: leg
population: quadruped
nodes:
  body: {primitive: root, joint: free, shape: box, size: [0.2, 0.2, 0.1], mass: 3}
"""
MIDDLE = """
  mid: {primitive: basic, parent: body, joint: {type: hinge, axis: [0, 1, 0]}, motor: leg,
    pos: [0, 0, -0.2], length: 0.3, radius: 0.02, segment: thigh}
  cap_l: {primitive: basic, parent: mid, pos: [0, 0.1, -0.3], length: 0.1, radius: 0.02,
    member_of: mid}
"""
SIDES = """
  leg_l: {primitive: basic, parent: body, joint: {type: hinge, axis: [0, 1, 0]}, motor: leg,
    pos: [0, 0.1, -0.2], length: 0.3, radius: 0.02, segment: thigh}
  leg_r: {mirror_of: leg_l}
  cap_l: {primitive: basic, parent: leg_l, pos: [0, 0.1, -0.3], length: 0.1, radius: 0.02,
    member_of: leg_l}
"""
WHOLE = structure.member_mass("quadruped", "thigh", 0.3)


@pytest.fixture
def masses(make_robot):
    def of(nodes: str) -> dict[str, float]:
        robot = draft_core.load(make_robot(PARAMETERS, BODY + nodes))
        report = robot.check()
        found = {member.name: member.value for member in report.members}
        assert sum(found.values()) == pytest.approx(report.mass.by_role["structure"])
        return found

    return of


@pytest.mark.parametrize(
    "right",
    ["{mirror_of: cap_l}", "{primitive: basic, parent: mid, length: 0.1, radius: 0.02, "
     "pos: [0, -0.1, -0.3], member_of: mid}"],
    ids=["mirrored", "written out"],
)  # fmt: skip
def test_a_segment_in_the_middle_weighs_the_same_with_members_mirrored_or_written_out(
    masses, right
):
    # A mirrored cap once weighed what its original does beside it, on top of the whole segment:
    # a thigh of 1.112 kg came out at 1.390 kg.
    found = masses(f"{MIDDLE}  cap_r: {right}\n")
    assert found == pytest.approx({"mid": 0.6 * WHOLE, "cap_l": 0.2 * WHOLE, "cap_r": 0.2 * WHOLE})


def test_a_mirrored_member_of_a_mirrored_segment_shares_that_segments_mass(masses):
    found = masses(SIDES + "  cap_r: {mirror_of: cap_l}\n")
    part = {"leg": 0.75 * WHOLE, "cap": 0.25 * WHOLE}
    assert found == pytest.approx({f"{k}_{side}": v for k, v in part.items() for side in "lr"})


def test_members_above_their_main_node_go_with_the_image_on_their_side(masses):
    # As the quadruped's lateral links, which carry the thigh whose segment they belong to.
    found = masses("""
  cap_l: {primitive: basic, parent: body, length: 0.1, radius: 0.02, member_of: leg_l}
  leg_l: {primitive: basic, parent: cap_l, joint: {type: hinge, axis: [0, 1, 0]}, motor: leg,
    pos: [0, 0.1, -0.2], length: 0.3, radius: 0.02, segment: thigh}
  cap_r: {mirror_of: cap_l}
  leg_r: {mirror_of: leg_l}
""")
    assert found["leg_l"] == found["leg_r"] == pytest.approx(0.75 * WHOLE)
    assert found["cap_l"] == found["cap_r"] == pytest.approx(0.25 * WHOLE)


def test_an_image_without_the_members_of_its_original_is_a_segment_of_its_own(masses):
    # The image once kept its original's share, so that the bare leg lacked a quarter of its mass.
    found = masses(SIDES)
    assert found["leg_l"] + found["cap_l"] == pytest.approx(WHOLE)
    assert found["leg_r"] == pytest.approx(WHOLE)


def test_a_member_may_name_the_mirror_image_of_a_main_node(masses):
    extra = "{primitive: sphere, parent: leg_r, radius: 0.05, member_of: leg_r}"
    found = masses(SIDES + f"  ball: {extra}\n")
    assert found["leg_r"] + found["ball"] == pytest.approx(WHOLE)
    assert found["ball"] == pytest.approx(0.25 * WHOLE)


def test_two_images_on_one_original_share_with_what_they_hang_from(masses):
    found = masses(
        SIDES
        + """
  cap_r: {mirror_of: cap_l}
  inner_l: {mirror_of: cap_l, parent: leg_l}
"""
    )
    assert found["cap_l"] == found["inner_l"] == pytest.approx(0.2 * WHOLE)
    assert sum(found[k] for k in ("leg_l", "cap_l", "inner_l")) == pytest.approx(WHOLE)
    assert found["leg_r"] + found["cap_r"] == pytest.approx(WHOLE)


def test_a_member_of_a_member_is_refused(make_robot):
    nodes = MIDDLE + "  z: {primitive: sphere, parent: mid, radius: 0.02, member_of: cap_l}\n"
    with pytest.raises(DraftError, match=r"member_of is 'cap_l', which is no node with a segment"):
        draft_core.load(make_robot(PARAMETERS, BODY + nodes))
