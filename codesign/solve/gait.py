"""Where feet are at every knot of a start: who stands, who swings, how high and how far.

Between two poses that the task pins, feet that must travel take turns in G groups. The time is cut
into slots, and in slot i the group (leading + i) mod G swings. With s(t) the share of its way that
the body has gone, a foot that stands from t₁ to t₂ stands at the share s((t₁ + t₂)/2) of its own
way, so that it is under its hip in the middle of its stance; the first stance is at 0 and the last
at 1. A swing lifts it by a half sine over the straight line, and over the ground below.

Groups by the number of feet: one hops, two alternate, more are split like the squares of a
chessboard by side and by rank along the body: the diagonal pairs of four, the tripods of six.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]

STRIDE = 0.7  # longest stride, as a share of the legs' size
_TRAVEL = 0.02  # feet that move less than this share of the legs' size do not step
_ASIDE = np.array([0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3])  # places tried beside a step's, in sizes
_SOLE = 0.08  # the ground is looked at so far ahead of and behind a foot, as a share of the size
_STEEP = 0.7  # slope on which no foot is put down
_LIFT = (0.04, 0.12)  # height of a swing, as a share of the legs' size
WALK_SHARE = 0.25  # share of the starts in which four feet swing one by one rather than in pairs


def ease(fraction: Vector) -> Vector:
    """Return the share of the way at each share of the time: 3 s² − 2 s³, at rest at both ends."""
    s = np.clip(fraction, 0.0, 1.0)
    return s * s * (3.0 - 2.0 * s)


@dataclass(frozen=True)
class Footing:
    """Where contact points are to be, K knots and nc contact points.

    Attributes:
        place: positions in the world, shape (K, nc, 3); [m].
        stands: whether a point stands still on the ground in the interval that ends at the knot,
            shape (K, nc).
        is_led: whether legs are to be bent so that the point gets there, shape (K, nc).
    """

    place: Vector
    stands: Flags
    is_led: Flags


def foot_groups(bodies: Sequence[int], home: Vector, one_by_one: bool = False) -> list[int]:
    """Return the group of each contact point; points on one body are one foot.

    Args:
        bodies: body of each contact point.
        home: positions of the points at the robot's own pose, shape (nc, 3); [m].
        one_by_one: every foot is a group of its own.
    """
    feet = list(dict.fromkeys(bodies))
    middle = np.array([home[[b == foot for b in bodies]].mean(axis=0) for foot in feet])
    if one_by_one or len(feet) <= 2:
        group = list(range(len(feet)))
    else:
        side = (middle[:, 1] > np.mean(middle[:, 1]) + 1e-6).astype(int)
        group = [0] * len(feet)
        for which in (0, 1):
            row = np.flatnonzero(side == which)
            for rank, foot in enumerate(row[np.argsort(-middle[row, 0], kind="stable")]):
                group[int(foot)] = (rank + which) % 2
    return [group[feet.index(body)] for body in bodies]


@dataclass(frozen=True)
class Swing:
    """One swing of a group: off the ground after knot `start`, down at knot `end`."""

    group: int
    start: int
    end: int


def schedule(
    first: int, last: int, groups: int, strides: float, rng: np.random.Generator
) -> list[Swing]:
    """Return the swings between two knots, in order.

    Args:
        first: knot at which all feet stand.
        last: knot at which all feet stand again.
        groups: number of groups that take turns.
        strides: way that the feet have to go, in longest strides.
        rng: draws the number of slots, the leading group and pauses.
    """
    length = last - first
    turns = max(groups, 2)  # one foot alone rests between two hops
    least = min(max(turns, int(np.ceil(strides)) * groups), length)
    most = max(least, min(least + groups, length // 2))
    slots = int(rng.integers(least, most + 1))
    leading = int(rng.integers(groups))
    edges = np.round(np.linspace(first, last, slots + 1)).astype(int)
    if slots < turns:  # too few knots for turns: all at once
        return [Swing(g, first, last) for g in range(groups)]
    found = []
    for i in range(slots):
        group = (leading + i) % turns
        start, end = int(edges[i]), int(edges[i + 1])
        if end - start > 2 and rng.random() < 0.5:
            start += 1  # all feet on the ground for an interval
        if group < groups:
            found.append(Swing(group, start, end))
    return found


def footing(
    q_place: Vector,
    on_ground: Flags,
    anchors: Sequence[int],
    groups: Sequence[int],
    size: float,
    height: Callable[[Vector], Vector],
    rng: np.random.Generator,
) -> Footing:
    """Return where contact points are to be while the robot goes from one pinned pose to the next.

    Args:
        q_place: positions of the points as the interpolated poses have them, shape (K, nc, 3); [m].
        on_ground: whether those touch the ground, shape (K, nc).
        anchors: knots whose poses the task pins, increasing.
        groups: group of each point.
        size: size of the legs; [m].
        height: ground heights [m] of horizontal positions, (m, 2) → (m,).
        rng: draws the gait.
    """
    place, stands = q_place.copy(), on_ground.copy()
    led = np.zeros_like(on_ground)
    for a, b in itertools.pairwise(anchors):
        if b - a < 2:
            continue
        way = place[b] - place[a]
        both = on_ground[a] & on_ground[b]
        travel = np.linalg.norm(way[:, :2], axis=1)
        moves = both & (travel > _TRAVEL * size)
        for contact in np.flatnonzero(both & ~moves).tolist():
            place[a : b + 1, contact] = (
                place[a, contact] + np.linspace(0, 1, b - a + 1)[:, None] * way[contact]
            )
            stands[a + 1 : b + 1, contact] = led[a + 1 : b, contact] = True
        for contact in np.flatnonzero(on_ground[a] != on_ground[b]).tolist():
            leaves = bool(on_ground[a, contact])
            line, stays = _take_off(way[contact], b - a, leaves)
            place[a : b + 1, contact] = place[a, contact] + line
            stands[a + 1 : b + 1, contact], led[a + 1 : b, contact] = stays[1:], True
        if not moves.any():
            continue
        names = sorted({groups[c] for c in np.flatnonzero(moves).tolist()})
        swings = schedule(a, b, len(names), float(travel.max()) / (STRIDE * size), rng)
        lift = size * rng.uniform(*_LIFT)
        for contact in np.flatnonzero(moves).tolist():
            mine = [s for s in swings if s.group == names.index(groups[contact])]
            settle = partial(_off_edges, place[a, contact], way[contact], size, height)
            share, is_up, raised = _steps(a, b, mine, settle)
            line = place[a, contact] + share[:, None] * way[contact]
            place[a : b + 1, contact] = _over_ground(line, lift * raised, height)
            stands[a + 1 : b + 1, contact] = ~is_up[1:]
            led[a + 1 : b, contact] = True
    return Footing(place, stands, led)


def _take_off(way: Vector, length: int, leaves: bool) -> tuple[Vector, Flags]:
    """Return how far along its way a foot is that is on the ground at one end only, per knot.

    It stays on the ground for half of the time, and eases the rest of it.
    """
    middle = length // 2
    time = np.arange(length + 1)
    rest = (time - middle) / (length - middle) if leaves else time / max(length - middle, 1)
    stays = time <= middle if leaves else time > length - middle
    return ease(rest)[:, None] * way, stays


def _off_edges(
    start: Vector, way: Vector, size: float, height: Callable[[Vector], Vector], share: float
) -> float:
    """Return a share of a foot's way near the wanted one at which the ground is not steep."""
    length = float(np.linalg.norm(way[:2]))
    tried = np.clip(share + _ASIDE * size / length, 0.0, 1.0)
    reach = _SOLE * size * way[:2] / length
    places = start[:2] + tried[:, None] * way[:2]
    ends = height(np.concatenate([places - reach, places + reach])).reshape(2, -1)
    is_flat = np.abs(ends[1] - ends[0]) <= 2 * _SOLE * size * _STEEP
    return float(tried[np.argmax(is_flat)]) if is_flat.any() else share


