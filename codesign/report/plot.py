"""Line, bar and gait plots as inline SVG.

Colours are CSS classes (`s0` … `s7`), so that the page's light and dark themes apply to them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np

WIDTH, HEIGHT = 560.0, 250.0  # of a plot [px]
LEFT, RIGHT, TOP, BOTTOM = 58.0, 12.0, 12.0, 40.0  # margins [px]
COLOURS = 8


@dataclass(frozen=True)
class Series:
    """A line of a plot.

    Attributes:
        name: what the legend calls it.
        x: times (n,), or (n + 1,) interval ends for values held over intervals.
        y: values (n,).
    """

    name: str
    x: np.ndarray
    y: np.ndarray

    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the line's corners: steps where a value holds over an interval."""
        x, y = np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)
        if len(x) == len(y) + 1:
            return np.repeat(x, 2)[1:-1], np.repeat(y, 2)
        return x, y


@dataclass(frozen=True)
class Axes:
    """The map from data to pixels, with round ticks.

    Attributes:
        x: (low, high) of the abscissa.
        y: (low, high) of the ordinate.
        height: of the plot [px].
        left: margin for the ordinate's labels [px].
    """

    x: tuple[float, float]
    y: tuple[float, float]
    height: float = HEIGHT
    left: float = LEFT
    y_ticks: list[float] = field(default_factory=list)

    def px(self, x: float) -> float:
        """Return the pixel column of `x`."""
        low, high = self.x
        return self.left + (x - low) / ((high - low) or 1.0) * (WIDTH - self.left - RIGHT)

    def py(self, y: float) -> float:
        """Return the pixel row of `y`."""
        low, high = self.y
        share = (y - low) / ((high - low) or 1.0)
        return self.height - BOTTOM - share * (self.height - TOP - BOTTOM)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers (1, 2, 5 times a power of ten) from `low` to `high`."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else [0.0]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def line_plot(
    series: Sequence[Series],
    *,
    label: str,
    unit: str,
    limits: Sequence[float] = (),
    knots: np.ndarray | None = None,
    include_zero: bool = False,
) -> str:
    """Return a plot of lines over time with a legend.

    Args:
        series: the lines; a gap is left where a value is not finite.
        label: what the ordinate is, e.g. "torque".
        unit: of the ordinate, e.g. "N m".
        limits: values drawn as dashed lines, when they are not far off the scale.
        knots: times of the knots, marked along the abscissa.
        include_zero: whether the ordinate must show zero.

    Returns:
        ``<figure>`` with the SVG and its legend.
    """
    lines = [(s, *s.corners()) for s in series]
    shown, hidden = _limits_in_reach(lines, limits)
    values = [v for _, _, y in lines for v in y[np.isfinite(y)]] + shown
    axes = _axes([v for _, x, _ in lines for v in x], [*values, 0.0] if include_zero else values)
    parts = [_frame(axes, f"{label} [{unit}]", knots)]
    for value in shown:
        y = _n(axes.py(value))
        parts.append(
            f'<line class="limit" x1="{_n(axes.left)}" x2="{_n(WIDTH - RIGHT)}" y1="{y}" y2="{y}">'
            f"<title>limit {value:g} {escape(unit)}</title></line>"
        )
    for i, (line, x, y) in enumerate(lines):
        parts.append(_line(axes, x, y, line.name, i))
    note = f"limit {_joined(hidden)} {unit}, off the scale" if hidden else ""
    return _figure(f"{label} over time", axes, parts, [s.name for s in series], note)


def bar_plot(
    edges: np.ndarray, series: Sequence[Series], *, total: Series, label: str, unit: str
) -> str:
    """Return stacked bars over the intervals between `edges`, with `total` as dots.

    Args:
        edges: interval ends (n + 1,) [s].
        series: the parts, each with n values; negative parts stack downwards.
        total: n values that the parts of an interval add up to.
        label: what the ordinate is.
        unit: of the ordinate.

    Returns:
        ``<figure>`` with the SVG and its legend.
    """
    parts_of = np.nan_to_num(np.array([s.y for s in series], dtype=float))
    dots = np.nan_to_num(np.asarray(total.y, dtype=float))
    positive, negative = np.maximum(parts_of, 0).sum(axis=0), np.minimum(parts_of, 0).sum(axis=0)
    axes = _axes(list(edges), [*positive, *negative, *dots, 0.0])
    parts = [_frame(axes, f"{label} [{unit}]", np.asarray(edges))]
    for k in range(len(edges) - 1):
        parts += _stack(axes, edges[k], edges[k + 1], parts_of[:, k], series, unit)
        middle = axes.px((edges[k] + edges[k + 1]) / 2)
        parts.append(
            f'<circle class="dot" cx="{_n(middle)}" cy="{_n(axes.py(dots[k]))}" r="3.4">'
            f"<title>{escape(total.name)}: {dots[k]:.4g} {escape(unit)}</title></circle>"
        )
    names = [s.name for s in series]
    return _figure(f"{label} per interval", axes, parts, names, dot=total.name)


