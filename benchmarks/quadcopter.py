"""Does every random start of the quadcopter end at its known optimum, and how soon?

Published (Spielberg et al. 2017, Sec. IV-D): radius 0.5 m and mass 0.3 kg from 20 of 20 starts,
each in under 5 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.common import lap, median, record, recorded, settings, show
from problems.quadcopter.problem import Quadcopter

PUBLISHED = {
    "source": "Spielberg et al. (2017), Functional Co-Optimization of Articulated Robots, IV-D",
    "design": {"radius": 0.5, "mass": 0.3},
    "found": 20,
    "starts": 20,
    "seconds_below": 5.0,
}
TOLERANCE = 1e-3  # [m], [kg]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    asked = settings(__doc__, 20, arguments)
    problem = Quadcopter()
    build_s = problem.transcription.build_seconds
    rows = [_row(problem, seed) for seed in range(asked.seeds)]
    found = sum(row["found"] for row in rows)
    columns = ["solve_s", "wall_s", "iterations", "peak_thrust_n", "radius", "mass"]
    table = [[row["seed"], row["found"], *(row[name] for name in columns)] for row in rows]
    table.append(["median", f"{found}/{len(rows)}", *(_median(rows, name) for name in columns)])
    headings = ["seed", "found", "solve s", "wall s", "iterations", "peak N", "radius m", "mass kg"]
    show(f"quadcopter: {len(rows)} random starts, built in {build_s:.2f} s", headings, table)
    print("  published: 20/20 at radius 0.5 m and mass 0.3 kg, each in under 5 s")
    record(
        "quadcopter",
        asked,
        {
            "published": PUBLISHED,
            "build_s": build_s,
            "found": found,
            "starts": len(rows),
            "median": {name: _median(rows, name) for name in columns},
            "slowest_solve_s": max(row["solve_s"] for row in rows),
            "rows": rows,
        },
    )


def _row(problem: Quadcopter, seed: int) -> dict[str, Any]:
    times: dict[str, float] = {}
    with recorded() as watched, lap(times, "wall"):
        solution = problem.solve(seed=seed)
    wanted = PUBLISHED["design"]
    distance = max(abs(solution.design[name] - value) for name, value in wanted.items())
    return {
        "seed": seed,
        "found": solution.success and distance <= TOLERANCE,
        "status": str(solution.status),
        "solve_s": watched.solve_s,
        "setup_s": watched.setup_s,
        "wall_s": times["wall"],
        "iterations": solution.iterations,
        "peak_thrust_n": solution.objective,
        **solution.design,
        "distance": distance,
    }


def _median(rows: Sequence[dict[str, Any]], name: str) -> float:
    return median([row[name] for row in rows])


if __name__ == "__main__":
    main()
