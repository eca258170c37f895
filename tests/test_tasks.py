"""Tasks that share a design: one program, one design, a whole solution of each task."""

from __future__ import annotations

import json
import shutil
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from codesign import Problem, SolveStatus, Tasks, load
from codesign.cli import main
from codesign.constraints import equal
from codesign.errors import ProblemError, SolutionError, SolverError
from codesign.nlp import elastic, join_programs
from codesign.objectives import effort_squared
from codesign.problem_source import make_problem
from codesign.result_folder import check_result_folder
from codesign.tasks import price_of_sharing, specialists
from problems.quadcopter.problem import Quadcopter
from tests.support import ROOT


class Push(Problem):
    """A block on a rail moves from rest in 1 s."""

    robot = ROOT / "tests/robots/rail"
    design = {"reach": (1.2, 3.0)}
    duration, knots = 1.0, 4
    step_range = (1.0, 1.0)
    distance = 1.0
    best_reach = 2.0

    def objective(self, traj):
        return effort_squared(traj) / 10 + (traj.design["reach"] - self.best_reach) ** 2

    def constraints(self, traj):
        yield equal(traj.q[0, 0], 0.0, name="start", unit="m")
        yield equal(traj.q[-1, 0], self.distance, name="end", unit="m")
        yield equal(traj.v[0], 0.0, name="start speed", unit="m/s")


class TwoPushes(Tasks):
    """One rail for a short push that wants it short and a long one that wants it long."""

    long_reach = 2.5

    def tasks(self):
        return {
            "short": Push(distance=0.9, best_reach=1.5),
            "long": Push(knots=5, best_reach=self.long_reach),
        }


class Alone(Tasks):
    def tasks(self):
        return {"only": Push()}


class Twins(Tasks):
    def tasks(self):
        return {"one": Push(), "other": Push()}


class Circles(Tasks):
    """One quadcopter flies two circles."""

    def tasks(self):
        return {"narrow": Quadcopter(knots=4), "wide": Quadcopter(knots=5, circle_radius=2.0)}


@pytest.fixture(scope="module")
def pushes():
    return TwoPushes().solve().require_success()


@pytest.fixture(scope="module")
def saved(pushes, tmp_path_factory):
    return pushes.save(tmp_path_factory.mktemp("saved") / "out")


@pytest.fixture(scope="module")
def single():
    return Push().solve().require_success()


@pytest.fixture(scope="module")
def rails():
    """Two programs of the rail."""
    return [Push().transcription.program, Push(knots=6).transcription.program]


@pytest.fixture(scope="module")
def quadcopters():
    """Two programs of the quadcopter."""
    return [
        Quadcopter(knots=3).transcription.program,
        Quadcopter(knots=4, circle_radius=2.0).transcription.program,
    ]


def design_columns(program):
    return set(program.columns[0][program.programs[0].layout.fields["design"]].tolist())


# --- the joint program ---------------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["sum", "worst"])
def test_blocks_share_the_designs_columns_alone(rails, combine) -> None:
    parts = rails
    joint = join_programs(parts, [1.0, 1.0], combine)
    rows, columns = (np.array(i) for i in joint.derivatives["jac_g"].sparsity_out(1).get_triplet())
    own = [
        (rows >= first) & (rows < first + len(part.lower))
        for part, first in zip(parts, joint.first_rows, strict=True)
    ]
    touched = [set(columns[mask].tolist()) for mask in own]
    assert touched[0] & touched[1] == design_columns(joint)
    assert joint.size == sum(p.size for p in parts) - len(design_columns(joint)) + (
        combine == "worst"
    )
    # and so does the Hessian: no entry couples the motions of two tasks
    motion = [set(c.tolist()) - design_columns(joint) for c in joint.columns]
    pairs = zip(*joint.derivatives["hess_lag"].sparsity_out(0).get_triplet(), strict=True)
    for row, column in pairs:
        assert not (row in motion[0] and column in motion[1])
        assert not (row in motion[1] and column in motion[0])


