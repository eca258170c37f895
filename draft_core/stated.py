"""Numbers that may follow the design: what the file states, where, and the rule it must keep."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from draft_core.errors import DraftError
from draft_core.expressions import Expression, as_number, is_expression, shorten
from draft_core.formula import Formula
from draft_core.namespace import is_jax, is_traced, stack
from draft_core.parameters import finite

Leaf = float | Expression | Formula
Rule = Literal["any", "positive", "not negative"]
Environment = Mapping[str, Any]
MAX_MAGNITUDE = 1e9  # of any number in SI units; MuJoCo gives up at 1e10


def _value(stated: Any, env: Environment) -> Any:
    return stated.evaluate(env) if isinstance(stated, Expression | Formula) else stated


def _checked(value: Any, where: str, rule: Rule, stated: object) -> Any:
    if isinstance(value, tuple | str) or (is_jax(value) and value.shape != ()):
        given = stated.text if isinstance(stated, Expression | Formula) else value
        raise DraftError(f"{where} is {shorten(repr(given))}; it must be one number.")
    finite(value, where)
    if not is_traced(value):
        if abs(value) > MAX_MAGNITUDE:
            number = f"{float(value):g}"
            number = number if abs(float(number)) > MAX_MAGNITUDE else repr(float(value))
            raise DraftError(f"{where} is {number}; at most {MAX_MAGNITUDE:g} is possible.")
        wrong = (rule == "positive" and value <= 0) or (rule == "not negative" and value < 0)
        if wrong:
            bound = "greater than 0" if rule == "positive" else "0 or more"
            computed = isinstance(stated, Expression | Formula)
            source = f" (from {stated.text!r})" if computed else ""
            raise DraftError(f"{where} is {float(value):.6g}{source}; it must be {bound}.")
    return value if is_jax(value) else float(value)


@dataclass(frozen=True)
class Scalar:
    """A number that may follow the design."""

    stated: Leaf
    where: str = field(compare=False)
    rule: Rule = "any"

    def evaluate(self, env: Environment) -> Any:
        """Return its value at the parameters ``env``.

        Raises:
            DraftError: the value breaks the rule or is not a finite number.
        """
        return self.item(0, _value(self.stated, env))

    def item(self, _: int, value: Any) -> Any:
        """Return a value that `stated` gave, as a float or JAX scalar.

        Raises:
            DraftError: it breaks the rule or is not a finite number.
        """
        return _checked(value, self.where, self.rule, self.stated)

    @property
    def is_constant(self) -> bool:
        """Whether no parameter enters."""
        return not isinstance(self.stated, Expression | Formula)


@dataclass(frozen=True)
class Vector:
    """A list of numbers that may follow the design, or one expression that gives the list."""

    stated: tuple[Leaf, ...] | Expression | Formula
    where: str = field(compare=False)
    sizes: tuple[int, ...] = (3,)
    rule: Rule = "any"
    names: tuple[str, ...] = field(default=(), compare=False)  # of its numbers, for messages

    def items(self, env: Environment) -> list[Any]:
        """Return the numbers at the parameters ``env``.

        Raises:
            DraftError: they are too many or too few, break the rule or are not finite.
        """
        stated = _value(self.stated, env)
        if not isinstance(stated, tuple) or len(stated) not in self.sizes:
            given = self.stated.text if isinstance(self.stated, Expression | Formula) else stated
            sizes = " or ".join(map(str, self.sizes))
            raise DraftError(
                f"{self.where} is {shorten(repr(given))}; it must be a list of {sizes} numbers."
            )
        return [self.item(i, _value(item, env)) for i, item in enumerate(stated)]

    def item(self, i: int, value: Any) -> Any:
        """Return one of the values, as a float or JAX scalar.

        Raises:
            DraftError: it breaks the rule or is not a finite number.
        """
        stated = self.stated[i] if isinstance(self.stated, tuple) else self.stated
        return _checked(value, self._at(i), self.rule, stated)

    def _at(self, i: int) -> str:
        """Return the place of one of the numbers; one without a name of its own is the list's."""
        if not self.names:
            return f"{self.where}[{i}]"
        return f"{self.where}, {self.names[i]}" if self.names[i] else self.where

    def evaluate(self, env: Environment) -> Any:
        """Return the numbers as one array."""
        return stack(self.items(env))


def leaf(value: object, where: str) -> Leaf:
    """Return a YAML value as a number or an expression.

    Raises:
        DraftError: it is neither.
    """
    number = as_number(value)
    if number is not None:
        return finite(number, where)
    if is_expression(value):
        return Expression(str(value), where)
    raise DraftError(
        f"{where} is {shorten(repr(value))}; it must be a number or '${{expression}}'."
    )
