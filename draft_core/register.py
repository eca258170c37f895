"""All numbers that a tree states, evaluated at once into one array.

While a plan of a tree is made, a `Register` gives every `Scalar` and `Vector` its places in the
array; equal expressions share theirs. `Stated.at` then evaluates each expression once. On floats
it checks the rules in a few array operations, and looks for the culprit only where one is broken.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Bool, Float, Int

from draft_core.errors import DraftError
from draft_core.expressions import Expression
from draft_core.formula import Formula
from draft_core.namespace import is_jax, is_traced, namespace, replaced
from draft_core.stated import MAX_MAGNITUDE, Environment, Leaf, Scalar, Vector

Computed = Expression | Formula
Places = Int[np.ndarray, "*shape"]


@dataclass(frozen=True)
class Numbers:
    """The numbers at one design.

    Attributes:
        known: every number (n,); 0 where it is a tracer's.
        unknown: where that is (n,).
        varying: the numbers with JAX's among them (n,); None where there are none.
        follows: where JAX's are (n,).
    """

    known: Float[np.ndarray, " n"]
    unknown: Bool[np.ndarray, " n"] | None = None
    varying: Any = None
    follows: Bool[np.ndarray, " n"] | None = None

    def __call__(self, places: Places) -> Any:
        """Return the numbers at places: NumPy's where all are constants, else JAX's."""
        if self.follows is None or not self.follows[places].any():
            return self.known[places]
        return self.varying[places]

    def known_rows(self, places: Int[np.ndarray, "n k"]) -> Int[np.ndarray, " rows"]:
        """Return the rows of places that hold no tracer's number."""
        if self.unknown is None:
            return np.arange(len(places))
        return np.flatnonzero(~self.unknown[places].any(axis=1))


@dataclass(frozen=True)
class Stated:
    """What a finished `Register` knows.

    Attributes:
        base: the constants; 0 where a number is computed (n,).
        single: expressions of one number each.
        lists: expressions of a list, and how long it is.
        slots: where their numbers go, in this order.
        positive: which of them must be greater than 0.
        not_negative: which of them must be 0 or more.
        uses: what states them, with their places, in the order of the tree.
    """

    base: Float[np.ndarray, " n"]
    single: tuple[Computed, ...]
    lists: tuple[tuple[Computed, int], ...]
    slots: Int[np.ndarray, " m"]
    positive: Int[np.ndarray, " p"]
    not_negative: Int[np.ndarray, " q"]
    uses: tuple[tuple[Scalar | Vector, tuple[int, ...]], ...]

    def at(self, env: Environment) -> Numbers:
        """Return the numbers at the parameters ``env``.

        Raises:
            DraftError: an expression has no value, or a number breaks its rule.
        """
        try:
            found = self._evaluate(env)
        except DraftError:
            self._explain(env)
        if not set(map(type, found)) <= {float}:
            return self._mixed(found)
        values = np.array(found, dtype=float)
        if not self._are_allowed(values):
            self._explain(env)
        known = self.base.copy()
        known[self.slots] = values
        return Numbers(known)

    def _evaluate(self, env: Environment) -> list[Any]:
        found = [leaf.evaluate(env) for leaf in self.single]
        for leaf, count in self.lists:
            values = leaf.evaluate(env)
            if not isinstance(values, tuple) or len(values) != count:
                self._explain(env)
            found += values
        return found

    def _are_allowed(self, values: Float[np.ndarray, " m"]) -> bool:
        """Tell whether all keep their rules; NaN keeps none."""
        return bool(
            (np.abs(values) <= MAX_MAGNITUDE).all()
            and (values[self.positive] > 0).all()
            and (values[self.not_negative] >= 0).all()
        )

    def _explain(self, env: Environment) -> NoReturn:
        """Raise for the first number of the tree that cannot be."""
        for item, _ in self.uses:
            item.evaluate(env)
        raise AssertionError("a rule is broken, and every number keeps its own")

    def _mixed(self, found: list[Any]) -> Numbers:
        """Return numbers some of which may be JAX's."""
        at = dict(zip(self.slots.tolist(), found, strict=True))
        for item, places in self.uses:
            for i, place in enumerate(places):
                if place in at:
                    at[place] = item.item(i, at[place])
        known, follows, unknown = self.base.copy(), *np.zeros((2, len(self.base)), dtype=bool)
        for place, value in at.items():
            follows[place], unknown[place] = is_jax(value), is_traced(value)
            known[place] = 0.0 if unknown[place] else float(value)
        if not follows.any():
            return Numbers(known)
        rows = np.flatnonzero(follows)
        xp = namespace(*at.values())
        varying = xp.stack([xp.asarray(at[int(place)], dtype=float) for place in rows])
        return Numbers(known, unknown, replaced(known, rows, varying), follows)


