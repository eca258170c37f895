"""``for_each``: one node of the file becomes several, one for each of a list of things.

The nodes are expanded as YAML, before any of them is parsed. How many there are, which ones and
what they are called is topology: it follows the file's parameters (and what overrides them), and
stays as it is when a design varies them. A loop variable over parameters is another name for
them, so that their numbers remain design variables.
"""

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from draft_core.binding import PLACEHOLDER, Binder, Item, constant_item, stated_item
from draft_core.errors import DraftError, ExpressionError, close_match, known_names
from draft_core.expressions import as_number, is_expression, shorten
from draft_core.grammar import CONSTANTS, FUNCTIONS

MAX_NODES = 500
MAX_STRINGS = 50_000  # with ${...} in all repeated nodes of a file
LOOP_KEYS = ("in", "as", "where")
DEFAULT_NAME = "item"
INDEX = "index"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")
_DOTTED = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")


@dataclass(frozen=True)
class Source:
    """Where loops find parameters.

    Attributes:
        stated: parameters.yaml as read, in its order.
        constants: every parameter's value by its dotted name.
    """

    stated: Mapping[str, Any]
    constants: Mapping[str, Any]

    def find(self, name: str) -> Any:
        """Return the list or mapping that a dotted name stands for in the file, or None."""
        found: Any = self.stated
        for part in name.split("."):
            if not isinstance(found, dict) or part not in found or is_leaf(found):
                return None
            found = found[part]
        if isinstance(found, dict) and is_leaf(found):
            found = found["value"]
        return found if isinstance(found, dict | list) else None

    def groups(self) -> list[str]:
        """Return the dotted names of the lists and mappings."""
        found: list[str] = []
        rest = [("", self.stated)]
        while rest:
            prefix, mapping = rest.pop()
            for name, value in mapping.items():
                if isinstance(value, dict) and not is_leaf(value):
                    rest.append((f"{prefix}{name}.", value))
                if isinstance(value, dict | list):
                    found.append(f"{prefix}{name}")
        return found


def is_leaf(value: Mapping[str, Any]) -> bool:
    """Tell whether a mapping of parameters.yaml is one parameter, value and unit."""
    return "value" in value and set(value) <= {"value", "unit"}


def expanded(entries: Any, section: str, source: Source) -> Any:
    """Return a mapping of tree.yaml with each of its ``for_each`` written out.

    Args:
        entries: the nodes (or sensors) as the file states them.
        section: "node" or "sensor", for messages.
        source: the parameters.

    Raises:
        DraftError: a loop cannot work, or there are more than `MAX_NODES` entries.
    """
    if not isinstance(entries, dict):
        return entries
    loops = [key for key, data in entries.items() if isinstance(data, dict) and "for_each" in data]
    if not loops:
        return entries
    result: dict[str, Any] = {}
    strings = 0
    for key, data in entries.items():
        where = f"tree.yaml, {section} {shorten(repr(key))}"
        if key not in loops:
            _add(result, key, data, where)
            continue
        loop = _Loop(key, data, where, source)
        for name, copy in loop.copies(MAX_NODES - len(result)):
            _add(result, name, copy, where)
        strings += loop.binder.count
        if strings > MAX_STRINGS:
            raise DraftError(
                f"{where}: the file's loops repeat more than {MAX_STRINGS} expressions; "
                "state less in each node, or repeat fewer."
            )
    return result


def _add(result: dict[str, Any], name: str, data: Any, where: str) -> None:
    if name in result:
        raise DraftError(f"{where}: {shorten(repr(name))} is there already; names must differ.")
    result[name] = data


