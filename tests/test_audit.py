"""The audit cannot be talked into a success."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from codesign import SolveStatus
from codesign.audit import Audit, audit
from codesign.physics import EnergyAudit, audit_physics
from codesign.solve.homotopy import Path, Stage
from codesign.solve.ipopt import Point, StageResult
from codesign.solve.starts import variable_bounds
from codesign.solve.verdict import judge
from problems.quadcopter.problem import Quadcopter

EMPTY = np.zeros(0)


@cache
def ready():
    return Quadcopter().transcription


@cache
def answer():
    solution = Quadcopter().solve(seed=0).require_success()
    z = solution.resample(ready().program.layout, ready().plant)
    z[ready().program.layout.fields["peaks"]] = solution.objective
    return solution, z


def audited(z: np.ndarray) -> Audit:
    solution, _ = answer()
    box = variable_bounds(ready().plant, ready().program.layout, 6.0, (0.2, 1.5))
    return audit(ready(), z, solution.compile(), box)


def path(status: str = "Solve_Succeeded") -> Path:
    result = StageResult(Point(EMPTY), status, 1, 0.0, 0.0, 0.0)
    return Path((Stage("objective", 1e-4, result),), Point(EMPTY))


def test_an_answer_passes_its_audit() -> None:
    verdict = audited(answer()[1])
    assert verdict.is_feasible
    assert judge(path(), verdict)[0] is SolveStatus.SOLVED


@pytest.mark.parametrize(
    ("field", "place", "constraint"),
    [
        ("u", (3, 1), "dynamics"),
        ("v", (5, 0), "dynamics"),
        ("q", (4, 2), "integration"),
        ("q", (0, 0), "waypoint"),
        ("dt", (2,), "integration"),
        ("design", (1,), "bound of design"),
    ],
)
def test_a_changed_number_is_found_and_named(field, place, constraint) -> None:
    z = answer()[1].copy()
    index = ready().program.layout.fields[field][place]
    z[index] += -1e-2 if field == "design" else 1e-2
    verdict = audited(z)
    assert not verdict.is_feasible
    assert constraint in {violation.constraint for violation in verdict.worst}
    status, message = judge(path(), verdict)
    assert status is SolveStatus.NOT_CONVERGED
    assert "is off by" in message


def test_a_nan_is_never_feasible() -> None:
    z = answer()[1].copy()
    z[ready().program.layout.fields["u"][0, 0]] = np.nan
    assert not audited(z).is_feasible


def test_contacts_that_make_energy_are_not_physical() -> None:
    work = np.array([0.0, 2e-3, 0.0])
    energy = EnergyAudit(np.zeros(3), np.array([0.05, 0.05, 0.0]), work, np.zeros(3))
    verdict = replace(audited(answer()[1]), energy=energy)
    status, message = judge(path(), verdict)
    assert status is SolveStatus.NOT_PHYSICAL
    assert "before knot 2" in message
    allowed = replace(energy, contact_work=work / 3)
    assert judge(path(), replace(verdict, energy=allowed))[0] is SolveStatus.SOLVED


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("Maximum_Iterations_Exceeded", SolveStatus.ITERATION_LIMIT),
        ("Restoration_Failed", SolveStatus.INFEASIBLE),
        ("Solved_To_Acceptable_Level", SolveStatus.NOT_CONVERGED),
        ("Invalid_Number_Detected", SolveStatus.NUMERICAL_FAILURE),
        ("Something_New", SolveStatus.NUMERICAL_FAILURE),
    ],
)
def test_only_a_converged_solver_succeeds(word, status) -> None:
    got, message = judge(path(word), audited(answer()[1]))
    assert got is status
    assert word not in message


def test_dynamics_that_are_not_a_number_are_never_feasible(monkeypatch) -> None:
    # max() of a small number and NaN is the small number
    def broken(*arguments):
        found = audit_physics(*arguments)
        found.dynamics[1, 0] = np.nan
        return found

    monkeypatch.setattr("codesign.audit.audit_physics", broken)
    assert not audited(answer()[1]).is_feasible


def of_energies(actuator: list[float], contact: list[float], made: list[float]) -> Audit:
    """Return an audit of energies alone; `made` is what the integrator made in each interval."""
    works = np.array(actuator), np.array(contact)
    change = works[0] + works[1] + np.array(made)
    return Audit((), 0.0, 0.0, 0.0, EnergyAudit(change, *works, np.zeros(len(made))), 0.0)


def test_energy_that_is_made_first_and_lost_later_is_not_physical() -> None:
    # nothing on balance, and yet it lifted the robot
    work = [0.1, 0.1, 0.1]
    verdict = of_energies(work, [0.0] * 3, [-0.5, 0.5, 0.0])
    assert verdict.energy.made_by_integrator == pytest.approx(0.0)
    assert verdict.energy.most_made_by_integrator == pytest.approx(0.5)
    assert not verdict.is_physical
    assert of_energies(work, [0.0] * 3, [0.1, 0.1, -0.4]).is_physical


def test_contacts_may_not_give_energy_in_small_coins() -> None:
    work = [0.1] * 20
    assert of_energies(work, [0.0] * 19 + [0.019], [0.0] * 20).is_physical
    assert not of_energies(work, [0.0] * 19 + [0.021], [0.0] * 20).is_physical  # in one interval
    assert not of_energies(work, [0.019] * 20, [0.0] * 20).is_physical  # in all of them
