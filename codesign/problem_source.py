"""From what a person types to a `Problem`: a name, or ``path/to/file.py:Class``."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import yaml

from codesign.errors import ProblemError

if TYPE_CHECKING:
    from codesign.problem import Problem


def problem_class(source: str) -> type[Problem]:
    """Return the problem class that `source` names.

    Args:
        source: name of a shipped problem ("hexapod"), or "path/to/file.py:Class"; the class may
            be left out when the file defines one problem.

    Raises:
        ProblemError: nothing by that name; the message says what there is.
    """
    path, _, name = source.rpartition(":") if ".py:" in source else (source, "", "")
    if path.endswith(".py"):
        return _class_of(load_module(Path(path)), name, path)
    shipped = importlib.import_module("problems").registry()
    if source in shipped:
        return shipped[source].load()
    near = difflib.get_close_matches(source, shipped, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    raise ProblemError(
        f"there is no problem '{source}'{hint}. There are: {', '.join(shipped)}; "
        "your own is named as path/to/file.py:Class"
    )


def load_module(path: Path) -> ModuleType:
    """Import a file that is not part of a package; modules beside it can be imported by it.

    Raises:
        ProblemError: the file is missing, or does not run; the message gives file and line.
    """
    if not path.is_file():
        raise ProblemError(f"there is no file '{path}'")
    path = path.resolve()
    name = f"codesign_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ProblemError(f"'{path}' cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # inspect and dataclasses look their module up there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ProblemError(describe(error, path)) from error
    return module


def describe(error: BaseException, path: Path) -> str:
    """Return an error of a user's file in one line, with the file's line that led to it."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    where = f"{path}:{frames[-1].lineno}" if frames else str(path)
    text = " ".join(str(error).split())
    return (
        f"{where}: {type(error).__name__}: {text}" if text else f"{where}: {type(error).__name__}"
    )


def is_from(error: BaseException, path: Path) -> bool:
    """Whether the code in `path` was running when the error was raised."""
    return any(f.filename == str(path) for f in traceback.extract_tb(error.__traceback__))


def _class_of(module: ModuleType, name: str, path: str) -> type[Problem]:
    from codesign.problem import Problem

    found = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, Problem)
        and value.__module__ == module.__name__
    }
    listed = f"It has: {', '.join(found)}" if found else "It has none: subclass codesign.Problem"
    if not name and len(found) == 1:
        return next(iter(found.values()))
    if not name:
        raise ProblemError(f"say which problem of '{path}' to solve, as {path}:Class. {listed}")
    if name not in found:
        raise ProblemError(f"'{path}' defines no problem '{name}'. {listed}")
    return found[name]


def make_problem(kind: type[Problem], settings: Iterable[str]) -> Problem:
    """Return the problem with ``key=value`` options set.

    Raises:
        ProblemError: an option does not exist, or its value is of the wrong kind.
    """
    options = {}
    for setting in settings:
        key, value = parse_setting(setting)
        options[key] = _checked(kind, key, value)
    return kind(**options)


def parse_setting(setting: str) -> tuple[str, Any]:
    """Return key and value of ``key=value``; the value is a number, list, mapping or text.

    Raises:
        ProblemError: there is no ``=``, or the value does not parse.
    """
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise ProblemError(f"'{setting}' is not a setting; write it as key=value")
    return key.strip(), _value(setting, text.strip())


def _value(setting: str, text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise ProblemError(f"the value of '{setting}' cannot be read; quote it?") from None


def _checked(kind: type[Problem], key: str, value: Any) -> Any:
    """The value, if it is of the kind of the option's default; unknown keys are the class's."""
    default = getattr(kind, key, None)
    if isinstance(default, bool):
        is_good, wanted = isinstance(value, bool), "true or false"
    elif isinstance(default, int | float):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_good, wanted = is_number and math.isfinite(value), "a number"
    elif isinstance(default, str):
        is_good, wanted = isinstance(value, str), "text"
    else:
        return value
    if not is_good:
        raise ProblemError(f"option '{key}' of {kind.__name__} is {wanted}; '{value}' was given")
    return value
