"""Limits that are functions of the design bind as the design moves."""

from __future__ import annotations

import numpy as np
import pytest

from codesign import Problem
from codesign.constraints import equal
from codesign.plant import Plant
from codesign.transcription.limits import moving_limits, numeric_limits
from draft_core.design import DesignSpace
from problems.quadcopter.problem import Quadcopter
from tests.support import ROOT, plant


class WeakestRotors(Quadcopter):
    """The same flight with the rotors' own limit as the thing to make small."""

    design = {"radius": (0.1, 0.5), "mass": (0.3, 0.7), "max_thrust": (0.1, 5.0)}

    def objective(self, traj):
        return traj.design["max_thrust"]


def test_the_weakest_rotors_are_as_strong_as_the_least_peak_thrust() -> None:
    least = Quadcopter().solve().require_success().objective
    solution = WeakestRotors().solve().require_success()
    assert solution.design["max_thrust"] == pytest.approx(least, rel=1e-3)
    assert np.all(solution.u <= solution.design["max_thrust"] + 1e-5)


def test_only_limits_that_move_become_rows() -> None:
    assert moving_limits(plant("quadcopter")).effort == ()
    robot = plant("quadcopter").robot
    moving = moving_limits(Plant(robot, DesignSpace.of(robot, {"max_thrust": (1.0, 5.0)})))
    assert moving.effort == (0, 1, 2, 3)
    assert moving.speed == moving.range == ()


class FastMotor(Problem):
    """A block on a rail moves 1 m in 1 s; its motor's top speed is a design variable."""

    robot = ROOT / "tests/robots/rail"
    design = {"top_speed": (0.1, 10.0), "reach": (0.1, 2.0, 1.5)}
    duration = 1.0
    knots = 11
    step_range = (1.0, 1.0)

    def objective(self, traj):
        return traj.design["top_speed"] + 0.01 * traj.design["reach"]

    def constraints(self, traj):
        yield equal(traj.q[0, 0], 0.0, name="start", unit="m")
        yield equal(traj.q[-1, 0], 1.0, name="end", unit="m")


def test_top_speed_and_joint_range_move_with_the_design() -> None:
    p = FastMotor().plant
    assert moving_limits(p).speed == (0,)
    assert moving_limits(p).range == (0,)
    np.testing.assert_allclose(numeric_limits(p, np.array([2.0, 0.7])).range, [[-0.7, 0.7]])
    solution = FastMotor().solve().require_success()
    # ten equal steps over 1 m in 1 s: the least top speed is the mean speed, the least range 1 m
    assert solution.design["top_speed"] == pytest.approx(1.0, rel=1e-4)
    assert solution.design["reach"] == pytest.approx(1.0, rel=1e-4)


def test_peak_thrust_stays_a_peak() -> None:
    solution = Quadcopter().solve()
    assert solution.objective == pytest.approx(np.abs(solution.u).max(), abs=1e-12)
