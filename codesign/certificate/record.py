"""A certificate as it stands in solution.json, under "certificate" and "prices"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from codesign.audit import Violation
from codesign.certificate.certificate import Certificate
from codesign.certificate.prices import Price
from codesign.certificate.stationarity import Kkt, PairSigns

Number = float | None


class ViolationRow(msgspec.Struct):
    """`codesign.audit.Violation`."""

    constraint: str
    knot: int | None
    element: str
    amount: Number
    unit: str
    scaled: Number


class KktRow(msgspec.Struct):
    """`codesign.certificate.Kkt`."""

    residual: Number
    place: str
    slackness: Number
    wrong_sign: Number
    multiplier_scale: Number


class PairRow(msgspec.Struct):
    """`codesign.certificate.PairSigns`."""

    pairs: int
    threshold: Number
    counts: dict[str, int]
    leftover: Number


class PriceRow(msgspec.Struct):
    """`codesign.certificate.Price`."""

    name: str
    kind: str
    side: str
    knot: int | None
    value: Number
    price: Number
    unit: str
    step: Number
    worth: Number
    sentence: str


class CertificateRow(msgspec.Struct):
    """`codesign.certificate.Certificate` without its prices; the verdict follows from the rest."""

    verdict: str
    violations: dict[str, ViolationRow]
    kkt: KktRow | None
    pairs: PairRow | None
    relaxation: Number
    relaxation_worth: Number
    prices_below: int
    tied: list[str]
    note: str

    def certificate(self, prices: Sequence[PriceRow]) -> Certificate:
        """Return the certificate it tells."""
        return Certificate(
            violations={kind: Violation(**finite(row)) for kind, row in self.violations.items()},
            kkt=None if self.kkt is None else Kkt(**finite(self.kkt)),
            pairs=None if self.pairs is None else PairSigns(**finite(self.pairs)),
            relaxation=_number(self.relaxation),
            relaxation_worth=_number(self.relaxation_worth),
            prices=tuple(Price(**finite(row)) for row in prices),
            prices_below=self.prices_below,
            tied=tuple(self.tied),
            note=self.note,
        )


def told(certificate: Certificate) -> dict[str, Any]:
    """Return what solution.json says of a certificate, its prices apart."""
    values = asdict(certificate)
    del values["prices"]
    return {"verdict": certificate.verdict, **values}


def _number(value: Number) -> float:
    return math.nan if value is None else value


def finite(row: msgspec.Struct) -> dict[str, Any]:
    """Return a row's values; null is NaN where a number is meant."""
    values = msgspec.structs.asdict(row)
    missing = [name for name, value in values.items() if value is None and name != "knot"]
    return values | dict.fromkeys(missing, math.nan)
