"""What holds a design back: every active bound with what moving it is worth.

At a minimiser whose multipliers are λ, a scaled bound that moves by δ changes the objective by

    df = −λ δ,   in physical units  df/dbound = −λ / s

with s the physical amount of one scaled unit (the envelope theorem; Fiacco 1983, ch. 3). That holds
as long as the same bounds stay active. Rows that say one thing at many knots (a motor's limit, an
inequality stated at each) move together: their prices add up. Where other active bounds leave a
bound no room to move, its multiplier is one of many and no price: an equation that others imply, or
one whose least move changes what is active. With A the gradients of all active rows and bounds, and
d the move asked for, that is where A p = d has no solution; as δ → 0,

    dᵀ δ (A Aᵀ + δ I)⁻¹ d / dᵀ d → share of d in the left null space of A, 0 where d can be.

References:
    Fiacco (1983), Introduction to Sensitivity and Stability Analysis in Nonlinear Programming.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from codesign.certificate.bounds import (
    ACTIVE,
    ActiveBound,
    design_bounds,
    limit_bounds,
    row_bounds,
)
from codesign.certificate.lagrangian import Multipliers

if TYPE_CHECKING:
    from codesign.solve.transcribed import Transcription

Vector = NDArray[np.float64]

WORTH_TELLING = 1e-5  # of the objective: a step that is worth less is not listed
_DEPENDENT = 1e-2  # share of a move in the null space from which on it has no price
_DAMPING = 1e-10

#: unit → (step in SI units, how a person says it)
_STEPS = {
    "m": (1e-3, "one millimetre"),
    "kg": (1e-3, "one gram"),
    "s": (1e-2, "a hundredth of a second"),
    "rad": (math.pi / 180, "one degree"),
    "deg": (1.0, "one degree"),
    "m/s": (1e-2, "one centimetre per second"),
    "": (1e-2, "0.01"),
}


@dataclass(frozen=True)
class Price:
    """What moving one bound is worth.

    Attributes:
        name: design variable, constraint or limit, with its element.
        kind: 'design', 'limit' (of motors and joints), 'constraint' (the task's) or 'automatic'
            (every problem's).
        side: 'lower', 'upper' or 'equal'.
        knot: the only knot it is active at, None for several or none.
        value: where the bound is, in the unit of the constraint.
        price: change of the objective by moving the bound up, per unit of it.
        unit: unit of the price.
        step: a change of the bound that a person would make, in its unit, towards a better
            objective.
        worth: change of the objective by that step, to first order; never positive.
        sentence: the same in words.
    """

    name: str
    kind: str
    side: str
    knot: int | None
    value: float
    price: float
    unit: str
    step: float
    worth: float
    sentence: str


@dataclass(frozen=True)
class PriceList:
    """Prices, and what is not among them.

    Attributes:
        prices: worth most first.
        below: how many active bounds are worth too little to list.
        tied: names of active bounds that other active ones leave no room to move.
    """

    prices: tuple[Price, ...]
    below: int
    tied: tuple[str, ...]


def prices_of(ready: Transcription, at: Multipliers, box: tuple[Vector, Vector]) -> PriceList:
    """Return the price of every active bound.

    Args:
        ready: the transcribed problem.
        at: where the solve converged.
        box: bounds of x.
    """
    program = ready.program
    f, gradient = (
        np.array(part).ravel() for part in program.derivatives["grad_f"](at.x, [at.relaxation, 1.0])
    )
    objective_unit = unit_of_objective(ready, gradient)
    found = [
        *design_bounds(ready, at, box),
        *limit_bounds(ready, at, box),
        *row_bounds(ready, at),
    ]
    tied = _tied(ready, at, box, [bound.entries for bound in found])
    alone = [bound for bound, is_tied in zip(found, tied, strict=True) if not is_tied]
    told = [_in_words(bound, objective_unit) for bound in alone]
    least = WORTH_TELLING * max(abs(float(f[0])), 1e-12)
    listed = sorted((p for p in told if -p.worth > least), key=lambda p: p.worth)
    names = [_named(bound) for bound, is_tied in zip(found, tied, strict=True) if is_tied]
    return PriceList(tuple(listed), len(told) - len(listed), tuple(names))


def design_prices(
    ready: Transcription, bounds: Vector, box: tuple[Vector, Vector], objective_unit: str
) -> tuple[Price, ...]:
    """Return what moving each active bound of the design is worth, worth most first.

    For a design that several tasks share: their multipliers of its bounds, which other active
    bounds are not asked about.

    Args:
        ready: one of the tasks, transcribed.
        bounds: multipliers of the bounds of its scaled variables, shape (n,).
        box: bounds of its scaled variables.
        objective_unit: unit of the objective, or nothing.
    """
    at = Multipliers(box[0], bounds, np.zeros(len(ready.program.lower)), 0.0)
    told = [_in_words(bound, objective_unit) for bound in design_bounds(ready, at, box)]
    return tuple(sorted(told, key=lambda price: price.worth))


def unit_of_objective(ready: Transcription, gradient: Vector) -> str:
    """Return the unit of the objective where it is a single peak or the duration, else nothing.

    Args:
        ready: the transcribed problem.
        gradient: of the objective in scaled variables, shape (n,).
    """
    program = ready.program
    physical = gradient / program.scale
    touched = np.flatnonzero(physical)
    fields = program.layout.fields
    peaks = fields["peaks"]
    if len(touched) == 1 and touched[0] in peaks and physical[touched[0]] == 1.0:
        return program.peaks[int(np.flatnonzero(peaks == touched[0])[0])][1]
    is_time = np.array_equal(touched, np.sort(fields["dt"])) and np.all(physical[touched] == 1.0)
    return "s" if is_time else ""


def _tied(
    ready: Transcription,
    at: Multipliers,
    box: tuple[Vector, Vector],
    moves: Sequence[Sequence[tuple[int, float]]],
) -> list[bool]:
    """Return which moves the other active bounds leave no room for.

    Args:
        ready: the transcribed problem.
        at: where the solve converged.
        box: bounds of x.
        moves: entries of (x, g) that move, each with how far.
    """
    if not moves:
        return []
    program, n = ready.program, len(at.x)
    jacobian = program.derivatives["jac_g"](at.x, [at.relaxation, 1.0])[1]
    rows, columns = jacobian.sparsity().get_triplet()
    values = np.array(jacobian.nonzeros())
    gradients = sparse.csr_matrix((values, (rows, columns)), shape=(len(at.rows), n))
    lower, upper = np.append(box[0], program.lower), np.append(box[1], program.upper)
    is_active = (np.abs(np.append(at.bounds, at.rows)) > ACTIVE) | (lower >= upper)
    active = np.flatnonzero(is_active)
    gradients = sparse.vstack([sparse.identity(n, format="csr"), gradients], format="csr")
    a = sparse.csr_matrix(gradients)[active]
    m = len(active)
    system = sparse.bmat(
        [[sparse.identity(n), a.T], [a, -_DAMPING * sparse.identity(m)]], format="csc"
    )
    position = np.full(len(is_active), -1)
    position[active] = np.arange(m)
    d = np.zeros((m, len(moves)))
    for k, move in enumerate(moves):
        for entry, amount in move:
            d[position[entry], k] += amount
    answer = splu(system).solve(np.vstack([np.zeros((n, len(moves))), -_DAMPING * d]))[n:]
    share = np.sum(d * answer, axis=0) / np.sum(d * d, axis=0)
    return (np.abs(share) > _DEPENDENT).tolist()


def _named(bound: ActiveBound) -> str:
    return f"`{bound.name}`{_where(bound)}"


def _where(bound: ActiveBound) -> str:
    knots = [k for k in bound.knots if k is not None]
    if len(knots) == 1:
        return f" at knot {knots[0]}"
    return f" at {len(knots)} knots" if knots else ""


def _in_words(bound: ActiveBound, objective_unit: str) -> Price:
    step, amount = _STEPS.get(bound.unit, (0.1, f"0.1 {bound.unit}"))
    direction = -1.0 if bound.price > 0 else 1.0
    worth = -abs(bound.price) * step
    more = "less" if direction < 0 else "more"
    what = _named(bound)
    if bound.side != "equal":
        what = f"`{bound.name}` {bound.side} bound{_where(bound)}"
    knots = [k for k in bound.knots if k is not None]
    return Price(
        name=bound.name,
        kind=bound.kind,
        side=bound.side,
        knot=knots[0] if len(knots) == 1 else None,
        value=bound.value,
        price=bound.price,
        unit=_ratio(objective_unit, bound.unit),
        step=direction * step,
        worth=worth,
        sentence=f"{amount} {more} {what} is worth {_number(worth)} {objective_unit}".rstrip(),
    )


def _number(value: float) -> str:
    """Return three digits as a person writes them: −5.61·10⁻⁵."""
    mantissa, _, exponent = f"{value:.3g}".replace("-", "−").partition("e")
    power = exponent.replace("−0", "−").replace("+0", "").translate(_RAISED)
    return f"{mantissa}·10{power}" if exponent else mantissa


_RAISED = str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _ratio(numerator: str, denominator: str) -> str:
    if not denominator:
        return numerator
    below = f"({denominator})" if any(c in denominator for c in " /·") else denominator
    return f"{numerator or '1'}/{below}"
