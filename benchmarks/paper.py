"""How do the published studies fare here, each from many starts, beside what is printed of them?

Every study writes OUT/paper/NAME.json start by start; the tables and pictures of docs/results are
made from whatever is there, so that a study can be run again alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import OUT, machine, plain, positive, show
from benchmarks.studies import pictures, tables
from benchmarks.studies.runs import (
    Start,
    design_bounds,
    each,
    grid,
    parts_of,
    problem_of,
    refined,
    row_of,
    solve,
)
from benchmarks.studies.statement import BY_NAME, STUDIES, Study
from benchmarks.studies.summary import checks, counted, mesh_values, summary

DOCS = Path(__file__).resolve().parents[1] / "docs"
_QUICK = ("quadcopter", "hexapod_beta_0")  # of a quick run


def main(arguments: Sequence[str] | None = None) -> None:
    """Run studies, then make tables and pictures of all that were ever run."""
    asked = _settings(arguments)
    folder = asked.out / "paper"
    folder.mkdir(parents=True, exist_ok=True)
    for name in asked.studies:
        if not BY_NAME[name].is_there:
            print(f"{name}: problem '{BY_NAME[name].problem}' does not ship; left out")
            continue
        _run(BY_NAME[name], asked, folder / f"{name}.json")
    records = _records(folder, asked.quick)
    drawn = _draw(records, folder, asked.docs / "results")
    tables.write(asked.docs / "results.md", records, drawn)
    print(f"\n{asked.docs / 'results.md'}")


def _settings(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smallest sizes; proves nothing")
    parser.add_argument("--seeds", type=positive, help="random starts of a study (20 by default)")
    parser.add_argument("--jobs", type=positive, default=1, help="starts at the same time (1)")
    names = ", ".join(study.name for study in STUDIES)
    parser.add_argument("--studies", nargs="*", metavar="NAME", help=f"all by default: {names}")
    parser.add_argument("--resume", action="store_true", help="keep the starts that are there")
    parser.add_argument("--guess", help="what starts are made of; the problem's own by default")
    parser.add_argument("--time-limit", type=float, default=300.0, help="of a start [s] (300)")
    parser.add_argument("--most-knots", type=positive, default=241, help="finest mesh (241)")
    parser.add_argument("--refine-limit", type=float, default=900.0, help="[s] (900); 0: none")
    parser.add_argument(
        "--refine-seeds", type=positive, default=4, help="starts refined until one converges (4)"
    )
    parser.add_argument("--grid", type=int, help="quadcopters a side (20); 0: no grid")
    parser.add_argument("--out", type=Path, default=OUT, help=f"folder of the JSON ({OUT})")
    parser.add_argument("--docs", type=Path, help="folder of results.md and results/ (docs)")
    asked = parser.parse_args(arguments)
    if asked.studies is None:
        asked.studies = list(_QUICK) if asked.quick else [study.name for study in STUDIES]
    unknown = [name for name in asked.studies if name not in BY_NAME]
    if unknown:
        parser.error(f"--studies: there is no study '{unknown[0]}'. There are: {names}")
    asked.seeds = asked.seeds or (1 if asked.quick else 20)
    asked.grid = (2 if asked.quick else 20) if asked.grid is None else asked.grid
    asked.docs = asked.docs or (asked.out / "paper" if asked.quick else DOCS)
    return asked


def _run(study: Study, asked: argparse.Namespace, path: Path) -> None:
    """Run one study and write its record after every start."""
    problem = problem_of(study.name, asked.quick)
    record: dict[str, Any] = {
        "study": study.name,
        "quick": asked.quick,
        "machine": machine(),
        "jobs": asked.jobs,
        "guess": asked.guess or "problem's own",
        "time_limit": asked.time_limit,
        "options": problem.options,
        "integrator": getattr(problem, "integrator", "of each task"),
        "bounds": design_bounds(problem),
        "rows": [],
    }
    kept = _kept(path, record) if asked.resume else {}
    record |= kept
    done = {row["seed"] for row in record["rows"]}
    starts = [
        Start(study.name, seed, asked.quick, asked.guess, asked.time_limit)
        for seed in range(asked.seeds)
        if seed not in done
    ]
    for row in each(row_of, starts, asked.jobs):
        record["rows"] = sorted([*record["rows"], row], key=lambda one: one["seed"])
        _write(path, record)
        print(
            f"{study.name} seed {row['seed']}: {row['status']}, {row['objective']:.4g} "
            f"{study.unit}, {row.get('seconds', 0.0):.1f} s"
        )
    if study.name == "quadcopter" and asked.grid and "grid" not in record:
        record["grid"] = plain(grid(asked.grid, asked.jobs))
        _write(path, record)
    _add_example(record, asked, path)
    _tell(study, record)


def _kept(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Return what an earlier run of the same study left, where it ran the same problem."""
    if not path.is_file():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    same = ("quick", "options", "guess", "integrator", "bounds", "time_limit")
    if any(found.get(name) != plain(record[name]) for name in same):
        print(f"{path.name}: of another problem or setting; started anew")
        return {}
    names = ("rows", "grid", "refined", "montage")
    return {name: found[name] for name in names if name in found}


