"""Poses that the task itself pins: where a start has to be, before anyone says how to get there.

The task's rows that speak of poses, design and time alone, lower ≤ g(x) ≤ upper, are solved as a
nonlinear least-squares problem in all of them at once,

    minimise ½ ‖r(x)‖²,   r = max(lower − g, 0) + max(g − upper, 0),

by Levenberg and Marquardt's damped steps (JᵀJ + λ I) s = −Jᵀ r inside the box of the variables.
From the robot's own pose such steps stay near it, so that what no row mentions keeps its place.

References:
    Nocedal and Wright (2006), Numerical Optimization, ch. 10.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from codesign.nlp import NonlinearProgram

Vector = NDArray[np.float64]

_STEPS = 40  # most steps; what has not converged by then is taken as it is
_CLOSE_ENOUGH = 1e-9  # a violation below it is none; scaled
_FEW = 2  # rows over more knots than this (sums over the motion) pin none of them
_PARAMETERS = (1.0, 1.0)


@dataclass(frozen=True)
class PoseRows:
    """The task's rows that depend on configurations, design and time steps alone.

    Attributes:
        rows: their entries in g, shape (m,).
        columns: the variables that they touch, shape (c,).
        lower: lower bounds, shape (m,).
        upper: upper bounds, shape (m,).
        states_poses: whether a row is the task's own or speaks of one knot alone, shape (m,).
        pinned: knots whose configuration an equation over one or two knots touches, shape (K,).
        at_rest: knots whose velocities are all held at zero, shape (K,).
        quaternions: entries of every unit quaternion in the decision vector, shape (·, 4).
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    lower: Vector
    upper: Vector
    states_poses: NDArray[np.bool_]
    pinned: NDArray[np.bool_]
    at_rest: NDArray[np.bool_]
    quaternions: NDArray[np.int64]

    @classmethod
    def of(cls, program: NonlinearProgram, quaternion_starts: Sequence[int]) -> PoseRows:
        """Return the rows of a program, found by what its Jacobian touches.

        Args:
            program: the nonlinear program.
            quaternion_starts: where in q each quaternion begins.
        """
        layout = program.layout
        field = np.empty(layout.size, dtype="<U8")
        knot = np.full(layout.size, -1)
        for name, index in layout.fields.items():
            field[index] = name
            if name in ("q", "v"):
                knot[index] = np.arange(layout.knots)[:, None]
        triplet = program.derivatives["jac_g"].sparsity_out(1).get_triplet()
        all_rows, all_columns = (np.array(part, dtype=np.int64) for part in triplet)
        lower, upper = program.lower, program.upper
        placed = program.user_rows[: len(program.user_rows) - len(program.peaks)]
        chosen: list[int] = []
        states_poses: list[bool] = []
        pinned = np.zeros(layout.knots, dtype=bool)
        held = np.zeros((layout.knots, layout.nv), dtype=bool)
        of_row = _columns_by_row(all_rows, all_columns, program.task.start, len(lower))
        for row in (r for p in placed for r in range(p.start, p.start + p.rows.size)):
            columns = of_row[row]
            is_equation = lower[row] == upper[row]
            names = set(field[columns].tolist())
            if not names or not names <= {"q", "design", "dt"}:
                if names == {"v"} and len(columns) == 1 and is_equation and lower[row] == 0.0:
                    _, k, (dof,) = layout.describe(int(columns[0]))
                    held[k, dof] = True
                continue
            chosen.append(row)
            knots = np.unique(knot[columns][field[columns] == "q"])
            states_poses.append(row < program.task.stop or len(knots) <= 1)
            if is_equation and len(knots) <= _FEW:
                pinned[knots] = True
        rows = np.array(chosen, dtype=np.int64)
        touched = np.unique(np.concatenate([of_row[r] for r in chosen])) if chosen else rows
        index = layout.fields["q"]
        quaternions = [index[:, start : start + 4] for start in quaternion_starts]
        return cls(
            rows,
            touched,
            lower[rows],
            upper[rows],
            np.array(states_poses, dtype=bool),
            pinned,
            np.asarray(held.all(axis=1)),
            np.concatenate(quaternions) if quaternions else np.zeros((0, 4), dtype=np.int64),
        )

    def of_poses(self) -> PoseRows:
        """Return the rows without those of every problem that hold its path together."""
        keep = self.states_poses
        return replace(
            self,
            rows=self.rows[keep],
            lower=self.lower[keep],
            upper=self.upper[keep],
            states_poses=self.states_poses[keep],
        )


