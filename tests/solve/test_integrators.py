"""A mass on a spring, whose every answer is known in closed form, and a foot on the ground."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from codesign import Problem
from codesign.constraints import at_rest, equal, planted
from codesign.errors import ProblemError
from codesign.objectives import effort_squared
from problems.hexapod.problem import Hexapod
from tests.support import ROOT


class HalfSwing(Problem):
    """Find the mass that swings from 1 m to −1 m in T = π √(5 / 100) s: 5 kg."""

    robot = ROOT / "tests/robots/spring"
    design = {"mass": (0.1, 10.0, 8.0)}  # lighter starts swing more than once and stay there
    duration = float(np.pi * np.sqrt(5 / 100))
    step_range = (1.0, 1.0)
    knots = 26
    integrator = "implicit_midpoint"

    def objective(self, traj):
        return traj.q[-1, 0]  # its square error would be a flat quartic in the mass

    def constraints(self, traj):
        yield equal(traj.q[0, 0], 1.0, name="start", unit="m", knot=0)
        yield equal(traj.v[0, 0], 0.0, name="start speed", unit="m/s", knot=0)
        yield equal(traj.u, 0.0, name="no motor", unit="N")


def test_midpoint_finds_the_mass_of_the_half_swing() -> None:
    solution = HalfSwing().solve()
    assert solution.success, solution.message
    # the midpoint rule turns by 2 atan(ω h / 2) a step, π in 25: m = k (h / (2 tan(π / 50)))²
    h = HalfSwing.duration / 25
    assert solution.design["mass"] == pytest.approx(
        100 * (h / (2 * np.tan(np.pi / 50))) ** 2, rel=1e-4
    )
    assert solution.design["mass"] == pytest.approx(5.0, rel=3e-3)


def test_midpoint_converges_with_second_order_to_five_kilograms() -> None:
    errors = [abs(HalfSwing(knots=k).solve().design["mass"] - 5.0) for k in (13, 25)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_midpoint_keeps_the_springs_energy() -> None:
    solution = HalfSwing().solve()
    # the rule conserves quadratic energies exactly; ½ k 1² = 50 J
    assert np.abs(np.cumsum(solution.audit.energy.numerical_energy)).max() < 1e-6 * 50


def test_backward_euler_only_loses_energy() -> None:
    solution = HalfSwing(integrator="backward_euler").solve()
    assert solution.success, solution.message
    assert np.all(solution.audit.energy.numerical_energy < 1e-9)


def test_an_unknown_integrator_is_refused() -> None:
    with pytest.raises(ProblemError, match="it must be one of backward_euler, implicit_midpoint"):
        Hexapod(integrator="rk4")


class Crouch(Problem):
    """A hopper on its foot bends its knee and stretches it again, without leaving the ground."""

    robot = ROOT / "tests/robots/hopper"
    design = {}
    duration, knots = 0.8, 9
    step_range = (1.0, 1.0)

    def objective(self, traj):
        return effort_squared(traj)

    def constraints(self, traj):
        low = traj.knot(0).base_position[2] - 0.05
        for knot in (0, -1):
            yield at_rest(traj, knot=knot)
            yield planted(traj, knot)
        yield equal(traj.q[0], traj.plant.q_home, name="home", knot=0)
        yield equal(traj.knot(-1).base_position[2] - low, 0.0, name="crouched", knot=8)
        for k in range(1, 8):
            yield planted(traj, k)


@pytest.mark.parametrize("integrator", ["backward_euler", "implicit_midpoint"])
def test_a_foot_on_the_ground_neither_rings_nor_gives_energy(integrator: str) -> None:
    solution = Crouch(integrator=integrator).solve().require_success()
    model = solution.compile()
    data, jacobian, speeds = mujoco.MjData(model), np.zeros((3, model.nv)), []
    for q, v in zip(solution.q, solution.v, strict=True):
        data.qpos[:] = q
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_jacSite(model, data, jacobian, None, model.site("foot").id)
        speeds.append(np.abs(jacobian @ v).max())
    assert max(speeds) < 2e-2  # [m/s]; a ringing foot would keep what it landed with
    assert solution.audit.energy.worst_contact_work <= 1e-4
    lost = abs(solution.audit.energy.made_by_integrator)
    work = solution.audit.energy.total_actuator_work
    assert (lost < 1e-4 * work) == (integrator == "implicit_midpoint")