def gait_plot(
    edges: np.ndarray, force: np.ndarray, names: Sequence[str], *, label: str, unit: str
) -> str:
    """Return one row for each contact, as high in each interval as its share of the largest force.

    Args:
        edges: interval ends (K,) [s].
        force: normal force of each contact (K-1, nc).
        names: of the contacts (nc,).
        label: what is plotted.
        unit: of the force.

    Returns:
        ``<figure>`` with the SVG.
    """
    force = np.nan_to_num(np.asarray(force, dtype=float))
    largest = float(force.max(initial=0.0))
    row = max(18.0, min(34.0, (HEIGHT - TOP - BOTTOM) / max(len(names), 1)))
    left = min(150.0, 14.0 + 6.4 * max((len(n) for n in names), default=4))
    axes = Axes(
        (float(edges[0]), float(edges[-1])), (0, 1), TOP + BOTTOM + row * len(names), left=left
    )
    parts = [_frame(axes, "", np.asarray(edges))]
    for c, name in enumerate(names):
        base = TOP + row * (c + 1)
        parts.append(
            f'<text class="row" x="{_n(left - 8)}" y="{_n(base - row / 2 + 4)}">'
            f"{escape(name)}</text>"
            f'<line class="grid" x1="{_n(left)}" x2="{_n(WIDTH - RIGHT)}" y1="{_n(base)}" '
            f'y2="{_n(base)}"/>'
        )
        for k in range(len(edges) - 1):
            share = max(0.0, force[k, c]) / largest if largest > 0 else 0.0
            if share > 0.005:
                x, width = axes.px(edges[k]), axes.px(edges[k + 1]) - axes.px(edges[k])
                tall = share * (row - 4)
                parts.append(
                    f'<rect class="f{c % COLOURS}" x="{_n(x)}" y="{_n(base - tall)}" '
                    f'width="{_n(width)}" height="{_n(tall)}"><title>{escape(name)}: '
                    f"{force[k, c]:.3g} {escape(unit)}</title></rect>"
                )
    return _figure(label, axes, parts, [], f"full height is {largest:.3g} {unit}")


def row_plot(
    series: Sequence[Series], *, label: str, unit: str, limits: Sequence[float] = ()
) -> str:
    """Return one row for each of many values held over intervals, on one scale.

    Args:
        series: steps: interval ends (n + 1,) and values (n,).
        label: what is plotted.
        unit: of the values.
        limits: drawn as dashed lines where values come near them, otherwise told.

    Returns:
        ``<figure>`` with the SVG.
    """
    values = np.nan_to_num(np.array([s.y for s in series], dtype=float))
    peak = float(np.abs(values).max(initial=0.0)) or 1.0
    near = [v for v in limits if abs(v) <= 1.25 * peak]
    span = max([peak, *map(abs, near)])
    row = max(22.0, min(46.0, 252.0 / len(series)))
    left = min(150.0, 14.0 + 6.4 * max(len(s.name) for s in series))
    edges = np.asarray(series[0].x, dtype=float)
    ends = (float(edges[0]), float(edges[-1]))
    axes = Axes(ends, (0, 1), TOP + BOTTOM + row * len(series), left=left)
    parts = [_frame(axes, "", edges)]
    for i, line in enumerate(series):
        middle = TOP + row * (i + 0.5)
        scale = (row - 5) / 2 / span
        parts.append(_band(axes, middle, scale, replace(line, y=values[i]), unit))
        parts += [_across(axes, middle - scale * v, "limit") for v in near]
    far = [v for v in limits if v not in near and math.isfinite(v)]
    note = f"rows reach ±{span:.3g} {unit}" + (f"; limit {_joined(far)} {unit}" if far else "")
    return _figure(f"{label} over time", axes, parts, [], note)


def _band(axes: Axes, middle: float, scale: float, line: Series, unit: str) -> str:
    """A row's name, its zero line, and its steps as an area above and below it."""
    x, y = line.corners()
    points = [f"{_n(axes.px(a))},{_n(middle - scale * b)}" for a, b in zip(x, y, strict=True)]
    foot = f"{_n(axes.px(x[-1]))},{_n(middle)} {_n(axes.px(x[0]))},{_n(middle)}"
    name = escape(line.name)
    return (
        f'<text class="row" x="{_n(axes.left - 8)}" y="{_n(middle + 4)}">{name}</text>'
        f'<polygon class="f0 band" points="{" ".join(points)} {foot}"><title>{name}: '
        f"{line.y.min():.3g} to {line.y.max():.3g} {escape(unit)}</title></polygon>"
        f"{_across(axes, middle, 'grid zero')}"
    )


def _across(axes: Axes, y: float, kind: str) -> str:
    ends = f'x1="{_n(axes.left)}" x2="{_n(WIDTH - RIGHT)}"'
    return f'<line class="{kind}" {ends} y1="{_n(y)}" y2="{_n(y)}"/>'


