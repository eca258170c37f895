"""The page's tables: design, audit, solver log, versions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from codesign.audit import COMPLEMENTARITY_TOLERANCE, FEASIBILITY_TOLERANCE

if TYPE_CHECKING:
    from codesign.audit import Audit, Violation
    from codesign.solution import DesignValue, PhaseRecord

ROUNDING = 1e-9  # scaled: a violation below this is not worth a row
AT_BOUND = 1e-3  # of the range: closer than this counts as at the bound


def number(value: object, digits: int = 4) -> str:
    """Return a number as a person writes it; a dash for what is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        try:
            value = float(value)  # type: ignore[arg-type]  # numpy scalars
        except (TypeError, ValueError):
            return "–"
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}·10{_superscript(int(exponent))}".replace("-", "−")
    return text.replace("-", "−")


def _superscript(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    """Return a table; cells are HTML already, heads are text."""
    mark = [' class="number"' if i in numeric else "" for i in range(len(head))]
    heads = "".join(f"<th{m}>{escape(h)}</th>" for h, m in zip(head, mark, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{m}>{c}</td>" for c, m in zip(row, mark, strict=True)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def design_table(design: Mapping[str, DesignValue]) -> str:
    """Return the design with bounds, where it started, and a mark at a bound."""
    rows = [
        [
            f"<code>{escape(name)}</code>",
            f"<strong>{number(item.value)}</strong>",
            escape(item.unit),
            f"{number(item.lower)} to {number(item.upper)}",
            number(item.initial),
            _range(item.lower, item.upper, item.initial, item.value),
            f'<span class="note">{bound_note(item.value, item.lower, item.upper)}</span>',
        ]
        for name, item in design.items()
    ]
    if not rows:
        return "<p>This problem has no design variables.</p>"
    head = ["variable", "value", "unit", "bounds", "initial", "initial (bar) and value (dot)", ""]
    return table(head, rows, numeric=(1, 4))


def bound_note(value: float, low: float, high: float) -> str:
    """Return "at its lower bound", "at its upper bound", or nothing."""
    near = AT_BOUND * (high - low)
    if value <= low + near:
        return "at its lower bound"
    return "at its upper bound" if value >= high - near else ""


def _range(low: float, high: float, first: float, value: float) -> str:
    def x(v: float) -> str:
        share = (v - low) / (high - low) if high > low else 0.5
        return f"{8 + 164 * min(1.0, max(0.0, share)) if math.isfinite(share) else 8:.1f}"

    return (
        '<div class="range"><svg viewBox="0 0 180 16" aria-hidden="true">'
        '<line class="track" x1="8" x2="172" y1="8" y2="8"/>'
        f'<line class="initial" x1="{x(first)}" x2="{x(first)}" y1="2" y2="14"/>'
        f'<circle class="final" cx="{x(value)}" cy="8" r="5.5"/></svg></div>'
    )


def residual_table(audit: Audit) -> str:
    """Return the largest residual of each kind, beside what it may be."""
    kinds = (
        ("constraint violation", audit.max_violation, FEASIBILITY_TOLERANCE),
        ("dynamics residual", audit.max_dynamics_residual, FEASIBILITY_TOLERANCE),
        ("complementarity product", audit.max_complementarity, COMPLEMENTARITY_TOLERANCE),
    )
    rows = [
        [f"largest {kind}", number(amount, 3), number(limit), against(amount, limit)]
        for kind, amount, limit in kinds
    ]
    return table(["residual (scaled)", "amount", "limit", ""], rows, numeric=(1, 2))


def audit_table(worst: Sequence[Violation]) -> str:
    """Return the worst row of each group of constraints: where, how much, and the limit."""
    shown = [item for item in worst if not abs(item.scaled) < ROUNDING]
    rows = [
        [
            escape(item.constraint),
            "–" if item.knot is None else str(item.knot),
            escape(item.element) or "–",
            number(item.amount),
            escape(item.unit),
            number(item.scaled),
            number(limit_of(item)),
            against(item.scaled, limit_of(item)),
        ]
        for item in shown
    ]
    head = ["constraint", "knot", "element", "off by", "unit", "scaled", "limit", ""]
    others = "other " if shown else ""
    rest = f"<p>No {others}constraint is violated by more than rounding.</p>"
    return (table(head, rows, numeric=(1, 3, 5, 6)) if shown else "") + rest


def limit_of(row: Violation) -> float:
    """Return what a row may be off by, scaled."""
    is_contact = row.constraint == "complementarity"
    return COMPLEMENTARITY_TOLERANCE if is_contact else FEASIBILITY_TOLERANCE


def against(amount: float, limit: float) -> str:
    """Return whether an amount is within its limit, as HTML."""
    return "within" if amount <= limit else '<strong class="over">over</strong>'


def log_table(phases: Sequence[PhaseRecord]) -> str:
    """Return the solver's log: one row for each warm-started solve."""
    rows = [
        [
            escape(item.phase),
            number(item.relaxation),
            str(item.iterations),
            escape(plain(item.status)),
            number(item.objective),
            number(item.violation),
            number(item.seconds, 3),
        ]
        for item in phases
    ]
    if not rows:
        return "<p>The solver did not run.</p>"
    head = ["phase", "relaxation", "iterations", "status", "objective", "violation", "seconds"]
    return table(head, rows, numeric=(1, 2, 4, 5, 6))


def plain(status: object) -> str:
    """Return a status as words: "Solve_Succeeded" becomes "solve succeeded"."""
    return str(status).replace("_", " ").lower()
