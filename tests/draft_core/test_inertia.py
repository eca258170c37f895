"""Mass properties: closed forms against MuJoCo's own, composition, and the principal axes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from draft_core import inertia, rotations
from draft_core.backend import jax, jnp

SIZES = {
    "box": [0.3, 0.2, 0.7],
    "cylinder": [0.2, 0.5],
    "capsule": [0.1, 0.5],
    "sphere": [0.25],
}
HALF = {"box": [0.15, 0.1, 0.35], "cylinder": [0.2, 0.25], "capsule": [0.1, 0.25], "sphere": [0.25]}


def test_every_solid_has_a_test():
    assert set(SIZES) == set(inertia.SOLIDS)


@pytest.mark.parametrize("shape", SIZES)
def test_solids_have_the_inertia_that_mujoco_computes(shape: str):
    size = " ".join(map(str, HALF[shape]))
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><body><freejoint/>"
        f'<geom type="{shape}" size="{size}" density="800"/></body></worldbody></mujoco>'
    )
    volume, per_mass = inertia.solid_properties(shape, SIZES[shape])
    mass = 800 * volume
    np.testing.assert_allclose(mass, model.body_mass[1], rtol=1e-12)
    np.testing.assert_allclose(np.sort(mass * per_mass), np.sort(model.body_inertia[1]), rtol=1e-9)


@pytest.mark.parametrize("shape", SIZES)
def test_solids_at_once_are_what_they_are_alone(shape: str):
    sizes = np.array(SIZES[shape]) * np.array([[1.0], [0.5], [3.0]])
    volumes, per_mass = inertia.solid_properties(shape, list(sizes.T))
    for i, size in enumerate(sizes):
        alone = inertia.solid_properties(shape, list(size))
        np.testing.assert_allclose(volumes[i], alone[0], rtol=1e-15)
        np.testing.assert_allclose(per_mass[i], alone[1], rtol=1e-15)


def random_bodies(count: int) -> inertia.RigidBody:
    rng = np.random.default_rng(count)
    turn = rotations.rotation(rotations.normalize(rng.normal(size=(count, 4))))
    moments = 0.5 + rng.uniform(size=(count, 3))
    mass, center = rng.uniform(1, 2, count), rng.normal(size=(count, 3))
    return inertia.RigidBody(mass, center, inertia.tensor(moments, turn))


def compose(parts: inertia.RigidBody, *owner: int) -> inertia.RigidBody:
    return inertia.compose(parts, np.array(owner))


def test_two_halves_make_a_whole():
    # a box of 2 x 1 x 1 m and 6 kg, cut across its length
    _, half = inertia.solid_properties("box", [1.0, 1.0, 1.0])
    _, whole = inertia.solid_properties("box", [2.0, 1.0, 1.0])
    centers = np.array([[-0.5, 0, 0], [0.5, 0, 0]])
    tensors = inertia.tensor(3 * np.array([half, half]), np.tile(np.eye(3), (2, 1, 1)))
    body = compose(inertia.RigidBody(np.array([3.0, 3.0]), centers, tensors), 0, 0)
    np.testing.assert_allclose(body.mass, [6.0])
    np.testing.assert_allclose(body.center, 0.0, atol=1e-15)
    np.testing.assert_allclose(body.tensor[0], np.diag(6 * whole), rtol=1e-14)
    _, quat = inertia.principal_axes(body.tensor[0])
    np.testing.assert_array_equal(quat, rotations.IDENTITY)


def test_composition_does_not_depend_on_order_or_grouping():
    parts = random_bodies(4)
    at_once = compose(parts, 0, 0, 0, 0)
    swapped = compose(inertia.RigidBody(*(x[[2, 0, 3, 1]] for x in parts)), 0, 0, 0, 0)
    by_pairs = compose(compose(parts, 1, 1, 0, 0), 0, 0)
    for other in (swapped, by_pairs):
        for a, b in zip(at_once, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_bodies_at_once_are_what_they_are_alone():
    parts, owner = random_bodies(7), np.array([2, 0, 1, 2, 1, 2, 0])
    together = inertia.compose(parts, owner)
    axes = inertia.principal_axes(together.tensor)
    for body in range(3):
        own = inertia.RigidBody(*(x[owner == body] for x in parts))
        alone = compose(own, *[0] * len(own.mass))
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(a[body], b[0], rtol=1e-14)
        for a, b in zip(axes, inertia.principal_axes(together.tensor[body]), strict=True):
            np.testing.assert_array_equal(a[body], b)


def random_tensor(moments: list[float], seed: int) -> np.ndarray:
    turn = rotations.rotation(rotations.normalize(np.random.default_rng(seed).normal(size=4)))
    return turn @ np.diag(moments) @ turn.T


@pytest.mark.parametrize("moments", [[1.0, 2.0, 2.5], [1.0, 1.0, 1.5], [2.0, 2.0, 2.0]])
@pytest.mark.parametrize("seed", range(5))
def test_principal_axes_rebuild_the_tensor(moments: list[float], seed: int):
    tensor = random_tensor(moments, seed)
    for given in (tensor, jnp.asarray(tensor)):
        found, quat = inertia.principal_axes(given)
        np.testing.assert_allclose(np.sort(found), moments, rtol=1e-14)
        turn = rotations.rotation(np.asarray(quat))
        np.testing.assert_allclose(turn @ np.diag(found) @ turn.T, tensor, atol=1e-14)


def test_principal_axes_leave_a_diagonal_tensor_as_it_is():
    moments, quat = inertia.principal_axes(np.diag([3.0, 1.0, 2.0]))
    assert moments.tolist() == [3.0, 1.0, 2.0]
    assert tuple(quat) == rotations.IDENTITY


def test_rounding_beside_equal_moments_turns_no_axes():
    # What sums leave beside the diagonal is no direction: the axes of a body whose moments
    # coincide would otherwise stand at 45 degrees.
    tensor = np.diag([2.0, 2.0, 1.0])
    tensor[0, 1] = tensor[1, 0] = 2e-16
    for given in (tensor, jnp.asarray(tensor)):
        _, quat = inertia.principal_axes(given)
        assert tuple(np.asarray(quat)) == rotations.IDENTITY


def test_principal_axes_follow_a_change_of_the_tensor():
    # R(t) diag(J(t)) R(t)^T must have the derivative of the tensor it came from.
    tensor, change = random_tensor([1.0, 2.0, 2.7], 3), random_tensor([0.3, 0.1, 0.2], 4)

    def rebuilt(given: jax.Array) -> jax.Array:
        moments, quat = inertia.principal_axes(given)
        turn = rotations.rotation(quat)
        return (turn * moments) @ turn.T

    _, rate = jax.jvp(rebuilt, (jnp.asarray(tensor),), (jnp.asarray(change),))
    np.testing.assert_allclose(rate, change, atol=1e-12)


@pytest.mark.parametrize("moments", [[1.0, 1.0, 1.5], [2.0, 2.0, 2.0]])
def test_principal_axes_have_finite_derivatives_where_moments_coincide(moments: list[float]):
    for tensor in (np.diag(moments), random_tensor(moments, 1)):
        rates = jax.jacobian(inertia.principal_axes)(jnp.asarray(tensor))
        assert all(np.isfinite(rate).all() for rate in rates)


def test_rotations_agree_with_mujoco():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = (rotations.normalize(rng.normal(size=4)) for _ in range(2))
        product, matrix, euler = np.zeros(4), np.zeros(9), np.zeros(4)
        mujoco.mju_mulQuat(product, p, q)
        mujoco.mju_quat2Mat(matrix, p)
        angles = rng.uniform(-3, 3, 3)
        mujoco.mju_euler2Quat(euler, angles, "xyz")
        np.testing.assert_allclose(rotations.multiply(p, q), product, atol=1e-15)
        np.testing.assert_allclose(rotations.rotation(p), matrix.reshape(3, 3), atol=1e-15)
        np.testing.assert_allclose(rotations.from_euler(angles), euler, atol=1e-15)


@pytest.mark.parametrize(
    "axis", [[0, 0, 2], [0, 0, -1], [1, 0, 0], [0.3, -0.5, 0.1], [1e-9, 0, -1]]
)
def test_a_z_axis_is_turned_to_its_direction(axis: list[float]):
    direction = np.array(axis) / np.linalg.norm(axis)
    for quat in (
        rotations.from_z_axis(np.array(axis, dtype=float)),
        rotations.from_z_axis(jnp.array(axis, dtype=float)),
    ):
        np.testing.assert_allclose(rotations.rotation(np.asarray(quat))[:, 2], direction, atol=1e-8)
