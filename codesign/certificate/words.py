"""A certificate in sentences, for a terminal and for the report."""

from __future__ import annotations

from collections.abc import Sequence

from codesign.certificate.certificate import Certificate
from codesign.certificate.prices import Price
from codesign.certificate.stationarity import PairSigns

_SHOWN = 4  # prices of each group in a terminal
_KINDS = {"S": "S", "M": "M", "C": "C", "none": "none of these"}


def pairs_sentence(pairs: PairSigns) -> str:
    """Say how many contact pairs are undecided, and of which kind."""
    if not pairs.biactive:
        return f"each of the {pairs.pairs} contact pairs is decided: one side of it is positive"
    counts = ", ".join(f"{pairs.counts[k]} {word}" for k, word in _KINDS.items() if pairs.counts[k])
    return (
        f"of {pairs.pairs} contact pairs, {pairs.biactive} are undecided (both sides below "
        f"{pairs.threshold:.2g}, scaled), by the signs of their multipliers: {counts}"
    )


def relaxation_sentence(certificate: Certificate) -> str:
    """Say what the relaxation of the contacts is worth; empty where it is worth nothing."""
    if not certificate.relaxation_worth > 0:
        return ""
    return (
        f"contacts are relaxed to {certificate.relaxation:.3g} (scaled); exact ones would raise "
        f"the objective by about {certificate.relaxation_worth:.2g}"
    )


def price_groups(certificate: Certificate, most: int) -> list[tuple[str, Sequence[Price]]]:
    """Return the largest prices in two groups, each with a title: of the robot, of the task."""
    titles = (("the robot", ("design", "limit")), ("the task", ("constraint", "automatic")))
    groups = [(title, [p for p in certificate.prices if p.kind in of]) for title, of in titles]
    return [(title, prices[:most]) for title, prices in groups if prices]


def rest_sentence(certificate: Certificate, shown: int) -> str:
    """Say what a list of `shown` prices leaves out; empty where nothing."""
    rest = len(certificate.prices) - shown + certificate.prices_below
    parts = [f"{rest} more active bounds are worth less"] if rest else []
    if certificate.tied:
        count = len(certificate.tied)
        parts.append(f"{count} have no price, because others leave them no room to move")
    return "; ".join(parts)


def summary_lines(certificate: Certificate) -> list[str]:
    """Return stationarity and the largest prices as lines of plain text."""
    kkt = certificate.kkt
    residual = f" (residual {kkt.residual:.1e})" if kkt is not None else ""
    note = f": {certificate.note}" if certificate.note else ""
    lines = [f"stationarity: {certificate.verdict}{residual}{note}"]
    if certificate.pairs is not None:
        lines.append(pairs_sentence(certificate.pairs))
    lines += [text for text in [relaxation_sentence(certificate)] if text]
    groups = price_groups(certificate, _SHOWN)
    for title, prices in groups:
        lines.append(f"what holds it back, of {title}:")
        lines += [f"  {price.sentence.replace('`', '')}" for price in prices]
    rest = rest_sentence(certificate, sum(len(prices) for _, prices in groups))
    return [*lines, f"  {rest}"] if groups and rest else lines
