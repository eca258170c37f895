"""A problem of this project beside the same program written by hand in CasADi.

Two comparisons from each random start, in turns:

- *the whole solve*: everything codesign runs (a feasibility stage, then the objective) against one
  run of the program by hand from the same start;
- *one stage*: the objective's stage against the program by hand from the point where that stage
  began, so that both do the same work. Solved once more to a tight tolerance the two agree, but
  for starts whose iterates part by rounding and end at another local optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from benchmarks.common import RecordedStage, Recording, Vector, lap, median, recorded
from benchmarks.handwritten import HandwrittenProgram
from codesign import Problem
from codesign.solve.ipopt import Ipopt, Point, StopRequest
from codesign.solve.transcribed import ipopt_options

TIGHT = 1e-9  # where objectives are compared beyond what IPOPT's usual tolerance leaves open


def handwritten_solver(
    program: HandwrittenProgram, options: dict[str, Any] | None = None
) -> ca.Function:
    """Return IPOPT on a program written by hand, with codesign's options unless given others."""
    chosen = {"print_level": 0, "sb": "yes", **(ipopt_options() if options is None else options)}
    expressions = {"x": program.x, "f": program.f, "g": program.g}
    return ca.nlpsol("by_hand", "ipopt", expressions, {"ipopt": chosen, "print_time": False})


@dataclass(frozen=True)
class Run:
    """One solve of either program.

    Attributes:
        solve_s: time in IPOPT; [s].
        iterations: of IPOPT.
        success: whether it ended well.
        objective: the final objective.
        design: design variables by name.
    """

    solve_s: float
    iterations: int
    success: bool
    objective: float
    design: dict[str, float]


@dataclass(frozen=True)
class Duel:
    """Both programs from one start, with median times of repeated solves.

    Attributes:
        seed: of the start.
        ours: the whole solve by codesign.
        by_hand: the whole solve by hand.
        stage: the objective's stage of `ours`.
        stage_by_hand: the program by hand from the same point.
        tight_gap: difference of the stage's objectives at tolerance `TIGHT`.
    """

    seed: int
    ours: Run
    by_hand: Run
    stage: Run
    stage_by_hand: Run
    tight_gap: float


@dataclass(frozen=True)
class Pair:
    """A problem ready to solve, and the program by hand.

    Attributes:
        problem: the project's problem.
        program: the same by hand.
        solver: IPOPT on it.
        tight: IPOPT on the project's program at tolerance `TIGHT`.
        tight_by_hand: the same on the program by hand.
    """

    problem: Problem
    program: HandwrittenProgram
    solver: ca.Function
    tight: Ipopt
    tight_by_hand: ca.Function

    def duel(self, seed: int, rounds: int) -> Duel:
        """Solve both from one start, in turns, several times."""
        turns = [self._turn(seed) for _ in range(rounds)]
        stage = turns[0][0]
        middle = [_median_run([runs[i] for _, runs in turns]) for i in range(4)]
        ours = self.tight.run(
            Point(stage.start), stage.bounds, stage.parameters, StopRequest(), lambda *_: None
        )
        theirs = _run(self.tight_by_hand, self.program, stage.start, stage.bounds)
        gap = abs(ours.objective - float(theirs["f"]))
        return Duel(seed, middle[0], middle[1], middle[2], middle[3], gap)

    def _turn(self, seed: int) -> tuple[RecordedStage, list[Run]]:
        """Return the objective's stage and all four runs."""
        with recorded() as watched:
            solution = self.problem.solve(seed=seed)
        n = self.problem.transcription.program.layout.size
        stage = _objective_stage(watched, n)
        start, bounds = watched.stages[0].start[:n], stage.bounds
        ours = Run(
            watched.solve_s,
            watched.iterations,
            solution.success,
            solution.objective,
            solution.design,
        )
        result = stage.result
        alone = Run(
            *(result.seconds, result.iterations, result.converged, result.objective),
            self._design(result.point.x),
        )
        by_hand = self._by_hand(start, bounds)
        return stage, [ours, by_hand, alone, self._by_hand(stage.start, bounds)]

    def _by_hand(self, start: Vector, bounds: tuple[Vector, Vector]) -> Run:
        times: dict[str, float] = {}
        with lap(times, "solve"):
            result = _run(self.solver, self.program, start, bounds)
        stats = self.solver.stats()
        return Run(
            *(times["solve"], int(stats["iter_count"]), bool(stats["success"])),
            *(float(result["f"]), self._design(np.array(result["x"]).ravel())),
        )

    def _design(self, x: Vector) -> dict[str, float]:
        ready = self.problem.transcription
        values = (x * ready.program.scale)[ready.program.layout.fields["design"]]
        return dict(zip(ready.plant.space.names, values.tolist(), strict=True))


@dataclass(frozen=True)
class Building:
    """What it took to get ready, the first time in this process and again.

    Attributes:
        ours_s: transcription and solvers of codesign, each time; [s].
        by_hand_s: expressions and solver by hand, each time; [s].
        first_answer_s: building and the first solve by codesign, start and audit included; [s].
    """

    ours_s: list[float]
    by_hand_s: list[float]
    first_answer_s: float


def build(
    problem: Callable[[], Problem], by_hand: Callable[[], HandwrittenProgram], rounds: int
) -> tuple[Pair, Building]:
    """Make both programs, several times, and return the first pair with all times."""
    made: list[tuple[Problem, HandwrittenProgram, ca.Function]] = []
    ours: list[float] = []
    hand: list[float] = []
    answers: list[float] = []
    for _ in range(rounds):
        times: dict[str, float] = {}
        with lap(times, "ours"):
            task = problem()
            _ = task.transcription
        with recorded() as watched, lap(times, "first solve"):
            task.solve(seed=0)
        with lap(times, "by hand"):
            program = by_hand()
            solver = handwritten_solver(program)
        made.append((task, program, solver))
        ours.append(times["ours"] + watched.setup_s)
        hand.append(times["by hand"])
        answers.append(times["ours"] + times["first solve"])
    task, program, solver = made[0]
    options = {**ipopt_options(), "tol": TIGHT, "constr_viol_tol": TIGHT}
    tight = Ipopt(task.transcription.program, options)
    pair = Pair(task, program, solver, tight, handwritten_solver(program, options))
    return pair, Building(ours, hand, answers[0])


def _objective_stage(watched: Recording, size: int) -> RecordedStage:
    """Return the first stage without stretch variables."""
    return next(stage for stage in watched.stages if len(stage.start) == size)


def _run(
    solver: ca.Function, program: HandwrittenProgram, start: Vector, bounds: tuple[Vector, Vector]
) -> dict[str, ca.DM]:
    return solver(x0=start, lbx=bounds[0], ubx=bounds[1], lbg=program.lower, ubg=program.upper)


def _median_run(same: list[Run]) -> Run:
    """Return the first of several equal solves, with their median time."""
    first = same[0]
    time = median([run.solve_s for run in same])
    return Run(time, first.iterations, first.success, first.objective, first.design)
