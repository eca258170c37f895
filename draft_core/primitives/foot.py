"""``foot``: the end of a chain that stands on a plate, with its contact polygon."""

from typing import Any

import numpy as np

from draft_core.context import Context
from draft_core.errors import DraftError
from draft_core.formula import Formula
from draft_core.loft import goes_once_around
from draft_core.namespace import is_traced
from draft_core.primitives import members, parts
from draft_core.section import Section, as_vector
from draft_core.tree import ContactPoint, Leaf, Link, Pose, Solid, Vector

_CORNERS = ((1, 1), (-1, 1), (-1, -1), (1, -1))


def parse(name: str, section: Section, context: Context) -> Link:
    """Return the link; its contact points are the corners of the sole, or those stated."""
    sides = ("length", "width", "height")
    size = tuple(section.number(key, "0.1") for key in sides)
    center = section.vector("center") or Vector((0.0, 0.0, 0.0), section.at("center"))
    mass, density, segment = members.mass(name, section, context)
    plate = Solid(
        name=name,
        shape="box",
        size=Vector(size, section.where, (3,), "positive", sides),
        pose=Pose(center),
        mass=mass,
        density=density,
        inertia=None,
        role="structure",
        segment=segment,
        may_enter_root=section.switch("may_enter_root"),
        rgba=section.vector("rgba", (3, 4), "not negative"),
    )
    friction = parts.friction(section)
    touches = tuple(
        ContactPoint(f"{name}_{i}", Pose(Vector(point, section.where)), friction)
        for i, point in enumerate(_polygon(section, center, size))
    )
    parent = section.require("parent", "shin")
    return parts.link(name, section, "foot", parent, context, (plate,), touches)


def _polygon(section: Section, center: Vector, size: tuple[Leaf, ...]) -> list[Formula]:
    """Return the points of the sole that may touch the ground."""
    middle = center.stated if isinstance(center.stated, tuple) else (center.stated,)
    if "polygon" not in section:
        reads = (*middle, *size)
        return [
            Formula("a corner of the sole", _corner, reads, corner, section.where)
            for corner in _CORNERS
        ]
    stated, where = section.data["polygon"], section.at("polygon")
    if not isinstance(stated, list) or not 3 <= len(stated) <= 16:
        raise DraftError(f"{where} must be a list of 3 to 16 points [x, y] about the centre [m].")
    points = [as_vector(point, f"{where}[{i}]", (2,), "any") for i, point in enumerate(stated)]
    items = [p.stated if isinstance(p.stated, tuple) else (p.stated,) for p in points]
    first = Formula("the sole", _first_point, sum(items, size[:2]), (len(points),), where)
    return [
        Formula(
            "a point of the sole", _point, (*middle, size[2], *item), (len(middle),), section.where
        )
        for item in ((first,), *items[1:])
    ]


def _corner(*values: Any) -> tuple[Any, ...]:
    *center, length, width, height, ahead, left = values
    x, y, z = center[0] if len(center) == 1 else center
    return x + ahead * length / 2, y + left * width / 2, z - height / 2


def _first_point(*values: Any) -> tuple[Any, ...]:
    """Return the first point (x, y) of a sole that goes once around inside its plate.

    Raises:
        ValueError: it does not, if all are numbers.
    """
    length, width, *rest, n = values
    flat = [number for item in rest for number in (item if isinstance(item, tuple) else (item,))]
    if len(flat) != 2 * n:
        raise ValueError(f"its {n} points have {len(flat)} numbers; each has two")
    points = tuple(zip(flat[::2], flat[1::2], strict=True))
    if any(map(is_traced, (length, width, *flat))) or not (length > 0 and width > 0):
        return points[0]
    for i, (ahead, left) in enumerate(points):
        if max(2 * abs(ahead) / length, 2 * abs(left) / width) > 1 + 1e-9:
            raise ValueError(
                f"point {i} is at [{float(ahead):g}, {float(left):g}] m, outside the plate of "
                f"{float(length):g} by {float(width):g} m about its centre"
            )
    if not goes_once_around(np.array(points, dtype=float)):
        raise ValueError(
            "its points do not go once around a sole, counter-clockwise seen from above"
        )
    return points[0]


def _point(*values: Any) -> tuple[Any, ...]:
    *numbers, n = values
    center, height, point = numbers[:n], numbers[n], numbers[n + 1 :]
    x, y, z = center[0] if n == 1 else center
    ahead, left = point[0] if len(point) == 1 else point
    return x + ahead, y + left, z - height / 2


members.OWN_LENGTH["foot"] = lambda data, where: members.length_of(data, "length", where)
PRIMITIVE = parts.Primitive(
    "foot",
    (
        *parts.COMMON_KEYS,
        *members.MASS_KEYS,
        *("parent", "length", "width", "height", "center", "polygon", "friction"),
        *("rgba", "may_enter_root"),
    ),
    parse,
)
