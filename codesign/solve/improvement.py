"""Many starts improved at once by first-order steps on a penalty, the best one handed on.

With x the scaled variables, all rows relaxed at ε and clipped to their bounds,

    minimise  w f(x) + ½ Σ (max(lower − g, 0) + max(g − upper, 0))²,   low ≤ x ≤ high,

by Adam with a step that decays, for a batch of automatic starts: one function compiled by XLA,
mapped over the batch, on whatever device JAX has. It is compiled once per transcription.

References:
    Kingma and Ba (2015), Adam: a method for stochastic optimization.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codesign.solve.automatic import automatic_point
from codesign.solve.starts import variable_bounds
from codesign.transcription import interval_function, interval_rows
from codesign.transcription.layout import interval_widths
from draft_core.backend import jax, jnp

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solve.driver import Transcription

Vector = NDArray[np.float64]

BATCH = 32  # starts improved together
STEPS = 150
_RELAXATION = 1e-2  # ε of the penalty, the solver's first
_OBJECTIVE_WEIGHT = 1e-3  # w: the violation counts first
_LEARNING_RATE = 3e-3  # of the first step, in scaled variables; it falls to nothing as a cosine
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
    low, high = variable_bounds(
        ready.plant, layout, problem.duration, steps, layout.split(starts[0])["q"]
    )
    x = np.clip(starts / scale, low / scale, high / scale)
    improved, values = ready.improve(x, low / scale, high / scale)
    values = np.where(np.isfinite(values), values, np.inf)
    best = int(np.argmin(values))
    return np.asarray(improved[best] if np.isfinite(values[best]) else x[0]) * scale


def _with_peaks(ready: Transcription, z: Vector) -> Vector:
    if ready.program.layout.n_peaks:
        z[ready.program.layout.fields["peaks"]] = np.asarray(ready.evaluate_terms(z)[2])
    return z


def penalty_function(ready: Transcription) -> Callable[[Any], Any]:
    """Return the penalty as a JAX function of scaled variables, x (b, n) → (b,).

    The batch and its intervals are one axis: XLA's CPU compiler fails on two of them.
    """
    program, terms, plant = ready.program, ready.terms, ready.plant
    layout, groups = terms.layout, interval_rows(plant, ready.integrator)
    residuals = interval_function(plant, ready.integrator)
    edges = np.cumsum(interval_widths(layout)[:-1])
    per_interval = sum(group.size for group in groups)
    lower, upper = (
        np.concatenate([getattr(group, side) for group in groups]) for side in ("lower", "upper")
    )
    size = np.concatenate([group.scale for group in groups])
    widened = _RELAXATION * np.concatenate([np.full(g.size, g.relaxation) for g in groups])
    index, scale = jnp.asarray(layout.interval_index), jnp.asarray(program.scale)
    rows = terms.rows
    user_scale = np.concatenate([group.scale for group in rows]) if rows else np.zeros(0)
    user_lower = np.concatenate([group.lower for group in rows]) if rows else np.zeros(0)
    user_upper = np.concatenate([group.upper for group in rows]) if rows else np.zeros(0)
    assert per_interval == len(size)

    def one(local: Any) -> Any:
        parts = jnp.split(local, edges)
        value = residuals(*parts[:8], parts[8][0], parts[9], _RELAXATION) / size - widened
        return _outside(value, lower, upper)

    def penalties(x: Any) -> Any:
        z = x * scale
        objective, user, _ = jax.vmap(terms.evaluate)(z)
        off = jax.vmap(one)(z[:, index].reshape(-1, index.shape[1])).reshape(len(x), -1)
        user_off = _outside(user / user_scale, user_lower, user_upper)
        outside = jnp.sum(off**2, axis=1) + jnp.sum(user_off**2, axis=1)
        return _OBJECTIVE_WEIGHT * objective + 0.5 * outside

    return penalties


def _outside(value: Any, lower: Vector, upper: Vector) -> Any:
    """Return by how much values are outside their bounds."""
    return jnp.maximum(lower - value, 0.0) + jnp.maximum(value - upper, 0.0)


def improver(ready: Transcription) -> Callable[[Vector, Vector, Vector], tuple[Vector, Vector]]:
    """Return the compiled improvement: (starts (b, n), low, high) → (improved (b, n), values (b,)).

    Each start ends at the best of the points that it passed.
    """
    import optax

    penalties = penalty_function(ready)
    schedule = optax.cosine_decay_schedule(_LEARNING_RATE, STEPS)
    optimiser = optax.adam(schedule, b2=0.99)

    def improve(x: Any, low: Any, high: Any) -> tuple[Any, Any]:
        def total(x: Any) -> tuple[Any, Any]:
            values = penalties(x)
            return jnp.sum(values), values

        def step(carry: Any, _: Any) -> tuple[Any, None]:
            x, state, best, least = carry
            (_, values), gradient = jax.value_and_grad(total, has_aux=True)(x)
            is_better = values < least
            best = jnp.where(is_better[:, None], x, best)
            least = jnp.where(is_better, values, least)
            gradient = jnp.where(jnp.isfinite(gradient), gradient, 0.0)
            change, state = optimiser.update(gradient, state, x)
            return (jnp.clip(x + change, low, high), state, best, least), None

        begin = (x, optimiser.init(x), x, jnp.full(len(x), jnp.inf))
        (_, _, best, least), _ = jax.lax.scan(step, begin, length=STEPS)
        return best, least

    compiled = jax.jit(improve)

    def run(x: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        best, least = compiled(x, low, high)
        return np.asarray(best), np.asarray(least)

    return run
