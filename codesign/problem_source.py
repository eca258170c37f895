"""From what a person types to a `Problem`: a name, or ``path/to/file.py:Class``."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import yaml

from codesign.errors import CodesignError, ProblemError

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solution import Solution
    from codesign.tasks import Tasks


def problem_class(source: str) -> type[Any]:
    """Return the class that `source` names: of a `Problem`, or of `Tasks`.

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


def source_of(kind: type[Problem]) -> str:
    """Return what `problem_class` finds a class by; empty where it cannot be found again."""
    folder, _, _ = kind.__module__.removeprefix("problems.").partition(".")
    if kind.__module__ == f"problems.{folder}.problem":
        entry = importlib.import_module("problems").registry().get(folder)
        if entry is not None and entry.class_name == kind.__name__:
            return folder
    try:
        path = Path(inspect.getfile(kind)).resolve()
    except (OSError, TypeError):  # a class typed at a prompt has no file
        return ""
    is_nested = kind.__qualname__ != kind.__name__
    return "" if is_nested or path.suffix != ".py" else f"{path}:{kind.__name__}"


def problem_again(solution: Solution) -> Problem:
    """Return the problem of a saved solution, made from its source, options and overrides.

    Raises:
        ProblemError: it has no file, or that is gone or does not run any more.
    """
    if not solution.source:
        raise ProblemError(
            f"the class of problem {solution.problem} has no file of its own; give the problem: "
            "refine(problem=...)"
        )
    kind = problem_class(solution.source)
    _check_members(kind)
    options = dict(solution.options)
    if solution.overrides:  # a motor class that they anchor on a part is no longer designed
        design = {n: bounds for n, bounds in kind.design.items() if n in solution.design_values}
        options |= {"overrides": list(solution.overrides), "design": design}
    try:
        return kind(**options)
    except CodesignError:
        raise
    except Exception as error:
        raise ProblemError(f"{kind.__name__} cannot be made: {_told(error, kind)}") from error


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
    except (Exception, SystemExit) as error:
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


def _class_of(module: ModuleType, name: str, path: str) -> type[Any]:
    from codesign.problem import Problem
    from codesign.tasks import Tasks

    found = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, Problem | Tasks)
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


def make_problem(kind: type[Any], settings: Iterable[str]) -> Any:
    """Return the problem, or the tasks, with ``key=value`` options set.

    Of tasks, ``task.key=value`` sets an option of one.

    Raises:
        ProblemError: an option does not exist, its value is of the wrong kind, or the class is
            not written so that it can be solved.
    """
    from codesign.tasks import Tasks

    _check_members(kind)
    parsed = [(*parse_setting(setting), setting) for setting in settings]
    if issubclass(kind, Tasks):
        bare = _made(kind, {})
        for task in bare.problems.values():
            _check_members(type(task))
        return _made(kind, _options_of_tasks(bare, parsed))
    return _made(kind, {key: _checked(kind, key, value, text) for key, value, text in parsed})


def _made(kind: type[Any], options: Mapping[str, Any]) -> Any:
    try:
        return kind(**options)
    except CodesignError:
        raise
    except Exception as error:
        raise ProblemError(f"{kind.__name__} cannot be made: {_told(error, kind)}") from error


def _options_of_tasks(bare: Tasks, parsed: Iterable[tuple[str, Any, str]]) -> dict[str, Any]:
    """Return the options that settings of several tasks give, those of a task in a mapping.

    Raises:
        ProblemError: a setting names no task, or its value is of the wrong kind.
    """
    kind, tasks = type(bare), bare.problems
    options: dict[str, Any] = {}
    for key, value, text in parsed:
        name, dot, option = key.partition(".")
        if dot and name not in tasks:
            raise ProblemError(
                f"'{_short(text)}': {kind.__name__} has no task '{name}'. It has: "
                f"{', '.join(tasks)}"
            )
        if dot:
            given = options.setdefault(name, {})
            if not isinstance(given, dict):
                raise ProblemError(
                    f"'{_short(text)}': task '{name}' was set to {given!r} before; set its options "
                    f"alone, as {name}.knots=31"
                )
            given[option] = _checked(type(tasks[name]), option, value, text)
        else:
            owner = kind if key in kind.option_names() else type(next(iter(tasks.values())))
            options[key] = _checked(owner, key, value, text)
    return options


def _told(error: Exception, kind: type) -> str:
    path = Path(inspect.getfile(kind)).resolve()
    if is_from(error, path):
        return describe(error, path)
    text = " ".join(str(error).split())
    return f"{text}; give its __init__ defaults, or use class attributes as options"


