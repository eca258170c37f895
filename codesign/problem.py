"""What a user writes: a robot, a design space, an objective and constraints.

class ButtonPress(Problem):
    robot = "robot"
    design = {"leg_length": (0.05, 0.20)}
    duration, knots = 4.0, 16

    def objective(self, traj):
        return peak_torque(traj)

    def constraints(self, traj):
        yield standing(traj, knot=0)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from codesign.errors import ProblemError
from codesign.options import is_plain, option_names

if TYPE_CHECKING:
    from codesign.constraints import Constraint
    from codesign.motor_library import MotorLibrary
    from codesign.plant import Plant
    from codesign.solution import Solution
    from codesign.solve.progress import ProgressFunction
    from codesign.solve.starts import Keyframe
    from codesign.solve.transcribed import Transcription
    from codesign.terrain import Ground
    from codesign.trajectory import Trajectory


class Problem:
    """A robot and a task; subclass it, state what you want, call `solve()`.

    Every public class attribute that is not a method is an option: `ButtonPress(beta=1.0)`
    overrides the class's `beta`.

    Attributes:
        robot: robot folder, or the name of a robot that ships (`codesign robots`); a relative
            path is looked up beside the file of the class that states it, then in the working
            directory.
        design: design variables, name → (lower, upper) or (lower, upper, initial) in SI units; the
            initial value is the robot folder's own unless given.
        duration: longest duration of the motion; [s].
        knots: number of knots, at least 2.
        step_range: shortest and longest time step as multiples of duration / (knots − 1).
        step_turn: furthest that a hinge or the base may turn in one step; None for any turn; [rad].
        terrain: ground under the contact points; None is level ground at height 0.
        overrides: what the robot's parameters.yaml is to say otherwise: a mapping, an override file
            (looked up as `robot` is), or several, later ones winning.
        motors: motors that can be bought; the largest one's torque and speed bound the motion, and
            `codesign.motor_library.carries_motors` says what they ask of a body.
        motor: the one of them to build with, by name; empty lets the torque decide.
        integrator: 'implicit_midpoint', second order, or 'backward_euler', first order.
    """

    robot: str | Path = ""
    design: Mapping[str, Sequence[float]] = {}
    duration: float = 1.0
    knots: int = 16
    step_range: Sequence[float] = (0.2, 1.5)
    step_turn: float | None = None
    terrain: Ground | None = None
    integrator: str = "implicit_midpoint"
    overrides: Mapping[str, Any] | str | Path | Sequence[Mapping[str, Any] | str | Path] | None = (
        None
    )
    motors: MotorLibrary | None = None
    motor: str = ""

    _settings: ClassVar[tuple[str, ...]] = ("robot", "design", "terrain", "overrides", "motors")

    def __init__(self, **options: Any) -> None:
        """Override options by name.

        Raises:
            ProblemError: the problem has no such option, or a value is out of range.
        """
        known = self.option_names()
        for name, value in options.items():
            if name not in known:
                raise ProblemError(
                    f"{type(self).__name__} has no option '{name}'. It has: {', '.join(known)}"
                )
            setattr(self, name, value)
        _check_options(self)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an option; what was built with its old value is built anew when next needed."""
        super().__setattr__(name, value)
        for built in _BUILT:
            self.__dict__.pop(built, None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what was built, so that a problem crosses processes and is built there."""
        return {name: value for name, value in self.__dict__.items() if name not in _BUILT}

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Return the names that the constructor accepts."""
        return option_names(cls)

    @property
    def options(self) -> dict[str, Any]:
        """Values of all plain options (numbers, strings, lists), for the record of a solution."""
        plain = {name: getattr(self, name) for name in self.option_names()}
        return {n: v for n, v in plain.items() if n not in self._settings and is_plain(v)}

    def objective(self, traj: Trajectory) -> Any:
        """Return the number to minimise; zero asks for any feasible motion."""
        return 0.0

    def constraints(self, traj: Trajectory) -> Iterable[Constraint | Iterable[Constraint]]:
        """Yield the task's constraints."""
        return ()

    def keyframes(self) -> Sequence[Keyframe]:
        """Return rough poses that the start interpolates; none keeps the robot's own pose."""
        return ()

    def markers(self, design: Mapping[str, float]) -> Mapping[str, Sequence[float]]:
        """Return points of the world to show in pictures of a design, name → (x, y, z) [m]."""
        return {}

    @cached_property
    def plant(self) -> Plant:
        """Robot, design space and terrain; parsed on first use.

        Raises:
            DraftError: the robot folder cannot be read.
            ProblemError: the folder does not exist.
        """
        _check_options(self)
        import draft_core
        from codesign.motor_library.library import available_motors
        from codesign.plant import Plant
        from codesign.robot_files import stated_overrides
        from codesign.terrain import FLAT, require_terrain
        from draft_core.design import DesignSpace

        robot = draft_core.load(self.robot_folder(), stated_overrides(self))
        space = DesignSpace.of(robot, self.design)
        terrain = FLAT if self.terrain is None else self.terrain
        require_terrain(type(self).__name__, terrain)
        return Plant(robot, space, terrain, robot.source, available_motors(self))

    def robot_folder(self) -> Path:
        """Return the robot folder, or the name of a robot that ships.

        Raises:
            ProblemError: there is neither, with the places that were tried.
        """
        from codesign.robot_files import places
        from draft_core.robots import ROBOTS

        if not isinstance(self.robot, str | Path) or not str(self.robot):
            raise ProblemError(
                f"{type(self).__name__} names no robot: set robot = 'path/to/folder'"
            )
        given = Path(self.robot)
        tried = places(self, given)
        for place in tried:
            if place.is_dir():
                return place
        if str(given) in ROBOTS:
            return given
        listed = ", ".join(dict.fromkeys(str(place) for place in tried))
        raise ProblemError(
            f"{type(self).__name__}: robot '{given}' is no folder (tried: {listed}) and no robot "
            f"that ships: {', '.join(ROBOTS)}"
        )

    @cached_property
    def transcription(self) -> Transcription:
        """The nonlinear program and its solver: built on first use, shared by all seeds."""
        from codesign.solve.transcribed import transcribe

        return transcribe(self)

    def solve(
        self,
        seed: int = 0,
        *,
        starts: int = 1,
        jobs: int = 1,
        start: Solution | str | Path | None = None,
        time_limit: float | None = None,
        max_iterations: int = 1000,
        relaxations: Sequence[float] = (1e-2, 1e-3, 1e-4),
        progress: ProgressFunction | None = None,
        guess: str | None = None,
        solver: str = "ipopt",
    ) -> Solution:
        """Find design and motion together; see `codesign.solve.solve` for the arguments.

        Returns:
            The solution, successful or not; `solution.success` says which, `solution.message` why.
        """
        from codesign.solve.driver import solve

        found = solve(
            self,
            seed=seed,
            starts=starts,
            jobs=jobs,
            start=start,
            time_limit=time_limit,
            max_iterations=max_iterations,
            relaxations=relaxations,
            progress=progress,
            guess=guess,
            solver=solver,
        )
        return replace(found, task=copy(self))


_BUILT = ("plant", "transcription")  # cached properties
_MOST_KNOTS = 5000
_INTEGRATORS = ("backward_euler", "implicit_midpoint")  # named here to keep the import light


def _check_options(problem: Problem) -> None:
    name = type(problem).__name__
    duration, knots, steps = problem.duration, problem.knots, problem.step_range
    if not _is_number(duration) or not 0 < duration < math.inf:
        raise ProblemError(
            f"{name}: duration is {duration!r}; it must be a positive number of seconds"
        )
    if isinstance(knots, bool) or not isinstance(knots, int) or not 2 <= knots <= _MOST_KNOTS:
        raise ProblemError(
            f"{name}: knots is {knots!r}; it must be a whole number, 2 or more, up to {_MOST_KNOTS}"
        )
    good = isinstance(steps, list | tuple) and len(steps) == 2 and all(_is_number(s) for s in steps)
    if not good or not 0 < steps[0] <= steps[1] < math.inf:
        raise ProblemError(
            f"{name}: step_range is {steps!r}; it must be [shortest, longest], such as [0.5, 1.5]"
        )
    if steps[0] > 1:
        raise ProblemError(
            f"{name}: step_range starts at {steps[0]:g}, so that steps cannot fit the duration; "
            "start it at 1 or less"
        )
    turn = problem.step_turn
    if turn is not None and not (_is_number(turn) and turn > 0):
        raise ProblemError(
            f"{name}: step_turn is {turn!r}; it must be a positive number of radians, or None"
        )
    if problem.integrator not in _INTEGRATORS:
        raise ProblemError(
            f"{name}: integrator is {problem.integrator!r}; "
            f"it must be one of {', '.join(_INTEGRATORS)}"
        )
    if not isinstance(problem.design, Mapping):
        raise ProblemError(
            f"{name}: design is a {type(problem.design).__name__}; "
            "it must map names to (lower, upper) or (lower, upper, initial)"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
