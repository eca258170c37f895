"""Loop variables put into the strings of a node: ``${f.length}`` becomes ``${legs.fl.length}``.

Python's ``ast`` says where an expression names a loop variable; exactly those spans are replaced,
each by something that stands by itself (a number, a quoted text, a parameter's name or an
expression in brackets), so that the expression keeps its structure. What decides the topology,
such as names, is evaluated at the parameters' values; what is a number stays an expression.
"""

import ast
import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from draft_core.errors import DraftError, ExpressionError, close_match, known_names
from draft_core.expressions import MAX_CHARACTERS, as_number, is_expression, shorten
from draft_core.grammar import Builder, Evaluator
from draft_core.values import bounded

PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")


@dataclass(frozen=True)
class Item:
    """What a loop variable, or a field of it, stands for.

    Attributes:
        source: the expression that replaces it; None where only its fields mean something.
        value: its value where that is a constant, and None where it is an expression's.
        field: gives what a field of it stands for, or raises `ExpressionError`.
    """

    source: str | None
    value: Any = None
    field: "Callable[[str], Item] | None" = None


@dataclass(frozen=True)
class _Reference:
    """Where a piece names a loop variable: bytes from start to end, and the fields it asks for."""

    start: int
    end: int
    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class _Piece:
    """The inside of one ``${...}``.

    Attributes:
        source: its text, in UTF-8, as the offsets of `ast` count.
        references: its loop variables, in order.
        may_be_text: whether its value may be a text without holding one.
    """

    source: bytes
    references: tuple[_Reference, ...]
    may_be_text: bool


