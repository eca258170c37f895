"""Gather, scatter and their kin, at positions that do not depend on the inputs.

Both gather and scatter look at windows of an operand; `_Windows` computes, once and in numpy, the
flat position of every element of every window. Gathering reads those positions, scattering writes
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from codesign.tracing.equation import Equation, Rule
from codesign.tracing.values import Value, folded, lift, rearranged, size_of, symbolic

_REMEDY = "index with constants, or select with jnp.where over every case"


@dataclass(frozen=True)
class _Windows:
    """Windows of an operand, as XLA describes them.

    Attributes:
        operand_shape: shape of the array looked at.
        sizes: extent of a window along each operand axis.
        start_axes: operand axis that each component of an index vector moves along.
        dropped_axes: operand axes of extent 1 that a window leaves out.
        batch_axes: operand axes shared with axes of the index array.
        index_batch_axes: those axes of the index array.
        window_axes: axes of the gathered (or the update) array that run inside a window.
        clip: whether windows are pushed inside the operand rather than marked as outside.
    """

    operand_shape: tuple[int, ...]
    sizes: tuple[int, ...]
    start_axes: tuple[int, ...]
    dropped_axes: tuple[int, ...]
    batch_axes: tuple[int, ...]
    index_batch_axes: tuple[int, ...]
    window_axes: tuple[int, ...]
    clip: bool

    def positions(self, indices: np.ndarray) -> np.ndarray:
        """Flat operand position of every window element; -1 outside.

        Args:
            indices: integer array (*batch, components).
        """
        start, inside = self._starts(indices)
        kept = [
            axis
            for axis in range(len(self.sizes))
            if axis not in (*self.dropped_axes, *self.batch_axes)
        ]
        strides = np.cumprod([1, *self.operand_shape[:0:-1]], dtype=np.int64)[::-1]
        flat = (start * strides[: len(self.sizes)]).sum(-1) if self.sizes else start.sum(-1)
        for axis in kept:
            flat = flat[..., None] + np.arange(self.sizes[axis]) * strides[axis]
        inside = inside.reshape(inside.shape + (1,) * len(kept))
        flat = np.where(inside, flat, -1)
        batch = indices.ndim - 1
        return np.moveaxis(flat, range(batch, batch + len(kept)), self.window_axes)

    def _starts(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corner of every window (*batch, rank), and whether it is inside the operand (*batch)."""
        batch = indices.shape[:-1]
        start = np.zeros((*batch, len(self.sizes)), np.int64)
        for component, axis in enumerate(self.start_axes):
            start[..., axis] = indices[..., component]
        for axis, index_axis in zip(self.batch_axes, self.index_batch_axes, strict=True):
            count = np.arange(batch[index_axis])
            start[..., axis] = count.reshape(
                [-1 if i == index_axis else 1 for i in range(len(batch))]
            )
        room = np.array(self.operand_shape, np.int64) - np.array(self.sizes, np.int64)
        if self.clip:
            start = np.clip(start, 0, room)
        return start, np.all((start >= 0) & (start <= room), axis=-1)


def _clips(equation: Equation) -> bool:
    return "FILL_OR_DROP" not in str(equation.params["mode"])


def _gather(equation: Equation, inputs: list[Value]) -> list[Value]:
    operand, indices = inputs
    numbers = equation.params["dimension_numbers"]
    windows = _Windows(
        operand_shape=operand.shape,
        sizes=tuple(equation.params["slice_sizes"]),
        start_axes=numbers.start_index_map,
        dropped_axes=numbers.collapsed_slice_dims,
        batch_axes=numbers.operand_batching_dims,
        index_batch_axes=numbers.start_indices_batching_dims,
        window_axes=numbers.offset_dims,
        clip=_clips(equation),
    )
    known = equation.constant(indices, "an index", _REMEDY).astype(np.int64)
    positions = windows.positions(known)
    filler = np.asarray(_filler(equation), equation.dtype())
    return rearranged(lambda x, fill: np.append(x.ravel(), fill)[positions], operand, filler)


def _filler(equation: Equation) -> float | int | bool:
    """What JAX puts where an index is out of bounds."""
    dtype = np.dtype(equation.dtype())
    if equation.params["fill_value"] is not None:
        return equation.params["fill_value"]
    if np.issubdtype(dtype, np.floating):
        return np.nan
    if dtype == np.bool_:
        return True
    limits = np.iinfo(dtype)
    return int(limits.min if np.issubdtype(dtype, np.signedinteger) else limits.max)


