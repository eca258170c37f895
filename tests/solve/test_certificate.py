"""What is said for an answer is true: stationarity by hand, prices by solving again."""

from __future__ import annotations

import pickle
from functools import cache

import casadi as ca
import numpy as np
import pytest

from codesign import Problem, load
from codesign.certificate import Certification, Multipliers, certify
from codesign.certificate.stationarity import (
    STATIONARITY_TOLERANCE,
    check_kkt,
    signs_of,
    slackness,
    wrong_sign,
)
from codesign.constraints import at_least, at_rest, base_position, equal, planted
from codesign.objectives import duration, effort_squared, peak_thrust
from problems.quadcopter.problem import Quadcopter
from tests.support import ROOT

EPS = 1e-4


class Lift(Problem):
    """A quadcopter rises on as little peak thrust as it can: everything has a price."""

    robot = ROOT / "problems/quadcopter/robot"
    design = {"radius": (0.1, 0.5), "mass": (0.3, 0.7)}
    duration, knots = 0.5, 6
    height = 0.5

    def objective(self, traj):
        return peak_thrust(traj) + 0.5 * traj.design["radius"]

    def constraints(self, traj):
        yield base_position(traj, knot=0, x=0.0, y=0.0, z=0.0)
        yield at_rest(traj, knot=0)
        yield base_position(traj, knot=-1, z=self.height)


class Crouch(Problem):
    """A hopper rises from a crouch: contacts, and limits that follow the design."""

    robot = "hopper"
    integrator = "backward_euler"
    design = {"motors.leg.peak_torque": (1.0, 60.0), "thigh": (0.15, 0.25)}
    duration, knots = 0.5, 5

    def objective(self, traj):
        return effort_squared(traj)

    def constraints(self, traj):
        yield planted(traj, knot=0)
        yield at_rest(traj, knot=0)
        yield at_least(-traj.knot(0).joint("rail"), 0.15, name="crouch", unit="m", knot=0)
        yield at_least(traj.knot(-1).joint("rail"), -0.05, name="up", unit="m", knot=-1)


@cache
def lifted():
    return Lift().solve().require_success()


@cache
def crouch():
    return Crouch()


@cache
def risen():
    return crouch().solve().require_success()


def solved_pair(objective, start, upper=(ca.inf, ca.inf)):
    """Return x, y, their multipliers and μ of min f s.t. xy ≤ 0.99 ε, x, y ≥ 0, by IPOPT."""
    z = ca.SX.sym("z", 2)
    problem = {"x": z, "f": objective(z[0], z[1]), "g": z[0] * z[1] - 0.99 * EPS}
    options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10}}
    solver = ca.nlpsol("pair", "ipopt", problem, options)
    found = solver(x0=start, lbx=[0, 0], ubx=list(upper), lbg=-ca.inf, ubg=0)
    x, lam_x = np.array(found["x"]).ravel(), np.array(found["lam_x"]).ravel()
    return x, np.maximum(-lam_x, 0.0), max(float(found["lam_g"]), 0.0)


@pytest.mark.parametrize(
    ("objective", "start", "slopes"),
    [
        # at (1, 0): x is free of force and y would rather grow: γ = ∇f = (0, −1/2)
        (lambda x, y: (x - 1) ** 2 / 2 - y / 2, (1.0, 1e-3), (0.0, -0.5)),
        # at (0, 0): both are pushed down: γ = ∇f = (1, 2)
        (lambda x, y: x + 2 * y, (0.1, 0.1), (1.0, 2.0)),
    ],
)
def test_multipliers_of_the_limit_are_the_objectives_slopes(objective, start, slopes) -> None:
    # a = x and b = y, so that the limit's condition ∇f = γ_a ∇a + γ_b ∇b reads γ = ∇f
    x, nu, mu = solved_pair(objective, start, upper=(ca.inf, 0.1))
    gamma = np.array([nu[0] - mu * x[1], nu[1] - mu * x[0]])
    np.testing.assert_allclose(gamma, slopes, atol=1e-3)  # ε μ / x away from the limit


@pytest.mark.parametrize(
    ("a", "b", "nu_a", "nu_b", "mu", "kind"),
    [
        (0.0, 0.0, 1.0, 1.0, 0.0, "S"),
        (0.0, 5e-3, 0.0, 0.0, 0.0, "S"),
        (1e-3, 0.0, 0.0, 0.0, 10.0, "M"),  # γ = (0, −0.01)
        (1e-2, 1e-2, 0.0, 0.0, 50.0, "C"),  # γ = (−0.5, −0.5): min ½(x−½)² + ½(y−½)² at the kink
        (0.0, 1e-2, 1.0, 0.0, 0.0, "S"),
        (1e-3, 1e-3, 1.0, 0.0, 500.0, "none"),  # γ = (½, −½): downhill into b
    ],
)
def test_a_biactive_pair_is_told_by_its_signs(a, b, nu_a, nu_b, mu, kind) -> None:
    found = signs_of(
        (np.array([a]), np.array([b])), (np.array([nu_a]), np.array([nu_b])), np.array([mu]), EPS
    )
    assert found.counts[kind] == found.biactive == 1
    assert found.weakest == kind