class Register:
    """Gives the numbers of a tree their places, in the order of the tree."""

    def __init__(self) -> None:
        """Begin with no numbers."""
        self._base: list[float] = []
        self._constants: dict[float, int] = {}
        self._single: dict[Computed, int] = {}
        self._lists: dict[tuple[Computed, int], int] = {}
        self._uses: list[tuple[Scalar | Vector, tuple[int, ...]]] = []

    def scalar(self, item: Scalar | None, default: float = 0.0) -> int:
        """Return the place of a number.

        Raises:
            DraftError: it is a constant and breaks its rule.
        """
        if item is None:
            return self._constant(default)
        place = self._leaf(item, 0, item.stated)
        self._uses.append((item, (place,)))
        return place

    def vector(self, item: Vector | None, default: Sequence[float] = ()) -> list[int]:
        """Return the places of a list of numbers.

        Raises:
            DraftError: one is a constant and breaks the rule.
        """
        if item is None:
            return [self._constant(value) for value in default]
        if isinstance(item.stated, tuple):
            places = [self._leaf(item, i, leaf) for i, leaf in enumerate(item.stated)]
        else:
            key = (item.stated, item.sizes[0])
            first = self._lists.setdefault(key, len(self._base))
            if first == len(self._base):
                self._base += [0.0] * key[1]
            places = list(range(first, first + key[1]))
        self._uses.append((item, tuple(places)))
        return places

    def constants(self, places: Places) -> Float[np.ndarray, "*shape"]:
        """Return the numbers at places; NaN where they are computed."""
        values = np.array(self._base, dtype=float)
        values[self._slots()] = np.nan
        return values[places]

    def finished(self) -> Stated:
        """Return the register, complete."""
        slots = self._slots()
        where = {slot: i for i, slot in enumerate(slots)}
        bound: dict[str, set[int]] = {"any": set(), "positive": set(), "not negative": set()}
        for item, places in self._uses:
            bound[item.rule] |= {where[place] for place in places if place in where}
        return Stated(
            base=np.array(self._base, dtype=float),
            single=tuple(self._single),
            lists=tuple(self._lists),
            slots=np.array(slots, dtype=int),
            positive=np.array(sorted(bound["positive"]), dtype=int),
            not_negative=np.array(sorted(bound["not negative"]), dtype=int),
            uses=tuple(use for use in self._uses if where.keys() & set(use[1])),
        )

    def _slots(self) -> list[int]:
        """Return the places of what is computed: single numbers, then lists."""
        slots = list(self._single.values())
        for (_, count), first in self._lists.items():
            slots += range(first, first + count)
        return slots

    def _leaf(self, item: Scalar | Vector, i: int, leaf: Leaf) -> int:
        if not isinstance(leaf, Computed):
            return self._constant(item.item(i, leaf))
        place = self._single.setdefault(leaf, len(self._base))
        if place == len(self._base):
            self._base.append(0.0)
        return place

    def _constant(self, value: float) -> int:
        place = self._constants.setdefault(value, len(self._base))
        if place == len(self._base):
            self._base.append(value)
        return place
