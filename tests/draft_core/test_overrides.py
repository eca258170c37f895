"""Overrides: parameters.yaml said otherwise, with the same result as a design or an edited file."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from draft_core.errors import DraftError
from draft_core.export import compile_robot
from draft_core.overrides import as_mappings, merged, read_overrides
from draft_core.parsing import parse_folder
from tests.draft_core.conftest import FOLDERS, sample

Make = Callable[..., Path]

STATED: dict[str, Any] = yaml.safe_load(
    """
    leg: {length: {value: 0.3, unit: m}, mass: 1.5, side: left}
    hip: [0.1, 0.2, {value: 1}]
    offset: {value: [0.1, 0.2], unit: m}
    twice: "${2 * leg.length}"
    strong: true
    knee_dof: true
    motors:
      L: {peak_torque: 30, gear: 6}
      M: {peak_torque: 10, gear: 9, part: X}
    joint_motors: {knee: L, hip: {peak_torque: 5, gear: 7}}
    """
)


def changed(text: str) -> dict[str, Any]:
    """Return what the overrides of a text make of `STATED`, only where it differs."""
    before = copy.deepcopy(STATED)
    result = merged(STATED, yaml.safe_load(text)).stated
    assert before == STATED  # it is not written to
    return {k: result.get(k) for k in {*result, *STATED} if result.get(k) != STATED.get(k)}


CHANGES: dict[str, dict[str, Any]] = {
    "leg: {mass: 2}": {"leg": {**STATED["leg"], "mass": 2}},
    "leg.mass: 2": {"leg": {**STATED["leg"], "mass": 2}},
    "leg.length: 0.4": {"leg": {**STATED["leg"], "length": {"value": 0.4, "unit": "m"}}},
    "leg.length.value: 0.4": {"leg": {**STATED["leg"], "length": {"value": 0.4, "unit": "m"}}},
    "leg: {length: {value: 40, unit: cm}}": {
        "leg": {**STATED["leg"], "length": {"value": 40, "unit": "cm"}}
    },
    "leg.length: {unit: metre}": {
        "leg": {**STATED["leg"], "length": {"value": 0.3, "unit": "metre"}}
    },
    'leg.mass: "${leg.length * 3}"': {"leg": {**STATED["leg"], "mass": "${leg.length * 3}"}},
    "leg.mass: {value: 2, unit: kg}": {
        "leg": {**STATED["leg"], "mass": {"value": 2, "unit": "kg"}}
    },
    "leg.side: right": {"leg": {**STATED["leg"], "side": "right"}},
    "leg: {side: null}": {"leg": {"length": STATED["leg"]["length"], "mass": 1.5}},
    "leg: {length: null, mass: null, side: null}": {"leg": None},
    "hip.1: 5": {"hip": [0.1, 5, {"value": 1}]},
    "hip: [1, 2, 3]": {"hip": [1, 2, 3]},
    'hip: "${[1, 2, 3]}"': {"hip": "${[1, 2, 3]}"},
    "offset.0: 7": {"offset": {"value": [7, 0.2], "unit": "m"}},
    "offset: [7, 8]": {"offset": {"value": [7, 8], "unit": "m"}},
    "twice: 3": {"twice": 3},
    "strong: false": {"strong": False},
    'strong: "${leg.mass > 1}"': {"strong": "${leg.mass > 1}"},
    "knee_dof: false\nhip_dof: false": {"knee_dof": False, "hip_dof": False},
    "strong: null": {"strong": None},
    "motors.L.peak_torque: 40": {
        "motors": {**STATED["motors"], "L": {"peak_torque": 40, "gear": 6}}
    },
    "motors: {L: {part: Y, mode: torque_gear}}": {
        "motors": {
            **STATED["motors"],
            "L": {"peak_torque": 30, "gear": 6, "part": "Y", "mode": "torque_gear"},
        }
    },
    "motors: {M: {part: null, peak_torque: 11}}": {
        "motors": {**STATED["motors"], "M": {"peak_torque": 11, "gear": 9}}
    },
    "motors: {S: {peak_torque: 1, gear: 3}}": {
        "motors": {**STATED["motors"], "S": {"peak_torque": 1, "gear": 3}}
    },
    "motors.S.peak_torque: 1\nmotors.S.gear: 3": {
        "motors": {**STATED["motors"], "S": {"peak_torque": 1, "gear": 3}}
    },
    "motors.M: null": {"motors": {"L": STATED["motors"]["L"]}},
    "joint_motors: {knee: M, ankle: L}": {
        "joint_motors": {**STATED["joint_motors"], "knee": "M", "ankle": "L"}
    },
    "joint_motors.knee: {peak_torque: 3, gear: 4}": {
        "joint_motors": {**STATED["joint_motors"], "knee": {"peak_torque": 3, "gear": 4}}
    },
    "joint_motors.hip: L": {"joint_motors": {**STATED["joint_motors"], "hip": "L"}},
}


@pytest.mark.parametrize("text", CHANGES)
def test_an_override_changes_what_it_names_and_nothing_else(text: str):
    assert changed(text) == CHANGES[text]


REFUSED = {
    "leg.lenght: 1": "override 'leg.lenght' is no parameter of this robot (did you mean",
    "leg: {lenght: 1}": "'leg.length'",
    "legs: {length: 1}": "override 'legs' is no parameter",
    "leg.mass.x: 1": "'leg.mass' is a mapping",
    "leg: 5": "'leg' is a number, 5; parameters.yaml has a mapping",
    "leg.length: {x: 1}": "'leg.length' is a mapping",
    "leg.mass: heavy": "'leg.mass' is a text, 'heavy'; parameters.yaml has a number",
    "leg.mass: true": "'leg.mass' is a switch",
    "leg.side: 5": "'leg.side' is a number, 5; parameters.yaml has a text",
    "strong: 1": "'strong' is a number, 1; parameters.yaml has a switch",
    "hip: 5": "'hip' is a number, 5; parameters.yaml has a list",
    "hip.3: 5": "'hip.3': the list has the elements 0 to 2",
    "hip.1: null": "override one of them",
    "hip: {x: 1}": "'hip.x': the list",
    "unknown: null": "override 'unknown' is no parameter",
    "motors.S: null": "override 'motors.S' is no parameter",
    "motors: 5": "'motors' is a number",
    "wrist: {a_dof: true}": "override 'wrist' is no parameter",
    "leg.a_dof: true": "override 'leg.a_dof' is no parameter",
    "'': 5": "is no parameter",
    "leg..mass: 5": "is no parameter",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_robot_does_not_have_is_refused_in_one_line(text: str):
    with pytest.raises(DraftError) as caught:
        changed(text)
    assert REFUSED[text] in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_robot_without_motors_may_be_given_some():
    result = merged({"a": 1}, {"motors": {"L": {"gear": 2}}, "joint_motors": {"knee": "L"}})
    assert result.stated == {
        **{"a": 1, "motors": {"L": {"gear": 2}}, "joint_motors": {"knee": "L"}},
    }


def test_later_overrides_win_and_all_names_are_kept():
    result = merged(
        STATED,
        [{"leg": {"mass": 2, "length": 1}}, {"leg.mass": 3, "motors.L": {"gear": 2}}],
    )
    assert result.stated["leg"]["mass"] == 3
    assert result.stated["leg"]["length"] == {"value": 1, "unit": "m"}
    assert result.names == ("leg.mass", "leg.length", "motors.L.gear")


def test_values_of_python_are_taken_as_their_numbers():
    given = {"leg": {"mass": np.float64(2)}, "hip": (np.int64(1), 2, 3), "strong": False}
    (mapping,) = as_mappings(given)
    assert mapping == {"leg": {"mass": 2.0}, "hip": [1.0, 2, 3], "strong": False}
    assert type(mapping["leg"]["mass"]) is float
    for wrong in ({1: 2}, {"leg": {2: 1}}, 5, [5], [None]):
        with pytest.raises(DraftError):
            as_mappings(wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(DraftError, match="something else"):
        merged(STATED, {"leg.mass": object()})


def test_an_override_file_is_small_plain_yaml(tmp_path: Path):
    path = tmp_path / "heavy.yaml"
    path.write_text("description: a heavy one\nleg: {mass: 9}\n", encoding="utf-8")
    assert read_overrides(path) == {"leg": {"mass": 9}}
    result = merged(STATED, [path, {"leg.side": "right"}, str(path)])
    assert result.names == ("leg.mass", "leg.side")
    for text, says in {
        "- 1\n": "must be a mapping",
        "a: &x 1\nb: *x\n": "aliases",
        "a: 1\na: 2\n": "appears twice",
        "description: 5\n": "must be text",
        "": "is empty",
        "a: !!python/object:os.system x\n": "tag",
        "a: 1\n" + "# filler\n" * 40_000: "at most 262144 bytes",
    }.items():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DraftError, match=says):
            read_overrides(path)
    with pytest.raises(DraftError, match="there is no overrides file"):
        read_overrides(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("name", FOLDERS)
def test_an_override_gives_what_the_same_design_gives(name: str):
    # The design moves numbers after parsing, the override before: the same robot either way.
    robot = sample(name).robot
    for design in sample(name).designs(2, seed=4):
        by_design = compile_robot(robot.tree, design, gates=False)
        changed_tree = parse_folder(robot.folder, [*robot.overrides, design])
        assert by_design.xml == compile_robot(changed_tree, gates=False).xml


def test_every_number_a_design_may_set_can_be_overridden():
    # one at a time, computed ones included
    robot = sample("everything").robot
    for parameter, nominal in robot.tree.parameters.numeric().items():
        value = 1.0001 * (nominal.value or 0.0)
        assert math.isfinite(value)
        by_design = compile_robot(robot.tree, {parameter: value})
        by_override = compile_robot(parse_folder(robot.folder, {parameter: value}))
        assert by_design.xml == by_override.xml, parameter


def test_an_override_reaches_what_a_design_cannot(make_robot: Make):
    folder = make_robot('length: 0.3\nmass: "${2 if heavy else 1}"\nheavy: false\n')
    links = parse_folder(folder, [{"heavy": True}, {"leg_dof": True}]).links
    assert [link.name for link in links] == ["base", "leg"]
    assert compile_robot(parse_folder(folder)).model.body("leg").mass == 1
    assert compile_robot(parse_folder(folder, {"heavy": True})).model.body("leg").mass == 2
    with pytest.raises(DraftError, match=r"no joint of tree\.yaml has the role 'knee'"):
        parse_folder(folder, {"knee_dof": False})
    with pytest.raises(DraftError, match="no actuator"):
        parse_folder(folder, {"leg_dof": False})
