"""A start made from the task alone: no keyframes, no one to ask.

1. Poses of the knots that the task pins, with the design (`codesign.solve.anchors`).
2. Poses in between: positions ease from one to the next, orientations along great circles.
3. A gait for the feet that must travel (`codesign.solve.gait`), drawn from the seed.
4. Legs bent to it, velocities q⁺ = q ⊕ h v⁺, and the efforts and contact forces that this motion
   needs (`codesign.solve.inverse`), with a little noise so that no two seeds are alike.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from codesign.plant import Plant
from codesign.solve.anchors import PoseRows, meet
from codesign.solve.gait import WALK_SHARE, Footing, ease, foot_groups, footing
from codesign.solve.inverse import Forces, Mechanism
from codesign.solve.starts import quaternion_starts, variable_bounds
from codesign.terrain import Ground
from codesign.tracing import evaluator
from codesign.transcription import INTEGRATORS
from codesign.transcription.limits import numeric_limits
from draft_core.backend import jax
from draft_core.errors import DraftError

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solve.transcribed import Transcription

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]

_BEND = 0.3  # joints begin this near the robot's own pose, drawn per depth; [rad] or [m]
_MOVED = 1e-6  # a pose that the task moved further than this is pinned, too; scaled
_TOUCHING = 0.01  # a foot this close to the ground, as a share of the legs' size, stands on it
_ROUNDING_STEPS = 3
_EFFORT_NOISE = 0.01  # of the limits
_FORCE_NOISE = 0.005  # of the robot's weight, shared by the contacts
_SLIDE_NOISE = 0.02  # [m/s]


def automatic_point(problem: Problem, ready: Transcription, seed: int) -> Vector:
    """Return a starting decision vector in physical units, epigraph variables at zero.

    Args:
        problem: the robot and the task.
        ready: the problem, transcribed.
        seed: seed of the gait and of the noise.
    """
    plant, program = ready.plant, ready.program
    layout = program.layout
    rng = np.random.default_rng(seed)
    home = layout.join(
        {
            "q": np.tile(plant.q_home, (layout.knots, 1)),
            "dt": np.full(layout.intervals, problem.duration / layout.intervals),
            "design": np.asarray(plant.space.initial, dtype=float),
        }
    )
    steps = (problem.step_range[0], problem.step_range[1])
    box = variable_bounds(plant, layout, problem.duration, steps)
    z, pinned = _posed(plant, ready.pose_rows, program, home, box, rng)
    fields = layout.split(z)
    mechanism = _mechanism(plant, fields["design"])
    q, dt = fields["q"], fields["dt"]
    feet = _footing(plant, mechanism, q, pinned, rng)
    low, high = (layout.split(bound)["q"] for bound in box)
    q = _stepping(mechanism, q, feet, low, high)
    theta = INTEGRATORS[ready.integrator]
    v = mechanism.velocities(q, dt, theta, ready.pose_rows.at_rest)
    v = np.clip(v, *(layout.split(bound)["v"] for bound in box))
    design = fields["design"]
    limits = numeric_limits(plant, design).effort
    forces = _forces(plant, mechanism, (q, v, dt, design), feet.stands[1:], limits, theta)
    noisy = _noisy(plant, forces, limits, rng)
    made = {"q": q, "v": v, "dt": dt, "design": design, **noisy}
    z = np.clip(layout.join(made), *box)
    return np.where(np.isfinite(z), z, home)


def _posed(
    plant: Plant,
    rows: PoseRows,
    program: Any,
    home: Vector,
    box: tuple[Vector, Vector],
    rng: np.random.Generator,
) -> tuple[Vector, Flags]:
    """Return poses that meet the task's rows and go from one pinned knot to the next, and which."""
    scale, layout = program.scale, program.layout
    scaled = (box[0] / scale, box[1] / scale)
    z = home.copy()
    index = layout.fields["q"]
    z[index] += _bend(plant, rng)
    start = np.clip(z / scale, *scaled)
    x = meet(program, rows.of_poses(), start, scaled)
    q = (x * scale)[index]
    pinned = rows.pinned | (np.abs(x - start)[index].max(axis=1) > _MOVED)
    arriving = np.flatnonzero(rows.at_rest[1:] & pinned[1:] & ~pinned[:-1])
    q[arriving], pinned[arriving] = q[arriving + 1], True  # a step into a rest goes nowhere
    x[index] = between_poses(plant, q, np.flatnonzero(pinned)) / scale[index]
    return meet(program, rows, x, scaled) * scale, pinned


