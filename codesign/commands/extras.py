"""What `codesign solve` can do after a solve: tasks each alone, and a real motor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from codesign.errors import ProblemError

if TYPE_CHECKING:
    from codesign.motor_library import MotorChoice
    from codesign.problem import Problem
    from codesign.tasks import Tasks


def require_tasks(task: Problem | Tasks, alone: bool) -> None:
    """Refuse --specialists for a single problem."""
    from codesign.tasks import Tasks

    if alone and not isinstance(task, Tasks):
        raise ProblemError(
            f"--specialists is for tasks that share a design, and {type(task).__name__} is one "
            "problem; leave it out"
        )


def beside_specialists(
    task: Any, solution: Any, seed: int, starts: int, jobs: int, time_limit: float | None
) -> Any:
    """Return the answer of several tasks together with what each reaches alone."""
    from dataclasses import replace

    from codesign.tasks import specialists

    found = specialists(
        task, seed, shared=solution, starts=starts, jobs=jobs, time_limit=time_limit
    )
    return replace(solution, specialists=found)


def motor_folder(task: Problem | Tasks, folder: Path) -> Path:
    """Return where the answer with a real motor goes, checked like any result folder."""
    from codesign.motor_library.choice import require_choice
    from codesign.result_folder import check_result_folder

    require_choice(task)
    place = folder.resolve()
    beside = folder.parent / f"{place.name}-motor" if folder.name else Path(f"{place}-motor")
    check_result_folder(beside)
    return beside


def with_real_motor(task: Any, solution: Any, time_limit: float | None, quiet: bool) -> MotorChoice:
    """Return the choice of a motor for an answer."""
    from codesign.motor_library import choose_motor

    options: dict[str, Any] = {"time_limit": time_limit}
    if quiet:
        options["progress"] = lambda progress: None
    return choose_motor(task, solution, **options)
