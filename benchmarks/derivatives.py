"""What do exact derivatives cost, traced and by XLA, and what share of an iteration are they?

Three tables:

- one interval's residuals, Jacobian and Hessian of λᵀc with respect to everything the interval
  reads: time to make them and to run them for each of the intervals of a motion, by
  `codesign.tracing` and by XLA (`jit` of `vmap` of `jacfwd` and `hessian`). Same function, same
  points, in turns, and the values compared. CasADi runs on one thread; XLA may use every core.
- one iteration of a whole hexapod solve: derivative functions, progress callback, and the rest,
  which is IPOPT with its linear algebra.
- one iteration with one to six design variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from benchmarks.common import (
    Settings,
    Vector,
    lap,
    median,
    record,
    recorded,
    seconds_per_call,
    settings,
    show,
)
from benchmarks.half_swing import HalfSwing
from codesign import Problem
from codesign.solve.ipopt import Ipopt, Point, StopRequest
from codesign.solve.starts import initial_point, variable_bounds
from codesign.solve.transcribed import ipopt_options
from codesign.tracing import to_casadi
from codesign.tracing.derivatives import derivatives
from codesign.transcription import Layout, interval_function, interval_rows
from draft_core.backend import jax, jnp
from problems.hexapod.problem import Hexapod
from problems.quadcopter.problem import Quadcopter

KINDS = ("value", "jacobian", "hessian")
_ORDER = ("leg_length", "body_mass", "leg_mass", "body_x", "body_y", "body_z")
_ITERATIONS = 60  # of a solve with 1 to 6 design variables
_RELAXATION = 1e-2
_ROUNDS = 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    asked = settings(__doc__, 5, arguments)
    problems: list[type[Problem]] = [HalfSwing] if asked.quick else [Quadcopter, Hexapod]
    intervals = {}
    for kind in problems:
        intervals[kind.__name__.lower()] = _interval_costs(kind(), asked.quick)
    walker: type[Problem] = Quadcopter if asked.quick else Hexapod
    results = {
        "intervals": intervals,
        "iteration": _iteration_costs(walker(), asked),
        "design_variables": _design_costs(walker, asked),
    }
    record("derivatives", asked, results)


@dataclass(frozen=True)
class Interval:
    """One interval's residuals as a function of one vector, and where to evaluate it.

    Attributes:
        f: local variables (n,) → residuals (m,), in physical units.
        points: local variables of every interval, shape (N, n).
        multipliers: λ of every interval, shape (N, m).
    """

    f: Callable[[jax.Array], jax.Array]
    points: Vector
    multipliers: Vector


def interval_of(problem: Problem) -> Interval:
    """Return a problem's interval function at points around its start."""
    plant = problem.plant
    layout = Layout.of(plant, problem.knots)
    residuals = interval_function(plant, problem.integrator)
    widths = [layout.nq, layout.nv, layout.nq, layout.nv, layout.nu]
    widths += [layout.nc, 4 * layout.nc, layout.nc, 1]

    def f(local: jax.Array) -> jax.Array:
        parts = jnp.split(local, np.cumsum(widths))
        return residuals(*parts[:8], parts[8][0], parts[9])

    rng = np.random.default_rng(0)
    z = initial_point(plant, layout, problem.keyframes(), problem.duration, 0)
    points = z[layout.interval_index]
    points = points + 0.01 * rng.normal(size=points.shape)
    rows = sum(group.size for group in interval_rows(plant))
    return Interval(f, points, rng.normal(size=(len(points), rows)))


def _interval_costs(problem: Problem, quick: bool) -> dict[str, Any]:
    """Return build and run times of one problem's interval, traced and by XLA."""
    interval = interval_of(problem)
    traced, graph = _traced(interval)
    compiled = _compiled(interval, alone=not quick)
    budget, rounds = (0.01, 2) if quick else (0.2, 9)
    n = len(interval.points)
    figures: dict[str, Any] = {}
    for kind in KINDS:
        ours, theirs = traced[kind], compiled[kind]
        batch = {"traced": ours.batch, "xla": theirs.batch}
        seconds = seconds_per_call(batch, budget, rounds)
        figures[kind] = {
            "xla_build_s": theirs.build_s,
            "traced_run_s": seconds["traced"] / n,
            "xla_run_s": seconds["xla"] / n,
            "run_ratio": seconds["xla"] / seconds["traced"],
            "largest_difference": _difference(ours.result(), theirs.result()),
        }
        if theirs.one is not None and ours.one is not None:
            one = {"traced": ours.one, "xla": theirs.one}
            seconds = seconds_per_call(one, budget, rounds)
            figures[kind] |= {
                "traced_run_alone_s": seconds["traced"],
                "xla_run_alone_s": seconds["xla"],
                "run_ratio_alone": seconds["xla"] / seconds["traced"],
            }
    name = type(problem).__name__.lower()
    _show_interval(name, interval, graph, figures)
    return {"intervals": n, **graph, "figures": figures}


