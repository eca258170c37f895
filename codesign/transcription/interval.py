"""One step between two knots, with contact at its end.

    q⁺ = q ⊕ h v_θ,   v_θ = (1 − θ) v + θ v⁺
    M(q_θ)(v⁺ − v)/h + c(q_θ, v_θ) + d v_θ = B(q_θ) u + Σ Jᵀ λ

together with the contact terms of `codesign.contact` and the clearance of bodies that may not touch
the ground. θ = 1 is backward Euler: it mostly loses energy, but makes some where the potential is
concave, which the audit watches. θ = 1/2 is the implicit midpoint rule: second order, and no energy
but for terms of third order. q_θ is q⁺ or the point halfway from q to q⁺: written of positions, not
as q ⊕ θ h v_θ, which it equals, since that would couple every force with the speeds and the step.

Contact: gaps belong to q⁺, sliding and the work of λ to (q_θ, v_θ), where λ acts. At the midpoint
that alone would let a foot at rest on the ground ring, its velocity v, −v, v, …, since only its
mean is held, and let a foot that lands rebound. So λ may not push along the velocity that the foot
has in the end, λ·v_c(q⁺, v⁺) ≤ 0.03 ε, nor may its normal part, λ_n v_n(q⁺, v⁺) ≤ 0.03 ε, so that
what friction takes cannot pay for a rebound. A foot that lands has lost its normal velocity by the
end of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from codesign.contact import (
    MEASURE,
    ContactForces,
    PairRows,
    contact_pairs,
    contact_terms,
    formulation_named,
    powers,
    world_force,
)
from codesign.dynamics import (
    MovingRobot,
    actuator_force,
    halfway,
    integrate_position,
    inverse_dynamics,
    moving_robot,
    site_force,
    site_velocity,
)
from codesign.plant import Plant, coordinate_labels
from codesign.transcription.clearance import clearance_labels, clearances
from codesign.transcription.limits import (
    effort_margin_labels,
    effort_margins,
    limits,
    moving_limits,
    state_margin_labels,
    state_margins,
)
from codesign.transcription.rows import Rows, rows_of
from draft_core.backend import jax, jnp
from draft_core.realization import RealizedModel
from draft_core.robot import Contact

INTEGRATORS = {"backward_euler": 1.0, "implicit_midpoint": 0.5}  # name → θ
PASSIVITY_SHARE = 0.03  # of the relaxation ε, that contacts may feed in; [W] per unit of weight
Array: TypeAlias = jax.Array
IntervalFunction = Callable[..., Array]
_EXACT: Any = 0.0  # the relaxation of rows that do not contain it


def interval_function(
    plant: Plant, integrator: str = "backward_euler", formulation: str = MEASURE
) -> IntervalFunction:
    """Return the residuals of one interval as a function of its variables.

    Args:
        plant: robot, design space and terrain.
        integrator: one of `INTEGRATORS`.
        formulation: one of `codesign.contact.FORMULATIONS`.

    Returns:
        A function that takes (q⁻, v⁻, q⁺, v⁺, u, normal, tangent, slide, h, ρ) in physical
        units and the relaxation ε, and returns one flat array in the order of `interval_rows`.
    """
    theta = INTEGRATORS[integrator]
    moving = moving_limits(plant)
    contacts = plant.robot.contacts
    complementarity, weight = formulation_named(formulation).residuals, plant.weight
    joint_types = [int(kind) for kind in plant.nominal.jnt_type]

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
        relaxation: Array = _EXACT,
    ) -> Array:
        model = plant.realize(design)
        v = v1 if theta == 1.0 else (1.0 - theta) * v0 + theta * v1
        q = q1 if theta == 1.0 else halfway(joint_types, q0, q1)
        needed, robot = inverse_dynamics(model, plant.template, q, v, (v1 - v0) / dt)
        end = robot if theta == 1.0 else moving_robot(model, plant.template, q1, v1)
        supplied = actuator_force(plant.robot, model, robot, u)
        parts = [q1 - integrate_position(joint_types, q0, v, dt)]
        contact_parts: list[Array] = []
        if contacts:
            points = [end.site_position(c.site_id) for c in contacts]
            frame = jnp.stack([plant.terrain.frame(p) for p in points])
            forces = ContactForces(normal, tangent.reshape(-1, 4), slide)
            for contact, force in zip(contacts, world_force(forces, frame), strict=True):
                supplied = supplied + site_force(model, robot, contact.site_id, force)
            gap = jnp.stack([plant.terrain.gap(p) for p in points])
            velocity = _velocities(model, robot, contacts)
            friction = plant.robot.contact_friction(plant.space.as_dict(design))
            terms = contact_terms(forces, gap, velocity, frame, friction)
            products = complementarity(contact_pairs(forces, gap, terms), weight, relaxation)
            contact_parts = [gap, terms.cone, terms.slack, products, terms.power]
            if theta != 1.0:
                contact_parts.append(powers(forces, frame, _velocities(model, end, contacts)))
        parts += [needed - supplied, *contact_parts, clearances(plant, model, end)]
        if any((moving.effort, moving.speed, moving.range)):
            at = limits(plant, plant.space.as_dict(design))
            parts.append(effort_margins(plant, moving, u, at))
            parts.append(state_margins(plant, moving, q1, v1, at))
        return jnp.concatenate([jnp.ravel(part) for part in parts])

    return residuals


def _velocities(model: RealizedModel, robot: MovingRobot, contacts: Sequence[Contact]) -> Array:
    return jnp.stack([site_velocity(model, robot, c.site_id) for c in contacts])


def interval_rows(
    plant: Plant, integrator: str = "backward_euler", formulation: str = MEASURE
) -> list[Rows]:
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
        stated = formulation_named(formulation)
        sliding = [f"{name} {d}" for name in contacts for d in directions]
        rows += [
            rows_of("gap", "m", contacts, 0.0, inf, relaxation=-stated.dip),
            rows_of("friction cone", "N", contacts, 0.0, inf, weight, relaxation=-stated.dip),
            rows_of("sliding", "m/s", sliding, 0.0, inf, relaxation=-stated.dip),
            *(_pair_rows(group, contacts, weight) for group in stated.rows),
            rows_of("passivity", "W", contacts, -inf, 0.0, weight, relaxation=PASSIVITY_SHARE),
        ]
        if INTEGRATORS[integrator] != 1.0:
            both = [f"{name} {part}" for name in contacts for part in ("whole", "normal")]
            rows.append(
                rows_of(
                    *("passivity at the end", "W", both, -inf, 0.0, weight),
                    relaxation=PASSIVITY_SHARE,
                )
            )
    labels = clearance_labels(plant)
    if labels:
        rows.append(rows_of("ground clearance", "m", labels, 0.0, inf))
    moving = moving_limits(plant)
    if moving.effort:
        labels = effort_margin_labels(plant, moving)
        rows.append(rows_of("effort limit", "N m or N", labels, 0.0, inf, weight))
    if moving.speed or moving.range:
        labels = state_margin_labels(plant, moving)
        rows.append(rows_of("joint limit", "rad/s, rad or m", labels, 0.0, inf))
    return rows


def _pair_rows(group: PairRows, contacts: Sequence[str], weight: float) -> Rows:
    return rows_of(
        group.name,
        group.unit,
        group.labels(contacts),
        group.lower,
        group.upper,
        weight if group.is_product else 1.0,
        relaxation=group.relaxation,
    )
