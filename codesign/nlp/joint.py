"""Several programs that share their design variables, as one program.

Task i has variables (y_i, ρ): its own motion and peaks y_i, and the design ρ, which is one and the
same in all tasks. With weights w_i,

    min Σ w_i f_i(y_i, ρ)    or    min s + κ Σ w_i f_i(y_i, ρ)  s.t.  s − w_i f_i(y_i, ρ) ≥ 0,

both s.t. all g_i, over x = (y_1, y_2, …, ρ[, s]). The blocks of the Jacobian and of the Hessian
meet in the design's columns alone, where the Hessians add up: ∂²L/∂ρ² = Σ ∂²L_i/∂ρ². The small κ
makes the motions of tasks that are not the worst the best that they can be, too; s rises only where
that lowers the sum by more than 1/κ times as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from codesign.nlp.assembly import NonlinearProgram
from codesign.nlp.scatter import Index, scatter

Vector = NDArray[np.float64]
OTHERS = 1e-3  # κ, the share of the sum beside the worst
_START_MARGIN = 0.1  # of the largest objective, by which the epigraph variable starts above it


@dataclass(frozen=True)
class JointProgram:
    """Several nonlinear programs as one, with exact sparse derivatives.

    Parameters p = (ε, σ) as in `NonlinearProgram`.

    Attributes:
        programs: the tasks' own programs.
        columns: entries of x that hold the variables of each program.
        first_rows: where the rows of each program begin in g.
        weights: w, shape (tasks,).
        epigraph: entry of x that holds s; None where the objective is the sum.
        problem: the CasADi expressions x, p, f, g.
        derivatives: `jac_g`, `hess_lag` and `grad_f` for `casadi.nlpsol`.
    """

    programs: tuple[NonlinearProgram, ...]
    columns: tuple[Index, ...]
    first_rows: tuple[int, ...]
    weights: Vector
    epigraph: int | None
    problem: dict[str, ca.MX]
    derivatives: dict[str, ca.Function]

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.problem["x"].numel()

    @property
    def lower(self) -> Vector:
        """Lower bounds of g."""
        return np.concatenate([*(program.lower for program in self.programs), self._zeros])

    @property
    def upper(self) -> Vector:
        """Upper bounds of g."""
        return np.concatenate([*(program.upper for program in self.programs), self._zeros + np.inf])

    @property
    def _zeros(self) -> Vector:
        return np.zeros(0 if self.epigraph is None else len(self.programs))

    @property
    def task_entries(self) -> Index:
        """Entries of g that are the users' own constraints, of every task."""
        pairs = zip(self.programs, self.first_rows, strict=True)
        return np.concatenate([program.task_entries + first for program, first in pairs])

    def split(self, x: Vector) -> list[Vector]:
        """Return the variables of each program."""
        return [x[columns] for columns in self.columns]

    def join(self, parts: Sequence[Vector]) -> Vector:
        """Return x from the variables of each program; the design is the last one's.

        The epigraph variable starts above every weighted objective.
        """
        x = np.zeros(self.size)
        for columns, part in zip(self.columns, parts, strict=True):
            x[columns] = part
        if self.epigraph is not None:
            worst = float(np.max(self.weights * self.objectives(x)))
            x[self.epigraph] = worst + _START_MARGIN * abs(worst)
        return x

    def part_of(
        self, x: Vector, lam_x: Vector | None, lam_g: Vector | None, index: int
    ) -> tuple[Vector, Vector | None, Vector | None]:
        """Return one program's variables and the multipliers that it has on its own.

        The joint Lagrangian holds f_i times w_i, or times w_i (κ + λ_i) with λ_i of its epigraph.
        Divided by that, its terms are the Lagrangian of task i at a design that is held.

        Args:
            x: a point.
            lam_x: multipliers of the variables' bounds, None where there are none.
            lam_g: multipliers of the rows, None where there are none.
            index: which program.
        """
        columns, first = self.columns[index], self.first_rows[index]
        if lam_x is None or lam_g is None:
            return x[columns], None, None
        share = float(self.weights[index])
        if self.epigraph is not None:
            share *= OTHERS - float(lam_g[len(lam_g) - len(self.programs) + index])
        rows = lam_g[first : first + len(self.programs[index].lower)]
        return x[columns], lam_x[columns] / share, rows / share

    def join_bounds(self, boxes: Sequence[tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
        """Return bounds of x from those of each program's variables; those of a design meet."""
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        for columns, (lower, upper) in zip(self.columns, boxes, strict=True):
            low[columns] = np.maximum(low[columns], lower)
            high[columns] = np.minimum(high[columns], upper)
        return low, high

    def objectives(self, x: Vector) -> Vector:
        """Return f_i, shape (tasks,), without weights."""
        pairs = zip(self.programs, self.split(x), strict=True)
        return np.array([float(p.derivatives["grad_f"](part, (0.0, 1.0))[0]) for p, part in pairs])


def join_programs(
    programs: Sequence[NonlinearProgram], weights: Sequence[float], combine: str
) -> JointProgram:
    """Return one program of several that have the same design variables, equally scaled.

    Args:
        programs: at least one.
        weights: positive weight of each objective.
        combine: "sum" of the weighted objectives, or the "worst" of them.
    """
    is_worst = combine == "worst"
    is_worst = combine == "worst"
    columns, size = _columns(programs)
    firsts = [int(row) for row in np.cumsum([0, *(len(p.lower) for p in programs)])]
    rows, n = firsts[-1], size + is_worst
    x, p = ca.MX.sym("x", n), ca.MX.sym("p", 2)
    lam_f = ca.MX.sym("lam_f")
    lam_g = ca.MX.sym("lam_g", rows + (len(programs) if is_worst else 0))
    blocks: list[_Block] = []
    for i, program in enumerate(programs):
        own = lam_g[firsts[i] : firsts[i + 1]]
        if is_worst:  # s ≥ w f holds whatever the objective weighs: σ is 1
            share, parameters = OTHERS * p[1] * lam_f - lam_g[rows + i], ca.vertcat(p[0], 1)
        else:
            share, parameters = lam_f, p
        point = x[columns[i].tolist()]
        blocks.append(_block(program, columns[i], float(weights[i]), point, parameters, share, own))
    values = [block.value for block in blocks]
    jacobian = [_shifted(block.jacobian, firsts[i]) for i, block in enumerate(blocks)]
    if is_worst:
        epigraph = np.full(len(blocks), size)
        values += [x[size] - block.objective for block in blocks]
        jacobian += [_turned(block.gradient, rows + i) for i, block in enumerate(blocks)]
        jacobian.append((rows + np.arange(len(blocks)), epigraph, ca.MX.ones(len(blocks))))
        slopes = [_weighted(block.gradient, OTHERS * p[1]) for block in blocks]
        slopes.append((np.array([size]), np.array([0]), p[1]))
        objective = p[1] * (x[size] + OTHERS * _sum_of(blocks))
    else:
        slopes = [block.gradient for block in blocks]
        objective = _sum_of(blocks)
    g = ca.vertcat(*values)
    jac = _matrix(jacobian, (g.numel(), n))
    hess = _matrix([block.hessian for block in blocks], (n, n))
    gradient = ca.densify(_matrix(slopes, (n, 1)))
    return JointProgram(
        programs=tuple(programs),
        columns=tuple(columns),
        first_rows=tuple(firsts[:-1]),
        weights=np.asarray(weights, dtype=float),
        epigraph=size if is_worst else None,
        problem={"x": x, "p": p, "f": objective, "g": g},
        derivatives={
            "jac_g": ca.Function("jac_g", [x, p], [g, jac], ["x", "p"], ["g", "jac_g_x"]),
            "hess_lag": ca.Function("hess_lag", [x, p, lam_f, lam_g], [hess]),
            "grad_f": ca.Function("grad_f", [x, p], [objective, gradient]),
        },
    )


Entries = tuple[Index, Index, ca.MX]  # rows, columns and a dense column of values


@dataclass(frozen=True)
class _Block:
    """One program in the joint one's variables; its rows begin at 0, its objective is weighted."""

    value: ca.MX
    jacobian: Entries
    objective: ca.MX
    gradient: Entries
    hessian: Entries


def _columns(programs: Sequence[NonlinearProgram]) -> tuple[list[Index], int]:
    """Return where each program's variables sit in (y_1, y_2, …, ρ), and the length of that."""
    designs = [program.layout.fields["design"] for program in programs]
    size = sum(p.size - len(d) for p, d in zip(programs, designs, strict=True)) + len(designs[0])
    shared = np.arange(size - len(designs[0]), size)
    columns, start = [], 0
    for program, design in zip(programs, designs, strict=True):
        own = np.setdiff1d(np.arange(program.size), design)
        places = np.empty(program.size, dtype=np.int64)
        places[own] = start + np.arange(len(own))
        places[design] = shared
        columns.append(places)
        start += len(own)
    return columns, size


def _block(
    program: NonlinearProgram,
    columns: Index,
    weight: float,
    point: ca.MX,
    parameters: ca.MX,
    share: ca.MX,
    multipliers: ca.MX,
) -> _Block:
    """Return a program at its part of x; `share` multiplies its weighted objective in L."""
    jac_g, hess_lag = program.derivatives["jac_g"], program.derivatives["hess_lag"]
    value, jacobian = jac_g(point, parameters)
    objective, gradient = program.derivatives["grad_f"](point, parameters)
    hessian = hess_lag(point, parameters, weight * share, multipliers)
    rows, local = _triplet(jac_g.sparsity_out(1))
    a, b = (columns[index] for index in _triplet(hess_lag.sparsity_out(0)))
    _, used = _triplet(ca.jacobian_sparsity(program.problem["f"], program.problem["x"]))
    slope = weight * gradient[used.tolist()] if len(used) else ca.MX(0, 1)
    return _Block(
        value=value,
        jacobian=(rows, columns[local], ca.vec(jacobian.nz[:])),
        objective=weight * objective,
        gradient=(columns[used], np.zeros(len(used), dtype=np.int64), slope),
        hessian=(np.minimum(a, b), np.maximum(a, b), ca.vec(hessian.nz[:])),
    )


def _shifted(entries: Entries, rows: int) -> Entries:
    return entries[0] + rows, entries[1], entries[2]


def _weighted(entries: Entries, weight: ca.MX) -> Entries:
    return entries[0], entries[1], weight * entries[2]


def _sum_of(blocks: Sequence[_Block]) -> ca.MX:
    return ca.sum1(ca.vertcat(*[block.objective for block in blocks]))


def _turned(gradient: Entries, row: int) -> Entries:
    """Return the row −∇f of an epigraph."""
    return np.full(len(gradient[0]), row), gradient[0], -gradient[2]


def _matrix(blocks: Sequence[Entries], shape: tuple[int, int]) -> ca.MX:
    rows, columns = (np.concatenate([block[i] for block in blocks]) for i in (0, 1))
    return scatter(rows, columns, ca.vertcat(*[block[2] for block in blocks]), shape)


def _triplet(sparsity: ca.Sparsity) -> tuple[Index, Index]:
    rows, columns = sparsity.get_triplet()
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
