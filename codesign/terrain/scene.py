"""A relief as bodies of a MuJoCo scene: a floor with boxes and wedges on it, or a height field."""

from __future__ import annotations

import mujoco
import numpy as np

from codesign.terrain.relief import Block, Relief

_DEPTH = 0.5  # of ground below its lowest point, so that nothing falls through thin pieces; [m]


def add_ground(spec: mujoco.MjSpec, relief: Relief | None) -> list[mujoco.MjsGeom]:
    """Add a ground to the world of a scene.

    Args:
        spec: the scene.
        relief: its shape; None is a level floor at height 0.

    Returns:
        The geoms that make it up. Height fields, for ground that varies along both axes, end at
        the relief's edge; any other ground goes on at its lowest height.
    """
    if relief is not None and not (relief.is_stepped or relief.is_profile):
        return [_height_field(spec, relief)]
    floor = spec.worldbody.add_geom()
    floor.type, floor.size = mujoco.mjtGeom.mjGEOM_PLANE, [0.0, 0.0, 1.0]
    if relief is None:
        return [floor]
    floor.pos = [0.0, 0.0, relief.lowest]
    bottom = relief.lowest - _DEPTH
    blocks = enumerate(relief.blocks())
    return [floor, *(_block(spec, block, bottom, f"ground_{i}") for i, block in blocks)]


def _block(spec: mujoco.MjSpec, block: Block, bottom: float, name: str) -> mujoco.MjsGeom:
    geom = spec.worldbody.add_geom()
    corners = block.corners(bottom)
    if block.is_box:
        geom.type = mujoco.mjtGeom.mjGEOM_BOX
        geom.pos, geom.size = corners.mean(axis=0), np.ptp(corners, axis=0) / 2
        return geom
    mesh = spec.add_mesh(name=name)
    mesh.uservert = corners.ravel()
    geom.type, geom.meshname = mujoco.mjtGeom.mjGEOM_MESH, name
    return geom


def _height_field(spec: mujoco.MjSpec, relief: Relief) -> mujoco.MjsGeom:
    """Samples lie at equal distances; MuJoCo's rows go along y, and its heights from 0 to 1."""
    low, high = (np.array([places[i] for places in (relief.x, relief.y)]) for i in (0, -1))
    rise = float(np.ptp(relief.height))
    field = spec.add_hfield(name="ground")
    field.nrow, field.ncol = relief.height.shape[::-1]
    field.size = [*(high - low) / 2, rise, _DEPTH]
    field.userdata = ((relief.height - relief.lowest) / rise).T.ravel()
    geom = spec.worldbody.add_geom()
    geom.type, geom.hfieldname = mujoco.mjtGeom.mjGEOM_HFIELD, "ground"
    geom.pos = [*(low + high) / 2, relief.lowest]
    return geom
