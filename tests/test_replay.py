"""Plans in MuJoCo's own simulation, under feedback."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from codesign import Problem
from codesign.constraints import equal
from codesign.errors import SolutionError
from codesign.objectives import effort_squared
from problems.quadcopter.problem import Quadcopter
from tests.support import ROOT


class Shuttle(Problem):
    """A block on a rail moves 1 m from rest to rest in 1 s."""

    robot = ROOT / "tests/robots/rail"
    duration = 1.0
    knots = 21
    step_range = (1.0, 1.0)

    def objective(self, traj):
        return effort_squared(traj)

    def constraints(self, traj):
        yield equal(traj.q[0, 0], 0.0, name="start", unit="m")
        yield equal(traj.q[-1, 0], 1.0, name="end", unit="m")
        yield equal(traj.v[0], 0.0, name="start speed", unit="m/s")
        yield equal(traj.v[-1], 0.0, name="end speed", unit="m/s")


@cache
def shuttle():
    return Shuttle().solve().require_success()


def test_a_smooth_plan_is_followed() -> None:
    result = shuttle().replay()
    assert result.arrived
    # the plan's speed jumps at each knot, by up to 1.5 m/s / 20; feedback stays within a centimetre
    assert result.joint_error < 0.01
    assert result.saturated == 0.0
    assert result.q.shape == (len(result.t), 1)


def test_a_circle_is_flown_by_thrusters_alone() -> None:
    result = Quadcopter().solve().require_success().replay()
    assert result.arrived
    assert result.position_error < 0.4  # of a circle of 1 m, planned with steps of 0.4 s


def test_a_plan_without_its_efforts_is_told_apart() -> None:
    # without gravity compensation or feedforward the regulator alone strays further
    solution = Quadcopter().solve().require_success()
    weak = replace(solution, u=np.zeros_like(solution.u))
    assert weak.replay().position_error > solution.replay().position_error


def test_a_ground_without_a_shape_is_not_replayed() -> None:
    with pytest.raises(SolutionError, match="walks on 'a step', whose shape it does not hold"):
        replace(shuttle(), terrain="a step").replay()


def test_a_motion_of_many_minutes_is_not_replayed() -> None:
    solution = shuttle()
    longer = replace(solution, t=solution.t * 1e9, dt=solution.dt * 1e9)
    with pytest.raises(SolutionError, match=r"1e\+09 s is not replayed; at most 600 s"):
        longer.replay()


def test_replay_is_saved_with_a_success(tmp_path) -> None:
    import json

    folder = shuttle().save(tmp_path / "result")
    figures = json.loads((folder / "replay.json").read_text())
    assert figures["fell"] is False
    assert set(figures) >= {"position_error", "joint_error", "saturated"}


def test_a_robot_that_is_left_behind_has_not_arrived() -> None:
    # a plan of 1 m for a block a thousand times as heavy as the motor was chosen for
    stuck = replace(shuttle(), robot=_Heavy(shuttle().robot))
    result = stuck.replay()
    assert not result.fell
    assert not result.arrived


class _Heavy:
    """The same robot with a block that its motor cannot move in a second."""

    def __init__(self, robot) -> None:
        self._robot = robot

    def __getattr__(self, name):
        return getattr(self._robot, name)

    def compile(self, design, gates=True):
        compiled = self._robot.compile(design, gates=gates)
        return replace(compiled, xml=compiled.xml.replace('mass="1.0"', 'mass="1000.0"'))
