"""What a user writes: several problems that one robot's design must serve.

class Courier(Tasks):
    combine = "worst"

    def tasks(self):
        return {"light": Carry(payload=0.1), "heavy": Carry(payload=0.5)}
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codesign.errors import ProblemError
from codesign.options import is_plain, option_names
from codesign.problem import Problem

if TYPE_CHECKING:
    from codesign.solution import Solution
    from codesign.solve.progress import ProgressFunction
    from codesign.tasks.solution import TasksSolution
    from codesign.tasks.solving import JointTranscription
    from draft_core.design import DesignVariable

COMBINATIONS = ("worst", "sum")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
_REBUILDING = ("combine", "weights")  # options that leave the tasks themselves as they are


class Tasks:
    """Problems by name that share one design; subclass it, state them, call `solve()`.

    They may differ in everything but their design variables: terrain, robot folder, knots,
    duration, objective, constraints. `BipedFlatAndStep(step={"knots": 31})` overrides options of
    one task, and an option that all tasks have, such as `knots=31`, those of all. Every other
    public class attribute that is not a method is an option of its own, as in `Problem`.

    Attributes:
        combine: "worst" minimises the largest objective, "sum" the sum of all; both weighted.
        weights: task → positive weight of its objective; 1 unless given.
    """

    combine: str = "worst"
    weights: Mapping[str, float] = {}

    def __init__(self, **options: Any) -> None:
        """Override options by name.

        Raises:
            ProblemError: there is no such option or task, or a value is out of range.
        """
        own = self.option_names()
        self._given = {name: value for name, value in options.items() if name not in own}
        for name, value in options.items():
            if name in own:
                setattr(self, name, value)
        self.check()

    def tasks(self) -> Mapping[str, Problem]:
        """Return the tasks, name → problem; a name is one word, also that of a folder."""
        return {}

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an option; what was built with its old value is built anew when next needed."""
        super().__setattr__(name, value)
        self.__dict__.pop("_joint", None)
        if name not in _REBUILDING:
            self.__dict__.pop("problems", None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what was built, so that it crosses processes and is built there."""
        return {name: value for name, value in self.__dict__.items() if name != "_joint"}

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Return the names of its own options."""
        return option_names(cls)

    @property
    def options(self) -> dict[str, Any]:
        """Plain options, its own and each task's, for the record of a solution."""
        own = {name: getattr(self, name) for name in self.option_names()}
        kept = {name: value for name, value in own.items() if is_plain(value)}
        return kept | {
            "weights": dict(self.weights),
            **{name: task.options for name, task in self.problems.items()},
        }

    @cached_property
    def problems(self) -> dict[str, Problem]:
        """The tasks with the options that were given for them.

        Raises:
            ProblemError: they are no problems by name, or have no such options.
        """
        name = type(self).__name__
        stated = self.tasks()
        if not isinstance(stated, Mapping) or not stated:
            raise ProblemError(
                f"{name}.tasks() returned {_short(stated)}; it must return the tasks, as "
                '{"flat": Walk(), "step": Climb()}'
            )
        for key, task in stated.items():
            if not isinstance(key, str) or not _NAME.fullmatch(key):
                raise ProblemError(
                    f"{name}: {_short(key)} is no name of a task: use one word of letters, digits "
                    "and _, at most 40"
                )
            if key in self.option_names():
                raise ProblemError(f"{name}: task '{key}' has the name of an option; rename one")
            if not isinstance(task, Problem):
                raise ProblemError(
                    f"{name}: task '{key}' is {_short(task)}; it must be a Problem, as Walk()"
                )
        found = dict(stated)
        for key, other in itertools.combinations(found, 2):
            if found[key] is found[other]:
                raise ProblemError(
                    f"{name}: tasks '{key}' and '{other}' are one object, which would share their "
                    "options; make a problem for each"
                )
        for option, value in self._given.items():
            _override(name, found, option, value, self.option_names())
        return found

    def check(self) -> None:
        """Refuse options that are out of range, without reading any robot.

        Raises:
            ProblemError: naming the option.
        """
        name = type(self).__name__
        if self.combine not in COMBINATIONS:
            raise ProblemError(
                f"{name}: combine is {self.combine!r}; it must be one of {', '.join(COMBINATIONS)}"
            )
        if not isinstance(self.weights, Mapping):
            raise ProblemError(
                f"{name}: weights is {_short(self.weights)}; it must map tasks to numbers"
            )
        for task, weight in self.weights.items():
            if task not in self.problems:
                raise ProblemError(
                    f"{name}: weights names task '{task}'. The tasks are: "
                    f"{', '.join(self.problems)}"
                )
            is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not is_number or not 0 < weight < math.inf:
                raise ProblemError(
                    f"{name}: the weight of task '{task}' is {weight!r}; it must be a positive "
                    "number"
                )
        designs = {key: task.design for key, task in self.problems.items()}
        first_key, first = next(iter(designs.items()))
        for key, design in designs.items():
            if isinstance(design, Mapping) and isinstance(first, Mapping):
                _check_same_names(name, (first_key, first), (key, design))

    def weight_of(self, task: str) -> float:
        """Return the weight of a task's objective."""
        return float(self.weights.get(task, 1.0))

    @property
    def transcription(self) -> JointTranscription:
        """The joint program of all tasks: built on first use, shared by all seeds.

        Raises:
            ProblemError: a task cannot be read, or their designs differ.
        """
        from codesign.tasks.solving import join

        self.check()
        built: JointTranscription | None = self.__dict__.get("_joint")
        if built is None or not built.is_of(self):
            built = join(self)
            self.__dict__["_joint"] = built
        return built

    def solve(
        self,
        seed: int = 0,
        *,
        starts: int = 1,
        jobs: int = 1,
        start: TasksSolution | Solution | str | Path | None = None,
        time_limit: float | None = None,
        max_iterations: int = 1000,
        relaxations: Sequence[float] = (1e-2, 1e-3, 1e-4),
        progress: ProgressFunction | None = None,
        guess: str | None = None,
        solver: str = "ipopt",
    ) -> TasksSolution:
        """Find the design and every task's motion together; see `codesign.solve.solve`.

        Args:
            seed: of the first random start; every task begins from the same seed.
            starts: as in `Problem.solve`.
            jobs: as in `Problem.solve`.
            start: an earlier answer to begin from, or one solution for every task.
            time_limit: as in `Problem.solve`.
            max_iterations: as in `Problem.solve`.
            relaxations: as in `Problem.solve`.
            progress: as in `Problem.solve`.
            guess: as in `Problem.solve`, of every task.
            solver: as in `Problem.solve`.
        """
        from codesign.solve.driver import solve

        found: Any = solve(  # the driver takes whatever is transcribed, and returns its answer
            self,
            seed=seed,
            starts=starts,
            jobs=jobs,
            start=start,  # pyright: ignore[reportArgumentType]
            time_limit=time_limit,
            max_iterations=max_iterations,
            relaxations=relaxations,
            progress=progress,
            guess=guess,
            solver=solver,
        )
        return found


def _override(
    name: str, tasks: dict[str, Problem], option: str, value: Any, own: Sequence[str]
) -> None:
    """Set options of one task, or one that all have.

    Raises:
        ProblemError: there is neither a task nor a common option of that name.
    """
    common = [o for o in next(iter(tasks.values())).option_names() if _all_have(tasks, o)]
    if option in tasks:
        if not isinstance(value, Mapping):
            raise ProblemError(
                f"{name}: '{option}' is a task, and {_short(value)} was given; give its options, "
                f"as {option}={{'knots': 31}}"
            )
        Problem.__init__(tasks[option], **value)
    elif option in common:
        for task in tasks.values():
            Problem.__init__(task, **{option: value})
    else:
        raise ProblemError(
            f"{name} has no option or task '{option}'. Its own options: {', '.join(own)}; "
            f"tasks: {', '.join(tasks)}; options that all tasks have: {', '.join(common)}"
        )


def _all_have(tasks: Mapping[str, Problem], option: str) -> bool:
    return all(option in task.option_names() for task in tasks.values())


def _check_same_names(
    name: str, first: tuple[str, Mapping[str, Any]], other: tuple[str, Mapping[str, Any]]
) -> None:
    for (key, design), (missing_in, lacking) in ((first, other), (other, first)):
        missing = [variable for variable in design if variable not in lacking]
        if missing:
            raise ProblemError(
                f"{name}: '{missing[0]}' is a design variable of task '{key}' and none of "
                f"'{missing_in}'; all tasks share the same ones, with the same bounds and initial "
                "values"
            )


def check_same_design(name: str, spaces: Mapping[str, Sequence[DesignVariable]]) -> None:
    """Refuse tasks whose design variables differ in bounds, initial value, unit or order.

    Args:
        name: of the class, for the message.
        spaces: each task's design variables.

    Raises:
        ProblemError: naming the variable and the two tasks.
    """
    first_key, first = next(iter(spaces.items()))
    if not first:
        raise ProblemError(f"{name}: its tasks share no design: state design = {{…}} in each")
    for key, variables in spaces.items():
        _check_same_names(
            name,
            (first_key, {v.name: v for v in first}),
            (key, {v.name: v for v in variables}),
        )
        for a, b in zip(first, variables, strict=True):
            if a != b:
                raise ProblemError(
                    f"{name}: the tasks differ in their design: {_told(a)} in '{first_key}', "
                    f"{_told(b)} in '{key}'; state it alike, as name: (lower, upper, initial), in "
                    "the same order"
                )


def _told(variable: DesignVariable) -> str:
    unit = f" {variable.unit}" if variable.unit else ""
    return (
        f"'{variable.name}' is {variable.lower:g} to {variable.upper:g}{unit} from "
        f"{variable.initial:g}"
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
