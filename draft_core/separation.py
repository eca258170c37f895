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

from draft_core.namespace import namespace
from draft_core.vectors import as_array, cross, direction, dot, pack, root, sign

# axes whose squared sine is below this count as parallel
_PARALLEL = 1e-14
_LINE_STEPS, _RIM_STEPS = 2, 2
# What Newton's method found loses ties against closed forms, whose slopes are clean [m].
_TIE = 1e-13


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
    are within 1e-7 rad of parallel). The truth itself for parallel axes, for perpendicular axes
    that lie in one plane or pass each other at their middles, and wherever an end meets anything
    or two sides meet; to a few thousandths of the radius elsewhere, where cylinders nearly touch.

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
    return xp.maximum(_straight_margin(xp, pair), _rim_margin(xp, pair) - _TIE)


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
    skew = square > _PARALLEL
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
    width = pack(xp, [radius_b, radius_a])
    sides = line_margin(xp, pack(xp, offset), y, width * c, width)
    return xp.maximum(ends, xp.maximum(sides[0] - radius_a, sides[1] - radius_b))


def line_margin(xp: ModuleType, x: Any, y: Any, a: Any, b: Any) -> Any:
    """Return how far points in a plane are outside an ellipse drawn out along its half axis a [m].

    That is how a cylinder looks along a line. The normals (p, q), p, q ≥ 0, maximise

        F = x p + y q − S,  S² = a² p² + b² q²,

    by Newton's method on the angle: F' = y p − x q + (a² − b²) p q / S and −F'' = F + a² b² / S³,
    the last term being the ellipse's radius of curvature. Of two starts, the one from the centre
    is exact for a circle, and the one from the end of b for an ellipse seen edge on (a = 0).

    Args:
        xp: numpy or jax.numpy.
        x: position along a, counted from the end of the straight part [m].
        y: position along b, at least 0 [m].
        a: half axis, at most b [m].
        b: half axis [m].
    """
    p, q = line_normals(xp, x, y, a, b)
    found = x * p + y * q - root(xp, a * a * (p * p) + b * b * (q * q))
    return xp.maximum(xp.maximum(found[0], found[1]) - _TIE, y - b)


def line_normals(xp: ModuleType, x: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the normals (2, ...) of `line_margin` that either start leads to."""
    aa, bb = a * a, b * b
    product, difference, least = aa * bb, aa - bb, 1e-3 * b + 1e-12
    p, y = xp.maximum(x, 0.0), y + 0 * x
    p, q = direction(xp, pack(xp, [p, p]), pack(xp, [y, xp.maximum(y - b, 0.0)]))
    for _ in range(_LINE_STEPS):
        width = root(xp, aa * (p * p) + bb * (q * q)) + 1e-12
        level = xp.maximum(x * p + y * q - width, 0.0) + least
        slope = y * p - x * q + difference * (p * q) / width
        turn = slope / (level + product / (width * width * width))
        turn = xp.minimum(xp.maximum(turn, -1.0), 1.0)
        p, q = xp.maximum(p - q * turn, 0.0), xp.maximum(q + p * turn, 0.0)
        scale = 1 / xp.sqrt(p * p + q * q)
        p, q = p * scale, q * scale
    return p, q


def _rim_margin(xp: ModuleType, pair: _Pairs) -> Any:
    """Return the largest f of directions that are near the best between two rims.

    Newton's method starts from the centre's direction, alone and half turned to either axis.
    """
    x, y, z, s, c, radius_a, radius_b, half_a, half_b = pair
    u, v, w = direction(xp, x, y, z)
    towards = sign(xp, s * x + c * z)
    n = direction(
        xp,
        pack(xp, [u, u, u + s * towards]),
        pack(xp, [v, v, v]),
        pack(xp, [w, w + 1, w + c * towards]),
    )
    end_a, end_b = sign(xp, n[2]) * half_a, sign(xp, s * n[0] + c * n[2]) * half_b
    between = x - end_b * s, y, z - end_a - end_b * c
    for _ in range(_RIM_STEPS):
        n = _rim_step(xp, pair, between, n)
    tilted = c * n[0] - s * n[2]
    margin = (
        (n[0] * x + n[1] * y + n[2] * z)
        - (half_a * xp.abs(n[2]) + half_b * xp.abs(s * n[0] + c * n[2]))
        - radius_a * root(xp, n[0] * n[0] + n[1] * n[1])
        - radius_b * root(xp, n[1] * n[1] + tilted * tilted)
    )
    return margin.max(axis=0)


def _rim_step(xp: ModuleType, pair: _Pairs, between: tuple[Any, ...], n: Any) -> list[Any]:
    """Return directions after one step of Newton's method for two rims.

    With D between the rims' centres and t = axis × n of length sin, for either rim,

        f = n · D − Σ r sin,  ∇f = D − f n − Σ (r / sin) (n without its part along the axis),

    and the Hessian on the sphere is −Σ (r / sin³) t tᵀ − f I, which is made definite by f ≥ 0. The
    step is U t_A + V n × t_A; t_A = (−n₂, n₁, 0), n × t_A = (−n₁ n₃, −n₂ n₃, n₁² + n₂²).
    """
    s, c = pair.s, pair.c
    n1, n2, n3 = n
    tilted = c * n1 - s * n3
    square_a = xp.maximum(n1 * n1 + n2 * n2, 1e-18)
    square_b = xp.maximum(n2 * n2 + tilted * tilted, 1e-18)
    bend_a, bend_b = pair.radius_a / xp.sqrt(square_a), pair.radius_b / xp.sqrt(square_b)
    rise = between[2] + bend_b * s * tilted
    level = (
        n1 * between[0]
        + n2 * between[1]
        + n3 * between[2]
        - (bend_a * square_a + bend_b * square_b)
    )
    along = n1 * between[1] - n2 * between[0] + bend_b * n2 * (c * tilted - n1)
    upward = rise - n3 * level
    level = (xp.maximum(level, 0.0) + 1e-3 * (pair.radius_a + pair.radius_b)) * square_a
    # t_B · t_A and t_B · (n × t_A)
    ahead, aside = c * n2 * n2 + n1 * tilted, s * n2
    share = bend_b / square_b
    haa = bend_a * square_a + level + share * ahead * ahead
    hab, hbb = share * ahead * aside, share * aside * aside + level
    scale = 1 / (haa * hbb - hab * hab)
    u, v = (hbb * along - hab * upward) * scale, (haa * upward - hab * along) * scale
    square = (u * u + v * v) * square_a
    short = 1 / xp.sqrt(xp.maximum(square, 1.0))
    # a step of at most one radian; the direction's length is then √(1 + step²)
    length = 1 / xp.sqrt(1 + xp.minimum(square, 1.0))
    u, v = u * short, v * short
    turned = 1 - n3 * v
    return [
        (n1 * turned - n2 * u) * length,
        (n2 * turned + n1 * u) * length,
        (n3 + square_a * v) * length,
    ]
