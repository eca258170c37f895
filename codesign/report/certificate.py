"""The page's section on how good an answer is: stationarity, and the price of each active bound."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from codesign.certificate.stationarity import STATIONARITY_TOLERANCE
from codesign.report.tables import against, number, table

if TYPE_CHECKING:
    from codesign.certificate import Certificate, Kkt, PairSigns, Price

MOST_PRICES = 12


def certificate_section(certificate: Certificate) -> str:
    """Return stationarity and prices as HTML."""
    verdict = f"<p><strong>{escape(certificate.verdict.capitalize())}.</strong>"
    note = f" {escape(certificate.note.capitalize())}." if certificate.note else ""
    parts = [f"{verdict}{note}</p>"]
    if certificate.kkt is not None:
        parts.append(_kkt_table(certificate.kkt))
    if certificate.pairs is not None:
        parts.append(f"<p>{escape(pairs_sentence(certificate.pairs))}</p>")
    if certificate.relaxation_worth > 0:
        parts.append(
            f"<p>Contacts were relaxed to {number(certificate.relaxation)} (scaled); exact ones "
            f"would raise the objective by about {number(certificate.relaxation_worth, 2)}.</p>"
        )
    return "".join(parts)


def price_section(certificate: Certificate) -> str:
    """Return the prices as HTML, those worth most first."""
    if not certificate.prices:
        return f"<p>{escape(certificate.note.capitalize() or 'No active bound has a price')}.</p>"
    shown = certificate.prices[:MOST_PRICES]
    rest = len(certificate.prices) - len(shown) + certificate.prices_below
    others = [f"{rest} more active bounds are worth less"] if rest else []
    if certificate.tied:
        others.append(
            f"{len(certificate.tied)} have no price, because others leave them no room to move"
        )
    tail = f"<p>{escape('; '.join(others).capitalize())}.</p>" if others else ""
    return f"{_price_table(shown)}{tail}"


def pairs_sentence(pairs: PairSigns) -> str:
    """Say how many contact pairs are undecided, and of which kind."""
    if not pairs.biactive:
        return f"Each of the {pairs.pairs} contact pairs is decided: one side of it is positive."
    kinds = {"S": "S", "M": "M", "C": "C", "none": "none of these"}
    counts = ", ".join(f"{pairs.counts[k]} {word}" for k, word in kinds.items() if pairs.counts[k])
    return (
        f"Of {pairs.pairs} contact pairs, {pairs.biactive} are undecided (both sides below "
        f"{number(pairs.threshold)}, scaled), by the signs of their multipliers: {counts}."
    )


def _kkt_table(kkt: Kkt) -> str:
    rows = [
        ["gradient of the Lagrangian", number(kkt.residual, 3), escape(kkt.place)],
        ["multiplier times slack", number(kkt.slackness, 3), ""],
        ["multiplier of the wrong sign", number(kkt.wrong_sign, 3), ""],
    ]
    amounts = (kkt.residual, kkt.slackness, kkt.wrong_sign)
    for row, amount in zip(rows, amounts, strict=True):
        row[2:2] = [number(STATIONARITY_TOLERANCE), against(amount, STATIONARITY_TOLERANCE)]
    head = ["largest (scaled)", "amount", "limit", "", "where"]
    return table(head, rows, numeric=(1, 2))


def _price_table(prices: tuple[Price, ...]) -> str:
    rows = [
        [
            escape(price.sentence).replace("`", ""),
            number(price.price),
            escape(price.unit),
            number(price.value),
        ]
        for price in prices
    ]
    return table(["to first order", "price", "unit", "bound is at"], rows, numeric=(1, 3))
