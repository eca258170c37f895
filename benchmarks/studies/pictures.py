"""Pictures of the studies as SVG: the quadcopter's surface, and where designs ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from benchmarks.studies.statement import published_of
from benchmarks.studies.summary import Record, counted
from codesign.report.plot import ticks

_STYLE = """
.pic{--ink:#1f2933;--soft:#6b7785;--grid:#c9d1da;--ours:#2b62ab;--theirs:#c2701a;--back:#fff}
@media (prefers-color-scheme:dark){
.pic{--ink:#e4e9ee;--soft:#98a4b1;--grid:#3b4652;--ours:#7db0ee;--theirs:#eda250;--back:#12171d}}
.pic .back{fill:var(--back)}
.pic text{font:12px system-ui,sans-serif;fill:var(--soft)}
.pic .title{font-weight:600;font-size:13px;fill:var(--ink)}
.pic .end{text-anchor:end}.pic .middle{text-anchor:middle}
.pic .track{stroke:var(--grid);stroke-width:4;stroke-linecap:round}
.pic .grid{stroke:var(--grid);stroke-width:1}
.pic .axis{stroke:var(--soft);stroke-width:1;fill:none}
.pic .start{fill:var(--ours);fill-opacity:.45}
.pic .mean{stroke:var(--ours);stroke-width:2.4}
.pic .theirs{stroke:var(--theirs);stroke-width:2.4;fill:none}
.pic .line{stroke:var(--ours);stroke-width:1.8;fill:none}
.pic .least{fill:none;stroke:#fff;stroke-width:2.2}.pic .ring{fill:none;stroke:#000;stroke-width:4}
"""

#: A sequence of colours, dark to light, whose lightness grows evenly.
_RAMP = np.array(
    [(38, 24, 74), (48, 62, 125), (38, 104, 138), (34, 145, 128), (110, 184, 92), (240, 226, 94)]
)


def surface(grid: Mapping[str, Any]) -> str:
    """Return the least peak thrust over radius and mass as a map, with its cut at the least mass.

    Args:
        grid: radius (n,), mass (m,), peak_thrust (m, n), as `benchmarks.studies.runs.grid` gives.
    """
    radius, mass = (np.array(grid[name], dtype=float) for name in ("radius", "mass"))
    thrust = np.array(
        [[math.nan if v is None else v for v in row] for row in grid["peak_thrust"]], dtype=float
    )
    low, high = float(np.nanmin(thrust)), float(np.nanmax(thrust))
    left, top, side = 56.0, 40.0, 300.0
    wide, tall = side / len(radius), side / len(mass)
    parts = [_title(left, "Least peak thrust of fixed designs [N]")]
    for i, row in enumerate(thrust):
        for j, value in enumerate(row):
            x, y = left + j * wide, top + side - (i + 1) * tall
            told = "no start succeeded" if math.isnan(value) else f"{value:.4g} N"
            fill = "none" if math.isnan(value) else _colour((value - low) / ((high - low) or 1.0))
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide + 0.4:.1f}" '
                f'height="{tall + 0.4:.1f}" fill="{fill}"><title>radius {radius[j]:.3g} m, mass '
                f"{mass[i]:.3g} kg: {told}</title></rect>"
            )
    i, j = np.unravel_index(int(np.nanargmin(thrust)), thrust.shape)
    x, y = left + (j + 0.5) * wide, top + side - (i + 0.5) * tall
    for name in ("ring", "least"):
        parts.append(f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="7"/>')
    parts += _map_axes(radius, mass, left, top, side)
    parts.append(_scale(left + side + 22, top, side, low, high))
    parts.append(_cut(radius, thrust[0], float(mass[0]), 500.0, top, side))
    label = (
        f"Peak thrust over radius and mass: least, {low:.3f} N, at radius {radius[j]:g} m and mass "
        f"{mass[i]:g} kg"
    )
    return _picture(800, 400, label, parts)


def _map_axes(
    radius: np.ndarray, mass: np.ndarray, left: float, top: float, side: float
) -> list[str]:
    """Return tick labels at the middles of cells, and the names of the axes."""
    parts = []
    for value in ticks(float(radius[0]), float(radius[-1]), 4):
        x = left + side / len(radius) * (0.5 + _place(value, radius) * (len(radius) - 1))
        parts.append(f'<text class="middle" x="{x:.1f}" y="{top + side + 17}">{value:g}</text>')
    for value in ticks(float(mass[0]), float(mass[-1]), 4):
        y = top + side - side / len(mass) * (0.5 + _place(value, mass) * (len(mass) - 1)) + 4
        parts.append(f'<text class="end" x="{left - 7}" y="{y:.1f}">{value:g}</text>')
    middle = top + side / 2
    parts.append(
        f'<text class="middle" x="{left + side / 2}" y="{top + side + 38}">radius [m]</text>'
        f'<text class="middle" transform="translate(16,{middle}) rotate(-90)">mass [kg]</text>'
    )
    return parts


def _place(value: float, values: np.ndarray) -> float:
    return (value - float(values[0])) / (float(values[-1] - values[0]) or 1.0)


def _scale(x: float, top: float, side: float, low: float, high: float) -> str:
    """Return the colour scale."""
    steps = 60
    bars = [
        f'<rect x="{x}" y="{top + side * (1 - (k + 1) / steps):.1f}" width="14" '
        f'height="{side / steps + 0.4:.1f}" fill="{_colour((k + 0.5) / steps)}"/>'
        for k in range(steps)
    ]
    for value in ticks(low, high, 5):
        y = top + side * (1 - (value - low) / ((high - low) or 1.0)) + 4
        bars.append(f'<text x="{x + 19}" y="{y:.1f}">{value:g}</text>')
    return "".join(bars)


def _cut(
    radius: np.ndarray, thrust: np.ndarray, mass: float, left: float, top: float, side: float
) -> str:
    """Return thrust over radius at the least mass: on the map that is below one colour's width."""
    right, foot = left + 280.0, top + side
    good = np.isfinite(thrust)
    if good.sum() < 2:
        return ""
    low, high = float(thrust[good].min()), float(thrust[good].max())
    margin = 0.08 * ((high - low) or 1.0)
    low, high = low - margin, high + margin
    parts = [_title(left, f"The same at {mass:g} kg [N]")]
    for value in ticks(low, high, 5):
        y = foot - (value - low) / (high - low) * side
        parts.append(
            f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="end" x="{left - 6}" y="{y + 4:.1f}">{value:.5g}</text>'
        )
    points = [
        f"{left + _place(float(r), radius) * (right - left):.1f},"
        f"{foot - (float(v) - low) / (high - low) * side:.1f}"
        for r, v in zip(radius[good], thrust[good], strict=True)
    ]
    for value in ticks(float(radius[0]), float(radius[-1]), 4):
        x = left + _place(value, radius) * (right - left)
        parts.append(f'<text class="middle" x="{x:.1f}" y="{foot + 17}">{value:g}</text>')
    parts.append(
        f'<path class="line" d="M{"L".join(points)}"/>'
        f'<path class="axis" d="M{left},{foot}H{right}"/>'
        f'<text class="middle" x="{(left + right) / 2}" y="{foot + 38}">radius [m]</text>'
    )
    return "".join(parts)


def spreads(record: Record) -> str:
    """Return where each design variable ended, between its bounds, beside the published ones."""
    rows, theirs = counted(record), published_of(record["study"]).get("design", {})
    left, right, top, step = 190.0, 640.0, 62.0, 34.0
    title = f"{record['study']}: designs of {len(rows)} counted starts"
    parts = [_title(16, title), _legend(16, 44, bool(theirs))]
    for i, (name, (low, high, _, unit)) in enumerate(record["bounds"].items()):
        y = top + step * (i + 0.5)

        def x(value: float, low: float = low, high: float = high) -> float:
            share = (value - low) / ((high - low) or 1.0)
            return left + min(1.02, max(-0.02, share)) * (right - left)

        parts.append(
            f'<text class="end" x="{left - 62}" y="{y + 4:.1f}">{escape(name)}</text>'
            f'<text class="end" x="{left - 14}" y="{y + 4:.1f}">{low:g}</text>'
            f'<text x="{right + 14}" y="{y + 4:.1f}">{high:g} {escape(unit)}</text>'
            f'<line class="track" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
        )
        values = [row["design"][name] for row in rows]
        parts += [
            f'<circle class="start" cx="{x(value):.1f}" cy="{y}" r="5"><title>seed '
            f"{row['seed']}: {value:.4g}</title></circle>"
            for row, value in zip(rows, values, strict=True)
        ]
        if values:
            middle = x(float(np.mean(values)))
            parts.append(
                f'<line class="mean" x1="{middle:.1f}" x2="{middle:.1f}" y1="{y - 10}" '
                f'y2="{y + 10}"><title>mean {np.mean(values):.4g}</title></line>'
            )
        if name in theirs:
            parts.append(_whisker(theirs[name], x, y + 9))
    height = top + step * len(record["bounds"]) + 12
    return _picture(760, height, title, parts)


def _whisker(pair: Sequence[float], x: Any, y: float) -> str:
    """Return the published mean and deviation; an open end where it leaves the bounds."""
    mean, deviation = pair
    low, high = x(mean - deviation), x(mean + deviation)
    return (
        f'<path class="theirs" d="M{low:.1f},{y}H{high:.1f}M{x(mean):.1f},{y - 5}V{y + 5}">'
        f"<title>published {mean:g} ({deviation:g})</title></path>"
    )


def _legend(x: float, y: float, has_published: bool) -> str:
    parts = [
        f'<circle class="start" cx="{x + 5}" cy="{y - 4}" r="5"/><text x="{x + 16}" y="{y}">a '
        f'start</text><line class="mean" x1="{x + 80}" x2="{x + 80}" y1="{y - 13}" y2="{y + 4}"/>'
        f'<text x="{x + 88}" y="{y}">mean</text>'
    ]
    if has_published:
        parts.append(
            f'<path class="theirs" d="M{x + 140},{y - 4}h30m-15,-5v10"/><text x="{x + 178}" '
            f'y="{y}">published mean and deviation (cut off outside the bounds)</text>'
        )
    return "".join(parts)


def _title(x: float, words: str) -> str:
    return f'<text class="title" x="{x}" y="24">{escape(words)}</text>'


def _colour(share: float) -> str:
    at = min(1.0, max(0.0, share)) * (len(_RAMP) - 1)
    k = min(int(at), len(_RAMP) - 2)
    mixed = _RAMP[k] + (at - k) * (_RAMP[k + 1] - _RAMP[k])
    return "#" + "".join(f"{round(c):02x}" for c in mixed)


def _picture(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pic" role="img" '
        f'aria-label="{escape(label)}" {size}><style>{_STYLE}</style>'
        f'<rect class="back" width="100%" height="100%"/>{"".join(parts)}</svg>\n'
    )
