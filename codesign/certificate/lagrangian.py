"""The Lagrangian's gradient by JAX's reverse mode: no CasADi, and nothing compiled.

    ∇_z (f + yᵀ g),   y = λ / s,

for multipliers λ of the scaled rows g / s. The interval function's vector-Jacobian product is
traced once, mapped over the intervals, and run in NumPy (`codesign.tracing.evaluator`); its entries
are added up where intervals share knots and design. The solver's own derivatives come from CasADi's
sweeps of another graph, so that agreement says something about both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codesign.nlp import NonlinearProgram
from codesign.plant import Plant
from codesign.tracing import evaluator
from codesign.transcription import Rows, UserTerms, interval_function
from codesign.transcription.layout import interval_widths
from draft_core.backend import jax, jnp

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Multipliers:
    """Where the last stage of a solve ended, with its multipliers.

    Signs are CasADi's: ∇f + Jᵀ λ_g + λ_x = 0, λ ≥ 0 where an upper bound is active and λ ≤ 0 where
    a lower one is.

    Attributes:
        x: scaled variables, shape (n,).
        bounds: multipliers of their bounds, shape (n,).
        rows: multipliers of the scaled rows, shape (m,).
        relaxation: complementarity relaxation ε of the stage.
    """

    x: Vector
    bounds: Vector
    rows: Vector
    relaxation: float


def interval_groups(program: NonlinearProgram) -> list[Rows]:
    """Return the groups of rows of one interval, in order."""
    groups = [placed.rows for placed in program.rows if placed.start < program.task.start]
    return groups[: len(groups) // program.layout.intervals]


def lagrangian_gradient(
    plant: Plant, terms: UserTerms, program: NonlinearProgram, integrator: str
) -> Callable[[Vector, Vector], Vector]:
    """Return (z, y) → ∇_z (f + yᵀ g) in physical units, shapes (n,), (m,) → (n,).

    Args:
        plant: robot, design space and terrain.
        terms: the user's objective and constraints.
        program: the nonlinear program, for the order of its rows.
        integrator: one of `codesign.transcription.INTEGRATORS`.
    """
    layout = terms.layout
    index, intervals = layout.interval_index, layout.intervals
    count = sum(rows.size for rows in interval_groups(program))
    others = sum(rows.size for rows in terms.rows)
    residuals = interval_function(plant, integrator)
    edges = np.cumsum(interval_widths(layout)[:-1])

    def one(local: Any) -> Any:
        parts = jnp.split(local, edges)
        return residuals(*parts[:8], parts[8][0], parts[9])

    def pulled_back(local: Any, weights: Any) -> Any:
        return jax.vjp(one, local)[1](weights)[0]

    def of_user(z: Any, weights: Any) -> Any:
        objective, rows, _ = terms.evaluate(z)
        return objective + jnp.dot(weights, rows)

    of_intervals = evaluator(
        jax.vmap(pulled_back), np.zeros(index.shape), np.zeros((intervals, count))
    )
    of_terms = evaluator(jax.grad(of_user), np.zeros(layout.size), np.zeros(others))

    def gradient(z: Vector, weights: Vector) -> Vector:
        split = intervals * count
        total = np.array(of_terms(z, weights[split:]), dtype=float)
        local = np.asarray(of_intervals(z[index], weights[:split].reshape(intervals, count)))
        np.add.at(total, index, local)
        return total

    return gradient
