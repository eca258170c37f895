"""`for_each` and `<role>_dof`: a short file stands for the long one a person would have written."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml

import draft_core
from draft_core.binding import Binder, constant_item
from draft_core.errors import DraftError
from draft_core.expansion import MAX_NODES, Source, expanded
from draft_core.expressions import Expression
from draft_core.parameters import parse_parameters
from draft_core.switches import joint_role, without_side
from tests.draft_core.conftest import mass_matrix_c
from tests.draft_core.test_bad_input import JUNK, changed, places

Make = Callable[..., Path]

PARAMETERS = """
legs:
  fl: {x: 0.2, length: 0.3, strong: true}
  fr: {x: 0.2, length: 0.3, strong: true}
  rl: {x: -0.2, length: {value: 0.25, unit: m}, strong: false}
thickness: 0.02
names: [left, right]
lengths: [0.1, 0.2]
many: 3
side: left
"""
SHORT = """
robot: short
nodes:
  body: {primitive: root, joint: free, shape: box, size: [0.4, 0.2, 0.1], mass: 2}
  "leg_${leg}":
    for_each: {in: legs, as: leg}
    primitive: geom
    parent: body
    pos: ["${leg.x}", "${0.1 - 0.1 * index}", 0]
    joint: {type: hinge, axis: [0, 1, 0], name: "hip_${leg}"}
    motor: {limit: "${8 if leg.strong else 4}"}
    shape: capsule
    size: {radius: "${thickness / (1 + index)}", length: "${leg.length}"}
    center: [0, 0, "${-leg.length / 2}"]
    mass: 1
    sites: {"tip_${leg}": {pos: [0, 0, "${-leg.length}"]}}
  "foot_${leg}":
    for_each: {in: legs, as: leg, where: "${leg != 'fr'}"}
    primitive: geom
    parent: "leg_${leg}"
    pos: [0, 0, "${-leg.length}"]
    shape: sphere
    size: [0.03]
    mass: "${0.1 if leg == 'fl' else 0.2 * leg.length}"
"""


def leg(name: str, y: str, radius: str) -> str:
    return f"""
  leg_{name}:
    primitive: geom
    parent: body
    pos: ["${{legs.{name}.x}}", "${{{y}}}", 0]
    joint: {{type: hinge, axis: [0, 1, 0], name: hip_{name}}}
    motor: {{limit: "${{8 if legs.{name}.strong else 4}}"}}
    shape: capsule
    size: {{radius: "${{{radius}}}", length: "${{legs.{name}.length}}"}}
    center: [0, 0, "${{-legs.{name}.length / 2}}"]
    mass: 1
    sites: {{tip_{name}: {{pos: [0, 0, "${{-legs.{name}.length}}"]}}}}
"""


def foot(name: str, mass: str) -> str:
    return f"""
  foot_{name}:
    primitive: geom
    parent: leg_{name}
    pos: [0, 0, "${{-legs.{name}.length}}"]
    shape: sphere
    size: [0.03]
    mass: {mass}