def _columns_by_row(
    rows: NDArray[np.int64], columns: NDArray[np.int64], first: int, end: int
) -> dict[int, NDArray[np.int64]]:
    """Return which columns each of the rows first … end − 1 touches."""
    order = np.argsort(rows, kind="stable")
    rows, columns = rows[order], columns[order]
    edges = np.searchsorted(rows, np.arange(first, end + 1))
    return {first + i: columns[edges[i] : edges[i + 1]] for i in range(end - first)}


def meet(
    program: NonlinearProgram, given: PoseRows, x: Vector, box: tuple[Vector, Vector]
) -> Vector:
    """Return a point near x that meets the rows as well as damped steps can, shape (n,).

    Args:
        program: the nonlinear program.
        given: its rows that speak of poses.
        x: where to begin, scaled variables.
        box: bounds of the scaled variables.
    """
    x = np.clip(x, *box)
    if not len(given.rows):
        return x
    residual, jacobian = _evaluate(program, given, x)
    damping = 1e-3
    for _ in range(_STEPS):
        if np.max(np.abs(residual), initial=0.0) < _CLOSE_ENOUGH or damping > 1e6:
            break
        trial = x.copy()
        trial[given.columns] += _damped_step(
            residual[residual != 0.0], jacobian, x, box, given.columns, damping
        )
        trial = _unit(np.clip(trial, *box), given.quaternions)
        new_residual, new_jacobian = _evaluate(program, given, trial)
        if new_residual @ new_residual < residual @ residual:
            x, residual, jacobian = trial, new_residual, new_jacobian
            damping = max(damping * 0.2, 1e-9)
        else:
            damping *= 5.0
    return x


def _evaluate(program: NonlinearProgram, given: PoseRows, x: Vector) -> tuple[Vector, Vector]:
    """Return signed violations (m,) and the Jacobian (·, c) of the rows that are violated."""
    g, jacobian = program.derivatives["jac_g"](x, _PARAMETERS)
    value = np.asarray(g).ravel()[given.rows]
    residual = np.minimum(value - given.lower, 0.0) + np.maximum(value - given.upper, 0.0)
    residual = np.where(np.isfinite(residual), residual, 0.0)
    violated = given.rows[residual != 0.0]
    rows = jacobian.sparse().tocsr()[violated][:, given.columns].toarray()
    return residual, np.where(np.isfinite(rows), rows, 0.0)


def _damped_step(
    violated: Vector,
    jacobian: Vector,
    x: Vector,
    box: tuple[Vector, Vector],
    columns: NDArray[np.int64],
    damping: float,
) -> Vector:
    """Return the step of the touched variables; those held by a bound that it pushes on stay."""
    slope = jacobian.T @ violated
    at_low, at_high = x[columns] <= box[0][columns], x[columns] >= box[1][columns]
    is_free = ~((at_low & (slope > 0)) | (at_high & (slope < 0)))
    part = jacobian[:, is_free]
    step = np.zeros(len(columns))
    # (JᵀJ + λ I)⁻¹ Jᵀ = Jᵀ (J Jᵀ + λ I)⁻¹, and there are far fewer violated rows than variables.
    inner = part @ part.T + damping * np.eye(len(violated))
    step[is_free] = -part.T @ np.linalg.solve(inner, violated)
    return step


def _unit(x: Vector, quaternions: NDArray[np.int64]) -> Vector:
    if len(quaternions):
        norm = np.linalg.norm(x[quaternions], axis=1, keepdims=True)
        x[quaternions] = np.where(norm > 1e-9, x[quaternions] / np.maximum(norm, 1e-9), 0.5)
    return x
