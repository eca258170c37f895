"""The options of a problem: its public class attributes that are no methods."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any


def option_names(kind: type) -> tuple[str, ...]:
    """Return the names of a class's options, those of its bases first."""
    names: dict[str, None] = {}
    for base in reversed(kind.__mro__[:-1]):
        for name in (*inspect.get_annotations(base), *vars(base)):
            value = inspect.getattr_static(kind, name, None)
            is_member = callable(value) or isinstance(
                value, property | classmethod | staticmethod | cached_property
            )
            if not name.startswith("_") and not is_member:
                names[name] = None
    return tuple(names)


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a text, nothing, or a list of such: what JSON keeps."""
    if isinstance(value, list | tuple):
        return all(is_plain(item) for item in value)
    return isinstance(value, bool | int | float | str) or value is None
