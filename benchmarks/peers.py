"""Is a problem stated here as quick to answer as the same program written by hand, or in dymos?

Two problems. *Spring*: a mass on a spring of 100 N/m starts at rest at 1 m; find the mass, from 0
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
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any

import casadi as ca
import numpy as np

from benchmarks import dymos_peer
from benchmarks.common import (
    RecordedStage,
    Settings,
    lap,
    median,
    record,
    recorded_stages,
    settings,
    show,
)
from benchmarks.half_swing import HalfSwing
from benchmarks.handwritten import HandwrittenProgram
from benchmarks.handwritten.quadcopter import quadcopter
from benchmarks.handwritten.spring import spring
from codesign import Problem
from codesign.solve.driver import ipopt_options
from codesign.solve.ipopt import Ipopt, Point, StopRequest
from problems.quadcopter.problem import Quadcopter

OURS, BY_HAND, DYMOS = "codesign", "CasADi by hand", "dymos"
ROUNDS = 5  # solves of one start, and builds
_DYMOS_SEEDS = 3  # a quadcopter takes SLSQP some twenty seconds
_TIGHT = 1e-9  # where answers are compared for more than IPOPT's usual tolerance leaves open
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
        dymos_seeds: most starts for dymos.
    """

    name: str
    problem: Callable[[], Problem]
    by_hand: Callable[[], HandwrittenProgram]
    dymos: Callable[[int], dymos_peer.DymosAnswer]
    expected: dict[str, float]
    dymos_seeds: int


@dataclass(frozen=True)
class Answer:
    """One solve.

    Attributes:
        by: who made it.
        seed: of the start.
        build_s: making the solver, first time in this process; [s].
        solve_s: in the optimiser; [s].
        total_s: building and the first solve of this start, with codesign's audit of it; [s].
        iterations: of the optimiser.
        success: whether it says it converged.
        objective: the final objective.
        design: the answer.
    """

    by: str
    seed: int
    build_s: float
    solve_s: float
    total_s: float
    iterations: int
    success: bool
    objective: float
    design: dict[str, float]


TASKS = (
    Task("spring", HalfSwing, spring, lambda seed: dymos_peer.solve_spring(), {"mass": 5.0}, 1),
    Task(
        "quadcopter",
        Quadcopter,
        quadcopter,
        dymos_peer.solve_quadcopter,
        {"radius": 0.5, "mass": 0.3},
        _DYMOS_SEEDS,
    ),
)


def handwritten_solver(program: HandwrittenProgram, tolerance: float = 1e-6) -> ca.Function:
    """Return IPOPT on a program written by hand, with the options that codesign gives it."""
    options = {"print_level": 0, "sb": "yes", **_ipopt_options(tolerance)}
    expressions = {"x": program.x, "f": program.f, "g": program.g}
    return ca.nlpsol("by_hand", "ipopt", expressions, {"ipopt": options, "print_time": False})


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
    times = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
        )
        times.append(float(done.stdout.split()[-1]))
    return median(times)


def _compare(task: Task, asked: Settings, imports: dict[str, float]) -> dict[str, Any]:
    """Solve a task in every way, print the table and return everything."""
    seeds = range(asked.seeds if task.name != "spring" else 1)  # a spring has nothing random
    rounds = 1 if asked.quick else ROUNDS
    answers, builds, tight_gap = _ours_and_by_hand(task, seeds, rounds)
    skip_dymos = asked.quick and task.name == "quadcopter"
    if dymos_peer.is_installed() and not skip_dymos:
        import_module("dymos")  # imports are timed apart
        answers += [_dymos(task, seed) for seed in range(min(len(seeds), task.dymos_seeds))]
    summary = _summary(answers)
    columns = [
        "",
        "import s",
        "build s",
        "solve s",
        "first answer s",
        "iterations",
        "objective",
        "solved",
    ]
    names = list(task.expected)
    rows = [
        [
            *(who, imports.get(who), row["build_s"], row["solve_s"], row["total_s"]),
            *(
                f"{row['iterations']:g}",
                f"{row['objective']:.7g}",
                f"{row['solved']}/{row['starts']}",
            ),
            *(f"{row['design'][name]:.5f}" for name in names),
        ]
        for who, row in summary.items()
    ]
    starts = f"{len(seeds)} start{'s' if len(seeds) > 1 else ''}"
    show(f"{task.name}: medians of {starts}, one run", [*columns, *names], rows)
    verdict = _verdict(answers) | {"tight_objective_gap": tight_gap}
    print(
        f"  codesign / by hand: solve {verdict['solve_ratio']:.2f}, iterations "
        f"{verdict['iteration_ratio']:.2f}; objectives differ by {verdict['objective_gap']:.1e}, "
        f"at most {verdict['largest_objective_gap']:.1e}, and {tight_gap:.1e} at tolerance {_TIGHT:g}"
    )
    if not dymos_peer.is_installed():
        print(f"  dymos: {dymos_peer.NOT_INSTALLED}")
    elif skip_dymos:
        print("  dymos: left out of the quick run")
    return {
        "expected": task.expected,
        "builds_s": builds,
        "summary": summary,
        "ratios": verdict,
        "dymos": dymos_peer.OPTIMISER if dymos_peer.is_installed() else dymos_peer.NOT_INSTALLED,
        "rows": [asdict(answer) for answer in answers],
    }


