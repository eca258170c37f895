"""Backward Euler between two knots, with contact at the end of the step.

    q⁺ = q ⊕ h v⁺
    M(q⁺)(v⁺ − v)/h + c(q⁺, v⁺) + d v⁺ = B(q⁺) u + Σ J(q⁺)ᵀ λ

together with the contact terms of `codesign.contact` and the clearance of bodies that may not touch
the ground. Implicit steps lose energy rather than make it, so that what they overstate is effort.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from codesign.contact import ContactForces, contact_terms, world_force
from codesign.dynamics import (
    actuator_force,
    integrate_position,
    inverse_dynamics,
    site_force,
    site_velocity,
)
from codesign.plant import Plant
from codesign.transcription.clearance import clearance_labels, clearances
from codesign.transcription.rows import Rows, rows_of
from draft_core.backend import jax, jnp, mujoco

PASSIVITY_SHARE = float(__import__('os').environ.get('PS','0.1'))
Array = jax.Array
IntervalFunction = Callable[..., Array]


def interval_function(plant: Plant) -> IntervalFunction:
    """Return the residuals of one interval as a function of its variables.

    The function takes (q⁻, v⁻, q⁺, v⁺, u, normal, tangent, slide, h, ρ) in physical units and returns
    one flat array in the order of `interval_rows`.
    """
    contacts = plant.robot.contacts
    joint_types = np.array(plant.nominal.jnt_type)

    def residuals(
        q0: Array,
        v0: Array,
        q1: Array,
        v1: Array,
        u: Array,
        normal: Array,
        tangent: Array,
        slide: Array,
        dt: Array,
        design: Array,
    ) -> Array:
        model = plant.realize(design)
        needed, robot = inverse_dynamics(model, plant.template, q1, v1, (v1 - v0) / dt)
        supplied = actuator_force(plant.robot, model, robot, u)
        parts = [q1 - integrate_position(joint_types, q0, v1, dt)]
        contact_parts: list[Array] = []
        if contacts:
            points = [robot.site_position(c.site_id) for c in contacts]
            frame = jnp.stack([plant.terrain.frame(p) for p in points])
            forces = ContactForces(normal, tangent.reshape(-1, 4), slide)
            for contact, force in zip(contacts, world_force(forces, frame), strict=True):
                supplied = supplied + site_force(model, robot, contact.site_id, force)
            gap = jnp.stack([plant.terrain.gap(p) for p in points])
            velocity = jnp.stack([site_velocity(model, robot, c.site_id) for c in contacts])
            named = dict(zip(plant.space.names, design, strict=True))
            friction = plant.robot.contact_friction(named)
            terms = contact_terms(forces, gap, velocity, frame, friction)
            contact_parts = [gap, terms.cone, terms.slack, terms.product, terms.power]
        parts += [needed - supplied, *contact_parts, clearances(plant, model, robot)]
        return jnp.concatenate([jnp.ravel(part) for part in parts])

    return residuals


def interval_rows(plant: Plant) -> list[Rows]:
    """Return the rows of one interval, in the order of `interval_function`.

    Forces are scaled by the robot's weight; a gap counts in metres and a sliding speed in m/s, so
    that a scaled complementarity of 1e-4 is the whole weight held 0.1 mm above the ground.
    """
    nominal, weight, inf = plant.nominal, plant.weight, np.inf
    contacts = plant.robot.contact_names
    directions = ("+t1", "-t1", "+t2", "-t2")
    q_labels, v_labels = coordinate_labels(nominal)
    rows = [
        rows_of("integration", "m or rad", q_labels, 0.0, 0.0),
        rows_of("dynamics", "N or N m", v_labels, 0.0, 0.0, weight),
    ]
    if contacts:
        sliding = [f"{name} {d}" for name in contacts for d in directions]
        rows += [
            rows_of("gap", "m", contacts, 0.0, inf),
            rows_of("friction cone", "N", contacts, 0.0, inf, weight),
            rows_of("sliding", "m/s", sliding, 0.0, inf),
            rows_of("complementarity", "N m", contacts, -inf, 0.0, weight, relaxation=1.0),
            rows_of("passivity", "W", contacts, -inf, 0.0, weight, relaxation=PASSIVITY_SHARE),
        ]
    labels = clearance_labels(plant)
    if labels:
        rows.append(rows_of("ground clearance", "m", labels, 0.0, inf))
    return rows


def coordinate_labels(model: mujoco.MjModel) -> tuple[list[str], list[str]]:
    """Return names of the entries of q and of v, such as 'body qw' or 'leg_fl'."""
    free, ball = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
    q_labels: list[str] = []
    v_labels: list[str] = []
    for joint, kind in enumerate(model.jnt_type):
        name = model.joint(joint).name
        if int(kind) == free:
            q_labels += [f"{name} {axis}" for axis in "xyz"]
            v_labels += [f"{name} v{axis}" for axis in "xyz"]
        if int(kind) in (free, ball):
            q_labels += [f"{name} q{axis}" for axis in "wxyz"]
            v_labels += [f"{name} w{axis}" for axis in "xyz"]
        else:
            q_labels.append(name)
            v_labels.append(name)
    return q_labels, v_labels