#: Arguments that each method of a problem is called with, besides self.
_CALLED_WITH = {
    "objective": ("traj",),
    "constraints": ("traj",),
    "keyframes": (),
    "markers": ("design",),
    "tasks": (),
}


def _check_members(kind: type[Any]) -> None:
    """Refuse a class whose attributes hide what its base does, or whose methods cannot be called.

    Raises:
        ProblemError: the message names the attribute and what it should be.
    """
    from codesign.problem import Problem
    from codesign.tasks import Tasks

    for name, own in vars(Tasks if issubclass(kind, Tasks) else Problem).items():
        stated = inspect.getattr_static(kind, name)
        if name.startswith("_") or stated is own or not _is_member(own):
            continue
        is_mapping = name == "markers" and isinstance(stated, Mapping)
        if not is_mapping and not _is_member(stated):
            raise ProblemError(
                f"{kind.__name__}.{name} is {_shown(stated)}, which hides what every problem has "
                f"by that name; call it something else"
            )
    for name, words in _CALLED_WITH.items():
        stated = inspect.getattr_static(kind, name, None)
        given = words if isinstance(stated, classmethod | staticmethod) else ("self", *words)
        if inspect.isfunction(stated) and not _accepts(stated, given):
            raise ProblemError(
                f"{kind.__name__}.{name}{inspect.signature(stated)} cannot be called; "
                f"write def {name}({', '.join(('self', *words))})"
            )


def _is_member(value: Any) -> bool:
    kinds = property | classmethod | staticmethod | cached_property
    return callable(value) or isinstance(value, kinds)


def _accepts(function: Any, arguments: tuple[str, ...]) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    return True


def parse_setting(setting: str) -> tuple[str, Any]:
    """Return key and value of ``key=value``; the value is a number, list, mapping or text.

    Raises:
        ProblemError: there is no ``=``, or the value does not parse.
    """
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise ProblemError(f"'{_short(setting)}' is not a setting; write it as key=value")
    return key.strip(), _value(setting, text.strip())


class _SettingLoader(yaml.SafeLoader):
    """YAML as a person types it: 2024-01-01 and 1:30 are text, 1e300 is a number, no aliases."""

    yaml_implicit_resolvers = {
        first: [row for row in rows if not row[0].endswith((":timestamp", ":int", ":float"))]
        for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse an alias, which could make a value that holds itself."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not supported")
        return super().compose_node(parent, index)


_SettingLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?(0|[1-9][0-9_]*)$"), list("-+0123456789")
)
_SettingLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+(\.\d*)?[eE][-+]?\d+|\d+\.\d*|\.\d+([eE][-+]?\d+)?|\.inf)$|\.nan$"),
    list("-+.0123456789"),
)


def _value(setting: str, text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    try:
        return yaml.load(text, Loader=_SettingLoader)  # a SafeLoader
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        raise ProblemError(f"the value of '{_short(setting)}' cannot be read; quote it?") from None


def _checked(kind: type[Any], key: str, value: Any, setting: str) -> Any:
    """The value, if it is of the kind of the option's default; unknown keys are the class's."""
    if key == "terrain":
        raise ProblemError("terrain is stated in the class: it is a function, not a setting")
    if key == "motors" and isinstance(value, str):
        from codesign.motor_library import MotorLibrary

        return MotorLibrary.read(value)
    default = inspect.getattr_static(kind, key, None)
    if isinstance(default, bool):
        is_good, wanted = isinstance(value, bool), "true or false"
    elif isinstance(default, int | float):
        is_good, wanted = _is_finite_number(value), "a number"
    elif isinstance(default, str | Path):
        is_good, wanted = isinstance(value, str), "text"
    elif isinstance(default, list | tuple):
        is_good = isinstance(value, list) and _are_alike(default, value)
        wanted = f"a list, written as {_shown(list(default))}"
    elif isinstance(default, Mapping):
        is_good = isinstance(value, dict)
        wanted = "a mapping, written as {name: [lower, upper]}"
    else:
        return value
    if not is_good:
        given = _short(setting.partition("=")[2].strip())
        raise ProblemError(f"option '{key}' of {kind.__name__} is {wanted}; '{given}' was given")
    return value


def _is_finite_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def _are_alike(default: list | tuple, value: list) -> bool:
    """Whether a list may stand for the default: numbers where that has numbers."""
    if default and all(_is_finite_number(item) for item in default):
        return all(_is_finite_number(item) for item in value)
    return True


def _shown(value: Any) -> str:
    return _short(repr(value))


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}…"
