"""Where the files are that a problem names: its robot's folder, its override files."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codesign.errors import ProblemError

if TYPE_CHECKING:
    from codesign.problem import Problem


def places(problem: Problem, given: Path) -> list[Path]:
    """Return where a path may be.

    Beside the file of the class that states the robot, in the working directory, in the project.
    """
    if given.is_absolute():
        return [given]
    owner = next(kind for kind in type(problem).__mro__ if "robot" in vars(kind))
    try:
        beside = Path(inspect.getfile(owner)).resolve().parent
    except (OSError, TypeError):  # a class typed at a prompt has no file
        beside = Path.cwd()
    project = Path(__file__).resolve().parents[1]
    return [beside / given, Path.cwd() / given, project / given]


def stated_overrides(problem: Problem) -> tuple[dict[str, Any], ...]:
    """Return a problem's overrides as mappings, files read.

    Raises:
        ProblemError: a file is nowhere, with the places that were tried.
        DraftError: it cannot be read, or something is no override.
    """
    from draft_core.overrides import as_mappings

    given = problem.overrides
    if given is None:
        return ()
    several = [given] if isinstance(given, Mapping | str | Path) else given
    if not isinstance(several, list | tuple):
        raise ProblemError(
            f"{type(problem).__name__}: overrides is a {type(given).__name__}; give a mapping, a "
            "file, or a list of them"
        )
    return as_mappings(
        [_file(problem, item) if isinstance(item, str | Path) else item for item in several]
    )


def _file(problem: Problem, given: str | Path) -> Path:
    tried = places(problem, Path(given))
    for place in tried:
        if place.is_file():
            return place
    listed = ", ".join(dict.fromkeys(str(place) for place in tried))
    raise ProblemError(
        f"{type(problem).__name__}: overrides '{given}' is no file (tried: {listed})"
    )
