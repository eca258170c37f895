"""What basic, sphere and foot links share: a mass that is stated, a density's, or a segment's.

A structural segment of class c and length L weighs what its population's trend says, m = c L^e.
Where several nodes form one segment (`member_of`), each takes a share by its own length.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from draft_core.context import Context
from draft_core.errors import DraftError, close_match, known_names
from draft_core.expressions import shorten
from draft_core.formula import Formula
from draft_core.namespace import is_traced
from draft_core.section import Section
from draft_core.tree import Leaf, Link, Scalar, Segment, leaf
from draft_core.trends import structure

MASS_KEYS = ("mass", "density", "segment", "segment_length", "member_of")
Mass = tuple[Scalar | None, Scalar | None, Segment | None]


def mass(name: str, section: Section, context: Context) -> Mass:
    """Return a member's mass, density and segment; one of the first two is None.

    Raises:
        DraftError: not exactly one of mass, density, segment and member_of is stated, or a
            segment's class or main node does not exist.
    """
    stated = [key for key in ("mass", "density", "segment", "member_of") if key in section]
    if len(stated) != 1:
        given = " and ".join(stated) if stated else "no mass"
        raise DraftError(
            f"{section.where} has {given}; state one of 'segment: thigh' (a structural trend), "
            "'member_of: node' (a share of that node's), 'mass: 0.1' [kg] and "
            "'density: 1000' [kg/m^3]."
        )
    if "segment_length" in section and stated != ["segment"]:
        raise DraftError(f"{section.where} has segment_length, which belongs to 'segment: ...'.")
    if stated[0] in ("mass", "density"):
        return section.scalar("mass", "positive"), section.scalar("density", "positive"), None
    main = name if stated == ["segment"] else _main(section, context)
    share, segment = _share(name, main, context, section.at(stated[0]))
    return share, None, segment


def image(link: Link, context: Context) -> Link:
    """Return a mirror image with the mass that it has in its own segment.

    Its original shares its segment with other members than the image where only one side has a
    mirror image, as two images of one main node or members on either side of a main node in the
    middle.
    """
    main = next((m for m, names in context.segments.items() if link.name in names), None)
    if main is None:
        return link
    solids = []
    for solid in link.solids:
        if solid.segment is not None and solid.mass is not None:
            mass, _ = _share(link.name, main, context, solid.mass.where)
            solid = replace(solid, mass=mass)
        solids.append(solid)
    return replace(link, solids=tuple(solids))


def _share(name: str, main: str, context: Context, at: str) -> tuple[Scalar, Segment]:
    """Return the mass of one member of the segment of a main node, and whose trend gives it."""
    segment, length = _segment(main, context)
    others = [_own_length(m, context) for m in context.segments[main] if m != name]
    own = _own_length(name, context)
    share = ", shared by length" if others else ""
    text = structure.member_rule(segment.population, segment.name) + share
    options = (segment.population, segment.name)
    formula = Formula(text, _member_mass, (length, own, *others), options, at)
    return Scalar(formula, at, "positive"), segment


def _member_mass(length: Any, own: Any, *rest: Any) -> Any:
    *others, population, name = rest
    if not is_traced(length) and not length > 0:
        raise ValueError(f"its length is {float(length):g} m, which must be greater than 0")
    whole = structure.member_mass(population, name, length)
    return whole * (own / sum(others, own)) if others else whole


def _main(section: Section, context: Context) -> str:
    main = section.data["member_of"]
    segments = context.segments
    if not isinstance(main, str) or main not in segments:
        raise DraftError(
            f"{section.at('member_of')} is {shorten(repr(main))}, which is no node with a segment"
            f"{close_match(str(main), segments)}. There are: {known_names(segments)}."
        )
    return main


def _segment(main: str, context: Context) -> tuple[Segment, Leaf]:
    """Return the class and the length of the segment whose main node is given."""
    data, where = _stated(main, context)
    population = context.needs_population(where)
    name = context.text(data["segment"], f"{where}, segment")
    try:
        structure.segment_class(population, name)
    except DraftError as error:
        raise DraftError(f"{where}, segment: {error}") from None
    if data.get("segment_length") is not None:
        return Segment(population, name), leaf(data["segment_length"], f"{where}, segment_length")
    return Segment(population, name), _own_length(main, context)


def _stated(name: str, context: Context) -> tuple[dict[str, Any], str]:
    """Return what the file states of a node, and where: of a mirror image, at its original."""
    data = context.nodes[name]
    if "mirror_of" in data:
        name = data["mirror_of"]
    return context.nodes[name], f"tree.yaml, node {name!r}"


OWN_LENGTH: dict[str, Callable[[dict[str, Any], str], Leaf]] = {}  # filled by the primitives


def _own_length(name: str, context: Context) -> Leaf:
    """Return how long a node is, from what the file states."""
    data, where = _stated(name, context)
    primitive = data.get("primitive")
    if primitive not in OWN_LENGTH:
        raise DraftError(
            f"{where} is a {primitive!r}, which has no length of its own; segments are made of: "
            f"{known_names(OWN_LENGTH)}."
        )
    return OWN_LENGTH[primitive](data, where)


def length_of(data: dict[str, Any], key: str, where: str) -> Leaf:
    """Return the length that a key of a node states.

    Raises:
        DraftError: it states none.
    """
    if data.get(key) is None:
        raise DraftError(f"{where} has no {key!r}; give one, such as '{key}: 0.2' [m].")
    return leaf(data[key], f"{where}, {key}")