def _add_example(record: dict[str, Any], asked: argparse.Namespace, path: Path) -> None:
    """Add the picture and the refined meshes of the first counted start."""
    good = counted(record)
    if not good or {"refined", "montage"} <= record.keys():
        return
    from codesign.report import solution_montage

    starts = [
        Start(record["study"], row["seed"], asked.quick, asked.guess, asked.time_limit)
        for row in good[: asked.refine_seeds]
    ]
    solution = solve(starts[0])
    try:
        record["montage"] = [
            solution_montage(part, part.compile(), markers=part.markers)
            for part in parts_of(solution)
        ]
    except Exception as error:  # hours of solving are worth more than a picture
        print(f"{record['study']}: no picture of the motion ({type(error).__name__}: {error})")
    if asked.refine_limit > 0:
        most = None if asked.quick else asked.most_knots
        record["refined"] = plain(refined(starts, most, asked.refine_limit))
    _write(path, record)


def _tell(study: Study, record: dict[str, Any]) -> None:
    told, meshes = summary(record), mesh_values(record)
    head = ["", "success", "median s", "objective", "refined", "knots"]
    row = [
        study.name,
        f"{told['counted']}/{told['starts']}",
        told["median_s"],
        told["objective"],
        *(meshes[1] if meshes else (None, None)),
    ]
    show(f"{study.name}: {study.question} [{study.unit}]", head, [row])
    for check in checks(record):
        print(f"  {'met    ' if check.is_met else 'NOT MET'} {check.what}: {check.got}")


def _write(path: Path, record: dict[str, Any]) -> None:
    """Write a record whole, or not at all."""
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(plain(record), indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def _records(folder: Path, quick: bool) -> dict[str, Any]:
    """Return every study's record that is there, in the order of the studies."""
    found = {}
    for study in STUDIES:
        path = folder / f"{study.name}.json"
        if path.is_file():
            record = json.loads(path.read_text(encoding="utf-8"))
            if record["quick"] == quick and record["rows"]:
                found[study.name] = record
    return found


def _draw(records: dict[str, Any], folder: Path, target: Path) -> list[str]:
    """Write every picture and return their names."""
    target.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, str] = {}
    for name, record in records.items():
        if "grid" in record:
            drawn["quadcopter_surface.svg"] = pictures.surface(record["grid"])
        for i, picture in enumerate(record.get("montage", ())):
            drawn[f"{name}_motion{f'_{i + 1}' if i else ''}.svg"] = picture
        if counted(record):
            drawn[f"{name}_designs.svg"] = pictures.spreads(record)
    for name, picture in drawn.items():
        (target / name).write_text(picture, encoding="utf-8")
    return list(drawn)


if __name__ == "__main__":
    main()
