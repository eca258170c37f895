"""Complementarity 0 ≤ a ⟂ b ≥ 0 of the contact pairs, in ways that smooth solvers take.

The six pairs of a contact are (φ, λn), (γ, κ) and (σ±ᵢ, λ±ᵢ), see `codesign.contact.pyramid`. With
a in m or m/s, b in units of the robot's weight and a relaxation ε that tightens:

    scholtes_contact   Σ ab ≤ ε, one sum per contact (Scholtes 2001, aggregated)
    scholtes_pair      ab ≤ ε / 6, each pair
    scholtes_knot      Σ ab ≤ ε, one sum over all contacts of a knot
    lin_fukushima      ab ≤ ε²  and  (a + ε)(b + ε) ≥ ε², that is ab + ε (a + b) ≥ 0; of each pair
                       the side that is a row may go down to −ε (Lin and Fukushima 2003)
    fischer_burmeister √(a² + b² + 2δ²) − a − b ≥ 0, that is ab ≤ δ² for a, b ≥ 0, with 6 δ² = ε
                       (Fischer 1992; smoothed as by Kanzow 1996, whose equation = 0 would forbid
                       a = 0 and with it every task that states a gap of 0)
    l1_penalty         ab free; Σ ab / ε enters the objective (`codesign.nlp.penalty`)

All but `lin_fukushima` and `l1_penalty` imply Σ ab ≤ ε for each contact, which is what an answer is
measured by whatever it was solved with. `lin_fukushima` lets distances become negative by up to ε,
so that ε must end at the tolerance of feasibility itself.

√ has no slope at 0: a² + b² + 2δ² gets 1e-16 more, so that every derivative is finite at
a = b = δ = 0.

References:
    Scholtes (2001), SIAM J. Optim. 11; Lin and Fukushima (2003), A modified relaxation scheme for
    mathematical programs with complementarity constraints, Ann. Oper. Res. 133; Fischer (1992),
    Optimization 24; Kanzow (1996), SIAM J. Matrix Anal. Appl. 17; Anitescu, Tseng and Wright
    (2007), Elastic-mode algorithms for mathematical programs with equilibrium constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from codesign.contact.pyramid import ContactForces, ContactTerms
from codesign.errors import SolverError
from draft_core.backend import jax, jnp

PAIRS = ("normal", "friction", "+t1", "-t1", "+t2", "-t2")
MEASURE = "scholtes_contact"  # what every answer is audited by
PRODUCT_SHARE = 0.98  # of ε: with the solver's tolerance and bounds it stays within ε
_ROOT_FLOOR = 1e-16


class ContactPairs(NamedTuple):
    """Both sides of every complementarity pair, in the order of `PAIRS`.

    Attributes:
        motion: a: gap, sliding slack and slacks of the directions, shape (nc, 6); [m] and [m/s].
        force: b: normal force, friction left over and tangential forces, shape (nc, 6); [N].
    """

    motion: jax.Array
    force: jax.Array


@dataclass(frozen=True)
class PairRows:
    """One group of rows that a formulation states.

    Attributes:
        name: what reports call it.
        per: what has a row each.
        lower: scaled lower bound.
        upper: scaled upper bound.
        relaxation: multiple of ε that is taken off the value before it meets its bounds.
        is_product: whether it is in N m, scaled by the weight, or a plain number.
    """

    name: str
    per: Literal["pair", "contact", "knot"]
    lower: float = -np.inf
    upper: float = 0.0
    relaxation: float = 0.0
    is_product: bool = True

    @property
    def unit(self) -> str:
        """Unit of the physical value."""
        return "N m" if self.is_product else ""

    def labels(self, contacts: Sequence[str]) -> tuple[str, ...]:
        """Return one name per row."""
        if self.per == "knot":
            return ("all contacts",)
        if self.per == "contact":
            return tuple(contacts)
        return tuple(f"{name} {pair}" for name in contacts for pair in PAIRS)


@dataclass(frozen=True)
class Formulation:
    """A way to state complementarity.

    Attributes:
        name: its name.
        residuals: (pairs, weight, ε) → values of `rows` in physical units, flat.
        rows: groups of rows, in the order of `residuals`.
        dip: multiple of ε that gaps, cones and slacks may be negative by.
        is_penalty: whether its rows only measure, and the objective makes them vanish.
    """

    name: str
    residuals: Callable[[ContactPairs, float, jax.Array], jax.Array]
    rows: tuple[PairRows, ...]
    dip: float = 0.0
    is_penalty: bool = False


def contact_pairs(forces: ContactForces, gap: jax.Array, terms: ContactTerms) -> ContactPairs:
    """Return both sides of the pairs of all contacts.

    Args:
        forces: forces and slacks.
        gap: φ, shape (nc,); [m].
        terms: what `contact_terms` made of them.
    """
    motion = jnp.concatenate([gap[:, None], forces.slide[:, None], terms.slack], axis=1)
    force = jnp.concatenate([forces.normal[:, None], terms.cone[:, None], forces.tangent], axis=1)
    return ContactPairs(motion, force)


def _per_contact(pairs: ContactPairs, weight: float, relaxation: jax.Array) -> jax.Array:
    return jnp.sum(pairs.motion * pairs.force, axis=1)


def _per_pair(pairs: ContactPairs, weight: float, relaxation: jax.Array) -> jax.Array:
    return jnp.ravel(pairs.motion * pairs.force)


def _per_knot(pairs: ContactPairs, weight: float, relaxation: jax.Array) -> jax.Array:
    return jnp.sum(pairs.motion * pairs.force)[None]


def _lin_fukushima(pairs: ContactPairs, weight: float, relaxation: jax.Array) -> jax.Array:
    product = jnp.ravel(pairs.motion * pairs.force)
    total = jnp.ravel(pairs.motion * weight + pairs.force)
    below = product - weight * relaxation * relaxation
    return jnp.concatenate([below, product + relaxation * total])


def _fischer_burmeister(pairs: ContactPairs, weight: float, relaxation: jax.Array) -> jax.Array:
    a, b = pairs.motion, pairs.force / weight
    smoothing = 2.0 * PRODUCT_SHARE * relaxation / len(PAIRS)
    return jnp.ravel(jnp.sqrt(a * a + b * b + smoothing + _ROOT_FLOOR) - a - b)


_CONTACT_ROWS = (PairRows("complementarity", "contact", relaxation=PRODUCT_SHARE),)

FORMULATIONS: dict[str, Formulation] = {
    formulation.name: formulation
    for formulation in (
        Formulation("scholtes_contact", _per_contact, _CONTACT_ROWS),
        Formulation(
            "scholtes_pair",
            _per_pair,
            (PairRows("complementarity", "pair", relaxation=PRODUCT_SHARE / len(PAIRS)),),
        ),
        Formulation(
            "scholtes_knot",
            _per_knot,
            (PairRows("complementarity", "knot", relaxation=PRODUCT_SHARE),),
        ),
        Formulation(
            "lin_fukushima",
            _lin_fukushima,
            (
                PairRows("complementarity", "pair"),
                PairRows("shifted complementarity", "pair", lower=0.0, upper=np.inf),
            ),
            dip=1.0,
        ),
        Formulation(
            "fischer_burmeister",
            _fischer_burmeister,
            (PairRows("complementarity", "pair", lower=0.0, upper=np.inf, is_product=False),),
        ),
        Formulation("l1_penalty", _per_contact, _CONTACT_ROWS, is_penalty=True),
    )
}


def formulation_named(name: str) -> Formulation:
    """Return a formulation by its name.

    Raises:
        SolverError: there is none of that name.
    """
    if name not in FORMULATIONS:
        raise SolverError(f"formulation is {name!r}; it must be one of {', '.join(FORMULATIONS)}")
    return FORMULATIONS[name]
