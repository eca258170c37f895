"""Tasks at the edge of what can be asked end honestly: solved, or infeasible with the reason."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from codesign import Keyframe, Problem, SolveStatus
from codesign.constraints import at_rest, base_position, equal, standing
from codesign.errors import ProblemError, SolverError
from codesign.objectives import peak_torque
from problems.hexapod.problem import Hexapod
from tests.support import ROOT

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
            yield equal(traj.knot(knot).joint("rod"), angle, name="angle", unit="rad", knot=knot)
            yield at_rest(traj, knot=knot)


@cache
def swung():
    return Swing().solve().require_success()


class Standing(Problem):
    """A hopper with one foot stands, from rest to rest."""

    robot = ROBOTS / "hopper"
    duration, knots = 0.5, 5
    distance = 0.0

    def objective(self, traj):
        return peak_torque(traj)

    def constraints(self, traj):
        for knot, x in ((0, 0.0), (-1, self.distance)):
            yield standing(traj, knot=knot)
            yield at_rest(traj, knot=knot)
            yield base_position(traj, knot=knot, x=x)


@pytest.fixture
def slippery(tmp_path) -> Path:
    """The hopper on ice."""
    folder = shutil.copytree(ROBOTS / "hopper", tmp_path / "slippery")
    tree = folder / "tree.yaml"
    text = tree.read_text(encoding="utf-8")
    assert "friction: 0.8" in text
    tree.write_text(text.replace("friction: 0.8", "friction: 0.0"), encoding="utf-8")
    return folder


def test_a_button_out_of_reach_is_named() -> None:
    solution = Hexapod(button_height=3.0, knots=4).solve(time_limit=120.0)
    assert solution.status is SolveStatus.INFEASIBLE
    # legs of 0.2 m hold the nose 0.2 m high at most, which leaves 2.8 m; the body may tilt a little
    (nose,) = (v for v in solution.audit.worst if v.constraint == "site nose")
    assert nose.amount == pytest.approx(2.8, abs=0.1)
    assert str(nose) in solution.message
    assert "site nose (z) at knot 3 is off by 2." in solution.message


def test_standing_still_without_friction_works(slippery) -> None:
    solution = Standing(robot=slippery).solve()
    assert solution.success, solution.message
    assert np.abs(solution.q - solution.q[0]).max() < 1e-3
    # the leg's motor holds the body above it: 2 kg × 9.81 m/s²
    assert solution.objective == pytest.approx(2.0 * 9.81, rel=1e-4)
    np.testing.assert_allclose(solution.tangent, 0.0, atol=1e-4)


def test_nothing_walks_without_friction(slippery) -> None:
    # by momentum: no horizontal force, no horizontal motion of a robot that starts at rest
    solution = Standing(robot=slippery, distance=0.3).solve(time_limit=60.0)
    assert solution.status is SolveStatus.INFEASIBLE
    assert "base position (x)" in solution.message
    assert Standing(distance=0.0).solve().success


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.full((9, 1), np.nan)}, "start: its q is NaN or infinite at knot 0"),
        ({"dt": np.full(8, np.inf)}, "start: its dt is NaN or infinite at knot 0"),
        (
            {"u": np.where(np.arange(8)[:, None] == 5, np.nan, 0.0)},
            "its u is NaN or infinite at kn",
        ),
    ],
)
def test_a_start_that_is_no_number_is_refused_in_one_line(change, message) -> None:
    with pytest.raises(SolverError) as caught:
        Swing().solve(start=replace(swung(), **change))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_start_whose_design_is_no_number_is_refused() -> None:
    values = {"length": replace(swung().design_values["length"], value=float("nan"))}
    with pytest.raises(SolverError, match="start: its design variable 'length' is nan"):
        Swing().solve(start=replace(swung(), design_values=values))


def test_a_keyframe_that_is_no_number_is_refused() -> None:
    class Lost(Swing):
        def keyframes(self):
            return [Keyframe(0.0, {"rod": float("nan")})]

    with pytest.raises(ProblemError, match="rod is nan"):
        Lost().solve()


def test_one_knot_is_no_motion() -> None:
    with pytest.raises(ProblemError, match="knots is 1; it must be a whole number, 2 or more"):
        Swing(knots=1)


def test_two_knots_make_one_step() -> None:
    # backward Euler from rest to rest in one step goes nowhere: q⁺ = q + h v⁺ with v⁺ = 0
    stuck = Swing(knots=2).solve()
    assert stuck.status is SolveStatus.INFEASIBLE
    assert "angle" in stuck.message
    still = Swing(knots=2, angle=0.0).solve()
    assert still.success, still.message
    assert still.objective == pytest.approx(0.0, abs=1e-5)


def test_two_knots_with_nothing_left_to_choose_say_so() -> None:
    solution = Standing(knots=2).solve()
    if not solution.success:
        assert "nothing to minimise over" in solution.message
    assert 0 <= solution.iterations < 10_000  # IPOPT leaves the count unset when it does not start


def test_two_hundred_knots_are_solved() -> None:
    began = time.process_time()
    solution = Swing(knots=200).solve()
    assert solution.success, solution.message
    assert len(solution.q) == 200
    assert time.process_time() - began < 60.0


@pytest.mark.parametrize(
    ("problem", "duration", "statuses"),
    [
        (Swing, 1e-3, ("infeasible",)),
        (Swing, 60.0, ("solved",)),
        (Standing, 60.0, ("solved",)),
        (Standing, 1e-3, ("solved", "not_converged")),  # possible, and badly conditioned
    ],
)
def test_a_duration_of_any_size_ends_honestly(problem, duration, statuses) -> None:
    # seed 0 stands 60 s on 0.3 mJ of contact work, in steps of 15 s, and is refused for it
    solution = problem(duration=duration).solve(seed=1, time_limit=120.0)
    assert solution.status in statuses, solution.message
    assert np.isfinite(solution.q).all()
    assert solution.t[-1] <= duration + 1e-6


COUNT = 40
ROD = """
robot: beads
nodes:
  stand: {primitive: root, shape: box, size: [0.1, 0.1, 0.1], mass: 1.0}
  rod:
    primitive: geom
    parent: stand
    joint: {type: hinge, axis: [0, 1, 0]}
    motor: {limit: 10.0}
    shape: capsule
    size: {radius: 0.01, length: 0.5}
    center: [0, 0, -0.25]
    mass: 0.1
