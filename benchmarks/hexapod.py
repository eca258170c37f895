"""How often, how fast and how well is the hexapod solved from random starts, for both β?

Beside the published table. The paper's problem is not this one to the letter (problems/hexapod says
where it had to be read); its torques are of its own solver's local optima.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.common import Settings, lap, median, record, recorded, settings, show
from problems.hexapod.problem import Hexapod

BETAS = (0.0, 1.0)
_SMALL = {"knots": 4, "distance": 0.1}  # of the quick run

#: Mean and standard deviation over the feasible runs.
PUBLISHED: dict[str, Any] = {
    "source": "Spielberg et al. (2017), Functional Co-Optimization of Articulated Robots, Table II",
    "runs": 10,
    "feasible_runs": 7,
    "print_errors": {
        "beta 0 body_mass": "0.027 is below its own lower bound 0.3",
        "beta 1 body_x": "1.50 is above its own upper bound 1.2; 1.05 would agree with the text",
    },
    "leg_length": "0.15 m as built; not in the table",
    "beta_0": {
        "peak_torque_nm": (1.49, 0.572),
        "regularisation": (0.394, 0.019),
        "body_x": (1.01, 0.154),
        "body_y": (0.092, 0.008),
        "body_z": (0.138, 0.023),
        "leg_mass": (0.08, 0.0),
        "body_mass": (0.027, 0.46),
        "seconds": (2246, 2230),
    },
    "beta_1": {
        "peak_torque_nm": (1.28, 0.189),
        "regularisation": (0.447, 0.026),
        "body_x": (1.50, 0.014),
        "body_y": (0.10, 0.0),
        "body_z": (0.15, 0.0),
        "leg_mass": (0.08, 0.0),
        "body_mass": (0.433, 0.019),
        "seconds": (2049, 2007),
    },
}
_MARKED = {(0.0, "body_mass"), (1.0, "body_x")}  # the print errors
_COLUMNS = {
    "peak_torque_nm": "peak N m",
    "iterations": "iterations",
    "solve_s": "solve s",
    "contact_work_share": "contact work",
    "complementarity": "compl.",
    "dynamics_residual": "dynamics",
}
_COMPARED = (
    *("peak_torque_nm", "regularisation", "body_x", "body_y", "body_z", "leg_length", "leg_mass"),
    *("body_mass", "seconds"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    asked = settings(__doc__, 10, arguments)
    results = {}
    for beta in BETAS[:1] if asked.quick else BETAS:
        results[f"beta_{beta:g}"] = _runs(beta, asked)
    record("hexapod", asked, {"published": PUBLISHED, **results})


def _runs(beta: float, asked: Settings) -> dict[str, Any]:
    """Solve from every start with one β, print both tables and return everything."""
    problem = Hexapod(beta=beta, **(_SMALL if asked.quick else {}))
    build_s = problem.transcription.build_seconds
    rows = [_row(problem, seed) for seed in range(asked.seeds)]
    good = [row for row in rows if row["success"]]
    table = [[row["seed"], row["status"], *(row[name] for name in _COLUMNS)] for row in rows]
    middle = {name: median([row[name] for row in good]) for name in _COLUMNS}
    table.append(["median", f"{len(good)}/{len(rows)}", *middle.values()])
    title = f"hexapod, β = {beta:g}: {len(rows)} random starts, built in {build_s:.2f} s"
    show(title, ["seed", "", *_COLUMNS.values()], table)
    spread = _compare(beta, good)
    return {
        "build_s": build_s,
        "starts": len(rows),
        "feasible": len(good),
        "median": middle,
        "mean_and_deviation": spread,
        "rows": rows,
    }


def _row(problem: Hexapod, seed: int) -> dict[str, Any]:
    times: dict[str, float] = {}
    with recorded() as watched, lap(times, "wall"):
        solution = problem.solve(seed=seed)
    audit = solution.audit
    design = np.array(list(solution.design.values()))
    change = design - np.array([value.initial for value in solution.design_values.values()])
    work = audit.energy.total_actuator_work
    return {
        "seed": seed,
        "success": solution.success,
        "status": str(solution.status),
        "message": solution.message,
        "objective": solution.objective,
        "peak_torque_nm": float(np.max(np.abs(solution.u))),
        "regularisation": 0.5 * float(change @ change),
        "iterations": solution.iterations,
        "solve_s": watched.solve_s,
        "setup_s": watched.setup_s,
        "seconds": times["wall"],
        "contact_work_share": audit.energy.worst_contact_work / work if work > 0 else np.inf,
        "actuator_work_j": work,
        "complementarity": audit.max_complementarity,
        "dynamics_residual": audit.max_dynamics_residual,
        "violation": audit.max_violation,
        **solution.design,
    }


def _compare(beta: float, good: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Print mean (deviation) beside the published ones and return ours."""
    ours = {
        name: (float(np.mean(values)), float(np.std(values)))
        for name in _COMPARED
        if (values := [row[name] for row in good])
    }
    theirs = PUBLISHED[f"beta_{beta:g}"]
    rows = [
        [
            name,
            _spread(ours[name]) if name in ours else None,
            _spread(theirs[name]) + ("*" if (beta, name) in _MARKED else "")
            if name in theirs
            else None,
        ]
        for name in _COMPARED
    ]
    title = f"hexapod, β = {beta:g}: mean (deviation) of the feasible runs"
    show(title, ["", f"ours, {len(good)} runs", "published"], rows)
    print("  published: 7 of 10 runs feasible; * outside its own printed bounds")
    return ours


def _spread(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.4g} ({pair[1]:.2g})"


if __name__ == "__main__":
    main()