@dataclass
class Binder:
    """Binds the strings of one node for one turn of its loop after the other.

    Attributes:
        names: the loop variables.
        constants: the parameters' values.
        where: place of the node, for messages.
    """

    names: frozenset[str]
    constants: Mapping[str, Any]
    where: str
    items: Mapping[str, Item] = field(default_factory=dict)
    count: int = 0
    _pieces: dict[str, _Piece] = field(default_factory=dict)

    def tree(self, value: Any) -> Any:
        """Return nested mappings and lists with every string bound, keys included.

        Raises:
            DraftError: a string cannot be bound, or two keys become the same.
        """
        if isinstance(value, str):
            return self.string(value) if "${" in value else value
        if isinstance(value, list):
            return [self.tree(item) for item in value]
        if not isinstance(value, dict):
            return value
        result = {}
        for key, inner in value.items():
            name = self.text(key) if "${" in key else key
            if name in result:
                raise DraftError(f"{self.where}: the key {shorten(name)!r} appears twice.")
            result[name] = self.tree(inner)
        return result

    def uses_loop(self, stated: str) -> bool:
        """Tell whether a string names a loop variable."""
        return any(self._piece(p).references for p in PLACEHOLDER.split(stated)[1::2])

    def string(self, stated: str) -> Any:
        """Return a string bound: a constant, a text, or an expression of parameters.

        Raises:
            DraftError: it cannot be.
        """
        self.count += 1
        if not self.uses_loop(stated):
            return stated
        split = PLACEHOLDER.split(stated)
        if len(split) == 3 and not split[0].strip() and not split[2].strip():
            return self._sole(stated, self._piece(split[1]))
        return self.text(stated)

    def text(self, stated: str) -> str:
        """Return a string with every ``${...}`` in it evaluated.

        Raises:
            DraftError: one has no value.
        """
        split = PLACEHOLDER.split(stated)
        values = [as_text(self._value(stated, self._piece(piece))) for piece in split[1::2]]
        return "".join(a + b for a, b in zip(split[::2], [*values, ""], strict=True))

    def value(self, stated: str) -> Any:
        """Return the value of a string at the parameters' values.

        Raises:
            DraftError: it has none.
        """
        split = PLACEHOLDER.split(stated)
        if len(split) == 3 and not split[0].strip() and not split[2].strip():
            return self._value(stated, self._piece(split[1]))
        return self.text(stated)

    def _sole(self, stated: str, piece: _Piece) -> Any:
        constant = self._constant(piece)
        if constant is not None:
            return constant
        source = self._bound(stated, piece)
        if "'" in source or '"' in source:
            return self._settled(stated, source)
        if piece.may_be_text:
            value = self.constants.get(source)
            value = self._evaluated(stated, source) if value is None else value
            if isinstance(value, str):
                return value
        return f"${{{source}}}"

    def _value(self, stated: str, piece: _Piece) -> Any:
        constant = self._constant(piece)
        if constant is not None:
            return constant
        return self._evaluated(stated, self._bound(stated, piece))

    def _constant(self, piece: _Piece) -> Any:
        """Return the constant of a piece that is a loop variable and nothing else, or None."""
        references = piece.references
        if len(references) == 1 and not references[0].fields:
            whole = references[0].start == 0 and references[0].end == len(piece.source)
            return self.items[references[0].name].value if whole else None
        return None

    def _bound(self, stated: str, piece: _Piece) -> str:
        """Return a piece with its loop variables replaced."""
        parts, end = [], 0
        for reference in piece.references:
            try:
                replacement = self._resolve(reference)
            except ExpressionError as error:
                raise self._error(stated, error) from None
            parts += [piece.source[end : reference.start], replacement.encode()]
            end = reference.end
        return b"".join([*parts, piece.source[end:]]).decode()

    def _resolve(self, reference: _Reference) -> str:
        item, path = self.items[reference.name], reference.name
        for name in reference.fields:
            if item.field is None:
                raise ExpressionError(f"{path!r} has no fields, so there is no {path}.{name}")
            item, path = item.field(name), f"{path}.{name}"
        if item.source is None:
            raise ExpressionError(f"{path!r} is a mapping; use one of its fields, or ${{index}}")
        return item.source

    def _settled(self, stated: str, source: str) -> Any:
        """Return an expression with texts in it as one without, or as the text it gives.

        Comparisons of texts decide the topology and become true or false, so that the rest of
        the expression still follows the design.
        """
        tree = self._parsed(stated, source)
        try:
            tree = _Settle(self, stated).visit(tree)
            source = ast.unparse(tree)
        except RecursionError:
            raise self._error(stated, "it is nested too deep") from None
        if not any(
            isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(tree)
        ):
            return f"${{{source}}}"
        value = self._evaluated(stated, source)
        if not isinstance(value, str):
            raise self._error(stated, "it mixes texts with numbers; compare texts or choose one")
        return value

    def _piece(self, text: str) -> _Piece:
        if text not in self._pieces:
            self._pieces[text] = self._parse(text)
        return self._pieces[text]

    def _parse(self, text: str) -> _Piece:
        source = " ".join(text.split("\n")).strip()
        tree = self._parsed(text, source)
        found = []
        try:
            self._references(tree, found)
        except RecursionError:
            raise self._error(text, "it is nested too deep") from None
        found.sort(key=lambda reference: reference.start)
        kinds = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp)
        return _Piece(source.encode(), tuple(found), isinstance(tree, kinds))

    def _parsed(self, stated: str, source: str) -> ast.expr:
        if len(source) > MAX_CHARACTERS:
            raise self._error(stated, f"it is too long (at most {MAX_CHARACTERS} characters)")
        try:
            return parse(source)
        except ExpressionError as error:
            raise self._error(stated, error) from None

    def _references(self, node: ast.AST, found: list[_Reference]) -> None:
        inner, fields = node, []
        while isinstance(inner, ast.Attribute):
            fields.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            if inner.id in self.names:
                assert isinstance(node, ast.expr)
                assert node.end_col_offset is not None
                span = (node.col_offset, node.end_col_offset)
                found.append(_Reference(*span, inner.id, tuple(fields[::-1])))
            return
        for child in ast.iter_child_nodes(inner):
            self._references(child, found)

    def _evaluated(self, stated: str, source: str) -> Any:
        return self.evaluated(stated, self._parsed(stated, source))

    def evaluated(self, stated: str, tree: ast.expr) -> Any:
        """Return the value of a parsed expression, quoted texts allowed, at the parameters.

        Raises:
            DraftError: it has none.
        """
        try:
            return bounded(_TextBuilder().build(tree)(self.constants))
        except KeyError as error:
            name = str(error.args[0])
            raise self._error(
                stated,
                f"it uses {name!r}, which is neither a parameter nor a loop variable"
                f"{close_match(name, [*self.constants, *self.names])}; "
                f"there are {known_names([*self.constants, *self.names], 20)}",
            ) from None
        except ExpressionError as error:
            raise self._error(stated, error) from None
        except (ArithmeticError, ValueError, TypeError) as error:
            raise self._error(stated, f"it has no value ({error})") from None
        except RecursionError:
            raise self._error(stated, "it is nested too deep") from None

    def _error(self, stated: str, reason: object) -> DraftError:
        return DraftError(f"{self.where}: cannot use {shorten(stated)!r}: {reason}.")


