"""Which start a solve begins from: keyframes, the robot's own pose, or one made from the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codesign.errors import SolverError

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solve.transcribed import Transcription

GUESSES = ("keyframes", "home", "automatic", "improved")
FROM_SOLUTION = "solution"  # what a start from an earlier solution is recorded as


def require_guess(guess: Any) -> None:
    """Refuse what is no guess.

    Raises:
        SolverError: with the names there are.
    """
    if guess is not None and guess not in GUESSES:
        raise SolverError(
            f"guess is {guess!r}; it must be one of {', '.join(GUESSES)}, or None for keyframes "
            "where the problem gives any and automatic where it does not"
        )


def chosen_guess(problem: Problem, guess: str | None) -> str:
    """Return the name of the start that a solve begins from.

    Raises:
        SolverError: keyframes are asked for, and the problem gives none.
    """
    require_guess(guess)
    if guess in (None, "keyframes"):
        has_any = bool(problem.keyframes())
        if guess and not has_any:
            raise SolverError(
                f"guess is 'keyframes', but {type(problem).__name__} gives none; use 'automatic'"
            )
        return "keyframes" if has_any else "automatic"
    assert guess is not None
    return guess


def guessed_point(
    problem: Problem, ready: Transcription, seed: int, guess: str
) -> NDArray[np.float64]:
    """Return a starting decision vector in physical units, epigraph variables at zero.

    Args:
        problem: the robot and the task.
        ready: the problem, transcribed.
        seed: seed of everything random in it.
        guess: one of `GUESSES`, from `chosen_guess`.
    """
    from codesign.solve.automatic import automatic_point
    from codesign.solve.improvement import improved_point
    from codesign.solve.starts import initial_point

    if guess == "automatic":
        return automatic_point(problem, ready, seed)
    if guess == "improved":
        return improved_point(problem, ready, seed)
    frames = problem.keyframes() if guess == "keyframes" else ()
    return initial_point(ready.plant, ready.program.layout, frames, problem.duration, seed)
