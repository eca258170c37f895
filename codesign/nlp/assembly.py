"""min f(x)  s.t.  lbg ≤ g(x; ε) ≤ ubg,  lbx ≤ x ≤ ubx,   with z = s ∘ x in physical units.

g stacks N copies of one interval function c(x_k, x_{k+1}, ρ) and the user's rows. Derivatives are
taken of the interval function once, mapped over the intervals and scattered into the big sparse
Jacobian and (upper-triangular) Hessian; the design's columns are shared by all blocks. Letting
CasADi differentiate the mapped graph instead costs several times more per iteration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from codesign.contact import MEASURE
from codesign.nlp.scatter import Index, scatter
from codesign.plant import Plant
from codesign.tracing import to_casadi
from codesign.tracing.derivatives import derivatives
from codesign.transcription import (
    Layout,
    Rows,
    UserTerms,
    interval_function,
    interval_rows,
)
from codesign.transcription.layout import interval_widths
from codesign.transcription.limits import numeric_limits

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class PlacedRows:
    """Rows with their place in g."""

    rows: Rows
    start: int
    knot: int | None


@dataclass(frozen=True)
class NonlinearProgram:
    """A nonlinear program with exact sparse derivatives, in scaled variables x = z / scale.

    Parameters p = (ε, σ): the complementarity relaxation and the weight of the objective (0 while
    only feasibility is sought).

    Attributes:
        layout: where each quantity sits in z.
        scale: physical amount of one unit of x, shape (n,).
        rows: every group of rows with its place in g.
        task: which entries of g are the user's own constraints.
        peaks: (name, unit) of each epigraph variable.
        problem: the CasADi expressions x, p, f, g.
        derivatives: `jac_g`, `hess_lag` and `grad_f` for `casadi.nlpsol`.
        build_seconds: time of each building step; [s].
    """

    layout: Layout
    scale: Vector
    rows: tuple[PlacedRows, ...]
    task: slice
    peaks: tuple[tuple[str, str], ...]
    problem: dict[str, ca.MX]
    derivatives: dict[str, ca.Function]
    build_seconds: dict[str, float]

    @property
    def size(self) -> int:
        """Number of variables n."""
        return self.layout.size

    @property
    def task_entries(self) -> Index:
        """Entries of g that are the user's own constraints."""
        return np.arange(self.task.start, self.task.stop)

    @property
    def lower(self) -> Vector:
        """Lower bounds of g, shape (m,)."""
        return np.concatenate([placed.rows.lower for placed in self.rows])

    @property
    def upper(self) -> Vector:
        """Upper bounds of g, shape (m,)."""
        return np.concatenate([placed.rows.upper for placed in self.rows])

    @property
    def user_rows(self) -> tuple[PlacedRows, ...]:
        """Rows that do not belong to intervals: the task's, the automatic ones, the peaks'."""
        return tuple(placed for placed in self.rows if placed.start >= self.task.start)

    def knot_of_row(self, row: int) -> int | None:
        """Return the knot that one entry of g depends on, None when it is not exactly one."""
        rows, columns = self.derivatives["jac_g"].sparsity_out(1).get_triplet()
        touched = np.array(columns)[np.array(rows) == row]
        knots = {self._knot_of_variable(int(i)) for i in touched}
        return knots.pop() if len(knots) == 1 else None

    def _knot_of_variable(self, index: int) -> int | None:
        field, knot, _ = self.layout.describe(index)
        return knot if knot is None or field in ("q", "v") else knot + 1

    def place(self, index: int) -> tuple[PlacedRows, str]:
        """Return the group and the row label of one entry of g."""
        for placed in self.rows:
            if placed.start <= index < placed.start + placed.rows.size:
                return placed, placed.rows.labels[index - placed.start]
        raise IndexError(f"the program has no row {index}")


@dataclass(frozen=True)
class _Block:
    """g and its derivatives, with where their entries go in the whole problem."""

    value: ca.MX
    jacobian: tuple[Index, Index, ca.MX]
    hessian: tuple[Index, Index, ca.MX]