@pytest.mark.parametrize("combine", ["sum", "worst"])
def test_joint_derivatives_equal_finite_differences(quadcopters, combine) -> None:
    joint = join_programs(quadcopters, [1.0, 2.0], combine)
    rng = np.random.default_rng(3)
    x, direction = rng.uniform(0.2, 0.8, joint.size), rng.normal(size=joint.size)
    lam, p, h = rng.normal(size=len(joint.lower)), [0.01, 1.0], 1e-6
    jac_g, grad_f, hess = (joint.derivatives[k] for k in ("jac_g", "grad_f", "hess_lag"))

    def g(y):
        return np.array(jac_g(y, p)[0]).ravel()

    def lagrangian_gradient(y):
        return 0.7 * np.array(grad_f(y, p)[1]).ravel() + np.array(jac_g(y, p)[1]).T @ lam

    def slope(f):
        return (f(x + h * direction) - f(x - h * direction)) / (2 * h)

    upper = np.array(hess(x, p, 0.7, lam))
    full = upper + np.triu(upper, 1).T
    assert np.all(np.tril(upper, -1) == 0)
    # central differences: h² truncation and ε/h rounding, about 1e-9 of the largest
    for got, expected in (
        (np.array(jac_g(x, p)[1]) @ direction, slope(g)),
        (np.array(grad_f(x, p)[1]).ravel() @ direction, slope(lambda y: float(grad_f(y, p)[0]))),
        (full @ direction, slope(lagrangian_gradient)),
    ):
        largest = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(np.ravel(got), np.ravel(expected), atol=1e-6 * largest)


def test_elastic_form_softens_every_tasks_own_rows(rails) -> None:
    joint = join_programs(rails, [1.0, 1.0], "worst")
    softened = elastic(joint)
    entries = joint.task_entries
    assert len(entries) == sum(p.task.stop - p.task.start for p in rails) == 6
    assert softened.size == joint.size + 2 * len(entries)
    start = softened.start(np.full(joint.size, 0.3), (0.0, 1.0))
    g = np.array(softened.derivatives["jac_g"](start, [0.0, 1.0])[0]).ravel()[entries]
    np.testing.assert_allclose(g, np.clip(g, joint.lower[entries], joint.upper[entries]))
    jacobian = np.array(softened.derivatives["jac_g"](start, [0.0, 1.0])[1])
    stretch = jacobian[:, joint.size :]
    assert set(np.flatnonzero(np.abs(stretch).sum(axis=1)).tolist()) == set(entries.tolist())


# --- what comes of it ----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "combine"), [(Alone, "worst"), (Twins, "worst"), (Twins, "sum")])
def test_one_task_or_two_alike_have_the_optimum_of_one(single, kind, combine) -> None:
    found = kind(combine=combine).solve().require_success()
    for task in found.tasks.values():
        assert task.objective == pytest.approx(single.objective, rel=1e-5)
        np.testing.assert_allclose(task.q, single.q, atol=1e-5)
    factor = len(found.tasks) if combine == "sum" else 1
    assert found.objective == pytest.approx(factor * single.objective, rel=1e-5)


def test_the_sum_of_parabolas_has_its_least_in_the_middle() -> None:
    # effort does not depend on the reach: Σ w (ρ − ρ_i)² is least at the weighted mean of 1.5, 2.5
    found = TwoPushes(combine="sum", weights={"long": 3.0}).solve().require_success()
    assert found.design["reach"] == pytest.approx((1.5 + 3 * 2.5) / 4, abs=1e-5)


def test_the_worst_of_two_is_where_they_are_equal(pushes) -> None:
    # 1.5 and 2.5 are on both sides of the reach at which both objectives are the same
    values = [task.objective for task in pushes.tasks.values()]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    assert 1.5 < pushes.design["reach"] < 2.5
    assert pushes.objective == max(values)


