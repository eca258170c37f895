"""From a `Problem` to a `Solution`: transcribe once, then follow the relaxation from each start."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from codesign.errors import ProblemError, SolverError
from codesign.nlp import JointProgram, NonlinearProgram, assemble
from codesign.plant import Plant
from codesign.solve.anchors import PoseRows
from codesign.solve.checks import (
    idle_design,
    require_finite_start,
    require_live_rows,
    require_numbers,
    require_peaks_pushed_down,
    require_supported,
    require_valid_design_space,
)
from codesign.solve.guesses import FROM_SOLUTION, chosen_guess, guessed_point, require_guess
from codesign.solve.homotopy import RELAXATIONS, Solvers, follow
from codesign.solve.ipopt import Point, StopRequest, Vector, interrupt_stops
from codesign.solve.parallel import Crashed, Outcome, parallel
from codesign.solve.progress import Progress, ProgressFunction, TerminalProgress, default_progress
from codesign.solve.starts import quaternion_starts, variable_bounds
from codesign.solve.starts_record import CRASHED, NO_ROBOT, StartRecord
from codesign.solve.strategy import DEFAULT, Strategy, require_solver
from codesign.tracing import evaluator
from codesign.trajectory import PeakCollector, Trajectory
from codesign.transcription import Layout, UserTerms, interval_function, user_terms
from codesign.transcription.layout import interval_widths
from draft_core.backend import jax, jnp

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solution import Solution
    from codesign.tasks import Tasks
    from codesign.tasks.solving import JointTranscription


Beginning: TypeAlias = (
    "tuple[str | None, Solution | None]"  # what a start is made of, or the solution
)
TOLERANCE = 1e-6
MAX_ITERATIONS = 1000


@dataclass(frozen=True)
class Transcription:
    """A problem made ready to solve: everything that does not depend on the seed.

    Attributes:
        plant: robot, design space and terrain.
        terms: the user's objective and constraints.
        program: the nonlinear program.
        integrator: how knots are joined, see `codesign.transcription.INTEGRATORS`.
        idle_design: design variables that nothing depends on; they keep their initial values.
        build_seconds: time of tracing, differentiation and assembly; [s].
    """

    plant: Plant
    terms: UserTerms
    program: NonlinearProgram
    integrator: str
    idle_design: tuple[str, ...]
    build_seconds: float

    @cached_property
    def evaluate_terms(self) -> Callable[..., Any]:
        """The user's terms in NumPy: z → (objective, rows, true maxima)."""
        return evaluator(self.terms.evaluate, np.zeros(self.terms.layout.size))

    @cached_property
    def evaluate_forces(self) -> Callable[..., Any]:
        """Contact forces in NumPy: z → (N, nc, 3), on the robot, in the world frame; [N]."""
        layout = self.terms.layout

        def forces(z: Any) -> Any:
            return Trajectory.of(self.plant, layout.split(z), PeakCollector()).contact_force

        return evaluator(forces, np.zeros(layout.size))

    @cached_property
    def evaluate_intervals(self) -> Callable[..., Any]:
        """Residuals of all intervals in NumPy, from their local variables (N, ·), unscaled."""
        layout = self.terms.layout
        residuals = interval_function(self.plant, self.integrator)
        edges = np.cumsum(interval_widths(layout)[:-1])

        def one(local: Any) -> Any:
            parts = jnp.split(local, edges)
            return residuals(*parts[:8], parts[8][0], parts[9])

        return evaluator(jax.vmap(one), np.zeros(layout.interval_index.shape))

    @cached_property
    def lagrangian_gradient(self) -> Callable[[Vector, Vector], Vector]:
        """∇(f + yᵀ g) by JAX in NumPy, (z, y) → (n,); see `codesign.certificate.lagrangian`."""
        from codesign.certificate.lagrangian import lagrangian_gradient

        return lagrangian_gradient(self.plant, self.terms, self.program, self.integrator)

    @cached_property
    def pose_rows(self) -> PoseRows:
        """The task's rows that speak of poses alone; an automatic start meets them first."""
        return PoseRows.of(self.program, quaternion_starts(self.plant))

    @cached_property
    def penalties(self) -> ca.Function:
        """The penalty of many points at once; see `codesign.solve.improvement`."""
        from codesign.solve.improvement import penalty_function

        return penalty_function(self.program)

    @cached_property
    def _solvers(self) -> dict[tuple[int, Strategy], Solvers]:
        return {}

    @cached_property
    def variants(self) -> dict[str, Transcription]:
        """The problem in other formulations of complementarity, as far as they were asked for."""
        return {}

    def solvers(self, max_iterations: int, strategy: Strategy = DEFAULT) -> Solvers:
        """Return a solver bound to the program and to its elastic form; made once for each."""
        key = max_iterations, strategy
        if key not in self._solvers:
            self._solvers[key] = bound_solvers(self.program, max_iterations, strategy)
        return self._solvers[key]

    def solve_once(
        self,
        problem: Problem,
        solvers: Solvers,
        seed: int,
        beginning: Beginning,
        relaxations: Sequence[float],
        stop: StopRequest,
        report: ProgressFunction,
        began: float,
    ) -> Solution:
        """Follow the homotopy from one start and return the audited answer.

        Raises:
            ProblemError: the start is not finite, or the search ended at a design that is no robot.
        """
        from codesign.solution import solution_of

        guess, start = beginning
        point, box = starting_point(problem, self, seed, beginning)
        is_close = start is not None and start.success
        schedule = tuple(relaxations) if self.program.layout.nc else (0.0,)
        schedule = schedule[-1:] if is_close else schedule
        path = follow(solvers, point, box, schedule, stop, report, began, is_close)
        found = solution_of(problem, self, path, box, seed, time.monotonic() - began)
        return replace(found, guess=guess or "")


