"""The data that the page's player draws: meshes once, body poses for each frame, contact forces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from codesign.report.forces import LONGEST, NEGLIGIBLE, SiteForce
from codesign.report.ground import ground_shapes
from codesign.report.montage import ground_height, round_length, side_view, world_vertices
from codesign.report.poses import Motion, base_body, body_poses, frame_times, interpolate
from codesign.report.shapes import Shape, shapes_of
from codesign.terrain.relief import Relief

DIGITS = 5  # of a length [m] or a quaternion; a hundredth of a millimetre


def player_scene(
    model: mujoco.MjModel,
    t: np.ndarray,
    q: np.ndarray,
    forces: Sequence[SiteForce],
    markers: Mapping[str, np.ndarray],
    relief: Relief | None = None,
) -> dict:
    """Return the player's scene as plain lists and numbers.

    Args:
        model: the robot, with its geoms.
        t: knot times (K,) [s].
        q: configurations at the knots (K, nq), all finite.
        forces: what to draw as arrows.
        markers: named points of the world [m].
        relief: the ground's shape; level by default.
    """
    times = frame_times(t)
    motion = body_poses(model, times, interpolate(model, t, q, times))
    shapes = shapes_of(model)
    low, high = _box_of(motion, shapes, markers)
    size = _robot_size(motion, shapes)
    blocks = ground_shapes(relief)
    meshes, drawn = _instances([*shapes, *blocks])
    for block in drawn[len(shapes) :]:
        block["ground"] = True
    return {
        "times": _numbers(times),
        "bodies": model.nbody,
        "position": _numbers(motion.position.ravel()),
        "quaternion": _numbers(motion.quaternion.ravel()),
        "meshes": meshes,
        "shapes": drawn,
        "arrows": [_arrow(model, force, size) for force in forces],
        "edges": _numbers(t),
        "markers": [{"name": name, "p": _numbers(at)} for name, at in markers.items()],
        "ground": ground_height(motion, shapes, relief),
        "grid": round_length(max(size / 3, float(np.hypot(*(high - low)[:2])) / 8)),
        "low": _numbers(low),
        "high": _numbers(high),
        "size": size,
        "follow": bool(np.hypot(*(high - low)[:2]) > 6 * size),
        "base": base_body(model) if model.nbody > 1 else 0,
        "azimuth": side_view(motion, base_body(model)),
    }


def embedded_json(value: dict) -> str:
    """Return JSON that can stand inside a ``<script>`` element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _arrow(model: mujoco.MjModel, force: SiteForce, size: float) -> dict:
    """Where a force acts in its body, and its arrow over each interval [m]."""
    arrows = force.force / force.largest * LONGEST * size
    return {
        "kind": force.kind,
        "b": int(model.site_bodyid[force.site]),
        "p": _numbers(model.site_pos[force.site]),
        "f": _numbers(arrows.ravel(), 4),
        "least": round(NEGLIGIBLE * LONGEST * size, 6),
    }


def _instances(shapes: list[Shape]) -> tuple[list[dict], list[dict]]:
    """Meshes without repetition, and where each is placed: legs that are alike share one."""
    index: dict[object, int] = {}
    meshes, drawn = [], []
    for shape in shapes:
        key = shape.mesh.vertices.tobytes()
        if key not in index:
            index[key] = len(meshes)
            meshes.append(
                {
                    "v": _numbers(shape.mesh.vertices.ravel()),
                    "n": _numbers(shape.mesh.normals.ravel(), 3),
                    "f": shape.mesh.triangles.ravel().tolist(),
                }
            )
        drawn.append(
            {
                "m": index[key],
                "b": shape.body,
                "p": _numbers(shape.position),
                "q": _numbers(shape.quaternion),
                "c": _numbers(np.asarray(shape.colour), 3),
            }
        )
    return meshes, drawn


def _box_of(motion: Motion, shapes: list[Shape], markers) -> tuple[np.ndarray, np.ndarray]:
    """Corners of a box around the motion, from a dozen of its frames."""
    frames = np.unique(np.linspace(0, len(motion.t) - 1, 12).round().astype(int))
    points = [world_vertices(motion, f, s) for f in frames for s in shapes]
    points += [np.atleast_2d(np.asarray(at, dtype=float)) for at in markers.values()]
    points += [motion.position[frames].reshape(-1, 3)]
    cloud = np.concatenate(points)
    return cloud.min(axis=0), cloud.max(axis=0)


def _robot_size(motion: Motion, shapes: list[Shape]) -> float:
    cloud = np.concatenate([world_vertices(motion, 0, s) for s in shapes] or [np.zeros((1, 3))])
    return float(np.linalg.norm(np.ptp(cloud, axis=0))) or 1.0


def _numbers(values: np.ndarray, digits: int = DIGITS) -> list[float]:
    """Rounded to `digits` decimals, whole numbers without a point: half the page's size."""
    rounded = np.round(np.asarray(values, dtype=float), digits).tolist()
    return [int(value) if value == int(value) else value for value in rounded]
