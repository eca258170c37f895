"""Where a result goes: checked before the solve starts, so that no typo can lose its result."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codesign.errors import SolutionError
from codesign.swap import clear_leftovers

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
_TRIAL = ".codesign-trial-"
_MAX_RECORD = 64 * 1024 * 1024  # [bytes]


def check_result_folder(folder: Path) -> None:
    """Refuse a folder that cannot take a result, and clear what a killed run left beside it.

    It may be new, empty, or hold an earlier result, which is then replaced whole.

    Raises:
        SolutionError: it is a file, holds other things, or cannot be written or replaced.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise SolutionError(f"cannot write to '{folder}': it is a file; give a folder")
        _check_replaceable(folder)
        clear_leftovers(folder)
        if folder.is_dir():
            _check_content(folder)
        _check_writable(folder)
    except SolutionError:
        raise
    except OSError as error:
        shown = str(folder) if len(str(folder)) < 120 else f"{str(folder)[:60]}…"
        raise SolutionError(f"cannot write to '{shown}': {error.strerror or error}") from None
    except (ValueError, RuntimeError) as error:  # a NUL in the name, links in a circle
        raise SolutionError(f"cannot write to {str(folder)!r}: {error}") from None


def _check_replaceable(folder: Path) -> None:
    """A result changes places with the one before it: not under a shell, nor a mounted disk."""
    here, target = Path.cwd().resolve(), folder.resolve()
    if here.is_relative_to(target):
        raise SolutionError(
            f"cannot write to '{folder}': it is the folder you are in, which a result would "
            "replace; give a folder below it"
        )
    if os.path.ismount(target):
        raise SolutionError(
            f"cannot write to '{folder}': it is where a disk is mounted; give a folder below it"
        )


def _check_content(folder: Path) -> None:
    record = read_record(folder)
    own = RESULT_FILES | _named_files(record)
    names = list(_entries(folder))
    foreign = sorted(name for name in names if not _is_own(name, own))
    if names and (foreign or record is None):
        shown = ", ".join((foreign or sorted(names))[:3])
        raise SolutionError(
            f"cannot write to '{folder}': it holds {shown}, which no solve wrote; "
            "give a new or empty folder"
        )


def _entries(folder: Path) -> Iterator[str]:
    """Yield files and empty folders below a folder; a link is an entry, not what it points to."""

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=refuse):
        below = Path(place).relative_to(folder)
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        yield from ((below / name).as_posix() for name in (*files, *links))
        if not folders and not files and below.parts:
            yield f"{below.as_posix()}/"


def _is_own(name: str, own: frozenset[str]) -> bool:
    is_draft = name.startswith((".report.html.", _TRIAL))
    is_mesh = re.fullmatch(r"robot/assets/[\w.-]+", name) is not None
    is_own = name.removesuffix(".part") in own or name in ("robot/", "robot_source/")
    return is_draft or is_mesh or is_own


def _named_files(record: dict[str, Any] | None) -> frozenset[str]:
    named = (record or {}).get("sha256")
    files = named if isinstance(named, dict) else {}
    return frozenset(name for name in files if name.startswith("robot_source/"))


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