def _bend(plant: Plant, rng: np.random.Generator) -> Vector:
    """Return a small bend (nq,): alike for joints of the same depth, so that legs match."""
    model = plant.nominal
    bend = np.zeros(model.nq)
    drawn = rng.uniform(-_BEND, _BEND, model.nbody + 1)
    depth = np.zeros(model.nbody, dtype=int)
    for body in range(1, model.nbody):
        depth[body] = depth[model.body_parentid[body]] + 1
    for joint, kind in enumerate(int(k) for k in model.jnt_type):
        if kind == int(mujoco.mjtJoint.mjJNT_HINGE):
            bend[model.jnt_qposadr[joint]] = drawn[depth[model.jnt_bodyid[joint]]]
    return bend


def between_poses(plant: Plant, q: Vector, pinned: NDArray[np.int64]) -> Vector:
    """Return configurations (K, nq): the pinned ones, and between them a motion that eases.

    Orientations turn at the share of the way along the great circle, the short way; before the
    first pinned knot and after the last one the pose stays.
    """
    if not len(pinned):
        return q
    knots = np.arange(len(q))
    place = np.clip(np.searchsorted(pinned, knots, side="right") - 1, 0, len(pinned) - 1)
    a = pinned[place]
    b = pinned[np.minimum(place + 1, len(pinned) - 1)]
    share = ease((knots - a) / np.maximum(b - a, 1))[:, None]
    found = (1.0 - share) * q[a] + share * q[b]
    for start in quaternion_starts(plant):
        part = slice(start, start + 4)
        found[:, part] = _great_circle(q[a, part], q[b, part], share)
    found[pinned] = q[pinned]
    return found


def _great_circle(a: Vector, b: Vector, share: Vector) -> Vector:
    """Return unit quaternions between others, shape (K, 4) all."""
    cosine = np.sum(a * b, axis=1, keepdims=True)
    b = np.where(cosine < 0, -b, b)
    angle = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    sine = np.sin(angle)
    is_small = sine < 1e-6
    safe = np.where(is_small, 1.0, sine)
    left = np.where(is_small, 1.0 - share, np.sin((1.0 - share) * angle) / safe)
    right = np.where(is_small, share, np.sin(share * angle) / safe)
    found = left * a + right * b
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


def _mechanism(plant: Plant, design: Vector) -> Mechanism:
    """Return the start's own design compiled, or the nominal robot where that is none."""
    try:
        model = plant.robot.compile(plant.space.as_dict(design.tolist()), gates=False).model
    except DraftError:
        model = plant.nominal
    return Mechanism(model, [contact.site_id for contact in plant.robot.contacts])


@lru_cache(maxsize=16)
def _surface(ground: Ground, count: int) -> tuple[Any, Any, Any]:
    """Return the heights, gaps and frames of so many points in NumPy."""
    flat, points = np.zeros((count, 2)), np.zeros((count, 3))
    return (
        evaluator(jax.vmap(ground.height), flat),
        evaluator(jax.vmap(ground.gap), points),
        evaluator(jax.vmap(ground.frame), points),
    )


def ground_height(ground: Ground, positions: Vector) -> Vector:
    """Return heights [m] at which the gap is zero, of horizontal positions, (m, 2) → (m,)."""
    height, gap, _ = _surface(ground, len(positions))
    z = np.asarray(height(positions))
    for _ in range(_ROUNDING_STEPS):  # edges that are rounded off lie a little lower or higher
        z = z - np.asarray(gap(np.column_stack([positions, z])))
    return z


def contact_frames(ground: Ground, points: Vector) -> Vector:
    """Return contact frames (…, 3, 3) under points (…, 3); rows t₁, t₂, n."""
    flat = points.reshape(-1, 3)
    return np.asarray(_surface(ground, len(flat))[2](flat)).reshape(*points.shape, 3)


