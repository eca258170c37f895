"""The assembled derivatives against finite differences of the assembled functions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from codesign.nlp.scatter import scatter
from problems.hexapod.problem import Hexapod
from problems.quadcopter.problem import Quadcopter

PROBLEMS = {
    "hexapod": lambda: Hexapod(knots=4, beta=1.0),
    "quadcopter": lambda: Quadcopter(knots=5),
}


@pytest.fixture(scope="module", params=PROBLEMS)
def program(request):
    return PROBLEMS[request.param]().transcription.program


def random_point(program, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.2, 0.8, program.layout.size)
    return x, rng.normal(size=len(program.lower)), rng.normal(size=program.layout.size)


def test_jacobian_equals_finite_differences(program) -> None:
    x, _, direction = random_point(program, 0)
    jac_g, p = program.derivatives["jac_g"], [0.01, 1.0]
    h = 1e-6
    ahead, behind = (np.array(jac_g(x + s * h * direction, p)[0]).ravel() for s in (1, -1))
    expected = (ahead - behind) / (2 * h)
    got = (np.array(jac_g(x, p)[1]) @ direction).ravel()
    # central differences: h² truncation and ε/h rounding, about 1e-9 of the largest
    np.testing.assert_allclose(got, expected, atol=1e-7 * max(1.0, np.abs(expected).max()))


def test_gradient_equals_finite_differences(program) -> None:
    x, _, direction = random_point(program, 1)
    grad_f, p = program.derivatives["grad_f"], [0.01, 1.0]
    h = 1e-6
    ahead, behind = (float(grad_f(x + s * h * direction, p)[0]) for s in (1, -1))
    got = float(np.array(grad_f(x, p)[1]).ravel() @ direction)
    np.testing.assert_allclose(got, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-8)


def test_hessian_equals_finite_differences_of_the_gradient(program) -> None:
    x, lam, direction = random_point(program, 2)
    jac_g, grad_f, p = program.derivatives["jac_g"], program.derivatives["grad_f"], [0.01, 1.0]

    def lagrangian_gradient(x):
        gradient = np.array(grad_f(x, p)[1]).ravel()
        return 0.7 * gradient + np.array(jac_g(x, p)[1]).T @ lam

    h = 1e-6
    expected = (lagrangian_gradient(x + h * direction) - lagrangian_gradient(x - h * direction)) / (
        2 * h
    )
    upper = np.array(program.derivatives["hess_lag"](x, p, 0.7, lam))
    full = upper + np.triu(upper, 1).T
    assert np.all(np.tril(upper, -1) == 0)
    np.testing.assert_allclose(
        full @ direction, expected, atol=1e-6 * max(1.0, np.abs(expected).max())
    )


def test_every_row_has_a_name(program) -> None:
    for index in range(len(program.lower)):
        placed, label = program.place(index)
        assert placed.rows.name
        assert isinstance(label, str)


def test_scatter_adds_what_meets() -> None:
    values = ca.MX.sym("v", 4)
    rows, columns = np.array([0, 1, 0, 1]), np.array([0, 1, 0, 0])
    matrix = ca.Function("m", [values], [scatter(rows, columns, values, (2, 2))])
    np.testing.assert_array_equal(np.array(matrix([1, 2, 3, 4])), [[4, 0], [4, 2]])


def test_a_design_variable_adds_one_column_and_little_work() -> None:
    # opensim-core#3003: one parameter slowed every iteration tenfold. Here it may add operations
    # to the interval's Hessian only in proportion.
    few = Hexapod(knots=4, design={"leg_length": (0.05, 0.2)}).transcription.program
    more = Hexapod(
        knots=4, design={"leg_length": (0.05, 0.2), "leg_mass": (0.08, 0.12)}
    ).transcription.program
    nonzeros = [p.derivatives["hess_lag"].nnz_out(0) for p in (few, more)]
    assert nonzeros[1] < 1.2 * nonzeros[0]


def test_derivatives_are_sparse(program) -> None:
    # cyipopt#169: a declared sparsity with dense derivatives behind it
    jacobian = program.derivatives["jac_g"].sparsity_out(1)
    assert jacobian.nnz() < 0.1 * jacobian.numel()
    x, _, _ = random_point(program, 3)
    values = np.array(program.derivatives["jac_g"](x, [0.01, 1.0])[1].nonzeros())
    assert np.mean(values != 0.0) > 0.9  # and few of the declared entries are always zero
