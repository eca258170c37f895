"""Problems that come with the project: one folder each, with robot, problem.py and README.

A folder is a problem when its ``problem.py`` defines a subclass of `codesign.Problem`, or of
another problem that it imports from here; nothing else registers it. Listing reads the source and
imports nothing, so that it is quick.
"""

from __future__ import annotations

import ast
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codesign import Problem

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class ProblemEntry:
    """A problem that can be solved by name.

    Attributes:
        name: of its folder.
        class_name: of the `Problem` subclass in its problem.py.
        summary: first line of the class's docstring.
        folder: where it is.
    """

    name: str
    class_name: str
    summary: str
    folder: Path

    def load(self) -> type[Problem]:
        """Return the problem's class; imports its module."""
        module = importlib.import_module(f"problems.{self.name}.problem")
        return getattr(module, self.class_name)


def registry() -> dict[str, ProblemEntry]:
    """Return every shipped problem by the name of its folder, sorted."""
    entries = {}
    for source in sorted(FOLDER.glob("*/problem.py")):
        found = problem_class_in(source.read_text(encoding="utf-8"))
        if found is not None:
            name = source.parent.name
            entries[name] = ProblemEntry(name, found.name, _summary(found), source.parent)
    return entries


def problem_class_in(source: str) -> ast.ClassDef | None:
    """Return the first class of a module that extends a problem: `Problem`, or one it imports."""
    body = ast.parse(source).body
    known = {"Problem", "Tasks"}
    for node in body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("problems."):
            known |= {alias.asname or alias.name for alias in node.names}
        if isinstance(node, ast.ClassDef) and any(_name_of(base) in known for base in node.bases):
            return node
    return None


def _name_of(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def _summary(node: ast.ClassDef) -> str:
    lines = (ast.get_docstring(node) or "").splitlines()
    return lines[0] if lines else ""