def variable_scale(plant: Plant, layout: Layout, duration: float) -> Vector:
    """Return the physical amount of one unit of every decision variable, shape (n,)."""
    weight, space = plant.weight, plant.space
    limits = np.abs(numeric_limits(plant, np.asarray(space.initial)).effort)
    effort = np.where(np.isfinite(limits).all(axis=1), limits.max(axis=1), weight)
    scale = np.ones(layout.size)
    f = layout.fields
    scale[f["u"]] = np.minimum(effort, weight)
    scale[f["normal"]] = scale[f["tangent"]] = weight
    scale[f["dt"]] = duration / layout.intervals
    scale[f["design"]] = np.asarray(space.upper) - np.asarray(space.lower)
    return np.where(scale > 0, scale, 1.0)


def assemble(
    plant: Plant,
    terms: UserTerms,
    duration: float,
    integrator: str = "backward_euler",
    formulation: str = MEASURE,
) -> NonlinearProgram:
    """Trace, differentiate and assemble the nonlinear program of a problem.

    Args:
        plant: robot, design space and terrain.
        terms: the user's objective and constraints.
        duration: longest duration of the motion, the scale of the time steps; [s].
        integrator: one of `codesign.transcription.INTEGRATORS`.
        formulation: one of `codesign.contact.FORMULATIONS`.
    """
    layout = terms.layout
    n = layout.size
    scale = variable_scale(plant, layout, duration)
    clock = _Clock()
    x, p = ca.MX.sym("x", n), ca.MX.sym("p", 2)
    lam_f = ca.MX.sym("lam_f")
    per_interval = interval_rows(plant, integrator, formulation)
    count = sum(rows.size for rows in per_interval)
    split = count * layout.intervals
    multipliers = ca.MX.sym("lam_g", split + sum(rows.size for rows in terms.rows))
    function = interval_function(plant, integrator, formulation)
    intervals = _interval_block(
        function, layout, per_interval, scale, x, p, multipliers[:split], clock
    )
    user, objective, gradient = _user_block(terms, scale, x, p, lam_f, multipliers[split:], clock)
    g = ca.vertcat(intervals.value, user.value)
    jacobian = _stack([intervals.jacobian, user.jacobian], [0, split], (g.numel(), n))
    hessian = _stack([intervals.hessian, user.hessian], [0, 0], (n, n))
    clock.mark("assembly")
    return NonlinearProgram(
        layout=layout,
        scale=scale,
        rows=_place(per_interval, terms.rows, layout),
        task=slice(split, split + terms.task_rows),
        peaks=terms.peaks,
        problem={"x": x, "p": p, "f": objective, "g": g},
        derivatives={
            "jac_g": ca.Function("jac_g", [x, p], [g, jacobian], ["x", "p"], ["g", "jac_g_x"]),
            "hess_lag": ca.Function("hess_lag", [x, p, lam_f, multipliers], [hessian]),
            "grad_f": ca.Function("grad_f", [x, p], [objective, gradient]),
        },
        build_seconds=clock.seconds,
    )


