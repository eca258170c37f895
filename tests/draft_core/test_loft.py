"""Lofted meshes: topology, exact integrals against closed forms and trimesh, convexity."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
import trimesh

from codesign.tracing import to_casadi
from draft_core import inertia
from draft_core.backend import jax, jnp
from draft_core.loft import (
    PLANES,
    Loft,
    better_start,
    chamfered_rectangle,
    equivalent_box,
    goes_once_around,
    is_convex,
    is_convex_solid,
    polygon,
    polyhedron,
)


def prism() -> tuple[np.ndarray, Loft]:
    section = chamfered_rectangle(0.296, 0.18, 0.063)
    return Loft(2, 8).vertices([section, section], [-0.2, 0.32]), Loft(2, 8)


def barrel() -> tuple[np.ndarray, Loft]:
    sections = [
        chamfered_rectangle(w, h, 0.04) for w, h in ((0.2, 0.12), (0.3, 0.18), (0.22, 0.13))
    ]
    return Loft(3, 8).vertices(sections, [-0.2, 0.0, 0.25], "y"), Loft(3, 8)


def waist() -> tuple[np.ndarray, Loft]:
    sections = [chamfered_rectangle(0.3, 0.2, 0.03, inset) for inset in (0.0, 0.04, 0.01)]
    return Loft(3, 8).vertices(sections, [0.1, 0.2, 0.4], "z"), Loft(3, 8)


def twisted() -> tuple[np.ndarray, Loft]:
    # a triangle turned by a fifth of a turn as it rises: its side quads are not flat
    angles = 2 * np.pi * np.arange(3) / 3
    turned = angles + 0.4 * np.pi
    sections = [
        polygon(np.stack([np.cos(a), np.sin(a)], axis=1).tolist()) for a in (angles, turned)
    ]
    return Loft(2, 3).vertices(sections, [0.0, 1.0], "x"), Loft(2, 3)


LOFTS = {"prism": prism, "barrel": barrel, "waist": waist, "twisted": twisted}
any_loft = pytest.mark.parametrize("make", LOFTS.values(), ids=LOFTS)
Make = Callable[[], tuple[np.ndarray, Loft]]


@any_loft
def test_the_mesh_is_closed_and_seen_counter_clockwise_from_outside(make: Make):
    vertices, loft = make()
    n, m = loft
    assert vertices.shape == (n * m, 3)
    assert loft.faces.shape == (2 * m * (n - 1) + 2 * (m - 2), 3)
    # each side of a triangle is another's, the other way round
    sides = {
        (int(f[i]), int(f[(i + 1) % 3])): None for f in np.asarray(loft.faces) for i in range(3)
    }
    assert len(sides) == loft.faces.size
    assert all((b, a) in sides for a, b in sides)
    assert polyhedron(vertices, loft.faces).volume > 0


@any_loft
def test_integrals_are_those_that_trimesh_finds(make: Make):
    vertices, loft = make()
    mesh = trimesh.Trimesh(vertices, loft.faces, process=False)
    assert mesh.is_watertight
    found = polyhedron(vertices, loft.faces)
    size = np.ptp(vertices)
    np.testing.assert_allclose(found.volume, mesh.volume, rtol=1e-12)
    np.testing.assert_allclose(found.center, mesh.center_mass, atol=1e-12 * size)
    scale = np.abs(mesh.moment_inertia).max()
    np.testing.assert_allclose(found.tensor, mesh.moment_inertia, atol=1e-12 * scale)


@pytest.mark.parametrize("axis", PLANES)
def test_a_box_has_its_closed_form_on_every_axis(axis: str):
    section = chamfered_rectangle(0.3, 0.2)
    vertices = Loft(2, 8).vertices([section, section], [1.0, 1.7], axis)
    found = polyhedron(vertices, Loft(2, 8).faces)
    sides = np.empty(3)
    u, v, w = PLANES[axis]
    sides[[u, v, w]] = 0.3, 0.2, 0.7
    volume, per_mass = inertia.solid_properties("box", list(sides))
    np.testing.assert_allclose(found.volume, volume, rtol=1e-14)
    np.testing.assert_allclose(found.tensor, volume * np.diag(per_mass), atol=1e-16)
    np.testing.assert_allclose(found.center, 1.35 * np.eye(3)[w], atol=1e-15)


def test_a_chamfered_prism_is_a_box_less_its_corners():
    # Area: w h − 2 c². Second moments of a right triangle with legs c about its own centre are
    # c⁴/36 each; its centre is c/3 from either leg, so h/2 − c/3 from the middle.
    w, h, c, length = 0.296, 0.18, 0.063, 0.52
    vertices, loft = prism()
    found = polyhedron(vertices, loft.faces)
    area = w * h - 2 * c * c
    yy = h * w**3 / 12 - 4 * (c**4 / 36 + c * c / 2 * (w / 2 - c / 3) ** 2)
    zz = w * h**3 / 12 - 4 * (c**4 / 36 + c * c / 2 * (h / 2 - c / 3) ** 2)
    xx = area * length**2 / 12
    np.testing.assert_allclose(found.volume, area * length, rtol=1e-14)
    np.testing.assert_allclose(found.center, [0.06, 0, 0], atol=1e-15)
    expected = np.diag([(yy + zz) * length, length * zz + length * xx, length * yy + length * xx])
    np.testing.assert_allclose(found.tensor, expected, rtol=1e-12, atol=1e-17)


def test_a_frustum_has_its_closed_form():
    # squares of sides a and b, h apart: V = h (a² + a b + b²)/3, and the centre lies at
    # h (a² + 2 a b + 3 b²) / (4 (a² + a b + b²)) from a
    a, b, h = 0.4, 0.2, 0.3
    sections = [chamfered_rectangle(side, side, 0.0) for side in (a, b)]
    found = polyhedron(Loft(2, 8).vertices(sections, [0, h], "z"), Loft(2, 8).faces)
    square = a * a + a * b + b * b
    np.testing.assert_allclose(found.volume, h * square / 3, rtol=1e-14)
    height = h * (a * a + 2 * a * b + 3 * b * b) / (4 * square)
    np.testing.assert_allclose(found.center, [0, 0, height], atol=1e-15)


@any_loft
def test_integrals_move_with_the_mesh(make: Make):
    vertices, loft = make()
    here = polyhedron(vertices, loft.faces)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    there = polyhedron(vertices @ turn.T + [3.0, -1.0, 2.0], loft.faces)
    np.testing.assert_allclose(there.volume, here.volume, rtol=1e-12)
    np.testing.assert_allclose(there.center, turn @ here.center + [3.0, -1.0, 2.0], rtol=1e-12)
    scale = np.abs(here.tensor).max()
    np.testing.assert_allclose(there.tensor, turn @ here.tensor @ turn.T, atol=1e-12 * scale)


def integrals(design: jax.Array) -> jax.Array:
    """Return volume, centre, tensor and equivalent box of a loft of 6 numbers."""
    width, height, chamfer, inset, first, length = design
    sections = [
        chamfered_rectangle(width, height, chamfer, inset),
        chamfered_rectangle(width, 1.2 * height, chamfer),
        polygon([[width * x, height * y] for x, y in chamfered_rectangle(1.1, 0.9, 0.2)]),
    ]
    vertices = Loft(3, 8).vertices(sections, [first, first + 0.4 * length, first + length])
    found = polyhedron(vertices, Loft(3, 8).faces)
    sides, volume = equivalent_box(found.volume, found.tensor)
    rest = jnp.array([found.volume, volume])
    return jnp.concatenate([rest, found.center, found.tensor.ravel(), sides])


DESIGN = np.array([0.3, 0.2, 0.05, 0.02, -0.1, 0.5])


def test_gradients_equal_finite_differences():
    rates = jax.jit(jax.jacfwd(integrals))(jnp.asarray(DESIGN))
    for i, step in enumerate(1e-5 * np.eye(6)):
        ahead, behind = (integrals(jnp.asarray(DESIGN + way)) for way in (step, -step))
        expected = (ahead - behind) / 2e-5
        np.testing.assert_allclose(rates[:, i], expected, rtol=1e-7, atol=1e-9)


def test_gradients_are_finite_without_a_chamfer():
    at = jnp.asarray(DESIGN).at[2].set(0.0)
    assert np.isfinite(jax.jit(jax.jacfwd(integrals))(at)).all()


def test_numbers_and_traces_agree():
    section = [chamfered_rectangle(xp.asarray(0.3), 0.2, 0.05, 0.01) for xp in (np, jnp)]
    stations = [-0.1, jnp.asarray(0.4)]
    numbers = Loft(2, 8).vertices([section[0]] * 2, [-0.1, 0.4])
    np.testing.assert_array_equal(Loft(2, 8).vertices(section, stations), numbers)
    graph = to_casadi(integrals, DESIGN)
    assert isinstance(graph, ca.Function)
    np.testing.assert_allclose(
        np.array(graph(DESIGN)).ravel(), integrals(jnp.asarray(DESIGN)), rtol=1e-12, atol=1e-15
    )


def test_the_equivalent_box_of_a_box_is_itself():
    sides = np.array([0.3, 0.2, 0.7])
    volume, per_mass = inertia.solid_properties("box", list(sides))
    found, box_volume = equivalent_box(volume, volume * np.diag(per_mass))
    np.testing.assert_allclose(found, sides, rtol=1e-14)
    np.testing.assert_allclose(box_volume, volume, rtol=1e-14)


def test_the_equivalent_box_of_a_chamfered_torso_has_its_published_section():
    # 0.296 x 0.18 m cut by 0.063 m, over 0.52 m: 0.04352 m²
    vertices, loft = prism()
    found = polyhedron(vertices, loft.faces)
    sides, _ = equivalent_box(found.volume, found.tensor)
    np.testing.assert_allclose(sides[0], 0.52, rtol=1e-12)
    assert round(float(sides[1] * sides[2]), 5) == 0.04352


def test_an_inset_moves_every_side_inwards():
    outer, inner = (chamfered_rectangle(0.3, 0.2, 0.05, inset) for inset in (0.0, 0.02))
    np.testing.assert_allclose(outer.max(axis=0), [0.15, 0.1])
    np.testing.assert_allclose(inner.max(axis=0), [0.13, 0.08])
    np.testing.assert_allclose(inner[1] - inner[2], outer[1] - outer[2])


@pytest.mark.parametrize(
    ("points", "convex"),
    [
        (chamfered_rectangle(0.3, 0.2, 0.05), True),
        (chamfered_rectangle(0.3, 0.2, 0.0), True),
        (chamfered_rectangle(0.3, 0.2, 0.05)[::-1], False),
        (chamfered_rectangle(0.3, 0.2, 0.12), False),  # the cuts cross
        ([[0, 0], [1, 0], [0.2, 0.2], [0, 1]], False),
        ([[0, 0], [1, 0], [2, 0], [1, 1]], True),  # a point on a side
        ([[0, 0], [1, 0], [2, 0]], False),
        ([[0, 0], [0, 0], [0, 0]], False),
        # a pentagram turns left at every corner, but goes around twice
        ([[np.cos(a), np.sin(a)] for a in 4 * np.pi / 5 * np.arange(5)], False),
    ],
)
def test_convex_polygons_are_told_from_others(points: list, convex: bool):
    assert is_convex(np.asarray(points, dtype=float)) is convex


def test_convex_lofts_are_told_from_others():
    verdicts = {}
    for name, make in LOFTS.items():
        vertices, loft = make()
        verdicts[name] = is_convex_solid(vertices, loft.faces)
    assert verdicts == {"prism": True, "barrel": True, "waist": False, "twisted": False}


def test_slabs_fill_the_loft():
    vertices, loft = waist()
    hulls = [trimesh.convex.convex_hull(vertices[slab]) for slab in loft.slabs]
    np.testing.assert_allclose(
        sum(hull.volume for hull in hulls), polyhedron(vertices, loft.faces).volume, rtol=1e-12
    )


SQUARE = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
ELL = [[-1, -1], [1, -1], [1, 0], [0, 0], [0, 1], [-1, 1]]
ONCE = {
    "square": SQUARE,
    "corner twice": [SQUARE[0], *SQUARE],
    "corner on a side": [SQUARE[0], [0.0, -1.0], *SQUARE[1:]],
    "not convex": ELL,
    "not convex, from the inner corner": ELL[3:] + ELL[:3],
}
NOT_ONCE = {
    "clockwise": SQUARE[::-1],
    "twice around": SQUARE * 2,
    "pentagram": [[np.cos(a), np.sin(a)] for a in 4 * np.pi * np.arange(5) / 5],
    "figure of eight": [[0, 0], [2, 2], [2, 0], [0, 2]],
    "loop that turns back": [[0, 0], [4, 0], [4, 3], [1, 3], [1, -1], [2, -1], [2, 2], [0, 2]],
    "line": [[0, 0], [1, 0], [2, 0]],
    "point": [[0, 0]] * 4,
}


@pytest.mark.parametrize("points", ONCE.values(), ids=ONCE)
def test_outlines_that_go_once_around_are_told(points):
    assert goes_once_around(np.array(points, dtype=float))
    assert goes_once_around(1e-4 * np.array(points, dtype=float) + 3.0)


@pytest.mark.parametrize("points", NOT_ONCE.values(), ids=NOT_ONCE)
def test_outlines_that_do_not_go_once_around_are_told(points):
    # A pentagram and a square taken twice around have an area, so they once gave a mass, of a
    # shape that MuJoCo's hull does not have.
    assert not goes_once_around(np.array(points, dtype=float))


def test_random_star_shaped_outlines_are_simple_until_two_corners_change_places():
    rng = np.random.default_rng(0)
    for _ in range(50):
        angle = np.sort(rng.uniform(0, 2 * np.pi, 9)) + np.linspace(0, 1e-3, 9)
        radius = rng.uniform(0.3, 1.0, 9)[:, None]
        points = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        if np.diff(angle, append=angle[0] + 2 * np.pi).max() >= np.pi:
            continue
        assert goes_once_around(points)
        ring = points / radius
        assert not goes_once_around(ring[[0, 2, 1, 3, 4, 5, 6, 7, 8]])


@pytest.mark.parametrize("shift", range(1, 4))
def test_a_section_that_starts_elsewhere_is_told_from_where_it_would_match(shift):
    square = np.array(SQUARE)
    turned = 0.7 * np.roll(square, shift, axis=0) + 0.1
    assert better_start(square, turned) == shift
    assert better_start(square, 0.7 * square + 0.1) is None


def test_a_section_turned_by_less_than_half_a_side_keeps_its_start():
    angle = 2 * np.pi * np.arange(6) / 6

    def hexagon(turn: float) -> np.ndarray:
        return np.stack([np.cos(angle + turn), np.sin(angle + turn)], axis=1)

    assert better_start(hexagon(0.0), hexagon(np.radians(25))) is None
    assert better_start(hexagon(0.0), hexagon(np.radians(45))) == 5
