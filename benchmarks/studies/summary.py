"""What a study's rows add up to, and whether that is what was asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common import median
from benchmarks.studies.statement import BY_NAME, Study, published_of
from codesign.solve.starts_record import wilson_interval

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """One thing that is asked of a study.

    Attributes:
        kind: what is judged.
        bar: what it must be.
        got: the figure.
        is_met: whether it is met; None where there is no figure yet.
    """

    kind: str
    bar: str
    got: str
    is_met: bool | None

    @property
    def what(self) -> str:
        """The target in words."""
        return f"{self.kind} {self.bar}"


def counted(record: Record) -> list[Record]:
    """Return the rows of the counted successes."""
    return [row for row in record["rows"] if row["counted"]]


def summary(record: Record) -> dict[str, Any]:
    """Return a study's statistics: success, times, objective, worst residuals, design."""
    rows, good, figure = record["rows"], counted(record), BY_NAME[record["study"]].figure
    low, high = wilson_interval(len(good), len(rows))
    objectives = [row[figure] for row in good]
    iterations = [row["iterations"] for row in rows if row.get("iterations")]

    def per_iteration(name: str) -> float:
        return median([r[name] / r["iterations"] for r in rows if r.get("iterations")])

    def worst(name: str) -> float:
        return max((row[name] for row in good), default=math.nan)

    return {
        "starts": len(rows),
        "counted": len(good),
        "interval": (low, high),
        "median_s": median([row["seconds"] for row in rows if "seconds" in row]),
        "slowest_s": max((row["seconds"] for row in rows if "seconds" in row), default=math.nan),
        "objective": median(objectives),
        "spread": (min(objectives, default=math.nan), max(objectives, default=math.nan)),
        "iterations": median(iterations),
        "derivatives_s": per_iteration("derivatives_s"),
        "ipopt_s": per_iteration("ipopt_s"),
        "complementarity": worst("complementarity"),
        "dynamics_residual": worst("dynamics_residual"),
        "contact_work_share": worst("contact_work_share"),
        "peak_effort": worst("peak_effort"),
        "design": {
            name: mean_and_deviation([row["design"][name] for row in good])
            for name in record["bounds"]
        }
        if good
        else {},
    }


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation."""
    return float(np.mean(values)), float(np.std(values))


def mesh_values(record: Record) -> tuple[tuple[float, int], tuple[float, int]] | None:
    """Return (figure, knots) of the refined start on its first and on its finest mesh."""
    found = record.get("refined") or {}
    solved = [row for row in found.get("rows", []) if row["success"]]
    if not solved:
        return None
    figure = BY_NAME[record["study"]].figure
    first = next((row for row in counted(record) if row["seed"] == found["seed"]), None)
    if BY_NAME[record["study"]].mesh_options:
        first = None  # its first mesh is of another setting
    if figure == "objective" or first is None:
        coarse, fine = solved[0]["objective"], solved[-1]["objective"]
    else:
        coarse, fine = first[figure], found[figure]
    return (coarse, solved[0]["knots"]), (fine, solved[-1]["knots"])


def checks(record: Record) -> list[Check]:
    """Return every target of a study beside its figure."""
    study, told = BY_NAME[record["study"]], summary(record)
    found = [
        _share_check(study, told),
        _below("median solve", told["median_s"], study.most_seconds, "s"),
        _below("median objective", told["objective"], study.below, study.unit),
        _mesh_check(study, record),
        _below("complementarity", told["complementarity"], 1e-4, "", closed=True),
        _below("dynamics residual", told["dynamics_residual"], 1e-6, "", closed=True),
        _below("contact work", told["contact_work_share"], 0.01, "", closed=True),
        _below("derivatives / IPOPT", told["derivatives_s"] / told["ipopt_s"], 1.0, "", closed=True)
        if told["ipopt_s"]
        else None,
        _below("largest torque", told["peak_effort"], study.most_torque, "N m", closed=True),
        _grid_check(record),
    ]
    return [check for check in found if check is not None]


def _share_check(study: Study, told: Mapping[str, Any]) -> Check | None:
    if not study.least_share:
        return None
    place = " at (" + ", ".join(f"{v:g}" for v in study.design.values()) + ")"
    wanted = math.ceil(study.least_share * told["starts"] - 1e-9)
    bar = f"at least {wanted}/{told['starts']}{place if study.design else ''}"
    got = f"{told['counted']}/{told['starts']}"
    return Check("success", bar, got, told["counted"] >= wanted)


def _below(kind: str, value: float, bar: float, unit: str, closed: bool = False) -> Check | None:
    if math.isinf(bar):
        return None
    relation = "at most" if closed else "below"
    is_met = None if math.isnan(value) else (value <= bar * (1 + 1e-6) if closed else value < bar)
    return Check(kind, f"{relation} {bar:g} {unit}".rstrip(), f"{value:.3g}", is_met)


def _mesh_check(study: Study, record: Record) -> Check | None:
    meshes = mesh_values(record)
    if math.isinf(study.below) or meshes is None:
        return None
    value, knots = meshes[1]
    bar = f"below {study.below:g} {study.unit}"
    got = f"{value:.3g} at {knots} knots"
    if not record["refined"]["converged"]:
        got += ", not converged"
    is_met = value < study.below and record["refined"]["converged"]
    return Check("mesh-converged objective", bar, got, is_met)


def _grid_check(record: Record) -> Check | None:
    found, wanted = record.get("grid"), published_of(record["study"]).get("grid")
    if not found or not wanted:
        return None
    got, want = found["minimum"], wanted["minimum"]
    is_met = all(math.isclose(got[name], want[name], rel_tol=1e-9) for name in want)
    shown = ", ".join(f"{value:g}" for value in got.values())
    wanted_at = ", ".join(f"{value:g}" for value in want.values())
    return Check("least thrust of the grid", f"at ({wanted_at})", f"at ({shown})", is_met)


@dataclass(frozen=True)
class Claim:
    """A qualitative claim of the paper beside our figures.

    Attributes:
        what: the claim.
        agrees: whether ours agrees; None where a study it needs was not run.
        figures: the numbers it is judged by.
        why: how we read a disagreement; an opinion, not a measurement.
    """

    what: str
    agrees: bool | None
    figures: str
    why: str = ""


_FLAT = (
    "our torques are so small that lengths hardly matter to them: starts end all over the bounds"
)
_LEAP = "ours leaps where the published one walks: a longer leg pushes the body over a longer way"


def claims(records: Mapping[str, Record]) -> list[Claim]:
    """Return the paper's qualitative claims, judged by the studies there are."""
    told = {name: summary(record) for name, record in records.items()}
    designs = {name: row["design"] for name, row in told.items() if row["design"]}
    return [
        _shorter_upper_leg(designs),
        _near_lower_limits(records, designs),
        _smallest_motor(told),
        _leg_length(records, designs, "quadruped_torque", "longest", 1),
        _leg_length(records, designs, "quadruped_time", "shortest", 0),
        _largest_motor(told),
    ]