def test_a_decided_pair_is_not_biactive_but_its_free_side_is_held_to_zero() -> None:
    found = signs_of(
        (np.array([1.0]), np.array([1e-4])), (np.zeros(1), np.zeros(1)), np.ones(1), EPS
    )
    assert found.biactive == 0
    assert found.leftover == pytest.approx(1e-4)  # γ_a = −μ b
    assert found.leftover >= 0.99 * STATIONARITY_TOLERANCE


def test_signs_and_slackness_of_multipliers_are_seen() -> None:
    lower, upper = np.array([0.0, -np.inf, 1.0]), np.array([np.inf, 1.0, 1.0])
    assert wrong_sign(np.array([-1.0, 1.0, 5.0]), lower, upper) == 0.0
    assert wrong_sign(np.array([2.0, -3.0, 5.0]), lower, upper) == 3.0
    value = np.array([0.5, 1.0, 1.0])
    assert slackness(np.array([-2.0, 1.0, 5.0]), value, lower, upper) == pytest.approx(1.0)


def test_jax_and_casadi_agree_on_the_gradient_of_the_lagrangian() -> None:
    ready = crouch().transcription
    program, rng = ready.program, np.random.default_rng(3)
    x = rng.uniform(0.3, 0.7, program.size)
    multipliers = rng.normal(size=len(program.lower))
    _, jacobian = program.derivatives["jac_g"](x, [EPS, 1.0])
    _, slope = program.derivatives["grad_f"](x, [EPS, 1.0])
    theirs = np.array(slope + jacobian.T @ multipliers).ravel()
    scale = np.concatenate([placed.rows.scale for placed in program.rows])
    ours = program.scale * ready.lagrangian_gradient(x * program.scale, multipliers / scale)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


def test_a_solved_problem_is_stationary_and_other_multipliers_are_not() -> None:
    solution = Lift().solve()
    kept = solution.certification
    ready, at, box = kept.ready, kept.multipliers, kept.box
    assert ready is not None
    assert at is not None
    assert box is not None
    assert solution.certificate.verdict == "stationary"
    row = int(np.argmax(np.abs(at.rows)))
    wrong = at.rows.copy()
    wrong[row] *= 1.01
    assert not check_kkt(ready, Multipliers(at.x, at.bounds, wrong, 0.0), box).is_met
    flipped = certify(ready, {}, box, Multipliers(at.x, -at.bounds, at.rows, 0.0), True)
    assert flipped.verdict == "not stationary"


def price(solution, name, side="equal", knot=None):
    (found,) = [p for p in solution.prices if (p.name, p.side, p.knot) == (name, side, knot)]
    return found


@pytest.mark.parametrize(
    ("name", "side", "move"), [("mass", "lower", 3e-3), ("radius", "lower", 2e-3)]
)
def test_a_design_bounds_price_is_what_moving_it_costs(name, side, move) -> None:
    first, told = lifted(), price(lifted(), name, side)
    low, high = Lift.design[name]
    design = {**Lift.design, name: (low + move, high)}
    again = Lift(design=design).solve(start=first).require_success()
    # second order in the move: a hundredth of the bound
    assert again.objective - first.objective == pytest.approx(told.price * move, rel=0.03)
    assert told.worth < 0 < told.price
    assert told.value == low


def test_a_task_constraints_price_is_what_moving_it_costs() -> None:
    first, told = lifted(), price(lifted(), "base position (z)", knot=5)
    move = 5e-3
    again = Lift(height=Lift.height + move).solve(start=first).require_success()
    assert again.objective - first.objective == pytest.approx(told.price * move, rel=0.03)
    assert told.sentence.startswith("one millimetre less `base position (z)` at knot 5 is worth −")


def test_the_studys_own_bound_has_the_price_of_solving_again() -> None:
    once = Quadcopter(knots=8).solve().require_success()
    first = Quadcopter(knots=8).solve(start=once).require_success()  # both from the same valley
    told, move = price(first, "mass", "lower"), -1e-3
    other = Quadcopter(knots=8, design={**Quadcopter.design, "mass": (0.3 + move, 0.7)})
    again = other.solve(start=first).require_success()
    assert again.objective - first.objective == pytest.approx(told.price * move, rel=0.03)
    assert told.unit == "N/kg"
    assert told.sentence.startswith("one gram less `mass` lower bound is worth −")
    assert told.sentence.endswith(" N")


