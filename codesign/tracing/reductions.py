"""Primitives that combine elements along axes: sums, extrema, running ones, contractions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from codesign.tracing.equation import Equation, Rule
from codesign.tracing.values import Symbolic, Value, folded, lift, size_of


def _rows(value: Symbolic, axes: tuple[int, ...]) -> np.ndarray:
    """Pool index of the elements to combine: (combined, kept), kept in row-major order."""
    kept = [axis for axis in range(value.index.ndim) if axis not in axes]
    count = size_of([value.shape[axis] for axis in axes])
    return value.index.transpose([*axes, *kept]).reshape(count, -1)


def _reduction(numeric: Callable, graph: Callable[[Any, Any], Any]) -> Rule:
    """Rule for a reduction that combines one slice after the other."""

    def rule(equation: Equation, inputs: list[Value]) -> list[Value]:
        axes, shape, dtype = tuple(equation.params["axes"]), equation.shape(), equation.dtype()
        value = inputs[0]
        if isinstance(value, np.ndarray) or size_of(value.shape) == 0:
            array = value if isinstance(value, np.ndarray) else np.zeros(value.shape, dtype)
            return [np.asarray(numeric(array, axis=axes)).astype(dtype)]
        rows = _rows(value, axes)
        column = value.take(rows[0])
        for row in rows[1:]:
            column = graph(column, value.take(row))
        return [folded(column, shape, dtype)]

    return rule


def _boolean(reduction: Rule) -> Rule:
    """Refuse a bitwise reduction of traced integers."""

    def rule(equation: Equation, inputs: list[Value]) -> list[Value]:
        if isinstance(inputs[0], Symbolic) and equation.dtype() != np.bool_:
            equation.refuse("bits of a traced integer are not known; use booleans or arithmetic")
        return reduction(equation, inputs)

    return rule


def _sum(equation: Equation, inputs: list[Value]) -> list[Value]:
    axes, value = tuple(equation.params["axes"]), inputs[0]
    if isinstance(value, np.ndarray) or size_of(value.shape) == 0:
        array = value if isinstance(value, np.ndarray) else np.zeros(value.shape)
        return [np.asarray(array.sum(axis=axes)).astype(equation.dtype())]
    return [folded(_column_sums(value, _rows(value, axes)), equation.shape(), equation.dtype())]


def _column_sums(value: Symbolic, rows: np.ndarray) -> ca.SX:
    """Sum pool entries over the first axis of `rows`; a dense column."""
    terms = ca.reshape(value.take(rows.T), *rows.shape)
    return ca.densify(ca.sum1(terms)).T


def _extremum_position(numeric: Callable, better: Callable[[Any, Any], Any]) -> Rule:
    """Rule for argmax and argmin: the first of equals."""

    def rule(equation: Equation, inputs: list[Value]) -> list[Value]:
        (axis,) = equation.params["axes"]
        value = inputs[0]
        if isinstance(value, np.ndarray):
            return [np.asarray(numeric(value, axis=axis)).astype(equation.dtype())]
        if size_of(equation.shape()) == 0:
            return [np.zeros(equation.shape(), equation.dtype())]
        rows = _rows(value, (axis,))
        best = value.take(rows[0])
        position = ca.SX.zeros(rows.shape[1])
        for number, row in enumerate(rows[1:], 1):
            candidate = value.take(row)
            improved = better(candidate, best)
            best = ca.if_else(improved, candidate, best)
            position = ca.if_else(improved, number, position)
        return [folded(position, equation.shape(), equation.dtype())]

    return rule


def _running(numeric: np.ufunc, graph: Callable[[Any, Any], Any]) -> Rule:
    """Rule for a cumulative primitive along one axis."""

    def rule(equation: Equation, inputs: list[Value]) -> list[Value]:
        axis, backwards = equation.params["axis"], equation.params["reverse"]
        value = inputs[0]
        if isinstance(value, np.ndarray):
            ordered = np.flip(value, axis) if backwards else value
            result = numeric.accumulate(ordered, axis=axis).astype(equation.dtype())
            return [np.flip(result, axis) if backwards else result]
        if size_of(value.shape) == 0:
            return [np.zeros(value.shape, equation.dtype())]
        return [_accumulated(value, axis, backwards, graph)]

    return rule


def _accumulated(value: Symbolic, axis: int, backwards: bool, graph: Callable) -> Symbolic:
    index = np.moveaxis(value.index, axis, 0)
    index = index[::-1] if backwards else index
    columns = [value.take(index[0])]
    for row in index[1:]:
        columns.append(graph(columns[-1], value.take(row)))
    moved = np.arange(index.size).reshape(index.shape)
    moved = moved[::-1] if backwards else moved
    return Symbolic(ca.vertcat(*columns), np.moveaxis(moved, 0, axis))


def _contraction_axes(
    shape: tuple[int, ...], contracted: tuple[int, ...], batch: tuple[int, ...]
) -> tuple[list[int], tuple[int, int, int]]:
    """Axis order (batch, free, contracted) and the three sizes."""
    free = [axis for axis in range(len(shape)) if axis not in (*contracted, *batch)]
    groups = (list(batch), free, list(contracted))
    extents = [size_of([shape[axis] for axis in group]) for group in groups]
    return [*batch, *free, *contracted], (extents[0], extents[1], extents[2])


def _dot_general(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Contract, with batch axes first, then the free axes of the left, then those of the right."""
    (left_axes, right_axes), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left, right = inputs
    shape, dtype = equation.shape(), equation.dtype()
    left_order, (batch, rows, inner) = _contraction_axes(left.shape, left_axes, left_batch)
    right_order, (_, columns, _) = _contraction_axes(right.shape, right_axes, right_batch)
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        a = left.transpose(left_order).reshape(batch, rows, inner)
        b = right.transpose(right_order).reshape(batch, columns, inner)
        product = np.matmul(a.astype(dtype), np.swapaxes(b.astype(dtype), 1, 2))
        return [np.asarray(product).reshape(shape).astype(dtype)]
    if size_of(shape) == 0 or inner == 0:
        return [np.zeros(shape, dtype)]
    left, right = lift(left), lift(right)
    a = left.index.transpose(left_order).reshape(batch, rows, 1, inner)
    b = right.index.transpose(right_order).reshape(batch, 1, columns, inner)
    a, b = np.broadcast_arrays(a, b)
    terms = left.take(a) * right.take(b)
    terms = ca.reshape(terms, inner, batch * rows * columns)
    return [folded(ca.densify(ca.sum1(terms)).T, shape, dtype)]


RULES: dict[str, Rule] = {
    "argmax": _extremum_position(np.argmax, ca.gt),
    "argmin": _extremum_position(np.argmin, ca.lt),
    "cummax": _running(np.maximum, ca.fmax),
    "cummin": _running(np.minimum, ca.fmin),
    "cumprod": _running(np.multiply, lambda a, b: a * b),
    "cumsum": _running(np.add, lambda a, b: a + b),
    "dot_general": _dot_general,
    "reduce_and": _boolean(_reduction(np.bitwise_and.reduce, lambda a, b: a * b)),
    "reduce_max": _reduction(np.max, ca.fmax),
    "reduce_min": _reduction(np.min, ca.fmin),
    "reduce_or": _boolean(_reduction(np.bitwise_or.reduce, ca.fmax)),
    "reduce_prod": _reduction(np.prod, lambda a, b: a * b),
    "reduce_sum": _sum,
    "reduce_xor": _boolean(_reduction(np.bitwise_xor.reduce, ca.ne)),
}
