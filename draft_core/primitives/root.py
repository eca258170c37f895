"""``root``: the body everything hangs from, free in the world or welded to it."""

from draft_core.primitives import parts
from draft_core.section import Section
from draft_core.tree import Link


def parse(name: str, section: Section) -> Link:
    """Return the root's link."""
    return parts.link(name, section, "root", None)


PRIMITIVE = parts.Primitive("root", parts.LINK_KEYS, parse)
