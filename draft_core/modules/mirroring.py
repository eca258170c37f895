"""A module's mirror image: its links, meshes and sensors under the names of another node."""

from collections.abc import Mapping
from dataclasses import replace

from draft_core.errors import DraftError
from draft_core.mirror import mirrored_name
from draft_core.modules.links import Module
from draft_core.sensors import Kind
from draft_core.tree import Asset, Link, Solid


def mirrored_module(
    name: str,
    source: str,
    module: Module,
    parent: str | None,
    images: Mapping[str, str],
    where: str,
) -> Module:
    """Return the mirror image of a module: numbers seen in the mirror, names after the new node.

    Args:
        name: the new node's.
        source: the node it mirrors.
        module: what that node adds.
        parent: what the image hangs from.
        images: names of mirror images by their originals', those in modules included.
        where: place of the new node, for messages.

    Raises:
        DraftError: the node names something without a side.
    """
    names = _Names(name, source, images, where)
    links = [names.link(link) for link in module.links]
    links[0] = replace(links[0], parent=parent)
    return Module(
        links=tuple(links),
        sensors=tuple(
            replace(
                sensor,
                name=names.of(sensor.name),
                target=names.of(sensor.target),
                reference=names.reference(sensor.reference),
            )
            for sensor in module.sensors
        ),
        excluded=tuple((names.of(a), names.of(b)) for a, b in module.excluded),
    )


class _Names:
    """Turns names of one node into those of its mirror image."""

    def __init__(self, name: str, source: str, images: Mapping[str, str], where: str):
        self.name = name
        self.source = source
        self.images = images
        self.where = where

    def of(self, old: str) -> str:
        if old == self.source or old.startswith(f"{self.source}_"):
            return self.name + old[len(self.source) :]
        if mirrored_name(old) == old:
            raise DraftError(
                f"{self.where} mirrors {old!r}, whose name has no side to swap; name it with "
                f"left/right, fl/fr, ml/mr, rl/rr or l/r, such as '{old}_l'."
            )
        return mirrored_name(old)

    def reference(self, stated: tuple[Kind, str] | None) -> tuple[Kind, str] | None:
        return None if stated is None else (stated[0], self.of(stated[1]))

    def _image(self, node: str | None) -> str | None:
        """Return the mirror image of a node, or the node where it has none."""
        return self.images.get(node, node) if isinstance(node, str) else node

    def link(self, link: Link) -> Link:
        joint, motor = link.joint, link.motor
        if motor is not None:
            motor = replace(motor, name=self.of(motor.name), carrier=self._image(motor.carrier))
        return replace(
            link,
            name=self.of(link.name),
            parent=self._image(link.parent),
            joint=joint and replace(joint, name=self.of(joint.name)),
            motor=motor,
            solids=tuple(self._solid(solid) for solid in link.solids),
            sites=tuple(replace(site, name=self.of(site.name)) for site in link.sites),
            contacts=tuple(replace(point, name=self.of(point.name)) for point in link.contacts),
            thrusters=tuple(replace(rotor, name=self.of(rotor.name)) for rotor in link.thrusters),
            mirrored=True,
        )

    def _solid(self, solid: Solid) -> Solid:
        asset = solid.asset and _mirrored_asset(solid.asset)
        return replace(solid, name=self.of(solid.name), mirrored=True, asset=asset)


def _mirrored_asset(asset: Asset) -> Asset:
    """Return the same file seen in the mirror, which MuJoCo turns inside out for us."""
    x, y, z = asset.scale
    return replace(asset, scale=(x, -y, z))
