"""Primitives that move elements unchanged: run once, in numpy, on values or on their indices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from codesign.tracing.equation import Equation, Rule
from codesign.tracing.values import Value, rearranged


def _moving(move: Callable[..., np.ndarray | list[np.ndarray]]) -> Rule:
    """Rule for a movement written as a function of (equation, *arrays)."""
    return lambda equation, inputs: rearranged(lambda *arrays: move(equation, *arrays), *inputs)


def _slice(equation: Equation, x: np.ndarray) -> np.ndarray:
    starts, limits = equation.params["start_indices"], equation.params["limit_indices"]
    strides = equation.params["strides"] or (1,) * len(starts)
    return x[tuple(map(slice, starts, limits, strides))]


def _broadcast(equation: Equation, x: np.ndarray) -> np.ndarray:
    shape = equation.shape()
    expanded = [1] * len(shape)
    for axis, target in enumerate(equation.params["broadcast_dimensions"]):
        expanded[target] = x.shape[axis]
    return np.broadcast_to(x.reshape(expanded), shape)


def _reshape(equation: Equation, x: np.ndarray) -> np.ndarray:
    order = equation.params.get("dimensions")
    return (x if order is None else x.transpose(order)).reshape(equation.shape())


def _split(equation: Equation, x: np.ndarray) -> list[np.ndarray]:
    ends = np.cumsum([int(size) for size in equation.params["sizes"]])
    return np.split(x, ends[:-1].tolist(), equation.params["axis"])


def _unstack(equation: Equation, x: np.ndarray) -> list[np.ndarray]:
    return list(np.moveaxis(x, equation.params["axis"], 0))


def _pad(equation: Equation, x: np.ndarray, filler: np.ndarray) -> np.ndarray:
    """Pad each axis by (before, after, between); negative amounts cut."""
    for axis, (before, after, between) in enumerate(equation.params["padding_config"]):
        x = _pad_axis(np.moveaxis(x, axis, 0), filler, int(before), int(after), int(between))
        x = np.moveaxis(x, 0, axis)
    return x


def _pad_axis(
    x: np.ndarray, filler: np.ndarray, before: int, after: int, between: int
) -> np.ndarray:
    length = max(0, len(x) + between * (len(x) - 1))
    spread = np.full((max(before, 0) + length + max(after, 0), *x.shape[1:]), filler, x.dtype)
    spread[max(before, 0) : max(before, 0) + length : between + 1] = x
    return spread[max(-before, 0) : len(spread) - max(-after, 0)]


def _iota(equation: Equation, inputs: list[Value]) -> list[Value]:
    shape, axis = equation.shape(), equation.params["dimension"]
    count = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return [np.broadcast_to(count, shape).astype(equation.dtype())]


def _sort(equation: Equation, inputs: list[Value]) -> list[Value]:
    """Sort by constant keys; what is carried along may be traced."""
    axis, keys = equation.params["dimension"], equation.params["num_keys"]
    known = [
        equation.constant(key, "the order", "use max, min or sums, or sort by constant keys")
        for key in inputs[:keys]
    ]
    order = np.lexsort([np.moveaxis(key, axis, -1) for key in known[::-1]], axis=-1)
    order = np.moveaxis(order, -1, axis)
    return rearranged(lambda *arrays: [np.take_along_axis(x, order, axis) for x in arrays], *inputs)


RULES: dict[str, Rule] = {
    "broadcast_in_dim": _moving(_broadcast),
    "concatenate": _moving(lambda equation, *xs: np.concatenate(xs, equation.params["dimension"])),
    "iota": _iota,
    "pad": _moving(_pad),
    "reshape": _moving(_reshape),
    "rev": _moving(lambda equation, x: np.flip(x, tuple(equation.params["dimensions"]))),
    "slice": _moving(_slice),
    "sort": _sort,
    "split": _moving(_split),
    "squeeze": _moving(lambda equation, x: np.squeeze(x, tuple(equation.params["dimensions"]))),
    "stack": _moving(lambda equation, *xs: np.stack(xs, equation.params["axis"])),
    "tile": _moving(lambda equation, x: np.tile(x, equation.params["reps"])),
    "transpose": _moving(lambda equation, x: np.transpose(x, equation.params["permutation"])),
    "unstack": _moving(_unstack),
}