def _show_interval(
    name: str, interval: Interval, graph: Mapping[str, Any], figures: Mapping[str, Any]
) -> None:
    rows = [
        [
            kind,
            row["xla_build_s"],
            *(1e3 * row["traced_run_s"], 1e3 * row["xla_run_s"], row["run_ratio"]),
            *(
                1e3 * row.get("traced_run_alone_s", np.nan),
                1e3 * row.get("xla_run_alone_s", np.nan),
            ),
            row.get("run_ratio_alone"),
            f"{row['largest_difference']:.0e}",
        ]
        for kind, row in figures.items()
    ]
    columns = ["", "XLA build s", "run ms", "XLA ms", "ratio", "alone ms", "XLA ms", "ratio"]
    count, width = interval.points.shape
    show(
        f"{name}: per interval ({width} variables, {graph['operations']} operations), "
        f"{count} at once and one alone",
        [*columns, "difference"],
        rows,
    )
    xla = sum(row["xla_build_s"] for row in figures.values())
    print(
        f"  build: traced in {graph['trace_s']:.2f} s, Jacobian and Hessian in "
        f"{graph['differentiate_s']:.2f} s; XLA {xla:.1f} s for the three, {count} at once"
    )


@dataclass(frozen=True)
class Timed:
    """A function ready to be timed.

    Attributes:
        batch: evaluates it at all points.
        one: evaluates it at one point; None when that is left out.
        result: dense results at all points, shape (N, ·).
        build_s: time to make `batch`, where it is made by itself; [s].
    """

    batch: Callable[[], Any]
    one: Callable[[], Any] | None
    result: Callable[[], Vector]
    build_s: float = 0.0


def _traced(interval: Interval) -> tuple[dict[str, Timed], dict[str, Any]]:
    """Return the functions by tracing, and facts about the graph."""
    times: dict[str, float] = {}
    n = interval.points.shape[1]
    with lap(times, "trace"):
        function = to_casadi(interval.f, np.zeros(n), name="interval")
    z = ca.SX.sym("z", n)
    with lap(times, "differentiate"):
        made = derivatives(function(z), z, ca.SX.sym("p", 0), "interval")
    inputs = {
        "value": [interval.points, interval.points[:, :0]],
        "jacobian": [interval.points, interval.points[:, :0]],
        "hessian": [interval.points, interval.points[:, :0], interval.multipliers],
    }
    timed = {kind: _traced_function(getattr(made, kind), inputs[kind]) for kind in KINDS}
    graph = {
        "variables": n,
        "rows": interval.multipliers.shape[1],
        "operations": function.n_instructions(),
        "trace_s": times["trace"],
        "differentiate_s": times["differentiate"],
        "jacobian_entries": made.jacobian.nnz_out(0),
        "hessian_entries": made.hessian.nnz_out(0),
        "jacobian_operations": made.jacobian.n_instructions(),
        "hessian_operations": made.hessian.n_instructions(),
    }
    return timed, graph


def _traced_function(function: ca.Function, inputs: list[Vector]) -> Timed:
    count = len(inputs[0])
    mapped = function.map(count)
    one, _ = _buffered(function, [value[0] for value in inputs])
    batch, _ = _buffered(mapped, inputs)

    def result() -> Vector:
        dense = [np.array(function(*row)) for row in zip(*inputs, strict=True)]
        return np.array([_symmetric(d).ravel() for d in dense])

    return Timed(batch, one, result)


def _symmetric(matrix: Vector) -> Vector:
    """Return a square upper triangle with its mirror image, other matrices as they are."""
    is_triangle = matrix.shape[0] == matrix.shape[1] and not np.tril(matrix, -1).any()
    return matrix + np.triu(matrix, 1).T if is_triangle else matrix


def _buffered(function: ca.Function, inputs: list[Vector]) -> tuple[Callable[[], Any], Vector]:
    """Return a call of a function on fixed memory, free of conversions, and its output's memory."""
    buffer: Any
    buffer, call = function.buffer()
    held: list[Any] = [np.ascontiguousarray(value, dtype=float).ravel() for value in inputs]
    output: Any = np.zeros(function.nnz_out(0))
    for i, value in enumerate(held):
        if value.size:
            buffer.set_arg(i, memoryview(value))
    buffer.set_res(0, memoryview(output))

    def run(keep: Any = (buffer, held, output)) -> None:
        call()

    return run, output


def _compiled(interval: Interval, alone: bool) -> dict[str, Timed]:
    """Return the functions by XLA, for all points and, if asked, for one."""

    def lagrangian(x: jax.Array, lam: jax.Array) -> jax.Array:
        return jnp.dot(lam, interval.f(x))

    points, multipliers = jnp.asarray(interval.points), jnp.asarray(interval.multipliers)
    functions = {
        "value": (interval.f, (points,)),
        "jacobian": (jax.jacfwd(interval.f), (points,)),
        "hessian": (jax.hessian(lagrangian), (points, multipliers)),
    }
    return {kind: _compiled_function(f, inputs, alone) for kind, (f, inputs) in functions.items()}


