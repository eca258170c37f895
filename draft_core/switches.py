"""``<role>_dof: false`` in parameters.yaml: every joint of that role goes, its link stays, welded.

A joint's role is what it states (``joint: {role: knee}``), or its node's name without the side:
``knee_fl`` and ``left_knee`` have the role ``knee``. Its motor, that motor's cylinder and the
sensors on either go with the joint.
"""

import re
from collections.abc import Mapping
from typing import Any

from draft_core.errors import DraftError, close_match, known_names
from draft_core.expressions import shorten
from draft_core.mirror import mirrored_name
from draft_core.parameters import DOF_SUFFIX as SUFFIX

_PART = re.compile(r"[_.-]+")


def joint_role(name: str, node: Mapping[str, Any]) -> str:
    """Return the role of a node's joint.

    Args:
        name: the node's.
        node: what the file states about it.
    """
    joint = node.get("joint")
    stated = joint.get("role") if isinstance(joint, dict) else None
    return stated if isinstance(stated, str) else without_side(name)


def without_side(name: str) -> str:
    """Return a name without left/right, fl/fr, ... where these stand alone between separators."""
    parts = [part for part in _PART.split(name) if part and mirrored_name(part) == part]
    return "_".join(parts) or name


def switched(nodes: Any, switches: Mapping[str, Any]) -> tuple[Any, frozenset[str]]:
    """Return the nodes without the joints that are switched off, and these joints' names.

    Args:
        nodes: the nodes by name, loops expanded.
        switches: parameters' values by name; those at the top level of the file count.

    Raises:
        DraftError: a parameter ``<role>_dof`` is no switch, or no joint has its role.
    """
    stated = {
        name.removesuffix(SUFFIX): value
        for name, value in switches.items()
        if name.endswith(SUFFIX) and "." not in name
    }
    if not stated or not isinstance(nodes, dict):
        return nodes, frozenset()
    roles = {
        name: joint_role(name, node)
        for name, node in nodes.items()
        if isinstance(node, dict) and node.get("joint") is not None
    }
    for role, value in stated.items():
        _check(role, value, set(roles.values()))
    off = {name for name, role in roles.items() if stated.get(role) is False}
    left = {name: _welded(node) if name in off else node for name, node in nodes.items()}
    return left, frozenset(joint for name in off for joint in _joints_of(name, nodes))


def _check(role: str, value: Any, roles: set[str]) -> None:
    where = f"parameters.yaml, {role}{SUFFIX}"
    if not isinstance(value, bool):
        raise DraftError(
            f"{where} is {shorten(repr(value))}; it says whether the joints of role {role!r} are "
            "there, so it must be true or false."
        )
    if role not in roles:
        raise DraftError(
            f"{where}: no joint of tree.yaml has the role {role!r}{close_match(role, roles)}. "
            f"There are: {known_names(roles)}."
        )


def _welded(node: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key not in ("joint", "motor")}


def _joints_of(name: str, nodes: Mapping[str, Any]) -> list[str]:
    """Return the names of a node's joint and motor, and of those of its mirror images."""
    node = nodes[name]
    own = [part.get("name") for part in (node["joint"], node.get("motor")) if _is_named(part)]
    images = [
        image
        for image, data in nodes.items()
        if isinstance(data, dict) and data.get("mirror_of") == name
    ]
    named = [*own, *(mirrored_name(given) for given in own)]
    return [*named, *([] if _is_named(node["joint"]) else [name, *images])]


def _is_named(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("name"), str)
