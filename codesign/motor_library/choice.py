"""From a continuous motor to one that can be bought: choose it, fix it, solve again.

While it is solved, a motor is a number: a torque whose mass and extents follow from a conservative
curve (`codesign.motor_library.curve`) or from hardware trends (`draft_core.motors`). The answer's
torque and speed then say which real motors would do. The smallest of them is fixed, its torque and
speed become limits, its mass and extents what has to be carried, and the motion and the rest of the
design are solved again from where they were. If that does not succeed, the next larger one is
tried.

With a library the rounding costs nothing but what the search leaves on the way: g(τ) is at least
what the chosen motor asks for, so that the continuous answer meets the rounded problem, and a
better one may be found. A trend is a mean, and the part may be heavier or slower than it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codesign.errors import ProblemError, SolverError
from codesign.motor_library.record import MotorRecord, MotorTrial
from codesign.plant import drives
from codesign.robot_files import stated_overrides
from codesign.solve.status import SolveStatus
from codesign.transcription.limits import motor_turns

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solution import Solution

_MOST_TRIALS = 6  # motors of a catalogue; a library is tried to its end
_MARGIN = 1e-6  # relative: what a solver's tolerance may be beyond a limit
_SAME = 1e-6  # an objective that differs by less is the same: the solver's tolerance
_STOPPED = (SolveStatus.INTERRUPTED, SolveStatus.TIME_LIMIT)


@dataclass(frozen=True)
class MotorChoice:
    """A real motor and the answer that is built with it.

    Attributes:
        problem: the problem with the motor fixed.
        solution: its answer; where no motor would do, that of the last one tried.
        continuous: the answer that the choice began from.
        record: which motor, what was tried, and the price.
    """

    problem: Problem
    solution: Solution
    continuous: Solution
    record: MotorRecord

    @property
    def success(self) -> bool:
        """Whether a real motor carries the task."""
        return bool(self.record.motors)

    @property
    def motor(self) -> str:
        """The motor's name, those of several classes joined; empty where none would do."""
        return ", ".join(self.record.motors.values())

    @property
    def price(self) -> float | None:
        """What the rounding costs, in the objective's unit; negative is a gain."""
        return self.record.price

    @property
    def sentence(self) -> str:
        """The choice and its price in words."""
        return self.record.sentence


@dataclass(frozen=True)
class _Candidate:
    """A motor to try: its name, and the problem in which it is fixed."""

    name: str
    problem: Problem


@dataclass(frozen=True)
class _Group:
    """Motors that are chosen together.

    Attributes:
        name: the library's name, or the key of a motor class.
        torque: peak torque that the answer needs of them; [N m].
        speed: top joint speed; [rad/s].
        candidates: motors that carry both, smallest first.
    """

    name: str
    torque: float
    speed: float
    candidates: Sequence[_Candidate]


def choose_motor(problem: Problem, solution: Solution, **options: Any) -> MotorChoice:
    """Return the smallest real motor with which a problem is solved, and its answer.

    The motors are those of the problem's library. Where it has none, they are the catalogue of
    `draft_core.trends`, for every motor class that has a design variable, lightest first: the class
    is anchored on the part, and its design variables are dropped.

    Args:
        problem: the problem, no motor fixed.
        solution: its answer, a success.
        options: arguments of `Problem.solve` for every solve; they begin from `solution`.

    Raises:
        SolverError: the solution is no success, or the options say where to begin.
        ProblemError: there are no motors to choose from.
    """
    groups = require_choice(problem)
    for name in ("start", "starts", "jobs"):
        if name in options:
            raise SolverError(f"choose_motor begins from the solution and takes no '{name}'")
    if not solution.success:
        raise SolverError(
            f"a motor is chosen for a success; this solution is none: {solution.message}"
        )
    task, answer = problem, solution
    chosen: dict[str, str] = {}
    trials: list[MotorTrial] = []
    needs: dict[str, tuple[float, float]] = {}
    for name in groups:
        group = _group(task, answer, name)
        needs[name] = (group.torque, group.speed)
        found = _first_that_works(group, answer, options, trials)
        if found is None:
            chosen = {}
            break
        candidate, answer = found
        task, chosen[name] = candidate.problem, candidate.name
    record = _record(solution, answer if chosen else None, chosen, needs, trials)
    record = replace(record, unit=_unit(problem, solution))
    record = replace(record, sentence=_sentence(record, solution, answer))
    return MotorChoice(task, _told(answer, record), _told(solution, record), record)