def _steps(
    a: int, b: int, swings: Sequence[Swing], settle: Callable[[float], float]
) -> tuple[Vector, Flags, Vector]:
    """Return the share of a foot's way, whether it swings and how far it is up, per knot a … b."""
    knots = np.arange(a, b + 1)
    share, raised = np.zeros(len(knots)), np.zeros(len(knots))
    is_up = np.zeros(len(knots), dtype=bool)
    before = 0.0
    for i, swing in enumerate(swings):
        is_last = i == len(swings) - 1
        middle = b if is_last else (swing.end + swings[i + 1].start) / 2
        after = 1.0 if is_last else settle(float(ease(np.array((middle - a) / (b - a)))))
        part = np.clip((knots - swing.start) / (swing.end - swing.start), 0.0, 1.0)
        share = np.where(knots > swing.start, before + (after - before) * part, share)
        raised = np.where((part > 0) & (part < 1), np.sin(np.pi * part), raised)
        is_up |= (knots > swing.start) & (knots <= swing.end)
        before = after
    return share, is_up, raised


def _over_ground(line: Vector, lift: Vector, height: Callable[[Vector], Vector]) -> Vector:
    """Return points on the ground where they are not lifted, else above it and above the line."""
    ground = height(line[:, :2])
    up = np.where(lift > 0, np.maximum(line[:, 2], ground) + lift, ground)
    return np.column_stack([line[:, :2], up])