def bound_solvers(
    program: NonlinearProgram | JointProgram, max_iterations: int, strategy: Strategy = DEFAULT
) -> Solvers:
    """Return a solver bound to a program and to its elastic form."""
    return strategy.bind(program, ipopt_options(max_iterations))


def transcribe(problem: Problem, formulation: str = DEFAULT.formulation) -> Transcription:
    """Trace and differentiate a problem.

    Args:
        problem: the robot and the task.
        formulation: of complementarity, one of `codesign.contact.FORMULATIONS`.

    Raises:
        ProblemError: the problem cannot be read (names, shapes, bounds).
        SolverError: there is no such formulation.
        TracingError: a term uses an operation that has no derivative graph.
    """
    began = time.perf_counter()
    plant = problem.plant
    require_supported(plant, problem.integrator)
    require_valid_design_space(plant)
    layout = Layout.of(plant, problem.knots)
    terms = user_terms(problem, plant, layout)
    program = assemble(plant, terms, problem.duration, problem.integrator, formulation)
    require_live_rows(program)
    idle = idle_design(plant, program)
    seconds = time.perf_counter() - began
    return Transcription(plant, terms, program, problem.integrator, idle, seconds)


def ipopt_options(max_iterations: int = MAX_ITERATIONS) -> dict[str, Any]:
    """Return IPOPT's options.

    The Jacobian is always regularised: tasks state redundant equations (an orientation by four
    numbers, a rest that follows from the dynamics), whose multipliers would otherwise grow until
    IPOPT's scaled tests pass anywhere. MUMPS orders by minimum degree (AMD), which fits chains of
    intervals: its own choice takes up to twice the time on the walking studies
    (docs/decisions/0007-order-of-elimination.md).
    """
    return {
        "tol": TOLERANCE,
        "constr_viol_tol": TOLERANCE,
        "dual_inf_tol": 1e-3,
        "acceptable_iter": 0,
        "mu_strategy": "adaptive",
        "perturb_always_cd": "yes",
        "mumps_pivot_order": 0,
        "max_iter": max_iterations,
    }


