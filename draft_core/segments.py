"""Which nodes make each structural segment, from what tree.yaml states, mirror images included.

A segment is a main node (`segment: ...`) and the members that name it (`member_of`). A mirror image
of a member belongs to the mirror image of its main node, or to the main node itself: to the one it
hangs from or that hangs from it; else to the image if there is one.
"""

from collections.abc import Iterator, Mapping
from typing import Any


def segments(nodes: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the nodes of each segment, by its main node, in the order of their originals.

    Args:
        nodes: every node as the file states it; mistakes in them are left to others.
    """
    family = _Family(nodes)
    found: dict[str, list[str]] = {name: [] for name in nodes if family.is_main(name)}
    for name in nodes:
        main = family.main(name)
        if main in found:
            found[main].append(name)
    order = {name: i for i, name in enumerate(nodes)}
    return {
        main: tuple(sorted(names, key=lambda name: (order[family.original(name)], order[name])))
        for main, names in found.items()
    }


class _Family:
    """Who is whose mirror image, and who hangs from whom."""

    def __init__(self, nodes: Mapping[str, Any]):
        self.nodes = nodes
        self.images: dict[str, list[str]] = {}
        for name in nodes:
            if self.original(name) != name:
                self.images.setdefault(self.original(name), []).append(name)

    def original(self, name: str) -> str:
        """Return the node that one mirrors, or the node itself."""
        source = self._stated(name, "mirror_of")
        return source if isinstance(source, str) and source in self.nodes else name

    def is_main(self, name: str) -> bool:
        """Tell whether a node states its segment, or mirrors one that does."""
        return self._stated(self.original(name), "segment") is not None

    def main(self, name: str) -> str | None:
        """Return the main node of the segment that a node belongs to, if it belongs to one."""
        original = self.original(name)
        if self._stated(original, "segment") is not None:
            return name
        stated = self._stated(original, "member_of")
        if not isinstance(stated, str) or original == name:
            return stated if isinstance(stated, str) else None
        sides = [stated, *self.images.get(stated, ())]
        above = next((node for node in self._above(name) if node in sides), None)
        below = [side for side in sides if name in self._above(side)]
        return above or (below or sides)[-1]

    def _above(self, name: str) -> Iterator[str]:
        """Yield the nodes that one hangs from, the nearest first."""
        seen = {name}
        parent = self._parent(name)
        while isinstance(parent, str) and parent in self.nodes and parent not in seen:
            yield parent
            seen.add(parent)
            parent = self._parent(parent)

    def _parent(self, name: str) -> Any:
        stated = self._stated(name, "parent")
        original = self.original(name)
        if stated is not None or original == name:
            return stated
        parent = self._stated(original, "parent")
        return self.images.get(parent, [parent])[-1] if isinstance(parent, str) else None

    def _stated(self, name: str, key: str) -> Any:
        data = self.nodes.get(name)
        return data.get(key) if isinstance(data, dict) else None
