"""Many starts improved at once by first-order steps on a penalty, the best one handed on.

With x the scaled variables and rows relaxed at ε,

    minimise  w f(x) + ½ Σ (max(lower − g, 0) + max(g − upper, 0))²,   low ≤ x ≤ high,

by Adam with a step that decays, for a batch of automatic starts. The gradient w ∇f + Jᵀ r is of the
program's own derivatives, mapped over the batch: XLA took minutes to compile the same gradient on a
CPU, several times as long as a whole solve.

References:
    Kingma and Ba (2015), Adam: a method for stochastic optimization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from codesign.nlp import NonlinearProgram
from codesign.solve.automatic import automatic_point
from codesign.solve.starts import variable_bounds

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solve.transcribed import Transcription

Vector = NDArray[np.float64]

BATCH = 16  # starts improved together
STEPS = 100
_RELAXATION = 1e-2  # ε of the penalty, the solver's first
_OBJECTIVE_WEIGHT = 1e-3  # w: the violation counts first
_LEARNING_RATE = 3e-3  # of the first step, in scaled variables; it falls to nothing as a cosine
_MOMENTS = (0.9, 0.99)  # decay of the gradient's mean and of its square's
_SEEDS_APART = 1_000_003  # so that the batches of neighbouring seeds share no start


def improved_point(problem: Problem, ready: Transcription, seed: int) -> Vector:
    """Return the best of a batch of improved automatic starts, in physical units.

    Args:
        problem: the robot and the task.
        ready: the problem, transcribed.
        seed: the batch is of automatic starts of its own seeds, drawn from this one.
    """
    layout, scale = ready.program.layout, ready.program.scale
    seeds = [seed, *((seed + 1) * _SEEDS_APART + i for i in range(1, BATCH))]
    starts = np.stack([_with_peaks(ready, automatic_point(problem, ready, s)) for s in seeds])
    steps = (problem.step_range[0], problem.step_range[1])
    low, high = variable_bounds(ready.plant, layout, problem.duration, steps)
    improved, values = improve(ready.penalties, starts / scale, low / scale, high / scale)
    return improved[int(np.argmin(values))] * scale


def _with_peaks(ready: Transcription, z: Vector) -> Vector:
    if ready.program.layout.n_peaks:
        z[ready.program.layout.fields["peaks"]] = np.asarray(ready.evaluate_terms(z)[2])
    return z


def penalty_function(program: NonlinearProgram) -> ca.Function:
    """Return the penalty and its gradient of a batch of scaled points, (n, b) → (1, b), (n, b)."""
    x = ca.MX.sym("x", program.size)
    parameters = ca.DM([_RELAXATION, _OBJECTIVE_WEIGHT])
    g, jacobian = program.derivatives["jac_g"](x, parameters)
    objective, slope = program.derivatives["grad_f"](x, parameters)
    off = ca.fmin(g - ca.DM(program.lower), 0.0) + ca.fmax(g - ca.DM(program.upper), 0.0)
    value = objective + 0.5 * ca.sumsqr(off)
    gradient = ca.densify(slope + ca.mtimes(jacobian.T, off))
    return ca.Function("penalty", [x], [value, gradient]).map(BATCH)


def improve(
    penalties: ca.Function, starts: Vector, low: Vector, high: Vector
) -> tuple[Vector, Vector]:
    """Return the best point that each start passed, (b, n), and its penalty, (b,).

    Args:
        penalties: from `penalty_function`.
        starts: scaled points, shape (b, n).
        low: lower bounds, shape (n,).
        high: upper bounds, shape (n,).
    """
    x = np.clip(starts, low, high)
    best, least = x.copy(), np.full(len(x), np.inf)
    mean, square = np.zeros_like(x), np.zeros_like(x)
    for step in range(STEPS + 1):
        found = penalties(x.T)
        values, gradient = np.asarray(found[0]).ravel(), np.asarray(found[1]).T
        is_better = values < least  # no NaN is
        best[is_better], least[is_better] = x[is_better], values[is_better]
        gradient = np.where(np.isfinite(gradient), gradient, 0.0)
        mean += (1.0 - _MOMENTS[0]) * (gradient - mean)
        square += (1.0 - _MOMENTS[1]) * (gradient**2 - square)
        unbiased = [1.0 - moment ** (step + 1) for moment in _MOMENTS]
        rate = _LEARNING_RATE * 0.5 * (1.0 + np.cos(np.pi * step / STEPS))
        change = mean / unbiased[0] / (np.sqrt(square / unbiased[1]) + 1e-8)
        x = np.clip(x - rate * change, low, high)
    return best, least
