"""Reading the YAML files of a robot folder: small, plain, inside the folder, without surprises."""

from pathlib import Path
from typing import Any

import yaml

from draft_core.errors import DraftError

MAX_BYTES = 256 * 1024
MAX_DEPTH = 16


class _PlainLoader(yaml.SafeLoader):
    """``yaml.safe_load`` without aliases, merge keys, duplicate keys or deep nesting."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.YAMLError(
                f"line {mark.line + 1}: aliases (*name) are not supported; use a parameter"
            )
        self._depth += 1
        if self._depth > MAX_DEPTH:
            mark = self.peek_event().start_mark
            raise yaml.YAMLError(f"line {mark.line + 1}: nested deeper than {MAX_DEPTH} levels")
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def _construct_mapping(loader: _PlainLoader, node: yaml.MappingNode) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise yaml.YAMLError(f"line {line}: the key {str(key)[:40]!r} is not a plain word")
        if key in result:
            raise yaml.YAMLError(f"line {line}: the key {key!r} appears twice")
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_PlainLoader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)


def robot_folder(folder: str | Path) -> Path:
    """Return the folder as an absolute path.

    Raises:
        DraftError: there is no such folder.
    """
    path = Path(folder)
    if not path.exists():
        raise DraftError(
            f"robot folder '{path}' does not exist; "
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
    if not path.is_file():
        raise DraftError(
            f"robot folder '{folder}' has no {name}; it needs parameters.yaml and tree.yaml."
        )
    if not path.resolve().is_relative_to(folder):
        raise DraftError(
            f"{name} in '{folder}' links to a file outside the robot folder; copy it in."
        )
    text = _text(path)
    try:
        data = yaml.load(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise DraftError(f"{path}: {line}not readable YAML ({error.problem}).") from None
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
