"""A problem made ready to solve: traced, differentiated, assembled, and where a solve begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca
import numpy as np

from codesign.nlp import JointProgram, NonlinearProgram, assemble
from codesign.plant import Plant
from codesign.solve.anchors import PoseRows
from codesign.solve.checks import (
    idle_design,
    require_finite_start,
    require_live_rows,
    require_peaks_pushed_down,
    require_supported,
    require_valid_design_space,
)
from codesign.solve.guesses import chosen_guess, guessed_point
from codesign.solve.homotopy import Solvers, follow
from codesign.solve.ipopt import Point, StopRequest, Vector
from codesign.solve.progress import ProgressFunction
from codesign.solve.starts import quaternion_starts, variable_bounds
from codesign.solve.strategy import DEFAULT, Strategy
from codesign.tracing import evaluator
from codesign.trajectory import PeakCollector, Trajectory
from codesign.transcription import Layout, UserTerms, interval_function, user_terms
from codesign.transcription.layout import interval_widths
from draft_core.backend import jax, jnp

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solution import Solution


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
    (docs/decisions/0007-order-of-elimination.md). The barrier parameter stays below 1e-2: where a
    stage begins off its rows the adaptive rule would raise it to 1 and beyond, and leave the motion
    that the stage before had found (docs/decisions/0009-a-low-barrier.md).
    """
    return {
        "tol": TOLERANCE,
        "constr_viol_tol": TOLERANCE,
        "dual_inf_tol": 1e-3,
        "acceptable_iter": 0,
        "mu_strategy": "adaptive",
        "mu_max": 1e-2,
        "perturb_always_cd": "yes",
        "mumps_pivot_order": 0,
        "max_iter": max_iterations,
    }


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
