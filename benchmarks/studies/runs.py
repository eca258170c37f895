"""Solving a study from many starts, on finer meshes and, the quadcopter, over fixed designs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import lap, recorded
from benchmarks.studies.statement import (
    BY_NAME,
    COMPLEMENTARITY,
    CONTACT_WORK,
    DYNAMICS,
    Study,
)
from codesign.errors import CodesignError
from draft_core.errors import DraftError

if TYPE_CHECKING:
    from codesign.solution import Solution

TOLERANCE = 1e-3  # of a design that is known; [m], [kg]


@dataclass(frozen=True)
class Start:
    """One start of a study, fit to cross to another process.

    Attributes:
        study: name of the study.
        seed: seed of the start.
        quick: whether the study is in its smallest size.
        guess: what the start is made of, as `Problem.solve` takes it.
        time_limit: wall time of the solve; [s].
        for_meshes: whether the mesh is to be refined, see `Study.mesh_options`.
    """

    study: str
    seed: int
    quick: bool
    guess: str | None
    time_limit: float
    for_meshes: bool = False


@cache
def problem_of(name: str, quick: bool, for_meshes: bool = False) -> Any:
    """Return a study's problem, built once in each process."""
    return BY_NAME[name].make(quick, for_meshes)


def solve(start: Start) -> Any:
    """Return the solution from a start."""
    return problem_of(start.study, start.quick, start.for_meshes).solve(
        seed=start.seed,
        guess=start.guess,
        time_limit=start.time_limit,
        progress=lambda progress: None,
    )


def row_of(start: Start) -> dict[str, Any]:
    """Solve from a start and return what came of it, as plain figures."""
    problem = problem_of(start.study, start.quick)
    times: dict[str, float] = {}
    try:
        build_s = problem.transcription.build_seconds  # built once in each process
        with recorded() as watched, lap(times, "wall"):
            solution = solve(start)
    except (CodesignError, DraftError) as error:
        failed = {"status": type(error).__name__, "message": str(error), "objective": math.nan}
        return {"seed": start.seed, "success": False, "counted": False, **failed}
    functions = sum(sum(stage.result.timings.values()) for stage in watched.stages)
    callback = sum(stage.callback_seconds for stage in watched.stages)
    figures = figures_of(solution)
    counted = solution.success and is_counted(BY_NAME[start.study], figures, solution.design)
    return {
        "seed": start.seed,
        "success": solution.success,
        "counted": counted,
        "status": str(solution.status),
        "message": solution.message,
        "objective": solution.objective,
        "iterations": watched.iterations,
        "seconds": times["wall"],
        "solver_s": watched.solve_s,
        "derivatives_s": functions,
        "ipopt_s": watched.solve_s - functions - callback,
        "build_s": build_s,
        **figures,
        "design": dict(solution.design),
    }


def figures_of(solution: Any) -> dict[str, float]:
    """Return the audited figures of a solution; of several tasks, the worst of each."""
    rows = [_figures(part) for part in parts_of(solution)]
    return {name: max((row[name] for row in rows), key=abs) for name in rows[0]}


def parts_of(solution: Any) -> Sequence[Solution]:
    """Return a solution's motions: one, or one for each task."""
    return list(solution.tasks.values()) if hasattr(solution, "tasks") else [solution]


def _figures(solution: Solution) -> dict[str, float]:
    from codesign.solve.refine import MeshRecord

    audit, mesh = solution.audit, MeshRecord.of(solution)
    design = np.array([v.value - v.initial for v in solution.design_values.values()])
    return {
        "peak_effort": float(np.max(np.abs(solution.u), initial=0.0)),
        "duration": float(solution.t[-1]),
        "regularisation": 0.5 * float(design @ design),
        "actuator_work": audit.energy.total_actuator_work,
        "contact_work_share": mesh.contact_work_share,
        "energy_share": mesh.energy_share,
        "complementarity": audit.max_complementarity,
        "dynamics_residual": audit.max_dynamics_residual,
        "violation": audit.max_violation,
    }


