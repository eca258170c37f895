"""Margins as an optimiser sees them: the same numbers, true slopes, finite ones at kinks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from codesign.tracing import evaluator, to_casadi
from draft_core.backend import jax, jnp
from draft_core.gates import Margin, feasible_vector, gate_margins
from draft_core.tree import RobotTree
from tests.draft_core.gates.cases import CASES, Case
from tests.draft_core.gates.robots import biped, miscounted, shipped, swallowed

BUILDERS: dict[str, Callable[[], RobotTree]] = {
    "biped": biped,
    "swallowed": lambda: swallowed(drop=0.02),
    "miscounted": lambda: miscounted(doubt=1.1),
    "quadruped": lambda: shipped("quadruped").tree,
    "humanoid": lambda: shipped("humanoid").tree,
    "hopper": lambda: shipped("hopper").tree,
}


class Sample:
    """A robot's margins as functions of all its stated numbers."""

    def __init__(self, tree: RobotTree):
        self.tree = tree
        stated = {e.name: e.stated for e in tree.parameters.entries if isinstance(e.stated, float)}
        self.names, self.nominal = list(stated), np.array(list(stated.values()))

    def env(self, x: Any) -> dict[str, Any]:
        return self.tree.resolve(dict(zip(self.names, x, strict=True)))

    def margins(self, x: np.ndarray) -> list[Margin]:
        return gate_margins(self.tree, self.env(x.tolist()))

    def values(self, x: np.ndarray) -> np.ndarray:
        return np.array([margin.value for margin in self.margins(x)])

    def traced(self, x: Any) -> Any:
        return jnp.stack([jnp.asarray(m.value) for m in gate_margins(self.tree, self.env(x))])

    @functools.cached_property
    def graph(self) -> ca.Function:
        return to_casadi(self.traced, jnp.asarray(self.nominal))

    @functools.cached_property
    def slopes(self) -> Callable[..., np.ndarray]:
        """Change of all margins along a direction, by CasADi's rules."""
        x, by = ca.SX.sym("x", len(self.nominal)), ca.SX.sym("by", len(self.nominal))
        change = ca.Function("change", [x, by], [ca.jtimes(self.graph(x), x, by)])
        return lambda at, along: np.asarray(change(at, along)).ravel()

    @functools.cached_property
    def forward(self) -> Callable[..., Any]:
        """Change of all margins along a direction, by JAX's own rules."""
        x = jnp.asarray(self.nominal)
        return evaluator(lambda at, by: jax.jvp(self.traced, (at,), (by,))[1], x, x)

    @functools.cached_property
    def reverse(self) -> Callable[..., Any]:
        """Gradient of a weighted sum of the margins, by JAX's own rules."""
        x, y = jnp.asarray(self.nominal), jnp.asarray(self.values(self.nominal))
        return evaluator(lambda at, by: jax.vjp(self.traced, at)[1](by)[0], x, y)


@functools.cache
def sample(name: str) -> Sample:
    return Sample(BUILDERS[name]())


@pytest.fixture(params=BUILDERS)
def robot(request: pytest.FixtureRequest) -> Sample:
    return sample(request.param)


def generic(robot: Sample, seed: int) -> np.ndarray:
    """Return a design near the nominal one at which nothing coincides."""
    rng = np.random.default_rng(seed)
    return robot.nominal * rng.uniform(0.98, 1.02, len(robot.nominal))


def test_the_list_of_margins_is_the_same_under_differentiation(robot: Sample):
    seen: list[Margin] = []

    def trace(x: Any) -> Any:
        seen.extend(gate_margins(robot.tree, robot.env(x)))
        return jnp.stack([jnp.asarray(margin.value) for margin in seen])

    jax.make_jaxpr(trace)(jnp.asarray(robot.nominal))
    for seed in range(5):
        floats = robot.margins(generic(robot, seed))
        assert [(m.gate, m.subject, m.level, m.unit, m.switch) for m in floats] == [
            (m.gate, m.subject, m.level, m.unit, m.switch) for m in seen
        ]
    assert all("?" in margin.message for margin in seen)  # a message without numbers is no crash


