"""What the smallest sufficient motor asks for, as smooth conservative functions of the torque.

A library offers torques T_1 < … < T_n, and its motors ask for r_1 ≤ … ≤ r_n of some quantity (a
mass, an extent). The requirement of the smallest motor that carries τ is a staircase,

    s(τ) = r_1 for τ ≤ T_1,   r_i for T_{i−1} < τ ≤ T_i.

Its conservative stand-in joins the upper ends of its jumps by lines (Spielberg et al. 2017, Sec.
II-D): g ≥ s has the nodes (0, r_1), (T_1, r_2), …, (T_{n−1}, r_n), where it meets s. Beyond the
last one there is no larger motor, and g = r_n would do. But where g is flat the optimiser cannot
see that less torque is worth something, and stays there. So g goes on to (T_n, r_n + δ (r_n − r_1))
with δ = 2 %, the price of a slope everywhere. Where two motors ask for the same, `rising` spreads
them.

g bends at its nodes. "available ≥ g(τ)" is written as one row for each f_j of a family of twice
continuously differentiable functions with

    max_j f_j ≥ g,   with equality at every node.

Where g is convex, each f_j is the line through two nodes. At a bend the other way, from slope a to
a smaller b at T, the line before T gains a bump that leaves it and arrives at T without a kink:

    f(τ) = line(τ) + (a − b) w β(t),   t = (τ − T + w) / w ∈ [0, 1],   β(t) = t³ (1 − t)(4 − 3t) ≥ 0

with β′(1) = −1 and β″(0) = β″(1) = 0. β′ ≥ −1, so that f still rises; the bump is at most
0.198 (a − b) w, and w is a quarter of the line's length. Outside its own lines f_j stays below g:
to the right it levels off where its line would cross g, to the left it falls off as a cubic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BUMP = (0.0, 0.0, 0.0, 4.0, -7.0, 3.0)  # β(t) = t³ (1 − t)(4 − 3t)
_LEVELLING = (0.0, 1.0, 0.0, -1.0, 0.5)  # slope from 1 to 0, curvature 0 at both ends
_BUMP_SHARE = 0.25  # of a line's length
_LAST_RISE = 0.02  # δ


@dataclass(frozen=True)
class Piece:
    """A polynomial in x − origin.

    Attributes:
        origin: where its argument is zero.
        coefficients: lowest order first.
    """

    origin: float
    coefficients: tuple[float, ...]

    def __call__(self, x: Any) -> Any:
        """Return its value, by Horner's rule."""
        t = x - self.origin
        value = self.coefficients[-1] + 0.0 * t
        for coefficient in reversed(self.coefficients[:-1]):
            value = value * t + coefficient
        return value


@dataclass(frozen=True)
class PiecewisePolynomial:
    """A function that is one polynomial up to each of some points, and another one beyond.

    Attributes:
        starts: where each piece but the first begins, ascending.
        pieces: one more than `starts`.
    """

    starts: tuple[float, ...]
    pieces: tuple[Piece, ...]

    @property
    def is_affine(self) -> bool:
        """Whether it is one line."""
        return not self.starts and len(self.pieces[0].coefficients) <= 2

    def __call__(self, x: Any) -> Any:
        """Return its value at a float, a NumPy or a JAX array, traced or not."""
        from draft_core.backend import jnp

        value = self.pieces[0](x)
        for start, piece in zip(self.starts, self.pieces[1:], strict=True):
            value = jnp.where(x >= start, piece(x), value)
        return value


def rising(values: Sequence[float]) -> tuple[float, ...]:
    """Return values that never fall, none below the one it replaces, the same at the end alone.

    A value that is not above all before it is raised: to evenly between the largest so far and the
    next larger one, as the paper does for the width of its second motor (0.0356 m, between 0.04 m
    and 0.041 m, becomes 0.0405 m). After the largest there is nothing to rise to.
    """
    result = list(values)
    last = 0
    for i in range(1, len(result)):
        if result[i] > result[last]:
            _spread(result, last, i)
            last = i
    result[last:] = [result[last]] * (len(result) - last)
    return tuple(result)


def _spread(values: list[float], first: int, last: int) -> None:
    """Replace what lies between two entries by even steps from one to the other."""
    step = (values[last] - values[first]) / (last - first)
    for k in range(first + 1, last):
        values[k] = values[first] + (k - first) * step


def staircase(torques: Sequence[float], values: Sequence[float], torque: float) -> float:
    """Return the requirement of the smallest motor that carries a torque.

    Args:
        torques: T_1 < … < T_n; [N m].
        values: what each motor asks for.
        torque: at most T_n; [N m].

    Raises:
        ValueError: no motor carries it.
    """
    for limit, value in zip(torques, values, strict=True):
        if torque <= limit:
            return value
    raise ValueError(f"no motor carries {torque:g} N m")


