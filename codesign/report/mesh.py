"""The refinement of a mesh: a table, and how the objective moved as the mesh grew finer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from codesign.report.plot import Axes, ticks
from codesign.report.tables import number, table
from codesign.solve.refine import mesh_rows

if TYPE_CHECKING:
    from codesign.solve.refine import MeshRecord

_HEIGHT, _RIGHT = 220.0, 548.0  # [px]


def mesh_section(mesh: Sequence[MeshRecord]) -> str:
    """Return a table of the meshes and, of two solved ones or more, a plot of their objectives."""
    head, *rows = mesh_rows(mesh)
    cells = [[escape(cell) for cell in row] for row in rows]
    return f"{table(head, cells, numeric=range(7))}<p></p>{mesh_plot(mesh)}"


def mesh_plot(mesh: Sequence[MeshRecord]) -> str:
    """Return the objective over the number of knots, each step a doubling; "" of one mesh."""
    solved = [row for row in mesh if row.success and math.isfinite(row.objective)]
    if len(solved) < 2:
        return ""
    values = [row.objective for row in solved]
    top = max(0.0, *values)
    low = min(0.0, *values)
    margin = 0.1 * ((top - low) or 1.0)
    span = (low - (margin if low < 0 else 0.0), top + margin)
    axes = Axes((-0.4, len(solved) - 0.6), span, height=_HEIGHT)
    foot = axes.py(span[0])
    parts = []
    for value in ticks(*span):
        y = axes.py(value)
        parts.append(
            f'<line class="grid" x1="{axes.left:.1f}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="row" x="{axes.left - 7:.1f}" y="{y + 4:.1f}">{value:g}</text>'
        )
    points = [(axes.px(i), axes.py(row.objective)) for i, row in enumerate(solved)]
    path = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts.append(f'<path class="line s0" d="M{path}"/>')
    for (x, y), row in zip(points, solved, strict=True):
        parts.append(
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4">'
            f"<title>{row.knots} knots: {number(row.objective, 5)}</title></circle>"
            f'<text class="column" x="{x:.1f}" y="{foot + 17:.1f}">{row.knots}</text>'
        )
    middle = (axes.left + _RIGHT) / 2
    parts.append(
        f'<path class="axis" d="M{axes.left:.1f},{foot:.1f}H{_RIGHT}"/>'
        f'<text class="name" x="{middle:.1f}" y="{foot + 34:.1f}">knots</text>'
    )
    label = "Objective on each mesh"
    return (
        f'<figure class="plot" style="max-width:560px"><figcaption>{label}</figcaption>'
        f'<svg role="img" aria-label="{label}" viewBox="0 0 560 {_HEIGHT:.0f}">'
        f"{''.join(parts)}</svg></figure>"
    )