@pytest.mark.parametrize("name", sample("biped").names)
def test_one_parameter_may_be_traced_alone(name: str):
    # Most arrays are then NumPy's and some JAX's, in all mixtures.
    robot = sample("biped")
    value = robot.nominal[robot.names.index(name)]

    def traced(one: Any) -> Any:
        margins = gate_margins(robot.tree, robot.tree.resolve({name: one}))
        return jnp.stack([jnp.asarray(m.value) for m in margins])

    found = np.asarray(to_casadi(traced, jnp.asarray(value))(value)).ravel()
    np.testing.assert_allclose(found, robot.values(robot.nominal), rtol=1e-9, atol=1e-9)


def test_a_traced_margin_is_the_number_of_the_report(robot: Sample):
    for x in (robot.nominal, generic(robot, 0), generic(robot, 1)):
        floats, traced = robot.values(x), np.asarray(robot.graph(x)).ravel()
        refined = np.array([m.gate == "in_root" and m.value < 0 for m in robot.margins(x)])
        np.testing.assert_allclose(traced[~refined], floats[~refined], rtol=1e-9, atol=1e-9)
        assert (traced <= floats + 1e-9).all()  # where edges are looked at, and never too large


def test_slopes_are_those_of_finite_differences(robot: Sample):
    # The numbers of the report are differenced, not the traced function: NumPy shares no rule of
    # differentiation with it. The step is 1e-6 of each number, and so is the error's order.
    x = generic(robot, 3)
    rng = np.random.default_rng(0)
    for _ in range(3):
        by = robot.nominal * rng.normal(size=len(x))
        change = (robot.values(x + 1e-6 * by) - robot.values(x - 1e-6 * by)) / 2e-6
        np.testing.assert_allclose(robot.slopes(x, by), change, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["biped", "swallowed", "quadruped"])
def test_jax_itself_gives_the_same_slopes_either_way(name: str):
    robot = sample(name)
    x, rng = generic(robot, 4), np.random.default_rng(1)
    by, weights = robot.nominal * rng.normal(size=len(x)), rng.normal(size=len(robot.values(x)))
    forward, reverse = robot.forward(x, by), robot.reverse(x, weights)
    np.testing.assert_allclose(forward, robot.slopes(x, by), rtol=1e-9, atol=1e-9)
    assert reverse @ by == pytest.approx(weights @ forward, rel=1e-9)


def test_slopes_are_finite_at_the_nominal_design(robot: Sample):
    # Many cylinders are parallel, coaxial or touch there. All parameters move, so that one slope
    # that is not finite would show.
    by = robot.nominal * np.random.default_rng(5).normal(size=len(robot.nominal))
    assert np.isfinite(robot.slopes(robot.nominal, by)).all()


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.gate}-{c.parameter}-{c.fails}")
def test_slopes_are_finite_at_every_limit_and_kink(case: Case):
    robot = sample({biped: "biped", swallowed: "swallowed", miscounted: "miscounted"}[case.robot])
    x = robot.nominal.copy()
    x[robot.names.index(case.parameter)] = case.limit()
    by = robot.nominal * np.random.default_rng(2).normal(size=len(x))
    assert np.isfinite(robot.forward(x, by)).all()
    assert np.isfinite(robot.reverse(x, np.ones(len(robot.values(x))))).all()


def test_constraints_become_a_small_graph():
    # The humanoid's, with 29 actuators, some 60 solids and a trunk of several slabs.
    robot = sample("humanoid")
    graph = to_casadi(
        lambda x: feasible_vector(robot.tree, robot.env(x))[0], jnp.asarray(robot.nominal)
    )
    assert graph.n_instructions() < 33_000
    values, _ = feasible_vector(robot.tree, robot.env(robot.nominal.tolist()))
    traced = np.asarray(graph(robot.nominal)).ravel()
    np.testing.assert_allclose(traced, values, rtol=1e-9, atol=1e-9)