def _limits_in_reach(lines, limits: Sequence[float]) -> tuple[list[float], list[float]]:
    """Limits within four times the largest value are drawn; the others are only told."""
    peak = max((float(np.nanmax(np.abs(y), initial=0.0)) for _, _, y in lines), default=0.0)
    shown = [v for v in limits if abs(v) <= 4 * peak]
    return shown, [v for v in limits if abs(v) > 4 * peak and math.isfinite(v)]


def _joined(values: Sequence[float]) -> str:
    """Limits as text; a symmetric pair as ±."""
    if len(values) == 2 and values[0] == -values[1]:
        return f"±{abs(values[0]):g}"
    return ", ".join(f"{v:g}" for v in values)


def _axes(x: Sequence[float], y: Sequence[float]) -> Axes:
    low, high = (min(y), max(y)) if len(y) else (0.0, 1.0)
    if high - low < 1e-12 * max(1.0, abs(high)):
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    margin = 0.06 * (high - low)
    span = (low - margin, high + margin)
    return Axes((min(x, default=0.0), max(x, default=1.0)), span, y_ticks=ticks(*span))


def _frame(axes: Axes, y_label: str, knots: np.ndarray | None) -> str:
    """Grid, tick labels, knot marks and axis names."""
    right, foot = WIDTH - RIGHT, axes.height - BOTTOM
    parts = []
    for value in axes.y_ticks:
        y = _n(axes.py(value))
        zero = " zero" if value == 0 else ""
        parts.append(
            f'<line class="grid{zero}" x1="{_n(axes.left)}" x2="{_n(right)}" y1="{y}" y2="{y}"/>'
            f'<text class="row" x="{_n(axes.left - 7)}" y="{_n(axes.py(value) + 4)}">'
            f"{value:g}</text>"
        )
    for value in ticks(*axes.x, count=6):
        x = _n(axes.px(value))
        parts.append(f'<text class="column" x="{x}" y="{_n(foot + 17)}">{value:g}</text>')
    for knot in () if knots is None else knots:
        x = _n(axes.px(float(knot)))
        parts.append(f'<line class="knot" x1="{x}" x2="{x}" y1="{_n(foot)}" y2="{_n(foot + 4)}"/>')
    parts.append(
        f'<path class="axis" d="M{_n(axes.left)},{_n(foot)}H{_n(right)}"/>'
        f'<text class="name" x="{_n((axes.left + right) / 2)}" y="{_n(foot + 34)}">time [s]</text>'
    )
    if y_label:
        middle = _n((TOP + foot) / 2)
        parts.append(
            f'<text class="name" transform="translate(13,{middle}) rotate(-90)">'
            f"{escape(y_label)}</text>"
        )
    return "".join(parts)


def _line(axes: Axes, x: np.ndarray, y: np.ndarray, name: str, index: int) -> str:
    pieces, pen_down = [], False
    for a, b in zip(x, y, strict=True):
        if math.isfinite(a) and math.isfinite(b):
            pieces.append(f"{'L' if pen_down else 'M'}{_n(axes.px(a))},{_n(axes.py(b))}")
            pen_down = True
        else:
            pen_down = False
    dash = " dash" if index >= COLOURS else ""
    return (
        f'<path class="line s{index % COLOURS}{dash}" d="{"".join(pieces)}">'
        f"<title>{escape(name)}</title></path>"
    )


def _stack(axes: Axes, start, end, values, series, unit: str) -> list[str]:
    up = down = 0.0
    left, width = axes.px(start), axes.px(end) - axes.px(start)
    bars = []
    for i, value in enumerate(values):
        base = up if value >= 0 else down
        high, low = max(base, base + value), min(base, base + value)
        bars.append(
            f'<rect class="f{i}" x="{_n(left + 0.12 * width)}" y="{_n(axes.py(high))}" '
            f'width="{_n(0.76 * width)}" height="{_n(axes.py(low) - axes.py(high))}">'
            f"<title>{escape(series[i].name)}: {value:.4g} {escape(unit)}</title></rect>"
        )
        up, down = (up + value, down) if value >= 0 else (up, down + value)
    return bars


def _figure(label: str, axes: Axes, parts: list[str], names, note: str = "", dot: str = "") -> str:
    keys = [
        f'<span><i class="k{i % COLOURS}{" dash" if i >= COLOURS else ""}"></i>{escape(n)}</span>'
        for i, n in enumerate(names)
    ]
    if dot:
        keys.append(f'<span><i class="kdot"></i>{escape(dot)}</span>')
    if note:
        keys.append(f'<span class="note">{escape(note)}</span>')
    legend = f'<div class="legend">{"".join(itertools.chain(keys))}</div>' if keys else ""
    return (
        f'<figure class="plot"><figcaption>{escape(label)}</figcaption>'
        f'<svg role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {_n(WIDTH)} {_n(axes.height)}">{"".join(parts)}</svg>{legend}</figure>'
    )


def _n(value: float) -> str:
    return f"{value:.1f}"
