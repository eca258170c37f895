"""What the command line prints: lines, tables, and the summary of a solution."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codesign.solution import Solution
    from codesign.tasks import TasksSolution


def warn(message: str) -> None:
    """Print a line to stderr; a reader that has gone away is no reason to fail."""
    with contextlib.suppress(BrokenPipeError):
        print(f"codesign: {message}", file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print to stdout; a reader that has gone away is no reason to fail."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        drop_output()


def drop_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's exit does not complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def replay_note(folder: Path) -> str:
    """Tell of a plan that MuJoCo's own simulation does not follow; nothing otherwise."""
    import json

    path = folder / "replay.json"
    if not path.is_file() or json.loads(path.read_text(encoding="utf-8")).get("arrived", True):
        return ""
    return "note: in MuJoCo's own simulation this plan does not arrive; see Replay in the report\n"


def summary(solution: Solution | TasksSolution) -> str:
    """Verdict, design and effort of a solve, for a terminal."""
    from codesign.solve.starts_record import sentence

    verdict = str(solution.status).replace("_", " ")
    rows = [
        [name, f"{item.value:.6g}", item.unit, f"{item.lower:g} to {item.upper:g}"]
        for name, item in solution.design_values.items()
    ]
    lines = [
        f"{solution.problem}, seed {solution.seed}: {verdict} ({solution.message})",
        "",
        columns([["design", "value", "unit", "bounds"], *rows]),
        "",
        f"objective {solution.objective:.6g}   violation {solution.audit.max_violation:.1e}   "
        f"complementarity {solution.audit.max_complementarity:.1e}",
        f"{solution.iterations} iterations, {solution.wall_s:.1f} s, "
        f"of which building {solution.build_s:.1f} s",
        *_certified(solution),
        *_parts_of(solution),
        *(f"note: {note}" for note in solution.notes),
        *([sentence(solution.starts)] if solution.starts else []),
    ]
    return "\n".join(lines)


def _certified(solution: Solution | TasksSolution) -> list[str]:
    """Return how stationary an answer is and what holds it back; nothing for several tasks."""
    from codesign.certificate.words import summary_lines
    from codesign.solution import Solution

    if not isinstance(solution, Solution):
        return [price.sentence.replace("`", "") for price in solution.prices]
    return summary_lines(solution.certificate)


def _parts_of(solution: Solution | TasksSolution) -> list[str]:
    """Return the tables of meshes, or of tasks and what sharing a design costs them."""
    from codesign.solve.refine import mesh_rows
    from codesign.tasks import TasksSolution
    from codesign.tasks.sharing import design_rows, price_table

    if not isinstance(solution, TasksSolution):
        return [columns(mesh_rows(solution.mesh))] if solution.mesh else []
    rows = [
        [name, str(task.status).replace("_", " "), f"{task.objective:.6g}", f"{task.t[-1]:.4g} s"]
        for name, task in solution.tasks.items()
    ]
    tables = [[["task", "status", "objective", "duration"], *rows]]
    if solution.specialists:
        tables.append(price_table(solution, solution.specialists))
        tables.append(design_rows(solution, solution.specialists))
    return [text for table in tables for text in ("", columns(table))]


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as text in aligned columns."""
    if not rows:
        return ""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
