"""Overrides: parameters.yaml with some of it said otherwise, before anything is parsed.

An override has the form of parameters.yaml, with as little of it as one likes; names may be
dotted (``leg.length``). A mapping merges into a mapping, ``null`` deletes, and a number in place of
``{value: ..., unit: ...}`` keeps the unit. Of several overrides, later ones win.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from draft_core.errors import DraftError, close_match, known_names
from draft_core.expansion import is_leaf
from draft_core.expressions import as_number, is_expression, shorten
from draft_core.parameters import is_switch
from draft_core.reading import MAX_DEPTH, read_file

Override = Mapping[str, Any] | str | Path
Overrides = Override | Sequence[Override] | None
OPEN_SECTIONS = ("motors", "joint_motors")  # where an override may add what is not there
DESCRIPTION = "description"


class Stated(dict[str, Any]):
    """An override as a mapping that knows its file.

    Attributes:
        source: the file, for messages; empty where there is none.
    """

    source = ""


@dataclass(frozen=True)
class Merged:
    """parameters.yaml after its overrides.

    Attributes:
        stated: the mapping to parse.
        names: dotted names of what the overrides state, in their order, each once.
        added: motor classes and joint roles that the file does not have, as (section, name).
    """

    stated: Mapping[str, Any]
    names: tuple[str, ...]
    added: tuple[tuple[str, str], ...] = ()


def read_overrides(path: str | Path) -> dict[str, Any]:
    """Read an override file: a YAML file of the form of parameters.yaml.

    Its key ``description`` says what it is for and overrides nothing.

    Raises:
        DraftError: it is no such file.
    """
    found = read_file(Path(path), "overrides file")
    description = found.pop(DESCRIPTION, "")
    if not isinstance(description, str):
        raise DraftError(f"{path}, {DESCRIPTION} is {shorten(repr(description))}; it must be text.")
    stated = Stated(_plain(found, 0))
    stated.source = str(path)
    return stated


def as_mappings(overrides: Overrides) -> tuple[dict[str, Any], ...]:
    """Return overrides, one or several, files or mappings, as mappings in their order.

    Raises:
        DraftError: a file cannot be read, or something is no override.
    """
    if overrides is None:
        return ()
    if isinstance(overrides, Mapping | str | Path):
        overrides = (overrides,)
    if not isinstance(overrides, Sequence):
        raise DraftError(f"overrides are {shorten(repr(overrides))}; give a mapping or a file.")
    return tuple(_as_mapping(override) for override in overrides)


def _as_mapping(override: Any) -> dict[str, Any]:
    if isinstance(override, str | Path):
        return read_overrides(override)
    if not isinstance(override, Mapping):
        raise DraftError(f"an override is {shorten(repr(override))}; give a mapping or a file.")
    if isinstance(override, Stated):
        return override
    return {_key(key): _plain(value, 1) for key, value in override.items()}


def _plain(value: Any, depth: int) -> Any:
    """Return a value of Python as YAML would read it: dicts, lists and floats."""
    if depth == MAX_DEPTH and isinstance(value, Mapping | list | tuple):
        raise DraftError(f"an override is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, Mapping):
        return {_key(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, Real) and not isinstance(value, bool | int):
        return float(value)
    return value


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise DraftError(f"an override has the key {shorten(repr(key))}; a name must be text.")
    return key


def merged(stated: Mapping[str, Any], overrides: Overrides) -> Merged:
    """Return parameters.yaml with its overrides, and what they name.

    Args:
        stated: parameters.yaml as read; it stays as it is.
        overrides: mappings and files.

    Raises:
        DraftError: an override names what parameters.yaml does not have, or says something of
            another kind.
    """
    result = dict(stated)
    mappings = as_mappings(overrides)
    for override in mappings:
        try:
            result = _group(result, override, (), stated)
        except DraftError as error:
            source = override.source if isinstance(override, Stated) else ""
            raise DraftError(f"{source}: {error}" if source else str(error)) from None
    names = tuple(dict.fromkeys(n for m in mappings for n in _leaves("", m)))
    return Merged(result, names, tuple(_added(stated, result)))


def _added(stated: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for section in OPEN_SECTIONS:
        before, after = (x.get(section) for x in (stated, result))
        if isinstance(after, dict):
            known = before if isinstance(before, dict) else {}
            yield from ((section, name) for name in after if name not in known)


def check_used(result: Merged, named: Container[str], files: Iterable[Any]) -> None:
    """Refuse a motor class or joint role that an override adds and nothing uses.

    Args:
        result: parameters.yaml after its overrides.
        named: the classes and roles that nodes name.
        files: what else reads parameters: nodes, sensors and sections as the files state them.

    Raises:
        DraftError: neither a node nor a joint role names it, and no expression reads its numbers.
    """
    for section, name in result.added:
        own = f"{section}.{name}"
        rest = {key: value for key, value in result.stated.items() if key != section}
        rest[section] = {k: v for k, v in result.stated[section].items() if k != name}
        roles = result.stated.get("joint_motors")
        is_role = section == "motors" and isinstance(roles, dict) and name in roles.values()
        reads = re.compile(rf"(?<![\w.]){re.escape(own)}\.").search
        if name in named or is_role or any(map(reads, _texts([rest, *files]))):
            continue
        known = [key for key in result.stated[section] if key != name]
        raise DraftError(
            f"override {shorten(own)!r} is used by nothing: no node of tree.yaml names it as its "
            f"motor{'' if section == 'joint_motors' else ', nor does joint_motors'}, and no "
            f"expression reads it{close_match(name, known)}. {section} has: "
            f"{known_names(known, 20)}."
        )


def _texts(value: Any) -> Iterator[str]:
    """Return all texts in nested mappings and lists, keys included."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            rest += [*item, *item.values()]
        elif isinstance(item, list):
            rest += item


