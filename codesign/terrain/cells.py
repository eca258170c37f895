"""Ground of flat cells with vertical risers: a union of blocks, by smoothed signed distance.

A cell of height h over a ≤ x ≤ b, c ≤ y ≤ d is a block that reaches down without end,

    φ_block(p) = max(z − h, a − x, x − b, c − y, y − d),      φ(p) = min over blocks φ_block(p),

with the smooth maximum  max_τ(a) = τ ln Σ exp(a_i / τ)  in place of max, −max_τ(−a) in place of
min, and τ a third of the rounding r. A lower cell goes on beneath its higher neighbours, so that
the ground has no walls close inside it where a point may get stuck.

Errors of φ, for n blocks: at most τ ln 5 too large (a convex edge is cut off), at most τ ln n too
small (a concave one is filled). Both fade as τ exp(−d/τ) with the distance d from the edge: 1.7 %
of r at d = r, 0.004 % at 3 r, nothing further away; only in a grid, a riser that two heights share
may stand forward by τ ln 2 below the lower of them. Without smoothing, φ is exact where the nearest
point of the ground is on a face, and the largest coordinate of the way there, so up to √2 too
small (√3 at corners), beside an edge; it is zero exactly on the surface.

The normal is the gradient, of a length of at most 1: a mean of unit vectors. Where it is shorter
(on rounded edges by little, midway between facing risers to nothing), it is filled up with the
vertical, n ∝ ∇φ + (1 − ‖∇φ‖²)⁸ ẑ, which turns an edge's normal by 0.3° at most and leaves faces
alone. No slope points down, so that n_z ≥ 0 and the frame

    t₁ = (1 − n_x²/(1 + n_z), −n_x n_y/(1 + n_z), −n_x),
    t₂ = (−n_x n_y/(1 + n_z), 1 − n_y²/(1 + n_z), −n_y)

is smooth everywhere.

References:
    Frisvad (2012), Building an Orthonormal Basis from a 3D Unit Vector Without Normalization,
    J. Graphics Tools 16(3) (the frame).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codesign.errors import ProblemError
from codesign.terrain.relief import Relief
from draft_core.backend import jax, jnp

_SHARPNESS = 3.0  # rounding / τ
_CLEAR = 3.0  # roundings by which a cell must be higher for another to go on beneath it


@dataclass(frozen=True)
class Cells:
    """Flat cells between edges along x, or along x and y.

    Attributes:
        edges: where cells meet along x, increasing; [m]. The first and the last cell have no end.
        heights: heights of the cells, (len(edges) + 1,) along x alone, or
            (len(edges) + 1, len(edges_y) + 1); [m].
        rounding: how far from an edge the ground is smoothed; [m].
        edges_y: where cells meet along y; [m].
        name: what reports call it.
    """

    edges: Sequence[float]
    heights: Sequence[float] | Sequence[Sequence[float]]
    rounding: float = 0.005
    edges_y: Sequence[float] = ()
    name: str = "cells"

    def __post_init__(self) -> None:
        """Keep plain tuples, so that cells compare, hash and cross processes.

        Raises:
            ProblemError: edges, heights or rounding do not describe a ground.
        """
        edges, edges_y = _increasing("edges", self.edges), _increasing("edges_y", self.edges_y)
        heights = _numbers("heights", self.heights)
        wanted = (len(edges) + 1, len(edges_y) + 1)
        if heights.shape != wanted and not (heights.shape == wanted[:1] and not edges_y):
            shape = f"{wanted[0]} numbers" if not edges_y else f"{wanted[0]} rows of {wanted[1]}"
            raise ProblemError(
                f"Cells: heights have shape {heights.shape}; {len(edges)} edges along x and "
                f"{len(edges_y)} along y need {shape}"
            )
        rounding = _numbers("rounding", self.rounding)
        if rounding.shape != () or rounding <= 0:
            raise ProblemError(f"Cells: rounding is {self.rounding!r}; it must be a length above 0")
        widths = np.diff(edges).tolist() + np.diff(edges_y).tolist()
        if widths and min(widths) < _CLEAR * rounding:
            raise ProblemError(
                f"Cells: a cell is {min(widths):g} m wide, less than {_CLEAR:g} times the rounding "
                f"of {float(rounding):g} m; give rounding={min(widths) / _CLEAR:.3g} or less"
            )
        rows = heights.reshape(wanted).tolist()
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "edges_y", edges_y)
        object.__setattr__(self, "heights", tuple(tuple(row) for row in rows))
        object.__setattr__(self, "rounding", float(rounding))

    @property
    def is_level(self) -> bool:
        """Whether it is the plane z = 0."""
        return not np.any(self._heights)

    @property
    def _heights(self) -> NDArray[np.float64]:
        return np.array(self.heights, dtype=float)

    @cached_property
    def _blocks(self) -> list[_Block]:
        x = (-math.inf, *self.edges, math.inf)
        y = (-math.inf, *self.edges_y, math.inf)
        found = []
        for height, (i, j), (k, m) in _rectangles(self._heights, _CLEAR * self.rounding):
            is_over = self._heights[i:j, k:m] > height
            found.append(
                _Block(
                    height,
                    _ends(x[i : j + 1], np.all(is_over, axis=1)),
                    _ends(y[k : m + 1], np.all(is_over, axis=0)),
                )
            )
        return found

    def gap(self, point: jax.Array) -> jax.Array:
        """Return the distance φ of a world point (3,) from the surface, positive above; [m]."""
        tau = self.rounding / _SHARPNESS
        distances = [_soft_maximum(block.sides(point), tau) for block in self._blocks]
        return -_soft_maximum([-distance for distance in distances], tau)

    def above(self, point: jax.Array) -> jax.Array:
        """Return what has the gap's sign: the gap itself; [m]."""
        return self.gap(point)

    def frame(self, point: jax.Array) -> jax.Array:
        """Return rows (t₁, t₂, n) of the contact frame at a point (3,): orthonormal, (3, 3)."""
        slope = jax.grad(self.gap)(point)
        missing = (1.0 - jnp.dot(slope, slope)) ** 8
        normal = slope + missing * jnp.array([0.0, 0.0, 1.0])
        x, y, z = normal / jnp.sqrt(jnp.dot(normal, normal))
        share, mixed = 1.0 / (1.0 + z), -x * y / (1.0 + z)
        first = jnp.stack([1.0 - x * x * share, mixed, -x])
        second = jnp.stack([mixed, 1.0 - y * y * share, -y])
        return jnp.stack([first, second, jnp.stack([x, y, z])])

    def height(self, position: jax.Array) -> jax.Array:
        """Return the height of the cell at a horizontal position (2,), without rounding; [m]."""
        row = jnp.sum(position[0] >= jnp.array(self.edges))
        column = jnp.sum(position[1] >= jnp.array(self.edges_y))
        return jnp.array(self._heights)[row, column]

    def relief(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Relief:
        """Return the cells over a rectangle, widened to hold every edge."""
        places = []
        for axis, edges in enumerate((self.edges, self.edges_y)):
            ends = (
                min((low[axis], *(e - 0.1 for e in edges))),
                max((high[axis], *(e + 0.1 for e in edges))),
            )
            places.append(np.array([ends[0], *edges, ends[1]], dtype=float))
        return Relief(places[0], places[1], self._heights)

    def require_valid(self, owner: str) -> None:
        """Do nothing: cells are checked as they are made."""


@dataclass(frozen=True)
class _Block:
    """A block that reaches down without end: its height [m], its extent along x and along y."""

    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def sides(self, point: jax.Array) -> list[jax.Array]:
        """Return how far a point (3,) is beyond each of its faces; [m]."""
        beyond = [point[2] - self.height]
        for axis, (first, last) in enumerate((self.x, self.y)):
            beyond += [first - point[axis]] if math.isfinite(first) else []
            beyond += [point[axis] - last] if math.isfinite(last) else []
        return beyond


def _soft_maximum(values: list[jax.Array], tau: float) -> jax.Array:
    """Return τ ln Σ exp(v / τ), without overflow; [m]."""
    if len(values) == 1:
        return values[0]
    stacked = jnp.stack(values)
    top = jax.lax.stop_gradient(jnp.max(stacked))
    return top + tau * jnp.log(jnp.sum(jnp.exp((stacked - top) / tau)))


Span = tuple[int, int]


def _rectangles(heights: NDArray[np.float64], clear: float) -> list[tuple[float, Span, Span]]:
    """Return blocks (height, from edge to edge along x, the same along y) whose union is the cells.

    Each grows over cells of its own height that no other block has, and beneath those that are
    higher by `clear`. Blocks of one height never share a top, which would count twice.
    """
    taken = np.zeros(heights.shape, dtype=bool)
    found = []
    for i, k in np.ndindex(heights.shape):
        if taken[i, k]:
            continue
        height = heights[i, k]
        free = ((heights == height) & ~taken) | (heights >= height + clear)
        x, y = [i, i + 1], [k, k + 1]
        for span, axis in ((x, 0), (y, 1)):
            while span[1] < heights.shape[axis] and _all(free, x, y, axis, span[1]):
                span[1] += 1
            while span[0] > 0 and _all(free, x, y, axis, span[0] - 1):
                span[0] -= 1
        taken[slice(*x), slice(*y)] |= heights[slice(*x), slice(*y)] == height
        found.append((float(height), (x[0], x[1]), (y[0], y[1])))
    return found


def _ends(edges: Sequence[float], is_beneath: Any) -> tuple[float, float]:
    """Return where a block ends: midway through its last cell where that is beneath a higher one.

    Ended with the higher cell, it would count twice in the riser there.
    """
    first = _middle(edges[0], edges[1]) if is_beneath[0] else edges[0]
    last = _middle(edges[-2], edges[-1]) if is_beneath[-1] else edges[-1]
    return first, last


def _middle(a: float, b: float) -> float:
    """Return the middle of an interval; an infinite end has none and stays."""
    return (a + b) / 2


def _all(free: NDArray[np.bool_], x: list[int], y: list[int], axis: int, index: int) -> bool:
    """Return whether a rectangle may grow by one row or column of cells."""
    return bool(free[index, slice(*y)].all() if axis == 0 else free[slice(*x), index].all())


def _numbers(what: str, values: Any) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if not np.all(np.isfinite(array)):
        raise ProblemError(f"Cells: {what} are {values!r}; they must be finite numbers [m]")
    return array


def _increasing(what: str, values: Any) -> tuple[float, ...]:
    array = _numbers(what, values)
    if array.ndim != 1 or np.any(np.diff(array) <= 0):
        raise ProblemError(f"Cells: {what} are {values!r}; they must be a list that increases")
    return tuple(array.tolist())