def _told(solution: Solution, record: MotorRecord) -> Solution:
    """Return a solution that tells of the choice."""
    notes = (*solution.notes, record.sentence)
    return replace(solution, motor_choice=record, notes=notes)


def require_choice(problem: Any) -> list[str]:
    """Return what motors have to be chosen for: the library's name, or keys of motor classes.

    Raises:
        ProblemError: for nothing, or there is nothing to choose.
    """
    from codesign.problem import Problem

    if not isinstance(problem, Problem):
        raise ProblemError(
            f"a motor is chosen for one problem; {type(problem).__name__} is none. Choose it for "
            "each of several tasks"
        )
    if problem.motors is not None and problem.motor:
        raise ProblemError(
            f"{type(problem).__name__}: motor '{problem.motor}' is fixed already; set motor = '' "
            "to choose one"
        )
    if problem.motors is not None:
        return [problem.motors.name]
    keys = dict.fromkeys(drive.key for drive in drives(problem.plant))
    free = [k for k in keys if any(n.startswith(f"{k}.") for n in problem.design)]
    if not free:
        raise ProblemError(
            f"{type(problem).__name__} has no motors to choose from: state a library, such as "
            "motors = DYNAMIXEL, or make a number of a motor class a design variable, such as "
            "'motors.leg.peak_torque'"
        )
    return free


def _group(problem: Problem, solution: Solution, name: str) -> _Group:
    robot = problem.plant.robot
    if problem.motors is not None:
        at = [
            (i, int(problem.plant.nominal.jnt_dofadr[actuator.joint_id]))
            for i, actuator in enumerate(robot.actuators)
            if actuator.kind == "motor" and actuator.joint_id is not None
        ]
        turns = np.asarray(motor_turns(problem.plant, solution.design), dtype=float)
        torque, speed = _demand(solution, at, turns)
        fitting = problem.motors.carrying(torque, speed, _MARGIN)
        return _Group(name, torque, speed, [_with_motor(problem, m.name) for m in fitting])
    at = [(d.actuator, d.dof) for d in drives(problem.plant) if d.key == name]
    torque, speed = _demand(solution, at, np.ones(problem.plant.nominal.nu))
    return _Group(name, torque, speed, list(_catalogued(problem, name, torque, speed)))


def _demand(
    solution: Solution, at: Sequence[tuple[int, int]], turns: NDArray[np.float64]
) -> tuple[float, float]:
    """Return peak torque [N m] and top speed [rad/s] of the motors of (actuator, dof) pairs.

    Args:
        solution: the motion.
        at: places of the motors among the actuators, and of their joints among the velocities.
        turns: turns of each actuator per turn of its joint, shape (nu,).
    """
    actuators, dofs = (list(places) for places in zip(*at, strict=True))
    torque = float(np.abs(solution.u[:, actuators]).max())
    return torque, float((turns[actuators] * np.abs(solution.v[:, dofs])).max())


def _with_motor(problem: Problem, motor: str) -> _Candidate:
    fixed = copy(problem)
    fixed.motor = motor
    return _Candidate(motor, fixed)


def _catalogued(problem: Problem, key: str, torque: float, speed: float) -> Iterator[_Candidate]:
    """Yield catalogued modules that carry a torque and a speed, lightest first, class anchored."""
    from draft_core.trends.catalog import catalogue

    modules = sorted(catalogue().values(), key=lambda module: (module.mass, module.model))
    for module in modules:
        if module.doubt or module.peak_torque * (1 + _MARGIN) < torque:
            continue
        if module.no_load_speed * (1 + _MARGIN) >= speed:
            yield _Candidate(module.model, anchored(problem, key, module.model))


def anchored(problem: Problem, key: str, part: str) -> Problem:
    """Return a problem whose motor class is a catalogued part and no longer a design variable.

    Args:
        problem: a problem with a `draft_core` robot.
        key: the class, such as "motors.leg".
        part: model name of the part (`draft_core.trends.catalog`).

    Raises:
        DraftError: the catalogue has no such part.
    """
    from draft_core.trends.catalog import module

    found = module(part)
    numbers = {"peak_torque": found.peak_torque, "no_load_speed": found.no_load_speed}
    mode = "torque_speed"
    if found.gear is not None:
        numbers["gear"], mode = found.gear, "torque_speed_gear"
    fixed = copy(problem)
    fixed.overrides = (*stated_overrides(problem), {key: {"part": part, "mode": mode, **numbers}})
    fixed.design = {n: b for n, b in problem.design.items() if not n.startswith(f"{key}.")}
    return fixed


