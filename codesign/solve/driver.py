"""From a `Problem` to a `Solution`: transcribe once, then follow the relaxation from each start."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from codesign.errors import ProblemError, SolverError
from codesign.nlp import NonlinearProgram, assemble, elastic
from codesign.plant import Plant
from codesign.solve.checks import (
    idle_design,
    require_finite_start,
    require_live_rows,
    require_peaks_pushed_down,
)
from codesign.solve.homotopy import RELAXATIONS, Solvers, follow
from codesign.solve.ipopt import Ipopt, Point, StopRequest, interrupt_stops
from codesign.solve.progress import Progress, ProgressFunction, TerminalProgress, default_progress
from codesign.solve.starts import initial_point, variable_bounds
from codesign.transcription import INTEGRATORS, Layout, UserTerms, user_terms

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solution import Solution


@dataclass(frozen=True)
class Transcription:
    """A problem made ready to solve: everything that does not depend on the seed.

    Attributes:
        plant: robot, design space and terrain.
        terms: the user's objective and constraints.
        program: the nonlinear program.
        solvers: IPOPT bound to it and to its elastic form.
        integrator: how knots are joined, see `codesign.transcription.INTEGRATORS`.
        idle_design: design variables that nothing depends on; they keep their initial values.
        build_seconds: time of tracing, differentiation and assembly; [s].
    """

    plant: Plant
    terms: UserTerms
    program: NonlinearProgram
    solvers: Solvers
    integrator: str
    idle_design: tuple[str, ...]
    build_seconds: float


def transcribe(problem: Problem, tolerance: float = 1e-6) -> Transcription:
    """Trace and differentiate a problem.

    Raises:
        ProblemError: the problem cannot be read (names, shapes, bounds).
        TracingError: a term uses an operation that has no derivative graph.
    """
    began = time.perf_counter()
    plant = problem.plant
    robot = plant.robot
    if plant.nominal.nu == 0:
        raise ProblemError(f"robot '{robot.name}' has no actuators: give a joint a motor")
    if robot.contacts and INTEGRATORS[problem.integrator] != 1.0:
        raise ProblemError(
            f"robot '{robot.name}' has contact points, which need integrator = 'backward_euler'"
        )
    layout = Layout(
        knots=problem.knots,
        nq=plant.nominal.nq,
        nv=plant.nominal.nv,
        nu=plant.nominal.nu,
        nc=len(robot.contacts),
        n_design=len(plant.space.names),
    )
    terms = user_terms(problem, plant, layout)
    program = assemble(plant, terms, problem.duration, problem.integrator)
    require_live_rows(program)
    idle = idle_design(plant, program)
    options, softened = _ipopt_options(tolerance), elastic(program)
    solvers = Solvers(Ipopt(program, options), Ipopt(softened, options), softened)
    seconds = time.perf_counter() - began
    return Transcription(plant, terms, program, solvers, problem.integrator, idle, seconds)


def _ipopt_options(tolerance: float) -> dict[str, Any]:
    return {
        "tol": tolerance,
        "constr_viol_tol": tolerance,
        "acceptable_iter": 0,
        "mu_strategy": "adaptive",
        "max_iter": 1000,
    }


def solve(
    problem: Problem,
    *,
    seed: int = 0,
    starts: int = 1,
    start: Solution | None = None,
    time_limit: float | None = None,
    relaxations: Sequence[float] = RELAXATIONS,
    progress: ProgressFunction | None = None,
) -> Solution:
    """Solve a problem from one or several random starts and return the best answer.

    Args:
        problem: the robot and the task.
        seed: seed of the first start; further starts use seed + 1, seed + 2, …
        starts: number of random starts.
        start: an earlier solution to begin from instead of a random start.
        time_limit: wall time for everything, building included; [s].
        relaxations: complementarity relaxations ε to pass through, decreasing.
        progress: called while the solve runs; None draws a line on a terminal and is silent
            elsewhere.

    Raises:
        ProblemError: the problem is stated wrongly.
        SolverError: a setting is out of range.
    """
    _check_settings(seed, starts, time_limit, relaxations)
    began = time.monotonic()
    report = default_progress() if progress is None else progress
    stop = StopRequest(began + time_limit if time_limit is not None else float("inf"))
    report(Progress("build"))
    ready = problem.transcription
    best: Solution | None = None
    try:
        with interrupt_stops(stop):
            for attempt in range(starts):
                solution = _solve_once(
                    problem, ready, seed + attempt, start, relaxations, stop, report, began
                )
                best = solution if best is None or _is_better(solution, best) else best
                if stop:
                    break
    finally:
        if isinstance(report, TerminalProgress):
            report.close()
    assert best is not None
    return best


def _check_settings(
    seed: int, starts: int, time_limit: float | None, relaxations: Sequence[float]
) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise SolverError(f"seed is {seed!r}; it must be a whole number, 0 or more")
    if isinstance(starts, bool) or not isinstance(starts, int) or starts < 1:
        raise SolverError(f"starts is {starts!r}; it must be a whole number, 1 or more")
    if time_limit is not None and not time_limit > 0:
        raise SolverError(f"time_limit is {time_limit!r}; it must be a positive number of seconds")
    values = np.asarray(relaxations, dtype=float)
    if not len(values) or not np.all(np.diff(values) < 0) or values[-1] <= 0:
        raise SolverError(
            f"relaxations are {list(relaxations)}; they must be positive and decrease"
        )


def _is_better(a: Solution, b: Solution) -> bool:
    if a.success != b.success:
        return a.success
    if a.success:
        return a.objective < b.objective
    return a.audit.max_violation < b.audit.max_violation


def _solve_once(
    problem: Problem,
    ready: Transcription,
    seed: int,
    start: Solution | None,
    relaxations: Sequence[float],
    stop: StopRequest,
    report: ProgressFunction,
    began: float,
) -> Solution:
    from codesign.solution import solution_of

    program = ready.program
    low, high = variable_bounds(
        ready.plant,
        program.layout,
        problem.duration,
        (problem.step_range[0], problem.step_range[1]),
    )
    for name in ready.idle_design:
        i = program.layout.fields["design"][ready.plant.space.names.index(name)]
        low[i] = high[i] = ready.plant.space.initial[ready.plant.space.names.index(name)]
    z = _start_vector(problem, ready, seed, start)
    box = (low / program.scale, high / program.scale)
    point = Point(np.clip(z / program.scale, *box))
    require_finite_start(program, point.x)
    require_peaks_pushed_down(program, point.x)
    schedule = relaxations if program.layout.nc else (0.0,)
    if start is not None and start.success:
        schedule = tuple(schedule)[-1:]
    path = follow(ready.solvers, point, box, schedule, stop, report, began)
    return solution_of(problem, ready, path, box, seed, time.monotonic() - began)


def _start_vector(
    problem: Problem, ready: Transcription, seed: int, start: Solution | None
) -> np.ndarray:
    from codesign.tracing import evaluate

    layout = ready.program.layout
    if start is None:
        z = initial_point(ready.plant, layout, problem.keyframes(), problem.duration, seed)
    else:
        z = start.resample(layout, ready.plant)
    if layout.n_peaks:
        peaks = np.asarray(evaluate(ready.terms.evaluate, z)[2])
        z[layout.fields["peaks"]] = peaks + 0.1 * np.abs(peaks)
    return z
