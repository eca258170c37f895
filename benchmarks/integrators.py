"""Which step makes coarse answers honest: backward Euler or the implicit midpoint rule?

The same studies from the same starts with both; then one seed of each on finer meshes, each warm
from the last. "energy" is what the integrator made (+) or lost (−), as a share of the work of the
actuators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.common import median, record, settings, show
from codesign import Problem
from codesign.transcription import INTEGRATORS
from problems.biped_flat.problem import BipedFlat
from problems.biped_step.problem import BipedStep
from problems.hexapod.problem import Hexapod
from problems.quadruped_torque.problem import QuadrupedTorque

STUDIES: dict[str, type[Problem]] = {
    "hexapod": Hexapod,
    "biped_flat": BipedFlat,
    "biped_step": BipedStep,
    "quadruped_torque": QuadrupedTorque,
}
MESHES = (16, 31, 61)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    asked = settings(__doc__, 5, arguments)
    studies = {"hexapod": Hexapod} if asked.quick else STUDIES
    small = {"knots": 4, "distance": 0.1} if asked.quick else {}
    results: dict[str, Any] = {}
    for name, kind in studies.items():
        for integrator in INTEGRATORS:
            problem = kind(integrator=integrator, **small)
            rows = [_row(problem, seed) for seed in range(asked.seeds)]
            results[f"{name}, {integrator}"] = {
                "rows": rows,
                "meshes": [] if asked.quick else _meshes(problem),
            }
    _print(results)
    record("integrators", asked, results)


def _row(problem: Problem, seed: int) -> dict[str, Any]:
    return {"seed": seed, **_told(problem.solve(seed=seed, guess="automatic"))}


def _told(solution: Any) -> dict[str, Any]:
    energy = solution.audit.energy
    work = max(energy.total_actuator_work, 1e-12)
    return {
        "knots": len(solution.t),
        "success": solution.success,
        "status": str(solution.status),
        "objective": solution.objective,
        "energy_share": energy.made_by_integrator / work,
        "contact_work_share": energy.worst_contact_work / work,
        "iterations": solution.iterations,
        "wall_s": solution.wall_s,
    }


def _meshes(problem: Problem) -> list[dict[str, Any]]:
    """Return one seed on finer and finer meshes, up to the first that fails."""
    rows: list[dict[str, Any]] = []
    last = None
    for knots in MESHES:
        options = {**problem.options, "knots": knots}
        solution = type(problem)(**options).solve(seed=0, start=last, guess="automatic")
        rows.append(_told(solution))
        if not solution.success:
            break
        last = solution
    return rows


def _print(results: dict[str, Any]) -> None:
    table, meshes = [], []
    for name, result in results.items():
        good = [row for row in result["rows"] if row["success"]]
        solved = f"{len(good)}/{len(result['rows'])}"
        columns = ("objective", "energy_share", "iterations")
        middle = [median([row[c] for row in good]) for c in columns]
        table.append([name, solved, *middle])
        for row in result["meshes"]:
            meshes.append([name, row["knots"], row["status"], *(row[c] for c in columns)])
    show("random starts, medians", ["", "solved", "objective", "energy", "iterations"], table)
    if meshes:
        headings = ["seed 0", "knots", "", "objective", "energy", "iterations"]
        show("finer meshes", headings, meshes)


if __name__ == "__main__":
    main()
