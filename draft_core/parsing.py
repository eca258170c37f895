"""A robot folder read into a `RobotTree`; every error names file, node, key and what would work."""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from draft_core.actuators import with_actuators
from draft_core.context import POPULATIONS, Context
from draft_core.errors import DraftError, close_match, known_names
from draft_core.expansion import MAX_NODES, Source, expanded
from draft_core.expressions import Expression, is_expression
from draft_core.mirror import mirrored_link
from draft_core.modules import KEYS as MODULE_KEYS
from draft_core.modules import Module, mirrored_module, module_of
from draft_core.overrides import Overrides, check_used, merged
from draft_core.parameters import parse_parameters
from draft_core.primitives import PRIMITIVES, members
from draft_core.reading import read_mapping, robot_folder
from draft_core.section import Section, check_name
from draft_core.sensor_parsing import parse_sensors
from draft_core.switches import switched
from draft_core.tree import Link, RobotTree

MODULE = "module"
MAX_DEPTH = 400  # of links that hang from each other; MuJoCo reads XML 500 elements deep
TOP_KEYS = ("robot", "population", "nodes", "sensors")


def parse_folder(folder: str | Path, overrides: Overrides = None) -> RobotTree:
    """Read parameters.yaml, tree.yaml and, where there is one, mesh.yaml.

    Args:
        folder: the robot folder.
        overrides: what parameters.yaml is to say otherwise, as `overrides.merged` takes it.

    Raises:
        DraftError: anything in them cannot work.
    """
    path = robot_folder(folder)
    result = merged(read_mapping(path, "parameters.yaml"), overrides)
    stated, overridden = result.stated, result.names
    parameters = parse_parameters(stated)
    constants = parameters.resolve()
    top = Section(read_mapping(path, "tree.yaml"), "tree.yaml", TOP_KEYS)
    called = top.require("robot", path.name)
    if is_expression(called):
        called = Expression(called, "tree.yaml, robot").evaluate(constants)
    name = check_name(called, "tree.yaml, robot")
    population = top.word("population", POPULATIONS) if "population" in top else None
    nodes = top.require("nodes", "{body: {primitive: root, ...}}")
    source = Source(stated, constants)
    nodes, absent = switched(expanded(nodes, "node", source), constants)
    mesh = read_mapping(path, "mesh.yaml") if os.path.lexists(path / "mesh.yaml") else {}
    context = Context(path, parameters, constants, population, nodes, mesh)
    modules = _modules(nodes, context)
    links = with_actuators({link.name: link for module in modules for link in module.links})
    tree = RobotTree(name, parameters, _depth_first(links), population)
    _check(tree)
    stated_sensors = expanded(top.data.get("sensors"), "sensor", source)
    sensors = parse_sensors(stated_sensors, tree, constants, absent)
    check_used(result, context.named, (nodes, stated_sensors, mesh))
    brought = tuple(sensor for module in modules for sensor in module.sensors)
    _no_two("sensor", [sensor.name for sensor in (*sensors, *brought)])
    excluded = tuple(pair for module in modules for pair in module.excluded)
    sensors = (*sensors, *brought)
    return replace(tree, sensors=sensors, overridden=overridden, excluded=excluded)


def _modules(nodes: Any, context: Context) -> list[Module]:
    """Return what each node adds to the tree: its link, and for a module all that hangs from it."""
    if not isinstance(nodes, dict) or not nodes:
        raise DraftError("tree.yaml, nodes must be a mapping from node names to nodes.")
    _no_more(len(nodes))
    stated = {check_name(name, "tree.yaml, nodes"): data for name, data in nodes.items()}
    mirrors = {
        name: Section(data, _where(name), ("mirror_of", "parent"))
        for name, data in stated.items()
        if isinstance(data, dict) and "mirror_of" in data
    }
    words = {name: _primitive(name, data) for name, data in stated.items() if name not in mirrors}
    modules = {name: _module(name, word, stated[name], context) for name, word in words.items()}
    links = {name: module.links[0] for name, module in modules.items()}
    images = _images(mirrors, modules)
    for name, section in mirrors.items():
        source = _source(section, links, mirrors)
        parent = section.data.get("parent") or images.get(str(source.parent), source.parent)
        modules[name] = _image(name, modules[source.name], parent, images, context)
    result = [modules[name] for name in stated]
    names = [link.name for module in result for link in module.links]
    _no_two("node", names)
    _no_more(len(names))
    return result


def _images(mirrors: dict[str, Section], modules: dict[str, Module]) -> dict[str, str]:
    """Return the names of mirror images by their originals', those inside modules included."""
    images: dict[str, str] = {}
    for name, section in mirrors.items():
        source = section.data["mirror_of"]
        if isinstance(source, str) and source in modules:
            images |= {k.name: name + k.name[len(source) :] for k in modules[source].links}
    return images


def _image(
    name: str, module: Module, parent: str | None, images: dict[str, str], context: Context
) -> Module:
    """Return the mirror image of what a node adds."""
    source = module.links[0]
    if source.primitive == MODULE:
        return mirrored_module(name, source.name, module, parent, images, _where(name))
    link = mirrored_link(name, source, parent, images, _where(name))
    return Module((members.image(link, context),))


