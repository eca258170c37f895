"""Formulations, strategies and solvers on a contact problem with a known answer."""

from __future__ import annotations

import numpy as np
import pytest

from codesign import Problem
from codesign.constraints import at_least, at_rest, base_position, standing
from codesign.contact import FORMULATIONS
from codesign.errors import SolverError
from codesign.nlp import penalised
from codesign.objectives import peak_torque
from codesign.solve.driver import solve
from codesign.solve.homotopy import RELAXATIONS
from codesign.solve.strategy import Strategy
from codesign.solve.transcribed import transcribe
from problems.quadcopter.problem import Quadcopter
from tests.support import ROOT


class StandUp(Problem):
    """A body on one sliding leg rises by 0.1 m, slowly."""

    robot = ROOT / "tests/robots/hopper"
    design = {"mass": (1.0, 3.0)}
    duration, knots = 2.0, 5
    integrator = "backward_euler"  # five knots take the foot's landing in one step

    def objective(self, traj):
        return peak_torque(traj)

    def constraints(self, traj):
        for knot in (0, -1):
            yield standing(traj, knot=knot)
            yield at_rest(traj, knot=knot)
        yield base_position(traj, knot=0, x=0.0, y=0.0)
        yield at_least(traj.q[-1, 2] - traj.q[0, 2], 0.1, name="rise", unit="m", knot=4)


@pytest.fixture(scope="module")
def stand_up() -> StandUp:
    return StandUp()


def solved(problem, strategy, relaxations=RELAXATIONS):
    return solve(
        problem, strategy=strategy, solver=strategy.solver, relaxations=relaxations
    ).require_success()


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_formulation_solves_to_the_same_complementarity(stand_up, name) -> None:
    ends = (*RELAXATIONS, 5e-7) if name == "lin_fukushima" else RELAXATIONS
    solution = solved(stand_up, Strategy(name), ends)
    assert solution.audit.max_complementarity <= 1e-4
    # the lightest body, 1 kg, must be carried while it is at rest, and pushed a little to rise
    assert solution.design["mass"] == pytest.approx(1.0, abs=1e-3)
    assert 9.81 <= solution.objective < 1.05 * 9.81


@pytest.mark.parametrize(
    "strategy",
    [
        Strategy(early=()),
        Strategy(fixes_modes=True),
        Strategy(options=(("nlp_scaling_method", "none"),)),
    ],
    ids=["tight throughout", "held modes", "unscaled"],
)
def test_strategies_change_the_way_and_not_the_answer(stand_up, strategy) -> None:
    expected = solved(stand_up, Strategy()).objective
    assert solved(stand_up, strategy).objective == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", [*FORMULATIONS, "penalised"])
def test_derivatives_of_each_program_equal_finite_differences(stand_up, name) -> None:
    program = transcribe(stand_up, "scholtes_contact" if name == "penalised" else name).program
    if name == "penalised":
        program = penalised(program)
    rng = np.random.default_rng(0)
    x, direction = rng.uniform(0.2, 0.8, program.size), rng.normal(size=program.size)
    lam, p, h = rng.normal(size=len(program.lower)), [0.01, 1.0], 1e-6
    f, df, hess = (program.derivatives[key] for key in ("jac_g", "grad_f", "hess_lag"))

    def lagrangian_gradient(x):
        return 0.7 * np.array(df(x, p)[1]).ravel() + np.array(f(x, p)[1]).T @ lam

    def difference(function):
        return (function(x + h * direction) - function(x - h * direction)) / (2 * h)

    slope = difference(lambda x: np.array(f(x, p)[0]).ravel())
    got = np.array(f(x, p)[1]) @ direction
    np.testing.assert_allclose(got.ravel(), slope, atol=1e-7 * max(1.0, np.abs(slope).max()))
    rise = difference(lambda x: float(df(x, p)[0]))
    got = np.array(df(x, p)[1]).ravel() @ direction
    np.testing.assert_allclose(got, rise, rtol=1e-6, atol=1e-6)
    curve = difference(lagrangian_gradient)
    upper = np.array(hess(x, p, 0.7, lam))
    got = (upper + np.triu(upper, 1).T) @ direction
    np.testing.assert_allclose(got, curve, atol=1e-6 * max(1.0, np.abs(curve).max()))


def test_uno_finds_the_same_optimum_in_contact(stand_up) -> None:
    ours, theirs = (stand_up.solve(solver=name).require_success() for name in ("ipopt", "uno"))
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-4)
    assert theirs.design == pytest.approx(ours.design, rel=1e-4)


def test_uno_keeps_the_quadcopters_optimum() -> None:
    # from a start of its own it may end in another of the problem's local optima
    problem = Quadcopter(knots=8)
    ours = problem.solve().require_success()
    theirs = problem.solve(start=ours, solver="uno").require_success()
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-4)
    assert theirs.design == pytest.approx(ours.design, rel=1e-4)


def test_uno_stops_when_time_is_up(stand_up) -> None:
    stand_up.transcription  # noqa: B018  the time is the solver's
    solution = stand_up.solve(solver="uno", time_limit=1e-3)
    assert solution.status == "time_limit"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("snopt", "solver 'snopt' is not installed; there are: ipopt, uno"),
        ("fatrop", "solver 'fatrop' is not offered: .*; there are: ipopt, uno"),
        ("sleqp", "solver 'sleqp' is not (supported|installed); there are: ipopt, uno"),
        ("gurobo", "solver is 'gurobo', which is none; there are: ipopt, uno"),
    ],
)
def test_other_solvers_are_refused_in_one_line(stand_up, name, told) -> None:
    with pytest.raises(SolverError, match=told):
        stand_up.solve(solver=name)


def test_a_strategy_is_followed_in_one_process(stand_up) -> None:
    with pytest.raises(SolverError, match="use jobs=1"):
        solve(stand_up, starts=2, jobs=2, strategy=Strategy("scholtes_knot"))
