"""The page's section on how good an answer is: stationarity, and the price of each active bound."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from codesign.certificate.stationarity import STATIONARITY_TOLERANCE
from codesign.certificate.words import (
    pairs_sentence,
    price_groups,
    relaxation_sentence,
    rest_sentence,
)
from codesign.report.tables import against, number, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codesign.certificate import Certificate, Kkt, PairSigns, Price

MOST_PRICES = 8  # of each group


def certificate_section(certificate: Certificate) -> str:
    """Return how stationary the answer is, as HTML."""
    head = f"<p><strong>{escape(_capital(certificate.verdict))}.</strong>"
    note = f" {escape(_capital(certificate.note))}." if certificate.note else ""
    parts = [f"{head}{note}</p>"]
    if certificate.kkt is not None:
        parts.append(_kkt_table(certificate.kkt, certificate.pairs))
    if certificate.pairs is not None:
        parts.append(f"<p>{escape(_capital(pairs_sentence(certificate.pairs)))}.</p>")
    relaxed = relaxation_sentence(certificate)
    return "".join(parts) + (f"<p>{escape(_capital(relaxed))}.</p>" if relaxed else "")


def price_section(certificate: Certificate) -> str:
    """Return the prices as HTML, those worth most first."""
    if not certificate.prices:
        why = certificate.note or "No active bound has a price"
        return f"<p>{escape(_capital(why))}.</p>"
    groups = price_groups(certificate, MOST_PRICES)
    rest = rest_sentence(certificate, sum(len(prices) for _, prices in groups))
    tail = f"<p>{escape(_capital(rest))}.</p>" if rest else ""
    tables = "<p></p>".join(_price_table(title, prices) for title, prices in groups)
    return f"{tables}{tail}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _kkt_table(kkt: Kkt, pairs: PairSigns | None) -> str:
    limit = STATIONARITY_TOLERANCE
    amounts = [
        ("gradient of the Lagrangian", kkt.residual, kkt.place),
        ("multiplier times slack", kkt.slackness, ""),
        ("multiplier of the wrong sign", kkt.wrong_sign, ""),
    ]
    rows = [
        [name, number(amount, 3), number(limit), against(amount, limit), escape(place)]
        for name, amount, place in amounts
    ]
    if pairs is not None:
        name = "multiplier that exact contacts would not have"
        rows.append([name, number(pairs.leftover, 3), "–", "", ""])
    head = ["largest (scaled)", "amount", "limit", "", "where"]
    return table(head, rows, numeric=(1, 2))


def _price_table(title: str, prices: Sequence[Price]) -> str:
    rows = [
        [
            escape(_capital(price.sentence).replace("`", "")),
            number(price.price),
            escape(price.unit),
            number(price.value),
        ]
        for price in prices
    ]
    return table(
        [f"of {title}, to first order", "price", "unit", "bound is at"], rows, numeric=(1, 3)
    )
