"""Motors one can buy: what they ask of a design, and which of them an answer is built with.

    from codesign.motor_library import DYNAMIXEL, carries_motors, choose_motor

Reading a library is quick; what needs JAX or a solver is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from codesign.motor_library.library import DYNAMIXEL, Motor, MotorLibrary

if TYPE_CHECKING:
    from codesign.motor_library.choice import MotorChoice, choose_motor
    from codesign.motor_library.need import Need, carries_motors, motor_need

__all__ = [
    "DYNAMIXEL",
    "Motor",
    "MotorChoice",
    "MotorLibrary",
    "Need",
    "carries_motors",
    "choose_motor",
    "motor_need",
]

_EXPORTS = {
    "MotorChoice": "choice",
    "Need": "need",
    "carries_motors": "need",
    "choose_motor": "choice",
    "motor_need": "need",
}


def __getattr__(name: str):
    """Import a public name on first use."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'codesign.motor_library' has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_EXPORTS[name]}"), name)
