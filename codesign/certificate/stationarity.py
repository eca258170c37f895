"""Whether an answer is a stationary point, and of which kind.

In scaled variables x and rows g the last stage solved, at one relaxation ε,

    min f(x)   s.t.   l ≤ g(x; ε) ≤ u,   l_x ≤ x ≤ u_x.

Its multipliers must satisfy ∇f + Jᵀ λ + λ_x = 0 (`Kkt.residual`), λ ∘ slack = 0
(`Kkt.slackness`), and have the sign of the bound they belong to (`Kkt.wrong_sign`). As in IPOPT
the first two are divided by max(1, mean |λ| / 100): at points with redundant rows multipliers are
large and mean little.

What is really asked for is the limit, a mathematical program with complementarity constraints
0 ≤ a ⟂ b ≥ 0 for the pairs of every contact (`codesign.contact.pyramid`), of which the solver saw
a ≥ 0, b ≥ 0 and Σ a b ≤ 0.98 ε with multipliers ν_a, ν_b ≥ 0 and μ ≥ 0. As
∇(Σ a b) = Σ b ∇a + a ∇b, its Lagrangian is the limit's with

    γ_a = ν_a − μ b,   γ_b = ν_b − μ a.

Where a > 0 = b, γ_a must vanish and γ_b may have any sign; at a finite ε γ_a = −μ b is what the
relaxation still holds up (`PairSigns.leftover`). Where both are zero (a pair is biactive) the signs
decide, from strong to weak:

    S   γ_a ≥ 0 and γ_b ≥ 0: no first-order descent, whichever side the contact takes
    M   γ_a γ_b = 0, or both > 0
    C   γ_a γ_b ≥ 0: all that the limit of Scholtes' relaxation promises
    none of these: the limit could be left downhill

At a finite ε a pair counts as biactive where a and b are both below √ε, since ab ≤ ε keeps one of
them there anyway.

References:
    Scheel and Scholtes (2000), Mathematical programs with complementarity constraints, Math. Oper.
    Res. 25; Hoheisel, Kanzow and Schwartz (2013), Theoretical and numerical comparison of
    relaxation methods for mathematical programs with complementarity constraints, Math. Program.
    137; Wächter and Biegler (2006), eq. 5-6, for the scaling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from codesign.certificate.lagrangian import Multipliers, interval_groups

if TYPE_CHECKING:
    from codesign.solve.transcribed import Transcription

Vector = NDArray[np.float64]

# IPOPT ends at 1e-6 of its own scaling, which shrinks an objective that is steep at the start, and
# lets bounds give way by 1e-8, which multipliers of some thousands turn into 1e-5 of slackness.
STATIONARITY_TOLERANCE = 1e-4  # scaled; a smaller multiplier counts as zero
_MEAN_MULTIPLIER = 100.0  # IPOPT's s_max
KINDS = ("S", "M", "C", "none")


@dataclass(frozen=True)
class Kkt:
    """How well the multipliers fit, recomputed with JAX.

    Attributes:
        residual: largest entry of ∇f + Jᵀ λ + λ_x, scaled.
        place: the variable it belongs to.
        slackness: largest product of a multiplier and the slack of its bound, scaled.
        wrong_sign: largest multiplier of a bound that does not exist, scaled.
        multiplier_scale: what the three are divided by.
    """

    residual: float
    place: str
    slackness: float
    wrong_sign: float
    multiplier_scale: float

    @property
    def is_met(self) -> bool:
        """Whether all three are below the tolerance."""
        worst = max(self.residual, self.slackness, self.wrong_sign)
        return bool(worst <= STATIONARITY_TOLERANCE)


@dataclass(frozen=True)
class PairSigns:
    """The signs of the multipliers of undecided contact pairs.

    Attributes:
        pairs: number of complementarity pairs, six a contact and interval.
        threshold: a and b below it count as zero; in m, m/s, and shares of the weight.
        counts: biactive pairs by kind, 'S', 'M', 'C', 'none'.
        leftover: largest multiplier, scaled, of a side that is positive, which must vanish with ε.
    """

    pairs: int
    threshold: float
    counts: dict[str, int]
    leftover: float

    @property
    def biactive(self) -> int:
        """Number of biactive pairs."""
        return sum(self.counts.values())

    @property
    def weakest(self) -> str:
        """The weakest kind among the biactive pairs; 'S' where there are none."""
        return next((kind for kind in reversed(KINDS) if self.counts.get(kind)), "S")


def scaled_rows(ready: Transcription, z: Vector, relaxation: float) -> Vector:
    """Return the scaled rows g(x; ε), evaluated with JAX's functions in NumPy, shape (m,)."""
    layout = ready.terms.layout
    values = np.asarray(ready.evaluate_intervals(z[layout.interval_index]))
    flat = np.concatenate([values.ravel(), np.asarray(ready.evaluate_terms(z)[1])])
    scale = np.concatenate([placed.rows.scale for placed in ready.program.rows])
    widened = np.concatenate(
        [np.full(placed.rows.size, placed.rows.relaxation) for placed in ready.program.rows]
    )
    return flat / scale - widened * relaxation