class _Loop:
    """One ``for_each``: what it runs over and the node it repeats."""

    def __init__(self, key: str, data: Mapping[str, Any], where: str, source: Source):
        self.key = key
        self.where = where
        self.source = source
        loop = data["for_each"]
        if not isinstance(loop, dict) or "in" not in loop or set(loop) - set(LOOP_KEYS):
            unknown = sorted(set(loop) - set(LOOP_KEYS)) if isinstance(loop, dict) else []
            given = f"the unknown key {unknown[0]!r}" if unknown else shorten(repr(loop))
            raise DraftError(
                f"{where}, for_each has {given}; it must be a mapping such as "
                "{in: [fl, fr], as: leg}, and may have 'where'."
            )
        self.body = {name: value for name, value in data.items() if name != "for_each"}
        self.name = self._checked_name(loop.get("as", DEFAULT_NAME))
        self.binder = Binder(frozenset({self.name, INDEX}), source.constants, where)
        self.over = loop["in"]
        self.condition = loop.get("where", True)
        if not self.binder.uses_loop(key):
            raise DraftError(
                f"{where} has for_each, so its name must hold ${{{self.name}}} or ${{{INDEX}}}, "
                f"such as '{shorten(key, 30)}_${{{INDEX}}}'."
            )

    def _checked_name(self, name: Any) -> str:
        taken = not isinstance(name, str) or not _NAME.fullmatch(name) or keyword.iskeyword(name)
        if not taken:
            taken = name in CONSTANTS or name in FUNCTIONS or name == INDEX
        if taken:
            raise DraftError(
                f"{self.where}, for_each.as is {shorten(repr(name))}; it must be a plain word that "
                f"no expression uses otherwise, such as '{DEFAULT_NAME}'."
            )
        for used in (name, INDEX):
            if used in self.source.stated:
                raise DraftError(
                    f"{self.where}, for_each: {used!r} is the name of a parameter; name "
                    f"{'the loop variable' if used == name else 'the parameter'} otherwise."
                )
        return name

    def copies(self, most: int) -> list[tuple[str, Any]]:
        """Return names and nodes, in order.

        Raises:
            DraftError: the loop runs over nothing that can be, or more than ``most`` things.
        """
        result = []
        items = self._items()
        for index, item in enumerate(items):
            self.binder.items = {self.name: item, INDEX: constant_item(float(index))}
            if not self._holds():
                continue
            if len(result) == most:
                raise DraftError(f"{self.where} makes too many; at most {MAX_NODES} are allowed.")
            result.append((self.binder.text(self.key), self.binder.tree(self.body)))
            if self.binder.count > MAX_STRINGS:
                break
        return result

    def _holds(self) -> bool:
        value = self.condition
        if is_expression(value):
            value = self.binder.value(value)
        if not isinstance(value, bool | float):
            raise DraftError(
                f"{self.where}, for_each.where gives {shorten(repr(value))}; it must be true or "
                f'false, such as "${{{INDEX} > 0}}".'
            )
        return bool(value)

    def _items(self) -> list[Item]:
        over = self.over
        where = f"{self.where}, for_each.in"
        try:
            if isinstance(over, list):
                return [stated_item(item, self.binder) for item in self._bounded(over)]
            if isinstance(over, dict):
                return [_literal_entry(k, over[k], self.binder) for k in self._bounded(over)]
            return self._named_or_computed(over, where)
        except ExpressionError as error:
            raise DraftError(f"{where}: {error}.") from None

    def _named_or_computed(self, over: Any, where: str) -> list[Item]:
        name = _dotted_name(over)
        group = self.source.find(name) if name else None
        if name and isinstance(group, dict):
            return [_entry(name, key, self.source) for key in self._bounded(group)]
        if name and isinstance(group, list):
            return [_element(name, i, self.source) for i in range(len(self._bounded(group)))]
        if name and name in self.source.constants:
            value = self.source.constants[name]
        elif name and not is_expression(over):
            raise DraftError(
                f"{where} names {over!r}, which is no list or mapping of parameters.yaml"
                f"{close_match(name, self.source.groups())}. "
                f"There are: {known_names(self.source.groups())}."
            )
        else:
            number = as_number(over)
            value = self._computed(over) if number is None else number
        if isinstance(value, tuple):
            return [constant_item(item) for item in self._bounded(value)]
        if not isinstance(value, float) or not value.is_integer() or value < 0:
            raise DraftError(
                f"{where} is {shorten(repr(over))}; it must be a list, a count, or the name of a "
                "list or mapping of parameters.yaml."
            )
        count = range(int(min(value, 1e9)))
        return [constant_item(float(i)) for i in self._bounded(count)]

    def _computed(self, over: Any) -> Any:
        if not is_expression(over):
            return over
        if self.binder.uses_loop(over):
            raise ExpressionError("it uses its own loop variable")
        return self.binder.value(over)

    def _bounded(self, things: Any) -> Any:
        """Return the things a loop runs over, if they are not too many."""
        if len(things) > MAX_NODES:
            raise ExpressionError(f"it has {len(things)} entries; at most {MAX_NODES} are allowed")
        return things


def _dotted_name(over: Any) -> str | None:
    """Return the name that is all of a text or of an expression, or None."""
    if not isinstance(over, str):
        return None
    split = PLACEHOLDER.split(over)
    if len(split) == 3 and not split[0].strip() and not split[2].strip():
        over = split[1]
    return over.strip() if _DOTTED.fullmatch(over.strip()) else None


def _literal_entry(key: str, value: Any, binder: Binder) -> Item:
    """Return an entry of a literal mapping: its key, with the fields of its value."""
    inner = stated_item(value, binder)
    if inner.field is None:
        return Item(repr(key), key, lambda name: _only_value(name, inner))
    return Item(repr(key), key, inner.field)


def _only_value(name: str, inner: Item) -> Item:
    if name != "value":
        raise ExpressionError(f"there is no field {name!r}; there is value")
    return inner


def _entry(group: str, key: str, source: Source) -> Item:
    """Return an entry of a mapping of parameters: its key, or another name for a parameter."""

    def at(path: str) -> Item:
        return Item(path, field=lambda name: follow(f"{path}.{name}"))

    def follow(path: str) -> Item:
        if path not in source.constants and source.find(path) is None:
            raise ExpressionError(
                f"parameters.yaml has no {path!r}{close_match(path, source.constants)}"
            )
        return at(path)

    own = f"{group}.{key}"
    if own in source.constants:  # a number, text or list, not a mapping
        return Item(repr(key), key, lambda name: _only_value(name, Item(own)))
    return Item(repr(key), key, lambda name: follow(f"{own}.{name}"))


def _element(group: str, index: int, source: Source) -> Item:
    """Return an element of a list of parameters: another name for it, or the text it is."""
    value = source.constants.get(f"{group}.{index}")
    if isinstance(value, str | bool):
        return constant_item(value)
    return Item(f"{group}[{index}]")
