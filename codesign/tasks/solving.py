"""From `Tasks` to `TasksSolution`: one program for all tasks, followed from each start."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from codesign.certificate.prices import Price, design_prices, unit_of_objective
from codesign.errors import ProblemError
from codesign.nlp import JointProgram, join_programs
from codesign.solution import Solution, solution_of
from codesign.solve.guesses import chosen_guess
from codesign.solve.homotopy import Path, Solvers, follow
from codesign.solve.ipopt import Point, StopRequest, Vector
from codesign.solve.progress import ProgressFunction
from codesign.solve.strategy import DEFAULT, Strategy
from codesign.solve.transcribed import Transcription, bound_solvers, starting_point
from codesign.tasks.solution import TasksSolution, tasks_solution_of
from codesign.tasks.statement import check_same_design

if TYPE_CHECKING:
    from codesign.tasks.statement import Tasks

Box = tuple[Vector, Vector]


@dataclass(frozen=True)
class JointTranscription:
    """Several tasks made ready to solve as one.

    Attributes:
        parts: each task's own transcription, with the design variables that no task depends on in
            place of those that it does not depend on itself.
        program: the joint program.
        idle_design: design variables that no task depends on.
        build_seconds: time of building, all tasks together; [s].
    """

    parts: Mapping[str, Transcription]
    program: JointProgram
    idle_design: tuple[str, ...]
    build_seconds: float
    _sources: Mapping[str, Transcription] = field(repr=False)
    _statement: tuple[object, ...] = field(repr=False)
    _solvers: dict[tuple[int, Strategy], Solvers] = field(default_factory=dict, repr=False)

    def is_of(self, tasks: Tasks) -> bool:
        """Whether it is what the tasks say now."""
        now = {name: task.transcription for name, task in tasks.problems.items()}
        same = [ready is self._sources.get(name) for name, ready in now.items()]
        return all(same) and len(now) == len(self._sources) and _statement(tasks) == self._statement

    def solvers(self, max_iterations: int, strategy: Strategy = DEFAULT) -> Solvers:
        """Return a solver bound to the program and to its elastic form; made once for each."""
        key = max_iterations, strategy
        if key not in self._solvers:
            self._solvers[key] = bound_solvers(self.program, max_iterations, strategy)
        return self._solvers[key]

    def solve_once(
        self,
        tasks: Tasks,
        solvers: Solvers,
        seed: int,
        beginning: tuple[str | None, TasksSolution | Solution | None],
        relaxations: Sequence[float],
        stop: StopRequest,
        report: ProgressFunction,
        began: float,
    ) -> TasksSolution:
        """Follow the homotopy from one start of all tasks and return the audited answer.

        Raises:
            ProblemError: a task's start is not finite, or the search ended at a design that is no
                robot.
        """
        guess, start = beginning
        starts = _starts(tasks, start)
        points: list[Vector] = []
        boxes: list[Box] = []
        for name, task in tasks.problems.items():
            try:
                point, box = starting_point(task, self.parts[name], seed, (guess, starts[name]))
            except ProblemError as error:
                raise ProblemError(f"task '{name}': {error}") from error
            points.append(point.x)
            boxes.append(box)
        x, box = self.program.join(points), self.program.join_bounds(boxes)
        is_close = isinstance(start, TasksSolution) and start.success
        has_contacts = any(ready.program.layout.nc for ready in self.parts.values())
        schedule = tuple(relaxations) if has_contacts else (0.0,)
        schedule = schedule[-1:] if is_close else schedule
        path = follow(solvers, Point(x), box, schedule, stop, report, began, is_close)
        made_of = {
            name: guess if start is not None and guess else chosen_guess(task, guess)
            for name, task in tasks.problems.items()
        }
        found = {
            name: replace(_part(tasks, name, self, path, i, box, seed, began), guess=made_of[name])
            for i, name in enumerate(tasks.problems)
        }
        whole = tasks_solution_of(tasks, found, seed, time.monotonic() - began, self.build_seconds)
        return replace(whole, prices=_prices(self, path, box))


def join(tasks: Tasks) -> JointTranscription:
    """Transcribe every task and join the programs.

    Raises:
        ProblemError: a task cannot be read, or their designs differ.
        TracingError: a term uses an operation that has no derivative graph.
    """
    began = time.perf_counter()
    name = type(tasks).__name__
    spaces = {key: task.plant.space.variables for key, task in tasks.problems.items()}
    check_same_design(name, spaces)
    sources = {key: task.transcription for key, task in tasks.problems.items()}
    sets = [set(ready.idle_design) for ready in sources.values()]
    first = next(iter(spaces.values()))
    idle = tuple(v.name for v in first if all(v.name in each for each in sets))
    weights = [tasks.weight_of(key) for key in sources]
    program = join_programs([ready.program for ready in sources.values()], weights, tasks.combine)
    seconds = time.perf_counter() - began
    parts = {
        key: ready if ready.idle_design == idle else replace(ready, idle_design=idle)
        for key, ready in sources.items()
    }
    build = max(seconds, sum(ready.build_seconds for ready in sources.values()))
    return JointTranscription(parts, program, idle, build, sources, _statement(tasks))


def _statement(tasks: Tasks) -> tuple[object, ...]:
    return (tasks.combine, *((name, tasks.weight_of(name)) for name in tasks.problems))


def _starts(tasks: Tasks, start: TasksSolution | Solution | None) -> dict[str, Solution | None]:
    """Return what each task starts from.

    Raises:
        ProblemError: the earlier answer has no such task.
    """
    if not isinstance(start, TasksSolution):
        return dict.fromkeys(tasks.problems, start)
    missing = [name for name in tasks.problems if name not in start.tasks]
    if missing:
        raise ProblemError(
            f"cannot start from this solution: it has no task '{missing[0]}'; "
            f"it has: {', '.join(start.tasks)}"
        )
    return {name: start.tasks[name] for name in tasks.problems}


def _prices(ready: JointTranscription, path: Path, box: Box) -> tuple[Price, ...]:
    """Return what moving each active bound of the shared design is worth to the whole."""
    last, lam_x = path.last, path.point.lam_x
    if path.stopped or lam_x is None or last.phase != "objective" or not last.result.converged:
        return ()
    program = ready.program
    units = set()
    for task, x, weight in zip(
        ready.parts.values(), program.split(path.point.x), program.weights, strict=True
    ):
        gradient = np.array(task.program.derivatives["grad_f"](x, [0.0, 1.0])[1]).ravel()
        units.add(unit_of_objective(task, gradient) if weight == 1.0 else "")
    unit = units.pop() if len(units) == 1 else ""
    first, columns = next(iter(ready.parts.values())), program.columns[0]
    return design_prices(first, lam_x[columns], (box[0][columns], box[1][columns]), unit)


def _part(
    tasks: Tasks,
    name: str,
    ready: JointTranscription,
    path: Path,
    index: int,
    box: Box,
    seed: int,
    began: float,
) -> Solution:
    """Return one task's share of the joint answer as a solution of its own, audited.

    Its design is held where it is shared, so that its certificate is that of the motion.
    """
    program = ready.program
    columns = program.columns[index]
    point = program.part_of(path.point.x, path.point.lam_x, path.point.lam_g, index)
    own = replace(path, point=Point(*point))
    bounds = (box[0][columns], box[1][columns])
    held = program.programs[index].layout.fields["design"]
    design = np.clip(own.point.x[held], bounds[0][held], bounds[1][held])
    bounds[0][held] = bounds[1][held] = design
    solution = solution_of(
        tasks.problems[name], ready.parts[name], own, bounds, seed, time.monotonic() - began
    )
    others = " and ".join(f"'{other}'" for other in tasks.problems if other != name)
    shared = f"its design is shared with {others}" if others else "it is the only task"
    note = f"this is task '{name}' of {type(tasks).__name__}: {shared}"
    return replace(solution, notes=(note, *solution.notes))