def is_counted(study: Study, figures: Mapping[str, float], design: Mapping[str, float]) -> bool:
    """Return whether a success meets what is asked of every counted one."""
    return (
        figures["complementarity"] <= COMPLEMENTARITY
        and figures["dynamics_residual"] <= DYNAMICS
        and figures["contact_work_share"] <= CONTACT_WORK
        and (study.unit != "s" or figures["peak_effort"] <= study.most_torque * (1 + 1e-6))
        and all(abs(design[name] - value) <= TOLERANCE for name, value in study.design.items())
    )


def refined(starts: Iterable[Start], most_knots: int | None, time_limit: float) -> dict[str, Any]:
    """Return the meshes of the first start whose meshes converge, of the last where none does.

    Args:
        starts: counted successes, tried in this order.
        most_knots: of the finest mesh; None: one mesh finer than the start's own.
        time_limit: wall time of one start's meshes; [s].
    """
    found: dict[str, Any] = {}
    others: list[dict[str, Any]] = []
    for start in starts:
        solution = solve(replace(start, for_meshes=True))
        if not hasattr(solution, "refine"):
            return {"rows": [], "converged": False, "note": "not refined: several tasks"}
        if not solution.success:
            others.append({"seed": start.seed, "note": f"not solved: {solution.message}"})
            continue
        if found:
            others.append({"seed": found["seed"], "note": found["note"]})
        floor = BY_NAME[start.study].floor
        found = _meshes(solution, most_knots or 2 * len(solution.t) - 1, time_limit, floor)
        if found["converged"]:
            break
    return {"rows": [], "converged": False, "note": "not refined", **found, "others": others}


def _meshes(solution: Solution, most_knots: int, time_limit: float, floor: float) -> dict[str, Any]:
    fine = solution.refine(
        floor=floor,
        most_knots=most_knots,
        time_limit=time_limit,
        progress=lambda progress: None,
    )
    return {
        "seed": solution.seed,
        "rows": [asdict(row) for row in fine.mesh],
        "converged": fine.is_mesh_converged,
        "note": fine.notes[-1],
        "design": dict(fine.design),
        **{name: value for name, value in figures_of(fine).items()},
    }


def design_bounds(problem: Any) -> dict[str, Any]:
    """Return the design variables of a problem: name → (lower, upper, initial, unit)."""
    task = next(iter(problem.problems.values())) if hasattr(problem, "problems") else problem
    return {v.name: (v.lower, v.upper, v.initial, v.unit or "") for v in task.plant.space.variables}


@dataclass(frozen=True)
class FixedDesign:
    """A design of the quadcopter that has no choice.

    Attributes:
        radius: [m].
        mass: [kg].
        tries: starts, of which the best counts.
    """

    radius: float
    mass: float
    tries: int = 3


def peak_thrust_of(design: FixedDesign) -> float:
    """Return the least peak thrust of a fixed design; NaN where no start succeeded; [N]."""
    from problems.quadcopter.problem import Quadcopter

    width = 1e-6  # a design space needs some
    near = {
        name: (value - width, value + width, value)
        for name, value in (("radius", design.radius), ("mass", design.mass))
    }
    problem = Quadcopter(design=near)
    solution = problem.solve(starts=design.tries, progress=lambda progress: None)
    return solution.objective if solution.success else math.nan


def grid(count: int, jobs: int) -> dict[str, Any]:
    """Return the least peak thrust over a grid of fixed quadcopters."""
    from problems.quadcopter.problem import Quadcopter

    bounds = Quadcopter.design
    radius, mass = (
        np.linspace(bounds[name][0], bounds[name][1], count) for name in ("radius", "mass")
    )
    designs = [FixedDesign(float(r), float(m)) for m in mass for r in radius]
    times: dict[str, float] = {}
    with lap(times, "wall"):
        thrust = np.array(list(each(peak_thrust_of, designs, jobs))).reshape(count, count)
    least = int(np.nanargmin(thrust)) if np.isfinite(thrust).any() else 0
    return {
        "radius": radius,
        "mass": mass,
        "peak_thrust": thrust,
        "solved": int(np.isfinite(thrust).sum()),
        "minimum": {"radius": designs[least].radius, "mass": designs[least].mass},
        "seconds": times["wall"],
    }


def each(function: Callable[[Any], Any], items: Iterable[Any], jobs: int) -> Iterator[Any]:
    """Yield a function of every item in order, several at a time in processes of their own."""
    if jobs == 1:
        yield from map(function, items)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, items)