def check_kkt(ready: Transcription, at: Multipliers, box: tuple[Vector, Vector]) -> Kkt:
    """Return how well multipliers fit the tightened problem.

    Args:
        ready: the transcribed problem.
        at: where the last stage ended.
        box: bounds of x.
    """
    program = ready.program
    z = at.x * program.scale
    row_scale = np.concatenate([placed.rows.scale for placed in program.rows])
    gradient = program.scale * ready.lagrangian_gradient(z, at.rows / row_scale) + at.bounds
    gradient[box[0] >= box[1]] = 0.0  # what cannot move has a multiplier of any size
    scale = multiplier_scale(at)
    g = scaled_rows(ready, z, at.relaxation)
    multipliers = np.concatenate([at.bounds, at.rows])
    lower = np.concatenate([box[0], program.lower])
    upper = np.concatenate([box[1], program.upper])
    value = np.concatenate([at.x, g])
    i = int(np.argmax(np.abs(gradient)))
    return Kkt(
        residual=float(np.abs(gradient[i])) / scale,
        place=variable_name(ready, i),
        slackness=slackness(multipliers, value, lower, upper) / scale,
        wrong_sign=wrong_sign(multipliers, lower, upper) / scale,
        multiplier_scale=scale,
    )


def multiplier_scale(at: Multipliers) -> float:
    """Return max(1, mean |λ| / 100), by which residuals are divided."""
    mean = float(np.mean(np.abs(np.concatenate([at.bounds, at.rows]))))
    return max(1.0, mean / _MEAN_MULTIPLIER)


def slackness(multipliers: Vector, value: Vector, lower: Vector, upper: Vector) -> float:
    """Return the largest |λ| times the distance to the bound that λ's sign names.

    Rows with equal bounds have none.
    """
    to_upper = np.where(np.isfinite(upper), upper - value, 0.0)
    to_lower = np.where(np.isfinite(lower), value - lower, 0.0)
    products = np.where(multipliers > 0, multipliers * to_upper, -multipliers * to_lower)
    return float(np.max(np.abs(products[lower < upper]), initial=0.0))


def wrong_sign(multipliers: Vector, lower: Vector, upper: Vector) -> float:
    """Return the largest |λ| whose sign names a bound that is infinite."""
    bad = np.where(np.isinf(upper), np.maximum(multipliers, 0.0), 0.0)
    bad = np.maximum(bad, np.where(np.isinf(lower), np.maximum(-multipliers, 0.0), 0.0))
    return float(np.max(bad, initial=0.0))