def _ours_and_by_hand(
    task: Task, seeds: Sequence[int], rounds: int
) -> tuple[list[Answer], dict[str, list[float]], float]:
    """Return the answers of both programs from the same starts, every build's time, and the gap.

    The gap is the largest difference of objectives when both are solved to `_TIGHT`.
    """
    builds: dict[str, list[float]] = {OURS: [], BY_HAND: []}
    made: list[tuple[Problem, HandwrittenProgram, ca.Function]] = []
    for _ in range(rounds):
        times: dict[str, float] = {}
        with lap(times, OURS):
            problem = task.problem()
            _ = problem.transcription
        with lap(times, BY_HAND):
            program = task.by_hand()
            solver = handwritten_solver(program)
        made.append((problem, program, solver))
        for who, seconds in times.items():
            builds[who].append(seconds)
    problem, program, solver = made[0]
    tight = Ipopt(problem.transcription.program, _ipopt_options(_TIGHT))
    tight_by_hand = handwritten_solver(program, _TIGHT)
    answers, gap = [], 0.0
    for seed in seeds:
        with recorded_stages() as stages:
            pairs = [
                _pair(problem, program, solver, seed, list(task.expected), builds)
                for _ in range(rounds)
            ]
        answers += [_median_answer(list(same)) for same in zip(*pairs, strict=True)]
        first = stages[0]
        ours = tight.run(
            Point(first.start), first.bounds, first.parameters, StopRequest(), lambda *_: None
        )
        theirs = _from_the_same_start(tight_by_hand, program, first)
        gap = max(gap, abs(ours.objective - float(theirs["f"])))
    return answers, builds, gap


def _pair(
    problem: Problem,
    program: HandwrittenProgram,
    solver: ca.Function,
    seed: int,
    names: list[str],
    builds: dict[str, list[float]],
) -> tuple[Answer, Answer]:
    """Solve once by codesign and, from the same start, once by hand."""
    times: dict[str, float] = {}
    with recorded_stages() as stages, lap(times, OURS):
        solution = problem.solve(seed=seed)
    ours = Answer(
        by=OURS,
        seed=seed,
        build_s=builds[OURS][0],
        solve_s=sum(stage.result.seconds for stage in stages),
        total_s=builds[OURS][0] + times[OURS],
        iterations=solution.iterations,
        success=solution.success,
        objective=solution.objective,
        design=solution.design,
    )
    with lap(times, BY_HAND):
        result = _from_the_same_start(solver, program, stages[0])
    ready, stats = problem.transcription.program, solver.stats()
    z = np.array(result["x"]).ravel() * ready.scale
    hand = Answer(
        by=BY_HAND,
        seed=seed,
        build_s=builds[BY_HAND][0],
        solve_s=times[BY_HAND],
        total_s=builds[BY_HAND][0] + times[BY_HAND],
        iterations=int(stats["iter_count"]),
        success=bool(stats["success"]),
        objective=float(result["f"]),
        design=dict(zip(names, z[ready.layout.fields["design"]].tolist(), strict=True)),
    )
    return ours, hand


def _from_the_same_start(
    solver: ca.Function, program: HandwrittenProgram, stage: RecordedStage
) -> dict[str, ca.DM]:
    return solver(
        x0=stage.start,
        lbx=stage.bounds[0],
        ubx=stage.bounds[1],
        lbg=program.lower,
        ubg=program.upper,
    )


def _median_answer(same: list[Answer]) -> Answer:
    """Return the first of repeated solves of one start, with the median of their solve times."""
    return replace(same[0], solve_s=median([answer.solve_s for answer in same]))


def _dymos(task: Task, seed: int) -> Answer:
    found = task.dymos(seed)
    return Answer(
        by=DYMOS,
        seed=seed,
        build_s=found.build_s,
        solve_s=found.solve_s,
        total_s=found.build_s + found.solve_s,
        iterations=found.iterations,
        success=found.success,
        objective=found.objective,
        design=found.design,
    )


def _summary(answers: list[Answer]) -> dict[str, Any]:
    """Return medians over the starts, by who made the answers; the total is the first start's."""
    rows: dict[str, Any] = {}
    for who in dict.fromkeys(answer.by for answer in answers):
        mine = [answer for answer in answers if answer.by == who]
        figures = ("build_s", "solve_s", "iterations", "objective")
        rows[who] = {name: median([getattr(a, name) for a in mine]) for name in figures} | {
            "total_s": mine[0].total_s,
            "starts": len(mine),
            "solved": sum(a.success for a in mine),
            "design": {n: median([a.design[n] for a in mine]) for n in mine[0].design},
        }
    return rows


def _verdict(answers: list[Answer]) -> dict[str, float]:
    """Return how the project's program compares with the one by hand, start by start."""
    ours = [answer for answer in answers if answer.by == OURS]
    hand = [answer for answer in answers if answer.by == BY_HAND]
    pairs = list(zip(ours, hand, strict=True))
    return {
        "solve_ratio": median([a.solve_s / b.solve_s for a, b in pairs]),
        "largest_solve_ratio": max(a.solve_s / b.solve_s for a, b in pairs),
        "iteration_ratio": median([a.iterations / b.iterations for a, b in pairs]),
        "objective_gap": median([abs(a.objective - b.objective) for a, b in pairs]),
        "largest_objective_gap": max(abs(a.objective - b.objective) for a, b in pairs),
    }


if __name__ == "__main__":
    main()
