"""Gates, motors' lines and computed parameters as terms of a problem."""

from __future__ import annotations

import numpy as np
import pytest

import draft_core
from codesign.constraints import feasible, within_torque_speed_line
from codesign.errors import ProblemError
from codesign.plant import Plant
from codesign.trajectory import PeakCollector, Trajectory
from codesign.transcription import Layout
from draft_core.backend import jax, jnp
from draft_core.design import DesignSpace
from draft_core.errors import DraftError
from draft_core.trends import actuator
from tests.support import plant as shipped

KNOTS = 4
TORQUE = "motors.leg.peak_torque"
BOUNDS = {"thigh": (0.05, 0.35), TORQUE: (4.0, 80.0)}


@pytest.fixture(scope="module")
def hopper() -> Plant:
    robot = draft_core.load("hopper")
    return Plant(robot, DesignSpace.of(robot, BOUNDS))


def still(plant: Plant, design=None, **moved) -> Trajectory:
    """Return a trajectory of zeros at a design, but for what is given."""
    layout = Layout.of(plant, KNOTS)
    fields = layout.split(np.zeros(layout.size))
    given = plant.space.initial if design is None else design
    arrays = {name: jnp.asarray(value) for name, value in {**fields, **moved}.items()}
    return Trajectory.of(plant, {**arrays, "design": jnp.asarray(given)}, PeakCollector())


def test_parameters_hold_what_a_trend_derives_and_its_slope(hopper) -> None:
    def mass(torque: jax.Array) -> jax.Array:
        return still(hopper, jnp.stack([jnp.asarray(0.2), torque])).parameters["motors.leg.mass"]

    at = 16.0
    assert float(mass(jnp.asarray(at))) == pytest.approx(actuator.mass(at), rel=1e-12)
    # m = c τ^e has the slope e m / τ
    exponent = np.log(actuator.mass(2.0) / actuator.mass(1.0)) / np.log(2.0)
    slope = float(jax.grad(mass)(jnp.asarray(at)))
    assert slope == pytest.approx(exponent * actuator.mass(at) / at, rel=1e-9)


def test_parameters_name_the_close_one_when_there_is_none(hopper) -> None:
    with pytest.raises(ProblemError, match=r"motors\.leg\.mass"):
        _ = still(hopper).parameters["motors.leg.mas"]


@pytest.mark.parametrize("thigh", [0.05, 0.2])
def test_feasible_holds_the_errors_of_the_report(hopper, thigh) -> None:
    design = {"thigh": thigh, TORQUE: 25.0}
    (constraint,) = feasible(still(hopper, list(design.values())))
    report = hopper.robot.check(design)
    errors = [margin for margin in report.margins if margin.level == "error"]
    assert constraint.labels == tuple(f"{m.gate}: {m.subject}" for m in errors)
    assert np.asarray(constraint.value) == pytest.approx([m.value for m in errors], abs=1e-12)
    holds = bool(np.all(np.asarray(constraint.value) >= constraint.lower))
    assert holds == report.is_feasible == (thigh == 0.2)


def test_feasible_takes_gates_by_name(hopper) -> None:
    (packing,) = feasible(still(hopper), "packing")
    assert packing.labels == ("packing: hip, knee",)
    assert list(feasible(still(hopper), "aspect")) == []  # it only warns
    with pytest.raises(DraftError, match="packing"):
        list(feasible(still(hopper), "paking"))


def test_the_line_goes_from_stall_torque_to_no_load_speed(hopper) -> None:
    rng = np.random.default_rng(0)
    torque, fastest = 20.0, still(hopper, [0.2, 20.0]).parameters["motors.leg.no_load_speed"]
    share_u, share_v = rng.uniform(-1.0, 1.0, (2, KNOTS - 1, 2))
    share_u[0], share_v[0] = (1.0, -0.4), (0.0, 0.6)  # stalled; braking, on the line
    v = np.zeros((KNOTS, 3))
    v[1:, 1:] = share_v * float(fastest)
    found = list(within_torque_speed_line(still(hopper, [0.2, torque], u=share_u * torque, v=v)))
    assert [c.knot for c in found] == [1, 2, 3, 1, 2, 3]
    assert {label.split()[0] for c in found for label in c.labels} == {"hip", "knee"}
    for i, constraint in enumerate(found):
        joint, k = divmod(i, KNOTS - 1)
        before = abs(share_v[k - 1, joint]) if k else 0.0  # it begins at rest
        needed = abs(share_u[k, joint]) + max(before, abs(share_v[k, joint]))
        assert np.abs(np.asarray(constraint.value)).max() == pytest.approx(needed, rel=1e-12)
        assert (constraint.lower == -1.0).all()
        assert (constraint.upper == 1.0).all()


def test_a_robot_without_motor_classes_has_no_line() -> None:
    assert list(within_torque_speed_line(still(shipped("hexapod")))) == []
