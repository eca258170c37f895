"""The ``${...}`` language: parsed to a whitelisted tree, evaluated on floats or JAX arrays.

An expression is Python's arithmetic, comparison, ``and``/``or``/``not``, conditional, lists and
a few functions over the names of ``parameters.yaml``; `grammar` says which. Nothing is ever
handed to ``eval``. Names may be dotted (``leg.length``): that is a look-up in the parameters,
never an attribute of an object.
"""

import functools
import math
import re
from dataclasses import dataclass, field
from typing import Any

from draft_core.errors import DraftError, ExpressionError, close_match, known_names
from draft_core.grammar import Environment, Evaluator, build
from draft_core.namespace import is_jax, is_traced
from draft_core.values import bounded

MAX_CHARACTERS = 500

_PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_MAX_DIGITS = 400  # of a number that YAML reads as text


@dataclass(frozen=True)
class Expression:
    """A string with ``${...}``: an expression, or text with expressions in it.

    Attributes:
        text: the string as written.
        where: file, node and key it stands at, for messages.
        names: the parameters it reads, in the order of appearance.
    """

    text: str
    where: str = field(compare=False)
    names: tuple[str, ...] = field(init=False, compare=False, repr=False)
    _evaluate: Evaluator = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Parse the text.

        Raises:
            DraftError: the expression is not one of the language.
        """
        try:
            evaluate, names = _compile(self.text)
        except ExpressionError as error:
            raise self._error(error) from None
        object.__setattr__(self, "_evaluate", evaluate)
        object.__setattr__(self, "names", names)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text and parse it again."""
        return Expression, (self.text, self.where)

    def evaluate(self, env: Environment) -> Any:
        """Return the value: a number, a bool, a text, a tuple, or a JAX array.

        Args:
            env: parameter values by (dotted) name.

        Raises:
            DraftError: a name is unknown, or a number has no result (division by zero, root
                of a negative number, overflow), or the value is too large.
        """
        try:
            return bounded(self._evaluate(env))
        except KeyError as error:
            raise self._unknown(str(error.args[0]), env) from None
        except ZeroDivisionError:
            raise self._error("it divides by zero") from None
        except OverflowError:
            raise self._error("its value is too large") from None
        except ValueError as error:
            reason = "of a number outside its domain (a negative root?)"
            raise self._error(f"it takes a function {reason}: {error}") from None
        except TypeError:
            raise self._error("it mixes numbers with lists or text") from None
        except ExpressionError as error:
            raise self._error(error) from None

    def _unknown(self, name: str, env: Environment) -> DraftError:
        return DraftError(
            f"{self.where}: {shorten(self.text)!r} uses parameter {name!r}, which parameters.yaml "
            f"does not have{close_match(name, env)}. It has: {known_names(env)}."
        )

    def _error(self, reason: object) -> DraftError:
        return DraftError(f"{self.where}: cannot use {shorten(self.text)!r}: {reason}.")


def shorten(text: str, limit: int = 60) -> str:
    """Return the text, cut for a message."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def is_expression(value: object) -> bool:
    """Tell whether a YAML value is a string with ``${`` in it."""
    return isinstance(value, str) and "${" in value


def as_number(value: object) -> float | None:
    """Return a YAML value as a float if it is one, and None otherwise.

    YAML 1.1 reads ``1e-3`` (without a dot) as text; here it is the number it looks like.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        if abs(value) <= 1e300 or value != value:
            return float(value)
        return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and len(value) <= _MAX_DIGITS and _NUMBER.fullmatch(value.strip()):
        return float(value)
    return None


def _format(value: Any) -> str:
    if is_traced(value):
        return "?"  # text holds no number that a trace could carry
    value = float(value) if is_jax(value) else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


@functools.lru_cache(maxsize=1024)  # a robot states the same expressions many times
def _compile(text: str) -> tuple[Evaluator, tuple[str, ...]]:
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"it is too long (at most {MAX_CHARACTERS} characters)")
    whole = _PLACEHOLDER.fullmatch(text.strip())
    if whole:
        return build(whole.group(1))
    pieces = _PLACEHOLDER.split(text)
    if any("${" in literal for literal in pieces[::2]):
        raise ExpressionError("a '${' has no matching '}' (braces inside are not allowed)")
    built = [build(piece) for piece in pieces[1::2]]
    names = tuple(dict.fromkeys(name for _, used in built for name in used))

    def evaluate(env: Environment) -> str:
        values = [_format(part(env)) for part, _ in built]
        filled = zip(pieces[::2], [*values, ""], strict=True)
        return "".join(literal + value for literal, value in filled)

    return evaluate, names
