"""From margins to a verdict: what refuses a robot, what warns, and what a switch has allowed.

A switch is a parameter at the top level of parameters.yaml, such as ``allow_hypothetical: true``;
absent means false. It turns what its gate would refuse into a recorded override.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from draft_core.errors import DraftError, close_match, known_names
from draft_core.expressions import shorten
from draft_core.gates.margins import Gate, Margin
from draft_core.tree import RobotTree

PREFIX = "allow_"  # of every switch; no other parameter may begin so


@dataclass(frozen=True)
class Verdict:
    """Margins that do not pass, by what follows from them.

    Attributes:
        refusals: errors.
        warnings: what is unusual.
        allowed: errors that a switch allows.
        on: the switches that are on.
    """

    refusals: tuple[Margin, ...]
    warnings: tuple[Margin, ...]
    allowed: tuple[Margin, ...]
    on: tuple[str, ...]

    @property
    def is_feasible(self) -> bool:
        """Whether nothing refuses the robot."""
        return not self.refusals


def switches(tree: RobotTree, env: Mapping[str, Any], gates: Iterable[Gate]) -> dict[str, bool]:
    """Return the switches of these gates, on or off.

    Raises:
        DraftError: one is neither true nor false, or a parameter has the name of a switch that
            there is not.
    """
    known = [gate.switch for gate in gates if gate.switch]
    for name in _stated(tree):
        if name not in known:
            raise DraftError(
                f"parameters.yaml, {name} is no switch of the feasibility filter"
                f"{close_match(name, known)}. There are: {known_names(known)}."
            )
        if not isinstance(env[name], bool):
            raise DraftError(
                f"parameters.yaml, {name} is {shorten(repr(env[name]))}; a switch is true or false."
            )
    return {name: env.get(name) is True for name in known}


@lru_cache(maxsize=32)
def _stated(tree: RobotTree) -> tuple[str, ...]:
    names = (entry.name for entry in tree.parameters.entries)
    return tuple(name for name in names if name.startswith(PREFIX) and "." not in name)


def verdict(margins: Iterable[Margin], on: Mapping[str, bool]) -> Verdict:
    """Return what follows from margins.

    Args:
        margins: with numbers, not traced.
        on: which switches are on.
    """
    found: dict[str, list[Margin]] = {"error": [], "warning": [], "allowed": []}
    for margin in margins:
        if not margin.value >= 0:  # NaN does not pass
            found["allowed" if is_allowed(margin, on) else margin.level].append(margin)
    return Verdict(
        tuple(found["error"]),
        tuple(found["warning"]),
        tuple(found["allowed"]),
        tuple(name for name, is_on in on.items() if is_on),
    )


def is_allowed(margin: Margin, on: Mapping[str, bool]) -> bool:
    """Tell whether a switch turns what a margin would refuse into an override."""
    return margin.level == "error" and margin.switch is not None and on.get(margin.switch, False)
