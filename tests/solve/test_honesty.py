"""Ways in which a solve once lied, crashed or lost its way; each test is a story."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from codesign import Cells, Keyframe, Problem, SolveStatus, Terrain
from codesign.between_knots import deepest_passage
from codesign.constraints import (
    Constraint,
    at_least,
    at_rest,
    base_position,
    equal,
    oriented,
    standing,
)
from codesign.errors import ProblemError, SolverError
from codesign.objectives import effort_squared, peak_thrust, peak_torque
from draft_core.errors import DraftError
from problems.quadcopter.problem import Quadcopter
from tests.support import ROOT

WORD: Any = "word"  # where a number or a mapping belongs
ROBOTS = ROOT / "tests/robots"


class Swing(Problem):
    """A pendulum swings from hanging to an angle, from rest to rest."""

    robot = ROBOTS / "pendulum"
    design = {"length": (0.3, 0.6)}
    duration, knots = 1.0, 9
    angle = 1.0

    def objective(self, traj):
        return peak_torque(traj)

    def constraints(self, traj):
        for knot, angle in ((0, 0.0), (-1, self.angle)):
            yield at_rest(traj, knot=knot)
            yield equal(traj.q[knot, 0], angle, name="angle", unit="rad", knot=knot)


def test_an_integrator_that_lifts_the_robot_is_not_physical() -> None:
    # four knots in a minute: backward Euler steps over the hill and calls 2 J of height free
    coarse = {"knots": 4, "duration": 60.0, "integrator": "backward_euler"}
    solution = Swing(angle=float(np.pi), **coarse).solve()
    assert solution.audit.energy.made_by_integrator > 1.0
    assert solution.status is SolveStatus.NOT_PHYSICAL
    assert "the integrator made" in solution.message


def test_energy_that_the_integrator_lost_is_noted() -> None:
    solution = Swing(knots=5, integrator="backward_euler").solve().require_success()
    assert any("the integrator lost" in note or "made" in note for note in solution.notes)


def test_a_peak_cannot_meet_a_constraint_in_the_motions_place() -> None:
    class Strong(Swing):
        def objective(self, traj):
            return effort_squared(traj)

        def constraints(self, traj):
            yield from super().constraints(traj)
            yield at_least(traj.peak(traj.u, name="peak"), 2.5, name="strong", unit="N m")

    solution = Strong().solve()
    assert np.max(solution.u) < 2.4
    assert not solution.success
    assert "strong" in solution.message


def test_an_objective_that_rewards_a_peak_is_no_success() -> None:
    class Product(Swing):
        # pushes the peak down at the start (length 0.5), and up once the length is under 0.45
        def objective(self, traj):
            return peak_torque(traj) * (traj.design["length"] - 0.45)

    assert not Product().solve(max_iterations=200).success


def test_an_option_set_after_a_solve_is_solved_for() -> None:
    problem = Swing()
    problem.solve()
    problem.angle, problem.knots = 0.5, 7
    solution = problem.solve()
    assert solution.q[-1, 0] == pytest.approx(0.5, abs=1e-6)
    assert len(solution.t) == 7
    problem.duration = -1.0
    with pytest.raises(ProblemError, match="duration is -1"):
        problem.solve()


def test_editing_the_robot_after_a_solve_changes_nothing(tmp_path) -> None:
    import shutil

    folder = tmp_path / "robot"
    shutil.copytree(ROBOTS / "pendulum", folder)
    solution = Swing(robot=folder).solve()
    text = (folder / "parameters.yaml").read_text()
    (folder / "parameters.yaml").write_text(text.replace("mass: {value: 1.0", "mass: {value: 7.0"))
    assert solution.compile().body_mass[-1] == pytest.approx(1.0)
    shutil.rmtree(folder)
    saved = solution.save(tmp_path / "result")
    assert "value: 1.0, unit: kg" in (saved / "robot_source/parameters.yaml").read_text()


def test_a_ball_joint_stays_in_its_range() -> None:
    class Lean(Problem):
        robot = ROBOTS / "ballarm"
        design = {"reach": (0.1, 1.0)}
        duration, knots = 1.0, 9

        def objective(self, traj):
            return traj.design["reach"]

        def constraints(self, traj):
            yield equal(traj.q[0, 0], 0.0, name="start", unit="m")
            yield at_rest(traj, knot=0)
            yield equal(traj.q[-1, 0], 2.0, name="end", unit="m")

    solution = Lean().solve().require_success()
    turned = 2 * np.arccos(np.clip(np.abs(solution.q[:, 1]), 0, 1))
    assert turned.max() <= solution.design["reach"] + 1e-4
    assert turned.max() > 0.1  # it does lean


def test_springs_on_a_ball_joint_are_refused(tmp_path) -> None:
    folder = tmp_path / "stiff"
    folder.mkdir()
    for name in ("parameters.yaml", "tree.yaml"):
        text = (ROBOTS / "ballarm" / name).read_text()
        (folder / name).write_text(text.replace("stiffness: {value: 0.0", "stiffness: {value: 2.0"))
    with pytest.raises(ProblemError, match="ball joint 'rod' has a stiffness"):
        Swing(robot=folder, design={}).solve()


def test_a_limit_that_moves_only_inside_the_design_interval_is_kept() -> None:
    # the motor's limit is 3 at length 0.5 and 2 a centimetre away: constant at both ends
    solution = Swing(angle=1.5, knots=15, design={"length": (0.3, 0.7)}).solve()
    limit = solution.compile().actuator_ctrlrange[0, 1]
    assert np.abs(solution.u).max() <= limit + 1e-5


def test_dry_friction_is_noted() -> None:
    solution = Swing(design={"length": (0.3, 0.6), "dry": (0.0, 1.0, 0.5)}).solve()
    assert any(note.startswith("dry friction (frictionloss)") for note in solution.notes)
    assert any("nothing depends on design variable 'dry'" in note for note in solution.notes)
    assert not any("dry friction" in note for note in Swing().solve().notes)


@pytest.mark.parametrize("name", ["dynamics", "passivity", "complementarity"])
def test_a_constraint_with_a_name_of_ours_is_audited(name) -> None:
    class Named(Swing):
        def constraints(self, traj):
            yield from super().constraints(traj)
            yield equal(traj.q[3, 0], 50.0, name=name, unit="rad")

    solution = Named(knots=5).solve(max_iterations=100)
    assert not solution.success
    assert solution.audit.max_violation > 1e-3


@pytest.mark.parametrize("terms", [(), None, [[], ()]])
def test_a_problem_without_constraints_is_solved(terms) -> None:
    class Free(Swing):
        def constraints(self, traj):
            return terms

    class FreeOfAll(Free):
        def objective(self, traj):
            return effort_squared(traj)

    assert Free().solve().success
    assert FreeOfAll().solve().success


def test_a_free_hopper_hops() -> None:
    # once 0 of 5 seeds: redundant equations let the multipliers run away (decision 0004)
    class Hop(Problem):
        robot = ROBOTS / "hopper"
        design = {"shin": (0.2, 0.5), "mass": (1.0, 3.0)}
        duration, knots = 1.2, 13

        def objective(self, traj):
            return peak_torque(traj)

        def constraints(self, traj):
            for knot in (0, -1):
                yield standing(traj, knot=knot)
                yield at_rest(traj, knot=knot)
            yield base_position(traj, knot=0, x=0.0, y=0.0)
            yield at_least(traj.knot(6).gap(), 0.1, name="apex", unit="m", knot=6)

    solution = Hop().solve(seed=0)
    assert solution.success, solution.message


def test_an_orientation_by_four_numbers_is_no_trap() -> None:
    # the quaternion's norm makes the fourth redundant: the answer used to depend on the seed
    class Turn(Problem):
        robot = ROOT / "problems/quadcopter/robot"
        design = {"radius": (0.1, 0.5)}
        duration, knots = 1.0, 11
        integrator = "implicit_midpoint"

        def objective(self, traj):
            return peak_thrust(traj)

        def constraints(self, traj):
            half = float(np.sqrt(0.5))
            for knot, x, quaternion in ((0, 0.0, (1, 0, 0, 0)), (-1, 0.5, (half, 0, 0, half))):
                yield at_rest(traj, knot=knot)
                yield base_position(traj, knot=knot, x=x, y=0.0, z=1.0)
                yield equal(traj.knot(knot).base_quaternion, quaternion, name="turned", knot=knot)

    answers = [Turn().solve(seed=seed).require_success().objective for seed in range(3)]
    assert max(answers) - min(answers) < 5e-3 * max(answers)  # it was 28 %


def test_a_base_that_nothing_holds_stays_near() -> None:
    class Drift(Quadcopter):
        def constraints(self, traj):
            yield at_least(traj.q[-1, 2] - traj.q[0, 2], 0.5, name="climb", unit="m")

    solution = Drift(knots=6).solve()
    assert np.abs(solution.q[:, :3]).max() <= 1000.0


def test_a_violation_without_a_knot_is_placed_by_what_it_depends_on() -> None:
    class Placed(Swing):
        def constraints(self, traj):
            yield from super().constraints(traj)
            yield equal(traj.q[3, 0], 40.0, name="far", unit="rad")

    far = next(v for v in Placed().solve(max_iterations=50).audit.worst if v.constraint == "far")
    assert far.knot == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objective": lambda self, traj: None}, "must return one number"),
        ({"objective": lambda self, traj: "abc"}, "must return one number"),
        ({"objective": lambda self, traj: 1.0 if traj.u[0, 0] > 0 else 2.0}, "use jnp.where"),
        ({"objective": lambda self, traj: float(traj.u[0, 0])}, "use jnp.where"),
        ({"objective": lambda self, traj: np.sin(np.asarray(traj.u))[0, 0]}, "use jnp.where"),
        ({"constraints": lambda self, traj: ["abc"]}, "constraints() gave a str"),
        ({"constraints": lambda self, traj: {"a": 1}}, "constraints() gave a dict"),
        (
            {"constraints": lambda self, traj: [equal(traj.q[0], 0, name="x", knot="end")]},
            "must be a whole number",
        ),
        (
            {"constraints": lambda self, traj: [equal(traj.q[0], 0, name="x", knot=99)]},
            "knot 99 does not exist",
        ),
        (
            {"constraints": lambda self, traj: [at_least(traj.q[0], np.inf, name="x")]},
            "cannot be met",
        ),
        (
            {
                "constraints": lambda self, traj: [
                    Constraint("x", traj.q[0], np.zeros(3), np.ones(3)),
                ]
            },
            "bounds do not fit",
        ),
        ({"keyframes": lambda self: [1, 2]}, "must return a list of Keyframe"),
        ({"keyframes": lambda self: [Keyframe(WORD, {})]}, "at is 'word'"),
        ({"keyframes": lambda self: [Keyframe(0.0, {"rod": WORD})]}, "rod is 'word'"),
        ({"keyframes": lambda self: [Keyframe(0.0, WORD)]}, "must map names to numbers"),
        ({"keyframes": lambda self: [Keyframe(0.5, {}), Keyframe(0.2, {})]}, "must increase"),
        ({"keyframes": lambda self: [Keyframe(0.5, {"rd": 1.0})]}, "Did you mean 'rod'"),
        ({"robot": 5}, "names no robot"),
        ({"step_range": 5}, "such as [0.5, 1.5]"),
        ({"knots": 10**12}, "up to 5000"),
        ({"terrain": 5}, "terrain is a int"),
        ({"terrain": Terrain(cast(Any, lambda p: 3))}, "must return one real number"),
        ({"terrain": Terrain(lambda p: p)}, "must return one real number"),
        ({"terrain": Terrain(cast(Any, lambda p: p.height))}, "height function fails"),
        ({"design": {"length": (-1.0, 1.0)}}, "'length' may not reach -1"),
        ({"design": {"mass": (0.0, 2.0)}}, "'mass' may not reach 0"),
    ],
)
def test_a_mistake_is_refused_in_one_line(change, message) -> None:
    problem = type("Wrong", (Swing,), change)
    with pytest.raises(ValueError, match=r"\w") as caught:
        problem().solve()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_terms_that_change_between_calls_are_refused() -> None:
    calls = []

    class Moody(Swing):
        def constraints(self, traj):
            calls.append(1)
            yield equal(traj.q[0, : len(calls) % 2], 0.0, name="sometimes")

    with pytest.raises(ProblemError, match="states other terms each time"):
        Moody().solve()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": 5}, "start is a int"),
        ({"time_limit": "5"}, "time_limit is '5'"),
        ({"relaxations": None}, "relaxations are None"),
        ({"relaxations": (float("nan"),)}, "must be positive and decrease"),
        ({"max_iterations": 0}, "max_iterations is 0"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(settings, message) -> None:
    with pytest.raises(SolverError, match=r"\w") as caught:
        Swing().solve(**settings)
    assert message in str(caught.value)


def test_a_solve_can_start_from_a_saved_one(tmp_path) -> None:
    folder = Swing().solve().save(tmp_path / "first")
    assert Swing(knots=17).solve(start=str(folder)).success


def test_the_names_of_the_design_are_told() -> None:
    class Dotted(Swing):
        def objective(self, traj):
            return traj.design.length

    with pytest.raises(AttributeError, match=r'write traj\.design\["length"\]'):
        Dotted().solve()


def test_a_design_that_is_no_robot_is_named_and_other_starts_go_on() -> None:
    class Thin(Swing):
        design = {"length": (0.3, 0.6), "mass": (0.5, 2.0)}

        def objective(self, traj):
            return traj.design["length"] + traj.design["mass"]

    problem = Thin()
    problem.solve().require_success()
    compile_robot = type(problem.plant.robot).compile

    def refuse(robot, design=None, out=None, gates=True):
        if design and design["mass"] < 0.6:
            raise DraftError("mass is too small.")
        return compile_robot(robot, design, out, gates)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(problem.plant.robot), "compile", refuse)
        with pytest.raises(ProblemError, match=r"no robot \(length = 0\.3.*, mass = 0\.5"):
            problem.solve(starts=2)


def test_a_hinge_that_must_turn_further_is_told_how() -> None:
    class Spin(Swing):
        knots, duration = 31, 4.0
        angle = 6 * np.pi

        def objective(self, traj):
            return effort_squared(traj)

    solution = Spin().solve()
    assert not solution.success
    assert any("hinge 'rod' was held within a turn" in note for note in solution.notes)

    class Led(Spin):
        def keyframes(self):
            return [Keyframe(0.0, {"rod": 0.0}), Keyframe(1.0, {"rod": self.angle})]

    led = Led().solve()
    assert not any("held" in note for note in led.notes)
    assert led.q[-1, 0] == pytest.approx(6 * np.pi, abs=1e-5)


def test_a_failed_minimisation_keeps_the_feasible_motion() -> None:
    solution = Swing(knots=31, angle=2.5).solve(max_iterations=12)
    assert solution.status is SolveStatus.NOT_CONVERGED
    assert "a motion that meets the task was found" in solution.message
    assert solution.audit.max_violation < 1e-4


def test_an_impossible_task_from_a_good_start_names_the_task() -> None:
    good = Swing().solve().require_success()
    solution = Swing(duration=1e-3).solve(start=good)
    assert solution.status is SolveStatus.INFEASIBLE
    assert solution.audit.worst[0].constraint in ("angle", "at rest")


def test_a_free_or_ball_joint_has_no_single_position() -> None:
    class Asked(Quadcopter):
        def objective(self, traj):
            return traj.knot(0).joint("base")

    with pytest.raises(ProblemError, match="has no single position; use base_position"):
        Asked().solve()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_orientation_is_met_by_either_quaternion(sign) -> None:
    class Turned(Problem):
        robot = ROOT / "problems/quadcopter/robot"
        duration, knots = 1.0, 8

        def objective(self, traj):
            return effort_squared(traj)

        def constraints(self, traj):
            yield at_rest(traj, knot=0)
            yield oriented(traj, 0, (2.0, 0.0, 0.0, 0.0))
            half = sign * float(np.sqrt(0.5))
            yield oriented(traj, -1, (half, 0.0, 0.0, half))

        def keyframes(self):
            return [Keyframe(0.0, {}), Keyframe(1.0, {"qw": -1.0})]  # the same pose, other sign

    solution = Turned().solve().require_success()
    np.testing.assert_allclose(np.abs(solution.q[-1, 3:]), np.sqrt([0.5, 0, 0, 0.5]), atol=1e-5)


@pytest.mark.parametrize("quaternion", [(0, 0, 0, 0), (1, 0, 0), 5])
def test_what_is_no_orientation_is_refused(quaternion) -> None:
    class Wrong(Quadcopter):
        def constraints(self, traj):
            yield oriented(traj, 0, quaternion)

    with pytest.raises(ProblemError, match=r"it must be \(w, x, y, z\), not zero"):
        Wrong().solve()


def test_an_error_in_a_progress_function_is_raised() -> None:
    def fail(progress) -> None:
        if progress.iteration == 3:
            raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        Swing().solve(progress=fail)
    with pytest.raises(SolverError, match="progress is 5"):
        Swing().solve(progress=cast(Any, 5))


@pytest.mark.parametrize(
    ("markers", "message"),
    [
        (lambda self: {}, "it must be markers(self, design)"),
        (lambda self, design: [1.0], "it must be markers(self, design)"),
        (lambda self, design: {"a": (1.0, 2.0)}, "it must be (x, y, z)"),
        ({"a": (1.0, 2.0, float("nan"))}, "it must be (x, y, z)"),
    ],
)
def test_markers_that_are_no_points_are_refused_before_solving(markers, message) -> None:
    problem = type("Marked", (Swing,), {"markers": markers})()
    with pytest.raises(ProblemError) as caught:
        problem.solve(
            progress=lambda progress: pytest.fail("it solved") if progress.iteration else None
        )
    assert message in str(caught.value)


def test_a_wall_that_a_step_goes_through_is_noted() -> None:
    # once "solved" without a word: a hopper was on one side of a wall, then on the other
    class Wall(Swing):
        robot = ROBOTS / "hopper"
        design = {"shin": (0.2, 0.5)}
        terrain = Cells([0.45, 0.55], [0.0, 5.0, 0.0])

    plant = Wall().plant
    model = plant.robot.compile({"shin": 0.3}, gates=False).model
    q, v, dt = np.tile(plant.q_home, (3, 1)), np.zeros((3, model.nv)), np.array([0.5, 0.5])
    q[:, 0], v[:, 0] = [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]
    found = deepest_passage(plant, model, q, v, dt, theta=1.0)
    assert found is not None
    assert found.knot == 1
    assert found.depth == pytest.approx(0.05, abs=0.005)  # from the wall's middle to its side
    assert deepest_passage(plant, model, q[:2], v[:2], dt[:1], theta=1.0) is None


def test_an_objective_below_the_tolerance_is_noted() -> None:
    # at 1e-8 of its size the solver ended 65 % above the least, and said "solved"
    class Tiny(Swing):
        def objective(self, traj):
            return 1e-8 * (effort_squared(traj) + traj.design["length"])

    solution = Tiny(knots=5).solve()
    assert any("less than the solver's tolerance" in note for note in solution.notes)
    assert not any("less than the solver's" in note for note in Swing(knots=5).solve().notes)