def test_sharing_a_design_never_beats_the_specialist(pushes) -> None:
    alone = specialists(TwoPushes(), shared=pushes)
    rows = price_of_sharing(pushes, alone)
    assert [row.task for row in rows] == ["short", "long"]
    assert all(row.ratio > 1 + 1e-3 for row in rows)
    assert [row.design["reach"] for row in alone] == pytest.approx([1.5, 2.5], abs=1e-4)


def test_quadcopters_of_two_circles_pay_nothing_for_the_same_best_design() -> None:
    problem = Circles()
    found = problem.solve().require_success()
    assert found.design == pytest.approx({"radius": 0.5, "mass": 0.3}, abs=1e-3)
    for row in price_of_sharing(found, specialists(problem, shared=found)):
        assert 1 - 1e-6 < row.ratio < 1 + 1e-3  # flat in the radius, which κ may leave early
        assert found.objective >= row.specialist * (1 - 1e-6)


def test_every_task_is_a_whole_solution_with_the_shared_design(pushes) -> None:
    for name, task in pushes.tasks.items():
        assert task.design == pushes.design
        assert task.success
        assert task.audit.max_violation < 1e-6
        assert f"this is task '{name}' of TwoPushes" in task.notes[0]
    assert [len(task.t) for task in pushes.tasks.values()] == [4, 5]
    assert pushes.phases
    assert pushes.iterations > 0


def test_every_tasks_motion_is_stationary_at_the_shared_design(pushes) -> None:
    # the worse of the two and the other one, whose objective weighs next to nothing in the whole
    uneven = TwoPushes(weights={"short": 0.01}).solve().require_success()
    for found in (pushes, uneven):
        for task in found.tasks.values():
            assert task.certificate.verdict == "stationary"
            assert "reach" not in [price.name for price in task.prices]


def test_the_price_of_the_shared_designs_bound_is_what_moving_it_is_worth() -> None:
    def at(upper):
        problem = TwoPushes(design={"reach": (1.2, upper)}, long_reach=4.0)
        return problem.solve().require_success()

    held, moved = at(2.0), at(2.001)
    (price,) = held.prices
    assert (price.name, price.kind, price.side, price.value) == ("reach", "design", "upper", 2.0)
    # second order: (0.001 m)² against a slope of about 3 to 4; κ adds 1e-3 of the sum's slope
    gained = (moved.objective - held.objective) / 0.001
    assert gained < -1.0
    assert price.price == pytest.approx(gained, rel=3e-3)


def test_a_design_that_one_task_does_not_use_is_free_for_the_other() -> None:
    class Indifferent(Push):
        def objective(self, traj):
            return effort_squared(traj)

    class Mixed(Tasks):
        combine = "sum"

        def tasks(self):
            return {"cares": Push(best_reach=2.4), "does_not": Indifferent()}

    found = Mixed().solve().require_success()
    assert found.design["reach"] == pytest.approx(2.4, abs=1e-4)
    assert not any("nothing depends" in note for note in found.notes)


def test_options_reach_the_task_they_name_or_all() -> None:
    problem = make_problem(TwoPushes, ["long.knots=7", "duration=2", "long_reach=2.2"])
    assert [task.knots for task in problem.problems.values()] == [4, 7]
    assert [task.duration for task in problem.problems.values()] == [2, 2]
    assert problem.problems["long"].best_reach == 2.2
    assert TwoPushes(**problem.options).options == problem.options


def test_changed_options_build_anew() -> None:
    problem = Alone()
    first = problem.transcription
    assert problem.transcription is first
    problem.problems["only"].knots = 5
    second = problem.transcription
    assert second is not first
    problem.combine = "sum"
    assert problem.transcription is not second


