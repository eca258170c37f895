"""Cholesky factor and triangular solve, written out for small matrices.

One algorithm serves both kinds of value: on numpy arrays it runs, on columns of scalars it builds
the graph.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from codesign.tracing.equation import Equation, Rule
from codesign.tracing.values import Symbolic, Value, lift


def _blocks(value: Symbolic) -> list[ca.SX]:
    """The matrices of a batch (..., n, m) as CasADi matrices."""
    n, m = value.shape[-2:]
    index = value.index.reshape(-1, n, m)
    return [ca.reshape(value.take(block.T), n, m) for block in index]


def _batched(blocks: list[ca.SX], shape: tuple[int, ...]) -> Symbolic:
    """The inverse of `_blocks`."""
    column = ca.vertcat(*(ca.densify(ca.vec(block.T)) for block in blocks))
    return Symbolic(column, np.arange(column.numel()).reshape(shape))


def _cholesky(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Lower factor L with L Lᵀ equal to the input; NaN where the input is not positive definite."""
    if 0 in equation.shape():
        return [np.zeros(equation.shape(), equation.dtype())]
    value = inputs[0]
    if isinstance(value, np.ndarray):
        return [_numeric_cholesky(value)]
    return [_batched([_graph_cholesky(block) for block in _blocks(value)], value.shape)]


def _numeric_cholesky(matrices: np.ndarray) -> np.ndarray:
    factors = np.empty_like(matrices)
    for place in np.ndindex(matrices.shape[:-2]):
        try:
            factors[place] = np.linalg.cholesky(matrices[place])
        except np.linalg.LinAlgError:
            factors[place] = np.nan
    return factors


def _graph_cholesky(a: ca.SX) -> ca.SX:
    n = a.shape[0]
    factor = ca.SX.zeros(n, n)
    for j in range(n):
        factor[j, j] = ca.sqrt(a[j, j] - ca.sumsqr(factor[j, :j]))
        for i in range(j + 1, n):
            factor[i, j] = (a[i, j] - ca.dot(factor[i, :j], factor[j, :j])) / factor[j, j]
    return factor


def _triangular_solve(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Solve op(A) X = B, or X op(A) = B, with one triangle of A."""
    shape = equation.shape()
    if 0 in shape:
        return [np.zeros(shape, equation.dtype())]
    constant = all(isinstance(value, np.ndarray) for value in inputs)
    matrices, rights = map(_blocks, map(lift, inputs))
    solved = _batched(
        [_solve(equation, a, b) for a, b in zip(matrices, rights, strict=True)], shape
    )
    if constant:
        return [np.array(ca.DM(solved.column)).reshape(shape).astype(equation.dtype())]
    return [solved]


def _solve(equation: Equation, a: ca.SX, b: ca.SX) -> ca.SX:
    lower, left = equation.params["lower"], equation.params["left_side"]
    if equation.params["transpose_a"]:
        a, lower = a.T, not lower
    if not left:  # X A = B is Aᵀ Xᵀ = Bᵀ
        a, b, lower = a.T, b.T, not lower
    x = _substitute(a, b, lower, equation.params["unit_diagonal"])
    return x if left else x.T


def _substitute(a: ca.SX, b: ca.SX, lower: bool, unit_diagonal: bool) -> ca.SX:
    n = a.shape[0]
    x = ca.SX.zeros(*b.shape)
    for i in range(n) if lower else range(n - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, n)
        row = b[i, :] - ca.mtimes(a[i, known], x[known, :])
        x[i, :] = row if unit_diagonal else row / a[i, i]
    return x


RULES: dict[str, Rule] = {
    "cholesky": _cholesky,
    "triangular_solve": _triangular_solve,
}
