"""Coulomb friction on a four-sided pyramid, as complementarity.

For one contact with gap φ, normal force λn, four tangential forces λ±₁, λ±₂ ≥ 0 along ±t₁, ±t₂,
tangential velocity ψ and sliding slack γ ≥ 0:

    φ ≥ 0                       κ = μ λn − Σ λ± ≥ 0         σ±ᵢ = γ ± ψᵢ ≥ 0
    φ λn = 0                    κ γ = 0                     σ±ᵢ λ±ᵢ = 0

The products are all nonnegative, so their sum is relaxed to one inequality per contact, ≤ ε
(Scholtes). Resting ground gives no energy, so that λ·v ≤ 0 as well: true of every exact solution,
and what keeps coarse relaxed ones honest (docs/decisions/0001-contacts-may-not-feed-energy.md).

References:
    Stewart and Trinkle (1996); Posa, Cantu and Tedrake (2013); Spielberg et al. (2017), eq. 4-16.
"""

from __future__ import annotations

from typing import NamedTuple

from draft_core.backend import jax, jnp


class ContactForces(NamedTuple):
    """Forces and slacks of all contacts over one interval.

    Attributes:
        normal: λn, shape (nc,); [N].
        tangent: λ along +t₁, −t₁, +t₂, −t₂, shape (nc, 4); [N].
        slide: γ, shape (nc,); [m/s].
    """

    normal: jax.Array
    tangent: jax.Array
    slide: jax.Array


class ContactTerms(NamedTuple):
    """What the transcription constrains, per contact.

    Attributes:
        cone: κ, friction left over, shape (nc,); [N], ≥ 0.
        slack: σ±, shape (nc, 4); [m/s], ≥ 0.
        product: Σ of the complementarity products, shape (nc,); [N m] and [N m/s], ≤ ε.
        power: λ·v of the contact force, shape (nc,); [W], ≤ ε.
    """

    cone: jax.Array
    slack: jax.Array
    product: jax.Array
    power: jax.Array


def local_force(forces: ContactForces) -> jax.Array:
    """Return contact forces in their frames (t₁, t₂, n), shape (nc, 3); [N]."""
    t = forces.tangent
    return jnp.stack([t[:, 0] - t[:, 1], t[:, 2] - t[:, 3], forces.normal], axis=1)


def world_force(forces: ContactForces, frame: jax.Array) -> jax.Array:
    """Return contact forces on the robot in the world frame, shape (nc, 3); [N].

    Args:
        forces: forces of all contacts.
        frame: rows (t₁, t₂, n) of each contact frame, shape (nc, 3, 3).
    """
    return jnp.einsum("ci,cij->cj", local_force(forces), frame)


def contact_terms(
    forces: ContactForces,
    gap: jax.Array,
    velocity: jax.Array,
    frame: jax.Array,
    friction: jax.Array,
) -> ContactTerms:
    """Return the complementarity terms of all contacts at one instant.

    Args:
        forces: forces and slacks.
        gap: φ, shape (nc,); [m].
        velocity: world velocity of each contact point, shape (nc, 3); [m/s].
        frame: contact frames, shape (nc, 3, 3).
        friction: μ, shape (nc,).
    """
    local_velocity = jnp.einsum("cij,cj->ci", frame, velocity)
    psi = local_velocity[:, :2]
    slack = jnp.stack(
        [
            forces.slide + psi[:, 0],
            forces.slide - psi[:, 0],
            forces.slide + psi[:, 1],
            forces.slide - psi[:, 1],
        ],
        axis=1,
    )
    cone = friction * forces.normal - jnp.sum(forces.tangent, axis=1)
    product = gap * forces.normal + cone * forces.slide + jnp.sum(slack * forces.tangent, axis=1)
    return ContactTerms(cone, slack, product, power(forces, frame, velocity))


def power(forces: ContactForces, frame: jax.Array, velocity: jax.Array) -> jax.Array:
    """Return λ·v of every contact force, shape (nc,); [W].

    Args:
        forces: forces of all contacts.
        frame: contact frames, shape (nc, 3, 3).
        velocity: world velocity of each contact point, shape (nc, 3); [m/s].
    """
    return powers(forces, frame, velocity)[:, 0]


def powers(forces: ContactForces, frame: jax.Array, velocity: jax.Array) -> jax.Array:
    """Return the power of every contact force and of its normal part, shape (nc, 2); [W].

    The arguments are those of `power`.
    """
    each = local_force(forces) * jnp.einsum("cij,cj->ci", frame, velocity)
    return jnp.stack([jnp.sum(each, axis=1), each[:, 2]], axis=1)
