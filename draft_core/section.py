"""One mapping of tree.yaml while it is read: known keys only, each value with its place."""

import re
from collections.abc import Iterable
from typing import Any

from draft_core.errors import DraftError, close_match, known_names
from draft_core.expressions import Expression, is_expression, shorten
from draft_core.tree import Leaf, Pose, Rule, Scalar, Vector, leaf

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,79}")


def check_name(name: object, where: str) -> str:
    """Return a name that MuJoCo, files and people can use.

    Raises:
        DraftError: it is none.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "world":
        raise DraftError(
            f"{where}: {shorten(repr(name))} cannot be a name; use letters, digits, '_', '-', '.', "
            "beginning with a letter, and not 'world'."
        )
    return name


class Section:
    """A mapping of the file, its place for messages, and the keys it may have."""

    def __init__(self, data: object, where: str, keys: Iterable[str]):
        """Check that it is a mapping with no key beyond ``keys``.

        Raises:
            DraftError: it is something else, or has one.
        """
        self.where = where
        self.keys = tuple(keys)
        if not isinstance(data, dict):
            raise DraftError(
                f"{where} is {shorten(repr(data))}; it must be a mapping with keys from: "
                f"{known_names(self.keys)}."
            )
        for key in data:
            if key not in self.keys:
                raise DraftError(
                    f"{where}: unknown key {shorten(repr(key))}{close_match(key, self.keys)}. "
                    f"It may have: {known_names(self.keys)}."
                )
        self.data: dict[str, Any] = data

    def __contains__(self, key: str) -> bool:
        """Tell whether the file states the key."""
        return self.data.get(key) is not None

    def at(self, key: str) -> str:
        """Return the place of a key, for messages."""
        return f"{self.where}, {key}"

    def require(self, key: str, example: str) -> Any:
        """Return the value of a key that must be there.

        Raises:
            DraftError: it is not.
        """
        if key not in self:
            raise DraftError(f"{self.where} has no {key!r}; give one, such as '{key}: {example}'.")
        return self.data[key]

    def word(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        """Return one of a few words.

        Raises:
            DraftError: it is none of them.
        """
        choices = tuple(choices)
        value = self.data.get(key, default)
        if not isinstance(value, str) or value not in choices:
            raise DraftError(
                f"{self.at(key)} is {shorten(repr(value))}{close_match(str(value), choices)}; "
                f"it must be one of: {known_names(choices)}."
            )
        return value

    def name(self, key: str, default: str) -> str:
        """Return a name, or the default where none is stated."""
        return check_name(self.data.get(key, default), self.at(key))

    def scalar(self, key: str, rule: Rule = "any") -> Scalar | None:
        """Return a number or expression, or None where the key is absent."""
        if key not in self:
            return None
        return Scalar(leaf(self.data[key], self.at(key)), self.at(key), rule)

    def number(self, key: str, example: str) -> Leaf:
        """Return a number or expression that must be there."""
        return leaf(self.require(key, example), self.at(key))

    def switch(self, key: str, default: bool = False) -> bool:
        """Return a switch, or the default where it is absent.

        Raises:
            DraftError: it is neither true nor false.
        """
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise DraftError(f"{self.at(key)} is {shorten(repr(value))}; it must be true or false.")
        return value

    def vector(self, key: str, sizes: tuple[int, ...] = (3,), rule: Rule = "any") -> Vector | None:
        """Return a list of numbers and expressions, or None where the key is absent."""
        if key not in self:
            return None
        return as_vector(self.data[key], self.at(key), sizes, rule)

    def pose(self, pos: str = "pos", axis: bool = False) -> Pose:
        """Return the pose stated by ``pos`` and one of ``quat``, ``euler`` (and ``axis``).

        Raises:
            DraftError: more than one orientation is stated.
        """
        kinds = [
            kind for kind in ("quat", "euler", "axis") if kind in self and (axis or kind != "axis")
        ]
        if len(kinds) > 1:
            raise DraftError(
                f"{self.where} states {' and '.join(kinds)}; one orientation is enough."
            )
        turn = self.vector(kinds[0], (4,) if kinds[0] == "quat" else (3,)) if kinds else None
        kind = kinds[0] if kinds else "quat"
        return Pose(self.vector(pos), turn, kind)  # pyright: ignore[reportArgumentType]


def as_vector(value: object, where: str, sizes: tuple[int, ...], rule: Rule) -> Vector:
    """Return a YAML value as a list of numbers and expressions, or as an expression of a list.

    Raises:
        DraftError: it is neither.
    """
    if is_expression(value):
        return Vector(Expression(str(value), where), where, sizes, rule)
    if not isinstance(value, list) or len(value) not in sizes:
        numbers = " or ".join(map(str, sizes))
        raise DraftError(
            f"{where} is {shorten(repr(value))}; it must be a list of {numbers} numbers."
        )
    items = tuple(leaf(item, f"{where}[{i}]") for i, item in enumerate(value))
    return Vector(items, where, sizes, rule)