def _first_that_works(
    group: _Group, start: Solution, options: Mapping[str, Any], trials: list[MotorTrial]
) -> tuple[_Candidate, Solution] | None:
    """Return the first candidate whose problem is solved, with its answer; record every trial."""
    is_library = group.candidates and group.candidates[0].problem.motor
    most = len(group.candidates) if is_library else _MOST_TRIALS
    for candidate in group.candidates[:most]:
        answer = _solved(candidate.problem, start, options)
        trials.append(
            MotorTrial(
                group.name,
                candidate.name,
                str(answer.status),
                answer.message,
                answer.objective if answer.success else None,
                answer.iterations,
                answer.wall_s,
            )
        )
        if answer.success:
            return candidate, answer
        if answer.status in _STOPPED:
            return None
    return None


def _solved(problem: Problem, start: Solution, options: Mapping[str, Any]) -> Solution:
    """Solve from an answer at the last relaxation and, where that fails, through every one."""
    answer = problem.solve(**{"seed": start.seed, **options, "start": start})
    if answer.success or answer.status in (*_STOPPED, SolveStatus.INFEASIBLE):
        return answer
    afar = replace(start, status=SolveStatus.NOT_CONVERGED)
    return problem.solve(**{"seed": start.seed, **options, "start": afar})


def _record(
    before: Solution,
    after: Solution | None,
    chosen: Mapping[str, str],
    needs: Mapping[str, tuple[float, float]],
    trials: Sequence[MotorTrial],
) -> MotorRecord:
    shared = [] if after is None else [n for n in before.design if n in after.design]
    return MotorRecord(
        motors=dict(chosen),
        torque={name: torque for name, (torque, _) in needs.items()},
        speed={name: speed for name, (_, speed) in needs.items()},
        trials=tuple(trials),
        continuous_objective=before.objective,
        objective=None if after is None else after.objective,
        price=None if after is None else after.objective - before.objective,
        unit="",
        mass_change=None if after is None else _mass(after) - _mass(before),
        design_change={
            name: (before.design[name], after.design[name]) for name in shared if after is not None
        },
        sentence="",
    )


def _mass(solution: Solution) -> float:
    """Return the mass of the robot at the solution's design; [kg]."""
    return float(np.sum(solution.compile().body_mass))


def _unit(problem: Problem, solution: Solution) -> str:
    """Return the unit of the objective where it can be told."""
    from codesign.certificate.prices import unit_of_objective

    ready = problem.transcription
    program = ready.program
    x = solution.resample(program.layout, ready.plant) / program.scale
    gradient = program.derivatives["grad_f"](x, [0.0, 1.0])[1]
    return unit_of_objective(ready, np.array(gradient).ravel())


def _sentence(record: MotorRecord, before: Solution, after: Solution) -> str:
    """Return the choice and its price in words."""
    demand = "; ".join(
        f"{name} needs {record.torque[name]:.3g} N m and {record.speed[name]:.3g} rad/s"
        for name in record.torque
    )
    failed = [t for t in record.trials if t.objective is None]
    if not record.motors:
        if not failed:
            return f"{demand}: no motor carries that"
        tried = "; ".join(f"{t.motor}: {t.message}" for t in failed)
        return f"{demand}: no motor that carries it was solved for ({tried})"
    assert record.price is not None
    assert record.mass_change is not None
    name = " and ".join(record.motors.values())
    skipped = f" (not solved with {', '.join(t.motor for t in failed)})" if failed else ""
    unit = f" {record.unit}" if record.unit else ""
    change = f"the objective goes from {record.continuous_objective:.4g} to {record.objective:.4g}"
    heavier = "heavier" if record.mass_change >= 0 else "lighter"
    cost = f"{'costs' if record.price >= 0 else 'gains'} {abs(record.price):.3g}{unit}"
    if abs(record.price) <= _SAME * max(1.0, abs(record.continuous_objective)):
        cost = "costs nothing"
    return (
        f"{demand}: built with {name}{skipped}, which {cost} ({change}{unit}); the robot becomes "
        f"{abs(record.mass_change):.3g} kg {heavier}"
    )
