"""solve() on the quadcopter, whose optimum is known, and on problems that cannot be solved."""

from __future__ import annotations

import signal
from functools import cache

import numpy as np
import pytest

from codesign import Problem, SolveStatus, load
from codesign.constraints import at_least, at_most, between, equal, site_position
from codesign.errors import ProblemError, SolutionError, SolverError
from codesign.objectives import peak_thrust, peak_torque
from draft_core.backend import jnp
from problems.quadcopter.problem import Quadcopter
from tests.support import ROOT

ROBOT = ROOT / "problems/quadcopter/robot"


@cache
def quadcopter() -> Quadcopter:
    return Quadcopter()


@cache
def solved():
    return quadcopter().solve(seed=0)


class Hover(Problem):
    """A short flight, small enough to solve many times."""

    robot = ROBOT
    design = {"radius": (0.1, 0.5)}
    duration = 1.0
    knots = 4
    height = 0.1

    def objective(self, traj):
        return peak_thrust(traj)

    def constraints(self, traj):
        yield equal(traj.knot(0).q[:3], 0.0, name="start", unit="m", knot=0)
        yield equal(traj.knot(0).v, 0.0, name="start speed", knot=0)
        yield equal(traj.knot(-1).q[2], self.height, name="height", unit="m", knot=-1)


def test_quadcopter_finds_its_known_optimum_from_any_start() -> None:
    for seed in range(4):
        solution = quadcopter().solve(seed=seed)
        assert solution.success, solution.message
        assert abs(solution.design["radius"] - 0.5) < 1e-3
        assert abs(solution.design["mass"] - 0.3) < 1e-3


def test_the_same_seed_gives_the_same_answer() -> None:
    again = quadcopter().solve(seed=0)
    np.testing.assert_array_equal(again.q, solved().q)
    np.testing.assert_array_equal(again.u, solved().u)


def test_a_solution_starts_another_solve() -> None:
    warm = quadcopter().solve(start=solved())
    assert warm.success
    assert warm.objective == pytest.approx(solved().objective, rel=1e-4)


def test_a_solution_survives_saving(tmp_path) -> None:
    folder = solved().save(tmp_path / "result")
    back = load(folder)
    np.testing.assert_array_equal(back.q, solved().q)
    assert back.design == solved().design
    assert back.status is SolveStatus.SOLVED
    assert back.audit.energy.contact_work.tolist() == solved().audit.energy.contact_work.tolist()
    assert {p.name for p in folder.iterdir()} >= {
        "solution.json",
        "trajectory.npz",
        "robot",
        "report.html",
    }
    warm = quadcopter().solve(start=back)
    assert warm.success


def test_a_damaged_solution_is_refused_in_one_line(tmp_path) -> None:
    folder = solved().save(tmp_path / "result")
    (folder / "solution.json").write_text("{")
    with pytest.raises(SolutionError, match="cannot read the solution"):
        load(folder)
    with pytest.raises(SolutionError, match=r"solution\.json is missing"):
        load(tmp_path)


def test_exported_robot_is_the_design_that_was_checked(tmp_path) -> None:
    import mujoco

    folder = solved().export(tmp_path / "robot")
    model = mujoco.MjModel.from_xml_path(str(folder / "robot.xml"))
    assert model.body_mass.sum() == pytest.approx(solved().design["mass"], rel=1e-12)
    assert abs(model.site("rotor_front").pos[0] - solved().design["radius"]) < 1e-12


def test_an_interrupt_returns_the_best_point_so_far() -> None:
    def interrupt(progress) -> None:
        if progress.iteration == 10:
            signal.raise_signal(signal.SIGINT)

    solution = quadcopter().solve(seed=0, progress=interrupt)
    assert solution.status is SolveStatus.INTERRUPTED
    assert solution.iterations <= 12
    assert np.isfinite(solution.q).all()
    assert quadcopter().solve(seed=0).success  # and the handler is put back


def test_a_time_limit_is_kept() -> None:
    solution = quadcopter().solve(seed=0, time_limit=1e-3)
    assert solution.status is SolveStatus.TIME_LIMIT
    assert not solution.success


def test_an_impossible_task_is_infeasible_and_names_a_constraint() -> None:
    solution = Hover(height=50.0).solve()
    assert solution.status in (SolveStatus.INFEASIBLE, SolveStatus.NOT_CONVERGED)
    assert not solution.success
    assert solution.audit.worst[0].amount > 0
    assert solution.audit.worst[0].constraint in solution.message
    with pytest.raises(SolutionError):
        solution.require_success()


