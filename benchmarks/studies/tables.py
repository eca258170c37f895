"""docs/results.md: the tables of the studies, between two marks; what is around them stays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.studies.statement import BY_NAME, published, published_of
from benchmarks.studies.summary import (
    Check,
    Record,
    checks,
    claims,
    mesh_values,
    spread,
    summary,
)

BEGIN = "<!-- benchmarks.paper: begin -->"
END = "<!-- benchmarks.paper: end -->"
_NOTHING = "–"
HEAD = f"""# Results: the published studies

The studies of {{source}}, solved from random starts, beside what is printed there.

{BEGIN}
{END}
"""


def write(path: Path, records: Mapping[str, Record], pictures: Sequence[str]) -> None:
    """Write the tables into a Markdown file, between its marks; make the file where there is none.

    Raises:
        SystemExit: the file is there and has no marks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    text = old or HEAD.format(source=published()["source"])
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{path} lacks the lines {BEGIN} and {END}; the tables go between them")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    body = markdown(records, pictures)
    path.write_text(f"{before}{BEGIN}\n{body}{END}{after}", encoding="utf-8")


def markdown(records: Mapping[str, Record], pictures: Sequence[str]) -> str:
    """Return all tables."""
    parts = [
        _success_table(records),
        _objective_table(records),
        _honesty_table(records),
        _targets_table(records),
        _mesh_tables(records),
        _design_tables(records),
        _claims_table(records),
        _pictures(pictures),
        _made_by(records),
    ]
    return "\n".join(part for part in parts if part)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table; columns of numbers are flush right."""
    columns = list(zip(*rows, strict=True)) or [()] * len(head)
    ends = ["--:" if _are_numbers(column) else "---" for column in columns]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(ends) + "|"]
    lines += ["| " + " | ".join(text(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _are_numbers(cells: Sequence[Any]) -> bool:
    return all(cell is None or isinstance(cell, int | float) for cell in cells)


def text(value: Any) -> str:
    """Return a cell: three digits of a number, a dash for what is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def _success_table(records: Mapping[str, Record]) -> str:
    rows = []
    for name, record in records.items():
        told, theirs = summary(record), published_of(name)
        low, high = told["interval"]
        rows.append(
            [
                name,
                _published_share(theirs),
                f"{told['counted']}/{told['starts']}",
                f"{100 * low:.0f} to {100 * high:.0f} %",
                _published_seconds(theirs),
                told["median_s"],
                told["slowest_s"],
                told["iterations"],
                _milliseconds(told["derivatives_s"]),
                _milliseconds(told["ipopt_s"]),
            ]
        )
    head = ["study", "published success", "ours", "95 % (Wilson)", "published s", "median s"]
    head += ["slowest s", "iterations", "derivatives ms", "IPOPT ms"]
    return (
        "## Success and time\n\n"
        + table(head, rows)
        + "\nTimes are of a solve from one start, without building the program. Derivatives and "
        "IPOPT (its\nlinear algebra and its own bookkeeping) are per iteration. Medians over all "
        "starts.\n"
    )


def _objective_table(records: Mapping[str, Record]) -> str:
    rows = []
    for name, record in records.items():
        study, told, theirs = BY_NAME[name], summary(record), published_of(name)
        low, high = told["spread"]
        coarse, fine = mesh_values(record) or (None, None)
        rows.append(
            [
                f"{name}: {study.question}",
                study.unit,
                _pair(theirs.get("objective")),
                told["objective"],
                f"{low:.3g} to {high:.3g}" if told["counted"] else None,
                f"{coarse[0]:.3g} at {coarse[1]}" if coarse else None,
                f"**{fine[0]:.3g}**" if fine else None,
                f"{fine[1]}{_unless_converged(record)}" if fine else None,
            ]
        )
    head = ["study", "unit", "published", "median", "range", "one start, its mesh"]
    head += ["the same, refined", "mesh"]
    note = (
        "\nRefined: every interval split in two until, from one mesh to the next, the objective "
        "changes by at\nmost 5 % or by less than 1 % of what is published, and the integrator "
        "makes or loses at most 5 % of the\nactuator work. A converged value is the answer; the "
        "one before is the paper's setting. Where none is\nconverged, the last mesh is shown, "
        "which decides nothing.\n"
    )
    return "## Objective\n\n" + table(head, rows) + note


def _unless_converged(record: Record) -> str:
    return "" if record["refined"]["converged"] else ", not converged"


def _honesty_table(records: Mapping[str, Record]) -> str:
    rows = []
    for name, record in records.items():
        told = summary(record)
        figures = ("complementarity", "dynamics_residual", "contact_work_share")
        rows.append([name, *(_power(told[figure]) for figure in figures)])
    head = ["study", "complementarity", "dynamics residual", "contact work / actuator work"]
    return "## The worst of all counted successes\n\n" + table(head, rows)


