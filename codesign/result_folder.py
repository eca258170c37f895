"""Where a result goes: checked before the solve starts, so that no typo can lose its result."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codesign.errors import SolutionError
from draft_core.swap import clear_leftovers, entries, is_in_the_way, settled, why_not_replaceable
from draft_core.written import foreign

#: What a solve writes under --out, besides further files of robot_source/ that solution.json names.
RESULT_FILES = frozenset(
    {
        "solution.json",
        "trajectory.npz",
        "report.html",
        "replay.json",
        "robot/robot.xml",
        "robot/scene.xml",
        "robot/robot.urdf",
        "robot/parameters_resolved.yaml",
        "robot/feasibility_report.yaml",
        "robot_source/parameters.yaml",
        "robot_source/tree.yaml",
    }
)
TASKS = "tasks"  # the folder of the tasks that share a design, each a result of its own
_TRIAL = ".codesign-trial-"
_EMPTY_FOLDERS = ("robot/", "robot_source/", f"{TASKS}/")
_MAX_RECORD = 64 * 1024 * 1024  # [bytes]


def check_result_folder(folder: Path) -> None:
    """Refuse a folder that cannot take a result, and clear what a killed run left beside it.

    It may be new, empty, or hold an earlier result, which is then replaced whole.

    Raises:
        SolutionError: it is a file, holds other things, or cannot be written or replaced.
    """
    try:
        if is_in_the_way(folder):
            raise SolutionError(f"cannot write to '{folder}': it is a file; give a folder")
        reason = why_not_replaceable(folder)
        if reason is not None:
            raise SolutionError(f"cannot write to '{folder}': {reason}")
        clear_leftovers(folder)
        found = settled(folder, lambda: _foreign(folder) if folder.is_dir() else [])
        if found:
            raise SolutionError(
                f"cannot write to '{folder}': it holds {', '.join(found[:3])}, which no solve "
                "wrote, or not as it is now; give a new or empty folder"
            )
        _check_writable(folder)
    except SolutionError:
        raise
    except OSError as error:
        shown = str(folder) if len(str(folder)) < 120 else f"{str(folder)[:60]}…"
        raise SolutionError(f"cannot write to '{shown}': {error.strerror or error}") from None
    except (ValueError, RuntimeError) as error:  # a NUL in the name, links in a circle
        raise SolutionError(f"cannot write to {str(folder)!r}: {error}") from None


def _foreign(folder: Path) -> list[str]:
    """Return what is in a folder and not as a solve wrote it."""
    record = read_record(folder)
    tasks = _tasks(record)
    parts = [f"{TASKS}/{name}" for name in tasks if (folder / TASKS / name).is_dir()]
    names = sorted(n for n in entries(folder) if not n.startswith(tuple(f"{p}/" for p in parts)))
    inside = [f"{part}/{name}" for part in parts for name in _foreign(folder / part)]
    if record is None:
        return [name for name in names if not _is_own(name, record)] or names
    strange = set(_strange(folder, record, names))
    return [name for name in names if name in strange or not _is_own(name, record)] + inside


def _tasks(record: dict[str, Any] | None) -> list[str]:
    """Return the names of the tasks that solution.json states, those that name a folder."""
    named = (record or {}).get("tasks")
    return [n for n in named if n.isidentifier()] if isinstance(named, dict) else []


def _strange(folder: Path, record: dict[str, Any] | None, names: list[str]) -> Iterator[str]:
    """Yield files that are not as they were written: of the robot, and of its source."""
    robot = folder / "robot"
    if robot.is_dir() and not robot.is_symlink():
        yield from (f"robot/{name}" for name in foreign(robot))
    for name, digest in _digests(record).items():
        path = folder / name
        if name in names and not path.is_symlink() and path.is_file():
            if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                yield name


def _is_own(name: str, record: dict[str, Any] | None) -> bool:
    """Tell whether a solve writes a file of this name; those of the robot tell it themselves."""
    is_draft = name.startswith((".report.html.", _TRIAL))
    is_own = name.removesuffix(".part") in RESULT_FILES or name in _EMPTY_FOLDERS
    is_source = name.startswith("robot_source/") and name in _digests(record)
    return is_draft or is_own or is_source or name.startswith("robot/")


def _digests(record: dict[str, Any] | None) -> dict[str, Any]:
    """Return the digests of the robot's files and the trajectory that solution.json states."""
    named = (record or {}).get("sha256")
    return named if isinstance(named, dict) else {}


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return what solution.json holds, or None where no solve wrote it."""
    path = folder / "solution.json"
    try:
        if path.stat().st_size > _MAX_RECORD:
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    is_ours = isinstance(record, dict) and {"problem", "status", "design"} <= record.keys()
    return record if is_ours else None


def _check_writable(folder: Path) -> None:
    """Try it: permissions alone do not tell of read-only and full disks, nor of names too long."""
    target = folder.resolve()
    near = next(place for place in target.parents if place.exists())
    for place in (near, target) if target.exists() else (near,):
        if not place.is_dir():
            raise SolutionError(f"cannot write to '{folder}': '{place}' is a file")
        with tempfile.TemporaryDirectory(prefix=_TRIAL, dir=place) as trial:
            if not target.exists():
                (Path(trial) / target.relative_to(near)).mkdir(parents=True)
