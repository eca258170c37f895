"""How good an answer is, in one place: violations, stationarity, prices.

A certificate is worked out when it is first asked for, or when a solution is saved: tracing the
reverse mode of a walking robot takes a second, which a solve that only wants the motion need not
wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codesign.audit import Violation
from codesign.certificate.lagrangian import Multipliers, interval_groups
from codesign.certificate.prices import Price, PriceList, prices_of
from codesign.certificate.stationarity import Kkt, PairSigns, check_kkt, pair_signs
from codesign.tracing import TracingError
from codesign.transcription import interval_rows

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solve.transcribed import Transcription

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """What can be said for an answer.

    Attributes:
        violations: the worst row of each kind, with its knot and element; kinds that hold are
            among them, with amount 0 (`codesign.audit.Audit.by_kind`).
        kkt: how well the multipliers fit the tightened problem; None without multipliers.
        pairs: signs of the contacts' multipliers; None without contacts or multipliers.
        relaxation: complementarity relaxation ε of the last stage.
        relaxation_worth: −ε df/dε, by how much exact contacts would raise the objective, to first
            order.
        prices: active bounds with what moving them is worth, the largest first.
        prices_below: how many more active bounds are worth too little to list.
        tied: active bounds that other active ones leave no room to move: they have no price.
        note: why a part is missing.
    """

    violations: Mapping[str, Violation] = field(default_factory=dict)
    kkt: Kkt | None = None
    pairs: PairSigns | None = None
    relaxation: float = 0.0
    relaxation_worth: float = 0.0
    prices: tuple[Price, ...] = ()
    prices_below: int = 0
    tied: tuple[str, ...] = ()
    note: str = ""

    @property
    def verdict(self) -> str:
        """The kind of stationary point, in words."""
        if self.kkt is None:
            return "not known"
        if not self.kkt.is_met:
            return "not stationary"
        if self.pairs is None:
            return "stationary"
        return _VERDICTS[self.pairs.weakest]


_VERDICTS = {
    "S": "stationary, undecided contacts strongly (S)",
    "M": "stationary, undecided contacts M",
    "C": "stationary, undecided contacts C",
    "none": "stationary for the relaxed contacts only",
}


@dataclass
class Certification:
    """A certificate, or what it takes to work it out.

    It crosses processes without the transcription, which is built again from the problem.

    Attributes:
        violations: the worst row of each kind.
        ready: the transcribed problem, None in another process.
        box: bounds of the scaled variables.
        multipliers: of the last stage, None where the solve ended in another one.
        is_minimum: whether that stage converged, so that its multipliers are prices.
        found: the certificate itself, once worked out.
    """

    violations: Mapping[str, Violation] = field(default_factory=dict)
    ready: Transcription | None = None
    box: tuple[Vector, Vector] | None = None
    multipliers: Multipliers | None = None
    is_minimum: bool = False
    found: Certificate | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the transcription behind."""
        return {**self.__dict__, "ready": None}

    def certificate(self, task: Problem | None) -> Certificate:
        """Return the certificate; worked out when first asked for.

        Args:
            task: the problem, to transcribe where that has been left behind.
        """
        if self.found is None:
            self.found = self._worked_out(task)
            self.ready = self.multipliers = self.box = None
        return self.found

    def _worked_out(self, task: Problem | None) -> Certificate:
        if self.multipliers is None or self.box is None:
            return Certificate(self.violations, note=_NO_MULTIPLIERS)
        at = self.multipliers
        if not all(np.isfinite(part).all() for part in (at.x, at.bounds, at.rows)):
            return Certificate(
                self.violations, note="the solve ended in numbers that are not finite"
            )
        ready = self.ready
        if ready is None and task is not None:
            ready = task.transcription
        if ready is None or len(at.rows) != len(ready.program.lower):
            return Certificate(self.violations, note=_NO_MULTIPLIERS)
        return certify(ready, self.violations, self.box, at, self.is_minimum)


_OTHER_FORMULATION = (
    "solved in another formulation of complementarity than answers are measured by: its "
    "multipliers are not checked"
)
_NO_MULTIPLIERS = "the solve ended without multipliers of the objective: no stationarity, no prices"


def certify(
    ready: Transcription,
    violations: Mapping[str, Violation],
    box: tuple[Vector, Vector],
    multipliers: Multipliers,
    is_minimum: bool,
) -> Certificate:
    """Return the certificate of an answer; see `Certification` for the arguments."""
    if not _is_measured_as_stated(ready):
        return Certificate(violations, note=_OTHER_FORMULATION)
    try:
        kkt = check_kkt(ready, multipliers, box)
        pairs = pair_signs(ready, multipliers)
    except TracingError as error:
        return Certificate(violations, note=f"stationarity could not be checked: {error}")
    listed = prices_of(ready, multipliers, box) if is_minimum else PriceList((), 0, ())
    relaxed = [np.full(p.rows.size, p.rows.relaxation) for p in ready.program.rows]
    worth = multipliers.relaxation * float(multipliers.rows @ np.concatenate(relaxed))
    return Certificate(
        violations=violations,
        kkt=kkt,
        pairs=pairs,
        relaxation=multipliers.relaxation,
        relaxation_worth=worth,
        prices=listed.prices,
        prices_below=listed.below,
        tied=listed.tied,
        note="" if is_minimum else "the last stage did not converge: there are no prices",
    )


def _is_measured_as_stated(ready: Transcription) -> bool:
    """Tell whether the rows that the solver saw are those by which answers are measured."""
    stated, measured = interval_groups(ready.program), interval_rows(ready.plant, ready.integrator)
    return len(stated) == len(measured) and all(
        a.name == b.name and a.labels == b.labels and a.relaxation == b.relaxation
        for a, b in zip(stated, measured, strict=True)
    )