def pair_signs(ready: Transcription, at: Multipliers) -> PairSigns | None:
    """Return the signs of the contacts' multipliers; None without contact points."""
    layout, program = ready.program.layout, ready.program
    if not layout.nc:
        return None
    n, nc, weight = layout.intervals, layout.nc, ready.plant.weight
    z = at.x * program.scale
    values = np.asarray(ready.evaluate_intervals(z[layout.interval_index]))
    rows = interval_groups(program)
    multipliers = at.rows[: values.size].reshape(values.shape)
    place: dict[str, slice] = {}
    start = 0
    for group in rows:
        place.setdefault(group.name, slice(start, start + group.size))
        start += group.size
    scale = np.concatenate([group.scale for group in rows])
    sides = (("gap", "normal"), ("friction cone", "slide"), ("sliding", "tangent"))
    a = [(values / scale)[:, place[name]].reshape(n, nc, -1) for name, _ in sides]
    nu_a = [np.maximum(-multipliers[:, place[name]], 0.0).reshape(n, nc, -1) for name, _ in sides]
    unit = {"normal": weight, "tangent": weight, "slide": 1.0}
    b = [(z[layout.fields[name]] / unit[name]).reshape(n, nc, -1) for _, name in sides]
    to_unit = {name: unit[name] / program.scale[layout.fields[name]] for name in unit}
    nu_b = [
        (np.maximum(-at.bounds[layout.fields[name]], 0.0) * to_unit[name]).reshape(n, nc, -1)
        for _, name in sides
    ]
    mu = np.maximum(multipliers[:, place["complementarity"]], 0.0)[:, :, None]
    return signs_of(
        (np.concatenate(a, axis=2), np.concatenate(b, axis=2)),
        (np.concatenate(nu_a, axis=2), np.concatenate(nu_b, axis=2)),
        mu,
        at.relaxation,
        multiplier_scale(at),
    )


def signs_of(
    sides: tuple[Vector, Vector],
    multipliers: tuple[Vector, Vector],
    mu: Vector,
    relaxation: float,
    scale: float = 1.0,
) -> PairSigns:
    """Return the signs of γ_a = ν_a − μ b and γ_b = ν_b − μ a where a and b are both zero.

    Args:
        sides: (a, b), any shape, both ≥ 0.
        multipliers: (ν_a, ν_b) of a ≥ 0 and b ≥ 0, both ≥ 0, shaped alike.
        mu: multiplier of the relaxed product, broadcast against them.
        relaxation: ε, whose root is the threshold for zero.
        scale: what multipliers are divided by.
    """
    (a, b), (nu_a, nu_b) = sides, multipliers
    threshold = float(np.sqrt(relaxation))
    gamma_a, gamma_b = (nu_a - mu * b) / scale, (nu_b - mu * a) / scale
    is_biactive = (a <= threshold) & (b <= threshold)
    sign_a = np.where(np.abs(gamma_a) <= STATIONARITY_TOLERANCE, 0, np.sign(gamma_a)).astype(int)
    sign_b = np.where(np.abs(gamma_b) <= STATIONARITY_TOLERANCE, 0, np.sign(gamma_b)).astype(int)
    low, high = np.minimum(sign_a, sign_b), np.maximum(sign_a, sign_b)
    strong = low >= 0
    kinds = {
        "S": strong,
        "M": ~strong & (high == 0),
        "C": (low == -1) & (high == -1),
        "none": (low == -1) & (high == 1),
    }
    positive = np.where(a > b, gamma_a, gamma_b)
    leftover = np.abs(np.where(is_biactive, 0.0, positive))
    return PairSigns(
        pairs=int(a.size),
        threshold=threshold,
        counts={kind: int(np.sum(of & is_biactive)) for kind, of in kinds.items()},
        leftover=float(np.max(leftover, initial=0.0)),
    )


def variable_name(ready: Transcription, index: int) -> str:
    """Return a name for one variable, such as 'q (leg_fl) at knot 3'."""
    from codesign.audit import element_name

    field, knot, element = ready.program.layout.describe(index)
    name = element_name(ready, field, element)
    return field + (f" ({name})" if name else "") + (f" at knot {knot}" if knot is not None else "")
