"""Which way to state complementarity, and which solver settings, solve the contact studies best?

Every candidate differs from the default in one thing. A success is what the audit calls one,
whatever was solved: the sum of a contact's products, scaled, is at most 1e-4, recomputed from the
motion. Seconds are of processor time, which a busy machine stretches less than wall time; set
OMP_NUM_THREADS=1, so that waiting threads do not count.

    python -m benchmarks.formulations [--quick] [--seeds N] [--studies A B] [--candidates A B]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import OUT, Settings, median, positive, record, show
from codesign.problem import Problem
from codesign.solve.driver import solve
from codesign.solve.homotopy import RELAXATIONS
from codesign.solve.progress import Progress
from codesign.solve.strategy import DEFAULT, Strategy
from problems import registry

STUDIES = ("biped_flat", "hexapod", "quadruped_torque", "biped_step")
_SMALL = {"hexapod": {"knots": 4, "distance": 0.1}}  # of the quick run
LIMIT = 120.0  # [s] of processor time that a solve may take


@dataclass(frozen=True)
class Candidate:
    """A strategy and the relaxations it passes through."""

    strategy: Strategy = DEFAULT
    relaxations: tuple[float, ...] = RELAXATIONS


CANDIDATES: dict[str, Candidate] = {
    "scholtes_contact": Candidate(),
    "scholtes_pair": Candidate(Strategy("scholtes_pair")),
    "scholtes_knot": Candidate(Strategy("scholtes_knot")),
    "lin_fukushima": Candidate(Strategy("lin_fukushima"), (*RELAXATIONS, 5e-7)),
    "fischer_burmeister": Candidate(Strategy("fischer_burmeister")),
    "l1_penalty": Candidate(Strategy("l1_penalty")),
    "shorter": Candidate(relaxations=(1e-2, 1e-4)),
    "at_once": Candidate(relaxations=(1e-4,)),
    "unscaled": Candidate(Strategy(options=(("nlp_scaling_method", "none"),))),
    "monotone": Candidate(Strategy(options=(("mu_strategy", "monotone"),))),
    "tight": Candidate(Strategy(early=())),
    "wider": Candidate(relaxations=(1e-1, 1e-2, 1e-3, 1e-4)),
    "longer": Candidate(relaxations=(1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)),
    "held_modes": Candidate(Strategy(fixes_modes=True)),
    "probing": Candidate(Strategy(options=(("mu_oracle", "probing"),))),
    "loqo": Candidate(Strategy(options=(("mu_oracle", "loqo"),))),
    "spral": Candidate(Strategy(options=(("linear_solver", "spral"),))),
    "uno": Candidate(Strategy(solver="uno")),
}
_QUICK = ("scholtes_contact", "scholtes_knot")
_COLUMNS = ("solved", "objective", "iterations", "seconds")


@dataclass(frozen=True)
class _Asked:
    settings: Settings
    studies: tuple[str, ...]
    candidates: tuple[str, ...]
    limit: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    asked = _asked(arguments)
    results: dict[str, Any] = {study: {} for study in asked.studies}
    problems = {study: _problem(study, asked.settings.quick) for study in asked.studies}
    for name in asked.candidates:
        for study, problem in problems.items():
            rows = [_row(problem, name, seed, asked.limit) for seed in range(asked.settings.seeds)]
            found = results[study][name] = {**_summary(rows), "rows": rows}
            print(f"{study} {name}: {[found[key] for key in _COLUMNS]}", flush=True)
        record("formulations", asked.settings, {"limit_s": asked.limit, "studies": results})
    for study, found in results.items():
        table = [
            [name, f"{row['solved']}/{len(row['rows'])}", *(row[key] for key in _COLUMNS[1:])]
            for name, row in found.items()
        ]
        show(f"{study}: medians over the random starts", ["", *_COLUMNS], table)


def _problem(study: str, quick: bool) -> Problem:
    """Return a study's problem, built."""
    problem = registry()[study].load()(**(_SMALL.get(study, {}) if quick else {}))
    problem.transcription  # noqa: B018  before the clock runs
    return problem


def _summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return successes, median objective of those, and median effort of all."""
    return {
        "solved": sum(row["success"] for row in rows),
        "objective": median([row["objective"] for row in rows if row["success"]]),
        "iterations": median([row["iterations"] for row in rows]),
        "seconds": median([row["seconds"] for row in rows]),
    }


class _OutOfTime(Exception):
    """A solve took longer than it may."""


def _row(problem: Problem, name: str, seed: int, limit: float) -> dict[str, Any]:
    candidate, began = CANDIDATES[name], time.process_time()
    iterations = 0

    def watch(progress: Progress) -> None:
        nonlocal iterations
        iterations = max(iterations, progress.iteration or 0)
        if time.process_time() - began > limit:
            raise _OutOfTime

    try:
        solution = solve(
            problem,
            seed=seed,
            relaxations=candidate.relaxations,
            solver=candidate.strategy.solver,
            strategy=candidate.strategy,
            progress=watch,
        )
    except _OutOfTime:
        return {
            "seed": seed,
            "success": False,
            "status": "time_limit",
            "iterations": iterations,
            "seconds": time.process_time() - began,
        }
    return {
        "seed": seed,
        "success": solution.success,
        "status": str(solution.status),
        "message": solution.message,
        "objective": solution.objective,
        "iterations": solution.iterations,
        "seconds": time.process_time() - began,
        "complementarity": solution.audit.max_complementarity,
        "violation": solution.audit.max_violation,
        "phases": [
            (phase.phase, phase.relaxation, phase.iterations, phase.status)
            for phase in solution.phases
        ],
    }


def _asked(arguments: Sequence[str] | None) -> _Asked:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smallest sizes; proves nothing")
    parser.add_argument("--seeds", type=positive, help="random starts (4 by default)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"folder of the JSON ({OUT})")
    parser.add_argument("--studies", nargs="+", choices=STUDIES)
    parser.add_argument("--candidates", nargs="+", choices=tuple(CANDIDATES))
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"[s] of a solve ({LIMIT:g})")
    given = parser.parse_args(arguments)
    studies = tuple(given.studies or (("hexapod",) if given.quick else STUDIES[:3]))
    candidates = tuple(given.candidates or (_QUICK if given.quick else _runnable()))
    seeds = given.seeds or (1 if given.quick else 4)
    return _Asked(Settings(given.quick, seeds, given.out), studies, candidates, given.limit)


def _runnable() -> list[str]:
    """Return all candidates; SPRAL only where OpenMP is set as it needs, before Python starts."""
    has_spral = os.environ.get("OMP_CANCELLATION", "").upper() == "TRUE"
    return [name for name in CANDIDATES if name != "spral" or has_spral]


if __name__ == "__main__":
    main()
