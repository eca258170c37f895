"""Signed separations of convex solids by trying directions: never too large, whatever is tried.

For a unit vector n from solid A towards solid B and support functions h(n) = max over x of n · x,

    f(n) = n · (c_B − c_A) − h_A(n) − h_B(−n)

is at most the distance of A and B, and −f(n) is at least how deep they penetrate, with equality for
the best n. So the largest f of any set of directions is a margin on the safe side: where it is
positive the solids are apart by at least that much; where it is negative they touch or could not be
told apart, and moving one by that much along the best n parts them. The sets here hold every
direction that touching solids of a kind can have, in closed form or after a few Newton steps.
"""

import functools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from draft_core import rotations
from draft_core.loft import Loft
from draft_core.namespace import is_jax, namespace, stack

# squares below this count as zero: lengths of 1e-12 m, and sines of 1e-7 between axes
_NOTHING = 1e-24
_PARALLEL = 1e-14
# Newton steps for a rim against a straight line, and for a rim against a rim
_LINE_STEPS = 2
_RIM_STEPS = 2


def _array(value: Any) -> Any:
    """Return numbers, arrays, or nested sequences of them, as one array."""
    if isinstance(value, np.ndarray) or is_jax(value):
        return value
    if isinstance(value, Sequence):
        return stack([_array(item) for item in value])
    return value


def _root(square: Any) -> Any:
    """Return the square root, with slope 0 where the square is 0."""
    xp = namespace(square)
    some = square > _NOTHING
    return xp.where(some, xp.sqrt(xp.where(some, square, 1.0)), 0.0)


def _sign(value: Any) -> Any:
    return namespace(value).where(value < 0, -1.0, 1.0)


def _dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Any, b: Any) -> Any:
    return namespace(a, b).stack(
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    )


def _unit(vector: Any, instead: Any) -> Any:
    """Return vectors of unit length along the first axis, and `instead` of those without length."""
    xp = namespace(vector, instead)
    square = sum(component * component for component in vector)
    some = square > _NOTHING
    return xp.where(some, vector / xp.sqrt(xp.where(some, square, 1.0)), instead)


