"""Mass and inertia: solids in closed form, bodies composed as full tensors, principal axes.

A solid of mass m has principal moments J about its centre; a body's tensor about its own centre
of mass c is Σ R_i diag(J_i) R_iᵀ + m_i (|d_i|² I − d_i d_iᵀ), with d_i = c_i − c.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from draft_core import rotations
from draft_core.namespace import is_jax, namespace, stack


def _box(s: Sequence[Any]) -> tuple[Any, list[Any]]:
    x, y, z = (value * value for value in s)
    return s[0] * s[1] * s[2], [(y + z) / 12, (x + z) / 12, (x + y) / 12]


def _cylinder(s: Sequence[Any]) -> tuple[Any, list[Any]]:
    rr, ll = s[0] * s[0], s[1] * s[1]
    across = (3 * rr + ll) / 12
    return math.pi * rr * s[1], [across, across, rr / 2]


def _sphere(s: Sequence[Any]) -> tuple[Any, list[Any]]:
    moment = 0.4 * s[0] * s[0]
    return 4 / 3 * math.pi * s[0] ** 3, [moment] * 3


def _capsule(s: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Cylinder of the stated length between two half spheres of its radius.

    A half sphere's centre is 3r/8 from its flat side, and its moment about an axis across,
    through its own centre, is (2/5 − 9/64) m r².
    """
    r, length = s[0], s[1]
    cylinder, (across, _, along) = _cylinder(s)
    ball, moments = _sphere([r])
    volume = cylinder + ball
    offset = length / 2 + 3 / 8 * r
    caps = moments[0] - 9 / 64 * r * r + offset * offset
    side = (cylinder * across + ball * caps) / volume
    return volume, [side, side, (cylinder * along + ball * moments[0]) / volume]


SOLIDS: dict[str, Callable[[Sequence[Any]], tuple[Any, list[Any]]]] = {
    "box": _box,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "sphere": _sphere,
}


def solid_properties(
    shape: str, size: Sequence[Any]
) -> tuple[Float[Any, "*n"], Float[Any, "*n 3"]]:
    """Return the volume [m³] of one solid or n, and the principal moments per mass [m²].

    Args:
        shape: one of `SOLIDS`.
        size: box x, y, z; cylinder and capsule radius, length (of the straight part);
            sphere radius [m]; each a number or (n,).
    """
    volume, moments = SOLIDS[shape](size)
    return volume, stack(moments).T


class RigidBody(NamedTuple):
    """Mass properties in the body's frame, of one rigid body or of n.

    Attributes:
        mass: [kg].
        center: centre of mass (*n, 3) [m].
        tensor: inertia about it along the body's axes (*n, 3, 3) [kg m²].
    """

    mass: Any
    center: Float[Any, "*n 3"]
    tensor: Float[Any, "*n 3 3"]


def tensor(moments: Float[Any, "*n 3"], turn: Float[Any, "*n 3 3"]) -> Float[Any, "*n 3 3"]:
    """Return R diag(J) Rᵀ: the inertia along the body's axes of solids turned by R in it."""
    return (turn * moments[..., None, :]) @ turn.swapaxes(-1, -2)


def compose(parts: RigidBody, owner: Int[np.ndarray, " n"]) -> RigidBody:
    """Return the mass properties of bodies made of several parts each.

    Args:
        parts: n of them.
        owner: which body each part is of (n,), from 0; every body has one.
    """
    member = (owner == np.arange(owner.max() + 1)[:, None]).astype(float)
    weighted = parts.mass[:, None] * parts.center
    mass = member @ parts.mass
    center = (member @ weighted) / mass[:, None]
    d = parts.center - center[owner]
    square = (d * d).sum(axis=-1)[:, None, None]
    spread = parts.mass[:, None, None] * (square * np.eye(3) - d[:, :, None] * d[:, None, :])
    total = member @ (parts.tensor + spread).reshape(-1, 9)
    return RigidBody(mass, center, total.reshape(-1, 3, 3))


def principal_axes(
    tensor: Float[Any, "*n 3 3"],
) -> tuple[Float[Any, "*n 3"], Float[Any, "*n 4"]]:
    """Return the principal moments and the orientation of the principal axes.

    A diagonal tensor comes back exactly, with the identity. Derivatives are finite where moments
    coincide: there the axes are free to choose, so their rate is taken as zero.

    Args:
        tensor: symmetric inertia, of one body or of n.
    """
    return _jax_principal_axes()(tensor) if is_jax(tensor) else _numpy_principal_axes(tensor)


_SWEEPS = 6
# the pair of axes that each rotation of a sweep mixes, and the axis it turns about
_PAIRS = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
# what q times a turn about axis k adds per sine: components of q, and their signs
_TURNED = {
    0: ([1, 0, 3, 2], (-1.0, 1.0, 1.0, -1.0)),
    1: ([2, 3, 0, 1], (-1.0, -1.0, 1.0, 1.0)),
    2: ([3, 2, 1, 0], (-1.0, 1.0, -1.0, 1.0)),
}
_NEGLIGIBLE = 1e-15  # of the trace: rounding of the sums that make a tensor


