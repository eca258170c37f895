"""Signed separations of convex solids by trying directions: never too large, whatever is tried.

For a unit vector n from solid A towards solid B and support functions h(n) = max over x of n · x,

    f(n) = n · (c_B − c_A) − h_A(n) − h_B(−n)

is at most the distance of A and B, and −f(n) is at least how deep they penetrate, with equality for
the best n. So the largest f of any set of directions is a margin on the safe side: where it is
positive the solids are apart by at least that much; where it is negative they touch or could not be
told apart, and moving one by that much along the best n parts them.

Two cylinders touch in one of five ways, each a local maximum of f: a flat end meets anything (n is
its axis), two sides meet (n is normal to both axes), a side meets a rim (n is perpendicular to one
axis: a problem in the plane), or two rims meet. The first three are closed forms, the last two take
a few Newton steps.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from draft_core.mesh_separation import solids_from_mesh
from draft_core.namespace import namespace
from draft_core.rims import TIE, line_margin, rim_step
from draft_core.vectors import PARALLEL, as_array, cross, direction, dot, pack, root, sign

__all__ = ["cylinders", "solids_from_mesh"]

_RIM_STEPS = 2


def cylinders(
    pos: Float[Any, "n 3"],
    axis: Float[Any, "n 3"],
    radius: Float[Any, " n"],
    half: Float[Any, " n"],
    pairs: Int[Any, "p 2"],
) -> Float[Any, " p"]:
    """Return the separation of pairs of cylinders (p,) [m].

    Positive: apart by at least that; negative: no direction was found that parts them, and the
    best one would take that much. Never more than the truth (but for 1e-7 of a length where axes
    are within 1e-7 rad of parallel). The truth itself where axes are parallel or lie in one plane,
    where an end or two sides meet, and where a side meets the rim of a perpendicular cylinder;
    else mostly within 1e-4 of the radius, and within 1e-2 where cylinders nearly touch.

    Args:
        pos: centres [m].
        axis: unit vectors along the axes.
        radius: [m].
        half: half lengths [m].
        pairs: indices of the two cylinders of each pair, constant.
    """
    pos, axis, radius, half = (as_array(value) for value in (pos, axis, radius, half))
    xp = namespace(pos, axis, radius, half)
    first, second = np.asarray(pairs, dtype=int).reshape(-1, 2).T
    pair = _in_frame(
        xp,
        (pos[second] - pos[first]).T,
        axis[first].T,
        axis[second].T,
        (radius[first], radius[second], half[first], half[second]),
    )
    return xp.maximum(_straight_margin(xp, pair), _rim_margin(xp, pair) - TIE)


class _Pairs(NamedTuple):
    """Pairs of cylinders, in frames where axis A is (0, 0, 1) and axis B (s, 0, c), c, s ≥ 0.

    The cylinders are symmetric, so that the centre of B may be taken at (x, y, z) with y, z ≥ 0.
    """

    x: Any
    y: Any
    z: Any
    s: Any
    c: Any
    radius_a: Any
    radius_b: Any
    half_a: Any
    half_b: Any


def _in_frame(xp: ModuleType, d: Any, a: Any, b: Any, sizes: tuple[Any, ...]) -> _Pairs:
    """Return the pairs in their own frames.

    Args:
        xp: numpy or jax.numpy.
        d: from the centres of A to those of B (3, p).
        a: axes of A (3, p).
        b: axes of B (3, p).
        sizes: radii of A and B and half lengths of A and B (p,).
    """
    c, z, normal = dot(a, b), dot(d, a), cross(a, b)
    beside = d - z * a
    square = dot(normal, normal)
    skew = square > PARALLEL
    s = xp.sqrt(xp.where(skew, square, 1.0))
    turned, flipped = sign(xp, c), sign(xp, z)
    x = xp.where(skew, dot(beside, b) * (turned * flipped) / s, 0.0)
    y = xp.where(skew, xp.abs(dot(d, normal)) / s, root(xp, dot(beside, beside)))
    return _Pairs(x, y, z * flipped, xp.where(skew, s, 0.0), c * turned, *sizes)


def _straight_margin(xp: ModuleType, pair: _Pairs) -> Any:
    """Return the largest f of the directions in which at least one cylinder is straight.

    The axes (an end meets anything), their common normal (sides meet), and the perpendiculars to
    one axis that point to the nearest rim of the other (a side meets a rim).
    """
    x, y, z, s, c, radius_a, radius_b, half_a, half_b = pair
    ends = xp.maximum(
        z - half_a - half_b * c - radius_b * s,
        xp.abs(s * x + c * z) - half_b - half_a * c - radius_a * s,
    )
    # Seen along an axis, the other's half length shrinks to s and its rim to a half axis c. The
    # second is the centre along (-c, 0, s), perpendicular to axis B and to the common normal.
    offset = [xp.abs(x) - half_b * s, xp.abs(s * z - c * x) - half_a * s]
    sides = line_margin(xp, pack(xp, offset), y, pack(xp, [radius_b, radius_a]), c)
    return xp.maximum(ends, xp.maximum(sides[0] - radius_a, sides[1] - radius_b))


def _rim_margin(xp: ModuleType, pair: _Pairs) -> Any:
    """Return the largest f of directions that are near the best between two rims."""
    x, y, z, s, c, radius_a, radius_b, half_a, half_b = pair
    n = _rim_starts(xp, pair)
    end_a, end_b = sign(xp, n[2]) * half_a, sign(xp, s * n[0] + c * n[2]) * half_b
    between = x - end_b * s, y, z - end_a - end_b * c
    for _ in range(_RIM_STEPS):
        n = rim_step(xp, n, between, s, c, radius_a, radius_b)
    tilted = c * n[0] - s * n[2]
    margin = (
        (n[0] * x + n[1] * y + n[2] * z)
        - (half_a * xp.abs(n[2]) + half_b * xp.abs(s * n[0] + c * n[2]))
        - radius_a * root(xp, n[0] * n[0] + n[1] * n[1])
        - radius_b * root(xp, n[1] * n[1] + tilted * tilted)
    )
    return margin.max(axis=0)


def _rim_starts(xp: ModuleType, pair: _Pairs) -> list[Any]:
    """Return four directions to start from, components of (4, p).

    To the centre, half turned to either axis, and between the points of the rims that are nearest
    to the other's centre, which is exact where the axes lie in one plane.
    """
    x, y, z, s, c, radius_a, radius_b, half_a, half_b = pair
    u, v, w = direction(xp, x, y, z)
    towards = sign(xp, s * x + c * z)
    side_a, up_a = direction(xp, x, y)
    side_b, up_b = direction(xp, s * z - c * x, y)
    side_b, end_b = radius_b * side_b, half_b * towards
    near = direction(
        xp,
        x - radius_a * side_a - end_b * s + side_b * c,
        y - radius_a * up_a - radius_b * up_b,
        z - half_a - end_b * c - side_b * s,
    )
    v = v + 0.03  # off the axes, where a rim's normals are not smooth
    return direction(
        xp,
        pack(xp, [u, u, u + s * towards, near[0]]),
        pack(xp, [v, v, v, near[1]]),
        pack(xp, [w, w + 1, w + c * towards, near[2]]),
    )
