"""Robot design and motion, optimised together.

Importing this package is cheap: the public names are resolved on first use, so that neither JAX
nor CasADi is loaded by ``codesign --help``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solution import Solution, load
    from codesign.solve.starts import Keyframe
    from codesign.solve.status import SolveStatus
    from codesign.tasks import Tasks
    from codesign.terrain import Cells, Terrain, step_terrain
    from codesign.trajectory import Trajectory

__version__ = "0.1.0"

__all__ = [
    "Cells",
    "Keyframe",
    "Problem",
    "Solution",
    "SolveStatus",
    "Tasks",
    "Terrain",
    "Trajectory",
    "__version__",
    "load",
    "step_terrain",
]

#: Public name -> module that defines it.
_EXPORTS = {
    "Cells": "codesign.terrain",
    "Keyframe": "codesign.solve.starts",
    "Problem": "codesign.problem",
    "Solution": "codesign.solution",
    "SolveStatus": "codesign.solve.status",
    "Tasks": "codesign.tasks",
    "Terrain": "codesign.terrain",
    "Trajectory": "codesign.trajectory",
    "load": "codesign.solution",
    "step_terrain": "codesign.terrain",
}


def __getattr__(name: str):
    """Import a public name on first use."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'codesign' has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, the lazy ones included."""
    return sorted({*globals(), *_EXPORTS})
