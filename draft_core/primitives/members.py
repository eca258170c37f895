"""What basic, sphere and foot links share: a mass that is stated, a density's, or a segment's.

A structural segment of class c and length L weighs what its population's trend says, m = c L^e.
Where several nodes form one segment (`member_of`), each takes a share by its own length.
"""

from collections.abc import Callable
from typing import Any

from draft_core.context import Context
from draft_core.errors import DraftError, close_match, known_names
from draft_core.expressions import shorten
from draft_core.formula import Formula
from draft_core.section import Section
from draft_core.tree import Leaf, Scalar, Segment, leaf
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
    segment, length = _segment(main, context)
    others = [
        _own_length(member, context)
        for member, data in context.nodes.items()
        if member != name and (member == main or _field(data, "member_of") == main)
    ]
    own = _own_length(name, context)
    share = ", shared by length" if others else ""
    text = structure.member_rule(segment.population, segment.name) + share
    options = (segment.population, segment.name)
    at = section.at(stated[0])
    formula = Formula(text, _member_mass, (length, own, *others), options, at)
    return Scalar(formula, at, "positive"), None, segment


def _member_mass(length: Any, own: Any, *rest: Any) -> Any:
    *others, population, name = rest
    whole = structure.member_mass(population, name, length)
    return whole * (own / sum(others, own)) if others else whole


def _field(data: object, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _main(section: Section, context: Context) -> str:
    main = section.data["member_of"]
    segments = [n for n, data in context.nodes.items() if _field(data, "segment") is not None]
    if main not in segments:
        raise DraftError(
            f"{section.at('member_of')} is {shorten(repr(main))}, which is no node with a segment"
            f"{close_match(str(main), segments)}. There are: {known_names(segments)}."
        )
    return main


def _segment(main: str, context: Context) -> tuple[Segment, Leaf]:
    """Return the class and the length of the segment whose main node is given."""
    where = f"tree.yaml, node {main!r}"
    data = context.nodes[main]
    population = context.needs_population(where)
    name = context.text(data["segment"], f"{where}, segment")
    try:
        structure.segment_class(population, name)
    except DraftError as error:
        raise DraftError(f"{where}, segment: {error}") from None
    if data.get("segment_length") is not None:
        return Segment(population, name), leaf(data["segment_length"], f"{where}, segment_length")
    return Segment(population, name), _own_length(main, context)


OWN_LENGTH: dict[str, Callable[[dict[str, Any], str], Leaf]] = {}  # filled by the primitives


def _own_length(name: str, context: Context) -> Leaf:
    """Return how long a node is, from what the file states."""
    data, where = context.nodes[name], f"tree.yaml, node {name!r}"
    primitive = _field(data, "primitive")
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