"""


LONG = "".join(
    [
        SHORT[: SHORT.index('  "leg_')],
        leg("fl", "0.1", "thickness"),
        leg("fr", "0", "thickness / 2"),
        leg("rl", "-0.1", "thickness / 3"),
        foot("fl", "0.1"),
        foot("rl", '"${0.2 * legs.rl.length}"'),
    ]
)


def test_a_loop_is_the_file_written_out(make_robot: Make):
    short = draft_core.load(make_robot(PARAMETERS, SHORT))
    xml = short.compile({"legs.rl.length": 0.4, "thickness": 0.03}).xml
    long = draft_core.load(make_robot(PARAMETERS, LONG.replace("robot: long", "robot: short")))
    assert xml == long.compile({"legs.rl.length": 0.4, "thickness": 0.03}).xml
    assert short.body_names[1:] == ("body", "leg_fl", "foot_fl", "leg_fr", "leg_rl", "foot_rl")


def test_a_looped_parameter_stays_a_design_variable(make_robot: Make):
    robot = draft_core.load(make_robot(PARAMETERS, SHORT))
    longer = robot.compile({"legs.fl.length": 0.5}).model
    assert longer.site("tip_fl").pos[2] == -0.5
    assert longer.site("tip_fr").pos[2] == -0.3
    # the foot's mass is compared by text and follows the number
    heavier = robot.compile({"legs.rl.length": 0.5}).model
    assert heavier.body("foot_rl").mass == pytest.approx(0.1)


def source(parameters: str = PARAMETERS) -> Source:
    stated = yaml.safe_load(parameters)
    return Source(stated, parse_parameters(stated).resolve())


def expand(nodes: str, parameters: str = PARAMETERS) -> Any:
    return expanded(yaml.safe_load(nodes), "node", source(parameters))


FORMS = {
    "[a, b]": {"n_a": "a", "n_b": "b"},
    "[1.5, -2]": {"n_1.5": 1.5, "n_-2": -2.0},
    "3": {"n_0": 0.0, "n_1": 1.0, "n_2": 2.0},
    "'${many - 1}'": {"n_0": 0.0, "n_1": 1.0},
    "many": {"n_0": 0.0, "n_1": 1.0, "n_2": 2.0},
    "'${[thickness, 5]}'": {"n_0.02": 0.02, "n_5": 5.0},
    "legs": {"n_fl": "fl", "n_fr": "fr", "n_rl": "rl"},
    "'${legs}'": {"n_fl": "fl", "n_fr": "fr", "n_rl": "rl"},
    "legs.rl": {"n_x": "x", "n_length": "length", "n_strong": "strong"},
    "names": {"n_left": "left", "n_right": "right"},
    "{a: 1, b: {c: 2}}": {"n_a": "a", "n_b": "b"},
    "[true]": {"n_True": True},
    "0": {},
    "[]": {},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_loop_runs_over_lists_counts_and_parameters(form: str):
    nodes = expand(f'"n_${{f}}": {{for_each: {{in: {form}, as: f}}, value: "${{f}}"}}')
    assert {name: node["value"] for name, node in nodes.items()} == FORMS[form]


def test_numbers_of_a_list_keep_their_expressions():
    text = '"n_${index}": {for_each: {in: %s, as: f}, v: "${2 * %s}"}'
    assert [n["v"] for n in expand(text % ("lengths", "f")).values()] == [
        *("${2 * lengths[0]}", "${2 * lengths[1]}"),
    ]
    assert expand(text % ('["${thickness + 1}"]', "f"))["n_0"]["v"] == "${2 * (thickness + 1)}"
    listed = '[{p: ["${thickness}", -1]}]'
    assert expand(text % (listed, "f.p[0]"))["n_0"]["v"] == "${2 * [(thickness), (-1.0)][0]}"
    values = expand('"n_${f}": {for_each: {in: legs.rl, as: f}, v: "${f.value}"}')
    assert values["n_length"]["v"] == "${legs.rl.length}"
    values = expand('"n_${f}": {for_each: {in: {a: 1, b: "${many}"}, as: f}, v: "${f.value}"}')
    assert [n["v"] for n in values.values()] == ["${1.0}", "${(many)}"]


def test_only_the_loop_variable_itself_is_replaced():
    nodes = expand(
        """
        "n_${leg}":
          for_each: {in: legs, as: leg}
          a: "${leg_length + other.leg + leg.x}"
          b: "a leg of ${thickness}"
          c: "${legs.fl.x}"
          d: ["${'leg' if leg == 'fl' else side}"]
        """
    )
    assert nodes["n_fl"] == {
        "a": "${leg_length + other.leg + legs.fl.x}",
        "b": "a leg of ${thickness}",
        "c": "${legs.fl.x}",
        "d": ["leg"],
    }
    assert nodes["n_fr"]["d"] == ["left"]


def test_names_parents_and_mirror_images_are_bound():
    nodes = expand(
        """
        "tail_${i + 1}": {for_each: {in: many, as: i}, parent: "tail_${i}", "key_${i}": 1}
        "hip_${end}r": {for_each: {in: [f, r], as: end}, mirror_of: "hip_${end}l"}
        "text_${index}": {for_each: {in: legs}, v: "${'a' if item.strong else 'b'}_${item}"}
        """
    )
    assert nodes["tail_3"] == {"parent": "tail_2", "key_2": 1}
    assert nodes["hip_rr"] == {"mirror_of": "hip_rl"}
    assert [nodes[f"text_{i}"]["v"] for i in range(3)] == ["a_fl", "a_fr", "b_rl"]


def random_expression(rng: random.Random, depth: int) -> str:
    """Return an expression over f, f.x, index, a and numbers that never divides by zero."""
    if depth == 0:
        return rng.choice(["f", "f.x", "index", "a", "2", "0.5", "fx", "a.f"])
    inner = [random_expression(rng, depth - 1) for _ in range(3)]
    forms = [
        *("{0} + {1}", "{0} - {1}", "({0}) * ({1})", "-{0}", "({0}) ** 2", "-({0}) ** 2"),
        *("{0} if {1} > {2} else {2}", "max({0}, {1})", "abs({0}) - {1}", "[{0}, {1}][1]"),
        *("({0} < {1}) + 1", "{0} if not {1} == {2} else {1}", "{0} and {1} or {2}"),
    ]
    return "(" + rng.choice(forms).format(*inner) + ")"


@pytest.mark.parametrize("seed", range(200))
def test_a_bound_expression_has_the_value_of_its_variables(seed: int):
    # The language itself is the oracle: f as a parameter, or replaced by what it stands for.
    rng = random.Random(seed)
    text = "${" + random_expression(rng, 3) + "}"
    number, x, index = rng.uniform(-2, 2), rng.uniform(-2, 2), rng.randrange(3)
    env = {"a": rng.uniform(-2, 2), "fx": 3.0, "a.f": -1.0, "legs.fl.x": x}
    item = constant_item(number)
    followed = constant_item(x) if seed % 2 else type(item)("legs.fl.x")
    binder = Binder(frozenset({"f", "index"}), env, "here")
    binder.items = {
        "f": type(item)(item.source, item.value, lambda _: followed),
        "index": constant_item(float(index)),
    }
    bound = binder.string(text)
    value = Expression(bound, "here").evaluate(env) if isinstance(bound, str) else bound
    expected = Expression(text, "here").evaluate({**env, "f": number, "f.x": x, "index": index})
    assert value == pytest.approx(expected, rel=1e-15)


MISTAKES = {
    "a: {for_each: {in: [1]}}": "must hold ${item} or ${index}",
    "a: {for_each: [1]}": "for_each has [1]; it must be a mapping",
    '"a_${f}": {for_each: {in: [1], as: f, were: 1}}': "unknown key 'were'",
    '"a_${f}": {for_each: {as: f}}': "such as {in:",
    '"a_${f}": {for_each: {in: [1], as: pi}}': "for_each.as is 'pi'",
    '"a_${f}": {for_each: {in: [1], as: if}}': "for_each.as is 'if'",
    '"a_${f}": {for_each: {in: [1], as: "f.x"}}': "for_each.as is 'f.x'",
    '"a_${f}": {for_each: {in: [1], as: {f: x}}}': "for_each.as is {'f': 'x'}",
    '"a_${side}": {for_each: {in: [1], as: side}}': "'side' is the name of a parameter",
    '"a_${f}": {for_each: {in: leg, as: f}}': "did you mean 'legs'",
    '"a_${f}": {for_each: {in: side, as: f}}': "must be a list, a count",
    '"a_${f}": {for_each: {in: "${many / 2}", as: f}}': "must be a list, a count",
    '"a_${f}": {for_each: {in: -1, as: f}}': "must be a list, a count",
    '"a_${f}": {for_each: {in: true, as: f}}': "must be a list, a count",
    '"a_${f}": {for_each: {in: null, as: f}}': "must be a list, a count",
    '"a_${f}": {for_each: {in: "${f}", as: f}}': "its own loop variable",
    '"a_${f}": {for_each: {in: "${lenght}", as: f}}': "uses 'lenght', which is neither",
    '"a_${f}": {for_each: {in: "${1 / 0}", as: f}}': "has no value",
    '"a_${f}": {for_each: {in: [null], as: f}}': "None is no finite number",
    '"a_${f}": {for_each: {in: [.inf], as: f}}': "inf is no finite number",
    '"a_${f}": {for_each: {in: ["${1) + (2}"], as: f}}': "does not parse",
    '"a_${f}": {for_each: {in: [1, 1], as: f}}': "'a_1' is there already",
    '"a_${f}": {for_each: {in: 1e9, as: f}}': "1000000000 entries; at most 500",
    '"a_${f}": {for_each: {in: [{x: 1}], as: f}}': "is a mapping; use one of its fields",
    '"a_${f.y}": {for_each: {in: [{x: 1}], as: f}}': "no field 'y'; there are x",
    '"a_${f.x}": {for_each: {in: [1], as: f}}': "'f' has no fields",
    '"a_${f.lenght}": {for_each: {in: legs, as: f}}': "did you mean 'legs.fl.length'",
    '"a_${f}": {for_each: {in: legs, as: f, where: "${f}"}}': "where gives 'fl'",
    '"a_${f}": {for_each: {in: legs, as: f, where: "${f.x +}"}}': "does not parse",
    '"a_${f}": {for_each: {in: legs, as: f}, v: "${f + 1}"}': "needs numbers, not the text",
    '"a_${f}": {for_each: {in: legs, as: f}, v: "${1 if f.x > 0 else f}"}': "mixes texts",
    '"a_${f}": {for_each: {in: legs, as: f}, v: "${f.x.__class__}"}': "no 'legs.fl.x.__class__'",
    '"a_${f}": {for_each: {in: legs, as: f}, v: {"k${f}": 1, kfl: 2}}': "'kfl' appears twice",
    '"a_${' + "-" * 450 + 'f}": {for_each: {in: [1], as: f}}': "nested too deep",
    '"a_${f}": {for_each: {in: [a], as: f}, v: "${' + "-" * 450 + "(f == 'a')}\"}": "too deep",
    '"a_${f}": {for_each: {in: [1], as: f}, v: "${f + ' + "1" * 600 + '}"}': "too long",
    '{"a_${f}": {for_each: {in: [1], as: f}}, a_1: {}}': "'a_1' is there already",
}


@pytest.mark.parametrize("nodes", MISTAKES)
def test_a_loop_that_cannot_work_is_refused_in_one_line(nodes: str):
    with pytest.raises(DraftError) as caught:
        expand(nodes)
    message = str(caught.value)
    assert message.startswith("tree.yaml, node ")
    assert MISTAKES[nodes] in message
    assert "\n" not in message
    assert len(message) < 600


def test_loops_are_bounded():
    with pytest.raises(DraftError, match=f"at most {MAX_NODES} are allowed"):
        expand('{"a_${f}": {for_each: {in: 300, as: f}}, "b_${f}": {for_each: {in: 201, as: f}}}')
    assert len(expand('"a_${f}": {for_each: {in: 500, as: f}}')) == MAX_NODES
    # 500 times the strings of a large node took minutes
    strings = {f"k{i}": "${f + 1}" for i in range(5000)}
    start = time.perf_counter()
    with pytest.raises(DraftError, match="repeat more than"):
        expanded({"a_${f}": {"for_each": {"in": 500, "as": "f"}, **strings}}, "node", source())
    assert time.perf_counter() - start < 5.0


def test_what_is_no_mapping_is_left_to_the_parser(make_robot: Make):
    for nodes in ("5", "[1]", "{body: 5}"):
        with pytest.raises(DraftError, match=r"tree\.yaml"):
            draft_core.load(make_robot(PARAMETERS, f"robot: x\nnodes: {nodes}\n"))


# --- <role>_dof ---------------------------------------------------------------------------------

ARM = """
robot: arm
nodes:
  base: {primitive: root, shape: box, size: [0.1, 0.1, 0.1], mass: 1}
  left_arm:
    primitive: geom
    parent: base
    joint: {type: hinge, role: shoulder, axis: [0, 1, 0], armature: 0.01}
    motor: {limit: 3}
    shape: box
    size: [0.1, 0.1, 0.3]
    mass: 1
  hand_l:
    primitive: geom
    parent: left_arm
    pos: [0, 0, 0.3]
    joint: {type: hinge, axis: [0, 1, 0.2]}
    motor: {limit: 2, name: grip_l}
    shape: box
    size: [0.1, 0.05, 0.1]
    mass: 0.5
  right_arm: {mirror_of: left_arm}
  hand_r: {mirror_of: hand_l}
