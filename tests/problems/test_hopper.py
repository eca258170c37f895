"""The hopper: a motor class found together with the jump, past the filter."""

from __future__ import annotations

import pytest
import yaml

from draft_core.trends import actuator
from problems.hopper.problem import Hopper


@pytest.fixture(scope="module")
def jump():
    return Hopper().solve(seed=3)  # most seeds end on motors of 0.5 kg and more (README)


@pytest.mark.slow
def test_it_jumps_with_motors_that_trends_allow(jump):
    assert jump.success, jump.message
    torque = jump.design["motors.leg.peak_torque"]
    assert jump.objective == pytest.approx(actuator.mass(torque))
    assert torque < 25.0  # the folder's own motors
    assert jump.q[-1, 0] >= 0.3 - 1e-6
    assert jump.v[-1, 0] >= -1e-6
    assert abs(jump.u).max() <= torque * (1 + 1e-6)


@pytest.mark.slow
def test_the_ground_lifts_it_and_not_the_mesh(jump):
    # 61 knots once jumped on 15 N m: a whirling leg made momentum that no contact force had given,
    # and the ground's impulse left the robot falling at 1.1 m/s where the plan had it rise.
    mass = jump.compile().body_mass.sum()
    gained = ((jump.contact_force[:, 0, 2] / mass - 9.81) * jump.dt).sum()
    assert gained >= -1e-6


@pytest.mark.slow
def test_twice_the_knots_change_the_motor_little(jump):
    finer = Hopper(knots=121).solve(start=jump)
    assert finer.success, finer.message
    # backward Euler is first order: twice the knots take 4 to 6 % off (README), and never add
    assert 0.93 * jump.objective < finer.objective < 1.001 * jump.objective


@pytest.mark.slow
def test_the_result_passes_the_filter_and_says_so(jump, tmp_path):
    assert jump.robot.check(jump.design).is_feasible
    jump.save(tmp_path / "out")
    text = (tmp_path / "out" / "robot" / "feasibility_report.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["verdict"] == "feasible"


def test_without_gates_a_design_that_cannot_be_built_is_refused():
    # Motors at the least torque with a thigh as short as their radii overlap; nothing else asks.
    class Careless(Hopper):
        """The hopper stands, without the filter as a constraint."""

        design = {"thigh": (0.04, 0.05, 0.045)}
        duration, knots = 0.2, 4

        def objective(self, traj):
            return traj.design["thigh"]

        def constraints(self, traj):
            from codesign.constraints import at_rest, planted

            yield at_rest(traj, knot=0)
            yield planted(traj, 0)

    solution = Careless().solve(seed=0)
    assert solution.status == "refused"
    assert not solution.success
    assert "overlap" in solution.message
    assert "yield feasible(traj)" in solution.message