def test_a_design_variable_that_nothing_depends_on_is_reported() -> None:
    solution = Hover(design={"radius": (0.1, 0.5), "base_height": (0.01, 0.1)}).solve()
    assert "base_height" in solution.notes[0]
    assert solution.design["base_height"] == pytest.approx(0.05)


def test_a_term_of_the_design_alone_works() -> None:
    class Sized(Hover):
        def objective(self, traj):
            return (traj.design["radius"] - 0.2) ** 2

    assert Sized().solve().design["radius"] == pytest.approx(0.2, abs=1e-3)


def test_terms_of_two_knots_and_of_the_whole_trajectory_work() -> None:
    class Slow(Hover):
        def constraints(self, traj):
            yield from super().constraints(traj)
            yield at_most(traj.q[2:, 2] - traj.q[1:-1, 2], 0.05, name="climb per step", unit="m")
            yield at_least(jnp.sum(traj.dt), 0.8, name="time taken", unit="s")

    solution = Slow().solve()
    assert solution.success, solution.message
    assert np.all(np.diff(solution.q[1:, 2]) <= 0.05 + 1e-6)
    assert solution.t[-1] >= 0.8 - 1e-6


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda traj: traj.knot(0).site_position("nose")[0], "no site 'nose'. It has: center"),
        (lambda traj: traj.knot(0).joint("knee"), "no joint 'knee'"),
        (lambda traj: traj.design["radios"], "Did you mean 'radius'"),
        (lambda traj: traj.knot(9).q[0], "knot 9 does not exist: there are 4 knots"),
        (lambda traj: traj.effort(["m1"])[0, 0], "no actuator 'm1'"),
        (lambda traj: traj.q, "it must be one number"),
        (lambda traj: peak_torque(traj), "no motors"),
        (lambda traj: -peak_thrust(traj), "a peak can only be pushed down"),
        (lambda traj: jnp.log(-1.0 - traj.u[0, 0] ** 2), "the objective is NaN"),
        (lambda traj: jnp.sqrt(jnp.sum(traj.v[0] ** 2)), "gradient is NaN"),
    ],
)
def test_a_mistake_in_the_objective_is_refused_in_one_line(broken, message) -> None:
    problem = type("Broken", (Hover,), {"objective": lambda self, traj: broken(traj)})()
    with pytest.raises(ProblemError) as caught:
        problem.solve()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda traj: between(traj.q[0, 0], 2, 1, name="box"), "lower bound 2 is above"),
        (lambda traj: at_most(traj.q[0, 0], float("nan"), name="box"), "a bound is NaN"),
        (lambda traj: at_most(traj.q[0], np.zeros(3), name="box"), "do not fit a value of shape"),
        (lambda traj: at_most(traj.q[0, 0], traj.q[1, 0], name="box"), "bounds must be numbers"),
        (lambda traj: equal(jnp.ones(()), 2.0, name="two"), "depends on neither the motion nor"),
        (lambda traj: traj.q[0, 0] - 1.0, "yield constraints such as"),
        (lambda traj: site_position(traj, "center", 0), "give at least one of x, y, z"),
        (lambda traj: at_most(1.0 / traj.v[2, 0], 1.0, name="slowness"), "constraint 'slowness'"),
    ],
)
def test_a_mistake_in_a_constraint_is_refused_in_one_line(broken, message) -> None:
    def constraints(self, traj):
        yield broken(traj)

    problem = type("Broken", (Hover,), {"constraints": constraints})()
    with pytest.raises(ProblemError) as caught:
        problem.solve()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heigth": 1.0}, "no option 'heigth'. It has:"),
        ({"duration": 0.0}, "duration is 0.0"),
        ({"duration": float("nan")}, "duration is nan"),
        ({"knots": 1}, "knots is 1"),
        ({"knots": 2.5}, "knots is 2.5"),
        ({"step_range": (2.0, 1.0)}, "step_range"),
        ({"design": 3}, "design is a int"),
        ({"robot": "nowhere"}, "robot 'nowhere' is no folder"),
        ({"design": {"radiu": (0, 1)}}, "radius"),
        ({"design": {"radius": (0.5, 0.1)}}, "bounds"),
        ({"design": {"radius": (0.4, 0.5)}}, "outside its bounds"),
    ],
)
def test_a_bad_option_is_refused_in_one_line(options, message) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        _ = Hover(**options).plant
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"starts": 0}, "starts is 0"),
        ({"time_limit": 0.0}, "time_limit is 0.0"),
        ({"relaxations": (1e-3, 1e-2)}, "must be positive and decrease"),
    ],
)
def test_a_bad_setting_is_refused_in_one_line(settings, message) -> None:
    with pytest.raises(SolverError) as caught:
        quadcopter().solve(**settings)
    assert message in str(caught.value)
