"""One robot, several tasks: problems that share their design variables, solved as one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from codesign.tasks.statement import Tasks

if TYPE_CHECKING:
    from codesign.tasks.sharing import (
        PriceOfSharing,
        Specialist,
        price_of_sharing,
        specialists,
    )
    from codesign.tasks.solution import TasksSolution

__all__ = [
    "PriceOfSharing",
    "Specialist",
    "Tasks",
    "TasksSolution",
    "price_of_sharing",
    "specialists",
]

#: Public name -> module that defines it; resolved on first use, to keep the import light.
_EXPORTS = {
    "PriceOfSharing": "codesign.tasks.sharing",
    "Specialist": "codesign.tasks.sharing",
    "TasksSolution": "codesign.tasks.solution",
    "price_of_sharing": "codesign.tasks.sharing",
    "specialists": "codesign.tasks.sharing",
}


def __getattr__(name: str):
    """Import a public name on first use."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'codesign.tasks' has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value