"""


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *(("knee_fl", "knee"), ("fl_knee", "knee"), ("left_hip_pitch", "hip_pitch")),
        *(("foot-ml-2", "foot_2"), ("KNEE_R", "KNEE"), ("left", "left"), ("flank", "flank")),
    ],
)
def test_a_role_is_the_name_without_its_side(name: str, role: str):
    assert without_side(name) == role
    assert joint_role(name, {"joint": "free"}) == role
    assert joint_role(name, {"joint": {"type": "hinge", "role": "other"}}) == "other"


def test_a_dof_switched_off_leaves_the_link_welded(make_robot: Make):
    on = draft_core.load(make_robot("hand_dof: true\nshoulder_dof: true", ARM))
    off = draft_core.load(make_robot("hand_dof: false", ARM))
    assert on.joint_names == ("left_arm", "hand_l", "right_arm", "hand_r")
    assert on.actuator_names == ("left_arm", "grip_l", "right_arm", "grip_r")
    assert off.joint_names == off.actuator_names == ("left_arm", "right_arm")
    assert off.body_names == on.body_names
    # M of the welded robot is that of the jointed one without the rows of its hands
    full = mass_matrix_c(on.base_model, np.array([0.3, 0.0, -0.2, 0.0]))
    welded = mass_matrix_c(off.base_model, np.array([0.3, -0.2]))
    np.testing.assert_allclose(welded, full[np.ix_([0, 2], [0, 2])], rtol=1e-12)


def test_a_switch_may_be_computed(make_robot: Make):
    robot = draft_core.load(make_robot('simple: true\nhand_dof: "${not simple}"', ARM))
    assert robot.joint_names == ("left_arm", "right_arm")


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ("hnad_dof: false", "no joint of tree.yaml has the role 'hnad' (did you mean 'hand'?)"),
        ("hand_dof: 0", "must be true or false"),
        ("knee_dof: true", "There are: hand, shoulder"),
        ("hand_dof: false\nshoulder_dof: false", "no actuator"),
    ],
)
def test_a_switch_of_no_joint_is_refused(make_robot: Make, parameters: str, says: str):
    with pytest.raises(DraftError) as caught:
        draft_core.load(make_robot(parameters, ARM))
    assert says in str(caught.value)


def test_a_switched_off_root_stands_still(make_robot: Make):
    tree = ARM.replace("{primitive: root,", "{primitive: root, joint: free,")
    assert draft_core.load(make_robot("base_dof: true", tree)).base_model.nq == 7 + 4
    fixed = draft_core.load(make_robot("base_dof: false", tree)).base_model
    assert fixed.nq == 4
    assert fixed.jnt_type[0] == mujoco.mjtJoint.mjJNT_HINGE


@pytest.mark.parametrize("seed", range(4))
def test_random_mistakes_never_end_in_another_error(seed: int, make_robot: Make):
    rng = random.Random(seed)
    files = [(PARAMETERS, SHORT), ("hand_dof: false\nshoulder_dof: true", ARM)]
    junk = [*JUNK, "${leg}", "${leg.x}", "${index}", "${'a'}", ["a"], {"in": [1], "as": "f"}]
    for _ in range(60):
        data = [yaml.safe_load(text) for text in rng.choice(files)]
        which = rng.randrange(2)
        data[which] = changed(data[which], rng.choice(list(places(data[which]))), rng.choice(junk))
        with contextlib.suppress(DraftError):  # always one line, as DraftError sees to
            draft_core.load(make_robot(*(yaml.safe_dump(d, sort_keys=False) for d in data)))
