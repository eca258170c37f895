"""Design variables: which parameters may change, between which bounds, from which start."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from draft_core.errors import DraftError, close_match, known_names
from draft_core.expressions import as_number, shorten
from draft_core.parameters import Parameter


@runtime_checkable
class HasParameters(Protocol):
    """Anything with named parameters, such as a `Robot`."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters by dotted name."""
        ...


@dataclass(frozen=True)
class DesignVariable:
    """A parameter that may change.

    Attributes:
        name: the parameter's dotted name.
        unit: as parameters.yaml states it, if it does.
        lower: least value.
        upper: most value.
        initial: where the search starts, and what "the initial design" means.
    """

    name: str
    unit: str | None
    lower: float
    upper: float
    initial: float

    def __post_init__(self) -> None:
        """Check the bounds.

        Raises:
            DraftError: a number is not finite, the bounds are the wrong way round or equal, or
                the initial value is outside them.
        """
        where = f"design variable {self.name!r}"
        for key in ("lower", "upper", "initial"):
            number = as_number(getattr(self, key))
            if number is None or not math.isfinite(number):
                given = getattr(self, key)
                raise DraftError(f"{where}: {key} is {given!r}; it must be a finite number.")
            object.__setattr__(self, key, number)
        if not self.lower < self.upper:
            raise DraftError(
                f"{where} has bounds ({self.lower:g}, {self.upper:g}); "
                "the first must be less than the second."
            )
        if not self.lower <= self.initial <= self.upper:
            raise DraftError(
                f"{where} starts at {self.initial:g}, outside its bounds "
                f"({self.lower:g}, {self.upper:g}); widen them or give (lower, upper, initial)."
            )

    @property
    def scale(self) -> float:
        """The size of a change that matters: half the width between the bounds."""
        return 0.5 * (self.upper - self.lower)


@dataclass(frozen=True)
class DesignSpace:
    """The design variables of a problem, in order."""

    variables: tuple[DesignVariable, ...]

    @classmethod
    def of(cls, robot: HasParameters, bounds: Mapping[str, Sequence[float]]) -> "DesignSpace":
        """Return the space in which the named parameters move.

        Args:
            robot: whose parameters they are.
            bounds: (lower, upper) or (lower, upper, initial) by parameter name; the file's value
                is the initial one unless given.

        Raises:
            DraftError: a name is no parameter, or its bounds cannot work.
        """
        if not isinstance(bounds, Mapping):
            raise DraftError(
                f"design bounds are {shorten(repr(bounds))}; give a mapping from names to "
                "(lower, upper) or (lower, upper, initial)."
            )
        return cls(tuple(_variable(robot.parameters, name, row) for name, row in bounds.items()))

    def __len__(self) -> int:
        """Return how many variables there are."""
        return len(self.variables)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(v.name for v in self.variables)

    @property
    def lower(self) -> np.ndarray:
        """Least values (p,)."""
        return np.array([v.lower for v in self.variables], dtype=float)

    @property
    def upper(self) -> np.ndarray:
        """Most values (p,)."""
        return np.array([v.upper for v in self.variables], dtype=float)

    @property
    def initial(self) -> np.ndarray:
        """Initial values (p,)."""
        return np.array([v.initial for v in self.variables], dtype=float)

    @property
    def scale(self) -> np.ndarray:
        """Half widths (p,)."""
        return np.array([v.scale for v in self.variables], dtype=float)

    def as_dict(self, values: Any) -> dict[str, Any]:
        """Return a vector of values (p,) as the mapping that `realize` takes.

        Raises:
            DraftError: there are too many or too few.
        """
        if len(values) != len(self.variables):
            raise DraftError(
                f"{len(values)} design values are given; there are {len(self.variables)} variables."
            )
        return {name: values[i] for i, name in enumerate(self.names)}


def _variable(
    parameters: Mapping[str, Parameter], name: str, row: Sequence[float]
) -> DesignVariable:
    if name not in parameters:
        free = [known for known, parameter in parameters.items() if not parameter.fixed]
        raise DraftError(
            f"design variable {name!r} is not a numeric parameter of this robot"
            f"{close_match(name, free)}. It has: {known_names(free, 20)}."
        )
    if isinstance(row, str) or not isinstance(row, Sequence) or len(row) not in (2, 3):
        raise DraftError(
            f"design variable {name!r} has bounds {row!r}; "
            "give (lower, upper) or (lower, upper, initial)."
        )
    parameter = parameters[name]
    initial = row[2] if len(row) == 3 else parameter.value
    return DesignVariable(name, parameter.unit, row[0], row[1], initial)  # pyright: ignore[reportArgumentType]
