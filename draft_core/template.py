"""A text whose numbers change and whose words stay: laid out once, filled in many times."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

_MARK = "\x01"  # around the place of a number; no name holds it


@dataclass(frozen=True)
class Template:
    """A text with the places of its numbers, which alone differ between designs.

    Attributes:
        literals: the text before each number, and after the last.
        order: which of the numbers stands at each place.
    """

    literals: tuple[str, ...]
    order: Int[np.ndarray, " places"]

    def filled(self, numbers: Float[np.ndarray, " n"]) -> str:
        """Return the text with its numbers as text that reads back as the same numbers."""
        # adding zero turns -0.0, which mirroring leaves behind, into 0.0
        values = (numbers[self.order] + 0.0).tolist()
        texts = {value: repr(value) for value in set(values)}  # many occur many times
        parts = [""] * (2 * len(values) + 1)
        parts[0::2] = self.literals
        parts[1::2] = map(texts.__getitem__, values)
        return "".join(parts)


def slots(places: Any) -> str:
    """Return which numbers go here, as `template` finds them in the text."""
    return " ".join(f"{_MARK}{i}{_MARK}" for i in np.ravel(places).tolist())


def template(text: str) -> Template:
    """Return the template of a text with `slots` in it."""
    pieces = text.split(_MARK)
    return Template(tuple(pieces[0::2]), np.array(pieces[1::2], dtype=int))
