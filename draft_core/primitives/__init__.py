"""The kinds of node a tree may have, one file each; adding one is a file and a line here."""

from draft_core.primitives import basic, foot, geom, root, sphere
from draft_core.primitives.parts import Primitive

PRIMITIVES: dict[str, Primitive] = {
    primitive.name: primitive
    for primitive in (
        root.PRIMITIVE,
        basic.PRIMITIVE,
        sphere.PRIMITIVE,
        foot.PRIMITIVE,
        geom.PRIMITIVE,
    )
}
