"""Feasibility as a program that always has an answer: the task's rows may stretch, at a price.

    min Σ (s⁺ + s⁻)   s.t.   g_task + s⁺ − s⁻ within bounds,   all other rows as they are,   s ≥ 0

At zero stretch the point is feasible. Above zero, converged, no small change of design and motion
meets the task, and the stretched rows say what cannot be met and by how much. Physics never
stretches.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from codesign.nlp.assembly import NonlinearProgram
from codesign.nlp.joint import JointProgram

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ElasticProgram:
    """The elastic form of a program, with variables (x, s⁺, s⁻).

    Attributes:
        program: the program it softens.
        problem: the CasADi expressions x, p, f, g.
        derivatives: `jac_g`, `hess_lag` and `grad_f` for `casadi.nlpsol`.
    """

    program: NonlinearProgram | JointProgram
    problem: dict[str, ca.MX]
    derivatives: dict[str, ca.Function]

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.problem["x"].numel()

    @property
    def lower(self) -> Vector:
        """Lower bounds of g."""
        return self.program.lower

    @property
    def upper(self) -> Vector:
        """Upper bounds of g."""
        return self.program.upper

    def bounds(self, bounds: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        """Return bounds of (x, s) from bounds of x."""
        m = self.size - self.program.size
        return np.append(bounds[0], np.zeros(m)), np.append(bounds[1], np.full(m, np.inf))

    def start(self, x: Vector, p: tuple[float, float]) -> Vector:
        """Return (x, s) with the stretch that x needs."""
        rows = self.program.task_entries
        g = np.array(self.program.derivatives["jac_g"](x, list(p))[0]).ravel()[rows]
        low, high = self.lower[rows], self.upper[rows]
        return np.concatenate([x, np.maximum(low - g, 0.0), np.maximum(g - high, 0.0)])

    def stretch(self, x: Vector) -> float:
        """Return the largest stretch of a point (x, s), in scaled units."""
        return float(np.max(x[self.program.size :], initial=0.0))


def elastic(program: NonlinearProgram | JointProgram) -> ElasticProgram:
    """Return the elastic form of a program."""
    entries = program.task_entries.tolist()
    n, m = program.size, len(entries)
    rows = len(program.lower)
    y, p = ca.MX.sym("y", n + 2 * m), program.problem["p"]
    lam_f, lam_g = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", rows)
    x, stretch = y[:n], y[n:]
    pick = ca.DM.triplet(entries, list(range(m)), ca.DM.ones(m), rows, m)
    spread = ca.horzcat(pick, -pick)
    value, jacobian = program.derivatives["jac_g"](x, p)
    g = value + spread @ stretch
    hessian = program.derivatives["hess_lag"](x, ca.vertcat(p[0], 0), 0, lam_g)
    cost = ca.densify(ca.sum1(stretch)) if m else ca.MX.zeros(1)
    gradient = ca.vertcat(ca.DM.zeros(n), ca.DM.ones(2 * m))
    empty = ca.DM(2 * m, 2 * m)
    return ElasticProgram(
        program,
        {"x": y, "p": p, "f": cost, "g": g},
        {
            "jac_g": ca.Function("jac_g", [y, p], [g, ca.horzcat(jacobian, spread)]),
            "hess_lag": ca.Function("hess_lag", [y, p, lam_f, lam_g], [ca.diagcat(hessian, empty)]),
            "grad_f": ca.Function("grad_f", [y, p], [cost, gradient]),
        },
    )
