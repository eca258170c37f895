"""The interval function: traced equal to JAX, and meaning what its row names say."""

from __future__ import annotations

import numpy as np
import pytest

from codesign.tracing import evaluate, to_casadi
from codesign.transcription import INTEGRATORS, interval_function, interval_rows
from draft_core.backend import jax
from tests.support import DESIGNS, plant, random_configuration, random_design


def random_interval(name: str, seed: int) -> list[np.ndarray]:
    p = plant(name)
    rng = np.random.default_rng(seed)
    model, nc = p.nominal, len(p.robot.contacts)
    states = [
        random_configuration(model, rng),
        rng.normal(size=model.nv),
        random_configuration(model, rng),
        rng.normal(size=model.nv),
    ]
    forces = [rng.uniform(size=n) for n in (model.nu, nc, 4 * nc, nc)]
    return [*states, *forces, np.array(0.13), random_design(p, rng)]


both_integrators = pytest.mark.parametrize("integrator", INTEGRATORS)


@both_integrators
@pytest.mark.parametrize("name", DESIGNS)
def test_traced_interval_equals_jax(name: str, integrator: str) -> None:
    function = interval_function(plant(name), integrator)
    traced = to_casadi(function, *random_interval(name, 0))
    compiled = jax.jit(function)
    for seed in range(3):
        arguments = random_interval(name, seed)
        expected = np.asarray(compiled(*arguments))
        got = np.array(traced(*[np.ravel(a) for a in arguments])).ravel()
        # 1e-12 of the largest term: XLA and CasADi add up in different orders
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@both_integrators
@pytest.mark.parametrize("name", DESIGNS)
def test_rows_describe_the_interval_function(name: str, integrator: str) -> None:
    values = evaluate(interval_function(plant(name), integrator), *random_interval(name, 1))
    assert sum(rows.size for rows in interval_rows(plant(name), integrator)) == values.size


@pytest.mark.parametrize("sliding", [0.0, 3.0])
def test_a_contact_may_not_turn_its_velocity_round(sliding: float) -> None:
    # a foot at gap 0 before and after, falling before and rising after: held in the mean alone;
    # what friction takes of a sliding one may not pay for it
    p = plant("hexapod")
    model, nc = p.nominal, len(p.robot.contacts)
    velocity = np.zeros((2, model.nv))
    velocity[:, 0] = sliding
    velocity[:, 2] = -1.0, 1.0
    backwards = np.tile([0.0, 0.5, 0.0, 0.0], nc)
    forces = [np.zeros(model.nu), np.ones(nc), backwards, np.full(nc, sliding)]
    state = [p.q_home, velocity[0], p.q_home, velocity[1]]
    arguments = [*state, *forces, np.array(0.1), p.space.initial]
    values = np.asarray(evaluate(interval_function(p, "implicit_midpoint"), *arguments))
    start, power = 0, {}
    for rows in interval_rows(p, "implicit_midpoint"):
        power[rows.name] = values[start : start + rows.size]
        start += rows.size
    np.testing.assert_allclose(power["gap"], 0.0, atol=1e-12)
    whole, normal = power["passivity at the end"].reshape(nc, 2).T
    np.testing.assert_allclose(power["passivity"], -0.5 * sliding, atol=1e-12)
    np.testing.assert_allclose(whole, 1.0 - 0.5 * sliding)  # friction seems to pay
    np.testing.assert_allclose(normal, 1.0)  # refused: above 0.03 ε


@both_integrators
@pytest.mark.parametrize("name", DESIGNS)
def test_derivatives_are_finite_at_rest_on_the_ground(name: str, integrator: str) -> None:
    # zero velocity, zero gap, zero force: where norms, roots and friction have their corners
    p = plant(name)
    nc = len(p.robot.contacts)
    q, zero = p.nominal.qpos0.copy(), np.zeros(p.nominal.nv)
    forces = [np.zeros(n) for n in (p.nominal.nu, nc, 4 * nc, nc)]
    traced = to_casadi(interval_function(p, integrator), *random_interval(name, 0))
    arguments = [q, zero, q, zero, *forces, np.array(0.1), p.space.initial]
    jacobian = traced.jacobian()(*[np.ravel(a) for a in arguments], np.zeros(traced.size_out(0)))
    blocks = jacobian if isinstance(jacobian, tuple) else (jacobian,)
    for block in blocks:
        assert np.isfinite(np.array(block)).all()
