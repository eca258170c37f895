"""Problems and solutions cross processes (casadi#3456, bioptim#1082: solver objects do not)."""

from __future__ import annotations

import multiprocessing

import numpy as np

from problems.quadcopter.problem import Quadcopter


def solve_there(problem, connection) -> None:
    connection.send(problem.solve(seed=2))


def test_a_problem_is_solved_alike_in_another_process() -> None:
    problem = Quadcopter(knots=8)
    here = problem.solve(seed=2)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=solve_there, args=(problem, theirs))
    child.start()
    assert ours.poll(120), "the other process gave no answer"
    there = ours.recv()
    child.join(30)
    assert child.exitcode == 0
    np.testing.assert_array_equal(there.q, here.q)
    assert there.design == here.design
    assert there.status is here.status
