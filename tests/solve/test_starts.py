"""Starts that nobody drew: poses, gaits, legs, forces."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from codesign import Problem, Terrain, load
from codesign.cli import main
from codesign.constraints import at_least, at_rest, equal
from codesign.errors import SolverError
from codesign.objectives import effort_squared
from codesign.solve.anchors import PoseRows, meet
from codesign.solve.automatic import automatic_point, between_poses, contact_frames, ground_height
from codesign.solve.gait import ease, foot_groups, footing, schedule
from codesign.solve.improvement import BATCH, improve, improved_point
from codesign.solve.inverse import Mechanism
from codesign.solve.starts import variable_bounds
from codesign.terrain import Cells
from problems.biped_flat.problem import BipedFlat
from problems.quadcopter.problem import Quadcopter
from tests.support import ROOT, plant


class Hillside(BipedFlat):
    """The biped walks up a slope of one in ten."""

    knots = 10
    terrain = Terrain(lambda position: 0.1 * position[0], "slope")

    def ground_at_end(self):
        return 0.1 * self.distance


class Stair(BipedFlat):
    """The biped walks up a step with a vertical riser."""

    knots = 10
    terrain = Cells(edges=[0.15], heights=[0.0, 0.05])

    def ground_at_end(self):
        return 0.05


class Lift(Problem):
    """A pendulum is raised from below to a right angle."""

    robot = ROOT / "tests/robots/pendulum"
    design = {"length": (0.3, 0.6)}
    duration, knots = 1.0, 6

    def objective(self, traj):
        return effort_squared(traj)

    def constraints(self, traj):
        yield at_rest(traj, knot=0)
        yield equal(traj.knot(0).joint("rod"), 0.0, name="below", unit="rad", knot=0)
        height = traj.knot(-1).site_position("tip")[2] - traj.knot(0).site_position("tip")[2]
        yield at_least(height, 0.4, name="raised", unit="m")


def quick() -> Quadcopter:
    return Quadcopter(knots=4, duration=1.5, circle_radius=0.3)


PROBLEMS = {"hillside": Hillside, "stair": Stair, "lift": Lift, "quadcopter": quick}
WALKS = ("hillside", "stair")


@cache
def stated(name: str) -> Problem:
    return PROBLEMS[name]()


@cache
def fields(name: str, seed: int = 0) -> dict[str, np.ndarray]:
    problem = stated(name)
    return problem.transcription.program.layout.split(
        automatic_point(problem, problem.transcription, seed)
    )


def violations(name: str, seed: int = 0, of_intervals: bool = False) -> dict[str, float]:
    """Return the largest scaled violation of each group of rows at a start, ε = 0.01."""
    problem = stated(name)
    program = problem.transcription.program
    z = automatic_point(problem, problem.transcription, seed)
    z[program.layout.fields["peaks"]] = 1e6
    g = np.asarray(program.derivatives["jac_g"](z / program.scale, [1e-2, 1.0])[0]).ravel()
    over = np.maximum(np.maximum(program.lower - g, g - program.upper), 0.0)
    found: dict[str, float] = {}
    for placed in program.rows if of_intervals else program.user_rows:
        worst = float(np.max(over[placed.start : placed.start + placed.rows.size], initial=0.0))
        found[placed.rows.name] = max(found.get(placed.rows.name, 0.0), worst)
    return found


# ---- poses that the task pins


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_start_meets_every_row_that_speaks_of_poses(name, seed):
    rows = stated(name).transcription.pose_rows
    program = stated(name).transcription.program
    of_poses = {program.place(int(row))[0].rows.name for row in rows.rows}
    assert of_poses
    of_poses -= {"turn in one step"}  # of two poses: a start may turn faster than a step should
    found = violations(name, seed)
    assert {group: found[group] for group in of_poses if found[group] > 1e-6} == {}


def test_poses_are_pinned_where_an_equation_speaks_of_them():
    # the lift pins knot 0 by an equation; an inequality over two knots pins none by itself
    assert stated("lift").transcription.pose_rows.pinned.tolist() == [True] + 5 * [False]
    assert stated("quadcopter").transcription.pose_rows.pinned.all()
    pinned = stated("hillside").transcription.pose_rows.pinned
    assert np.flatnonzero(pinned).tolist() == [0, 9]
    assert stated("hillside").transcription.pose_rows.at_rest[[0, 1, 9]].tolist() == [
        True,
        False,
        True,
    ]


def test_an_impossible_pose_is_met_as_well_as_the_box_allows():
    problem = stated("lift")
    program, rows = problem.transcription.program, problem.transcription.pose_rows
    box = variable_bounds(problem.plant, program.layout, 1.0, (0.2, 1.5))
    scaled = (box[0] / program.scale, box[1] / program.scale)
    far = PoseRows(**{**vars(rows), "lower": np.where(np.isfinite(rows.lower), rows.lower + 9, 9)})
    home = program.layout.join({"q": np.full((6, 1), 0.1), "dt": np.full(5, 0.2)})
    x = meet(program, far, home / program.scale, scaled)
    assert np.all(np.isfinite(x))
    assert np.all((x >= scaled[0]) & (x <= scaled[1]))


def test_orientations_turn_at_the_share_of_the_way():
    robot = plant("quadcopter")
    half = np.array([np.cos(0.6), 0, 0, np.sin(0.6)])  # 1.2 rad about z
    q = np.tile(robot.q_home, (5, 1))
    q[0, 3:7], q[4, 3:7], q[4, 0] = [1, 0, 0, 0], -half, 2.0  # the same turn, written the other way
    found = between_poses(robot, q, np.array([0, 4]))
    angle = 2 * np.arctan2(found[:4, 6], found[:4, 3])
    np.testing.assert_allclose(angle, 1.2 * ease(np.arange(4) / 4), atol=1e-12)
    np.testing.assert_allclose(found[:, 0], 2.0 * ease(np.arange(5) / 4), atol=1e-12)


# ---- gaits

PLACES = {
    1: [(0, 0)],
    2: [(0, 0.1), (0, -0.1)],
    4: [(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)],
    6: [(x, y) for x in (0.3, 0.0, -0.3) for y in (0.1, -0.1)],
}
GROUPS = {1: [0], 2: [0, 1], 4: [1, 0, 0, 1], 6: [1, 0, 0, 1, 1, 0]}


@pytest.mark.parametrize("feet", PLACES)
def test_feet_are_grouped_like_the_squares_of_a_chessboard(feet):
    home = np.array([(*place, 0.0) for place in PLACES[feet]])
    assert foot_groups(list(range(feet)), home) == GROUPS[feet]
    # two points on one foot go together
    twice = foot_groups([i for i in range(feet) for _ in range(2)], np.repeat(home, 2, axis=0))
    assert twice == [g for g in GROUPS[feet] for _ in range(2)]


@pytest.mark.parametrize("length", [1, 2, 3, 5, 15, 60])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_every_group_swings_and_no_two_at_once_where_there_is_time(length, groups):
    for seed in range(5):
        swings = schedule(3, 3 + length, groups, 2.5, np.random.default_rng(seed))
        assert {swing.group for swing in swings} == set(range(groups))
        assert all(3 <= swing.start < swing.end <= 3 + length for swing in swings)
        if length >= max(groups, 2):
            ends = [(swing.start, swing.end) for swing in swings]
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))


def test_swinging_feet_go_over_the_ground_and_standing_ones_stay_on_it():
    def slope(positions):
        return 0.2 * positions[:, 0]

    knots, places = 16, np.zeros((16, 2, 3))
    places[:, :, 0] = np.linspace(0, 1, knots)[:, None]
    places[:, :, 2] = 0.2 * places[:, :, 0]
    feet = footing(
        places,
        np.ones((knots, 2), dtype=bool),
        [0, knots - 1],
        [0, 1],
        0.5,
        slope,
        np.random.default_rng(4),
    )
    above = feet.place[:, :, 2] - 0.2 * feet.place[:, :, 0]
    assert above.min() > -1e-12
    assert above.max() > 0.01
    moved = np.linalg.norm(np.diff(feet.place, axis=0), axis=2)
    assert np.all(moved[feet.stands[1:]] < 1e-12)
    assert np.all(above[1:][feet.stands[1:]] < 1e-12)
    assert feet.stands[1:].any(axis=1).all()  # they take turns
    np.testing.assert_allclose(feet.place[-1], places[-1], atol=1e-12)


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_feet_that_push_are_on_the_ground(name, seed):
    problem, found = stated(name), fields(name, seed)
    design = problem.plant.space.as_dict(found["design"].tolist())
    model = problem.plant.robot.compile(design, gates=False).model
    feet = Mechanism(model, [c.site_id for c in problem.plant.robot.contacts]).places(found["q"])
    height = ground_height(problem.plant.terrain, feet.reshape(-1, 3)[:, :2]).reshape(10, 2)
    pushes = found["normal"] > 0.05 * problem.plant.weight
    assert pushes.any(axis=1).all()
    off = np.abs(feet[1:, :, 2] - height[1:])[pushes]
    assert off.max() < 1e-3  # m; the legs' damping gives way by less than that
    lifted = (feet[:, :, 2] - height).max()
    assert lifted > 0.01


# ---- forces


@pytest.mark.parametrize("name", WALKS)
def test_forces_are_in_the_cone_and_slacks_positive(name):
    found = violations(name, of_intervals=True)
    assert found["friction cone"] < 1e-9
    assert found["sliding"] < 1e-9
    for field in ("normal", "tangent", "slide"):
        assert np.all(fields(name)[field] > 0)


def test_feet_carry_a_robot_that_stands_and_balance_it():
    robot = plant("hexapod")
    sites = [c.site_id for c in robot.robot.contacts]
    mechanism = Mechanism(robot.nominal, sites)
    q = np.tile(robot.q_home, (3, 1))
    frames = np.tile(np.eye(3), (2, len(sites), 1, 1))
    limits = np.tile([-9.0, 9.0], (robot.nominal.nu, 1))
    found = mechanism.forces(
        q,
        np.zeros((3, robot.nominal.nv)),
        np.full(2, 0.1),
        np.ones((2, len(sites)), dtype=bool),
        frames,
        np.full(len(sites), 0.8),
        limits,
        robot.weight,
        1.0,
    )
    np.testing.assert_allclose(found.normal.sum(axis=1), robot.weight, rtol=1e-3)
    # moments about the middle vanish: feet ahead carry as much as those behind
    x, y = (mechanism.places(q[:1])[0, :, i] for i in (0, 1))
    assert np.abs(found.normal @ x).max() < 1e-2 * robot.weight * np.abs(x).max()
    assert np.abs(found.normal @ y).max() < 1e-2 * robot.weight * np.abs(y).max()


def test_efforts_are_those_of_inverse_dynamics():
    # tau = m g l/2 sin(q) holds a rod of 1 kg; Lift's arm begins below, so that it needs more later
    robot = stated("lift").plant
    mechanism = Mechanism(robot.nominal, [])
    q = np.array([[0.0], [0.5], [0.5]])
    args = (np.ones((2, 0), dtype=bool), np.zeros((2, 0, 3, 3)), np.zeros(0))
    found = mechanism.forces(
        q, np.zeros((3, 1)), np.full(2, 0.1), *args, np.array([[-9.0, 9.0]]), robot.weight, 1.0
    )
    held = 1.0 * 9.81 * 0.25 * np.sin(0.5)
    np.testing.assert_allclose(np.abs(found.u[1, 0]), held, rtol=2e-3)


@pytest.mark.parametrize("theta", [1.0, 0.5])
def test_velocities_belong_to_the_configurations(theta):
    mechanism = Mechanism(stated("lift").plant.nominal, [])
    q = np.linspace(0.0, 1.0, 6)[:, None]
    v = mechanism.velocities(q, np.full(5, 0.1), theta, np.zeros(6, dtype=bool))
    np.testing.assert_allclose(v, 2.0, atol=1e-6)
    rest = np.arange(6) == 0
    v = mechanism.velocities(q, np.full(5, 0.1), theta, rest)
    assert v[0, 0] == 0.0
    assert np.abs(v).max() < 3.5  # twice the mean would be 4: the midpoint rule's does not ring


def test_frames_lie_on_the_ground():
    ground = stated("hillside").plant.terrain
    frames = contact_frames(ground, np.array([[0.3, 0.0, 0.03]]))
    np.testing.assert_allclose(frames[0, 2], np.array([-0.1, 0, 1]) / np.hypot(1, 0.1), atol=1e-12)


# ---- improvement


def test_improved_starts_have_a_smaller_penalty_and_stay_in_the_box():
    problem = stated("lift")
    ready = problem.transcription
    program = ready.program
    starts = np.stack([automatic_point(problem, ready, s) for s in range(BATCH)]) / program.scale
    box = variable_bounds(problem.plant, program.layout, problem.duration, (0.2, 1.5))
    low, high = (bound / program.scale for bound in box)
    improved, values = improve(ready.penalties, starts, low, high)
    before = np.asarray(ready.penalties(starts.T)[0]).ravel()
    assert np.all(values < before)
    assert np.all((improved >= low) & (improved <= high))
    np.testing.assert_allclose(np.asarray(ready.penalties(improved.T)[0]).ravel(), values)
    seeds = [improved_point(problem, ready, s) for s in (0, 0, 1)]
    assert (seeds[0] == seeds[1]).all()
    assert not np.allclose(seeds[0], seeds[2], rtol=1e-6)


# ---- seeds, and what is out of the ordinary


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_seed_has_one_start_and_another_seed_another(name):
    problem = stated(name)
    first, again, other = (automatic_point(problem, problem.transcription, s) for s in (3, 3, 4))
    assert (first == again).all()
    assert np.all(np.isfinite(first))
    assert not np.allclose(first, other, rtol=1e-6)


@pytest.mark.parametrize("duration", [1e-3, 60.0])
def test_very_short_and_very_long_tasks_have_finite_starts(duration):
    problem = Lift(duration=duration, knots=2)
    assert np.all(np.isfinite(automatic_point(problem, problem.transcription, 0)))


def test_a_guess_that_does_not_exist_is_refused_in_a_line(tmp_path, capsys):
    with pytest.raises(SolverError, match=r"'luck'.*keyframes, home, automatic, improved"):
        quick().solve(guess="luck")
    out = tmp_path / "out"
    assert main(["solve", "quadcopter", "--guess", "luck", "--out", str(out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()
    with pytest.raises(SolverError, match="Lift gives none; use 'automatic'"):
        stated("lift").solve(guess="keyframes")


def test_a_solution_says_what_its_start_was_made_of(tmp_path):
    drawn = quick().solve()
    assert drawn.guess == "keyframes"
    made = quick().solve(guess="automatic")
    assert (made.success, made.guess) == (True, "automatic")
    made.save(tmp_path / "out")
    assert load(tmp_path / "out").guess == "automatic"
    assert quick().solve(start=made).guess == "solution"
    with pytest.raises(SolverError, match="not both"):
        quick().solve(start=made, guess="home")