def solve(
    problem: Problem | Tasks,
    *,
    seed: int = 0,
    starts: int = 1,
    jobs: int = 1,
    start: Solution | str | Path | None = None,
    time_limit: float | None = None,
    max_iterations: int = MAX_ITERATIONS,
    relaxations: Sequence[float] = RELAXATIONS,
    progress: ProgressFunction | None = None,
    guess: str | None = None,
    solver: str = DEFAULT.solver,
    strategy: Strategy = DEFAULT,
) -> Solution:
    """Solve a problem from one or several random starts and return the best answer.

    Args:
        problem: the robot and the task.
        seed: seed of the first start; further starts use seed + 1, seed + 2, …
        starts: number of random starts; what came of each is in the answer's `starts`.
        jobs: processes that take starts at the same time; 1 solves them here, one by one. The
            answer to a seed is the same.
        start: an earlier solution, or the folder of a saved one, to begin from instead of a random
            start.
        time_limit: wall time from the call on, at which the solver is stopped; building counts but
            is not cut short; [s].
        max_iterations: most iterations of each stage.
        relaxations: complementarity relaxations ε to pass through, decreasing.
        progress: called while the solve runs; None draws a line on a terminal and is silent
            elsewhere.
        guess: what random starts are made of, see `codesign.solve.guesses`; None takes the
            problem's keyframes, and an automatic start where it gives none.
        solver: one of `codesign.solve.strategy.SOLVERS`.
        strategy: how the program is stated and solved; its solver is the one named here.

    Raises:
        ProblemError: the problem is stated wrongly.
        SolverError: a setting is out of range.
    """
    from codesign.problem import Problem

    _check_settings(seed, starts, jobs, time_limit, max_iterations, relaxations)
    require_solver(solver)
    if strategy != DEFAULT and (jobs > 1 or not isinstance(problem, Problem)):
        raise SolverError("a strategy is followed for one task in one process: use jobs=1")
    strategy = replace(strategy, solver=solver)
    first = _solution_to_start_from(start, problem)
    if progress is not None and not callable(progress):
        raise SolverError(f"progress is {progress!r}; it must be a function of a Progress")
    require_guess(guess)
    if first is not None and guess is not None:
        raise SolverError("give a start or a guess, not both")
    made_of = FROM_SOLUTION if first is not None else guess
    if first is None and isinstance(problem, Problem):
        made_of = chosen_guess(problem, guess)
    began = time.monotonic()
    report = default_progress() if progress is None else progress
    stop = StopRequest(began + time_limit if time_limit is not None else float("inf"))
    report(Progress("build"))
    seeds = range(seed, seed + starts)
    if jobs > 1 and starts > 1:
        _check_markers(problem)
        options = {"start": first, "max_iterations": max_iterations, "relaxations": relaxations}
        options["solver"] = solver
        options["guess"] = None if first is not None else made_of
        outcomes = parallel(problem, seeds, jobs, options, stop)
    else:
        ready = _stated(problem, strategy.formulation)
        solvers = ready.solvers(max_iterations, strategy)
        _check_markers(problem)
        since = began if starts == 1 else None
        outcomes = _one_by_one(
            problem, ready, solvers, seeds, (made_of, first), relaxations, stop, report, since
        )
    try:
        with interrupt_stops(stop):
            return _best(outcomes, starts, report, began)
    finally:
        if isinstance(report, TerminalProgress):
            report.close()


def _check_markers(problem: Problem | Tasks) -> None:
    """Refuse markers that are no points, before the solve rather than after it."""
    from codesign.problem import Problem
    from codesign.solution import checked_markers

    for part in [problem] if isinstance(problem, Problem) else problem.problems.values():
        checked_markers(part, part.plant.space.as_dict(part.plant.space.initial))


def _stated(problem: Any, formulation: str) -> Any:
    """Return a problem's transcription in a formulation; each is made once."""
    ready = problem.transcription
    if formulation == DEFAULT.formulation:
        return ready
    if formulation not in ready.variants:
        ready.variants[formulation] = transcribe(problem, formulation)
    return ready.variants[formulation]


def _one_by_one(
    problem: Any,
    ready: Transcription | JointTranscription,
    solvers: Solvers,
    seeds: Iterable[int],
    beginning: Beginning,
    relaxations: Sequence[float],
    stop: StopRequest,
    report: ProgressFunction,
    since: float | None,
) -> Iterator[Outcome]:
    """Solve from one seed after the other, here; the first one even if there is no time.

    ``since`` is when the only start began, building included; None for several.
    """
    for seed in seeds:
        began = time.monotonic() if since is None else since
        try:
            found: Any = ready.solve_once(
                problem, solvers, seed, beginning, relaxations, stop, report, began
            )
        except ProblemError as error:  # this start ended at a design that is no robot
            found = error
        yield seed, found, time.monotonic() - began
        if stop:
            return


