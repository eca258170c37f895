"""What the parser of one node may look at besides the node: the rest of the folder."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from draft_core.errors import DraftError, close_match, known_names
from draft_core.expressions import Expression, is_expression, shorten
from draft_core.motors import MotorClass
from draft_core.parameters import ParameterTable
from draft_core.segments import segments

POPULATIONS = ("humanoid", "quadruped")


@dataclass(frozen=True)
class Context:
    """The folder around a node.

    Attributes:
        folder: the robot folder, absolute; module files are looked up in it.
        parameters: every parameter.
        constants: their nominal values, for what decides the topology.
        population: whose structural trends hold; None where tree.yaml names none.
        nodes: every node as the file states it, mirror images and repeated ones expanded.
        mesh: mesh.yaml, empty where there is none.
        named: the motor classes and joint roles that nodes have named so far.
    """

    folder: Path
    parameters: ParameterTable
    constants: Mapping[str, Any]
    population: str | None
    nodes: Mapping[str, Any]
    mesh: Mapping[str, Any]
    named: set[str] = field(default_factory=set)

    @functools.cached_property
    def segments(self) -> dict[str, tuple[str, ...]]:
        """The nodes of each structural segment, by its main node."""
        return segments(self.nodes)

    def value(self, text: str) -> Any:
        """Return what an expression says at the nominal parameters; other text as it is."""
        return Expression(text, "tree.yaml").evaluate(self.constants) if "${" in text else text

    def text(self, value: object, where: str) -> str:
        """Return a word that the file states or computes from switches and texts.

        Raises:
            DraftError: it is not text.
        """
        if is_expression(value):
            value = Expression(str(value), where).evaluate(self.constants)
        if not isinstance(value, str):
            raise DraftError(f"{where} is {shorten(repr(value))}; it must be text.")
        return value

    def motor(self, name: str, where: str) -> MotorClass:
        """Return the motor class of a name in ``motors`` or a role in ``joint_motors``.

        Raises:
            DraftError: there is none.
        """
        classes = self.parameters.motors
        if name not in classes:
            raise DraftError(
                f"{where} names motor {name!r}, which is neither in 'motors' nor in "
                f"'joint_motors' of parameters.yaml{close_match(name, classes)}. "
                f"There are: {known_names(classes)}."
            )
        self.named.add(name)
        return classes[name]

    def needs_population(self, where: str) -> str:
        """Return the population.

        Raises:
            DraftError: tree.yaml names none.
        """
        if self.population is None:
            raise DraftError(
                f"{where} uses structural trends, but tree.yaml names no population; "
                f"add 'population: ' and one of: {known_names(POPULATIONS)}."
            )
        return self.population
