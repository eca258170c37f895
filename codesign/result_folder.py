"""Where a result goes: checked before the solve starts, so that no typo can lose its result."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from codesign.errors import SolutionError

#: What a solve writes under --out.
RESULT_FILES = frozenset(
    {"solution.json", "trajectory.npz", "robot", "robot_source", "report.html", "replay.json"}
)


def check_result_folder(folder: Path) -> None:
    """Refuse a folder that cannot take a result.

    It may be new, empty, or hold an earlier result, which is then replaced.

    Raises:
        SolutionError: it is a file, holds other things, or cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise SolutionError(f"cannot write to '{folder}': it is a file; give a folder")
    if folder.is_dir():
        _check_content(folder)
    _check_writable(folder)


def _check_content(folder: Path) -> None:
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise SolutionError(f"cannot read '{folder}': {error.strerror}") from None
    foreign = sorted(names - RESULT_FILES)
    if names and (foreign or not is_result(folder)):
        shown = ", ".join((foreign or sorted(names))[:3])
        raise SolutionError(
            f"cannot write to '{folder}': it holds {shown}, which no solve wrote; "
            "give a new or empty folder"
        )


def is_result(folder: Path) -> bool:
    """Whether the folder's solution.json is one that a solve wrote."""
    try:
        record = json.loads((folder / "solution.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and {"problem", "status", "design"} <= record.keys()


def _check_writable(folder: Path) -> None:
    """Try it: permissions alone do not tell of read-only and full disks."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise SolutionError(f"cannot write to '{folder}': '{nearest}' is a file")
    try:
        with tempfile.TemporaryDirectory(prefix=".codesign-", dir=nearest):
            pass
    except OSError as error:
        raise SolutionError(f"cannot write to '{folder}': {error.strerror}") from None
