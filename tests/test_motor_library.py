"""Motors one can buy: what they ask of a design, conservatively, and which of them is chosen."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from multiprocessing import Pipe
from types import SimpleNamespace
from typing import Any, cast

import jax
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from codesign import Problem, load
from codesign.cli import main
from codesign.constraints import at_rest, equal
from codesign.errors import ProblemError, SolverError
from codesign.motor_library import (
    DYNAMIXEL,
    Motor,
    MotorLibrary,
    carries_motors,
    choose_motor,
    motor_need,
)
from codesign.motor_library.choice import _group, anchored
from codesign.motor_library.curve import conservative_rows, rising, staircase
from codesign.motor_library.library import FIELDS
from codesign.objectives import peak_torque
from codesign.problem_source import make_problem, problem_again, problem_class
from codesign.solve import parallel, worker
from codesign.tracing import to_casadi
from codesign.transcription.limits import numeric_limits
from problems.hexapod.problem import Hexapod
from problems.hopper.problem import Hopper
from tests.support import ROOT

# --- the curve -----------------------------------------------------------------------------------

STEPS = st.lists(st.floats(0.01, 5.0), min_size=1, max_size=8)


@st.composite
def libraries(draw):
    """Return torques that rise and requirements that need not."""
    torques = np.cumsum(draw(STEPS))
    values = draw(st.lists(st.floats(0.01, 1.0), min_size=len(torques), max_size=len(torques)))
    return tuple(torques.tolist()), tuple(values)


def largest(rows, torque):
    return np.max([np.broadcast_to(row(torque), np.shape(torque)) for row in rows], axis=0)


@given(libraries())
@example(((1.0, 2.0), (0.5, 1.0)))
@example(((1.0, 2.0), (0.9999999999999999, 1.0)))
@settings(deadline=None, max_examples=60)
def test_the_curve_is_never_below_the_staircase_and_meets_it_at_every_node(library):
    torques, values = library
    needs = rising(values)
    rows = conservative_rows(torques, needs)
    fine = np.unique(np.concatenate([np.linspace(0, torques[-1], 997), torques]))
    steps = np.array([staircase(torques, values, torque) for torque in fine])
    found = largest(rows, fine)
    assert np.all(found >= steps - 1e-12)
    apart = np.diff(fine) > 1e-9  # a node and a point of the grid may be one but for rounding
    assert np.all(np.diff(found)[apart] > 0) or needs[-1] - needs[0] < 1e-9
    last = needs.index(needs[-1])  # the smallest motor that asks for as much as the largest
    nodes = [0.0, *torques[:last]]
    np.testing.assert_allclose(largest(rows, np.array(nodes)), needs[: last + 1], rtol=1e-9)
    # between nodes it is the line through them, but for bumps below 0.198 (a − b) w <= 5 % of a
    # line's own rise, w being a quarter of its length; beyond, it rises by 2 % of the whole
    end = needs[-1] + 0.02 * (needs[-1] - needs[0])
    line = np.interp(fine, [*nodes, torques[-1]], [*needs[: last + 1], end])
    rise = max([b - a for a, b in pairwise(needs)], default=0.0)
    assert np.all(found <= line + 0.05 * rise + 1e-12)


@given(libraries())
@settings(deadline=None, max_examples=30)
def test_rows_are_twice_differentiable_everywhere(library):
    torques, values = library
    assume(all(b - a > 0.05 for a, b in pairwise([0.0, *torques])))
    for row in conservative_rows(torques, rising(values)):
        for left, right, start in zip(row.pieces, row.pieces[1:], row.starts, strict=False):
            for order in range(3):
                a, b = (derivative(piece, order, start) for piece in (left, right))
                size = 1e-9 * (1 + abs(a) + max(map(abs, right.coefficients)))
                assert a == pytest.approx(b, abs=size)


def derivative(piece, order, x):
    return np.polynomial.Polynomial(piece.coefficients).deriv(order)(x - piece.origin)


def test_a_convex_curve_is_lines_alone():
    # slopes 1 and 2 from (0, 1): 1 + τ, then 2 + 2 (τ − 1); the last step begins at the last node
    rows = conservative_rows((1.0, 2.0, 2.5), (1.0, 2.0, 4.0))
    assert rows[0].is_affine
    assert rows[0].pieces[0].coefficients == pytest.approx((1.0, 1.0))
    assert float(rows[1](1.2)) == pytest.approx(2.4)


def test_gradients_are_finite_from_zero_to_beyond_the_largest_motor():
    torques = jax.numpy.array([0.0, *DYNAMIXEL.torques, 100.0])
    for row in DYNAMIXEL.rows("mass"):
        for slope in (jax.grad(row), jax.grad(jax.grad(row))):
            assert np.isfinite(jax.vmap(slope)(torques)).all()


def test_casadi_and_jax_agree_on_rows_and_slopes():
    import casadi as ca

    for row in DYNAMIXEL.rows("mass"):
        traced = to_casadi(row, 0.0)
        x = ca.SX.sym("x")
        slope = ca.Function("slope", [x], [ca.gradient(traced(x), x)])
        for torque in (0.0, 0.7, 1.53, 2.6, 2.83, 5.0):
            assert float(traced(torque)) == pytest.approx(float(row(torque)), rel=1e-12)
            assert float(slope(torque)) == pytest.approx(float(jax.grad(row)(torque)), rel=1e-9)


def test_the_papers_curve_of_mass():
    # nodes (0, m1), (T1, m2), (T2, m3), then 2 % of m3 − m1 to the end
    end = 0.126 + 0.02 * 0.071
    for torque, mass in ((0.0, 0.055), (1.53, 0.072), (2.83, 0.126), (6.0, end)):
        assert DYNAMIXEL.requirement("mass", torque) == pytest.approx(mass, rel=1e-12)
    assert DYNAMIXEL.requirement("mass", 1.53 / 2) == pytest.approx((0.055 + 0.072) / 2)


def test_what_does_not_rise_is_raised_as_the_paper_raises_its_y():
    # Table I: the second motor's y of 0.0356 m lies below the first one's 0.04 m, and is modelled
    # as 0.0405 m, the middle between it and the third one's 0.041 m
    assert rising((0.04, 0.0356, 0.041)) == pytest.approx((0.04, 0.0405, 0.041))
    assert rising((3.0, 2.0, 1.0)) == (3.0, 3.0, 3.0)
    assert DYNAMIXEL["RX-28"].need("z") == 0.041
    assert DYNAMIXEL.needs("z") == pytest.approx((0.05, 0.05555, 0.0611))
    (told,) = DYNAMIXEL.raised
    assert "RX-28: z counts as 0.05555 m rather than 0.041" in told


# --- libraries -----------------------------------------------------------------------------------


def motor(name="A", torque=1.0, mass=0.1, speed=10.0, size=(0.03, 0.03, 0.03)):
    return Motor(name, size, mass, torque, speed)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: motor(mass=-1.0), "motor 'A': mass is '-1.0'; it must be a positive number"),
        (lambda: motor(torque=math.nan), "torque is 'nan'"),
        (lambda: motor(speed=True), "speed is 'True'"),
        (lambda: motor(size=(1.0, 2.0)), "it must be [x, y, z] in m"),
        (lambda: motor(name=""), "it must be text"),
        (lambda: MotorLibrary(()), "it holds no motors"),
        (lambda: MotorLibrary((motor(), motor(torque=2.0))), "'A' appears twice"),
        (lambda: MotorLibrary((motor(), motor("B"))), "'A' and 'B' both have 1 N m"),
        (lambda: MotorLibrary(cast(Any, (motor(), "B"))), "give a list of Motor(...)"),
        (lambda: DYNAMIXEL["RX28"], "It has: AX-12a, RX-28, MX-64T8. Did you mean 'RX-28'?"),
    ],
)
def test_bad_motors_are_refused_in_one_line(make, told):
    with pytest.raises(ProblemError) as error:
        make()
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("motors: []", "motors must be a list of 1 to 1000 motors"),
        ("motor: {}", "unknown key 'motor'; a motor library has name, source, motors"),
        ("motors: [{name: A}]", "motors, entry 1 has no size"),
        ("motors: [7]", "motors, entry 1 is '7'"),
        ("motors: [{name: A, weight: 1}]", "unknown key 'weight'"),
        ("motors: [{name: A, size: 3, mass: 1, torque: 1, speed: 1}]", "[x, y, z]"),
        ("motors: !!python/object:os.system {}", "the tag"),
        ("name: [1]\nmotors: [{name: A}]", "name is '[1]'; it must be text"),
    ],
)
def test_bad_files_are_refused_with_their_path(tmp_path, text, told):
    path = tmp_path / "motors.yaml"
    path.write_text(text)
    with pytest.raises(ProblemError) as error:
        MotorLibrary.read(path)
    assert told in str(error.value)
    assert str(path) in str(error.value)


def test_a_file_gives_a_library_by_rising_torque(tmp_path):
    path = tmp_path / "servos.yaml"
    path.write_text(
        "motors:\n"
        "  - {name: B, size: [0.04, 0.04, 0.04], mass: 0.2, torque: 2, speed: 5}\n"
        "  - {name: A, size: [0.03, 0.03, 0.03], mass: 0.1, torque: 1, speed: 6}\n"
    )
    library = MotorLibrary.read(path)
    assert library.name == "servos"
    assert [m.name for m in library] == ["A", "B"]
    assert [m.name for m in library.carrying(1.5)] == ["B"]
    assert [m.name for m in library.carrying(0.5, speed=5.5)] == ["A"]
    assert make_problem(Hold, [f"motors={path}", "motor=B"]).plant.motors.largest.torque == 2
    with pytest.raises(ProblemError, match=r"there is no motor library"):
        MotorLibrary.read(tmp_path / "none.yaml")
    with pytest.raises(ProblemError, match=r"'none\.yaml' in '.*'; try .*__file__"):
        MotorLibrary.read("none.yaml")


def test_a_library_needs_its_motors_name_and_a_motor_its_library():
    with pytest.raises(ProblemError, match="has no motors to pick from"):
        Hold(motors=None, motor="A").plant  # noqa: B018
    with pytest.raises(ProblemError, match="it must be a MotorLibrary"):
        Hold(motors=[motor()]).plant  # noqa: B018
    with pytest.raises(ProblemError, match="has no motor 'Z'"):
        Hold(motor="Z").plant  # noqa: B018


# --- coupled to a problem ------------------------------------------------------------------------

SERVOS = MotorLibrary(
    (
        motor("A", torque=1.0, mass=0.1),
        motor("B", torque=2.5, mass=0.3, size=(0.04, 0.04, 0.04)),
        motor("C", torque=2.9, mass=0.5, size=(0.05, 0.05, 0.05)),
    ),
    name="servos",
)
LEVER = 9.81 * 0.25  # torque of one kilogram of a level rod of 0.5 m; [N m/kg]


class Hold(Problem):
    """A rod is held level by a motor whose mass is part of it, with 0.3 kg of other material."""

    robot = ROOT / "tests/robots/pendulum"
    design = {"mass": (0.1, 3.0)}
    duration = 1.0
    knots = 3
    motors = SERVOS
    refused = ""  # a motor with which the task is made impossible

    def objective(self, traj):
        return peak_torque(traj)

    def constraints(self, traj):
        yield equal(traj.q[:, 0], -np.pi / 2, name="level", unit="rad")
        yield at_rest(traj, knot=0)
        yield at_rest(traj, knot=-1)
        yield carries_motors(traj, "rod", mass=traj.design["mass"], material=0.3)
        if self.motor and self.motor == self.refused:
            yield equal(traj.design["mass"], 2.9, name="too heavy", unit="kg")


@pytest.fixture(scope="module")
def held():
    return Hold().solve(seed=0)


def test_the_motors_mass_is_carried_by_the_torque_it_gives(held):
    # τ = LEVER m and m = 0.3 + g(τ); on the line from (1, 0.3) to (2.5, 0.5) g = 0.3 + (τ − 1) 2/15
    torque = LEVER * (0.6 - 2 / 15) / (1 - LEVER * 2 / 15)
    assert held.success, held.message
    assert 1.0 < torque < 2.125  # where the bump before 2.5 begins
    assert held.objective == pytest.approx(torque, rel=1e-5)
    assert held.design["mass"] == pytest.approx(torque / LEVER, rel=1e-5)


def test_motors_are_carried_whatever_the_objective(held):
    # The least mass is where the least torque is; here nothing but the motors' rows see the peak.
    # With a curve that was flat at its end the search stayed there, at 0.3 + 0.5 kg.
    class Light(Hold):
        """The lightest rod that holds itself."""

        def objective(self, traj):
            return traj.design["mass"]

    assert Light().solve(seed=0).design["mass"] == pytest.approx(held.design["mass"], rel=1e-5)


def test_the_objective_and_the_motors_share_one_peak():
    assert [name for name, _ in Hold().transcription.program.peaks] == ["peak torque"]


def test_the_smallest_motor_is_chosen_and_the_price_told(held, tmp_path):
    choice = choose_motor(Hold(), held)
    # B's own 0.3 kg: 0.6 kg in all, below what the curve had asked for
    assert choice.success
    assert choice.motor == "B"
    assert choice.solution.objective == pytest.approx(LEVER * 0.6, rel=1e-5)
    assert choice.solution.design["mass"] == pytest.approx(0.6, rel=1e-5)
    assert choice.price == pytest.approx(LEVER * 0.6 - held.objective, rel=1e-4)
    assert choice.price is not None
    assert choice.price < 0  # the curve is conservative: the rounded problem holds its answer
    assert choice.record.mass_change == pytest.approx(0.6 - held.design["mass"], rel=1e-4)
    assert "built with B, which gains" in choice.sentence
    assert choice.sentence in choice.solution.notes
    assert choice.solution.options["motor"] == "B"
    choice.solution.save(tmp_path / "B")
    assert load(tmp_path / "B").motor_choice == choice.record


def test_a_motor_that_is_too_slow_or_not_solved_gives_way_to_the_next(held):
    slow = MotorLibrary((*SERVOS.motors[:1], motor("B", torque=2.5, mass=0.3), SERVOS["C"]))
    assert [m.name for m in slow.carrying(held.objective, speed=0.0)] == ["B", "C"]
    choice = choose_motor(Hold(refused="B"), held)
    assert choice.motor == "C"
    assert [t.motor for t in choice.record.trials] == ["B", "C"]
    assert choice.record.trials[0].objective is None
    assert "(not solved with B)" in choice.sentence
    assert choice.solution.objective == pytest.approx(LEVER * 0.8, rel=1e-5)


@pytest.mark.parametrize("gear", ["2.0", "${4 * length}"])
def test_a_motor_behind_a_gear_turns_faster_than_its_joint(gear, tmp_path):
    # once the joint's own speed was held against the motor's: a motor half as fast was chosen
    folder = tmp_path / "geared"
    folder.mkdir()
    for name in ("parameters.yaml", "tree.yaml"):
        text = (ROOT / "tests/robots/pendulum" / name).read_text()
        (folder / name).write_text(text.replace("motor: {", f'motor: {{gear: "{gear}", '))
    problem = Hold(robot=folder)
    design = {"mass": 1.0}
    fast = SERVOS["C"].speed
    limit = numeric_limits(problem.plant, np.array([1.0])).speed
    assert limit == pytest.approx([fast / 2])
    motion = SimpleNamespace(design=design, u=np.array([[0.5]]), v=np.array([[0.0], [-0.8 * fast]]))
    group = _group(problem, cast(Any, motion), "servos")
    assert group.speed == pytest.approx(1.6 * fast)
    assert not group.candidates


def test_a_library_of_motors_that_turn_is_refused_on_a_slide():
    class Push(Problem):
        robot = ROOT / "tests/robots/rail"
        motors = SERVOS

        def objective(self, traj):
            return peak_torque(traj)

        def constraints(self, traj):
            yield at_rest(traj, knot=0)

    with pytest.raises(ProblemError, match="joint 'block' slides"):
        Push().solve()


def test_no_motor_that_works_is_an_answer(held):
    choice = choose_motor(Hold(motors=MotorLibrary(SERVOS.motors[:1])), held)
    assert not choice.success
    assert choice.price is None
    assert "no motor carries that" in choice.sentence


def test_a_choice_needs_a_success_and_something_to_choose(held):
    with pytest.raises(ProblemError, match="motor 'A' is fixed already"):
        choose_motor(Hold(motor="A"), held)
    with pytest.raises(ProblemError, match="has no motors to choose from"):
        choose_motor(Hold(motors=None), held)
    with pytest.raises(SolverError, match="takes no 'starts'"):
        choose_motor(Hold(), held, starts=3)
    failed = Hold().solve(seed=0, max_iterations=1)
    with pytest.raises(SolverError, match="this solution is none"):
        choose_motor(Hold(), failed)


def test_the_largest_motor_bounds_efforts_and_speeds():
    from codesign.transcription.limits import numeric_limits

    for problem, torque in ((Hold(), 2.9), (Hold(motor="A"), 1.0)):
        found = numeric_limits(problem.plant, np.asarray(problem.plant.space.initial))
        np.testing.assert_allclose(found.effort, [[-torque, torque]])
        np.testing.assert_allclose(found.speed, [10.0])
    free = Hold(motors=None).plant
    found = numeric_limits(free, np.asarray(free.space.initial))
    np.testing.assert_allclose(found.effort, [[-3.0, 3.0]])  # the robot's own


def test_a_body_must_say_sensibly_what_it_carries():
    class Wrong(Hold):
        """A count that is none."""

        def constraints(self, traj):
            yield carries_motors(traj, "rod", mass=traj.design["mass"], motors=0)

    class None_(Hold):
        """No library."""

        motors = None

        def constraints(self, traj):
            yield equal(motor_need(traj).mass, 0.0, name="no mass")

    with pytest.raises(ProblemError, match="motors is 0; give whole numbers"):
        Wrong().solve()
    with pytest.raises(ProblemError, match="has no motor library"):
        None_().solve()


def test_the_hexapod_carries_its_six_motors():
    # distance and duration so that four knots are enough for a motion that contacts may make
    problem = Hexapod(knots=4, distance=0.05, duration=1.0, integrator="backward_euler")
    solution = problem.solve(seed=0).require_success()
    design, torque = solution.design, np.abs(solution.u).max()
    need = {field: DYNAMIXEL.requirement(field, torque) for field in FIELDS}
    assert design["body_mass"] >= 6 * need["mass"] + problem.material - 1e-6
    assert design["body_z"] >= need["z"] - 1e-6
    assert design["body_y"] >= 2 * need["y"] - 1e-6
    assert design["body_x"] >= 3 * need["x"] - 1e-6
    choice = choose_motor(problem, solution)
    assert choice.motor == "AX-12a"
    assert choice.solution.design["body_mass"] >= 6 * 0.055 + problem.material - 1e-6
    assert choice.price is not None
    assert choice.price <= 1e-6


def test_published_body_masses_hold_two_of_the_papers_motors():
    lower, upper = Hexapod.design["body_mass"]
    holds = [m.name for m in DYNAMIXEL if 6 * m.mass + Hexapod.material <= upper]
    assert holds == ["AX-12a", "RX-28"]  # as the paper's own trials chose
    assert lower <= 6 * 0.055 + Hexapod.material


# --- catalogue and overrides ---------------------------------------------------------------------


def test_a_class_is_anchored_on_a_part_and_no_longer_designed():
    problem = anchored(Hopper(knots=4), "motors.leg", "AK80-9 V3")
    assert set(problem.design) == {"thigh", "shank"}
    values = problem.plant.robot.tree.resolve()
    assert values["motors.leg.mass"] == pytest.approx(0.485)
    assert values["motors.leg.peak_torque"] == 22.0
    assert values["motors.leg.no_load_speed"] == pytest.approx(47.1238898)
    assert values["motors.leg.damping"] == 0.01  # what the class states beside its motor stays


def test_the_lightest_catalogued_motor_that_suffices_is_chosen():
    from draft_core.trends.catalog import module

    class Rise(Hopper):
        """The hopper rises from a crouch."""

        robot = "hopper"
        duration, knots = 0.5, 5
        design = {"motors.leg.peak_torque": (1.0, 60.0)}

        def constraints(self, traj):
            from codesign.constraints import at_least, planted, within_torque_speed_line

            yield planted(traj, knot=0)
            yield at_rest(traj, knot=0)
            yield at_least(-traj.knot(0).joint("rail"), 0.15, name="crouch", unit="m", knot=0)
            yield at_least(traj.knot(-1).joint("rail"), -0.05, name="up", unit="m", knot=-1)
            yield within_torque_speed_line(traj)

        def keyframes(self):
            from codesign import Keyframe

            return [Keyframe(0.0, {"rail": -0.16, "hip": -0.8, "knee": 1.6})]

    solution = Rise().solve(seed=0).require_success()
    choice = choose_motor(Rise(), solution)
    assert choice.success, choice.sentence
    part, record = module(choice.motor), choice.record
    assert part.peak_torque >= record.torque["motors.leg"] * (1 - 1e-6)
    assert part.no_load_speed >= record.speed["motors.leg"] * (1 - 1e-6)
    assert choice.solution.objective == pytest.approx(part.mass)
    assert record.price == pytest.approx(part.mass - solution.objective)
    assert "motors.leg.peak_torque" not in choice.solution.design
    assert choice.solution.overrides[0]["motors.leg"]["part"] == choice.motor


def test_overrides_are_a_mapping_a_file_or_several(tmp_path):
    path = tmp_path / "weak.yaml"
    path.write_text("torque: 1.2\n")
    for given_overrides in ({"torque": 1.2}, str(path), [{"torque": 2.0}, path]):
        problem = Hold(overrides=given_overrides)
        assert problem.plant.robot.parameters["torque"].value == 1.2


def test_an_anchored_problem_is_made_again_from_what_is_saved():
    stated = anchored(Hopper(knots=4), "motors.leg", "AK80-9 V3")
    saved = SimpleNamespace(
        problem="Hopper",
        source="hopper",
        options=stated.options,
        overrides=stated.overrides,
        design_values=stated.design,
    )
    again = problem_again(cast(Any, saved))
    assert dict(again.plant.source) == dict(stated.plant.source)
    assert again.plant.space.names == stated.plant.space.names


SHORT = """
import numpy as np
from codesign import Problem
from codesign.constraints import at_rest, equal
from codesign.objectives import peak_torque