def _compiled_function(
    f: Callable[..., jax.Array], inputs: tuple[jax.Array, ...], alone: bool
) -> Timed:
    times: dict[str, float] = {}
    with lap(times, "batch"):
        batch = jax.jit(jax.vmap(f)).lower(*inputs).compile()
    one = None
    if alone:
        first = tuple(value[0] for value in inputs)
        call = jax.jit(f).lower(*first).compile()
        one = lambda: call(*first).block_until_ready()  # noqa: E731
    return Timed(
        batch=lambda: batch(*inputs).block_until_ready(),
        one=one,
        result=lambda: np.asarray(batch(*inputs)).reshape(len(inputs[0]), -1),
        build_s=times["batch"],
    )


def _difference(ours: Vector, theirs: Vector) -> float:
    """Return the largest difference, relative where entries exceed 1."""
    return float(np.max(np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))))


def _iteration_costs(problem: Problem, asked: Settings) -> dict[str, Any]:
    """Return where the time of an iteration goes in whole solves."""
    _ = problem.transcription
    rows = []
    for seed in range(asked.seeds):
        with recorded() as watched:
            solution = problem.solve(seed=seed)
        total, iterations = watched.solve_s, watched.iterations
        functions = sum(sum(stage.result.timings.values()) for stage in watched.stages)
        callback = sum(stage.callback_seconds for stage in watched.stages)
        rows.append(
            {
                "seed": seed,
                "success": solution.success,
                "iterations": iterations,
                "iteration_s": total / iterations,
                "derivatives_s": functions / iterations,
                "callback_s": callback / iterations,
                "rest_s": (total - functions - callback) / iterations,
            }
        )
    figures = ("iteration_s", "derivatives_s", "callback_s", "rest_s")
    middle = {name: median([row[name] for row in rows]) for name in figures}
    ratio = median([row["derivatives_s"] / row["rest_s"] for row in rows])
    show(
        f"{type(problem).__name__.lower()}: one iteration, {len(rows)} solves",
        ["", "all ms", "derivatives ms", "callback ms", "IPOPT ms", "derivatives / IPOPT"],
        [["median", *(1e3 * middle[name] for name in figures), ratio]],
    )
    return {"median": middle, "derivatives_to_rest": ratio, "rows": rows}


def _design_costs(walker: type[Problem], asked: Settings) -> dict[str, Any]:
    """Return the time of an iteration with one, two, … of a problem's design variables."""
    names = sorted(walker.design, key=lambda name: _ORDER.index(name) if name in _ORDER else 0)
    iterations, turns = (5, 1) if asked.quick else (_ITERATIONS, _ROUNDS)
    runs = {}
    for count in range(1, len(names) + 1):
        design = {name: walker.design[name] for name in names[:count]}
        runs[count] = _limited_solver(walker(design=design), iterations)
    rows = []
    for turn in range(turns):
        for seed in range(asked.seeds):
            for count, run in runs.items():
                rows.append({"turn": turn, "seed": seed, "variables": count, **run(seed)})
    figures = ("iteration_s", "derivatives_s", "iterations")
    middle = {
        count: {f: median([row[f] for row in rows if row["variables"] == count]) for f in figures}
        for count in runs
    }
    last = len(names)
    growth = {name: middle[last][name] / middle[last - 1][name] - 1.0 for name in figures[:2]}
    show(
        f"{walker.__name__.lower()}: one of the first {iterations} iterations",
        ["design variables", "all ms", "derivatives ms"],
        [[n, 1e3 * row["iteration_s"], 1e3 * row["derivatives_s"]] for n, row in middle.items()],
    )
    print(
        f"  from {last - 1} to {last}: all {growth['iteration_s']:+.1%}, "
        f"derivatives {growth['derivatives_s']:+.1%}"
    )
    return {
        "order": names,
        "median": middle,
        "growth_of_the_last": growth,
        "rows": rows,
    }


def _limited_solver(problem: Problem, iterations: int) -> Callable[[int], dict[str, float]]:
    """Return: seed → times per iteration of the first iterations of a solve; [s]."""
    ready = problem.transcription
    solver = Ipopt(ready.program, {**ipopt_options(), "max_iter": iterations})
    return partial(_first_iterations, problem, solver)


def _first_iterations(problem: Problem, solver: Ipopt, seed: int) -> dict[str, float]:
    program, plant = problem.transcription.program, problem.plant
    layout = program.layout
    z = initial_point(plant, layout, problem.keyframes(), problem.duration, seed)
    z[layout.fields["peaks"]] = 1.1 * np.max(np.abs(z[layout.fields["u"]]))
    low, high = variable_bounds(
        plant, layout, problem.duration, (problem.step_range[0], problem.step_range[1])
    )
    box = (low / program.scale, high / program.scale)
    start = Point(np.clip(z / program.scale, *box))
    result = solver.run(start, box, (_RELAXATION, 1.0), StopRequest(), lambda *_: None)
    return {
        "iterations": result.iterations,
        "iteration_s": result.seconds / result.iterations,
        "derivatives_s": sum(result.timings.values()) / result.iterations,
    }


if __name__ == "__main__":
    main()
