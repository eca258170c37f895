"""Separations: closed forms, a search over directions, and what must hold of any distance."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import casadi as ca
import numpy as np
import pytest

from codesign.tracing import to_casadi
from draft_core import rotations
from draft_core.backend import jax, jnp
from draft_core.loft import Loft, chamfered_rectangle, is_convex_solid, polyhedron
from draft_core.separation import cylinders, solids_from_mesh

X, Y, Z = np.eye(3)
RADII, HALVES = [0.04, 0.06], [0.03, 0.05]
STILL = [1.0, 0.0, 0.0, 0.0]


def pair(d: object, a: object, b: object) -> float:
    """Return the separation of two cylinders of RADII and HALVES, d from A to B."""
    found = cylinders([[0.0, 0.0, 0.0], d], [a, b], RADII, HALVES, [[0, 1]])
    return float(found[0])


@pytest.mark.parametrize(
    ("d", "b", "expected"),
    [
        ([0, 0, 0.2], Z, 0.2 - 0.08),  # coaxial: end to end
        ([0, 0, 0.05], Z, -0.03),
        ([0, 0, -0.08], -Z, 0.0),
        ([0.15, 0, 0], Z, 0.15 - 0.1),  # parallel: side to side
        ([0.08, 0.06, 0.01], Z, 0.0),
        ([0.06, 0.08, 0.04], -Z, 0.0),
        ([0.08, 0, 0.07], Z, -0.01),  # the ends overlap by less than the sides
        ([0.13, 0, 0.12], Z, 0.05),  # rim to rim: 3, 4, 5
        ([0, 0.2, 0], X, 0.2 - 0.1),  # crossed: side to side
        ([0.01, 0.07, 0.01], X, -0.03),
        ([0, 0, 0.2], X, 0.2 - 0.03 - 0.06),  # an end on a side
        ([0.2, 0, 0], X, 0.2 - 0.04 - 0.05),  # a side on an end
        ([0.11, 0.14, 0], X, 0.06),  # a side and the rim of an end: 6, 8, 10
        ([0.12, 0, 0.13], X, 0.05),  # rim to rim, axes in one plane: 3, 4, 5
    ],
)
def test_cylinders_of_a_robot_have_their_closed_forms(d: list, b: np.ndarray, expected: float):
    # Second from below: the end's corner is at 0.11 - 0.05 = 0.06 and 0.14 - 0.06 = 0.08, so that
    # 0.1 - 0.04 remain to the side.
    assert pair(d, Z, b) == pytest.approx(expected, abs=1e-11)


def random_units(rng: np.random.Generator, count: int) -> np.ndarray:
    v = rng.normal(size=(count, 3))
    return v / np.linalg.norm(v, axis=1)[:, None]


class Batch:
    """Random pairs of cylinders, of the aspects actuators have, from deep inside to apart."""

    def __init__(self, count: int, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.radius = rng.uniform(0.02, 0.08, 2 * count)
        self.half = self.radius * rng.uniform(0.28, 1.69, 2 * count)
        size = np.hypot(self.radius, self.half).reshape(2, count).sum(axis=0)
        self.pos = np.zeros((2 * count, 3))
        self.pos[count:] = random_units(rng, count) * (rng.uniform(0.3, 1.5, count) * size)[:, None]
        self.axis = random_units(rng, 2 * count)
        self.pairs = np.arange(2 * count).reshape(2, count).T
        self.thin = self.radius.reshape(2, count).min(axis=0)

    def separation(self) -> np.ndarray:
        return cylinders(self.pos, self.axis, self.radius, self.half, self.pairs)

    def along(self, n: np.ndarray) -> np.ndarray:
        """Return f(n) of directions (p, k, 3) for each pair, written out from its definition."""
        i, j = self.pairs.T
        value = ((self.pos[j] - self.pos[i])[:, None] * n).sum(axis=2)
        for k in (i, j):
            axis = self.axis[k][:, None]
            across = np.linalg.norm(np.cross(n, axis), axis=2)
            value -= self.half[k][:, None] * np.abs((n * axis).sum(axis=2))
            value -= self.radius[k][:, None] * across
        return value


def sphere(count: int) -> np.ndarray:
    """Return directions spread evenly, by the golden angle."""
    z = 1 - (2 * np.arange(count) + 1) / count
    angle = np.pi * (1 + 5**0.5) * np.arange(count)
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def searched(batch: Batch, seed: int = 1) -> np.ndarray:
    """Return the best separation that a long random search over directions finds."""
    rng = np.random.default_rng(seed)
    count = len(batch.pairs)
    spread = np.broadcast_to(sphere(1500), (count, 1500, 3))
    values = batch.along(spread)
    best = np.full(count, -np.inf)
    # two starts: the best direction, and the best that is well away from it
    first = spread[0][values.argmax(axis=1)]
    values[(spread * first[:, None]).sum(axis=2) > 0.9] = -np.inf
    for start in (first, spread[0][values.argmax(axis=1)]):
        n, step = start, np.full(count, 0.05)
        found = batch.along(n[:, None])[:, 0]
        for _ in range(50):
            near = n[:, None] + step[:, None, None] * rng.normal(size=(count, 10, 3))
            near /= np.linalg.norm(near, axis=2)[..., None]
            values_near = batch.along(near)
            pick = values_near.argmax(axis=1)
            value = values_near[np.arange(count), pick]
            better = value > found
            n = np.where(better[:, None], near[np.arange(count), pick], n)
            found = np.maximum(found, value)
            step *= np.where(better, 1.4, 0.6)
        best = np.maximum(best, found)
    return best


def test_no_direction_is_much_better_than_those_tried():
    # Measured on 2,000 pairs against a longer search, relative to the smaller radius: median
    # 3e-12, 95 % 1e-4, 99 % 4e-3, worst 0.13 deep inside and 7e-3 where the pairs nearly touch.
    batch = Batch(400)
    best, found = searched(batch), batch.separation()
    missed = (best - found) / batch.thin
    assert np.median(missed) < 1e-6
    assert np.quantile(missed, 0.95) < 1e-3
    assert missed.max() < 0.15
    assert missed[np.abs(best) < 0.3 * batch.thin].max() < 0.015
    # most are as good as the search or better, so that it is not the search that fails
    assert (missed < 1e-6).mean() > 0.85


def points_in_cylinders(batch: Batch, rng: np.random.Generator, which: int) -> np.ndarray:
    """Return points of the first or second of each pair (p, 500, 3)."""
    k = batch.pairs[:, which]
    axis = batch.axis[k]
    side = np.cross(axis, np.where(np.abs(axis[:, :1]) < 0.9, X, Y))
    side /= np.linalg.norm(side, axis=1)[:, None]
    up = np.cross(axis, side)
    shape = (len(k), 500, 1)
    angle, z = rng.uniform(0, 2 * np.pi, shape), rng.uniform(-1, 1, shape)
    r = batch.radius[k][:, None, None] * np.sqrt(rng.uniform(size=shape))
    around = np.cos(angle) * side[:, None] + np.sin(angle) * up[:, None]
    along = batch.half[k][:, None, None] * z * axis[:, None]
    return batch.pos[k][:, None] + r * around + along


def test_cylinders_that_share_a_point_are_never_apart():
    batch, rng = Batch(2000, seed=2), np.random.default_rng(3)
    p = points_in_cylinders(batch, rng, 0) - batch.pos[batch.pairs[:, 1]][:, None]
    axis = batch.axis[batch.pairs[:, 1]][:, None]
    along = (p * axis).sum(axis=2)
    across = np.linalg.norm(p - along[..., None] * axis, axis=2)
    k = batch.pairs[:, 1]
    inside = (np.abs(along) < batch.half[k][:, None]) & (across < batch.radius[k][:, None])
    shared = inside.any(axis=1)
    assert shared.sum() > 300
    assert batch.separation()[shared].max() <= 0


def test_points_of_cylinders_are_never_nearer_than_their_separation():
    batch, rng = Batch(300, seed=4), np.random.default_rng(5)
    a, b = (points_in_cylinders(batch, rng, i)[:, :200] for i in range(2))
    nearest = np.linalg.norm(a[:, :, None] - b[:, None], axis=3).min(axis=(1, 2))
    assert (batch.separation() <= nearest).all()


def test_separation_is_the_same_from_either_side():
    batch = Batch(500, seed=6)
    there = cylinders(batch.pos, batch.axis, batch.radius, batch.half, batch.pairs[:, ::-1])
    # roles are not alike to the last digit: a rim's Newton steps start near either axis
    np.testing.assert_allclose(batch.separation(), there, atol=1e-12)
    turned = cylinders(batch.pos, -batch.axis, batch.radius, batch.half, batch.pairs)
    np.testing.assert_allclose(batch.separation(), turned, atol=1e-12)


def test_separation_does_not_depend_on_the_frame():
    batch = Batch(500, seed=7)
    here = batch.separation()
    turn = rotations.rotation(rotations.normalize(np.array([0.3, -0.5, 0.7, 0.2])))
    batch.pos = batch.pos @ turn.T + [1.0, -2.0, 0.5]
    batch.axis = batch.axis @ turn.T
    np.testing.assert_allclose(batch.separation(), here, atol=1e-12)


def test_pulling_apart_never_brings_nearer():
    # Along a fixed direction every f grows at a fixed rate; once apart, so does the distance.
    batch = Batch(200, seed=8)
    way = batch.pos[batch.pairs[:, 1]].copy()
    rows = []
    for factor in np.linspace(1.0, 3.0, 21):
        batch.pos[batch.pairs[:, 1]] = factor * way
        rows.append(batch.separation() / batch.thin)
    steps = np.diff(rows, axis=0)
    assert steps.min() > -0.01  # what the directions miss varies by that
    assert (rows[-1] > 0).all()


def test_gradients_equal_finite_differences():
    batch = Batch(30, seed=9)
    args = (batch.pos, batch.axis, batch.radius, batch.half)
    separation = functools.partial(cylinders, pairs=batch.pairs)
    jvp = jax.jit(lambda ways: jax.jvp(separation, tuple(map(jnp.asarray, args)), ways)[1])
    for ways, expected in differences(separation, args):
        np.testing.assert_allclose(jvp(ways), expected, atol=1e-6)


def differences(f: Callable, args: tuple, unit: int = -1) -> Iterator[tuple[tuple, np.ndarray]]:
    """Yield a random way for each argument alone, and the central difference along it.

    The argument numbered `unit` has rows of unit length, which stay so.
    """
    for i, arg in enumerate(args):
        ways = [np.zeros_like(each) for each in args]
        ways[i] = np.random.default_rng(i).normal(size=arg.shape)
        if i == unit:
            ways[i] -= (ways[i] * arg).sum(axis=1, keepdims=True) * arg
        plus, minus = (
            f(*(a + step * way for a, way in zip(args, ways, strict=True)))
            for step in (1e-6, -1e-6)
        )
        yield tuple(ways), (plus - minus) / 2e-6


DEGENERATE = [
    ([0, 0, 0], Z, Z),  # one in the other
    ([0, 0, 0], Z, X),
    ([0, 0, 0], Z, [0.6, 0, 0.8]),
    ([0, 0, 0.2], Z, Z),  # coaxial
    ([0, 0, 0.2], Z, -Z),
    ([0, 0, 0.05], Z, Z),
    ([0.2, 0, 0], Z, Z),  # parallel
    ([0, 0, 0.2], Z, X),  # centre on an axis
    ([0.2, 0, 0], Z, X),
    ([0.2, 0, 0], Z, [1e-9, 0, 1]),
]


def special_positions() -> tuple[np.ndarray, ...]:
    """Return the pairs of DEGENERATE, as arguments of `cylinders` without the last."""
    count = len(DEGENERATE)
    pos = np.concatenate([np.zeros((count, 3)), [d for d, _, _ in DEGENERATE]])
    axis = np.concatenate([[a for _, a, _ in DEGENERATE], [b for _, _, b in DEGENERATE]])
    return pos, axis.astype(float), np.repeat(RADII, count), np.repeat(HALVES, count)


def test_gradients_are_finite_in_special_positions():
    args, pairs = special_positions(), np.arange(2 * len(DEGENERATE)).reshape(2, -1).T

    def total(pos, axis, radius, half):
        return cylinders(pos, axis, radius, half, pairs).sum()

    # each solid is in one pair, so that the sum's gradient holds every pair's
    rates = jax.grad(total, argnums=(0, 1, 2, 3))(*map(jnp.asarray, args))
    graph = to_casadi(total, *args)
    symbols = graph.sx_in()
    slopes = ca.Function("slopes", symbols, [ca.jacobian(graph(*symbols), ca.vertcat(*symbols))])
    in_casadi = np.array(slopes(*(arg.ravel() for arg in args)))
    # a separation changes no faster than its solids move; axes are arms of less than 1 m
    for rate in (*rates, in_casadi):
        assert np.abs(rate).max() <= 1 + 1e-9
    count = len(DEGENERATE)
    np.testing.assert_allclose(rates[0][:count], -rates[0][count:], atol=1e-12)
    # coaxial cylinders part along their axis, parallel ones across
    np.testing.assert_allclose(rates[0][count + 3 : count + 7], [Z, Z, Z, X], atol=1e-12)


def test_cylinders_are_traced_by_casadi():
    batch = Batch(10, seed=10)
    args = batch.pos, batch.axis, batch.radius, batch.half
    graph = to_casadi(functools.partial(cylinders, pairs=batch.pairs), *args)
    found = np.array(graph(*(arg.ravel() for arg in args))).ravel()
    np.testing.assert_allclose(found, batch.separation(), atol=1e-14)


def prism(chamfer: float = 0.0) -> tuple[np.ndarray, Loft]:
    section = chamfered_rectangle(0.3, 0.2, chamfer)
    return Loft(2, 8).vertices([section, section], [-0.25, 0.25]), Loft(2, 8)


def waist() -> tuple[np.ndarray, Loft]:
    sections = [chamfered_rectangle(0.3, 0.2, 0.04, inset) for inset in (0.0, 0.05, 0.0)]
    return Loft(3, 8).vertices(sections, [-0.3, 0.0, 0.3]), Loft(3, 8)


def one(kind: str, pos: object, size: list, quat: object = STILL, **options: bool) -> float:
    """Return the separation of one solid from a box of 0.5, 0.3 and 0.2 m."""
    vertices, loft = prism()
    found = solids_from_mesh([kind], [pos], [quat], [size], vertices, loft, True, **options)
    return float(found[0])


@pytest.mark.parametrize(
    ("kind", "pos", "size", "expected"),
    [
        ("sphere", [0, 0, 0], [0.05], -0.15),  # the way out is 0.1, and the radius
        ("sphere", [0, 0.14, 0], [0.05], -0.06),
        ("sphere", [0.4, 0, 0], [0.05], 0.1),
        ("sphere", [0, 0.18, 0.14], [0.05], 0.0),  # at an edge: 3, 4, 5
        ("sphere", [0.27, 0.16, 0.12], [0.03], 0.0),  # at a corner: 1, 2, 2, 3
        ("capsule", [0.3, 0.2, 0], [0.05, 0.3], 0.05 * 2**0.5 - 0.05),  # along an edge
        ("capsule", [0, 0, 0.3], [0.05, 0.2], 0.05),
        ("cylinder", [0, 0, 0.3], [0.05, 0.2], 0.1),
        ("cylinder", [0.28, 0.19, 0.0], [0.05, 0.1], 0.0),  # side along an edge: 3, 4, 5
        ("cylinder", [0, 0.23, 0.19], [0.05, 0.1], 0.05),  # a disc at an edge: 3, 4, 5
        ("box", [0, 0.23, 0.19], [0.1, 0.1, 0.1], 0.05),  # edge along edge: 3, 4, 5
        ("box", [0.3, 0.2, 0.0], [0.2, 0.2, 0.1], -0.05),
        ("box", [0.33, 0.24, 0.12], [0.1, 0.1, 0.1], 0.05),  # edges along z
        ("box", [0.31, 0.22, 0.17], [0.1, 0.1, 0.1], 0.03),  # corner to corner: 1, 2, 2, 3
    ],
)
def test_solids_have_their_closed_form_from_a_box(
    kind: str, pos: list, size: list, expected: float
):
    assert one(kind, pos, size) == pytest.approx(expected, abs=1e-11)


class Solids:
    """Random solids of every kind around a mesh, each with points inside it."""

    def __init__(self, count: int, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.kinds = [("box", "cylinder", "capsule", "sphere")[i % 4] for i in range(count)]
        self.pos = rng.uniform([-0.35, -0.25, -0.2], [0.35, 0.25, 0.2], (count, 3))
        self.quat = random_quats(rng, count)
        self.size = rng.uniform(0.03, 0.12, (count, 3))
        self.points = np.array([self._inside(rng, i) for i in range(count)])

    def _inside(self, rng: np.random.Generator, i: int) -> np.ndarray:
        x = rng.uniform(-1, 1, (3000, 3))
        a, b, _ = self.size[i]
        if self.kinds[i] == "box":
            x = x * self.size[i] / 2
        else:
            straight = {"cylinder": b / 2, "capsule": b / 2, "sphere": 0.0}[self.kinds[i]]
            x = x * [a, a, straight if self.kinds[i] == "cylinder" else straight + a]
            over = np.maximum(np.abs(x[:, 2]) - straight, 0.0)
            x = np.where((np.hypot(np.hypot(x[:, 0], x[:, 1]), over) <= a)[:, None], x, 0.0)
        return x @ rotations.rotation(self.quat[i]).T + self.pos[i]

    def separation(self, vertices: np.ndarray, loft: Loft, convex: bool, **options: bool):
        return solids_from_mesh(
            self.kinds, self.pos, self.quat, self.size, vertices, loft, convex, **options
        )


def random_quats(rng: np.random.Generator, count: int) -> np.ndarray:
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def in_waist(points: np.ndarray) -> np.ndarray:
    """Tell whether points lie in `waist`, whose sections shrink evenly towards the middle."""
    x, y, z = np.moveaxis(np.abs(points), -1, 0)
    inset = 0.05 * (1 - x / 0.3)
    w, h = 0.15 - inset, 0.1 - inset
    return (x <= 0.3) & (y <= w) & (z <= h) & (y - w + z - h <= -0.04)


@pytest.mark.parametrize("edges", [True, False])
def test_solids_that_share_a_point_with_the_mesh_are_never_outside(edges: bool):
    solids = Solids(400)
    vertices, loft = waist()
    separation = solids.separation(vertices, loft, False, edges=edges)
    shared = in_waist(solids.points).any(axis=1)
    assert 100 < shared.sum() < 350
    assert separation[shared].max() <= 0
    if edges:  # and few others are called inside: of 400, those that share less than the samples
        assert (separation[~shared] <= 0).mean() < 0.1


def test_more_directions_never_bring_a_solid_nearer():
    solids = Solids(400, seed=1)
    for (vertices, loft), convex in ((prism(0.06), True), (waist(), False)):
        with_edges = solids.separation(vertices, loft, convex)
        assert (with_edges >= solids.separation(vertices, loft, convex, edges=False)).all()


def support(solids: Solids, i: int, n: np.ndarray) -> np.ndarray:
    """Return the support function of a solid, written out by its kind."""
    local = n @ rotations.rotation(solids.quat[i])
    a, b, _ = solids.size[i]
    across, along = np.hypot(local[:, 0], local[:, 1]), np.abs(local[:, 2])
    return {
        "box": np.abs(local) @ solids.size[i] / 2,
        "cylinder": a * across + b / 2 * along,
        "capsule": a + b / 2 * along,
        "sphere": np.full(len(n), a),
    }[solids.kinds[i]]


def test_no_direction_is_much_better_than_those_tried_against_a_mesh():
    # Measured on 600 solids against a longer search, relative to a radius of 0.03 m: capsules and
    # spheres exact; cylinders 95 % 1e-3, worst 0.12 (7e-3 near the surface); boxes worst 0.07.
    solids, rng = Solids(200, seed=2), np.random.default_rng(0)
    vertices, loft = prism(0.06)
    found = solids.separation(vertices, loft, True)
    for i in range(200):
        n = sphere(1500)
        best = -np.inf
        for step in (0.1, 0.03, 0.01, 0.003, 0.001):
            values = n @ solids.pos[i] - (n @ vertices.T).max(axis=1) - support(solids, i, n)
            best = max(best, values.max())
            n = n[values.argmax()] + step * rng.normal(size=(300, 3))
            n /= np.linalg.norm(n, axis=1)[:, None]
        round_ = solids.kinds[i] in ("capsule", "sphere")
        allowed = 1e-9 if round_ else 0.02 if abs(best) < 0.02 else 0.25
        assert best - found[i] < 0.03 * allowed
        assert best - found[i] > -0.02  # the tried directions are no better than can be


def test_the_mesh_may_be_moved_with_the_solids():
    solids = Solids(60, seed=3)
    for (vertices, loft), convex in ((prism(0.06), True), (waist(), False)):
        here = solids.separation(vertices, loft, convex)
        q = rotations.normalize(np.array([0.3, -0.5, 0.7, 0.2]))
        turn, shift = rotations.rotation(q), [1.0, -2.0, 0.5]
        quat = [rotations.multiply(q, each) for each in solids.quat]
        pos = solids.pos @ turn.T + shift
        moved = vertices @ turn.T + shift
        there = solids_from_mesh(solids.kinds, pos, quat, solids.size, moved, loft, convex)
        np.testing.assert_allclose(there, here, atol=1e-12)


def test_a_solid_across_two_slabs_of_a_convex_loft_is_as_deep_as_in_one():
    section = chamfered_rectangle(0.3, 0.2, 0.04)
    vertices = Loft(3, 8).vertices([section] * 3, [-0.25, 0.0, 0.25])
    assert is_convex_solid(vertices, Loft(3, 8).faces)
    for convex, expected in ((True, -0.15), (False, -0.05)):
        found = solids_from_mesh(
            ["sphere"], [[0.0, 0, 0]], [STILL], [[0.05]], vertices, Loft(3, 8), convex
        )
        assert float(found[0]) == pytest.approx(expected, abs=1e-12)


def test_a_solid_beside_a_waist_is_outside_though_inside_the_hull():
    vertices, loft = waist()
    where = [[0.0, 0.13, 0.0]]
    beside = solids_from_mesh(["sphere"], where, [STILL], [[0.02]], vertices, loft, False)
    # the side's normal is (1, 6)/√37 in x, y: at x = 0 the wall is at 0.1
    assert float(beside[0]) == pytest.approx(0.03 * 6 / 37**0.5 - 0.02, abs=1e-12)
    in_hull = solids_from_mesh(["sphere"], where, [STILL], [[0.02]], vertices, loft, True)
    assert float(in_hull[0]) < 0


def test_no_solids_have_no_separation():
    vertices, loft = prism()
    assert solids_from_mesh([], [], [], [], vertices, loft, True).shape == (0,)
    assert cylinders(np.zeros((0, 3)), np.zeros((0, 3)), [], [], []).shape == (0,)


def test_mesh_gradients_equal_finite_differences():
    solids = Solids(24, seed=4)

    def separation(pos, quat, size, design):
        sections = [chamfered_rectangle(design[0], design[1], design[2])] * 2
        vertices = Loft(2, 8).vertices(sections, [-design[3], design[3]])
        return solids_from_mesh(solids.kinds, pos, quat, size, vertices, Loft(2, 8), True)

    args = (solids.pos, solids.quat, solids.size, np.array([0.3, 0.2, 0.05, 0.25]))
    # by CasADi, as an optimiser has them; XLA takes long over derivatives of the whole
    graph = to_casadi(separation, *args)
    symbols = graph.sx_in()
    columns = [ca.SX.sym(f"w{i}", arg.size) for i, arg in enumerate(args)]
    rate = ca.jtimes(graph(*symbols), ca.vertcat(*symbols), ca.vertcat(*columns))
    rates = ca.Function("rates", [*symbols, *columns], [rate])
    for ways, expected in differences(separation, args, unit=1):
        found = np.array(rates(*(value.ravel() for value in (*args, *ways)))).ravel()
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_mesh_gradients_are_finite_in_special_positions():
    # centred, aligned, on faces, edges and corners; a mesh without chamfer has sides of no width
    where = [[0, 0, 0], [0.25, 0, 0], [0.25, 0.15, 0], [0.25, 0.15, 0.1], [0, 0, 0.1], [0, 0, 0.3]]
    kinds = [kind for kind in ("box", "cylinder", "capsule", "sphere") for _ in where]
    pos = np.array(where * 4, dtype=float)
    size = np.tile([0.05, 0.1, 0.05], (len(kinds), 1))
    quat = np.tile(STILL, (len(kinds), 1))

    def separation(pos, quat, size, chamfer):
        section = chamfered_rectangle(0.3, 0.2, chamfer)
        vertices = Loft(2, 8).vertices([section] * 2, [-0.25, 0.25])
        return solids_from_mesh(kinds, pos, quat, size, vertices, Loft(2, 8), True)

    args = pos, quat, size, 0.0
    graph = to_casadi(separation, *args)
    symbols = graph.sx_in()
    slopes = ca.Function("slopes", symbols, [ca.jacobian(graph(*symbols), ca.vertcat(*symbols))])
    values = np.array(slopes(*(np.ravel(arg) for arg in args)))
    assert np.abs(values).max() < 10.0  # and so finite


def test_solids_from_a_mesh_are_traced_by_casadi():
    solids = Solids(4, seed=5)
    vertices, loft = waist()
    args = solids.pos, solids.quat, solids.size, vertices
    graph = to_casadi(
        functools.partial(solids_from_mesh, solids.kinds, loft=loft, convex=False), *args
    )
    found = np.array(graph(*(arg.ravel() for arg in args))).ravel()
    np.testing.assert_allclose(found, solids.separation(vertices, loft, False), atol=1e-14)


def test_the_waist_of_these_tests_is_the_solid_they_say():
    vertices, loft = waist()
    points = np.random.default_rng(0).uniform([-0.3, -0.15, -0.1], [0.3, 0.15, 0.1], (20000, 3))
    share = in_waist(points).mean() * 0.6 * 0.3 * 0.2
    # the standard error of 20,000 samples is 0.4 % of the box
    assert share == pytest.approx(polyhedron(vertices, loft.faces).volume, abs=4e-4)