def _targets_table(records: Mapping[str, Record]) -> str:
    found = {name: {check.kind: check for check in checks(rec)} for name, rec in records.items()}
    longest = sorted(found.values(), key=len, reverse=True)  # has nearly every kind, in order
    kinds = list(dict.fromkeys(kind for row in longest for kind in row))
    rows = [
        [name, *(_judged(row[kind]) if kind in row else None for kind in kinds)]
        for name, row in found.items()
    ]
    return "## Targets\n\n" + table(["study", *kinds], rows)


def _judged(check: Check) -> str:
    word = {True: "met", False: "**not met**", None: _NOTHING}[check.is_met]
    return f"{word}: {check.got} ({check.bar})"


def _mesh_tables(records: Mapping[str, Record]) -> str:
    parts = []
    for name, record in records.items():
        found = record.get("refined") or {}
        if not found.get("rows"):
            continue
        rows = [
            [
                row["knots"],
                row["objective"],
                _percent(row["change"]),
                _percent(row["energy_share"]),
                _percent(row["contact_work_share"]),
                row["iterations"],
                row["wall_s"],
                "solved" if row["success"] else "failed",
            ]
            for row in found["rows"]
        ]
        head = ["knots", "objective", "change", "numerical energy", "contact work", "iterations"]
        options = BY_NAME[name].mesh_options
        told = "".join(f", {option} = {value}" for option, value in options.items())
        parts.append(f"**{name}**{told}, seed {found['seed']}: {found['note']}.\n")
        for other in found.get("others", ()):
            parts.append(f"Tried before, seed {other['seed']}: {other['note']}.\n")
        parts.append(table([*head, "s", ""], rows))
    return "## Meshes\n\n" + "\n".join(parts) if parts else ""


def _design_tables(records: Mapping[str, Record]) -> str:
    parts = []
    for name, record in records.items():
        ours, theirs = summary(record)["design"], published_of(name)
        outside = theirs.get("outside", ())
        rows = [
            [
                f"{variable} [{unit}]",
                f"{low:g} to {high:g}",
                _pair(theirs.get("design", {}).get(variable))
                + ("\\*" if variable in outside else ""),
                spread(ours[variable]) if variable in ours else None,
            ]
            for variable, (low, high, _, unit) in record["bounds"].items()
        ]
        parts.append(f"**{name}**\n\n" + table(["", "bounds", "published", "ours"], rows))
    note = "\n\\* outside the bounds that the same paper prints.\n"
    return "## Designs: mean (deviation)\n\n" + "\n".join(parts) + note


def _claims_table(records: Mapping[str, Record]) -> str:
    answer = {True: "yes", False: "**no**", None: _NOTHING}
    rows = [
        [
            claim.what,
            answer[claim.agrees],
            claim.figures + (f"; our reading: {claim.why}" if claim.agrees is False else ""),
        ]
        for claim in claims(records)
    ]
    return "## What the paper says of its designs\n\n" + table(["claim", "ours agrees", ""], rows)


def _pictures(names: Sequence[str]) -> str:
    lines = [f"![{name.removesuffix('.svg').replace('_', ' ')}](results/{name})" for name in names]
    return "## Pictures\n\n" + "\n\n".join(lines) + "\n" if lines else ""


def _made_by(records: Mapping[str, Record]) -> str:
    rows = []
    for name, record in records.items():
        machine = record["machine"]
        packages = machine["packages"]
        versions = ", ".join(
            f"{key} {packages[key]}" for key in ("codesign", "casadi", "mujoco", "jax")
        )
        setting = f"{record['integrator']}, guess {record['guess']}, jobs {record['jobs']}"
        rows.append(
            [
                name,
                f"`{machine['command']}`",
                machine["date"],
                f"{machine['processor']}, {machine['cpus']} cores",
                f"Python {machine['python']}, {versions}",
                setting,
            ]
        )
    head = ["study", "command", "date", "machine", "versions", "setting"]
    return "## How this was made\n\n" + table(head, rows)


def _published_share(theirs: Mapping[str, Any]) -> str:
    if "solved" not in theirs:
        return f"{_NOTHING} of {theirs['starts']}" if "starts" in theirs else _NOTHING
    return f"{theirs['solved']}/{theirs['starts']}"


def _published_seconds(theirs: Mapping[str, Any]) -> str:
    if "seconds_below" in theirs:
        return f"< {theirs['seconds_below']}"
    return f"{theirs['seconds'][0]:,.0f}" if "seconds" in theirs else _NOTHING


def _pair(pair: Sequence[float] | None) -> str:
    return _NOTHING if pair is None else spread(pair)


def _milliseconds(seconds: float) -> float:
    return 1e3 * seconds


def _percent(share: float | None) -> str:
    return _NOTHING if share is None else f"{100 * share:.2g} %"


def _power(value: float) -> str:
    return _NOTHING if math.isnan(value) else f"{value:.1e}"
