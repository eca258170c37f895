"""Requests that cannot work are refused in one line, whatever is wrong with them."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draft_core
from draft_core.backend import jax, jnp
from draft_core.errors import DraftError
from draft_core.expressions import as_number
from draft_core.parsing import parse_folder
from draft_core.robot import Robot
from draft_core.robots import ROBOTS

Make = Callable[..., Path]
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def hopper() -> Robot:
    return draft_core.load("hopper")


def refused(call: Callable[..., Any], *given: Any) -> str:
    """Return the line with which a call is refused."""
    with pytest.raises(DraftError) as told:
        call(*given)
    assert len(str(told.value)) < 600
    return str(told.value)


# --- overrides -----------------------------------------------------------------------------------


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"a": 1}
    for _ in range(depth):
        inner = {"a": inner}
    return {"motors": inner}


def holding_itself() -> dict[str, Any]:
    result: dict[str, Any] = {"thigh": []}
    result["motors"] = result
    result["thigh"].append(result["thigh"])
    return result


# Each of these once ended in a RecursionError, thousands of lines long.
DEEP: dict[str, dict[str, Any]] = {
    "a dotted name": {"motors." + "a." * 3000 + "a": 1},
    "a dotted element": {"thigh": [1, 2], "thigh.0." + "a." * 3000: 1},
    "mappings": nested(3000),
    "just too deep": nested(16),
    "itself": holding_itself(),
}


@pytest.mark.parametrize("kind", DEEP)
def test_an_override_that_is_too_deep_is_one_line(kind: str):
    told = refused(draft_core.load, "hopper", DEEP[kind])
    assert "nested deeper than 16 levels" in told or "is a list" in told


# A slip in a name under motors or joint_motors was taken for something new, and did nothing.
UNUSED = {
    "joint_motors: {kne: L}": "override 'joint_motors.kne' is used by nothing",
    "joint_motors.hip_pitchh: {peak_torque: 200, gear: 9}": "(did you mean 'hip_pitch'?)",
    "motors: {LL: {peak_torque: 200, gear: 9}}": "override 'motors.LL' is used by nothing",
    'motors.LL: {peak_torque: 9, gear: "${motors.LL.aspect * 9}", aspect: 1}': "'motors.LL'",
    "joint_motors: {kne: LL}\nmotors.LL: {peak_torque: 9, gear: 9}": "'joint_motors.kne'",
    "allow_link_density.x: true": "override 'allow_link_density' is no parameter",
    "knee_dof: {x: true}": "override 'knee_dof' is no parameter",
}


@pytest.mark.parametrize("text", UNUSED)
def test_what_an_override_adds_and_nothing_uses_is_refused(text: str, tmp_path: Path):
    path = tmp_path / "slip.yaml"
    path.write_text(text, encoding="utf-8")
    assert UNUSED[text] in refused(draft_core.load, "quadruped", path)


USED = [
    {"motors.XL": {"peak_torque": 60, "gear": 9}, "joint_motors.knee": "XL"},
    {"motors.XL": {"peak_torque": 60, "gear": 9}, "motors.L.peak_torque": "${motors.XL.gear * 8}"},
]


@pytest.mark.parametrize("override", USED)
def test_a_new_class_counts_as_used_where_a_role_or_an_expression_reads_it(override: Any):
    robot = draft_core.load("quadruped", override)
    assert "motors.XL.mass" in robot.parameters


def test_a_new_role_counts_as_used_where_a_node_names_it(make_robot: Make):
    folder = make_robot("length: 0.3\nmass: 1.0\n", replace={"motor: {limit: 2}": "motor: hip"})
    override = {"joint_motors.hip": {"peak_torque": 5, "gear": 6}}
    assert parse_folder(folder, override).actuator_names == ("leg",)
    assert "'joint_motors.hop' is used by nothing" in refused(
        parse_folder, folder, {**override, "joint_motors.hop": {"peak_torque": 5, "gear": 6}}
    )


def test_a_wrong_override_names_its_file(tmp_path: Path):
    # With several files on the command line, nobody could tell which one had the slip.
    (tmp_path / "good.yaml").write_text("thigh: 0.21\n", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("thihg: 0.21\n", encoding="utf-8")
    files = [tmp_path / "good.yaml", tmp_path / "bad.yaml"]
    told = refused(draft_core.load, "hopper", files)
    assert told.startswith(f"{tmp_path / 'bad.yaml'}: override 'thihg' is no parameter")
    robot = pickle.loads(pickle.dumps(draft_core.load("hopper", files[0])))
    assert robot.parameters["thigh"].value == 0.21


# --- designs -------------------------------------------------------------------------------------


# A design that moved what a switch is computed from left the joints as they were, while the
# written parameters said otherwise; and it turned gates off in the middle of an optimisation.
@pytest.mark.parametrize("switch", ["leg_dof", "allow_hypothetical"])
def test_a_design_does_not_change_what_a_switch_follows_from(switch: str, make_robot: Make):
    folder = make_robot(
        f'length: 0.3\nmass: 1.0\nhalf: "${{length / 2}}"\n{switch}: "${{half > 0.1}}"\n'
    )
    robot = draft_core.load(folder)
    robot.check({"mass": 2.0})
    for name in ("length", "half", switch):
        told = refused(robot.check, {name: 0.1})
        assert told.startswith(f"design variable '{name}' decides the switch '{switch}', which no")
    assert "decides the switch" in refused(
        lambda: jax.jit(lambda x: robot.realize({"length": x}))(0.1)
    )
    draft_core.load(folder, {"length": 0.4}).check()


def test_an_unknown_design_name_is_told_what_may_be_varied():
    # The list once was of 40 names, most of which no design may set.
    robot = draft_core.load("quadruped")
    bounds = {"uper_leg": (0.1, 0.2)}
    for told in (
        refused(robot.check, {"uper_leg": 0.2}),
        refused(draft_core.DesignSpace.of, robot, bounds),
    ):
        assert "(did you mean 'upper_leg'?)" in told
        listed = told.partition("It has: ")[2].partition(", ...")[0].split(", ")
        assert len(listed) == 20
        assert not any(robot.parameters[name].fixed for name in listed)


def test_a_switch_or_text_that_is_computed_is_no_design_variable(make_robot: Make):
    folder = make_robot('length: 0.3\nmass: "${2 if strong else 1}"\nstrong: "${length > 1}"\n')
    assert "is not a numeric parameter" in refused(draft_core.load(folder).check, {"strong": 1.0})


WRONG_DESIGNS: list[Any] = [
    *([1], 5, "thigh", np.ones(2), {1: 2}, {"thigh": [1]}, {"thigh": np.array([0.2, 0.1])}),
    *({"thigh": None}, {"thigh": True}, {"thigh": 1j}, {"thigh": "x" * 9999}, {"x" * 9999: 1}),
    *({"thigh": jnp.array([0.2])}, {"thigh": jnp.array(True)}, {"thigh": jnp.array(jnp.nan)}),
]


@pytest.mark.parametrize("design", WRONG_DESIGNS, ids=range(len(WRONG_DESIGNS)))
def test_a_wrong_design_is_one_line_wherever_it_is_given(design: Any, hopper: Robot):
    for call in (
        *(hopper.check, hopper.compile, hopper.check_design, hopper.realize),
        *(hopper.contact_friction, hopper.effort_limits, hopper.speed_limits),
    ):
        assert "design" in refused(call, design)


def test_numbers_of_jax_are_numbers_wherever_reports_are_made(hopper: Robot):
    for value in (jnp.array(0.25), jnp.array(0.25, dtype=jnp.float32), np.float32(0.25)):
        assert hopper.check({"thigh": value}).to_yaml() == hopper.check({"thigh": 0.25}).to_yaml()
        assert hopper.compile({"thigh": value}).xml == hopper.compile({"thigh": 0.25}).xml
        model = hopper.realize({"thigh": value})
        assert float(model.body_pos[3, 2]) == -0.25


# In a process that had realised no robot yet, JAX still counted in single precision; the check of
# such a number ended in a traceback.
def test_a_number_of_jax_is_checked_in_a_fresh_process():
    code = (
        "import jax.numpy as jnp, draft_core\n"
        "robot, x = draft_core.load('hopper'), jnp.array(0.25)\n"
        "print(robot.effort_limits({'motors.leg.peak_torque': jnp.array(30)}).tolist())\n"
        "print(robot.check({'thigh': x}).verdict, robot.check_design({'thigh': x}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split("\n")[:2] == ["[[-30.0, 30.0], [-30.0, 30.0]]", "feasible None"]


@pytest.mark.parametrize("method", ["check", "compile", "check_design"])
def test_a_report_of_a_traced_design_is_refused(method: str, hopper: Robot):
    told = refused(lambda: jax.jit(lambda x: getattr(hopper, method)({"thigh": x}))(0.2))
    assert "is traced by JAX" in told


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [5, None, ["x"], "a" * 5000, "nul\0l", "x/" * 3000, b"x", ""])
def test_what_is_no_robot_is_one_line(given: Any):
    refused(draft_core.load, given)


@pytest.mark.parametrize("out", [5, ["x"], b"x", "a" * 5000, "nul\0l", "x/" * 3000])
def test_what_is_no_folder_to_write_is_one_line(
    out: Any, hopper: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    refused(lambda: hopper.compile(out=out))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bounds", [5, [("thigh", 1, 2)], "thigh", {"thigh": 5}, {5: (1, 2)}])
def test_what_are_no_bounds_is_one_line(bounds: Any, hopper: Robot):
    refused(draft_core.DesignSpace.of, hopper, bounds)


@pytest.mark.parametrize("override", ["nul\0l", "a" * 5000, Path("x/" * 3000), b"x", 5])
def test_what_is_no_override_is_one_line(override: Any):
    refused(draft_core.load, "hopper", override)


def test_what_is_no_robot_folder_does_not_hide_a_robot_that_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # `codesign compile hopper --out hopper` worked once: then hopper was the output.
    monkeypatch.chdir(tmp_path)
    shipped = draft_core.load("hopper")
    shipped.compile(out="hopper")
    assert draft_core.load("hopper").folder == shipped.folder
    Path("quadruped").write_text("notes", encoding="utf-8")
    assert draft_core.load("quadruped").folder == ROBOTS["quadruped"].folder
    shutil.copytree(shipped.folder, "cheetah")
    assert draft_core.load("cheetah").folder == (tmp_path / "cheetah").resolve()
    (tmp_path / "bear").mkdir()
    (tmp_path / "bear" / "tree.yaml").touch()
    assert "parameters.yaml" in refused(draft_core.load, "bear")


# --- files ---------------------------------------------------------------------------------------


SURPRISES = {
    "1:30": "line 3: '1:30' is not a number",
    "1:30.5": "'1:30.5' is not a number",
    "-010": "'-010' is not a number",
    "yes": "'yes' is not true or false; write true or false, or quote it: 'yes'",
    "Off": "'Off' is not true or false",
}


@pytest.mark.parametrize("value", SURPRISES)
def test_what_yaml_reads_otherwise_than_people_do_is_refused(value: str, make_robot: Make):
    # `1:30` was 90, counted in base 60, `010` was 8 and `yes` a switch, without a word.
    folder = make_robot(f"length: 0.3\nmass: 1.0\na: {value}\n")
    assert SURPRISES[value] in refused(draft_core.load, folder)
    make_robot(f"length: 0.3\nmass: 1.0\na: '{value}'\nb: True\nc: 0\nd: -1_000.5\n")
    assert draft_core.load(folder).parameters["d"].value == -1000.5


def test_a_mesh_file_that_is_a_link_to_nothing_is_refused(make_robot: Make):
    # It was taken for no mesh at all.
    folder = make_robot()
    (folder / "mesh.yaml").symlink_to(folder / "nowhere.yaml")
    assert "mesh.yaml in" in refused(draft_core.load, folder)
    (folder / "mesh.yaml").unlink()
    (folder / "mesh.yaml").mkdir()
    assert "is no file" in refused(draft_core.load, folder)


def test_a_long_text_of_digits_takes_no_time():
    # The pattern of a number tried all ways to split the digits: 30000 of them took minutes.
    start = time.perf_counter()
    for text in ("1" * 30_000 + "x", "1" * 30_000, "1." * 15_000, "." + "1" * 30_000 + "e"):
        assert as_number(text) is None
    assert as_number("1" * 299) == float("1" * 299)
    assert time.perf_counter() - start < 1


def test_many_parameters_take_time_in_proportion(make_robot: Make):
    def seconds(count: int) -> float:
        rows = "".join(f"p{i}: {i}\n" for i in range(count))
        folder = make_robot(f"length: 0.3\nmass: 1.0\n{rows}")
        start = time.perf_counter()
        draft_core.load(folder)
        return time.perf_counter() - start

    few = min(seconds(2000) for _ in range(3))
    assert seconds(16_000) < 30 * few  # eight times as many