def _line_normal(x: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return directions (p, q), p, q ≥ 0, from an ellipse to a point outside or just inside it.

    They maximise F = x p + y q − S, S² = a² p² + b² q², by Newton's method on the angle:
    F' = y p − x q + (a² − b²) p q / S and −F'' = F + a² b² / S³, where the last term is the
    ellipse's radius of curvature. Two starts, along a new first axis: from the centre, and from
    the end of the half axis b, which is exact for an ellipse seen edge on (a = 0).

    Args:
        x: position of the point along the half axis a, at least 0 [m].
        y: along the half axis b, at least 0 [m].
        a: half axis, at most b [m].
        b: half axis [m].
    """
    xp = namespace(x, y, a, b)
    least = 1e-3 * b + 1e-12
    direction = xp.stack([xp.stack([x, x]), xp.stack([y, xp.maximum(y - b, 0.0)])])
    p, q = _unit(direction, _column([0.0, 1.0], direction))
    for _ in range(_LINE_STEPS):
        width = _root(a * a * p * p + b * b * q * q) + 1e-12
        slope = y * p - x * q + (a * a - b * b) * p * q / width
        bend = xp.maximum(x * p + y * q - width, 0.0) + a * a * b * b / width**3 + least
        turn = xp.clip(slope / bend, -1.0, 1.0)
        direction = xp.stack([xp.maximum(p - q * turn, 0.0), xp.maximum(q + p * turn, 0.0)])
        p, q = _unit(direction, _column([0.0, 1.0], direction))
    return p, q


def _column(values: Sequence[float], like: Any) -> np.ndarray:
    """Return a constant along the first axis that broadcasts against an array."""
    return np.reshape(np.array(values), (-1,) + (1,) * (like.ndim - 1))


class _Pairs(NamedTuple):
    """Two cylinders each, in the frame where axis A is (0, 0, 1) and axis B (s, 0, c), c, s ≥ 0.

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

    def sines(self, n: Any) -> tuple[Any, Any]:
        """Return |n × axis| for both axes; n is a stack (3, ...)."""
        across = self.c * n[0] - self.s * n[2]
        return _root(n[0] * n[0] + n[1] * n[1]), _root(n[1] * n[1] + across * across)

    def separation(self, n: Any) -> Any:
        """Return f(n)."""
        xp = namespace(n, self.x)
        sine_a, sine_b = self.sines(n)
        return (
            (n[0] * self.x + n[1] * self.y + n[2] * self.z)
            - (self.half_a * xp.abs(n[2]) + self.half_b * xp.abs(self.s * n[0] + self.c * n[2]))
            - (self.radius_a * sine_a + self.radius_b * sine_b)
        )


def cylinders(
    pos: Float[Any, "n 3"],
    axis: Float[Any, "n 3"],
    radius: Float[Any, " n"],
    half: Float[Any, " n"],
    pairs: Int[Any, "p 2"],
) -> Float[Any, " p"]:
    """Return the separation of pairs of cylinders (p,) [m].

    Positive: apart by at least that; negative: no direction was found that parts them, and the
    best one would take that much. Never larger than the truth (by more than 1e-8 m, for axes
    within 1e-7 rad of parallel); equal to it for parallel axes, for perpendicular axes, where a
    flat end meets anything and where two sides meet.

    Args:
        pos: centres [m].
        axis: unit vectors along the axes.
        radius: [m].
        half: half lengths [m].
        pairs: indices of the two cylinders of each pair, constant.
    """
    pos, axis, radius, half = (_array(value) for value in (pos, axis, radius, half))
    first, second = np.asarray(pairs, dtype=int).reshape(-1, 2).T
    pair = _in_frame(
        (pos[second] - pos[first]).T,
        axis[first].T,
        axis[second].T,
        (radius[first], radius[second], half[first], half[second]),
    )
    straight = _straight_directions(pair)
    return namespace(pair.x).maximum(
        pair.separation(straight).max(axis=0), pair.separation(_rim_normals(pair)).max(axis=0)
    )


def _in_frame(d: Any, a: Any, b: Any, sizes: tuple[Any, ...]) -> _Pairs:
    """Return the pairs in their own frames; d, a, b are stacks (3, p)."""
    xp = namespace(d, a, b, *sizes)
    c = _dot(a, b)
    turned = _sign(c)
    z = _dot(d, a)
    flipped = _sign(z)
    normal, beside = _cross(a, b), d - z * a
    square = _dot(normal, normal)
    skew = square > _PARALLEL
    s = xp.sqrt(xp.where(skew, square, 1.0))
    x = xp.where(skew, _dot(beside, b) * turned / s, 0.0)
    y = xp.where(skew, xp.abs(_dot(d, normal)) / s, _root(_dot(beside, beside)))
    return _Pairs(x * flipped, y, z * flipped, xp.where(skew, s, 0.0), c * turned, *sizes)


def _straight_directions(pair: _Pairs) -> Any:
    """Return the directions (3, k, p) in which at least one cylinder is straight.

    The axes (an end meets anything), their common normal (sides meet), and the perpendiculars to
    one axis that point to the nearest rim of the other (a side meets a rim).
    """
    xp = namespace(pair.x)
    x, y, z, s, c = pair[:5]
    zero, one = 0 * (x + s), 1 + 0 * (x + s)
    towards_b = _sign(s * x + c * z)
    # the centre of B along (-c, 0, s), which is perpendicular to axis B and the common normal
    beyond = s * z - c * x
    offset = xp.stack([xp.abs(x) - pair.half_b * s, xp.abs(beyond) - pair.half_a * s])
    wide = xp.stack([pair.radius_b + zero, pair.radius_a + zero])
    p, q = _line_normal(xp.maximum(offset, 0.0), xp.stack([y, y]), wide * c, wide)
    p_a, p_b = p[:, 0] * _sign(x), p[:, 1] * _sign(beyond)
    columns = [
        (zero, zero, one),
        (s * towards_b, zero, c * towards_b),
        (zero, one, zero),
        *((p_a[i], q[i, 0], zero) for i in range(2)),
        *((-c * p_b[i], q[i, 1], s * p_b[i]) for i in range(2)),
    ]
    return xp.stack([xp.stack(row) for row in zip(*columns, strict=True)])


def _rim_normals(pair: _Pairs) -> Any:
    """Return directions (3, k, p) that are near the best between a rim of A and a rim of B.

    With D between the rims' centres, f = n · D − r_A |n × a| − r_B |n × b| on the unit sphere.
    Its Hessian there is −Σ (r/|n × a|) t tᵀ − f I, with t the unit vector along a × n; Newton's
    method uses it with f ≥ 0, from directions between the centre's and either axis.
    """
    xp = namespace(pair.x)
    x, y, z, s, c = pair[:5]
    zero, one = 0 * (x + s), 1 + 0 * (x + s)
    centre = _unit(xp.stack([x + zero, y + zero, z + zero]), _column([0.0, 0.0, 1.0], xp.stack([x])))
    towards_b = _sign(s * x + c * z)
    axis_b = xp.stack([s * towards_b, zero, c * towards_b])
    starts = xp.stack([centre, centre + xp.stack([zero, zero, one]), centre + axis_b], axis=1)
    n = _unit(starts, _column([0.0, 0.0, 1.0], starts))
    end_a, end_b = _sign(n[2]) * pair.half_a, _sign(s * n[0] + c * n[2]) * pair.half_b
    offset = xp.stack([x - end_b * s, y + 0 * end_b, z - end_a - end_b * c])
    for _ in range(_RIM_STEPS):
        n = _rim_step(pair, offset, n)
    return n


def _rim_step(pair: _Pairs, offset: Any, n: Any) -> Any:
    """Return the directions after one step of Newton's method."""
    xp = namespace(n, offset)
    s, c = pair.s, pair.c
    sine_a, sine_b = (xp.maximum(sine, 1e-9) for sine in pair.sines(n))
    across = c * n[0] - s * n[2]
    bend_a, bend_b = pair.radius_a / sine_a, pair.radius_b / sine_b
    gradient = offset - xp.stack(
        [
            bend_a * n[0] + bend_b * c * across,
            (bend_a + bend_b) * n[1],
            -bend_b * s * across,
        ]
    )
    tangent_a = xp.stack([-n[1], n[0], 0 * n[0]]) / sine_a
    tangent_b = xp.stack([-c * n[1], across, s * n[1]]) / sine_b
    normal_a = _cross(n, tangent_a)
    cosine, sine = _dot(tangent_a, tangent_b), _dot(normal_a, tangent_b)
    least = 1e-3 * (pair.radius_a + pair.radius_b)
    level = xp.maximum(_dot(gradient, n), 0.0) + least
    haa, hab = bend_a + bend_b * cosine * cosine + level, bend_b * cosine * sine
    hbb = bend_b * sine * sine + level
    ga, gb = _dot(gradient, tangent_a), _dot(gradient, normal_a)
    scale = 1 / (haa * hbb - hab * hab)
    u, v = (hbb * ga - hab * gb) * scale, (haa * gb - hab * ga) * scale
    short = 1 / xp.maximum(_root(u * u + v * v), 1.0)
    return _unit(n + short * (u * tangent_a + v * normal_a), n)