def test_a_start_is_taken_of_an_earlier_answer(pushes, tmp_path) -> None:
    again = TwoPushes().solve(start=pushes)
    assert again.success
    assert again.objective == pytest.approx(pushes.objective, rel=1e-6)
    assert [phase.phase for phase in again.phases] == ["objective"]
    with pytest.raises(SolverError, match=r"start holds several tasks \('short', 'long'\)"):
        Push().solve(start=pushes)


def test_several_starts_keep_the_best_and_tell_of_all() -> None:
    found = Alone().solve(starts=2)
    assert [row.seed for row in found.starts] == [0, 1]
    assert found.objective == min(row.objective for row in found.starts)


# --- what cannot be ------------------------------------------------------------------------------


def tasks_of(**tasks):
    class Named(Tasks):
        def tasks(self):
            return tasks

    return Named


@pytest.mark.parametrize(
    ("tasks", "options", "words"),
    [
        ({}, {}, r"Named.tasks\(\) returned \{\}"),
        ({"a b": 1}, {}, "'a b' is no name of a task"),
        ({"combine": 1}, {}, "task 'combine' has the name of an option"),
        ({"a": Push}, {}, "it must be a Problem"),
        (dict.fromkeys("ab", Push()), {}, "'a' and 'b' are one object"),
        ({"a": Push()}, {"combine": "mean"}, "it must be one of worst, sum"),
        ({"a": Push()}, {"weights": {"b": 1}}, "weights names task 'b'. The tasks are: a"),
        ({"a": Push()}, {"weights": {"a": 0}}, "weight of task 'a' is 0"),
        ({"a": Push()}, {"nots": 3}, "no option or task 'nots'"),
        ({"a": Push()}, {"a": {"nots": 3}}, "Push has no option 'nots'"),
        ({"a": Push()}, {"a": 3}, "'a' is a task, and 3 was given"),
        ({"a": Push()}, {"knots": 1}, "knots is 1"),
        ({"a": Push(), "b": Push(design={})}, {}, "'reach' is a design variable of task 'a'"),
    ],
)
def test_tasks_that_cannot_be_are_refused_in_one_line(tasks, options, words) -> None:
    with pytest.raises(ProblemError, match=words) as refusal:
        tasks_of(**tasks)(**options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("bounds", [(1.2, 2.9), (1.2, 3.0, 1.3)])
def test_designs_that_differ_are_refused_before_anything_is_solved(bounds) -> None:
    kind = tasks_of(a=Push(), b=Push(design={"reach": bounds}))
    with pytest.raises(ProblemError, match=r"'reach' is 1\.2 to 3 m from 1\.5 in 'a'") as refusal:
        kind().solve()
    assert "\n" not in str(refusal.value)


def test_a_task_that_cannot_be_met_is_named() -> None:
    found = TwoPushes(long={"distance": 9.0}).solve()
    assert found.status is SolveStatus.INFEASIBLE
    assert found.message.startswith("task 'long': no small change of design and motion")
    assert not found.success
    with pytest.raises(SolutionError, match="task 'long'"):
        found.require_success()


def test_a_time_limit_leaves_the_best_point_and_says_so() -> None:
    found = TwoPushes().solve(time_limit=1e-3)
    assert found.status is SolveStatus.TIME_LIMIT
    assert all(task.status is SolveStatus.TIME_LIMIT for task in found.tasks.values())
    assert set(found.tasks) == {"short", "long"}
    assert "time limit" in found.message


def test_an_interrupt_leaves_the_best_point_and_says_so() -> None:
    def interrupt(progress):
        if progress.phase == "objective":
            signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    found = TwoPushes().solve(progress=interrupt)
    assert found.status is SolveStatus.INTERRUPTED


# --- on disk and on the command line -------------------------------------------------------------


def test_an_answer_is_read_back_as_it_was_saved(pushes, tmp_path) -> None:
    told = replace(pushes, specialists=specialists(TwoPushes(), shared=pushes))
    folder = told.save(tmp_path / "out")
    back = load(folder)
    assert back == replace(told, tasks=back.tasks, options=back.options)
    assert back.options == json.loads(json.dumps(told.options))  # tuples come back as lists
    for name, task in told.tasks.items():
        np.testing.assert_array_equal(back.tasks[name].q, task.q)
        assert load(folder / "tasks" / name).design == told.design
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'href="tasks/short/report.html"' in page
    assert "Price of sharing" in page
    check_result_folder(folder)
    back.save(folder)  # replaced whole
    (folder / "tasks" / "long" / "notes.txt").write_text("mine")
    with pytest.raises(SolutionError, match=r"it holds tasks/long/notes\.txt"):
        back.save(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.update(objective=0.1), "the objective is 0.1"),
        (lambda r: r["design"]["reach"].update(value=2.0), "not that of task 'short'"),
        (lambda r: r.update(success=False), "yet its status is 'solved'"),
        (lambda r: r["sha256"].update({"tasks/long/solution.json": "0"}), "sha256 differs"),
        (lambda r: r["tasks"].update(far=r["tasks"]["long"]), "tasks/far/solution.json is missing"),
        (lambda r: r.update(combine="mean"), "combine is 'mean'"),
        (lambda r: r.pop("tasks"), "lacks 'tasks'"),
    ],
)
def test_an_edited_answer_is_refused_in_one_line(saved, tmp_path, change, words) -> None:
    folder = shutil.copytree(saved, tmp_path / "out")
    path = folder / "solution.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(SolutionError, match=words) as refusal:
        load(folder)
    assert "\n" not in str(refusal.value)


