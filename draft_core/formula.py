"""A value that follows from others by a rule of this package, such as a hardware trend.

Where a robot folder would need ``${...}`` for it, the parser states a `Formula` instead; both are
leaves of the tree and evaluate alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from draft_core.errors import DraftError
from draft_core.expressions import Expression


@dataclass(frozen=True)
class Formula:
    """A rule applied to numbers, expressions and other formulas.

    Attributes:
        text: the rule as reports print it, such as "m = 0.0653 tau^0.666".
        function: a module-level function of the arguments' values and the options.
        arguments: numbers, expressions and formulas, in the function's order.
        options: constants that follow the arguments; hashable.
        where: place of the value, for messages.
    """

    text: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: tuple[Any, ...] = ()
    where: str = field(default="", compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters it reads."""
        found: dict[str, None] = {}
        for argument in self.arguments:
            if isinstance(argument, Expression | Formula):
                found.update(dict.fromkeys(argument.names))
        return tuple(found)

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the value at the parameters ``env``.

        Raises:
            DraftError: an argument or the result has no value.
        """
        values = [
            argument.evaluate(env) if isinstance(argument, Expression | Formula) else argument
            for argument in self.arguments
        ]
        try:
            return self.function(*values, *self.options)
        except (ArithmeticError, ValueError, TypeError) as error:
            if isinstance(error, DraftError):
                raise
            raise DraftError(f"{self.where}: {self.text} has no value here: {error}.") from None


@dataclass(frozen=True)
class Alias:
    """Another name of a parameter."""

    of: str

    @property
    def names(self) -> tuple[str, ...]:
        """The parameter it is a name of."""
        return (self.of,)

    @property
    def text(self) -> str:
        """What it says, as an expression."""
        return f"${{{self.of}}}"

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the parameter's value."""
        return env[self.of]
