"""``geom``: a link made of plain solids, hanging from a parent."""

from draft_core.context import Context
from draft_core.primitives import parts
from draft_core.section import Section
from draft_core.tree import Link


def parse(name: str, section: Section, context: Context) -> Link:
    """Return the link."""
    return parts.link(name, section, "geom", section.require("parent", "body"), context)


PRIMITIVE = parts.Primitive("geom", (*parts.LINK_KEYS, "parent"), parse)
