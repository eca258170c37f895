"""The two kinds of value the interpreter knows: numpy arrays and symbolic arrays.

A symbolic array is a *pool*, a dense CasADi column of scalars, and an *index*, an integer array of
the value's shape that says which pool entry each element is: ``value[i, j] = pool[index[i, j]]``.
Moving data (slicing, transposing, gathering, ...) then only moves integers, and CasADi is called
once per arithmetic operation.

Whatever does not depend on the inputs stays a numpy array and is folded by numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

_MERGE_LIMIT = 100_000  # scalar operations; a second


class Symbolic:
    """An array of CasADi scalars in row-major order.

    Attributes:
        pool: dense column (n, 1) of scalars.
        index: integer array of the value's shape, pointing into `pool`.
    """

    __slots__ = ("_column", "index", "pool")

    def __init__(self, pool: ca.SX, index: np.ndarray, column: ca.SX | None = None):
        """Point `index` into `pool`; `column` is the gathered column where it is already known."""
        self.pool = pool
        self.index = index
        self._column = column

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.index.shape

    @property
    def column(self) -> ca.SX:
        """The elements as a dense column (size, 1), row-major."""
        if self._column is None:
            self._column = self.take(self.index)
        return self._column

    def broadcast_column(self, shape: tuple[int, ...]) -> ca.SX:
        """The elements of the array broadcast to `shape`, as a dense column."""
        if self.index.shape == shape:
            return self.column
        return self.take(np.broadcast_to(self.index, shape))

    def take(self, index: np.ndarray) -> ca.SX:
        """The pool entries at `index`, read row-major, as a dense column."""
        if self.pool.numel() == 1:  # CasADi would return a row
            return ca.repmat(self.pool, index.size, 1)
        return self.pool[index.ravel().tolist()]


Value = np.ndarray | Symbolic


def size_of(shape: Sequence[int]) -> int:
    """Number of elements of an array of this shape."""
    return int(np.prod(shape, dtype=np.int64))


def symbolic(column: ca.SX, shape: Sequence[int]) -> Symbolic:
    """View a dense column (size, 1) as a row-major array of `shape`."""
    return Symbolic(column, np.arange(size_of(shape)).reshape(tuple(shape)), column)


def folded(column: ca.SX, shape: Sequence[int], dtype: np.dtype) -> Value:
    """Return the column as an array of `shape`: numpy if all of it is constant, symbolic if not."""
    if column.is_constant():
        return np.array(ca.DM(column)).reshape(tuple(shape)).astype(dtype)
    return symbolic(column, shape)


def as_constant(value: Value) -> np.ndarray | None:
    """Return the value as numpy if no element depends on the inputs, else None."""
    if isinstance(value, np.ndarray):
        return value
    if value.column.is_constant():
        return np.array(ca.DM(value.column)).reshape(value.shape)
    return None


def lift(value: Value) -> Symbolic:
    """Return the value as a symbolic array, constants included."""
    if isinstance(value, Symbolic):
        return value
    return symbolic(ca.SX(value.astype(float).ravel()), value.shape)


def pooled(values: Sequence[Value]) -> tuple[ca.SX, list[np.ndarray]]:
    """Return one pool that holds every value, and each value's index into it."""
    pools: list[ca.SX] = []
    offsets: dict[int, int] = {}
    indices: list[np.ndarray] = []
    total = 0
    for value in map(lift, values):
        key = id(value.pool)
        if key not in offsets:
            if value.pool.numel() > 4 * value.index.size + 64:
                value = symbolic(value.column, value.shape)
                key = id(value.pool)
            offsets[key] = total
            pools.append(value.pool)
            total += value.pool.numel()
        indices.append(value.index + offsets[key])
    return (pools[0] if len(pools) == 1 else ca.vertcat(*pools)), indices


def merged(expressions: list[ca.SX]) -> list[ca.SX]:
    """Merge common sub-expressions, where that is quick.

    It takes an eighth off the operations of a robot's derivatives at 8 µs for each; above the limit
    it would take longer than differentiating.
    """
    if sum(ca.n_nodes(expression) for expression in expressions) > _MERGE_LIMIT:
        return expressions
    return ca.cse(expressions)


def rearranged(move: Callable[..., np.ndarray | list[np.ndarray]], *values: Value) -> list[Value]:
    """Apply a pure data movement, written in numpy, to values of either kind.

    Args:
        move: takes one array for each value and returns an array, or a list of arrays, of their
            elements.
        values: what to move; where any is symbolic the movement is run on indices into a common
            pool.

    Returns:
        The moved arrays.
    """
    if all(isinstance(value, np.ndarray) for value in values):
        return [*_listed(move(*values))]
    pool, indices = pooled(values)
    return [Symbolic(pool, index) for index in _listed(move(*indices))]


def _listed(moved: np.ndarray | list[np.ndarray]) -> list[np.ndarray]:
    """Return one or several results as a list of arrays, numpy scalars included."""
    return [np.asarray(array) for array in (moved if isinstance(moved, list) else [moved])]
