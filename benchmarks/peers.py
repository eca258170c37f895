"""Is a problem stated here as quick to answer as the same program written by hand, or in dymos?

Two problems. *Spring*: a mass on a spring of 100 N/m starts at rest at 1 m; find the mass, up
to 10 kg, that is nearest −1 m after T = π √(5/100) s (benchmarks/half_swing.py; 5 kg).
*Quadcopter*: as in problems/quadcopter, radius 0.5 m and mass 0.3 kg.

The program by hand (benchmarks/handwritten) is the same one, row for row: same transcription,
scales, bounds, start and IPOPT options, with CasADi's own derivatives of SX expressions. dymos
transcribes its own way, see benchmarks/dymos_peer.py. All take turns in one run.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from benchmarks import dymos_peer
from benchmarks.by_hand_peer import TIGHT, Building, Duel, Run, build
from benchmarks.common import Settings, median, record, settings, show
from benchmarks.half_swing import HalfSwing
from benchmarks.handwritten import HandwrittenProgram
from benchmarks.handwritten.quadcopter import quadcopter
from benchmarks.handwritten.spring import spring
from codesign import Problem
from problems.quadcopter.problem import Quadcopter

OURS, BY_HAND, DYMOS = "codesign", "CasADi by hand", "dymos"
ROUNDS = 5  # solves of one start, and builds
_DYMOS_SEEDS = 3  # a quadcopter takes SLSQP some ten seconds
_IMPORTS = {
    OURS: "import codesign.solve, codesign.audit, problems.quadcopter.problem",
    BY_HAND: "import casadi, numpy",
    DYMOS: "import dymos, openmdao.api",
}


@dataclass(frozen=True)
class Task:
    """A problem and its peers.

    Attributes:
        name: of the task.
        problem: makes the project's problem.
        by_hand: makes the same program by hand.
        dymos: solves it in dymos for a seed.
        expected: the answer.
        is_random: whether starts differ.
    """

    name: str
    problem: Callable[[], Problem]
    by_hand: Callable[[], HandwrittenProgram]
    dymos: Callable[[int], dymos_peer.DymosAnswer]
    expected: dict[str, float]
    is_random: bool


TASKS = (
    Task("spring", HalfSwing, spring, lambda seed: dymos_peer.solve_spring(), {"mass": 5.0}, False),
    Task(
        "quadcopter",
        Quadcopter,
        quadcopter,
        dymos_peer.solve_quadcopter,
        {"radius": 0.5, "mass": 0.3},
        True,
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    asked = settings(__doc__, 10, arguments)
    results: dict[str, Any] = {"imports_s": _imports(asked)}
    for task in TASKS:
        results[task.name] = _compare(task, asked, results["imports_s"])
    record("peers", asked, results)


def _imports(asked: Settings) -> dict[str, float]:
    """Return the time that each takes to import, in a fresh process; [s]."""
    whom = [OURS, BY_HAND, *([DYMOS] if dymos_peer.is_installed() else [])]
    return {} if asked.quick else {who: _import_seconds(_IMPORTS[who]) for who in whom}


def _import_seconds(statement: str) -> float:
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    command = [sys.executable, "-W", "ignore", "-c", code]
    times = []
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(float(done.stdout.split()[-1]))
    return median(times)


def _compare(task: Task, asked: Settings, imports: dict[str, float]) -> dict[str, Any]:
    """Solve a task in every way, print the table and return everything."""
    seeds = range(asked.seeds if task.is_random else 1)
    rounds = 1 if asked.quick else ROUNDS
    pair, building = build(task.problem, task.by_hand, rounds)
    duels = [pair.duel(seed, rounds) for seed in seeds]
    skip_dymos = asked.quick and task.is_random
    others: list[dymos_peer.DymosAnswer] = []
    if dymos_peer.is_installed() and not skip_dymos:
        import_module("dymos")  # imports are timed apart
        others = [task.dymos(seed) for seed in seeds[:_DYMOS_SEEDS]]
    summary = _summary(duels, building, others)
    ratios = _ratios(duels)
    _show(task, summary, ratios, imports)
    if not dymos_peer.is_installed():
        print(f"  dymos: {dymos_peer.NOT_INSTALLED}")
    elif skip_dymos:
        print("  dymos: left out of the quick run")
    return {
        "expected": task.expected,
        "building": asdict(building),
        "summary": summary,
        "ratios": ratios,
        "duels": [asdict(duel) for duel in duels],
        "dymos": dymos_peer.OPTIMISER if dymos_peer.is_installed() else dymos_peer.NOT_INSTALLED,
        "dymos_answers": [asdict(answer) for answer in others],
    }


def _summary(
    duels: list[Duel], building: Building, others: list[dymos_peer.DymosAnswer]
) -> dict[str, Any]:
    """Return medians over the starts, by who made the answers; first builds and answers."""
    ours, hand = building.ours_s[0], building.by_hand_s[0]
    rows = {
        OURS: _medians([d.ours for d in duels], ours, building.first_answer_s),
        BY_HAND: _medians([d.by_hand for d in duels], hand, hand + duels[0].by_hand.solve_s),
    }
    if others:
        first = others[0]
        rows[DYMOS] = _medians(others, first.build_s, first.build_s + first.solve_s)
    return rows


def _medians(
    runs: Sequence[Run | dymos_peer.DymosAnswer], build_s: float, first_answer_s: float
) -> dict[str, Any]:
    figures = ("solve_s", "iterations", "objective")
    return {
        "build_s": build_s,
        "first_answer_s": first_answer_s,
        **{name: median([getattr(run, name) for run in runs]) for name in figures},
        "starts": len(runs),
        "solved": sum(run.success for run in runs),
        "design": {name: median([run.design[name] for run in runs]) for name in runs[0].design},
    }


def _ratios(duels: list[Duel]) -> dict[str, float]:
    """Return how codesign compares with the program by hand, start by start."""
    whole = [duel.ours.solve_s / duel.by_hand.solve_s for duel in duels]
    stage = [duel.stage.solve_s / duel.stage_by_hand.solve_s for duel in duels]
    gaps = [abs(duel.stage.objective - duel.stage_by_hand.objective) for duel in duels]
    return {
        "solve": median(whole),
        "largest_solve": max(whole),
        "iterations": median([d.ours.iterations / d.by_hand.iterations for d in duels]),
        "stage_solve": median(stage),
        "largest_stage_solve": max(stage),
        "stage_iterations": median(
            [duel.stage.iterations / duel.stage_by_hand.iterations for duel in duels]
        ),
        "stage_objective_gap": median(gaps),
        "largest_stage_objective_gap": max(gaps),
        "tight_objective_gap": median([duel.tight_gap for duel in duels]),
        "largest_tight_objective_gap": max(duel.tight_gap for duel in duels),
    }


def _show(
    task: Task, summary: dict[str, Any], ratios: dict[str, float], imports: dict[str, float]
) -> None:
    names = list(task.expected)
    columns = ["", "import s", "build s", "solve s", "first answer s", "iterations", "objective"]
    rows = [
        [
            *(who, imports.get(who), row["build_s"], row["solve_s"], row["first_answer_s"]),
            *(f"{row['iterations']:g}", f"{row['objective']:.7g}"),
            *(f"{row['solved']}/{row['starts']}", *(f"{row['design'][n]:.5f}" for n in names)),
        ]
        for who, row in summary.items()
    ]
    starts = summary[OURS]["starts"]
    title = f"{task.name}: {starts} start{'s' if starts > 1 else ''}, medians"
    show(title, [*columns, "solved", *names], rows)
    print(
        f"  codesign / by hand, whole solve: time {ratios['solve']:.2f} (largest "
        f"{ratios['largest_solve']:.2f}), iterations {ratios['iterations']:.2f}\n"
        f"  objective stage from one point:  time {ratios['stage_solve']:.2f} (largest "
        f"{ratios['largest_stage_solve']:.2f}), iterations {ratios['stage_iterations']:.2f}; "
        f"objectives\n  differ by {ratios['stage_objective_gap']:.1e} (largest "
        f"{ratios['largest_stage_objective_gap']:.1e}), at tolerance {TIGHT:g} by "
        f"{ratios['tight_objective_gap']:.1e} (largest {ratios['largest_tight_objective_gap']:.1e})"
    )


if __name__ == "__main__":
    main()
