from __future__ import annotations

import numpy as np

from codesign.contact import ContactForces, contact_terms, world_force
from codesign.terrain import FLAT, Terrain
from codesign.tracing import evaluate
from draft_core.backend import jax, jnp

LEVEL = jnp.eye(3)[None]


def terms(normal, tangent, slide, gap, velocity, friction=0.5):
    array = jnp.array
    forces = ContactForces(array([normal]), array([tangent]), array([slide]))
    return contact_terms(forces, array([gap]), array([velocity]), LEVEL, array([friction]))


def test_a_resting_foot_meets_every_condition() -> None:
    t = terms(10.0, [1.0, 0, 0, 2.0], 0.0, 0.0, [0.0, 0, 0])
    assert float(t.product[0]) == 0.0
    assert float(t.cone[0]) == 2.0
    assert float(t.power[0]) == 0.0


def test_a_sliding_foot_is_slowed_at_the_edge_of_the_pyramid() -> None:
    # sliding along +x at 0.3 m/s: friction μN along −x, γ = speed, all products zero, power −μNv
    t = terms(10.0, [0.0, 5.0, 0, 0], 0.3, 0.0, [0.3, 0, 0])
    assert float(t.product[0]) == 0.0
    assert np.all(np.asarray(t.slack) >= 0)
    np.testing.assert_allclose(t.power, [-1.5])


def test_friction_along_the_motion_is_not_complementary() -> None:
    t = terms(10.0, [5.0, 0, 0, 0], 0.3, 0.0, [0.3, 0, 0])
    assert float(t.product[0]) > 1.0
    assert float(t.power[0]) > 0


def test_a_force_at_a_distance_is_not_complementary() -> None:
    np.testing.assert_allclose(terms(10.0, [0.0] * 4, 0.0, 0.02, [0.0, 0, 0]).product, [0.2])


def test_world_force_turns_with_the_ground() -> None:
    slope = Terrain(lambda xy: 0.5 * xy[0], "a ramp")
    frame = jnp.asarray(slope.frame(jnp.array([1.0, 0.0, 0.5])))[None]
    forces = ContactForces(jnp.array([2.0]), jnp.zeros((1, 4)), jnp.zeros(1))
    normal = np.array([-0.5, 0, 1]) / np.sqrt(1.25)
    np.testing.assert_allclose(world_force(forces, frame)[0], 2 * normal, atol=1e-15)


def test_gap_is_zero_on_the_ground_and_exact_on_a_plane() -> None:
    slope = Terrain(lambda xy: 0.5 * xy[0] + 0.1, "a ramp")
    on = np.array([0.4, -1.0, 0.3])
    assert abs(float(evaluate(slope.gap, on))) < 1e-15
    normal = np.array([-0.5, 0, 1]) / np.sqrt(1.25)
    np.testing.assert_allclose(evaluate(slope.gap, on + 0.07 * normal), 0.07, atol=1e-15)
    assert float(evaluate(FLAT.gap, np.array([3.0, 2.0, -0.2]))) == -0.2


def test_contact_frames_are_orthonormal_and_right_handed() -> None:
    hills = Terrain(lambda xy: 0.3 * jnp.sin(2 * xy[0]) * jnp.cos(xy[1]), "hills")
    rng = np.random.default_rng(0)
    for _ in range(5):
        frame = np.asarray(evaluate(hills.frame, rng.normal(size=3)))
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(frame) > 0


def test_gap_has_finite_gradient_and_hessian_at_contact() -> None:
    point = jnp.zeros(3)
    assert np.isfinite(jax.grad(FLAT.gap)(point)).all()
    assert np.isfinite(jax.hessian(FLAT.gap)(point)).all()
