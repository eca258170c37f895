"""Solutions on disk: solution.json, trajectory.npz, replay.json, robots, report.html. No pickle."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import draft_core
from codesign.audit import Audit, Violation
from codesign.errors import SolutionError
from codesign.physics import EnergyAudit
from codesign.plant import robot_source
from codesign.solution import DesignValue, PhaseRecord, Solution
from codesign.solve.status import SolveStatus
from codesign.terrain import FLAT
from draft_core import Robot

FORMAT = 1
SOURCE = "robot_source"
ARRAYS = ("t", "q", "v", "u", "contact_force", "dt", "normal", "tangent", "slide")


def save(solution: Solution, folder: Path, command: str | None = None) -> Path:
    """Write a solution to a folder; see `Solution.save`."""
    from codesign.report import write_report

    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "solution.json", json.dumps(to_json(solution), indent=2, allow_nan=False))
        arrays = {name: getattr(solution, name) for name in ARRAYS}
        np.savez_compressed(folder / "trajectory.npz", **arrays)
        solution.export(folder / "robot")
        replay = solution.replay() if solution.success and solution.terrain == FLAT.name else None
        if replay is not None:
            replay.save(folder / "replay.json")
        else:
            (folder / "replay.json").unlink(missing_ok=True)
        _write_source(solution, folder / SOURCE)
        write_report(
            solution,
            solution.compile(),
            folder / "report.html",
            question=solution.question or None,
            markers={name: np.asarray(p) for name, p in solution.markers.items()},
            command=command,
            replay=replay,
        )
    except OSError as error:
        raise SolutionError(f"cannot write the solution to '{folder}': {error.strerror}") from error
    return folder


def _write_source(solution: Solution, target: Path) -> None:
    """Keep the robot's own files, so that the result can be compiled where the robot is not."""
    target.mkdir(exist_ok=True)
    for name, text in solution.robot_source.items():
        _write(target / name, text.rstrip("\n"))


def _write(path: Path, text: str) -> None:
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_text(text + "\n")
    temporary.replace(path)


def to_json(solution: Solution) -> dict[str, Any]:
    """Return everything but the arrays, in the names people script against."""
    audit = solution.audit
    return _finite(
        {
            "format": FORMAT,
            "problem": solution.problem,
            "options": dict(solution.options),
            "seed": solution.seed,
            "status": str(solution.status),
            "success": solution.success,
            "message": solution.message,
            "objective": solution.objective,
            "design": {name: asdict(value) for name, value in solution.design_values.items()},
            "max_dynamics_residual": audit.max_dynamics_residual,
            "max_violation": audit.max_violation,
            "max_complementarity": audit.max_complementarity,
            "worst": [asdict(violation) for violation in audit.worst],
            "energy": {
                "change": audit.energy.change.tolist(),
                "actuator_work": audit.energy.actuator_work.tolist(),
                "contact_work": audit.energy.contact_work.tolist(),
                "damping_work": audit.energy.damping_work.tolist(),
                "numerical_energy": audit.energy.numerical_energy.tolist(),
            },
            "notes": list(solution.notes),
            "phases": [asdict(phase) for phase in solution.phases],
            "iterations": solution.iterations,
            "wall_s": solution.wall_s,
            "build_s": solution.build_s,
            "robot_folder": solution.robot_folder,
            "terrain": solution.terrain,
            "question": solution.question,
            "markers": {name: list(point) for name, point in solution.markers.items()},
            "versions": dict(solution.versions),
        }
    )


def _finite(value: Any) -> Any:
    """Return the value with infinities and NaN as None, which JSON can hold."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def load_solution(folder: Path) -> Solution:
    """Read a saved solution; see `codesign.load`."""
    try:
        record = json.loads((folder / "solution.json").read_text())
        with np.load(folder / "trajectory.npz", allow_pickle=False) as stored:
            arrays = {name: np.array(stored[name]) for name in ARRAYS}
        robot = draft_core.load(folder / SOURCE)
        return _from_json(record, arrays, robot)
    except FileNotFoundError as error:
        raise SolutionError(
            f"'{folder}' holds no solution: {Path(str(error.filename)).name} is missing. "
            "Give a folder that `codesign solve` wrote"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise SolutionError(f"cannot read the solution in '{folder}': {error}") from error


def _from_json(record: dict[str, Any], arrays: dict[str, Any], robot: Robot) -> Solution:
    if record.get("format") != FORMAT:
        raise SolutionError(
            f"solution.json has format {record.get('format')!r}; this version reads format {FORMAT}"
        )
    energy = {k: np.array(v) for k, v in record["energy"].items() if k != "numerical_energy"}
    audit = Audit(
        worst=tuple(Violation(**violation) for violation in record["worst"]),
        max_dynamics_residual=_number(record["max_dynamics_residual"]),
        max_violation=_number(record["max_violation"]),
        max_complementarity=_number(record["max_complementarity"]),
        energy=EnergyAudit(**energy),
        objective=_number(record["objective"]),
    )
    return Solution(
        problem=record["problem"],
        options=record["options"],
        seed=record["seed"],
        status=SolveStatus(record["status"]),
        message=record["message"],
        objective=_number(record["objective"]),
        design_values={name: DesignValue(**value) for name, value in record["design"].items()},
        audit=audit,
        notes=tuple(record["notes"]),
        phases=tuple(PhaseRecord(**phase) for phase in record["phases"]),
        wall_s=_number(record["wall_s"]),
        build_s=_number(record["build_s"]),
        robot_folder=record["robot_folder"],
        robot=robot,
        robot_source=dict(robot_source(robot.folder)),
        terrain=record["terrain"],
        question=record["question"],
        markers=record["markers"],
        versions=record["versions"],
        **arrays,
    )
