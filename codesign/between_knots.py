"""What happens between knots, where no equation looks: whether a step goes through the ground.

A step goes from q to q⁺ = q ⊕ h v along q ⊕ s h v, 0 ≤ s ≤ 1, and only q⁺ is held above the ground.
A long one may go through a wall. Looked at are the contact points and every body's centre of mass
at s = 1/8, …, 7/8.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from codesign.plant import Plant
from codesign.tracing import evaluator
from draft_core.backend import jax

Vector = NDArray[np.float64]

WORTH_TELLING = 0.01  # [m]
_PLACES = np.arange(1, 8) / 8


@dataclass(frozen=True)
class Passage:
    """Where a motion is deepest in the ground between two knots.

    Attributes:
        knot: the knot before it.
        name: the contact point or body.
        depth: how deep it is; [m].
    """

    knot: int
    name: str
    depth: float


def deepest_passage(
    plant: Plant, model: mujoco.MjModel, q: Vector, v: Vector, dt: Vector, theta: float
) -> Passage | None:
    """Return where a motion is deepest in the ground between knots.

    Args:
        plant: names the contact points and the ground.
        model: the design's compiled MJCF.
        q: configurations, (K, nq).
        v: velocities, (K, nv).
        dt: time steps, (N,); [s].
        theta: 1 for backward Euler, 1/2 for the implicit midpoint rule.

    Returns:
        None without contact points, where nothing is below the ground, or where the motion or the
        ground is not finite.
    """
    contacts = plant.robot.contacts
    if not contacts or not (np.isfinite(q).all() and np.isfinite(v).all()):
        return None
    sites = [contact.site_id for contact in contacts]
    bodies = [b for b in range(1, model.nbody) if int(model.body_weldid[b]) != 0]
    names = [*plant.robot.contact_names, *(model.body(b).name for b in bodies)]
    data = mujoco.MjData(model)
    points = np.zeros((len(dt), len(_PLACES), len(names), 3))
    for k, step in enumerate(dt):
        speed = (1.0 - theta) * v[k] + theta * v[k + 1]
        for i, share in enumerate(_PLACES):
            data.qpos[:] = q[k]
            mujoco.mj_integratePos(model, data.qpos, speed, share * step)
            mujoco.mj_kinematics(model, data)
            points[k, i] = np.concatenate([data.site_xpos[sites], data.xipos[bodies]])
    flat = points.reshape(-1, 3)
    gaps = np.asarray(evaluator(jax.vmap(plant.terrain.gap), flat)(flat)).reshape(points.shape[:3])
    k, _, j = np.unravel_index(int(np.argmin(gaps)), gaps.shape)
    depth = -float(np.min(gaps))
    return Passage(int(k), names[int(j)], depth) if 0 < depth < np.inf else None