def _no_more(count: int) -> None:
    if count > MAX_NODES:
        raise DraftError(f"tree.yaml has {count} nodes; at most {MAX_NODES} are allowed.")


def _no_two(kind: str, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DraftError(f"tree.yaml has two of {kind} {twice[0]!r}; names must differ.")


def _where(name: str) -> str:
    return f"tree.yaml, node {name!r}"


def _primitive(name: str, data: Any) -> str:
    """Return the kind of a node that is no mirror image."""
    section = Section(data, _where(name), _EVERY_KEY)
    section.require("primitive", "geom' or 'mirror_of: another_node")
    return section.word("primitive", (*PRIMITIVES, MODULE))


_EVERY_KEY = dict.fromkeys(
    ["mirror_of", *MODULE_KEYS, *(key for p in PRIMITIVES.values() for key in p.keys)]
)


def _module(name: str, word: str, data: Any, context: Context) -> Module:
    """Return what a node that is no mirror image adds to the tree."""
    where = f"{_where(name)} ({word})"
    if word == MODULE:
        return module_of(name, Section(data, where, MODULE_KEYS), context)
    primitive = PRIMITIVES[word]
    return Module((primitive.parse(name, Section(data, where, primitive.keys), context),))


def _source(section: Section, links: dict[str, Link], mirrors: dict[str, Section]) -> Link:
    name = section.data["mirror_of"]
    if isinstance(name, str) and name in mirrors:
        raise DraftError(
            f"{section.where} mirrors {name!r}, itself a mirror image; mirror its original."
        )
    if not isinstance(name, str) or name not in links:
        raise DraftError(
            f"{section.where}: mirror_of names {name!r}, which is no node"
            f"{close_match(str(name), links)}. There are: {known_names(links)}."
        )
    if links[name].parent is None:
        raise DraftError(
            f"{section.where} mirrors the root {name!r}; only what hangs from it can be."
        )
    return links[name]


def _depth_first(links: dict[str, Link]) -> tuple[Link, ...]:
    """Return the links in MuJoCo's order.

    Raises:
        DraftError: there is not exactly one root, a parent does not exist, parents form a
            circle, or a chain is too long.
    """
    roots = [name for name, link in links.items() if link.parent is None]
    if len(roots) != 1:
        given = f"the roots {known_names(roots)}" if roots else "no root"
        raise DraftError(f"tree.yaml has {given}; exactly one node must have 'primitive: root'.")
    children: dict[str, list[str]] = {name: [] for name in links}
    for name, link in links.items():
        if link.parent is None:
            continue
        if not isinstance(link.parent, str) or link.parent not in links:
            raise DraftError(
                f"{_where(name)}: its parent {link.parent!r} is no node"
                f"{close_match(str(link.parent), links)}. There are: {known_names(links)}."
            )
        children[link.parent].append(name)
    order: list[str] = []
    depth = {roots[0]: 1}
    stack = [roots[0]]
    while stack:
        name = stack.pop()
        order.append(name)
        if depth[name] > MAX_DEPTH:
            raise DraftError(
                f"{_where(name)} is {depth[name]} links down its chain; at most {MAX_DEPTH} may "
                "hang from each other, as MuJoCo reads no deeper files."
            )
        depth |= dict.fromkeys(children[name], depth[name] + 1)
        stack.extend(reversed(children[name]))
    lost = [name for name in links if name not in order]
    if lost:
        raise DraftError(
            f"tree.yaml: the parents of {known_names(lost)} form a circle; hang one of them from "
            f"{roots[0]!r}."
        )
    return tuple(links[name] for name in order)


def _check(tree: RobotTree) -> None:
    for link in tree.links:
        if link.joint is not None and link.joint.type == "free" and link.parent is not None:
            raise DraftError(f"{_where(link.name)} has a free joint; only the root can be free.")
    kinds: dict[str, Callable[[Link], Iterable[str]]] = {
        "joint": lambda link: [link.joint.name] if link.joint else [],
        "actuator": lambda link: (
            ([link.motor.name] if link.motor else []) + [t.name for t in link.thrusters]
        ),
        "site, contact or thruster": lambda link: [
            item.name for item in (*link.sites, *link.contacts, *link.thrusters)
        ],
        "solid": lambda link: [solid.name for solid in link.solids],
    }
    for kind, names in kinds.items():
        count = Counter(name for link in tree.links for name in names(link))
        twice = [name for name, n in count.items() if n > 1]
        if twice:
            owners = [link.name for link in tree.links if twice[0] in names(link)]
            raise DraftError(
                f"tree.yaml has two of {kind} {twice[0]!r} (nodes {known_names(owners)}); "
                "names must differ."
            )
    if not tree.actuator_names:
        raise DraftError(
            "tree.yaml has no actuator; give a node with a hinge or slide "
            "'motor: {limit: 1.5}', or a node 'thrusters'."
        )
