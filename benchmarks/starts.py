"""Which start does a solver fare best from, with nobody to draw keyframes?

Every study from every start and seed: how many are solved, in how many iterations and how long, and
to which objective. ``--studies a,b`` and ``--guesses a,b`` take some of them.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.common import Settings, median, record, settings, show
from codesign import Problem
from codesign.errors import CodesignError

STUDIES = {
    "hexapod": "problems.hexapod.problem:Hexapod",
    "biped_flat": "problems.biped_flat.problem:BipedFlat",
    "biped_step": "problems.biped_step.problem:BipedStep",
    "quadruped_torque": "problems.quadruped_torque.problem:QuadrupedTorque",
    "quadruped_time": "problems.quadruped_time.problem:QuadrupedTime",
    "quadcopter": "problems.quadcopter.problem:Quadcopter",
    "hopper": "problems.hopper.problem:Hopper",
}
GUESSES = ("keyframes", "home", "automatic", "improved")
_LIMIT = 300.0  # [s] for one start
_SMALL = {"knots": 4}  # of the quick run


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    chooser = argparse.ArgumentParser(add_help=False)
    chooser.add_argument("--studies", default=",".join(STUDIES))
    chooser.add_argument("--guesses", default=",".join(GUESSES[:3]))
    chosen, rest = chooser.parse_known_args(arguments)
    asked = settings(__doc__, 3, rest)
    studies, guesses = chosen.studies.split(","), chosen.guesses.split(",")
    studies = studies[:1] if asked.quick else studies
    results: dict[str, Any] = {}
    for study in studies:
        results[study] = _study(study, guesses, asked)
        record("starts", asked, {"studies": results})


def _study(study: str, guesses: Sequence[str], asked: Settings) -> dict[str, Any]:
    """Solve one study from every start and seed, print a table and return the runs."""
    module, _, name = STUDIES[study].partition(":")
    problem: Problem = getattr(importlib.import_module(module), name)(
        **(_SMALL if asked.quick else {})
    )
    build_s = problem.transcription.build_seconds
    found, table = {}, []
    for guess in guesses:
        if guess == "keyframes" and not problem.keyframes():
            continue
        runs = [_run(problem, guess, seed) for seed in range(asked.seeds)]
        good = [run for run in runs if run["success"]]
        found[guess] = runs
        table.append(
            [
                guess,
                f"{len(good)}/{len(runs)}",
                median([run["iterations"] for run in runs]),
                median([run["feasible_after"] for run in runs]),
                median([run["start_s"] for run in runs]),
                median([run["seconds"] for run in runs]),
                median([run["objective"] for run in good]),
                min((run["objective"] for run in good), default=None),
            ]
        )
    columns = ["solved", "iterations", "feasible after", "start s", "s", "objective", "best"]
    show(f"{study}: {asked.seeds} seeds, built in {build_s:.1f} s", ["start", *columns], table)
    return {"build_s": build_s, "guesses": found}


def _run(problem: Problem, guess: str, seed: int) -> dict[str, Any]:
    """Solve from one start; the figures of iterations leave out none of its stages."""
    from codesign.solve.guesses import guessed_point

    ready = problem.transcription
    began = time.perf_counter()
    guessed_point(problem, ready, seed, guess)
    start_s = time.perf_counter() - began
    began = time.perf_counter()
    try:
        solution = problem.solve(seed=seed, guess=guess, time_limit=_LIMIT)
    except CodesignError as error:  # the search ended at a design that is no robot
        return {
            "seed": seed,
            "success": False,
            "status": type(error).__name__,
            "message": str(error),
            "iterations": float("nan"),
            "feasible_after": float("nan"),
            "start_s": start_s,
            "seconds": time.perf_counter() - began,
            "objective": float("nan"),
        }
    stages = solution.phases
    return {
        "seed": seed,
        "success": solution.success,
        "status": str(solution.status),
        "message": solution.message,
        "iterations": solution.iterations,
        "feasible_after": stages[0].iterations if stages else 0,
        "start_s": start_s,
        "seconds": time.perf_counter() - began,
        "objective": solution.objective,
    }


if __name__ == "__main__":
    main()
