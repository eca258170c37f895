"""The feasibility gates: rules that refuse a robot no one could build, or warn of a rare one.

Each gate is one file with a `GATE` and one line in `GATES`. Its margins are numbers of the design
like any other: floats for a report, JAX values for an optimiser's constraints.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from draft_core.anatomy import Anatomy, anatomy
from draft_core.errors import DraftError, close_match, known_names
from draft_core.gates import (
    actuator_mass,
    aspect,
    composition,
    double_charge,
    frontier,
    in_root,
    link_density,
    member_density,
    packing,
    radius,
    speed,
)
from draft_core.gates.margins import Gate, Margin
from draft_core.gates.verdict import Verdict, is_allowed, switches, verdict
from draft_core.namespace import stack
from draft_core.tree import RobotTree

GATES: tuple[Gate, ...] = (
    frontier.GATE,
    speed.GATE,
    radius.GATE,
    aspect.GATE,
    link_density.GATE,
    member_density.GATE,
    packing.GATE,
    in_root.GATE,
    double_charge.GATE,
    actuator_mass.GATE,
    composition.GATE,
)

__all__ = [
    "GATES",
    "Gate",
    "Margin",
    "Verdict",
    "apply_switches",
    "chosen",
    "feasible_vector",
    "gate_margins",
    "margins_of",
]


def chosen(names: Iterable[str] | None = None) -> tuple[Gate, ...]:
    """Return the gates of these names, or all.

    Raises:
        DraftError: a name is no gate's.
    """
    if names is None:
        return GATES
    by_name = {gate.name: gate for gate in GATES}
    for name in names:
        if name not in by_name:
            raise DraftError(
                f"no gate is called {name!r}{close_match(name, by_name)}. "
                f"There are: {known_names(by_name)}."
            )
    return tuple(by_name[name] for name in names)


def margins_of(seen: Anatomy, names: Iterable[str] | None = None) -> list[Margin]:
    """Return the margins of a robot whose anatomy is at hand, gate by gate.

    Raises:
        DraftError: a name is no gate's.
    """
    return [margin for gate in chosen(names) for margin in gate.margins(seen)]


def gate_margins(
    tree: RobotTree, env: Mapping[str, Any], names: Sequence[str] | None = None
) -> list[Margin]:
    """Return the margins of a robot at one design, gate by gate.

    Which there are and in which order depends on the tree alone, never on the numbers.

    Args:
        tree: the robot.
        env: every parameter's value, as `RobotTree.resolve` gives them; JAX values for those that
            follow a design under differentiation.
        names: the gates; None for all.

    Raises:
        DraftError: a name is no gate's.
    """
    return margins_of(anatomy(tree, env), names)


def feasible_vector(
    tree: RobotTree, env: Mapping[str, Any], gates: Sequence[str] | None = None
) -> tuple[Any, tuple[str, ...]]:
    """Return what must not be negative for the robot to be feasible, and a label for each.

    These are the margins of all errors that no switch allows; dimensionless, about 1 in size.

    Args:
        tree: the robot.
        env: every parameter's value, as `RobotTree.resolve` gives them.
        gates: names of gates; None for all.

    Returns:
        The values (n,) and n labels, both in the order of `GATES`.

    Raises:
        DraftError: a name is no gate's, or a switch is neither true nor false.
    """
    on = switches(tree, env, GATES)
    binding = [
        margin
        for margin in gate_margins(tree, env, gates)
        if margin.level == "error" and not is_allowed(margin, on)
    ]
    return stack([m.value for m in binding]), tuple(f"{m.gate}: {m.subject}" for m in binding)


def apply_switches(tree: RobotTree, env: Mapping[str, Any], margins: Iterable[Margin]) -> Verdict:
    """Return what refuses the robot, what warns, and what its switches have allowed.

    Args:
        tree: the robot.
        env: every parameter's value; the switches are among them.
        margins: its margins there, with numbers.

    Raises:
        DraftError: a switch is neither true nor false, or there is no such switch.
    """
    return verdict(margins, switches(tree, env, GATES))
