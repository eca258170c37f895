"""Where each quantity sits in the decision vector z.

Intervals are stored one after another so that the KKT matrix is banded but for the design columns:

    z = (q₀ v₀ u₀ λ₀ h₀ | q₁ v₁ u₁ λ₁ h₁ | … | q_N v_N | ρ | ξ),   N = knots − 1.

Forces and efforts with index k act over the interval from knot k to knot k + 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from codesign.plant import Plant

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Index arrays of the decision vector.

    Attributes:
        knots: number of knots K ≥ 2.
        nq: size of a configuration.
        nv: size of a velocity.
        nu: number of actuators.
        nc: number of contact points.
        n_design: number of design variables.
        n_peaks: number of epigraph variables ξ.
    """

    knots: int
    nq: int
    nv: int
    nu: int
    nc: int
    n_design: int
    n_peaks: int = 0

    @classmethod
    def of(cls, plant: Plant, knots: int) -> Layout:
        """Return the layout of a plant's motion over some knots, without epigraph variables."""
        model = plant.nominal
        return cls(
            knots=knots,
            nq=model.nq,
            nv=model.nv,
            nu=model.nu,
            nc=len(plant.robot.contacts),
            n_design=len(plant.space.names),
        )

    @property
    def intervals(self) -> int:
        """Number of intervals N = K − 1."""
        return self.knots - 1

    @property
    def block(self) -> int:
        """Number of variables stored per interval."""
        return self.nq + self.nv + self.nu + 6 * self.nc + 1

    @property
    def size(self) -> int:
        """Length of z."""
        tail = self.nq + self.nv + self.n_design + self.n_peaks
        return self.intervals * self.block + tail

    @cached_property
    def fields(self) -> dict[str, Index]:
        """Index of every field, in its shape: q (K, nq), v (K, nv), u (N, nu), and so on."""
        starts = np.arange(self.knots) * self.block
        offset = 0

        def take(rows: Index, *shape: int) -> Index:
            nonlocal offset
            count = int(np.prod(shape)) if shape else 1
            index = rows[:, None] + offset + np.arange(count)
            offset += count
            return index.reshape((len(rows), *shape))

        fields = {"q": take(starts, self.nq), "v": take(starts, self.nv)}
        fields["u"] = take(starts[:-1], self.nu)
        fields["normal"] = take(starts[:-1], self.nc)
        fields["tangent"] = take(starts[:-1], self.nc, 4)
        fields["slide"] = take(starts[:-1], self.nc)
        fields["dt"] = take(starts[:-1])
        tail = self.intervals * self.block + self.nq + self.nv
        fields["design"] = tail + np.arange(self.n_design)
        fields["peaks"] = tail + self.n_design + np.arange(self.n_peaks)
        return fields

    @cached_property
    def interval_index(self) -> Index:
        """Rows of z that interval k reads, shape (N, ·): q⁻ v⁻ q⁺ v⁺ u λ h ρ."""
        f, n = self.fields, self.intervals
        design = np.broadcast_to(f["design"], (n, self.n_design))
        parts = [f["q"][:-1], f["v"][:-1], f["q"][1:], f["v"][1:], f["u"], f["normal"]]
        parts += [f["tangent"].reshape(n, -1), f["slide"], f["dt"][:, None], design]
        return np.concatenate(parts, axis=1)

    def split(self, z: Any) -> dict[str, Any]:
        """Return the fields of a decision vector (NumPy or JAX), each with its natural shape."""
        return {name: z[index] for name, index in self.fields.items()}

    def join(self, fields: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the decision vector of the given fields; those missing are zero."""
        z = np.zeros(self.size)
        for name, value in fields.items():
            z[self.fields[name]] = value
        return z

    def describe(self, index: int) -> tuple[str, int | None, tuple[int, ...]]:
        """Return (field, knot or None, element) of one entry of z."""
        for name, positions in self.fields.items():
            hit = np.argwhere(positions == index)
            if hit.size:
                place = tuple(int(i) for i in hit[0])
                has_knot = name not in ("design", "peaks")
                return (name, place[0], place[1:]) if has_knot else (name, None, place)
        raise IndexError(f"decision vector has {self.size} entries, not an entry {index}")


def interval_widths(layout: Layout) -> list[int]:
    """Return the lengths of q⁻, v⁻, q⁺, v⁺, u, normal, tangent, slide, h and ρ in an interval."""
    state = [layout.nq, layout.nv]
    return [*state, *state, layout.nu, layout.nc, 4 * layout.nc, layout.nc, 1, layout.n_design]
