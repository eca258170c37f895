"""Progress a person can follow: one line that is rewritten on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Progress:
    """One report of a running solve.

    Attributes:
        phase: 'build', 'feasibility', 'objective' or, of several starts, 'starts'.
        relaxation: complementarity relaxation ε of the running stage.
        iteration: iterations so far, all stages together.
        objective: objective at the iterate.
        violation: largest scaled constraint violation at the iterate.
        seconds: wall time since the solve began; [s].
        note: of phase 'starts': how many have ended, and the best so far.
    """

    phase: str
    relaxation: float = 0.0
    iteration: int = 0
    objective: float = float("nan")
    violation: float = float("nan")
    seconds: float = 0.0
    note: str = ""


ProgressFunction = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Report nothing."""


class TerminalProgress:
    """Writes one self-overwriting line to a terminal, a few times a second."""

    def __init__(self, stream: TextIO | None = None, every: float = 0.1) -> None:
        """Args: the stream to write to (stderr by default) and the seconds between updates."""
        self._stream = sys.stderr if stream is None else stream
        self._every = every
        self._last = float("-inf")
        self._phase = ""

    def __call__(self, progress: Progress) -> None:
        """Write the line when it is due."""
        now = time.monotonic()
        if now - self._last < self._every and progress.phase == self._phase:
            return
        self._last, self._phase = now, progress.phase
        text = f"{progress.phase:<12} {progress.note}"
        if progress.iteration:
            text += (
                f" relaxation {progress.relaxation:7.0e}  iteration {progress.iteration:5d}"
                f"  objective {progress.objective:11.4g}  violation {progress.violation:8.1e}"
            )
        self._stream.write(f"\r\x1b[2K{text}  {progress.seconds:6.1f} s")
        self._stream.flush()

    def close(self) -> None:
        """Clear the line."""
        if self._phase:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


def default_progress() -> ProgressFunction:
    """Return terminal progress when stderr is a terminal, else silence."""
    return TerminalProgress() if sys.stderr.isatty() else silent