"""


@pytest.fixture(scope="module")
def beads(tmp_path_factory) -> Path:
    """A pendulum of forty beads, the mass of each a parameter."""
    folder = tmp_path_factory.mktemp("beads")
    masses = [f"bead_{i}: {{value: 0.02, unit: kg}}" for i in range(COUNT)]
    nodes = [
        f"  bead_{i}: {{primitive: geom, parent: rod, shape: sphere, size: {{radius: 0.005}}, "
        f'pos: [0, 0, {-0.5 * (i + 1) / COUNT}], mass: "${{bead_{i}}}"}}'
        for i in range(COUNT)
    ]
    (folder / "parameters.yaml").write_text("\n".join(masses) + "\n", encoding="utf-8")
    (folder / "tree.yaml").write_text(ROD + "\n".join(nodes) + "\n", encoding="utf-8")
    return folder


class Beads(Swing):
    """The same swing with forty beads on the rod."""

    design = {f"bead_{i}": (0.01, 0.1) for i in range(COUNT)}


def seconds_per_iteration(problem: Problem) -> float:
    """Return the least of three measurements: other work on the machine only adds to it."""
    found = []
    for seed in range(3):
        solution = problem.solve(seed=seed).require_success()
        found.append(sum(p.seconds for p in solution.phases) / solution.iterations)
    return min(found)


def test_forty_design_variables_cost_less_than_twice_one(beads) -> None:
    few = Beads(robot=beads, design={"bead_0": (0.01, 0.1)})
    many = Beads(robot=beads)
    costs = [seconds_per_iteration(problem) for problem in (few, many)]
    assert costs[1] < 2.0 * costs[0], costs
    # lighter beads need less torque, wherever they are
    assert many.solve().design == pytest.approx(dict.fromkeys(many.design, 0.01), abs=1e-4)
