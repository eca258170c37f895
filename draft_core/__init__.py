"""A robot as a function of its design: parametric folder in, MJX model and MJCF out.

``load`` reads a folder; ``Robot.realize`` turns a design into a differentiable MJX model and
``Robot.compile`` into MJCF. This package knows nothing of optimisation. Importing it is quick:
JAX is imported only when a model is realised.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draft_core.design import DesignSpace, DesignVariable
from draft_core.errors import DraftError
from draft_core.overrides import Overrides
from draft_core.parameters import Parameter
from draft_core.robot import Actuator, Contact, Robot
from draft_core.tree import RobotTree

if TYPE_CHECKING:
    from draft_core.realization import RealizedModel

__all__ = [
    "Actuator",
    "Contact",
    "DesignSpace",
    "DesignVariable",
    "DraftError",
    "Parameter",
    "Robot",
    "RobotTree",
    "load",
    "realize",
]


def load(folder: str | Path, overrides: "Overrides" = None) -> Robot:
    """Read a robot: a folder (parameters.yaml, tree.yaml), or one that ships, by its name.

    Args:
        folder: path of a robot folder, or a name of `draft_core.robots.ROBOTS`.
        overrides: what parameters.yaml is to say otherwise: a mapping, an override file, or
            several of them, later ones winning.

    Raises:
        DraftError: in one line, what cannot work, where, and what would.
    """
    return Robot(folder, overrides)


def realize(tree: RobotTree, design: Mapping[str, Any] | None = None) -> "RealizedModel":
    """Return the MJX model of a tree at a design; see `draft_core.realization.realize`."""
    from draft_core.realization import realize as realize_tree

    return realize_tree(tree, design)