class _TextBuilder(Builder):
    """The language of expressions with quoted texts, for what decides the topology."""

    def _constant(self, node: ast.Constant, _: int) -> Evaluator:
        if isinstance(node.value, str):
            text = node.value
            return lambda _env: text
        return super()._constant(node, _)


class _Settle(ast.NodeTransformer):
    """Replaces comparisons that hold a quoted text by what they give."""

    def __init__(self, binder: Binder, stated: str):
        self.binder = binder
        self.stated = stated

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        operands = (node.left, *node.comparators)
        if any(map(_is_text, operands)):
            return ast.Constant(bool(self.binder.evaluated(self.stated, node)))
        return self.generic_visit(node)  # pyright: ignore[reportReturnType]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def parse(source: str) -> ast.expr:
    """Return Python's tree of an expression.

    Raises:
        ExpressionError: it is none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as "1if", which Python accepts with a warning
            return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or "not an expression"
        raise ExpressionError(f"it does not parse ({reason})") from None


def as_text(value: Any) -> str:
    """Return a value as it stands in a name: whole numbers without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def constant_item(value: Any) -> Item:
    """Return what a number, switch, text or computed list stands for.

    Raises:
        ExpressionError: it is none of these, or not finite.
    """
    return Item(_literal(value), value if isinstance(value, bool | str | float) else None)


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, bool | str):
        return repr(value)
    number = as_number(value)
    if number is None or not math.isfinite(number):
        raise ExpressionError(f"{shorten(repr(value))} is no finite number, text or list")
    return f"({number!r})" if number < 0 else repr(number)


def stated_item(value: Any, binder: Binder) -> Item:
    """Return what a value of a literal list stands for: numbers keep their expressions.

    Raises:
        ExpressionError: it is neither a number, text, switch, list nor mapping.
        DraftError: an expression in it cannot be used.
    """
    if isinstance(value, dict):
        return Item(None, field=lambda name: _field(value, name, binder))
    if isinstance(value, list):
        sources = [stated_item(item, binder).source for item in value]
        if None in sources:
            raise ExpressionError("a list in it holds a mapping; give the mapping a name")
        return Item(f"[{', '.join(map(str, sources))}]")
    if is_expression(value):
        split = PLACEHOLDER.split(value)
        if len(split) == 3 and not split[0].strip() and not split[2].strip():
            source = " ".join(split[1].split("\n")).strip()
            parse(source)
            return Item(f"({source})")
        return constant_item(binder.text(value))
    number = as_number(value)
    return constant_item(value if number is None else number)


def _field(mapping: Mapping[str, Any], name: str, binder: Binder) -> Item:
    if name not in mapping:
        raise ExpressionError(
            f"there is no field {name!r}{close_match(name, mapping)}; "
            f"there are {known_names(mapping)}"
        )
    return stated_item(mapping[name], binder)
