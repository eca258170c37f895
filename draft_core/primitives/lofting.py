"""mesh.yaml: the root body's mesh, lofted from stacked cross-sections."""

from collections.abc import Mapping
from typing import Any

from draft_core.errors import DraftError
from draft_core.section import Section, as_vector
from draft_core.tree import CrossSection, LoftedMesh, Scalar, Vector

FILE_KEYS = ("axis", "sections")
SECTION_KEYS = ("at", "size", "chamfer", "polygon", "center", "inset")
MAX_SECTIONS = 50
MAX_CORNERS = 100


def lofted_mesh(data: Mapping[str, Any]) -> LoftedMesh:
    """Return the mesh that mesh.yaml states.

    Raises:
        DraftError: fewer than two sections, or sections of different numbers of corners.
    """
    top = Section(dict(data), "mesh.yaml", FILE_KEYS)
    axis = top.word("axis", ("x", "y", "z"), "z")
    stated = top.require("sections", "[{at: 0, size: [0.2, 0.1]}, {at: 0.3}]")
    if not isinstance(stated, list) or not 2 <= len(stated) <= MAX_SECTIONS:
        raise DraftError(f"mesh.yaml, sections must be a list of 2 to {MAX_SECTIONS} sections.")
    sections: list[CrossSection] = []
    previous: dict[str, Any] = {}
    for i, item in enumerate(stated):
        section = Section(item, f"mesh.yaml, sections[{i}]", SECTION_KEYS)
        section.require("at", "0.1")
        own = {"polygon", "size", "chamfer"} & set(section.data)
        inherited = {k: v for k, v in previous.items() if k != "inset"}
        if "polygon" in own:
            inherited = {k: v for k, v in inherited.items() if k not in ("size", "chamfer")}
        elif "size" in own:
            inherited.pop("polygon", None)
        previous = {**inherited, **section.data}
        sections.append(_section(Section(previous, section.where, SECTION_KEYS)))
    mesh = LoftedMesh(axis, tuple(sections))  # pyright: ignore[reportArgumentType]
    for i, section in enumerate(sections):
        corners = len(section.points) or 8
        if corners != mesh.corners:
            raise DraftError(
                f"mesh.yaml, sections[{i}] has {corners} corners and the first has "
                f"{mesh.corners}; all sections need equally many (a rectangle has 8)."
            )
    return mesh


def _section(section: Section) -> CrossSection:
    zero = Scalar(0.0, section.where)
    at = section.scalar("at")
    assert at is not None
    if ("size" in section) == ("polygon" in section):
        raise DraftError(
            f"{section.where} states {'both' if 'size' in section else 'neither'} of size and "
            "polygon; give 'size: [width, height]' or 'polygon: [[x, y], ...]'."
        )
    return CrossSection(
        station=at,
        size=section.vector("size", (2,), "positive"),
        chamfer=section.scalar("chamfer", "not negative") or zero,
        points=_points(section),
        center=section.vector("center", (2,)) or Vector((0.0, 0.0), section.where, (2,)),
        inset=section.scalar("inset", "not negative") or zero,
        where=section.where,
    )


def _points(section: Section) -> tuple[Vector, ...]:
    if "polygon" not in section:
        return ()
    stated, where = section.data["polygon"], section.at("polygon")
    if not isinstance(stated, list) or not 3 <= len(stated) <= MAX_CORNERS:
        raise DraftError(f"{where} must be a list of 3 to {MAX_CORNERS} points [x, y] [m].")
    return tuple(as_vector(p, f"{where}[{i}]", (2,), "any") for i, p in enumerate(stated))