class _State(NamedTuple):
    """Tensors on their way to diagonal: a[i] on the diagonal, off[k] beside it, q so far.

    ``off[k]`` is the element between the two axes other than k. Each (n,).
    """

    a: tuple[Any, Any, Any]
    off: tuple[Any, Any, Any]
    quat: Any  # (4, n)


def _rotate(state: _State, pair: tuple[int, int, int], least: Any) -> _State:
    """Make one off-diagonal element zero by a Jacobi rotation.

    For the pair (p, q) the angle θ has tan 2θ = 2 a_pq / (a_pp − a_qq), taken within ±π/4 so that
    axes near the diagonal keep their order; convergence is quadratic. With t = tan θ,

        a_pp ← a_pp + t a_pq,  a_qq ← a_qq − t a_pq,
        a_pk ← c a_pk + s a_qk,  a_qk ← c a_qk − s a_pk.
    """
    (p, q, k), xp = pair, namespace(state.quat)
    a, off = [*state.a], [*state.off]
    apq = xp.where(xp.abs(off[k]) > least, off[k], 0.0)
    gap, double = a[p] - a[q], 2 * apq
    wide = xp.abs(gap) + xp.sqrt(gap * gap + double * double)
    tangent = xp.where(gap < 0, -double, double) / xp.where(wide > 0, wide, 1.0)
    cosine = 1 / xp.sqrt(1 + tangent * tangent)
    sine = tangent * cosine
    a[p], a[q] = a[p] + tangent * apq, a[q] - tangent * apq
    # a_pk lies opposite q and a_qk opposite p
    off[q], off[p] = cosine * off[q] + sine * off[p], cosine * off[p] - sine * off[q]
    off[k] = off[k] - apq
    half = xp.sqrt(0.5 + 0.5 * cosine)
    order, signs = _TURNED[k]
    step = np.array(signs)[:, None] * state.quat[np.array(order)]
    quat = half * state.quat + (0.5 * sine / half) * step
    return _State((a[0], a[1], a[2]), (off[0], off[1], off[2]), quat)


def _start(tensor: Float[Any, "n 3 3"]) -> tuple[_State, Any]:
    """Return the tensors as they are, and what of them is negligible."""
    xp = namespace(tensor)
    a = tuple(tensor[:, i, i] for i in range(3))
    off = (tensor[:, 1, 2], tensor[:, 2, 0], tensor[:, 0, 1])
    still = xp.broadcast_to(np.array(rotations.IDENTITY)[:, None], (4, len(tensor)))
    return _State(a, off, still), _NEGLIGIBLE * xp.abs(a[0] + a[1] + a[2])


def _finish(state: _State) -> tuple[Float[Any, "n 3"], Float[Any, "n 4"]]:
    return stack(state.a).T, rotations.normalize(state.quat.T)


def _numpy_principal_axes(tensor: Any) -> tuple[Any, Any]:
    state, least = _start(tensor.reshape(-1, 3, 3))
    for _ in range(_SWEEPS):
        pairs = [pair for pair in _PAIRS if (np.abs(state.off[pair[2]]) > least).any()]
        if not pairs:
            break
        for pair in pairs:
            state = _rotate(state, pair, least)
    moments, quat = _finish(state)
    return moments.reshape(*tensor.shape[:-1]), quat.reshape(*tensor.shape[:-2], 4)


@functools.cache
def _jax_principal_axes() -> Callable[[Any], tuple[Any, Any]]:
    from draft_core.backend import jax, jnp

    def sweep(least: Any, state: _State) -> _State:
        for pair in _PAIRS:
            state = _rotate(state, pair, least)
        return state

    @jax.custom_jvp
    def axes(tensor: Any) -> tuple[Any, Any]:
        state, least = _start(tensor.reshape(-1, 3, 3))
        state = jax.lax.fori_loop(0, _SWEEPS, lambda _, s: sweep(least, s), state)
        moments, quat = _finish(state)
        return moments.reshape(tensor.shape[:-1]), quat.reshape(*tensor.shape[:-2], 4)

    @axes.defjvp
    def _(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
        """J' = diag(B), B = Rᵀ A' R; axes turn at ω_k = B_ij / (J_i − J_j) about axis k."""
        moments, quat = axes(primals[0])
        r = rotations.rotation(quat)
        across = r.swapaxes(-1, -2)
        rate = across @ (0.5 * (tangents[0] + tangents[0].swapaxes(-1, -2))) @ r
        least = 1e-12 * jnp.abs(moments).max(axis=-1)
        omega = [jnp.zeros_like(least)]
        for i, j in ((1, 2), (2, 0), (0, 1)):
            gap = moments[..., i] - moments[..., j]
            apart = jnp.abs(gap) > least
            omega.append(jnp.where(apart, rate[..., i, j] / jnp.where(apart, gap, 1.0), 0.0))
        turn = rotations.multiply(quat, jnp.stack(omega, axis=-1))
        return (moments, quat), (jnp.diagonal(rate, axis1=-2, axis2=-1), 0.5 * turn)

    return jax.jit(axes)
