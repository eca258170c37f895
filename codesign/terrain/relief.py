"""The ground around a motion as numbers: what files, simulation and pictures use."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from codesign.terrain.ground import Ground

Vector = NDArray[np.float64]

FLAT_NAME = "flat ground"  # of the plane z = 0, of which nothing more need be known
_MARGIN = 0.5  # of ground shown and simulated beyond the motion and the robot's size; [m]


@dataclass(frozen=True)
class Block:
    """A piece of ground with a flat top: a box, or a wedge.

    Attributes:
        x: where it begins and ends, (2,); [m].
        y: the same along y, (2,); [m].
        top: heights of its corners by x and y, (2, 2); [m].
    """

    x: Vector
    y: Vector
    top: Vector

    @property
    def is_box(self) -> bool:
        """Whether its top is level."""
        return bool(np.ptp(self.top) < 1e-12)

    def corners(self, bottom: float) -> Vector:
        """Return its corners down to a height, (8, 3): the lower four, then the upper; [m]."""
        x, y = np.meshgrid(self.x, self.y, indexing="ij")
        layers = [np.stack([x, y, z], axis=-1) for z in (np.full((2, 2), bottom), self.top)]
        return np.concatenate(layers).reshape(8, 3)


@dataclass(frozen=True)
class Relief:
    """A patch of ground.

    Attributes:
        x: edges or sample places along x, increasing, (n,); [m].
        y: the same along y, (m,); [m].
        height: heights of flat cells between edges, (n − 1, m − 1), or at sample places, (n, m),
            bilinear between them; [m].
    """

    x: Vector
    y: Vector
    height: Vector

    @property
    def is_stepped(self) -> bool:
        """Whether it consists of flat cells."""
        return self.height.shape == (len(self.x) - 1, len(self.y) - 1)

    @property
    def is_whole(self) -> bool:
        """Whether its arrays fit each other."""
        places = (self.x, self.y)
        if any(p.ndim != 1 or len(p) < 2 or not np.all(np.diff(p) > 0) for p in places):
            return False
        is_sampled = self.height.shape == (len(self.x), len(self.y))
        return (is_sampled or self.is_stepped) and bool(np.all(np.isfinite(self.height)))

    @property
    def is_profile(self) -> bool:
        """Whether the height depends on x alone."""
        return self.height.shape[1] == 1 or bool(np.ptp(self.height, axis=1).max() == 0.0)

    @property
    def lowest(self) -> float:
        """Height of its lowest point; [m]."""
        return float(self.height.min())

    def blocks(self, most: int = 1000) -> list[Block]:
        """Return what stands above its lowest point, in pieces.

        Args:
            most: most pieces along each axis; samples are left out to keep to it.
        """
        rows, columns = (_thinned(len(places), most) for places in (self.x, self.y))
        found = []
        for i, j in itertools.pairwise(rows):
            for k, m in itertools.pairwise(columns):
                top = (
                    np.full((2, 2), self.height[i, k])
                    if self.is_stepped
                    else self.height[np.ix_([i, j], [k, m])]
                )
                if top.max() > self.lowest + 1e-9:
                    found.append(Block(self.x[[i, j]], self.y[[k, m]], top))
        return found


def _thinned(count: int, most: int) -> NDArray[np.int64]:
    """Return indices of at most `most` + 1 of `count` places, the first and the last included."""
    return np.unique(np.linspace(0, count - 1, min(count, most + 1)).round().astype(np.int64))


def simplified(x: Vector, z: Vector, tolerance: float) -> NDArray[np.int64]:
    """Return indices of the points that draw a profile to within a tolerance [m] of its heights.

    References:
        Douglas and Peucker (1973), Cartographica 10(2).
    """
    kept, pending = {0, len(x) - 1}, [(0, len(x) - 1)]
    while pending:
        first, last = pending.pop()
        if last - first < 2:
            continue
        between = np.arange(first + 1, last)
        chord = np.interp(x[between], x[[first, last]], z[[first, last]])
        worst = int(np.argmax(np.abs(z[between] - chord)))
        if abs(z[between[worst]] - chord[worst]) > tolerance:
            middle = int(between[worst])
            kept.add(middle)
            pending += [(first, middle), (middle, last)]
    return np.array(sorted(kept), dtype=np.int64)


def relief_under(terrain: Ground, model: mujoco.MjModel, q: Vector) -> Relief | None:
    """Return the ground under and around a motion.

    None for flat ground of that name, and for a height that is not finite everywhere there.

    Args:
        terrain: the ground.
        model: the robot.
        q: configurations of the motion, (K, nq).
    """
    if terrain.is_level and terrain.name == FLAT_NAME:
        return None
    data = mujoco.MjData(model)
    places = []
    for configuration in q[np.isfinite(q).all(axis=1)]:
        data.qpos[:] = configuration
        mujoco.mj_kinematics(model, data)
        places.append(data.xpos[:, :2].copy())
    cloud = np.concatenate(places or [np.zeros((1, 2))])
    room = _MARGIN + float(model.stat.extent)
    relief = terrain.relief(cloud.min(axis=0) - room, cloud.max(axis=0) + room)
    return relief if relief.is_whole else None
