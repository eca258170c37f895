"""`Margin`: how far one number of a robot is from where a rule refuses it, or warns of it.

Every value is dimensionless: 0 at the limit, positive on the side that passes, about 1 where a
design is well away from it. For an upper limit x_max, a lower one x_min and an interval,

    1 − x / x_max,   x / x_min − 1,   min(x / x_min − 1, 1 − x / x_max).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from draft_core.anatomy import Anatomy
from draft_core.namespace import is_jax, is_traced, namespace

Level = Literal["error", "warning"]
# Relative: a module at the frontier is inside it, however its density is rounded.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Margin:
    """One number held against a rule.

    Attributes:
        gate: the rule's name.
        subject: what is judged, such as "motors.L, torque density".
        value: at least 0 passes; dimensionless; a float or a JAX scalar.
        measured: the number itself.
        limit: the most or least it may be, or both as (least, most).
        unit: of these two; empty for ratios.
        level: an error refuses, a warning is recorded.
        text: the message, with {measured} and {limit}, or {low} and {high}, for the numbers.
        switch: the parameter that turns the refusal into a recorded override, if there is one.
    """

    gate: str
    subject: str
    value: Any
    measured: Any
    limit: Any
    unit: str
    level: Level
    text: str
    switch: str | None = None

    @property
    def passes(self) -> bool:
        """Whether the number keeps the rule; NaN does not."""
        return bool(self.value >= 0)

    @property
    def message(self) -> str:
        """What is measured and what the limit is, in one line."""
        named = {"measured": self.measured}
        if isinstance(self.limit, tuple):
            named["low"], named["high"] = self.limit
        else:
            named["limit"] = self.limit
        for places in (4, 7, 10, 17):  # as many as it takes to tell the number from its limit
            numbers = {name: digits(value, places) for name, value in named.items()}
            if len(set(numbers.values())) == len(numbers):
                break
        return self.text.format(**numbers)


@dataclass(frozen=True)
class Gate:
    """A rule that robots are held against.

    Attributes:
        name: as reports and ``gates=`` name it.
        title: in words.
        rule: what it says, in one line, as docs/gates.md states it.
        margins: how far a robot is from it: the same list, but for the numbers, at every design.
        switch: the parameter that allows what its errors refuse; None where it only warns.
    """

    name: str
    title: str
    rule: str
    margins: Callable[[Anatomy], list[Margin]]
    switch: str | None = None


def digits(value: Any, places: int = 4) -> str:
    """Return a number as messages print it; rounding about zero is left out."""
    return "?" if is_traced(value) else f"{round(float(value), 12) + 0.0:.{places}g}"


def scalars(values: Any) -> list[Any]:
    """Return the elements of an array, plain floats where it is NumPy's."""
    return [values[i] for i in range(len(values))] if is_jax(values) else values.tolist()


def element(values: Any, at: Any) -> Any:
    """Return an element of an array; its number may be traced where the array is not."""
    return namespace(values, at).asarray(values)[at]


def joint_name(names: Sequence[str]) -> str:
    """Return what several things that share one margin are called."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} like it"


def lesser(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers."""
    if isinstance(a, float | int) and isinstance(b, float | int):
        return min(a, b)
    return namespace(a, b).minimum(a, b)


def greater(a: Any, b: Any) -> Any:
    """Return the larger of two numbers."""
    if isinstance(a, float | int) and isinstance(b, float | int):
        return max(a, b)
    return namespace(a, b).maximum(a, b)


def below(measured: Any, most: Any) -> Any:
    """Return the margin of a number that may be at most so much."""
    return 1 + ROUNDING - measured / most


def within(measured: Any, low: Any, high: Any) -> Any:
    """Return the margin of a number that lies between two, both greater than 0."""
    return lesser(measured / low - (1 - ROUNDING), 1 + ROUNDING - measured / high)
