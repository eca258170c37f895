"""Complementarity as a price instead of a limit: an exact ℓ1 penalty.

    min σ (f + π Σ ab)   s.t.   all other rows as they are,   π = 0.1 / ε

The products ab are nonnegative, so that their sum is their ℓ1 norm: once π exceeds the multipliers
of the products, a minimum has ab = 0 exactly. Nothing promises that it does; the answer's audit
tells. The product rows stay in g without bounds, so that rows keep their places.

References:
    Anitescu, Tseng and Wright (2007), Elastic-mode algorithms for mathematical programs with
    equilibrium constraints, Math. Program. 110; Leyffer, Lopez-Calva and Nocedal (2006), Interior
    methods for mathematical programs with complementarity constraints, SIAM J. Optim. 17.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from codesign.nlp.assembly import NonlinearProgram

Vector = NDArray[np.float64]

PRICE = 0.1  # π ε: what a product of ε costs, in units of the objective


@dataclass(frozen=True)
class PenaltyProgram:
    """A program whose complementarity products are paid for instead of limited.

    Attributes:
        program: the program it stands for.
        products: entries of g that are complementarity products.
        problem: the CasADi expressions x, p, f, g.
        derivatives: `jac_g`, `hess_lag` and `grad_f` for `casadi.nlpsol`.
    """

    program: NonlinearProgram
    products: NDArray[np.int64]
    problem: dict[str, ca.MX]
    derivatives: dict[str, ca.Function]

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.program.size

    @property
    def lower(self) -> Vector:
        """Lower bounds of g."""
        return self.program.lower

    @property
    def upper(self) -> Vector:
        """Upper bounds of g; the products have none."""
        upper = self.program.upper
        upper[self.products] = np.inf
        return upper


def product_entries(program: NonlinearProgram) -> NDArray[np.int64]:
    """Return the entries of g that are complementarity products of intervals."""
    entries = [
        np.arange(placed.start, placed.start + placed.rows.size)
        for placed in program.rows
        if placed.rows.name == "complementarity" and placed.start < program.task.start
    ]
    return np.concatenate(entries) if entries else np.zeros(0, dtype=np.int64)


def penalised(program: NonlinearProgram) -> PenaltyProgram:
    """Return the penalty form of a program whose product rows are plain sums of products."""
    products = product_entries(program)
    x, p = program.problem["x"], program.problem["p"]
    rows = len(program.lower)
    lam_f, lam_g = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", rows)
    chosen = ca.DM.zeros(rows)
    chosen[products.tolist()] = 1.0
    price = p[1] * PRICE / p[0] * chosen
    g, jacobian = program.derivatives["jac_g"](x, p)
    f, gradient = program.derivatives["grad_f"](x, p)
    cost = f + ca.dot(price, g)
    slope = gradient + jacobian.T @ price
    hessian = program.derivatives["hess_lag"](x, p, lam_f, lam_g + lam_f * price)
    return PenaltyProgram(
        program,
        products,
        {"x": x, "p": p, "f": cost, "g": g},
        {
            "jac_g": ca.Function("jac_g", [x, p], [g, jacobian], ["x", "p"], ["g", "jac_g_x"]),
            "hess_lag": ca.Function("hess_lag", [x, p, lam_f, lam_g], [hessian]),
            "grad_f": ca.Function("grad_f", [x, p], [cost, slope]),
        },
    )
