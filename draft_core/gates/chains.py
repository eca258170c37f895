"""Which actuators follow each other along a chain, from the tree alone.

The actuator of a joint is consecutive to that of the next driven joint towards the root, and to any
other of the same chain that sits on the same rigid piece or the next one. Pairs that are mirror
images, or copies, of each other are congruent at every design: one stands for all.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from jaxtyping import Int

from draft_core.anatomy import parts
from draft_core.gates.masses import pieces
from draft_core.tree import Link, RobotTree, Solid


@dataclass(frozen=True)
class Actuators:
    """The cylinders of actuators, and which of their pairs are which.

    Attributes:
        index: the place of each among `Parts.solids`.
        joints: the joint each drives.
        consecutive: pairs of actuators that follow each other on a chain, one of each congruent
            set; numbers of actuators.
        apart: all other pairs.
    """

    index: Int[np.ndarray, " n"]
    joints: tuple[str, ...]
    consecutive: Int[np.ndarray, "p 2"]
    apart: Int[np.ndarray, "q 2"]


@lru_cache(maxsize=32)
def actuators(tree: RobotTree) -> Actuators:
    """Return a tree's actuators and their pairs."""
    static = parts(tree)
    index = [
        i
        for i, solid in enumerate(static.solids)
        if solid.role == "actuator" and solid.shape == "cylinder" and solid.drives is not None
    ]
    solids, carriers = [static.solids[i] for i in index], [static.links[i] for i in index]
    chain = _Chain(tree, [str(solid.drives) for solid in solids])
    near: dict[Hashable, tuple[int, int]] = {}
    close: set[tuple[int, int]] = set()
    for a, b in combinations(range(len(index)), 2):
        if chain.are_consecutive(solids[a], carriers[a], solids[b], carriers[b]):
            close.add((a, b))
            near.setdefault(chain.shape(solids[a], carriers[a], solids[b], carriers[b]), (a, b))
    rest = [pair for pair in combinations(range(len(index)), 2) if pair not in close]
    return Actuators(
        np.array(index, dtype=int),
        tuple(str(solid.drives) for solid in solids),
        np.array(list(near.values()), dtype=int).reshape(-1, 2),
        np.array(rest, dtype=int).reshape(-1, 2),
    )


class _Chain:
    """Who hangs from whom."""

    def __init__(self, tree: RobotTree, driven: list[str]):
        self.tree, self.links = tree, _by_name(tree)
        self.piece = pieces(tree)
        self.moved = {link.joint.name: link for link in tree.links if link.joint}
        self.driven = frozenset(driven)

    def are_consecutive(self, a: Solid, on_a: Link, b: Solid, on_b: Link) -> bool:
        """Tell whether two actuators follow each other along one chain."""
        first, second = str(a.drives), str(b.drives)
        above, below = list(self._joints_above(first)), list(self._joints_above(second))
        if first not in below and second not in above:
            return False
        if first == next(iter(below), None) or second == next(iter(above), None):
            return True
        one, other = self.piece[on_a.name], self.piece[on_b.name]
        return one == other or self._from(one) == other or self._from(other) == one

    def shape(self, a: Solid, on_a: Link, b: Solid, on_b: Link) -> Hashable:
        """Return what two actuators' places relative to each other depend on."""
        way_a, way_b = (way_from_root(self.tree, link) for link in (on_a, on_b))
        shared = sum(1 for x, y in zip(way_a, way_b, strict=False) if x is y)
        return place_key([a, b], [way_a[shared:], way_b[shared:]])

    def _joints_above(self, joint: str) -> Iterator[str]:
        """Yield the driven joints between one and the root, the nearest first."""
        link = self.moved[joint]
        while link.parent is not None:
            link = self.links[link.parent]
            if link.joint is not None and link.joint.name in self.driven:
                yield link.joint.name

    def _from(self, piece: str) -> str | None:
        """Return the rigid piece that one hangs from."""
        parent = self.links[piece].parent
        return self.piece[parent] if parent is not None else None


def place_key(solids: Sequence[Solid], ways: Sequence[Sequence[Link]]) -> Hashable:
    """Return what the shapes and places of solids depend on, alike for mirror images.

    Args:
        solids: the solids.
        ways: for each, the links that lead to it from a frame they share.
    """
    seen = solids[0].mirrored
    return tuple(
        (
            *(solid.shape, solid.size, solid.pose, solid.within, solid.mirrored != seen),
            tuple((link.pose, link.mirrored != seen) for link in way),
        )
        for solid, way in zip(solids, ways, strict=True)
    )


def way_from_root(tree: RobotTree, link: Link) -> list[Link]:
    """Return the links from the root to one."""
    links = _by_name(tree)
    way = [link]
    while way[-1].parent is not None:
        way.append(links[way[-1].parent])
    return way[::-1]


@lru_cache(maxsize=32)
def _by_name(tree: RobotTree) -> dict[str, Link]:
    return {link.name: link for link in tree.links}