def _leaves(prefix: str, group: Mapping[str, Any]) -> Iterator[str]:
    for key, value in group.items():
        if isinstance(value, dict) and not is_leaf(value):
            yield from _leaves(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}"


def _group(
    old: Mapping[str, Any], new: Mapping[str, Any], at: tuple[str, ...], stated: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a mapping of the file merged with an override's.

    Args:
        old: the file's.
        new: the override's; its keys may be dotted.
        at: where the mapping stands.
        stated: all of the file, for messages.
    """
    result = dict(old)
    for key, value in new.items():
        name, *rest = key.split(".")
        _check_depth((*at, name, *rest))
        for part in reversed(rest):
            value = {part: value}
        place = (*at, name)
        if name not in result and not _may_add(place, value):
            raise _unknown(place, stated)
        inner = _merge(result.get(name), value, place, stated)
        result[name] = inner
        if inner is None or inner == {}:
            del result[name]
    return result


def _check_depth(place: tuple[str, ...]) -> None:
    if len(place) > MAX_DEPTH:
        name = shorten(".".join(place))
        raise DraftError(f"override {name!r} is nested deeper than {MAX_DEPTH} levels.")


def _may_add(place: tuple[str, ...], value: Any) -> bool:
    """Tell whether an override may state what the file does not."""
    if value is None:
        return False
    if place[0] in OPEN_SECTIONS:
        return True
    return (
        len(place) == 1 and is_switch(place[0]) and (not isinstance(value, dict) or is_leaf(value))
    )


def _merge(old: Any, new: Any, at: tuple[str, ...], stated: Mapping[str, Any]) -> Any:
    """Return what a value of the file becomes; None where it is deleted."""
    if new is None:
        return None
    if isinstance(old, dict) and is_leaf(old):
        given = new if isinstance(new, dict) and set(new) <= {"value", "unit"} else {"value": new}
        value = _merge(old["value"], given.get("value", old["value"]), at, stated)
        return {**old, **given, "value": value}
    is_open = at[0] in OPEN_SECTIONS
    if isinstance(new, dict) and is_leaf(new) and not isinstance(old, dict):
        return {**new, "value": _merge(old, new["value"], at, stated)}
    if isinstance(new, dict) and (isinstance(old, dict) or is_open):
        return _group(old if isinstance(old, dict) else {}, new, at, stated)
    if isinstance(new, dict) and isinstance(old, list):
        return _elements(old, new, at, stated)
    if old is not None and not (is_open and len(at) > 1):
        _check_kind(old, new, at)
    return new


def _elements(
    old: list[Any], new: Mapping[str, Any], at: tuple[str, ...], stated: Mapping[str, Any]
) -> list[Any]:
    """Return a list of the file with some elements, named by their numbers, overridden."""
    result = list(old)
    for key, value in new.items():
        name, *rest = key.split(".")
        _check_depth((*at, name, *rest))
        for part in reversed(rest):
            value = {part: value}
        if value is None or name not in map(str, range(len(old))):
            raise DraftError(
                f"override {shorten('.'.join((*at, key)))!r}: the list has the elements 0 to "
                f"{len(old) - 1}; override one of them, or all as a list."
            )
        result[int(name)] = _merge(old[int(name)], value, (*at, name), stated)
    return result


def _check_kind(old: Any, new: Any, at: tuple[str, ...]) -> None:
    """Refuse a value of another kind than the file's; an expression may be of any but a mapping's.

    Raises:
        DraftError: it is.
    """
    had, given = _kind(old), _kind(new)
    if had == given or ("an expression" in (had, given) and "a mapping" not in (had, given)):
        return
    raise DraftError(
        f"override {'.'.join(at)!r} is {given}, {shorten(repr(new))}; parameters.yaml has {had} "
        "there, so the override must be one."
    )


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a switch"
    if as_number(value) is not None:
        return "a number"
    if is_expression(value):
        return "an expression"
    kinds = {str: "a text", list: "a list", dict: "a mapping"}
    return kinds.get(type(value), "something else")


def _unknown(place: tuple[str, ...], stated: Mapping[str, Any]) -> DraftError:
    name, names = ".".join(place), list(_names("", stated))
    return DraftError(
        f"override {shorten(name)!r} is no parameter of this robot{close_match(name, names)}. "
        f"parameters.yaml has: {known_names(names, 20)}."
    )


def _names(prefix: str, value: Any) -> Iterator[str]:
    """Return the dotted names there are, groups of names included."""
    if not isinstance(value, dict) or is_leaf(value):
        return
    for key, inner in value.items():
        yield f"{prefix}{key}"
        yield from _names(f"{prefix}{key}.", inner)
