"""Directions in which a rim touches a straight line or another rim, by Newton's method.

Both are maxima of a separation over unit vectors. Started near, two steps leave an error that is
quadratic in a small angle, and always on the safe side.
"""

from types import ModuleType
from typing import Any

from draft_core.vectors import direction, root

_LINE_STEPS = 2
# What Newton's method found loses ties against closed forms, whose slopes are clean [m].
TIE = 1e-13


def line_margin(xp: ModuleType, x: Any, y: Any, radius: Any, cosine: Any) -> Any:
    """Return how far points in a plane are outside a rim that is drawn out along its short axis.

    That is how a cylinder looks along a line: its sides are straight, and its rims are ellipses.

    Args:
        xp: numpy or jax.numpy.
        x: position along the cylinder's axis, counted from the end of the straight part [m].
        y: position across, at least 0 [m].
        radius: of the cylinder [m].
        cosine: between the line and the cylinder's axis, at least 0.
    """
    p, q = line_normals(xp, x, y, radius, cosine)
    rim = x * p + y * q - rim_reach(xp, p, q, radius, cosine)
    return xp.maximum(rim - TIE, y - radius)


def rim_reach(xp: ModuleType, p: Any, q: Any, radius: Any, cosine: Any) -> Any:
    """Return the support function of a rim seen along a line: S = r √(cos² p² + q²) [m]."""
    p = cosine * p
    return radius * root(xp, p * p + q * q)


def line_normals(xp: ModuleType, x: Any, y: Any, radius: Any, cosine: Any) -> list[Any]:
    """Return the direction (p, q) of `line_margin`, p, q ≥ 0.

    It maximises F = x p + y q − S by Newton's method on the angle: with the half axes b = r and
    a = r cos, F' = y p − x q + (a² − b²) p q / S and −F'' = F + a² b² / S³, where the last term is
    the radius of curvature. The start, from the centre of curvature at the end of b, is exact for
    a circle and for an ellipse seen edge on.
    """
    aa, bb = (radius * cosine) ** 2, radius * radius
    product, difference, least = aa * bb, aa - bb, 1e-3 * radius + 1e-12
    start = xp.maximum(y - radius * (1 - cosine * cosine), 0.0)
    p, q = direction(xp, xp.maximum(x, 0.0), start)
    for _ in range(_LINE_STEPS):
        width = rim_reach(xp, p, q, radius, cosine) + 1e-12
        level = xp.maximum(x * p + y * q - width, 0.0) + least
        slope = y * p - x * q + difference * (p * q) / width
        turn = slope / (level + product / (width * width * width))
        turn = xp.minimum(xp.maximum(turn, -1.0), 1.0)
        p, q = xp.maximum(p - q * turn, 0.0), xp.maximum(q + p * turn, 0.0)
        scale = 1 / xp.sqrt(p * p + q * q)
        p, q = p * scale, q * scale
    return [p, q]


def rim_step(
    xp: ModuleType, n: Any, between: tuple[Any, ...], s: Any, c: Any, radius_a: Any, radius_b: Any
) -> list[Any]:
    """Return directions after one step of Newton's method for two rims.

    With D between the rims' centres and t = axis × n of length sin, for either rim,

        f = n · D − Σ r sin,  ∇f = D − f n − Σ (r / sin) (n without its part along the axis),

    and the Hessian on the sphere is −Σ (r / sin³) t tᵀ − f I, which is made definite by f ≥ 0. The
    step is U t_A + V n × t_A; t_A = (−n₂, n₁, 0), n × t_A = (−n₁ n₃, −n₂ n₃, n₁² + n₂²).

    Args:
        xp: numpy or jax.numpy.
        n: components of the directions, in a frame where axis A is (0, 0, 1) and B (s, 0, c).
        between: components of D [m].
        s: sine between the axes.
        c: cosine between the axes.
        radius_a: [m].
        radius_b: [m].
    """
    n1, n2, n3 = n
    tilted = c * n1 - s * n3
    square_a = xp.maximum(n1 * n1 + n2 * n2, 1e-18)
    square_b = xp.maximum(n2 * n2 + tilted * tilted, 1e-18)
    bend_a, bend_b = radius_a / xp.sqrt(square_a), radius_b / xp.sqrt(square_b)
    rise = between[2] + bend_b * s * tilted
    level = (
        n1 * between[0]
        + n2 * between[1]
        + n3 * between[2]
        - (bend_a * square_a + bend_b * square_b)
    )
    along = n1 * between[1] - n2 * between[0] + bend_b * n2 * (c * tilted - n1)
    upward = rise - n3 * level
    level = (xp.maximum(level, 0.0) + 1e-3 * (radius_a + radius_b)) * square_a
    # t_B · t_A and t_B · (n × t_A)
    ahead, aside = c * n2 * n2 + n1 * tilted, s * n2
    share = bend_b / square_b
    haa = bend_a * square_a + level + share * ahead * ahead
    hab, hbb = share * ahead * aside, share * aside * aside + level
    scale = 1 / (haa * hbb - hab * hab)
    u, v = (hbb * along - hab * upward) * scale, (haa * upward - hab * along) * scale
    # at most one radian
    short = 1 / xp.sqrt(xp.maximum((u * u + v * v) * square_a, 1.0))
    u, v = u * short, v * short
    turned = 1 - n3 * v
    return direction(xp, n1 * turned - n2 * u, n2 * turned + n1 * u, n3 + square_a * v)
