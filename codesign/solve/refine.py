"""The answer that the mesh does not decide: solve, split every interval in two, solve again.

A mesh of K knots becomes one of 2 K − 1, warm-started, until from one mesh to the next

    |J' − J| ≤ max(floor, change · max(|J'|, |J|))     and     |E| ≤ energy · Σ |actuator work|,

J the objective, E the energy that the integrator made or lost over the motion
(`codesign.physics`). The floor is for an objective that nearly vanishes, whose last digits are of
no worth to the designer. The finer value is the answer, the coarser ones are the record of how far
they were from it.

A warm start keeps the last relaxation and leaves feasibility out. Where that fails the mesh is
tried once more from the same point through feasibility and every relaxation
(`codesign.solve.homotopy`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from codesign.errors import CodesignError, SolverError
from codesign.solve.progress import Progress, ProgressFunction, TerminalProgress, default_progress
from codesign.solve.status import SolveStatus
from draft_core.errors import DraftError

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solution import Solution

CHANGE = 0.05
ENERGY = 0.05
MOST_KNOTS = 241
MESH_CONVERGED = "mesh-converged: "
_NOT = "not mesh-converged: "
_NO_ENERGY = 1e-9  # [J] that rounding alone makes
_STOPPED = (SolveStatus.INTERRUPTED, SolveStatus.TIME_LIMIT)


@dataclass(frozen=True)
class MeshRecord:
    """What came of one mesh.

    Attributes:
        knots: number of knots.
        objective: objective with true maxima; NaN where there is no solution.
        change: relative change of the objective from the mesh before; NaN for the first.
        energy_share: energy that the integrator made (+) or lost (−) over the motion, as a share
            of the total actuator work.
        contact_work_share: largest positive contact work of an interval, as a share of the same.
        iterations: solver iterations, those of a failed warm start included.
        wall_s: wall time, building included; [s].
        success: whether the solve on this mesh succeeded.
        message: what its status means.
    """

    knots: int
    objective: float
    change: float
    energy_share: float
    contact_work_share: float
    iterations: int
    wall_s: float
    success: bool
    message: str

    @classmethod
    def of(cls, solution: Solution, change: float = math.nan) -> MeshRecord:
        """Return the record of a solution."""
        energy = solution.audit.energy
        work = energy.total_actuator_work
        return cls(
            knots=len(solution.t),
            objective=solution.objective,
            change=change,
            energy_share=_share(energy.made_by_integrator, work),
            contact_work_share=_share(energy.worst_contact_work, work),
            iterations=solution.iterations,
            wall_s=solution.wall_s,
            success=solution.success,
            message=solution.message,
        )


def refine(
    solution: Solution,
    *,
    change: float = CHANGE,
    energy: float = ENERGY,
    floor: float = 0.0,
    most_knots: int = MOST_KNOTS,
    time_limit: float | None = None,
    progress: ProgressFunction | None = None,
    problem: Problem | None = None,
) -> Solution:
    """Solve a solution's problem on finer and finer meshes until they agree.

    A solution that was refined before goes on from its finest mesh.

    Args:
        solution: a success.
        change: most relative change of the objective between the last two meshes.
        energy: most energy that the integrator may make or lose over the motion, as a share of
            the total actuator work.
        floor: a change of the objective that is none, whatever its share; in the objective's unit.
        most_knots: no mesh has more knots.
        time_limit: wall time from the call on, at which the solver is stopped; [s].
        progress: called while the solves run; None draws a line on a terminal and is silent
            elsewhere.
        problem: the solution's problem, where it is not known: that of a loaded solution is made
            again from its file and options.

    Returns:
        The solution on the finest mesh that was solved. Its ``mesh`` has a record of every mesh,
        its last note says whether the thresholds were reached, and if not, why not.

    Raises:
        SolverError: a setting is out of range, or the solution is no success.
        ProblemError: the problem cannot be found, or is not the one that was solved.
    """
    _check_settings(change, energy, floor, most_knots, time_limit)
    asked = Thresholds(float(change), float(energy), float(floor))
    if not solution.success:
        raise SolverError(
            f"only a success can be refined; this solution is none: {solution.message}"
        )
    task = problem_of(solution) if problem is None else require_same(problem, solution)
    report = default_progress() if progress is None else progress
    rounds = _Rounds(task, solution, report, time.monotonic(), time_limit)
    try:
        while not is_mesh_converged(rounds.mesh, asked):
            if rounds.next_knots > most_knots:
                rounds.reason = (
                    f"{_distance(rounds.mesh, asked)}, and a mesh of "
                    f"{rounds.next_knots} knots would be more than most_knots = {most_knots}"
                )
                break
            if not rounds.run():
                break
    finally:
        if isinstance(report, TerminalProgress):
            report.close()
    verdict = _verdict(rounds, asked)
    return replace(rounds.finest, mesh=rounds.mesh, notes=(*_other_notes(rounds.finest), verdict))


@dataclass(frozen=True)
class Thresholds:
    """When meshes agree; see `refine`."""

    change: float = CHANGE
    energy: float = ENERGY
    floor: float = 0.0

    def allow_change(self, before: MeshRecord, after: MeshRecord) -> bool:
        """Return whether the objective stands still from one mesh to the next."""
        return abs(after.objective - before.objective) <= self.floor or after.change <= self.change


def is_mesh_converged(mesh: Sequence[MeshRecord], asked: Thresholds) -> bool:
    """Return whether the last two solved meshes agree, and the last one keeps its energy."""
    solved = [row for row in mesh if row.success]
    if len(solved) < 2:
        return False
    return asked.allow_change(*solved[-2:]) and abs(solved[-1].energy_share) <= asked.energy


def mesh_rows(mesh: Sequence[MeshRecord]) -> list[list[str]]:
    """Return a heading and a row for each mesh, as text for a table."""
    rows = [
        [
            str(row.knots),
            _text(row.objective, "{:.6g}"),
            _text(100 * row.change, "{:.2g} %"),
            _text(100 * row.energy_share, "{:+.2g} %"),
            _text(100 * row.contact_work_share, "{:.2g} %"),
            str(row.iterations),
            f"{row.wall_s:.1f} s",
            "solved" if row.success else "failed",
        ]
        for row in mesh
    ]
    head = ["knots", "objective", "change", "numerical energy", "contact work"]
    return [[*head, "iterations", "time", ""], *rows]


def _text(value: float, form: str) -> str:
    return form.format(value) if math.isfinite(value) else "–"


class _Rounds:
    """The running state of `refine`."""

    def __init__(
        self,
        problem: Problem,
        solution: Solution,
        report: ProgressFunction,
        began: float,
        time_limit: float | None,
    ) -> None:
        self.problem, self.finest, self.report = problem, solution, report
        self.deadline = math.inf if time_limit is None else began + time_limit
        solved = tuple(row for row in solution.mesh if row.success)
        self.mesh = solved or (MeshRecord.of(solution),)
        self.reason = ""

    @property
    def next_knots(self) -> int:
        """Knots of the mesh that splits every interval of the finest in two."""
        return 2 * len(self.finest.t) - 1

    def run(self) -> bool:
        """Solve on the next mesh and record it; False ends the refinement, with a reason."""
        knots, began, iterations = self.next_knots, time.monotonic(), 0
        try:
            task = with_knots(self.problem, knots)
            # A start that is no success is led through feasibility and every relaxation.
            for start in (self.finest, replace(self.finest, status=SolveStatus.NOT_CONVERGED)):
                if time.monotonic() >= self.deadline:
                    return self._failed(knots, iterations, began, "the time limit was reached")
                found = self._solve(task, start)
                iterations += found.iterations
                if found.success or found.status in _STOPPED:
                    break
        except KeyboardInterrupt:
            return self._failed(knots, iterations, began, "the refinement was interrupted")
        except Exception as error:  # what a user's terms raise on a mesh they were not written for
            is_told = isinstance(error, CodesignError | DraftError)
            why = str(error) if is_told else f"{type(error).__name__}: {error}"
            return self._failed(knots, iterations, began, " ".join(why.split()))
        change = _change(found.objective, self.finest.objective)
        row = MeshRecord.of(found, change)
        row = replace(row, iterations=iterations, wall_s=time.monotonic() - began)
        self.mesh = (*self.mesh, row)
        if not found.success:
            self.reason = f"the mesh of {knots} knots was not solved ({found.message})"
            return False
        self.finest, self.problem = found, task
        return True

    def _solve(self, task: Problem, start: Solution) -> Solution:
        left = self.deadline - time.monotonic()

        def tell(progress: Progress) -> None:
            self.report(replace(progress, note=f"{task.knots} knots"))

        limit = None if math.isinf(left) else max(left, 1e-3)
        return task.solve(seed=start.seed, start=start, time_limit=limit, progress=tell)

    def _failed(self, knots: int, iterations: int, began: float, why: str) -> bool:
        """Record a mesh that ended without a solution."""
        nothing, seconds = math.nan, time.monotonic() - began
        row = MeshRecord(knots, nothing, nothing, nothing, nothing, iterations, seconds, False, why)
        self.mesh = (*self.mesh, row)
        self.reason = f"the mesh of {knots} knots was not solved ({why})"
        return False


def with_knots(problem: Problem, knots: int) -> Problem:
    """Return the same problem with another number of knots.

    ``step_range`` is in multiples of duration / (knots − 1), so that it keeps its meaning.
    """
    finer = copy(problem)
    finer.knots = knots
    return finer


def problem_of(solution: Solution) -> Problem:
    """Return the problem that a solution solves, made again where the solution was loaded.

    Raises:
        ProblemError: it cannot be found, or is no longer the one that was solved.
    """
    from codesign.problem_source import problem_again

    if solution.task is not None:
        return with_knots(solution.task, len(solution.t))
    return require_same(problem_again(solution), solution)


def require_same(problem: Any, solution: Solution) -> Problem:
    """Return a problem with a solution's number of knots if the solution can be its answer.

    Raises:
        SolverError: it is no problem.
        ProblemError: its name, robot, design space or ground is another.
    """
    from codesign.errors import ProblemError
    from codesign.problem import Problem

    if not isinstance(problem, Problem):
        raise SolverError(f"problem is a {type(problem).__name__}; it must be a Problem")
    task, name = with_knots(problem, len(solution.t)), type(problem).__name__
    plant = task.plant
    bounds = {v.name: (v.lower, v.upper, v.initial) for v in plant.space.variables}
    solved = {k: (v.lower, v.upper, v.initial) for k, v in solution.design_values.items()}
    for what, is_same in (
        ("name", name == solution.problem),
        ("robot", dict(plant.source) == dict(solution.robot_source)),
        ("design space", bounds == solved),
        ("ground", plant.terrain.name == solution.terrain),
    ):
        if not is_same:
            raise ProblemError(
                f"{name} is not the problem that was solved: its {what} is another now. Solve it "
                "again, or give the problem as it was: refine(problem=...)"
            )
    return task


def _change(new: float, old: float) -> float:
    size = max(abs(new), abs(old))
    return abs(new - old) / size if size > 0 else 0.0


def _share(amount: float, work: float) -> float:
    if abs(amount) <= _NO_ENERGY:
        return 0.0
    return amount / work if work > 0 else math.copysign(math.inf, amount)


def _distance(mesh: Sequence[MeshRecord], asked: Thresholds) -> str:
    """Say how far the last two solved meshes are from the thresholds."""
    solved = [row for row in mesh if row.success]
    last, told = solved[-1], []
    if len(solved) > 1:
        step = f"from {solved[-2].knots} to {last.knots} knots"
        moved, beyond = abs(last.objective - solved[-2].objective), ""
        if last.change > asked.change:
            beyond = f", more than {100 * asked.change:.3g} %"
            if moved <= asked.floor:
                beyond = f" ({moved:.2g}, below the floor of {asked.floor:.3g})"
        told.append(f"the objective changed by {100 * last.change:.2g} % {step}{beyond}")
    share, verb = abs(last.energy_share), "made" if last.energy_share > 0 else "lost"
    beyond = f", more than {100 * asked.energy:.3g} %" if share > asked.energy else ""
    told.append(f"the integrator {verb} {100 * share:.2g} % of the actuator work{beyond}")
    return " and ".join(told)


def _verdict(rounds: _Rounds, asked: Thresholds) -> str:
    """Return the note that tells whether the answer depends on the mesh."""
    if is_mesh_converged(rounds.mesh, asked):
        return MESH_CONVERGED + _distance(rounds.mesh, asked)
    return _NOT + rounds.reason


def _other_notes(solution: Solution) -> tuple[str, ...]:
    """Return a solution's notes without the verdict of an earlier refinement."""
    ours = (MESH_CONVERGED, _NOT)
    return tuple(note for note in solution.notes if not note.startswith(ours))


def _check_settings(change: Any, energy: Any, floor: Any, most_knots: Any, time_limit: Any) -> None:
    for name, value in (("change", change), ("energy", energy), ("time_limit", time_limit)):
        if name == "time_limit" and value is None:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and value > 0):
            unit = " of seconds" if name == "time_limit" else ", a share such as 0.05"
            raise SolverError(f"{name} is {value!r}; it must be a positive number{unit}")
    is_number = isinstance(floor, int | float) and not isinstance(floor, bool)
    if not (is_number and 0 <= floor < math.inf):
        raise SolverError(f"floor is {floor!r}; it must be a number, 0 or more")
    if isinstance(most_knots, bool) or not isinstance(most_knots, int) or most_knots < 3:
        raise SolverError(f"most_knots is {most_knots!r}; it must be a whole number, 3 or more")