def _scatter_positions(
    equation: Equation, operand: Value, indices: Value, updates: Value
) -> np.ndarray:
    """Flat operand position of every element of `updates`; -1 where it is dropped."""
    numbers = equation.params["dimension_numbers"]
    hidden = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    extents = iter([updates.shape[axis] for axis in numbers.update_window_dims])
    windows = _Windows(
        operand_shape=operand.shape,
        sizes=tuple(1 if axis in hidden else next(extents) for axis in range(len(operand.shape))),
        start_axes=numbers.scatter_dims_to_operand_dims,
        dropped_axes=numbers.inserted_window_dims,
        batch_axes=numbers.operand_batching_dims,
        index_batch_axes=numbers.scatter_indices_batching_dims,
        window_axes=numbers.update_window_dims,
        clip=_clips(equation),
    )
    return windows.positions(equation.constant(indices, "an index", _REMEDY).astype(np.int64))


def _scatter(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Write updates into a copy of the operand; the last of several writes to one place stays."""
    operand, indices, updates = inputs
    positions = _scatter_positions(equation, operand, indices, updates).ravel()
    written = positions >= 0

    def move(x: np.ndarray, new: np.ndarray) -> np.ndarray:
        result = x.flatten()
        result[positions[written]] = new.ravel()[written]
        return result.reshape(x.shape)

    return rearranged(move, operand, updates)


def _scatter_combining(numeric: np.ufunc, graph: Callable) -> Rule:
    """Rule for a scatter that combines each update with what is there."""

    def rule(equation: Equation, inputs: list[Value]) -> list[Value]:
        operand, indices, updates = inputs
        positions = _scatter_positions(equation, operand, indices, updates).ravel()
        sources = np.flatnonzero(positions >= 0)
        if isinstance(operand, np.ndarray) and isinstance(updates, np.ndarray):
            result = operand.flatten()
            numeric.at(result, positions[sources], updates.ravel()[sources])
            return [result.reshape(operand.shape)]
        column = ca.SX(lift(operand).column)
        new = symbolic(lift(updates).column, (size_of(updates.shape),))
        for layer in _layers(positions[sources]):
            where = positions[sources[layer]]
            old = symbolic(column, (column.numel(),)).take(where)
            column[where.tolist()] = graph(old, new.take(sources[layer]))
        return [folded(column, operand.shape, equation.dtype())]

    return rule


def _layers(positions: np.ndarray) -> list[np.ndarray]:
    """Split writes into groups in which every position occurs once, keeping their order."""
    order = np.argsort(positions, kind="stable")
    sorted_positions = positions[order]
    first = np.searchsorted(sorted_positions, sorted_positions)
    occurrence = np.empty(len(positions), np.int64)
    occurrence[order] = np.arange(len(positions)) - first
    return [
        np.flatnonzero(occurrence == layer) for layer in range(int(occurrence.max(initial=-1)) + 1)
    ]


def _corner(
    equation: Equation, shape: Sequence[int], sizes: Sequence[int], starts: list[Value]
) -> list[int]:
    """Start of a dynamic slice along each axis, pushed inside the operand as JAX does."""
    known = [int(equation.constant(start, "the start of the slice", _REMEDY)) for start in starts]
    return [
        min(max(start, 0), extent - size)
        for start, extent, size in zip(known, shape, sizes, strict=True)
    ]


def _dynamic_slice(equation: Equation, inputs: list[Value]) -> list[Value]:
    operand, starts = inputs[0], inputs[1:]
    sizes = equation.params["slice_sizes"]
    corner = _corner(equation, operand.shape, sizes, starts)
    window = tuple(slice(start, start + size) for start, size in zip(corner, sizes, strict=True))
    return rearranged(lambda x: x[window], operand)


def _dynamic_update_slice(equation: Equation, inputs: list[Value]) -> list[Value]:
    operand, update, starts = inputs[0], inputs[1], inputs[2:]
    corner = _corner(equation, operand.shape, update.shape, starts)
    window = tuple(
        slice(start, start + size) for start, size in zip(corner, update.shape, strict=True)
    )

    def move(x: np.ndarray, new: np.ndarray) -> np.ndarray:
        result = x.copy()
        result[window] = new
        return result

    return rearranged(move, operand, update)


RULES: dict[str, Rule] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter,
    "scatter-add": _scatter_combining(np.add, lambda a, b: a + b),
    "scatter-max": _scatter_combining(np.maximum, ca.fmax),
    "scatter-min": _scatter_combining(np.minimum, ca.fmin),
    "scatter-mul": _scatter_combining(np.multiply, lambda a, b: a * b),
}
