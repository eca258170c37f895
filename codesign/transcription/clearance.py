"""Bodies without a contact point stay above the ground.

A body's lowest point is the lowest of its geoms': corners of a box, end centres less the radius of
a capsule, the centre less the radius of a sphere, and for a cylinder the corners of its bounding
box.
"""

from __future__ import annotations

import itertools

import numpy as np

from codesign.dynamics import MovingRobot
from codesign.plant import Plant
from draft_core.backend import jax, jnp, mujoco
from draft_core.realization import RealizedModel

_BOX_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
_ROUND_AXIS = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])


def _watched_geoms(plant: Plant) -> list[int]:
    """Return geoms of moving bodies that carry no contact point, when the robot has any contact."""
    if not plant.robot.contacts:
        return []
    model = plant.nominal
    touching = {c.body_id for c in plant.robot.contacts}
    bodies = [int(b) for b in model.geom_bodyid]
    is_moving = [int(model.body_weldid[b]) != 0 for b in bodies]
    return [g for g, b in enumerate(bodies) if is_moving[g] and b not in touching]


def _corners(kind: int) -> tuple[np.ndarray, bool]:
    """Return corner directions of a geom and whether its radius is to be taken off."""
    if kind == int(mujoco.mjtGeom.mjGEOM_SPHERE):
        return np.zeros((1, 3)), True
    if kind == int(mujoco.mjtGeom.mjGEOM_CAPSULE):
        return _ROUND_AXIS, True
    return _BOX_CORNERS, False


def clearance_labels(plant: Plant) -> list[str]:
    """Return a name for every clearance of `clearances`, in its order."""
    labels = []
    for geom in _watched_geoms(plant):
        body = plant.nominal.body(int(plant.nominal.geom_bodyid[geom])).name
        count = len(_corners(int(plant.nominal.geom_type[geom]))[0])
        labels += [f"{body} corner {i}" for i in range(count)]
    return labels


def clearances(plant: Plant, model: RealizedModel, robot: MovingRobot) -> jax.Array:
    """Return distances of watched points from the terrain, shape (number of labels,); [m].

    Those of corners are straight down, which has the same sign.
    """
    parts, terrain = [], plant.terrain
    for geom in _watched_geoms(plant):
        kind = int(plant.nominal.geom_type[geom])
        directions, is_round = _corners(kind)
        half = _half_extents(kind, model.geom_size[geom])
        radius = model.geom_size[geom, 0] if is_round else 0.0
        center, rotation = robot.geom_pose(geom)
        for direction in directions:
            point = center + rotation @ (half * direction)
            parts.append(terrain.gap(point) - radius if is_round else terrain.above(point))
    return jnp.stack(parts) if parts else jnp.zeros(0)


def _half_extents(kind: int, size: jax.Array) -> jax.Array:
    """Return half extents (3,) of a geom's box in its own frame from MuJoCo's size triple."""
    if kind == int(mujoco.mjtGeom.mjGEOM_BOX):
        return size
    if kind == int(mujoco.mjtGeom.mjGEOM_CYLINDER):
        return jnp.stack([size[0], size[0], size[1]])
    if kind == int(mujoco.mjtGeom.mjGEOM_CAPSULE):
        return jnp.stack([jnp.zeros(()), jnp.zeros(()), size[1]])
    return jnp.zeros(3)