def _footing(
    plant: Plant, mechanism: Mechanism, q: Vector, pinned: Flags, rng: np.random.Generator
) -> Footing:
    """Return where the feet are to be; without contact points, nowhere."""
    place = mechanism.places(q)
    nothing = np.zeros(place.shape[:2], dtype=bool)
    if not place.shape[1]:
        return Footing(place, nothing, nothing)
    home = mechanism.places(plant.q_home[None])[0]
    size = leg_size(mechanism, plant.q_home)
    ground = ground_height(plant.terrain, place.reshape(-1, 3)[:, :2]).reshape(place.shape[:2])
    on_ground = place[:, :, 2] - ground < _TOUCHING * size + 1e-3
    bodies = [contact.body_id for contact in plant.robot.contacts]
    one_by_one = rng.random() < WALK_SHARE and len(set(bodies)) == 4
    groups = foot_groups(bodies, home, one_by_one)

    def height(positions: Vector) -> Vector:
        return ground_height(plant.terrain, positions)

    return footing(place, on_ground, np.flatnonzero(pinned).tolist(), groups, size, height, rng)


def leg_size(mechanism: Mechanism, q_home: Vector) -> float:
    """Return how far feet are from the joints their legs hang on, on average; [m].

    A leg hangs on the first joint of its chain that does not carry every foot; a robot whose feet
    all share their joints has the distance from its base.
    """
    model, data = mechanism.model, mujoco.MjData(mechanism.model)
    data.qpos[:] = q_home
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    carries = mechanism.body_dofs()
    lengths = []
    for site in mechanism.sites:
        body, top = int(model.site_bodyid[site]), 0
        while body > 0:
            first, count = int(model.body_dofadr[body]), int(model.body_dofnum[body])
            if count and not carries[first : first + count].all():
                top = body
            body = int(model.body_parentid[body])
        joint = int(model.body_jntadr[top]) if top else -1
        origin = data.xanchor[joint] if joint >= 0 else data.xpos[int(model.site_bodyid[site])]
        lengths.append(float(np.linalg.norm(data.site_xpos[site] - origin)))
    return max(float(np.mean(lengths)), 1e-3)


def _stepping(mechanism: Mechanism, q: Vector, feet: Footing, low: Vector, high: Vector) -> Vector:
    """Return configurations whose led contact points are where they should be."""
    found = q.copy()
    body = mechanism.body_dofs() if len(mechanism.sites) else np.zeros(0, dtype=bool)
    for k in np.flatnonzero(feet.is_led.any(axis=1)):
        targets = np.where(feet.is_led[k][:, None], feet.place[k], np.nan)
        found[k] = mechanism.reach(q[k], q[k], targets, low[k], high[k], body)
    return found


def _forces(
    plant: Plant,
    mechanism: Mechanism,
    motion: tuple[Vector, Vector, Vector, Vector],
    stands: Flags,
    limits: Vector,
    theta: float,
) -> Forces:
    """Return the forces of a motion (q, v, dt, design)."""
    q, v, dt, design = motion
    nc = len(mechanism.sites)
    frames, friction = np.zeros((len(dt), nc, 3, 3)), np.zeros(nc)
    if nc:
        frames = contact_frames(plant.terrain, mechanism.places(q[1:]))
        with jax.ensure_compile_time_eval():
            stated = plant.robot.contact_friction(plant.space.as_dict(design.tolist()))
        friction = np.array(stated, dtype=float).reshape(nc)
    return mechanism.forces(q, v, dt, stands, frames, friction, limits, plant.weight, theta)


def _noisy(
    plant: Plant, forces: Forces, limits: Vector, rng: np.random.Generator
) -> dict[str, Vector]:
    """Return the efforts and forces with noise that keeps forces and slacks positive."""
    top = _FORCE_NOISE * plant.weight / max(forces.normal.shape[1], 1)
    strongest = np.minimum(np.max(np.abs(limits), axis=1), plant.weight)
    return {
        "u": forces.u + _EFFORT_NOISE * strongest * rng.standard_normal(forces.u.shape),
        "normal": forces.normal + rng.uniform(0.2, 1.0, forces.normal.shape) * top,
        "tangent": forces.tangent + rng.uniform(0.0, 0.04, forces.tangent.shape) * top,
        "slide": forces.slide + rng.uniform(0.1, 1.0, forces.slide.shape) * _SLIDE_NOISE,
    }
