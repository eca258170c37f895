"""The hexapod's answer, known without solving: its nose is as high as its legs are long."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from problems.hexapod.problem import Hexapod


@pytest.mark.slow
def test_legs_grow_until_the_nose_reaches_the_button() -> None:
    problem = Hexapod()
    solution = problem.solve(seed=0).require_success()
    # upright with every foot on the ground, straight legs carry the body's centre at their length
    # and bent ones lower, so that 0.15 m is the least that will do
    assert solution.design["leg_length"] >= 0.15 - 1e-3
    assert problem.plant.space.initial[problem.plant.space.names.index("leg_length")] == 0.10
    model = solution.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = solution.q[-1]
    mujoco.mj_kinematics(model, data)
    assert data.site("nose").xpos[2] == pytest.approx(0.15, abs=1e-5)
    assert solution.q[-1, 0] - solution.q[0, 0] == pytest.approx(0.45, abs=1e-5)
    assert np.abs(solution.u).max() < 1.28  # published mean of the better half; [N m]
