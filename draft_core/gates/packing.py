"""Two actuators are not in the same place: their cylinders are apart, but for a little.

    d ≥ −min(max(0.5 mm, 2 % r̄), 10 % l),   r̄ = (r_a + r_b) / 2,   l = min(r_a, r_b, 2h_a, 2h_b)

d is `draft_core.separation.cylinders`, all joints at zero: never more than the true distance, and
where cylinders overlap, minus the shortest way to part them. Actuators that follow each other along
one chain (`chains`) are one margin for each pair, and errors. Of all other pairs the closest is one
margin, and a warning. Margins are in mean radii. But whoever carries them, two actuators do not
share a place: of all other pairs the least of

    g² = min(max((ρ_ab / r_a)², (z_ab / h_a)²), max((ρ_ba / r_b)², (z_ba / h_b)²)) ≥ 1

is one margin, g² − 1, and an error. ρ and z are the places of one's centre across and along the
other's axis: neither centre is inside the other cylinder.

Source: Draft (Nguyen, Coelho, Kim 2026), which takes boxes; the share of l and the rule for centres
are this project's. Kinks: those of the distance, where another direction becomes the best; a mean
radius of 25 mm; where l becomes the least, or another pair or face the closest.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from draft_core.anatomy import Anatomy
from draft_core.gates.chains import Actuators, actuators
from draft_core.gates.margins import Gate, Margin, element, scalars
from draft_core.namespace import is_jax, namespace
from draft_core.separation import cylinders
from draft_core.tree import RobotTree
from draft_core.vectors import dot

NAME, SWITCH = "packing", "allow_motor_overlap"
LEAST, PART = 0.0005, 0.02  # tolerated overlap [m], and as a part of the mean radius
SHARE = 0.1  # of the smallest radius or length, which it never exceeds: a disc is not let through


class _Cylinders(NamedTuple):
    """The actuators at one design."""

    pos: Float[Any, "n 3"]
    axis: Float[Any, "n 3"]
    radius: Float[Any, " n"]
    half: Float[Any, " n"]

    def between(self, pairs: Int[np.ndarray, "p 2"]) -> tuple[Any, Any, Any]:
        """Return margin, distance [m] and its least [m] of each pair (p,)."""
        distance = cylinders(self.pos, self.axis, self.radius, self.half, pairs)
        least, mean = self.allowed(pairs)
        return (distance - least) / mean, distance, least

    def allowed(self, pairs: Int[np.ndarray, "p 2"]) -> tuple[Any, Any]:
        """Return the least distance [m] and the mean radius [m] of each pair (p,)."""
        first, second = pairs.T
        mean = 0.5 * (self.radius[first] + self.radius[second])
        xp = namespace(mean, self.half)
        thin = xp.minimum(self.radius, 2 * self.half)
        share = SHARE * xp.minimum(thin[first], thin[second])
        return -xp.minimum(xp.maximum(LEAST, PART * mean), share), mean

    def centers(self, pairs: Int[np.ndarray, "p 2"]) -> Any:
        """Return how far out one's centre is in the other's size, squared (p,): 1 at its surface.

        Of the two ways to take a pair, the one that is further in.
        """
        first, second = pairs.T
        xp = namespace(*self)
        gap = (self.pos[second] - self.pos[first]).T
        square = dot(gap, gap)
        side, end = 1 / (self.radius * self.radius), 1 / (self.half * self.half)
        out = []
        for of in (first, second):
            along = dot(gap, self.axis[of].T)
            along = along * along
            out.append(xp.maximum((square - along) * side[of], along * end[of]))
        return xp.minimum(*out)


def margins(anatomy: Anatomy) -> list[Margin]:
    """Return one margin for each two consecutive actuators, and one for all other pairs."""
    static = actuators(anatomy.tree)
    size = anatomy.fields["geom_size"][static.index]
    solids = _Cylinders(
        anatomy.pos[static.index], anatomy.turn[static.index][:, :, 2], size[:, 0], size[:, 1]
    )
    apart, inside = static.apart, _shared_centers(static, solids)
    if len(apart) and not any(map(is_jax, solids)):
        apart = apart[_candidates(static, solids)]
    count = len(static.consecutive)
    pairs = np.concatenate([static.consecutive, apart])
    if not len(pairs):
        return []
    value, distance, least = solids.between(pairs)
    rows = zip(
        _labels(anatomy.tree),
        *(scalars(x[:count]) for x in (value, distance, least)),
        strict=True,
    )
    close = [
        Margin(NAME, subject, margin, gap, limit, "m", "error", text, SWITCH)
        for (subject, text), margin, gap, limit in rows
    ]
    rest = _apart(static, apart, value[count:], distance[count:], least[count:])
    return [*close, *inside, *rest]


def _shared_centers(static: Actuators, solids: _Cylinders) -> list[Margin]:
    """Return the margin of the pair that do not follow each other whose centres are nearest."""
    if not len(static.apart):
        return []
    square = solids.centers(static.apart)
    least, joints = square.min(), ("one joint", "another")
    if not is_jax(square):
        a, b = static.apart[square.argmin()]
        least, joints = float(least), (static.joints[a], static.joints[b])
    text = (
        f"between the actuators of {joints[0]} and {joints[1]}, one's centre is {{measured}} of "
        "the way from the other's centre to its surface; any two need at least {limit}"
    )
    subject = "centres of all other actuators"
    return [Margin(NAME, subject, least - 1, least**0.5, 1.0, "", "error", text, SWITCH)]


@lru_cache(maxsize=32)
def _labels(tree: RobotTree) -> tuple[tuple[str, str], ...]:
    static = actuators(tree)
    names = [tuple(static.joints[i] for i in pair) for pair in static.consecutive]
    return tuple((f"{a}, {b}", _text(a, b)) for a, b in names)


def _text(a: str, b: str) -> str:
    return (
        f"the gap between the actuators of {a} and {b} is {{measured}} m (negative: an overlap); "
        "{limit} m is tolerated"
    )


def _apart(
    static: Actuators, pairs: Int[np.ndarray, "q 2"], value: Any, distance: Any, least: Any
) -> list[Margin]:
    """Return the margin of the closest of the pairs that do not follow each other."""
    if not len(pairs):
        return []
    at = value.argmin()
    if is_jax(value):
        return [
            _closest(
                value.min(),
                element(distance, at),
                element(least, at),
                _text("one joint", "another"),
            )
        ]
    overlap = [f"{static.joints[a]} and {static.joints[b]}" for a, b in pairs[value < 0]]
    text = _text(*(static.joints[i] for i in pairs[at]))
    if len(overlap) > 1:
        text += f"; {len(overlap)} pairs overlap: {', '.join(overlap)}"
    return [_closest(float(value[at]), float(distance[at]), float(least[at]), text)]


def _closest(value: Any, distance: Any, least: Any, text: str) -> Margin:
    return Margin(
        gate=NAME,
        subject="closest of all other actuators",
        value=value,
        measured=distance,
        limit=least,
        unit="m",
        level="warning",
        text=text,
    )


def _candidates(static: Actuators, solids: _Cylinders) -> np.ndarray:
    """Return the pairs among which the closest is, and all that overlap, by balls around and in."""
    a, b = static.apart.T
    gap = solids.pos[b] - solids.pos[a]
    distance = np.sqrt((gap * gap).sum(axis=1))
    around = np.sqrt(solids.radius * solids.radius + solids.half * solids.half)
    within = np.minimum(solids.radius, solids.half)
    least, mean = solids.allowed(static.apart)
    lower = (distance - around[a] - around[b] - least) / mean
    upper = (distance - within[a] - within[b] - least) / mean
    return lower <= max(upper.min(), 0.0)


GATE = Gate(
    NAME,
    "Actuator packing",
    "the cylinders of consecutive actuators overlap by at most 0.5 mm or 2 % of their mean radius "
    "(never more than 10 % of the least radius or length), and no actuator's centre is in another",
    margins,
    SWITCH,
)
