"""Reading the YAML files of a robot folder: small, plain, inside the folder, without surprises."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

from draft_core.errors import DraftError
from draft_core.expressions import shorten

MAX_BYTES = 256 * 1024
MAX_DEPTH = 16

_RESOLVER = Resolver()
_CONSTRUCTOR = SafeConstructor()
_TEXT = "tag:yaml.org,2002:str"
# What YAML 1.1 alone reads so: 1:30 is 90, 010 is 8, and `no` is false.
_SURPRISES = {
    "int": (re.compile(r"[-+]?0[0-7_]+|.*:.*"), "a number"),
    "float": (re.compile(r".*:.*"), "a number"),
    "bool": (re.compile(r"(?!true$|false$)[a-z]+", re.IGNORECASE), "true or false"),
}
# libyaml's, which comes with PyYAML's wheels, takes a tenth of the time
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Reader:
    """``yaml.safe_load`` without aliases, tags, merge keys, duplicate keys or deep nesting."""

    def __init__(self, text: str) -> None:
        self.events: Iterator[Event] = yaml.parse(text, Loader=_LOADER)

    def document(self) -> Any:
        """Return the only document, None where there is none."""
        found = None
        for count, event in enumerate(e for e in self.events if isinstance(e, DocumentStartEvent)):
            if count:
                raise _refused(event, "a second document begins here; a file has one")
            found = self.value(next(self.events), 0)
        return found

    def value(self, event: Event, depth: int) -> Any:
        """Return the value that begins with an event."""
        if type(event) is ScalarEvent:
            return _scalar(event)
        if isinstance(event, AliasEvent):
            raise _refused(event, "aliases (*name) are not supported; use a parameter")
        assert isinstance(event, MappingStartEvent | SequenceStartEvent)
        if event.tag is not None:
            raise _refused(event, f"the tag {event.tag[:40]!r} is not supported")
        if depth == MAX_DEPTH:
            raise _refused(event, f"nested deeper than {MAX_DEPTH} levels")
        return (self._mapping if type(event) is MappingStartEvent else self._list)(depth + 1)

    def _mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while type(event := next(self.events)) is not MappingEndEvent:
            key = self.value(event, depth)
            if not isinstance(key, str):
                raise _refused(event, f"the key {str(key)[:40]!r} is not a plain word")
            if key in result:
                raise _refused(event, f"the key {key!r} appears twice")
            result[key] = self.value(next(self.events), depth)
        return result

    def _list(self, depth: int) -> list[Any]:
        result = []
        while type(event := next(self.events)) is not SequenceEndEvent:
            result.append(self.value(event, depth))
        return result


def _scalar(event: ScalarEvent) -> Any:
    if event.tag is not None:
        raise _refused(event, f"the tag {event.tag[:40]!r} is not supported")
    if not event.implicit[0]:  # quoted
        return event.value
    tag = _RESOLVER.resolve(ScalarNode, event.value, event.implicit)
    if tag == _TEXT:
        return event.value
    construct = SafeConstructor.yaml_constructors.get(tag)
    if construct is None:
        raise _refused(event, f"{event.value[:40]!r} is not supported")
    surprise, kind = _SURPRISES.get(tag.rpartition(":")[2], (None, ""))
    if surprise is not None and surprise.fullmatch(event.value):
        given = event.value[:40]
        raise _refused(event, f"{given!r} is not {kind}; write {kind}, or quote it: '{given}'")
    return construct(_CONSTRUCTOR, ScalarNode(tag, event.value, event.start_mark))


def _refused(event: Event, reason: str) -> yaml.YAMLError:
    return yaml.YAMLError(f"line {event.start_mark.line + 1}: {reason}")


def robot_folder(folder: str | Path) -> Path:
    """Return the folder as an absolute path.

    Raises:
        DraftError: there is no such folder.
    """
    path = Path(folder)
    if not is_there(path):
        raise DraftError(
            f"robot folder '{shorten(str(path), 120)}' does not exist; "
            "give a folder with parameters.yaml and tree.yaml."
        )
    if not path.is_dir():
        raise DraftError(
            f"'{path}' is a file; give the folder that holds parameters.yaml and tree.yaml."
        )
    return path.resolve()


def read_mapping(folder: Path, name: str) -> dict[str, Any]:
    """Read one YAML file of the folder as a mapping of plain keys.

    Args:
        folder: the robot folder, absolute.
        name: the file's name in it.

    Raises:
        DraftError: the file is missing, outside the folder (a link), too large, not YAML, or
            anything but a mapping.
    """
    path = folder / name
    if not os.path.lexists(path):
        raise DraftError(
            f"robot folder '{folder}' has no {name}; it needs parameters.yaml and tree.yaml."
        )
    if not path.is_file():
        what = "a link to nothing" if path.is_symlink() else "no file"
        raise DraftError(f"{name} in '{folder}' is {what}; it must be a file there.")
    if not path.resolve().is_relative_to(folder):
        raise DraftError(
            f"{name} in '{folder}' links to a file outside the robot folder; copy it in."
        )
    return _mapping(path)


def read_file(path: Path, what: str) -> dict[str, Any]:
    """Read a YAML file that need not be in a robot folder as a mapping of plain keys.

    Args:
        path: the file.
        what: what it is for, for messages.

    Raises:
        DraftError: it is missing, too large, not YAML, or anything but a mapping.
    """
    if not is_there(path, "is_file"):
        raise DraftError(f"there is no {what} '{shorten(str(path), 120)}'.")
    return _mapping(path)


def is_there(path: Path, kind: str = "exists") -> bool:
    """Ask ``path.exists()``, ``is_file`` or ``is_dir``; no for a name that no disk takes."""
    try:
        return bool(getattr(path, kind)())
    except (OSError, ValueError):  # too long; a NUL in it
        return False


def _mapping(path: Path) -> dict[str, Any]:
    text = _text(path)
    try:
        data = _Reader(text).document()
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        reason = f"not readable YAML ({error.problem})"
        if "nesting depth" in str(error.problem):  # libyaml's own limit, met while it looks ahead
            reason = f"nested deeper than {MAX_DEPTH} levels"
        raise DraftError(f"{path}: {line}{reason}.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DraftError(f"{path}: {error}.") from None
    if not isinstance(data, dict):
        given = "empty" if data is None else f"a {type(data).__name__}"
        raise DraftError(f"{path} is {given}; it must be a mapping such as 'leg_length: 0.1'.")
    return data


def _text(path: Path) -> str:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise DraftError(
            f"{path} has {size} bytes; a robot file may have at most {MAX_BYTES} bytes."
        )
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DraftError(f"{path} is not UTF-8 text.") from None
    except OSError as error:
        raise DraftError(f"cannot read {path}: {error.strerror}.") from None
