"""Motor classes: two numbers stated, the rest solved, and one edit moves everything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import draft_core
from draft_core.errors import DraftError
from draft_core.motors import DERIVED, DRIVE, MODES
from draft_core.parameters import parse_parameters
from draft_core.trends import actuator, catalog
from tests.draft_core.conftest import mass_matrix_c

STATED = {"peak_torque": 30.0, "no_load_speed": 25.0, "gear": 9.0, "peak_power": 180.0}


def numbers(stated: dict[str, Any], section: str = "motors", name: str = "L") -> dict[str, float]:
    env = parse_parameters({section: {name: stated}}).resolve()
    prefix = f"{section}.{name}."
    return {key.removeprefix(prefix): value for key, value in env.items()}


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_keeps_what_it_states_and_solves_the_rest(mode: str):
    stated = {name: STATED[name] for name in MODES[mode]}
    found = numbers(stated)
    assert {name: found[name] for name in stated} == stated
    assert found["peak_power"] == pytest.approx(found["peak_torque"] * found["no_load_speed"] / 4)
    if mode != "torque_speed_gear":
        # 228.5 N^-0.938, as printed: three digits
        assert found["no_load_speed"] == pytest.approx(228.5 * found["gear"] ** -0.9382, rel=1e-3)


@pytest.mark.parametrize("mode", MODES)
def test_a_stated_mode_overrides_what_it_does_not_use(mode: str):
    kind = parse_parameters({"motors": {"L": {"mode": mode, **STATED}}}).motors["L"]
    assert set(kind.overridden) == set(DRIVE) - set(MODES[mode])


def test_size_and_inertia_follow_the_printed_laws():
    found = numbers({"peak_torque": 150.0, "no_load_speed": 50.0, "gear": 5.0})
    # the base quadruped of arXiv 2609.38405, whose exponents are rounded to four digits
    assert found["mass"] == pytest.approx(1.83792, rel=1e-3)
    assert found["radius"] == pytest.approx(0.074509, rel=1e-3)
    assert found["length"] == pytest.approx(0.0609214, rel=1e-3)
    assert found["armature"] == pytest.approx(0.0209212, rel=1e-3)
    assert found["volume"] == pytest.approx(math.pi * found["radius"] ** 2 * found["length"])
    assert found["density"] == pytest.approx(found["mass"] / found["volume"])


@pytest.mark.parametrize("model", ["MIT U12", "RMD-X15-P20-450-E", "eRob110H-80", "RS01"])
def test_a_class_on_a_catalogued_part_is_that_part(model: str):
    part, found = catalog.module(model), numbers({"part": model})
    assert part.gear is not None
    assert part.rotor_inertia is not None
    assert found["mass"] == pytest.approx(part.mass, rel=1e-12)
    assert found["radius"] == pytest.approx(part.radius, rel=1e-12)
    assert found["length"] == pytest.approx(part.length, rel=1e-12)
    assert found["rotor_inertia"] == pytest.approx(part.rotor_inertia, rel=1e-12)
    assert found["armature"] == pytest.approx(part.gear**2 * part.rotor_inertia, rel=1e-12)


def test_a_deviation_from_a_part_is_charged_by_the_trend():
    part = catalog.module("MIT U12")
    found = numbers({"part": "MIT U12", "peak_torque": 2 * part.peak_torque})
    assert found["gear"] == part.gear
    assert found["mass"] == pytest.approx(part.mass * 2**0.6662, rel=1e-4)


def test_what_is_derived_is_stated_in_vain():
    stated = {"peak_torque": 30.0, "gear": 6.0, **dict.fromkeys(DERIVED, 99.0)}
    table = parse_parameters({"motors": {"L": stated}})
    assert set(table.motors["L"].overridden) == set(DERIVED)
    assert table.resolve()["motors.L.mass"] == pytest.approx(actuator.mass(30.0))


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"mode": "torque_sped", "peak_torque": 1, "gear": 6}, "did you mean 'torque_speed'"),
        ({"mode": "power_gear", "gear": 6}, "no peak_power"),
        ({"peak_torque": 30}, "state two of"),
        ({"no_load_speed": 30, "gear": 6}, "state two of"),
        ({"part": "MIT U13"}, "did you mean 'MIT U12'"),
        ({"peak_torqe": 30, "gear": 6}, "did you mean 'peak_torque'"),
        ({"peak_torque": "many", "gear": 6}, "number or '${expression}'"),
        ({"peak_torque": True, "gear": 6}, "number or '${expression}'"),
        ({"peak_torque": -3, "gear": 6}, "must be greater than 0"),
        ({"peak_torque": 3, "gear": 0}, "must be greater than 0"),
        ({"peak_torque": 3, "gear": 6, "aspect": 0}, "must be greater than 0"),
        ([30, 6], "a motor class is a mapping"),
    ],
)
def test_a_class_that_cannot_work_is_refused_in_one_line(stated: Any, says: str):
    with pytest.raises(DraftError) as error:
        parse_parameters({"motors": {"L": stated}}).resolve()
    assert says in str(error.value)
    assert "motors.L" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("field", DERIVED)
def test_no_design_sets_what_is_derived(field: str):
    table = parse_parameters({"motors": {"L": {"peak_torque": 30, "gear": 6}}})
    with pytest.raises(DraftError, match=r"always follows.*motors\.L\.peak_torque"):
        table.resolve({f"motors.L.{field}": 1.0})


def test_a_role_has_the_numbers_of_its_class_or_its_own():
    table = parse_parameters(
        {
            "motors": {"L": {"peak_torque": 30, "gear": 6}},
            "joint_motors": {"knee": "L", "hip": {"peak_torque": 40, "gear": 6}},
        }
    )
    env = table.resolve({"motors.L.peak_torque": 50.0})
    assert env["joint_motors.knee.mass"] == env["motors.L.mass"] == actuator.mass(50.0)
    assert env["joint_motors.hip.mass"] == actuator.mass(40.0)
    assert table.motors["knee"] is table.motors["L"]


def test_one_edit_of_a_class_moves_geometry_mass_armature_and_limits():
    robot = draft_core.load("quadruped")
    before, after = (
        robot.compile({"motors.L.peak_torque": torque}, gates=False).model
        for torque in (100.0, 150.0)
    )
    geom = before.geom("hip_fl_actuator").id
    assert (after.geom_size[geom, :2] > before.geom_size[geom, :2]).all()
    assert (after.dof_armature[6:] > before.dof_armature[6:]).all()
    assert after.jnt_actfrcrange[after.joint("knee_fl").id, 1] == 150.0
    assert after.actuator("knee_fl").ctrlrange[1] == 150.0
    added = 12 * (actuator.mass(150.0) - actuator.mass(100.0))
    # the abduction links grow with the hips' motors, and the trunk's section covers them
    assert after.body_mass.sum() > before.body_mass.sum() + added


@pytest.mark.parametrize(
    ("robot", "overrides", "names"),
    [
        (
            "hopper",
            {"motors": {"leg": {"aspect": 0.6}}},
            ("thigh", "shank", "motors.leg.peak_torque", "motors.leg.gear", "motors.leg.aspect"),
        ),
        (
            "cheetah",
            None,
            ("upper_leg", "torso_lz", "torso_chamfer", "motors.L.peak_torque", "motors.L.gear"),
        ),
    ],
)
def test_gradient_equals_finite_differences_of_the_compiled_model(
    robot: str, overrides: Any, names: tuple[str, ...]
):
    # Central differences of MuJoCo's own compilation, step 1e-5 of the value: truncation and
    # rounding are both below 1e-8, and the bound is 1e-5 of the largest entry.
    from draft_core.backend import jax, jnp, mjx

    loaded = draft_core.load(robot, overrides)
    nominal = {name: loaded.parameters[name].value for name in names}
    q = np.array(loaded.base_model.qpos0) + 0.1

    def seen(values: Any) -> Any:
        model = loaded.realize(dict(zip(names, values, strict=True)))
        data = mjx.make_data(loaded.realize()).replace(qpos=jnp.asarray(q))
        data = mjx.crb(model, mjx.com_pos(model, mjx.kinematics(model, data)))
        return model.body_mass, model.body_fullinertia, mjx.full_m(model, data)

    def compiled(values: Any) -> tuple[Any, ...]:
        model = loaded.compile(dict(zip(names, values, strict=True)), gates=False).model
        turn = np.zeros(9)
        tensors = []
        for quat, moments in zip(model.body_iquat, model.body_inertia, strict=True):
            mujoco.mju_quat2Mat(turn, quat)
            tensors.append(turn.reshape(3, 3) @ np.diag(moments) @ turn.reshape(3, 3).T)
        return model.body_mass.copy(), np.array(tensors), mass_matrix_c(model, q)

    import mujoco

    values = np.array([nominal[name] for name in names], dtype=float)
    push = jax.jit(lambda v, r: jax.jvp(seen, (v,), (r,))[1])
    for i, name in enumerate(names):
        rate = push(jnp.asarray(values), jnp.eye(len(names))[i])
        step = np.zeros(len(names))
        step[i] = 1e-5 * values[i]
        ends = compiled(values + step), compiled(values - step)
        expected_rates = [(high - low) / (2 * step[i]) for high, low in zip(*ends, strict=True)]
        assert any(np.abs(expected).max() > 0 for expected in expected_rates), name
        for ours, expected in zip(rate, expected_rates, strict=True):
            scale = max(np.abs(expected).max(), 1e-9)
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5 * scale, err_msg=name)


@pytest.mark.parametrize(
    ("field", "unit"),
    [("peak_torque", "N m"), ("peak_torque", "Nm"), ("peak_torque", "N*m"), ("gear", "-")],
)
def test_a_number_may_state_its_own_unit(field: str, unit: str):
    stated = {"peak_torque": 30.0, "gear": 9.0}
    found = numbers({**stated, field: {"value": stated[field], "unit": unit}})
    assert found == numbers(stated)


@pytest.mark.parametrize(
    ("field", "unit", "own"),
    [
        ("peak_torque", "kN m", "it is in N m"),
        ("no_load_speed", "rpm", "it is in rad/s"),
        ("gear", "m", "it has no unit"),
        ("peak_torque", 5, "it is in N m"),
    ],
)
def test_another_unit_is_refused_as_nothing_is_converted(field: str, unit: Any, own: str):
    # 0.025 kN m was read as 0.025 N m without a word.
    stated = {"peak_torque": 30.0, "gear": 9.0, "no_load_speed": 25.0}
    stated = {**stated, field: {"value": 0.025, "unit": unit}}
    with pytest.raises(DraftError, match=rf"motors\.L\.{field}, unit is {unit!r}; {own}"):
        numbers(stated)