def conservative_rows(
    torques: Sequence[float], values: Sequence[float]
) -> tuple[PiecewisePolynomial, ...]:
    """Return the functions f_j of the module's text, whose largest is at least the staircase.

    Args:
        torques: T_1 < … < T_n, positive; [N m].
        values: r_1 ≤ … ≤ r_n, in any unit, which is also that of the functions.
    """
    heights = [float(value) for value in values]
    if heights[0] == heights[-1]:
        return (PiecewisePolynomial((), (Piece(0.0, (heights[0],)),)),)
    last = heights.index(heights[-1])
    beyond = heights[-1] + _LAST_RISE * (heights[-1] - heights[0])
    curve = _Curve(
        np.array([0.0, *torques[:last], torques[-1]]), np.array([*heights[: last + 1], beyond])
    )
    slopes = curve.slopes
    firsts = [0, *(i for i in range(1, len(slopes)) if slopes[i] > slopes[i - 1])]
    lasts = [*(first - 1 for first in firsts[1:]), len(slopes) - 1]
    return tuple(_row(curve, first, last) for first, last in zip(firsts, lasts, strict=True))


@dataclass(frozen=True)
class _Curve:
    """g, by its nodes (0, r_1), (T_1, r_2), …, (T_{n−1}, r_n), (T_n, r_n + δ (r_n − r_1))."""

    torque: NDArray[np.float64]
    height: NDArray[np.float64]

    @property
    def slopes(self) -> NDArray[np.float64]:
        """Slope of each line; those that differ by rounding alone are the same."""
        result = np.diff(self.height) / np.diff(self.torque)
        for i in range(1, len(result)):
            if abs(result[i] - result[i - 1]) <= 1e-12 * np.max(result):
                result[i] = result[i - 1]
        return result


def _row(curve: _Curve, first: int, last: int) -> PiecewisePolynomial:
    """Return the f that follows the lines `first` to `last`, whose slopes do not rise."""
    torque, height, slopes = curve.torque, curve.height, curve.slopes
    pieces, starts = [Piece(torque[first], (height[first], slopes[first]))], []
    fall = _fall(curve, first)
    if fall > 0:
        pieces.insert(0, Piece(torque[first], (height[first], slopes[first], 0.0, fall)))
        starts.append(torque[first])
    for i in range(first, last):
        drop, width = slopes[i] - slopes[i + 1], _BUMP_SHARE * (torque[i + 1] - torque[i])
        start = torque[i + 1] - width
        line = (height[i + 1] - slopes[i] * width, slopes[i])
        pieces.append(Piece(start, _sum(line, _stretched(_BUMP, drop * width, width))))
        pieces.append(Piece(torque[i + 1], (height[i + 1], slopes[i + 1])))
        starts += [start, torque[i + 1]]
    end = last + 1
    line = height[last] + slopes[last] * (torque[end:] - torque[last])
    if end < len(slopes) and np.any(line > height[end:] + 1e-12 * height[-1]):
        width = torque[end + 1] - torque[end]
        rise = slopes[last] * width
        levelling = _sum((height[end],), _stretched(_LEVELLING, rise, width))
        top = height[end] + rise * sum(_LEVELLING)
        pieces += [Piece(torque[end], levelling), Piece(torque[end + 1], (top,))]
        starts += [torque[end], torque[end + 1]]
    return PiecewisePolynomial(
        tuple(float(start) for start in starts),
        tuple(Piece(float(p.origin), tuple(map(float, p.coefficients))) for p in pieces),
    )


def _stretched(polynomial: Sequence[float], height: float, width: float) -> tuple[float, ...]:
    """Return height · p(x / width)."""
    return tuple(height * c / width**k for k, c in enumerate(polynomial))


def _sum(a: Sequence[float], b: Sequence[float]) -> tuple[float, ...]:
    return tuple(x + y for x, y in zip_longest(a, b, fillvalue=0.0))


def _fall(curve: _Curve, first: int) -> float:
    """Return the least c with line(τ) − c x³ ≤ g(τ) for all x = T_first − τ > 0.

    On each earlier line of g the excess of the line is A + B x, and (A + B x) / x³ is largest at
    an end or at x = −3A / 2B.
    """
    torque, height, slopes = curve.torque, curve.height, curve.slopes
    least = 0.0
    for i in range(first - 1):  # the line before it is less steep, thus above
        ends = torque[first] - torque[[i + 1, i]]
        excess = height[first] - slopes[first] * ends - height[[i + 1, i]]
        b = (excess[1] - excess[0]) / (ends[1] - ends[0])
        a = excess[0] - b * ends[0]
        inner = [-1.5 * a / b] if b != 0 and ends[0] < -1.5 * a / b < ends[1] else []
        least = max(least, *((a + b * x) / x**3 for x in (*ends, *inner)))
    return least * (1 + 1e-9)