PUSHES = '''
from codesign import Tasks
from tests.test_tasks import Push


class Pushes(Tasks):
    """Two pushes."""

    def tasks(self):
        return {"short": Push(best_reach=1.5), "long": Push(best_reach=2.5)}
'''


def test_the_command_line_solves_shows_and_refuses(tmp_path, capsys) -> None:
    source, out = tmp_path / "pushes.py", tmp_path / "out"
    source.write_text(PUSHES)
    words = ["solve", f"{source}:Pushes", "--out", str(out), "--specialists"]
    assert main([*words, "--set", "long.knots=5"]) == 0
    printed = capsys.readouterr().out
    assert "specialist" in printed
    assert printed.splitlines()[-1] == str(out / "report.html")
    assert main(["show", str(out)]) == 0
    assert "ratio" in capsys.readouterr().out
    assert len(load(out / "tasks" / "long").t) == 5
    for bad, told in (
        (["export", str(out), "--out", str(tmp_path / "x")], "give the folder of one"),
        ([*words, "--set", "lung.knots=5"], "has no task 'lung'. It has: short, long"),
        ([*words, "--set", "long.knots=many"], "option 'knots' of Push is a number"),
    ):
        assert main(bad) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert told in line


def test_the_benchmark_tells_what_each_task_pays(monkeypatch, tmp_path, capsys) -> None:
    from benchmarks import tasks

    monkeypatch.setattr(tasks, "BipedFlatAndStep", TwoPushes)
    tasks.main(["--quick", "--out", str(tmp_path)])
    record = json.loads((tmp_path / "tasks.json").read_text())
    assert record["shared"]["solved"] == record["shared"]["starts"] == 1
    assert [row["task"] for row in record["prices"]] == ["short", "long"]
    for price, alone in zip(record["prices"], record["specialists"], strict=True):
        assert price["ratio"] == pytest.approx(price["shared"] / alone["objective"])
        assert price["shared"] == record["shared"]["objectives"][price["task"]]
    assert "TwoPushes: solved, 1 of 1 starts solved" in capsys.readouterr().out


def test_the_biped_of_two_tasks_is_one_robot() -> None:
    from problems.biped_flat_and_step.problem import BipedFlatAndStep

    spaces = [task.plant.space for task in BipedFlatAndStep().problems.values()]
    assert spaces[0] == spaces[1]
