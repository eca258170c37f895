"""Every formulation of complementarity: what it admits, and that it can be differentiated."""

from __future__ import annotations

import numpy as np
import pytest

from codesign.contact.formulations import FORMULATIONS, PAIRS, ContactPairs, formulation_named
from codesign.errors import SolverError
from draft_core.backend import jax, jnp

WEIGHT = 20.0
names = pytest.mark.parametrize("name", FORMULATIONS)


def scaled_rows(name: str, motion, force, relaxation: float):
    """Return values of the rows and their bounds, as `Rows` defines them."""
    formulation = FORMULATIONS[name]
    pairs = ContactPairs(jnp.asarray(motion), jnp.asarray(force))
    values = np.asarray(formulation.residuals(pairs, WEIGHT, jnp.asarray(relaxation)))
    contacts = [f"foot {i}" for i in range(len(motion))]
    sizes = [len(group.labels(contacts)) for group in formulation.rows]
    assert sum(sizes) == len(values)
    parts = []
    for group, block in zip(formulation.rows, np.split(values, np.cumsum(sizes)[:-1]), strict=True):
        scale = WEIGHT if group.is_product else 1.0
        scaled = block / scale - group.relaxation * relaxation
        parts.append(np.maximum(group.lower - scaled, scaled - group.upper))
    return np.concatenate(parts)


@names
def test_exact_complementarity_meets_every_formulation(name) -> None:
    rng, relaxation = np.random.default_rng(0), 1e-4
    for _ in range(10):
        motion, force = rng.uniform(0, 3, (2, 4, len(PAIRS)))
        which = rng.integers(0, 3, motion.shape)  # a = 0, b = 0 or both
        motion, force = np.where(which != 1, 0, motion), np.where(which != 0, 0, force) * WEIGHT
        assert scaled_rows(name, motion, force, relaxation).max() <= 1e-12


@names
def test_rows_bound_the_sum_of_a_contacts_products(name) -> None:
    # random nonnegative pairs, small and large: where the rows hold, so does what the audit asks
    rng, relaxation, count, met = np.random.default_rng(1), 1e-2, 60, 0
    for _ in range(count):
        largest = 10.0 ** rng.uniform(-2.5, 0.0)
        motion, force = rng.uniform(0, largest, (2, 2, len(PAIRS)))
        if scaled_rows(name, motion, force * WEIGHT, relaxation).max() <= 0:
            met += 1
            assert (motion * force).sum(axis=1).max() <= relaxation
    assert 0 < met < count


@names
def test_small_pairs_are_admitted(name) -> None:
    # each product ε / 7 (ε² for Lin and Fukushima), so that six of them are below ε
    side = 0.9e-2 if name == "lin_fukushima" else np.sqrt(1e-2 / 7)
    contacts = 1
    inside = scaled_rows(
        name, np.full((contacts, 6), side), np.full((contacts, 6), side * WEIGHT), 1e-2
    )
    assert inside.max() <= 0


@names
def test_derivatives_are_finite_where_both_sides_are_zero(name) -> None:
    # √ has no slope at 0: without its floor Fischer–Burmeister gives NaN here
    residuals = FORMULATIONS[name].residuals

    def flat(x):
        return residuals(ContactPairs(*x.reshape(2, 1, 6)), WEIGHT, jnp.asarray(0.0))

    zero = jnp.zeros(12)
    assert np.isfinite(jax.jacfwd(flat)(zero)).all()
    assert np.isfinite(jax.hessian(flat)(zero)).all()


def test_an_unknown_formulation_is_refused_with_those_there_are() -> None:
    with pytest.raises(SolverError, match="'fischer'; it must be one of scholtes_contact, "):
        formulation_named("fischer")