def _best(
    outcomes: Iterable[Outcome], starts: int, report: ProgressFunction, began: float
) -> Solution:
    """Return the best of several solutions, with the records of all.

    Raises:
        CodesignError: no start came to a solution; the last one's reason.
    """
    best: Solution | None = None
    failure: Exception | None = None
    records: dict[int, StartRecord] = {}
    for seed, found, seconds in outcomes:
        if isinstance(found, Exception):
            failure = found
            status = CRASHED if isinstance(found, Crashed) else NO_ROBOT
            records[seed] = StartRecord.without_solution(seed, status, str(found), seconds)
        else:
            records[seed] = StartRecord.of(found)
            best = found if best is None or _is_better(found, best) else best
        if starts > 1:
            note = f"{len(records)} of {starts} starts"
            note += f", best {best.objective:.4g} (seed {best.seed})" if best is not None else ""
            report(Progress("starts", seconds=time.monotonic() - began, note=note))
    if best is None:
        raise failure or SolverError("stopped before the first start")
    if starts == 1:
        return best
    return replace(best, starts=tuple(records[seed] for seed in sorted(records)))


def _check_settings(
    seed: Any, starts: Any, jobs: Any, time_limit: Any, max_iterations: Any, relaxations: Any
) -> None:
    for name, value, least in (
        ("seed", seed, 0),
        ("starts", starts, 1),
        ("jobs", jobs, 1),
        ("max_iterations", max_iterations, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise SolverError(f"{name} is {value!r}; it must be a whole number, {least} or more")
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and time_limit > 0):
        raise SolverError(f"time_limit is {time_limit!r}; it must be a positive number of seconds")
    try:
        values = np.asarray(relaxations, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not len(values) or not np.all(np.diff(values) < 0) or not values[-1] > 0:
        raise SolverError(f"relaxations are {relaxations!r}; they must be positive and decrease")


def _solution_to_start_from(start: Any, problem: Problem | Tasks) -> Any:
    """Return the solution to start from: one of a single problem, for `Tasks` one of `Tasks` too.

    Raises:
        SolverError: it is neither that nor the folder of one.
    """
    from codesign.problem import Problem
    from codesign.solution import Solution, load
    from codesign.tasks.solution import TasksSolution

    found = load(start) if isinstance(start, str | Path) else start
    if isinstance(found, TasksSolution) and isinstance(problem, Problem):
        names = ", ".join(f"'{name}'" for name in found.tasks)
        raise SolverError(
            f"start holds several tasks ({names}); give one of them: start.tasks[name], or its "
            "folder tasks/NAME"
        )
    if found is not None and not isinstance(found, Solution | TasksSolution):
        raise SolverError(
            f"start is a {type(start).__name__}; it must be a Solution or the folder of a saved one"
        )
    for one in found.tasks.values() if isinstance(found, TasksSolution) else [found]:
        if one is not None:
            require_numbers(one)
    return found


def _is_better(a: Solution, b: Solution) -> bool:
    if a.success != b.success:
        return a.success
    if a.success:
        return a.objective < b.objective
    return a.audit.max_violation < b.audit.max_violation


def starting_point(
    problem: Problem, ready: Transcription, seed: int, beginning: Beginning
) -> tuple[Point, tuple[Vector, Vector]]:
    """Return where a solve begins and the bounds of x, in scaled variables.

    Args:
        problem: the robot and the task.
        ready: the transcribed problem.
        seed: seed of the random start.
        beginning: what the start is made of, or the solution to begin from instead.

    Raises:
        ProblemError: a term is not finite there, or the objective rewards a peak.
    """
    program = ready.program
    z = _start_vector(problem, ready, seed, beginning)
    low, high = variable_bounds(
        ready.plant,
        program.layout,
        problem.duration,
        (problem.step_range[0], problem.step_range[1]),
        program.layout.split(z)["q"],
    )
    for name in ready.idle_design:
        i = program.layout.fields["design"][ready.plant.space.names.index(name)]
        low[i] = high[i] = ready.plant.space.initial[ready.plant.space.names.index(name)]
    box = (low / program.scale, high / program.scale)
    point = Point(np.clip(z / program.scale, *box))
    require_finite_start(program, point.x)
    require_peaks_pushed_down(program, point.x)
    return point, box


def _start_vector(
    problem: Problem, ready: Transcription, seed: int, beginning: Beginning
) -> np.ndarray:
    layout = ready.program.layout
    guess, start = beginning
    if start is None:
        z = guessed_point(problem, ready, seed, chosen_guess(problem, guess))
    else:
        z = start.resample(layout, ready.plant)
    if layout.n_peaks:
        peaks = np.asarray(ready.evaluate_terms(z)[2])
        z[layout.fields["peaks"]] = peaks + 0.1 * np.abs(peaks)
    return z