def _shorter_upper_leg(designs: Mapping[str, Any]) -> Claim:
    what = "biped: the upper leg is shorter for the step than for flat ground"
    if not {"biped_flat", "biped_step"} <= designs.keys():
        return Claim(what, None, "")
    name = "upper_leg_length"
    flat, step = designs["biped_flat"][name], designs["biped_step"][name]
    figures = f"flat {spread(flat)} m, step {spread(step)} m"
    return Claim(what, step[0] < flat[0], figures, _FLAT)


def _near_lower_limits(records: Mapping[str, Record], designs: Mapping[str, Any]) -> Claim:
    what = "biped: masses near their lower limits (mean within a tenth of the range)"
    shares, names = [], [n for n in ("biped_flat", "biped_step") if n in designs]
    for study in names:
        for variable, (mean, _) in designs[study].items():
            if variable.endswith("_mass"):
                low, high, *_ = records[study]["bounds"][variable]
                shares.append((mean - low) / (high - low))
    if not shares:
        return Claim(what, None, "")
    figures = f"furthest mean at {100 * max(shares):.2g} % of its range above the limit"
    return Claim(what, max(shares) <= 0.1, figures)


def _smallest_motor(told: Mapping[str, Any]) -> Claim:
    what = "biped: the smallest motor (1.53 N m) is enough"
    peaks = [told[n]["peak_effort"] for n in ("biped_flat", "biped_step") if n in told]
    peaks = [peak for peak in peaks if math.isfinite(peak)]
    if not peaks:
        return Claim(what, None, "")
    return Claim(what, max(peaks) <= 1.53, f"largest torque {max(peaks):.3g} N m")


def _largest_motor(told: Mapping[str, Any]) -> Claim:
    what = "quadruped, time: the largest motor (6 N m) is saturated"
    peak = told.get("quadruped_time", {}).get("peak_effort", math.nan)
    if math.isnan(peak):
        return Claim(what, None, "")
    return Claim(what, peak >= 0.99 * 6.0, f"largest torque {peak:.3g} N m")


def _leg_length(
    records: Mapping[str, Record], designs: Mapping[str, Any], study: str, word: str, end: int
) -> Claim:
    """Judge the length of the whole leg: within a twentieth of its range from one of its ends."""
    what = f"{study.replace('_', ', ')}: legs at their {word}"
    if study not in designs:
        return Claim(what, None, "")
    names = ("lower_leg_length", "upper_leg_length")
    mean = sum(designs[study][name][0] for name in names)
    low, high = (sum(records[study]["bounds"][name][i] for name in names) for i in (0, 1))
    far = abs(mean - (low, high)[end]) / (high - low)
    theirs = published_of(study).get("leg_length")
    figures = f"{mean:.3g} m of {low:g} to {high:g} m; published {theirs:g} m"
    return Claim(what, far <= 0.05, figures, _FLAT if end else _LEAP)


def spread(pair: Sequence[float]) -> str:
    """Return mean (deviation)."""
    return f"{pair[0]:.4g} ({pair[1]:.2g})"