def test_time_has_a_price_and_the_objectives_unit() -> None:
    class Hurry(Lift):
        def objective(self, traj):
            return duration(traj)

    task = Hurry(design={"mass": (0.3, 0.7)}, height=2.0, step_range=(0.2, 1.0))
    solution = task.solve().require_success()
    assert price(solution, "base position (z)", knot=5).unit == "s/m"
    limits = [p for p in solution.prices if p.kind == "limit" and p.name.startswith("effort of")]
    assert limits
    assert all(p.side == "upper" and p.price < 0 and p.unit == "s/N" for p in limits)


def test_equations_that_say_the_same_are_told_apart_from_prices() -> None:
    class Twice(Lift):
        def constraints(self, traj):
            yield from super().constraints(traj)
            yield equal(2 * traj.q[-1, 2], 2 * self.height, name="again", unit="m")

    solution = Twice().solve().require_success()
    assert "`again`" in solution.certificate.tied
    assert "`base position (z)` at knot 5" in solution.certificate.tied
    assert not any((p.name, p.knot) == ("base position (z)", 5) for p in solution.prices)
    assert not any(p.name == "again" for p in solution.prices)


def test_contacts_are_judged_and_the_worst_of_each_kind_is_told() -> None:
    certificate = risen().certificate
    pairs, kkt = certificate.pairs, certificate.kkt
    assert pairs is not None
    assert kkt is not None
    assert kkt.is_met
    assert pairs.pairs == 4 * 6  # intervals, and pairs of the one foot
    assert sum(pairs.counts.values()) <= pairs.pairs
    assert certificate.relaxation_worth >= 0
    kinds = {"integration", "dynamics", "gap", "friction cone", "sliding", "complementarity"}
    kinds |= {"ground clearance", "task", "automatic", "bounds", "limits"}
    assert kinds <= set(certificate.violations)
    worst = certificate.violations["complementarity"]
    assert worst.scaled == pytest.approx(risen().audit.max_complementarity)
    assert worst.knot is not None


def test_what_the_relaxation_is_worth_is_what_tightening_it_costs() -> None:
    start, eps = risen(), risen().phases[-1].relaxation
    first = crouch().solve(start=start, relaxations=(eps,)).require_success()
    tighter = crouch().solve(start=start, relaxations=(0.99 * eps,)).require_success()
    lost = tighter.objective - first.objective
    assert lost == pytest.approx(0.01 * first.certificate.relaxation_worth, rel=0.05)


def test_a_limit_that_follows_the_design_is_priced_as_the_limit() -> None:
    class WeakestRotors(Lift):
        design = {"radius": (0.1, 0.5), "max_thrust": (0.1, 5.0)}

        def objective(self, traj):
            return traj.design["max_thrust"]

    solution = WeakestRotors().solve().require_success()
    limits = [p for p in solution.prices if p.kind == "limit" and p.name.startswith("effort of")]
    assert limits
    # a newton more for every rotor than the variable says is a newton off the variable
    assert sum(p.price for p in limits) == pytest.approx(-1.0, rel=1e-3)


def test_an_unfinished_solve_says_what_is_missing() -> None:
    stopped = Lift().solve(max_iterations=3)
    assert not stopped.success
    assert stopped.prices == ()
    assert stopped.certificate.note
    assert stopped.certificate.verdict in ("not known", "not stationary")
    assert "task" in stopped.certificate.violations


def test_a_certificate_is_saved_and_read_back(tmp_path) -> None:
    again = load(lifted().save(tmp_path / "lift"))
    assert again.certificate == lifted().certificate
    assert again.prices == lifted().prices
    assert again.audit.by_kind == lifted().audit.by_kind


def test_a_solution_from_another_process_can_still_be_certified() -> None:
    solution = Lift().solve()
    crossed = pickle.loads(pickle.dumps(solution.certification))
    assert crossed.ready is None
    assert crossed.certificate(Lift()) == solution.certificate


def test_the_guide_is_true() -> None:
    guide = (ROOT / "docs/answers.md").read_text(encoding="utf-8")
    block = guide.split("```python\n")[1].split("```")[0]
    exec(compile(block, "docs/answers.md", "exec"), {})


def test_numbers_that_are_not_finite_are_no_certificate() -> None:
    at = Multipliers(np.full(3, np.nan), np.zeros(3), np.zeros(2), EPS)
    empty = Certification(multipliers=at, box=(np.zeros(3), np.ones(3)))
    assert "not finite" in empty.certificate(None).note