class _Clock:
    """Named lap times."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def mark(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


def _interval_block(
    function: Callable[..., Any],
    layout: Layout,
    rows: Sequence[Rows],
    scale: Vector,
    x: ca.MX,
    p: ca.MX,
    multipliers: ca.MX,
    clock: _Clock,
) -> _Block:
    """Return the residuals of all intervals from the derivatives of one."""
    index, count = layout.interval_index, sum(group.size for group in rows)
    widths = interval_widths(layout)
    example: list[Any] = [np.zeros(w) for w in widths]
    example[-2] = np.ones(())
    traced = to_casadi(function, *example, np.zeros(()), name="interval")
    clock.mark("trace intervals")
    local = ca.SX.sym("x", index.shape[1])
    relaxation = ca.SX.sym("eps")
    physical = local * ca.DM(scale[index[0]])
    parts = ca.vertsplit(physical, np.cumsum([0, *widths]).tolist())
    value = traced(*parts, relaxation) / ca.DM(np.concatenate([group.scale for group in rows]))
    relaxed = np.concatenate([np.full(group.size, group.relaxation) for group in rows])
    value = value - ca.DM(relaxed) * relaxation
    d = derivatives(value, local, relaxation, "interval")
    clock.mark("differentiate intervals")
    n = layout.intervals
    points = ca.reshape(x[index.ravel().tolist()], index.shape[1], n)
    eps = ca.repmat(p[0], 1, n)
    g = d.value.map(n)(points, eps)
    jac = d.jacobian.map(n)(points, eps)
    hess = d.hessian.map(n)(points, eps, ca.reshape(multipliers, count, n))
    r, c = _triplet(d.jacobian)
    jac_rows = np.concatenate([k * count + r for k in range(n)])
    jac_columns = np.concatenate([index[k][c] for k in range(n)])
    r, c = _triplet(d.hessian)
    a = np.concatenate([index[k][r] for k in range(n)])
    b = np.concatenate([index[k][c] for k in range(n)])
    return _Block(
        ca.vec(g),
        (jac_rows, jac_columns, ca.vec(jac.nz[:])),
        (np.minimum(a, b), np.maximum(a, b), ca.vec(hess.nz[:])),
    )


def _user_block(
    terms: UserTerms,
    scale: Vector,
    x: ca.MX,
    p: ca.MX,
    lam_f: ca.MX,
    multipliers: ca.MX,
    clock: _Clock,
) -> tuple[_Block, ca.MX, ca.MX]:
    """Return the user's rows, the weighted objective and its gradient."""
    traced = to_casadi(
        lambda z: terms.evaluate(z)[:2], np.zeros(terms.layout.size), name="user_terms"
    )
    clock.mark("trace user terms")
    local = ca.SX.sym("x", terms.layout.size)
    weight, lam = ca.SX.sym("weight"), ca.SX.sym("lam", multipliers.numel())
    lam_obj = ca.SX.sym("lam_f")
    objective, value = traced(local * ca.DM(scale))
    row_scale = np.concatenate([rows.scale for rows in terms.rows]) if terms.rows else np.zeros(0)
    objective, value = weight * ca.densify(objective), ca.densify(value) / ca.DM(row_scale)
    lagrangian = lam_obj * objective + ca.dot(lam, value)
    f = ca.Function("user_f", [local, weight], [objective])
    df = ca.Function("user_df", [local, weight], [ca.gradient(objective, local)])
    g = ca.Function("user_g", [local, weight], [value])
    dg = ca.Function("user_dg", [local, weight], [ca.sparsify(ca.jacobian(value, local))])
    hess = ca.Function(
        "user_hess",
        [local, weight, lam_obj, lam],
        [ca.sparsify(ca.triu(ca.hessian(lagrangian, local)[0]))],
    )
    clock.mark("differentiate user terms")
    block = _Block(
        g(x, p[1]),
        (*_triplet(dg), ca.vec(dg(x, p[1]).nz[:])),
        (*_triplet(hess), ca.vec(hess(x, p[1], lam_f, multipliers).nz[:])),
    )
    return block, f(x, p[1]), df(x, p[1])


def _triplet(function: ca.Function) -> tuple[Index, Index]:
    """Return rows and columns of the nonzeros of a function's only output."""
    rows, columns = function.sparsity_out(0).get_triplet()
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _stack(
    blocks: Sequence[tuple[Index, Index, ca.MX]], offsets: Sequence[int], shape: tuple[int, int]
) -> ca.MX:
    """Return one sparse matrix of several blocks, each shifted down by its offset."""
    rows = np.concatenate([b[0] + o for b, o in zip(blocks, offsets, strict=True)])
    columns = np.concatenate([b[1] for b in blocks])
    return scatter(rows, columns, ca.vertcat(*[b[2] for b in blocks]), shape)


def _place(
    per_interval: Sequence[Rows], user: Sequence[Rows], layout: Layout
) -> tuple[PlacedRows, ...]:
    placed: list[PlacedRows] = []
    start = 0
    for knot in range(1, layout.knots):
        for rows in per_interval:
            placed.append(PlacedRows(rows, start, knot))
            start += rows.size
    for rows in user:
        knot = rows.knot
        if knot is not None and knot < 0:
            knot += layout.knots
        placed.append(PlacedRows(rows, start, knot))
        start += rows.size
    return tuple(placed)