class Short(Problem):
    robot = "{robot}"
    design = {{"mass": (0.5, 1.0)}}
    knots = 3

    def objective(self, traj):
        return peak_torque(traj)

    def constraints(self, traj):
        yield equal(traj.q[:, 0], -np.pi / 2, name="level", unit="rad")
        yield at_rest(traj, knot=0)
        yield at_rest(traj, knot=-1)
"""


def test_overrides_cross_to_another_process(tmp_path):
    path = tmp_path / "short.py"
    path.write_text(SHORT.format(robot=ROOT / "tests/robots/pendulum"))
    problem = problem_class(str(path))(overrides={"length": 0.4}, motors=SERVOS, motor="B")
    ours, theirs = Pipe()
    for part in parallel._recipe(problem):
        ours.send(part)
    there = worker._problem(cast(Any, theirs))
    assert there is not problem
    assert there.plant.robot.parameters["length"].value == 0.4
    assert there.plant.motors == problem.plant.motors


@pytest.mark.slow
def test_overrides_reach_every_process_and_the_saved_robot(tmp_path):
    path = tmp_path / "short.py"
    path.write_text(SHORT.format(robot=ROOT / "tests/robots/pendulum"))
    problem = problem_class(str(path))(overrides={"length": 0.4})
    solution = problem.solve(seed=0, starts=2, jobs=2).require_success()
    assert [row.objective for row in solution.starts] == pytest.approx([9.81 * 0.5 * 0.2] * 2)
    solution.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert again.overrides == ({"length": 0.4},)
    assert again.robot.parameters["length"].value == 0.4


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ("none.yaml", "overrides 'none.yaml' is no file (tried: "),
        (7, "overrides is a int; give a mapping, a file, or a list of them"),
        ({"tork": 1.0}, "override 'tork' is no parameter of this robot"),
    ],
)
def test_bad_overrides_are_refused(overrides, told):
    with pytest.raises(ValueError, match=r".") as error:
        Hold(overrides=overrides).plant  # noqa: B018
    assert told in str(error.value)


# --- command line --------------------------------------------------------------------------------


def test_solve_chooses_a_motor_and_writes_both_answers(tmp_path, capsys):
    path = tmp_path / "hold.py"
    path.write_text(
        "from tests.test_motor_library import Hold as Base\n\nclass Hold(Base):\n    pass\n"
    )
    words = ["solve", f"{path}:Hold", "--out", str(tmp_path / "out"), "--choose-motor"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "built with B, which gains" in printed
    assert printed.splitlines()[-1] == str(tmp_path / "out" / "report.html")
    records = [
        json.loads((tmp_path / d / "solution.json").read_text()) for d in ("out", "out-motor")
    ]
    assert [record["options"]["motor"] for record in records] == ["", "B"]
    assert records[0]["motor_choice"] == records[1]["motor_choice"]
    assert records[0]["motor_choice"]["sentence"] in printed
    assert main([*words, "--set", "motor=B"]) == 2
    assert "motor 'B' is fixed already" in capsys.readouterr().err
    late = ["--out", str(tmp_path / "late"), "--time-limit", "1e-6"]
    assert main([*words, *late]) == 1
    assert "no motor is chosen, as the solve before it is no success" in capsys.readouterr().err
    saved = choose_motor(Hold(), load(tmp_path / "out"))
    assert saved.motor == "B"
