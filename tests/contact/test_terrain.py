"""Every kind of ground: distances, frames, derivatives; and its shape in numbers."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any, cast

import casadi as ca
import numpy as np
import pytest

from codesign import Cells, Terrain, step_terrain
from codesign.errors import ProblemError
from codesign.terrain import FLAT, KINDS, Ground, Relief, require_terrain
from codesign.tracing import evaluate, to_casadi
from draft_core.backend import jax, jnp

ROUNDING = 0.005
TAU = ROUNDING / 3


def hills_height(position):
    return 0.3 * jnp.sin(2 * position[0]) * jnp.cos(position[1])


STAIRS = Cells(edges=[0.15, 0.4], heights=[0.0, 0.1, 0.05], rounding=ROUNDING)
TABLE = Cells([0.0, 0.3], [[0, 0, 0], [0, 0.2, 0.1], [0, 0.1, 0.1]], ROUNDING, [-0.2, 0.2])
DITCH = Cells([0.1, 0.3], [0.1, 0.0, 0.1])
GROUNDS: dict[str, Ground] = {
    "flat": FLAT,
    "hills": Terrain(hills_height, "hills"),
    "step": step_terrain(at=0.15, height=0.1),
    "stairs": STAIRS,
    "table": TABLE,
    "ditch": DITCH,
}
AWKWARD = [
    (0.15, 0.0, 0.1),  # on an edge
    (0.15, 0.0, 0.0),  # in a corner
    (0.2, 0.0, 0.4),  # midway between facing risers, high above the ditch
    (0.2, 0.0, -0.4),
    (0.0, -0.2, 0.2),
    (1e6, -1e6, 1e6),
    (-1e6, 1e6, -1e6),
]


def points(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [*map(np.array, AWKWARD), *rng.uniform([-0.2, -0.5, -0.1], [0.6, 0.5, 0.3], (count, 3))]


@cache
def graphs(name: str) -> tuple[ca.Function, ca.Function, ca.Function]:
    """Gap, frame, and derivatives (gradient and Hessian of the gap, Jacobian of the frame)."""
    ground, p = GROUNDS[name], ca.SX.sym("p", 3)
    gap, frame = to_casadi(ground.gap, np.zeros(3)), to_casadi(ground.frame, np.zeros(3))
    hessian, gradient = ca.hessian(gap(p), p)
    slopes = ca.Function("d", [p], [gradient, hessian, ca.jacobian(frame(p), p)])
    return gap, frame, slopes


def gap_of(name: str, point) -> float:
    return float(graphs(name)[0](point))


def test_every_kind_of_ground_is_tested() -> None:
    assert {type(ground) for ground in GROUNDS.values()} == set(KINDS)


@pytest.mark.parametrize("name", GROUNDS)
def test_frames_are_orthonormal_right_handed_and_never_point_down(name) -> None:
    for point in points(100):
        frame = np.array(graphs(name)[1](point)).reshape(3, 3)
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-13)
        assert np.linalg.det(frame) > 0
        assert frame[2, 2] > -1e-12


@pytest.mark.parametrize("name", GROUNDS)
def test_derivatives_are_finite_everywhere(name) -> None:
    for point in points(100):
        for value in graphs(name)[2](point):
            assert np.isfinite(np.array(value)).all()


@pytest.mark.parametrize("name", GROUNDS)
def test_the_gradient_of_a_gap_is_its_slope(name) -> None:
    for point in points(20)[len(AWKWARD) :]:
        step = 1e-6 * np.eye(3)
        moved = [(gap_of(name, point + d) - gap_of(name, point - d)) / 2e-6 for d in step]
        slope = np.array(graphs(name)[2](point)[0]).ravel()
        # central differences: half the third derivative, up to H / τ² of a step, times 1e-12
        np.testing.assert_allclose(moved, slope, atol=1e-5)


@pytest.mark.parametrize("name", ["stairs", "step"])
def test_jax_and_the_traced_graph_agree(name) -> None:
    for point in points(3):
        there = jax.jacfwd(GROUNDS[name].gap)(jnp.array(point))
        np.testing.assert_allclose(np.array(graphs(name)[2](point)[0]).ravel(), there, atol=1e-12)


@pytest.mark.parametrize("name", GROUNDS)
def test_a_ground_crosses_processes(name) -> None:
    copy = pickle.loads(pickle.dumps(GROUNDS[name]))
    assert copy == GROUNDS[name]
    point = np.array([0.17, 0.1, 0.2])
    assert evaluate(copy.gap, point) == evaluate(GROUNDS[name].gap, point)


def hard_gap(blocks, point) -> float:
    """The gap without smoothing, from its definition."""
    x, y, z = point
    return min(max(z - h, a - x, x - b, c - y, y - d) for h, a, b, c, d in blocks)


INF = np.inf
HARD = {
    "stairs": [
        (0.0, -INF, INF, -INF, INF),
        (0.1, 0.15, 0.4, -INF, INF),
        (0.05, 0.275, INF, -INF, INF),
    ],
    "table": [
        (0.0, -INF, INF, -INF, INF),
        (0.2, 0.0, 0.3, -0.2, 0.2),
        (0.1, 0.0, INF, -0.2, INF),
    ],
    "ditch": [
        (0.0, -INF, INF, -INF, INF),
        (0.1, -INF, 0.1, -INF, INF),
        (0.1, 0.3, INF, -INF, INF),
    ],
}


@pytest.mark.parametrize("name", HARD)
def test_cells_are_off_by_no_more_than_their_bounds(name) -> None:
    blocks = HARD[name]
    high, low = np.log(5) * TAU, np.log(len(blocks)) * TAU
    for point in points(300):
        error = gap_of(name, point) - hard_gap(blocks, point)
        assert -low - 1e-9 <= error <= high + 1e-9


def test_cells_are_exact_a_few_roundings_from_their_edges() -> None:
    # τ exp(−d/τ) at d = 3 r is 0.004 % of r
    for x, z in ((0.13, 0.0), (0.17, 0.1), (0.38, 0.1), (0.42, 0.05), (-3.0, 0.0)):
        assert abs(gap_of("stairs", (x, 0.3, z))) < 1e-4 * ROUNDING
    assert gap_of("stairs", (0.25, 0.0, 0.17)) == pytest.approx(0.07, abs=1e-6)
    assert gap_of("stairs", (0.13, 0.0, 0.05)) == pytest.approx(0.02, abs=1e-6)


def test_a_riser_is_a_surface_to_push_against() -> None:
    assert gap_of("stairs", (0.15, 0.0, 0.05)) == pytest.approx(0.0, abs=1e-7)
    frame = np.array(graphs("stairs")[1]((0.15, 0.0, 0.05))).reshape(3, 3)
    np.testing.assert_allclose(frame, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-6)
    # the height function of the same step has a slope there instead, with a friction cone up
    slope = np.array(graphs("step")[1]((0.15, 0.0, 0.05))).reshape(3, 3)[2]
    np.testing.assert_allclose(slope, np.array([-10, 0, 1]) / np.sqrt(101), atol=1e-12)


def test_the_normal_is_the_gradient_to_a_third_of_a_degree_on_an_edge() -> None:
    edge = (0.15 - 1e-9, 0.0, 0.1)
    normal = np.array(graphs("stairs")[1](edge)).reshape(3, 3)[2]
    slope = np.array(graphs("stairs")[2](edge)[0]).ravel()
    angle = np.degrees(np.arccos(normal @ slope / np.linalg.norm(slope)))
    assert angle < 0.33


def test_no_wall_is_hidden_in_the_ground() -> None:
    # beneath a step the distance keeps falling with depth: nothing holds a point that starts there
    depths = [gap_of("stairs", (0.15, 0.0, -z)) for z in np.linspace(0.0, 0.5, 30)]
    assert np.all(np.diff(depths) < 0)
    assert depths[-1] == pytest.approx(-0.5, abs=1e-9)
    level = Cells([0.1, 0.2], [0.3, 0.3, 0.3])
    assert float(evaluate(level.gap, np.array([0.1, 0.0, 0.3]))) == 0.0
    assert float(evaluate(level.gap, np.array([0.1, 0.0, -0.7]))) == -1.0


def test_neighbours_of_almost_one_height_are_exact_too() -> None:
    ground = Cells([0.1], [0.0, 0.004])
    assert abs(float(evaluate(ground.gap, np.array([0.2, 0.0, 0.004])))) < 1e-9
    assert abs(float(evaluate(ground.gap, np.array([0.0, 0.0, 0.0])))) < 1e-9


def test_a_step_climbs_as_it_says() -> None:
    height = GROUNDS["step"]
    assert isinstance(height, Terrain)
    at = [float(height.height(jnp.array([x, 0.0]))) for x in (-1.0, 0.14, 0.15, 0.16, 1.0)]
    # σ(±4) = 0.018, 0.982: 96 % over the width
    np.testing.assert_allclose(at, [0.0, 0.0018, 0.05, 0.0982, 0.1], atol=2e-5)
    steepest = float(jax.grad(height.height)(jnp.array([0.15, 0.0]))[0])
    assert steepest == pytest.approx(2 * 0.1 / 0.02)


def test_the_relief_of_cells_is_theirs() -> None:
    relief = STAIRS.relief(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    assert relief.is_stepped
    assert relief.x.tolist() == [-1.0, 0.15, 0.4, 1.0]
    assert [(b.x.tolist(), float(b.top[0, 0])) for b in relief.blocks()] == [
        ([0.15, 0.4], 0.1),
        ([0.4, 1.0], 0.05),
    ]


def test_the_relief_of_a_height_function_follows_it() -> None:
    corner = np.array([-0.5, -0.5])
    step, hills = (GROUNDS[n].relief(corner, -corner) for n in ("step", "hills"))
    assert step.is_profile
    assert len(step.x) < 50
    x = np.linspace(-0.5, 0.5, 400)
    drawn = np.interp(x, step.x, step.height[:, 0])
    true = 0.1 / (1 + np.exp(-8 * (x - 0.15) / 0.02))
    np.testing.assert_allclose(drawn, true, atol=2e-4)  # its tolerance, and a sample's width
    assert not hills.is_profile
    assert hills.height[40, 80] == pytest.approx(
        0.3 * np.sin(2 * hills.x[40]) * np.cos(hills.y[80]), abs=1e-12
    )
    assert len(hills.blocks(most=10)) <= 100


def test_only_level_ground_is_level() -> None:
    assert [name for name, ground in GROUNDS.items() if ground.is_level] == ["flat"]
    assert Terrain(hills_height).name != FLAT.name
    assert isinstance(STAIRS.relief(np.zeros(2), np.ones(2)), Relief)


def test_the_height_of_cells_is_that_of_the_cell() -> None:
    heights = [float(STAIRS.height(jnp.array([x, 0.0]))) for x in (0.0, 0.2, 0.5)]
    assert heights == [0.0, 0.1, 0.05]
    assert float(TABLE.height(jnp.array([0.1, 0.0]))) == 0.2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cells([0.2, 0.1], [0, 1, 2]), "must be a list that increases"),
        (lambda: Cells([0.1], [0, 1, 2]), "1 edges along x and 0 along y need 2 numbers"),
        (lambda: Cells([0.1], [0, 1], edges_y=[0.0]), "need 2 rows of 2"),
        (lambda: Cells([0.1], [0, np.nan]), "heights are [0, nan]"),
        (lambda: Cells([0.1], cast(Any, "ab")), "must be finite numbers"),
        (lambda: Cells([0.1], [0, 1], rounding=0.0), "must be a length above 0"),
        (lambda: Cells([0.1, 0.11], [0, 1, 0]), "give rounding=0.00333 or less"),
        (lambda: step_terrain(0.1, 0.1, width=0.0), "the width positive"),
        (lambda: require_terrain("Walk", hills_height), "Walk: terrain is a function"),
    ],
)
def test_what_is_no_ground_is_refused_in_one_line(make, message) -> None:
    with pytest.raises(ProblemError) as caught:
        make()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "ground",
    [FLAT, step_terrain(0.15, 0.1, 0.08), Cells([0.15], [0.0, 0.1])],
    ids=["flat", "step", "cells"],
)
def test_what_is_above_the_ground_has_the_sign_of_its_gap(ground):
    points = np.random.default_rng(0).uniform([-0.3, -0.1, -0.2], [0.6, 0.1, 0.3], (200, 3))
    gaps, above = (np.array([float(f(p)) for p in points]) for f in (ground.gap, ground.above))
    assert np.array_equal(np.sign(gaps), np.sign(above))
    assert np.all(np.abs(above) >= np.abs(gaps) - 1e-12)
