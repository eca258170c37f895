"""Torque-speed envelopes, utilisation and efficiency against closed forms."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draft_core
from draft_core import DraftError, analysis
from draft_core.backend import jax, jnp
from tests.draft_core.conftest import PROJECT, Sample

LIMIT, STALL, TOP = 15.0, 20.0, 10.0
ENVELOPE = (LIMIT, STALL, TOP)


def column(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=float)[:, None]


def use(torque: Any, speed: Any, envelope: Any = ENVELOPE) -> analysis.Utilization:
    return analysis.utilization(column(torque), column(speed), *envelope)


def test_available_torque_is_the_lower_of_limit_and_line():
    # 20 (1 − |w| / 10): 20 at rest, cut at 15 up to |w| = 2.5, 10 at 5, 0 at 10, never below
    speed = column([0, 2.5, -2.5, 5, -5, 10, -10, 25])
    available = analysis.available_torque(speed, *ENVELOPE)
    np.testing.assert_allclose(available[:, 0], [15, 15, 15, 10, 10, 0, 0, 0], rtol=1e-15)


def test_each_joint_has_its_own_envelope():
    speed = np.full((3, 2), 5.0)
    available = analysis.available_torque(speed, [100.0, 7.0], [10.0, 40.0], [10.0, 20.0])
    np.testing.assert_allclose(available, [[5.0, 7.0]] * 3)


def test_a_motor_without_a_top_speed_keeps_its_limit():
    used = use([3.0, -3.0], [1e6, 0.0], (LIMIT, STALL, np.inf))
    np.testing.assert_array_equal(used.available[:, 0], [LIMIT, LIMIT])
    np.testing.assert_array_equal(used.speed[:, 0], [0, 0])
    assert not used.saturated.any()


def test_utilization_is_one_on_the_envelope_and_scales_with_torque():
    speed = np.array([0.0, 2.0, 5.0, -9.0])
    edge = analysis.available_torque(column(speed), *ENVELOPE)[:, 0]
    for share in (0.0, 0.5, 1.0, 2.0):
        for sign in (1, -1):
            used = use(sign * share * edge, speed)
            np.testing.assert_allclose(used.torque[:, 0], share, rtol=1e-14)
            np.testing.assert_allclose(used.speed[:, 0], np.abs(speed) / TOP)
            assert not used.saturated.any()


def test_rating_and_speed_add_to_one_on_the_slanted_edge():
    speed = np.linspace(2.5, 9.9, 30)
    edge = analysis.available_torque(column(speed), *ENVELOPE)[:, 0]
    used = use(edge, speed)
    np.testing.assert_allclose((used.rated + used.speed)[:, 0], 1, rtol=1e-14)


@pytest.mark.parametrize("speed", [10.0, -10.0, 10.1, -50.0])
@pytest.mark.parametrize("torque", [0.0, 1e-9, -3.0, 15.0])
def test_past_the_no_load_speed_a_joint_is_saturated_and_never_reads_as_idle(speed, torque):
    used = use([torque], [speed])
    assert used.saturated.all()
    assert 1 <= used.torque[0, 0] <= max(1, abs(torque) / (0.01 * LIMIT))
    assert used.speed[0, 0] >= 1


def test_a_motor_that_cannot_push_one_way_is_saturated_that_way():
    # limits follow the torque's sign: least 0, most 5
    used = analysis.utilization([[-1.0], [1.0]], [[0.0], [0.0]], [[0.0], [5.0]], 5.0, 10.0)
    np.testing.assert_array_equal(used.saturated[:, 0], [True, False])
    assert used.torque[0, 0] == pytest.approx(1 / (0.01 * 5))
    assert used.torque[1, 0] == pytest.approx(0.2)


def test_the_limit_that_a_small_share_is_counted_against_is_the_declared_one():
    # the declared limit is 0.5 % of stall: utilisation inside the envelope is still exact
    used = use([0.05], [0.0], (0.1, 20.0, 10.0))
    assert used.torque[0, 0] == pytest.approx(0.5)


def test_powers_are_their_sums():
    torque = np.array([[1.0, -2.0], [3.0, 0.0]])
    speed = np.array([[4.0, 5.0], [-6.0, 7.0]])
    np.testing.assert_allclose(analysis.mechanical_power(torque, speed), [4 + 10, 18])
    joule = analysis.joule_power(torque, [10.0, 20.0], [30.0, 40.0])
    np.testing.assert_allclose(joule, [1 * 3 + 4 * 2, 9 * 3])


def test_joule_power_is_the_heat_of_a_winding():
    # V = R i + k w and τ = k i: stall torque k V / R, no-load speed V / k, heat R i²
    rng = np.random.default_rng(0)
    resistance, k, voltage = rng.uniform(0.1, 3, (3, 4))
    torque = rng.normal(size=(50, 4))
    heat = (resistance * (torque / k) ** 2).sum(axis=1)
    joule = analysis.joule_power(torque, k * voltage / resistance, voltage / k)
    np.testing.assert_allclose(joule, heat, rtol=1e-12)


def test_efficiency_of_a_steady_load_is_its_closed_form():
    # τ w / (τ w + τ² w0/τ0) = 1 / (1 + (τ/τ0) (w0/w)): half at τ/τ0 = w/w0
    torque, speed = np.full((7, 3), 5.0), np.full((7, 3), 2.5)
    assert analysis.drivetrain_efficiency(torque, speed, 20.0, 10.0, 0.01) == pytest.approx(0.5)
    assert analysis.drivetrain_efficiency(2 * torque, speed, 20.0, 10.0) == pytest.approx(1 / 3)


def test_holding_still_has_no_efficiency_and_neither_has_doing_nothing():
    still, idle = np.zeros((5, 2)), np.zeros((5, 2))
    assert analysis.drivetrain_efficiency(np.ones((5, 2)), still, 20.0, 10.0, 0.1) == 0
    assert analysis.drivetrain_efficiency(idle, np.ones((5, 2)), 20.0, 10.0, 0.1) == 0


def test_uneven_steps_weigh_the_means():
    torque, speed = np.array([[1.0], [4.0]]), np.array([[2.0], [1.0]])
    # P_m = 2, 4; P_J = τ² · 10/20 = 0.5, 8; weights 3 and 1
    found = analysis.drivetrain_efficiency(torque, speed, 20.0, 10.0, [0.3, 0.1])
    assert found == pytest.approx((3 * 2 + 4) / (3 * 2.5 + 12))


def test_batches_of_motions_are_measured_one_by_one():
    rng = np.random.default_rng(1)
    torque, speed = rng.normal(size=(2, 4, 30, 3))
    every = analysis.drivetrain_efficiency(torque, speed, 20.0, 10.0, 0.1)
    assert every.shape == (4,)
    for i in range(4):
        one = analysis.drivetrain_efficiency(torque[i], speed[i], 20.0, 10.0, 0.1)
        assert every[i] == pytest.approx(one, rel=1e-14)


def test_the_report_counts_saturation_and_nearness_of_the_limit():
    # 100 samples: 10 past the top speed and coasting, 20 at 96 % of the torque, 70 at half
    torque = np.array([0.0] * 10 + [0.96 * LIMIT] * 20 + [0.5 * LIMIT] * 70)
    speed = np.array([12.0] * 10 + [0.0] * 20 + [1.0] * 70)
    report = analysis.torque_speed_report(column(torque), column(speed), *ENVELOPE, names=["a"])
    assert report.names == ("a",)
    assert report.saturated[0] == pytest.approx(0.1)
    assert report.near_limit[0] == pytest.approx(0.3)
    assert report.torque[0] == pytest.approx(1.0)
    assert report.speed[0] == pytest.approx(1.2)
    assert report.rated[0] == pytest.approx(0.96 * LIMIT / STALL)


def test_the_report_takes_percentiles_over_everything_but_the_joints():
    rng = np.random.default_rng(2)
    torque, speed = rng.uniform(-5, 5, (2, 6, 40, 3))
    report = analysis.torque_speed_report(torque, speed, *ENVELOPE)
    used = analysis.utilization(torque, speed, *ENVELOPE)
    for joint in range(3):
        ordered = np.sort(used.torque[..., joint].ravel())
        assert ordered[227] <= report.torque[joint] <= ordered[228]  # 0.95 · 239 = 227.05


KINKS = [
    (0.0, 0.0),
    (15.0, 0.0),
    (15.0, 2.5),
    (0.0, 10.0),
    (0.0, -10.0),
    (3.0, 10.0),
    (-15.0, 30.0),
    (0.15, 9.925),
]


@pytest.mark.parametrize(("torque", "speed"), KINKS)
def test_derivatives_are_finite_at_every_kink(torque: float, speed: float):
    def measures(t: Any, w: Any, limit: Any, stall: Any, top: Any) -> Any:
        used = analysis.utilization(t[None], w[None], limit, stall, top)
        motion = t[None, None], w[None, None]
        efficiency = analysis.drivetrain_efficiency(*motion, stall, top, 0.1)
        return jnp.stack([used.available[0], used.torque[0], used.rated[0], used.speed[0]]), (
            efficiency
        )

    arguments = [jnp.asarray(v) for v in (torque, speed, *ENVELOPE)]
    for derivative in (jax.jacfwd, jax.jacrev):
        rates = derivative(measures, argnums=(0, 1, 2, 3, 4))(*arguments)
        assert all(np.isfinite(rate).all() for rate in jax.tree.leaves(rates))


def test_derivatives_are_those_of_the_closed_forms():
    def share(t: Any, w: Any) -> Any:
        return analysis.utilization(t[None], w[None], *ENVELOPE).torque[0]

    # on the line τ/(20 (1 − w/10)): rates 1/10 and τ · 2/100 at w = 5
    rates = jax.grad(share, argnums=(0, 1))(jnp.asarray(4.0), jnp.asarray(5.0))
    np.testing.assert_allclose(rates, [0.1, 4 * 2 / 100], rtol=1e-14)

    def efficiency(scale: Any) -> Any:
        motion = jnp.full((3, 2), 5.0), jnp.full((3, 2), 2.5)
        return analysis.drivetrain_efficiency(scale * motion[0], motion[1], 20.0, 10.0, 0.1)

    # η = 1/(1 + s) at torque s · 5, so η' = −1/4 at s = 1
    assert jax.grad(efficiency)(1.0) == pytest.approx(-0.25)


def test_jax_and_numpy_agree():
    rng = np.random.default_rng(3)
    torque, speed = rng.uniform(-20, 20, (2, 50, 3))
    ours = analysis.utilization(torque, speed, *ENVELOPE)
    traced = jax.jit(lambda t, w: analysis.utilization(t, w, *ENVELOPE))(torque, speed)
    for a, b in zip(ours, traced, strict=True):
        assert isinstance(a, np.ndarray)
        np.testing.assert_allclose(a, b, rtol=1e-14)
    report = analysis.torque_speed_report(jnp.asarray(torque), speed, *ENVELOPE)
    expected = analysis.torque_speed_report(torque, speed, *ENVELOPE)
    for field in ("torque", "rated", "speed", "saturated", "near_limit"):
        np.testing.assert_allclose(getattr(report, field), getattr(expected, field), rtol=1e-12)


def test_numpy_needs_no_jax():
    code = (
        "import sys, numpy as np; from draft_core import analysis as a;"
        "a.torque_speed_report(np.ones((4, 2)), np.ones((4, 2)), 5, 5, 9);"
        "a.drivetrain_efficiency(np.ones((4, 2)), np.ones((4, 2)), 5, 9);"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: use([1.0], [1.0, 2.0]), r"torque is \(1, 1\) and speed is \(2, 1\)"),
        (lambda: analysis.available_torque(1.0, *ENVELOPE), "speed is one number"),
        (lambda: use([np.nan], [1.0]), "torque has nan; it must be finite"),
        (lambda: use([1.0], [1.0], (-1.0, 2, 3)), "torque_limit has -1; it must be 0 or more"),
        (lambda: use([1.0], [1.0], (1, 0.0, 3)), "stall_torque has 0; it must be greater than 0"),
        (lambda: use([1.0], [1.0], (1, 2, [3.0, 4.0])), r"no_load_speed is \(2,\).*\(1, 1\)"),
        (lambda: use([1.0], [1.0], (np.ones(5), 2, 3)), r"torque_limit is \(5,\).*one per entry"),
        (lambda: analysis.joule_power([1.0], 2.0, np.inf), "no_load_speed has inf.*finite"),
        (
            lambda: analysis.drivetrain_efficiency(np.ones(3), np.ones(3), 1, 1),
            r"torque is \(3,\); efficiency needs \(time, joint\)",
        ),
        (
            lambda: analysis.drivetrain_efficiency(np.ones((3, 1)), np.ones((3, 1)), 1, 1, [1, 2]),
            r"dt is \(2,\).*one number or 3",
        ),
        (
            lambda: analysis.drivetrain_efficiency(np.ones((3, 1)), np.ones((3, 1)), 1, 1, 0.0),
            "dt has 0; it must be greater than 0",
        ),
        (
            lambda: analysis.torque_speed_report(np.ones((0, 1)), np.ones((0, 1)), *ENVELOPE),
            "at least one of each",
        ),
        (
            lambda: analysis.torque_speed_report(
                np.ones((2, 1)), np.ones((2, 1)), *ENVELOPE, names=["a", "b"]
            ),
            "2 names for 1 joints",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(call: Any, message: str):
    with pytest.raises(DraftError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_robots_motors_are_those_of_its_model(any_robot: Sample):
    robot = any_robot.robot
    if not any(actuator.kind == "motor" for actuator in robot.actuators):
        with pytest.raises(DraftError, match="'quadcopter' has no motors"):
            analysis.motor_limits(robot)
        return
    limits, model = analysis.motor_limits(robot), robot.base_model
    for i, name in enumerate(limits.names):
        actuator = model.actuator(name)
        assert actuator.id == limits.actuators[i]
        assert model.jnt_dofadr[actuator.trnid[0]] == limits.dofs[i]
        assert model.actuator_gear[actuator.id, 0] == limits.gear[i]
        ends = np.sort(limits.gear[i] * model.actuator_ctrlrange[actuator.id])
        np.testing.assert_allclose(ends, [limits.least[i], limits.most[i]], rtol=1e-14)
        assert limits.peak_torque[i] == np.abs(ends).max()
        stated = robot.actuators[actuator.id].speed_limit
        assert limits.no_load_speed[i] == (np.inf if stated is None else stated)


def test_a_robots_report_uses_the_limit_of_each_direction(everything: Sample):
    limits = analysis.motor_limits(everything.robot)
    knee = limits.names.index("knee_motor_left")
    torque, speed = np.zeros((2, 4, len(limits.names)))
    torque[:, knee] = limits.most[knee] / 2, limits.most[knee], limits.least[knee], 0
    speed[:, knee] = 0, 0, 0, 2 * limits.no_load_speed[knee]
    limit = limits.torque_limit(torque)
    np.testing.assert_allclose(
        limit[:3, knee], [limits.most[knee], limits.most[knee], -limits.least[knee]]
    )
    report = analysis.robot_report(everything.robot, torque, speed)
    assert report.names == limits.names
    assert report.saturated[knee] == pytest.approx(0.25)
    assert report.near_limit[knee] == pytest.approx(0.75)
    assert report.near_limit.sum() == pytest.approx(0.75)


def test_a_robots_report_follows_the_design(everything: Sample):
    count = len(analysis.motor_limits(everything.robot).names)
    torque, speed = np.ones((3, count)), np.zeros((3, count))

    def hip(value: Any) -> Any:
        report = analysis.robot_report(everything.robot, torque, speed, {"torque": value})
        return report.torque[report.names.index("hip_left")]

    assert hip(10.0) == pytest.approx(0.1)
    # d(1/τ)/dτ = −1/τ²
    assert jax.grad(hip)(10.0) == pytest.approx(-0.01)


def test_a_report_of_the_wrong_width_names_the_motors(everything: Sample):
    with pytest.raises(DraftError, match=r"last axis must have \d motors: .*knee_motor_left"):
        analysis.robot_report(everything.robot, np.ones((3, 2)), np.ones((3, 2)))


def test_the_documented_example_runs_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    text = (PROJECT / "docs" / "analysis.md").read_text(encoding="utf-8")
    monkeypatch.chdir(PROJECT)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, re.S | re.M)
    names: dict[str, Any] = {"__name__": "guide"}
    for language, block in blocks:
        if language == "python":
            exec(compile(block, "docs/analysis.md", "exec"), names)
    (shown,) = (block for language, block in blocks if language == "text")
    assert capsys.readouterr().out == shown
    assert isinstance(names["robot"], draft_core.Robot)


def test_every_public_name_is_documented():
    text = (PROJECT / "docs" / "analysis.md").read_text(encoding="utf-8")
    for name, value in vars(analysis).items():
        if getattr(value, "__module__", None) == analysis.__name__ and not name.startswith("_"):
            assert f"`{name}" in text, name
