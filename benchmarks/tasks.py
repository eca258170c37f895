"""What does each task pay for a design that it shares with others?

Each task of `biped_flat_and_step` beside its specialist, the same task alone with a design of its
own, from the same random starts; the specialist is solved from the shared answer as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.common import lap, record, settings, show
from codesign.tasks import TasksSolution, price_of_sharing, specialists
from problems.biped_flat_and_step.problem import BipedFlatAndStep

PUBLISHED = {
    "source": "Spielberg et al. (2017), Functional Co-Optimization of Articulated Robots, Table I",
    "peak_torque_nm": {"flat": 0.506, "step": 0.651},  # each with a design of its own
}
QUICK = {"knots": 3}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    asked = settings(__doc__, 3, arguments)
    tasks = BipedFlatAndStep(**(QUICK if asked.quick else {}))
    times: dict[str, float] = {}
    with lap(times, "shared"):
        shared = tasks.solve(seed=0, starts=asked.seeds)
    with lap(times, "specialists"):
        alone = specialists(tasks, 0, shared=shared, starts=asked.seeds)
    prices = price_of_sharing(shared, alone)
    columns = ["specialist", "shared", "ratio"]
    show(
        f"{type(tasks).__name__}: {shared.status}, {_solved(shared, asked.seeds)} of "
        f"{asked.seeds} starts solved, {times['shared']:.1f} s",
        ["task", "specialist N m", "shared N m", "ratio"],
        [[row.task, *(getattr(row, name) for name in columns)] for row in prices],
    )
    show(
        "designs",
        ["variable", "shared", *(row.task for row in alone), "unit"],
        [
            [name, value.value, *(row.design.get(name) for row in alone), value.unit]
            for name, value in shared.design_values.items()
        ],
    )
    print(f"  published, each alone: {PUBLISHED['peak_torque_nm']} N m")
    record(
        "tasks",
        asked,
        {
            "published": PUBLISHED,
            "shared": {**_told(shared, asked.seeds), "wall_s": times["shared"]},
            "specialists": [asdict(row) for row in alone],
            "specialists_wall_s": times["specialists"],
            "prices": [asdict(row) for row in prices],
        },
    )


def _solved(shared: TasksSolution, starts: int) -> int:
    return sum(row.success for row in shared.starts) if starts > 1 else int(shared.success)


def _told(shared: TasksSolution, starts: int) -> Mapping[str, Any]:
    return {
        "status": str(shared.status),
        "message": shared.message,
        "solved": _solved(shared, starts),
        "starts": starts,
        "objective": shared.objective,
        "objectives": {name: task.objective for name, task in shared.tasks.items()},
        "design": shared.design,
        "iterations": shared.iterations,
        "build_s": shared.build_s,
        "rows": [asdict(row) for row in shared.starts],
    }


if __name__ == "__main__":
    main()
