"""``module`` nodes: an existing MJCF file attached to a robot, as MuJoCo would attach it.

`source` reads the file and what it refers to, inside the robot folder; `compiled`
has MuJoCo compile it and `model` keeps the numbers; `links` states them as links of the tree,
with the node's overrides, and `mirroring` mirrors these.
"""

from draft_core.modules.links import KEYS, Module, module_of
from draft_core.modules.mirroring import mirrored_module

__all__ = ["KEYS", "Module", "mirrored_module", "module_of"]
