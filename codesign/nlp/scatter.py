"""Scattering blocks into one sparse matrix: entry j of the blocks goes to (row_j, column_j).

Entries that meet in one place are added. Where none meet (a Jacobian) the scatter is a permutation.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


def scatter(rows: Index, columns: Index, values: ca.MX, shape: tuple[int, int]) -> ca.MX:
    """Return the sparse matrix with `values` at (rows, columns); duplicates are summed.

    Args:
        rows: row of each value, shape (m,).
        columns: column of each value, shape (m,).
        values: dense column of m expressions.
        shape: shape of the matrix.
    """
    keys = columns.astype(np.int64) * shape[0] + rows
    places, first, destination = np.unique(keys, return_index=True, return_inverse=True)
    sparsity = ca.Sparsity.triplet(
        shape[0], shape[1], (places % shape[0]).tolist(), (places // shape[0]).tolist()
    )
    if len(places) == len(keys):
        return ca.MX(sparsity, values[first.tolist()])
    gather = ca.DM.triplet(
        destination.tolist(), list(range(len(keys))), ca.DM.ones(len(keys)), len(places), len(keys)
    )
    return ca.MX(sparsity, gather @ values)
