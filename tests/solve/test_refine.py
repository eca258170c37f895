"""Refinement: meshes that split in two, thresholds that are said to be met or not, nothing lost.

A mass of 1 kg pushed from rest over 1 m in 1 s with the least ∫ u² dt has, with N equal steps of
backward Euler, u_k = λ (N + 1 − k) and the objective 6 N² / ((N + 1) (2 N + 1)), which tends to 3.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from codesign import Problem, load
from codesign.cli import main
from codesign.constraints import equal
from codesign.errors import ProblemError, SolverError
from codesign.objectives import effort_squared
from codesign.report.mesh import mesh_plot
from codesign.solve.refine import Thresholds, is_mesh_converged, with_knots
from codesign.solve.status import SolveStatus
from tests.support import ROOT

PUSH = '''
from codesign import Problem
from codesign.constraints import equal
from codesign.objectives import effort_squared


class Push(Problem):
    """A block on a rail moves from rest in 1 s."""

    robot = {robot!r}
    duration, knots = 1.0, 4
    step_range = (1.0, 1.0)
    integrator = "backward_euler"
    distance = 1.0

    def objective(self, traj):
        return effort_squared(traj)

    def constraints(self, traj):
        yield equal(traj.q[0, 0], 0.0, name="start", unit="m")
        yield equal(traj.q[-1, 0], self.distance, name="end", unit="m")
        yield equal(traj.v[0], 0.0, name="start speed", unit="m/s")
'''


class Push(Problem):
    """A block on a rail moves from rest in 1 s."""

    robot = ROOT / "tests/robots/rail"
    duration, knots = 1.0, 4
    step_range = (1.0, 1.0)
    integrator = "backward_euler"
    distance = 1.0

    def objective(self, traj):
        return effort_squared(traj)

    def constraints(self, traj):
        yield equal(traj.q[0, 0], 0.0, name="start", unit="m")
        yield equal(traj.q[-1, 0], self.distance, name="end", unit="m")
        yield equal(traj.v[0], 0.0, name="start speed", unit="m/s")


def exact(knots: int) -> float:
    n = knots - 1
    return 6 * n**2 / ((n + 1) * (2 * n + 1))


@pytest.fixture(scope="module")
def push():
    return Push().solve().require_success()


def test_the_mesh_is_split_until_the_objective_stands_still(push):
    fine = push.refine(change=0.06, energy=0.1)
    assert [row.knots for row in fine.mesh] == [4, 7, 13, 25]
    for row, before in zip(fine.mesh[1:], fine.mesh, strict=False):
        assert row.success
        assert row.objective == pytest.approx(exact(row.knots), rel=1e-5)
        wanted = 1 - exact(before.knots) / exact(row.knots)
        assert row.change == pytest.approx(wanted, rel=1e-3)
        assert row.energy_share < 0  # backward Euler loses ½ m Δv² in every step
    assert math.isnan(fine.mesh[0].change)
    assert fine.objective == fine.mesh[-1].objective
    assert len(fine.t) == 25
    assert fine.is_mesh_converged
    assert fine.notes[-1].startswith("mesh-converged: the objective changed by 5.8 %")
    assert is_mesh_converged(fine.mesh, Thresholds(0.06, 0.1))
    assert not is_mesh_converged(fine.mesh, Thresholds(0.05, 0.1))


def test_a_change_below_the_floor_is_none(push):
    # 4 and 7 knots differ by 0.46 N² s, which is 19 %
    step = exact(7) - exact(4)
    low = push.refine(change=0.06, energy=0.9, floor=1.001 * step)
    assert [row.knots for row in low.mesh] == [4, 7]
    assert low.is_mesh_converged
    assert f"({step:.2g}, below the floor of {1.001 * step:.3g})" in low.notes[-1]
    assert len(push.refine(change=0.06, energy=0.9, floor=0.999 * step).mesh) > 2


def test_energy_is_a_threshold_of_its_own(push):
    lost = push.refine(change=0.9, energy=0.1).mesh
    assert len(lost) > 2
    assert abs(lost[-1].energy_share) <= 0.1 < abs(lost[-2].energy_share)


def test_what_was_not_reached_is_said_and_refining_goes_on_from_there(push):
    coarse = push.refine(change=0.06, energy=0.1, most_knots=7)
    assert not coarse.is_mesh_converged
    assert "changed by 19 % from 4 to 7 knots, more than 6 %" in coarse.notes[-1]
    assert "most_knots = 7" in coarse.notes[-1]
    finer = coarse.refine(change=0.06, energy=0.1)
    assert [row.knots for row in finer.mesh] == [4, 7, 13, 25]
    assert finer.mesh[:2] == coarse.mesh
    assert sum("mesh-converged" in note for note in finer.notes) == 1
    assert finer.refine(change=0.06, energy=0.1).mesh == finer.mesh


def test_a_start_keeps_its_time_steps_and_its_problem(push):
    task = Push(step_range=(0.2, 2.0))
    uneven = replace(push, dt=np.array([0.2, 0.3, 0.5]), t=np.array([0.0, 0.2, 0.5, 1.0]))
    finer = with_knots(task, 7).transcription
    z = uneven.resample(finer.program.layout, finer.plant)
    dt = z[finer.program.layout.fields["dt"]]
    np.testing.assert_allclose(dt, [0.1, 0.1, 0.15, 0.15, 0.25, 0.25])
    solution = Push(distance=0.5).solve()
    assert solution.task is not None
    assert solution.task.options["distance"] == 0.5


def test_a_midpoint_motion_fits_every_finer_mesh():
    solution = Push(integrator="implicit_midpoint").solve().require_success()
    for knots in (7, 10):
        finer = with_knots(Push(integrator="implicit_midpoint"), knots).transcription
        layout = finer.program.layout
        z = solution.resample(layout, finer.plant)
        residuals = finer.evaluate_intervals(z[layout.interval_index])
        np.testing.assert_allclose(residuals, 0.0, atol=1e-6)


def test_a_failed_warm_start_is_led_through_feasibility(push, monkeypatch):
    solve, starts = Push.solve, []

    def once(self, *arguments, start, **options):
        starts.append(start.success)
        found = solve(self, *arguments, start=start, **options)
        return found if len(starts) > 1 else replace(found, status=SolveStatus.NOT_CONVERGED)

    monkeypatch.setattr(Push, "solve", once)
    fine = push.refine(change=0.5, energy=0.5)
    assert starts == [True, False]
    assert fine.success
    assert fine.mesh[-1].success
    assert fine.mesh[-1].iterations > fine.iterations


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (IndexError("way\npoint"), "IndexError: way point"),
        (ProblemError("no such knot"), "(no such knot)"),
    ],
)
def test_a_mesh_that_breaks_off_costs_nothing(push, monkeypatch, error, told):
    solve = Push.solve

    def breaks(self, *arguments, **options):
        if self.knots > 7:
            raise error
        return solve(self, *arguments, **options)

    monkeypatch.setattr(Push, "solve", breaks)
    kept = push.refine()
    assert len(kept.t) == 7
    assert kept.success
    assert [row.success for row in kept.mesh] == [True, True, False]
    assert kept.notes[-1].startswith("not mesh-converged: the mesh of 13 knots was not solved")
    assert told in kept.notes[-1]
    monkeypatch.undo()
    again = kept.refine(change=0.2, energy=0.5)
    assert all(row.success for row in again.mesh)


def test_a_time_limit_keeps_what_there_is(push):
    kept = push.refine(time_limit=1e-6)
    assert len(kept.t) == 4
    assert "time limit" in kept.notes[-1]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"change": 0.0}, "change is 0.0"),
        ({"energy": math.nan}, "energy is nan"),
        ({"floor": -1.0}, "floor is -1.0"),
        ({"floor": math.inf}, "floor is inf"),
        ({"most_knots": 2.5}, "most_knots is 2.5"),
        ({"time_limit": True}, "time_limit is True"),
        ({"problem": "push"}, "problem is a str"),
    ],
)
def test_a_bad_setting_is_refused(push, setting, told):
    with pytest.raises(SolverError, match=told):
        push.refine(**setting)


def test_only_a_success_is_refined(push):
    failed = replace(push, status=SolveStatus.TIME_LIMIT, message="the time limit was reached")
    with pytest.raises(SolverError, match="none: the time limit was reached"):
        failed.refine()


def test_another_problem_is_refused(push):
    class Pull(Push):
        """Another one."""

    with pytest.raises(ProblemError, match="its name is another"):
        push.refine(problem=Pull())
    with pytest.raises(ProblemError, match="its design space is another"):
        push.refine(problem=Push(design={"reach": (1.2, 2.0)}))
    with pytest.raises(ProblemError, match="no file of its own"):
        replace(push, task=None, source="").refine()


def test_the_command_refines_what_it_reads_and_goes_on(tmp_path, capsys):
    source = tmp_path / "push.py"
    source.write_text(PUSH.format(robot=str(ROOT / "tests/robots/rail")))
    first, out = tmp_path / "first", tmp_path / "out"
    assert main(["solve", str(source), "--set", "distance=0.8", "--out", str(first), "-q"]) == 0
    words = ["refine", str(first), "--out", str(out), "--change", "0.06", "--energy", "0.1"]
    assert main([*words, "--most-knots", "13"]) == 1
    assert "most_knots = 13" in capsys.readouterr().out
    again = ["refine", str(out), "--out", str(out), "--change", "0.06", "--energy", "0.1"]
    assert main([*again, "-q"]) == 0
    capsys.readouterr()
    fine = load(out)
    assert [row.knots for row in fine.mesh] == [4, 7, 13, 25]
    assert fine.objective == pytest.approx(0.64 * exact(25), rel=1e-5)
    record = json.loads((out / "solution.json").read_text())
    assert [row["knots"] for row in record["mesh"]] == [4, 7, 13, 25]
    assert record["mesh"][0]["change"] is None
    page = (out / "report.html").read_text()
    assert "<h2>Mesh</h2>" in page
    assert "codesign refine" in page
    assert main(["show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "knots  objective" in shown
    assert "mesh-converged: the objective changed" in shown
    source.unlink()
    assert main(["refine", str(out), "--out", str(out)]) == 2
    assert f"there is no file '{source}'" in capsys.readouterr().err


def test_a_result_of_the_format_before_is_read(push, tmp_path):
    push.save(tmp_path / "old")
    path = tmp_path / "old" / "solution.json"
    record = json.loads(path.read_text())
    for name in ("mesh", "source"):
        del record[name]
    path.write_text(json.dumps(record | {"format": 3}))
    assert load(tmp_path / "old").mesh == ()


def test_the_plot_of_one_mesh_is_left_out(push):
    coarse = push.refine(most_knots=7)
    assert mesh_plot(coarse.mesh).count("<circle") == 2
    assert mesh_plot(coarse.mesh[:1]) == ""
