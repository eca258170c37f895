"""A module's MJCF read into one document and the bytes of its meshes, all from the robot folder.

MuJoCo is handed the document with every include written out and every mesh by a name that only
the given bytes answer to, so that nothing in the file makes it open another.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from draft_core.errors import DraftError
from draft_core.expressions import shorten

MAX_XML_BYTES = 1024 * 1024  # of the file with its includes
MAX_MESH_BYTES = 16 * 1024 * 1024
MAX_ASSET_BYTES = 64 * 1024 * 1024  # of all meshes
MAX_DEPTH = 64
MAX_ELEMENTS = 20_000

_DROPPED = ("option", "size", "visual", "statistic", "keyframe", "custom")
_DROPPED_INSIDE = ("light", "camera")
# What a module may not hold, and what to do instead.
REFUSED = {
    "equality": "a robot is an open tree without loops; model it by an equivalent open tree",
    "tendon": "a robot's actuators act on joints; put the actuator on a joint",
    "deformable": "a robot is rigid; leave it out",
    "flexcomp": "a robot is rigid; leave it out",
    "flex": "a robot is rigid; leave it out",
    "skin": "a robot is rigid; leave it out",
    "composite": "write its bodies out",
    "replicate": "write its bodies out, or attach the module with for_each",
    "attach": "attach that file with a module node of its own",
    "model": "attach that file with a module node of its own",
    "extension": "the compiled robot is plain MJCF; leave plugins out",
    "plugin": "the compiled robot is plain MJCF; leave plugins out",
    "hfield": "terrain is no part of a robot; leave it out",
    "pair": "contacts follow from the geoms; set contype and conaffinity instead",
}

Element = tuple[str, tuple[tuple[str, str], ...]]  # tag and attributes


@dataclass(frozen=True)
class ModuleSource:
    """What MuJoCo needs to compile a module.

    Attributes:
        file: the module's path as the node states it.
        xml: one document without includes, textures and what a robot leaves out.
        meshes: file name and bytes of each mesh; the document refers to them by these names.
        sensors: tag and attributes of each sensor.
    """

    file: str
    xml: str
    meshes: tuple[tuple[str, bytes], ...]
    sensors: tuple[Element, ...]


def read_module(folder: Path, file: object, where: str) -> ModuleSource:
    """Read a module and the files it refers to.

    Args:
        folder: the robot folder, absolute and resolved.
        file: the module's path in it.
        where: place of the node, for messages.

    Raises:
        DraftError: a file is outside the folder, missing, too large or not XML, or the module
            has what a robot cannot.
    """
    path = inside(folder, folder, file, where)
    name = str(file)
    where = f"{where}, {shorten(name)}"
    reader = _Reader(folder, path.parent, where)
    root = reader.document(path)
    for tag in _DROPPED:
        for element in root.findall(tag):
            root.remove(element)
    _drop(root)
    _refuse(root, where)
    meshes = reader.meshes(root)
    sensors = tuple(_sensors(root))
    text = ET.tostring(root, encoding="unicode")
    return ModuleSource(name, text, meshes, sensors)


def inside(folder: Path, base: Path, name: object, where: str) -> Path:
    """Return the path of a file that must be in the robot folder, links followed.

    Raises:
        DraftError: it is elsewhere, or there is none.
    """
    if not isinstance(name, str) or not name:
        raise DraftError(f"{where} is {shorten(repr(name))}; it must be the path of a file.")
    given = shorten(repr(name))
    if PurePosixPath(name).is_absolute() or "\\" in name or ":" in name:
        raise DraftError(
            f"{where} names {given}; give a path relative to the robot folder, with '/'."
        )
    try:
        path = (base / name).resolve()
        found = path.is_relative_to(folder) and path.is_file()
    except (OSError, RuntimeError, ValueError):
        raise DraftError(f"{where} names {given}, which cannot be read.") from None
    if not path.is_relative_to(folder):
        raise DraftError(f"{where} names {given}, which is outside the robot folder; copy it in.")
    if not found:
        raise DraftError(f"{where} names {given}, but there is no such file in the robot folder.")
    return path


class _Reader:
    """Reads the files of one module and counts what they hold."""

    def __init__(self, folder: Path, home: Path, where: str):
        self.folder = folder
        self.home = home  # paths are relative to the main file, as in MuJoCo
        self.where = where
        self.seen: set[Path] = set()
        self.bytes = 0
        self.elements = 0

    def document(self, path: Path) -> ET.Element:
        """Return the root element of the main file with its includes written out."""
        root = self._parsed(path)
        if root.tag != "mujoco":
            raise DraftError(f"{self.where} has the root <{root.tag[:40]}>; MJCF begins <mujoco>.")
        return root

    def _parsed(self, path: Path) -> ET.Element:
        if path in self.seen:
            raise DraftError(f"{self.where} includes '{path.name}' twice, which MuJoCo refuses.")
        self.seen.add(path)
        content = self._content(path, MAX_XML_BYTES)
        self.bytes += len(content)
        if self.bytes > MAX_XML_BYTES:
            raise DraftError(f"{self.where} has more than {MAX_XML_BYTES} bytes with its includes.")
        try:
            text = content.decode("utf-8")
            if "<!DOCTYPE" in text or "<!ENTITY" in text:
                raise DraftError(f"{self.where}: '{path.name}' defines entities; MJCF has none.")
            root = ET.fromstring(text)
        except (ET.ParseError, UnicodeDecodeError) as error:
            raise DraftError(f"{self.where}: '{path.name}' is not XML ({error}).") from None
        self._measure(root)
        self._include(root)
        return root

    def _content(self, path: Path, limit: int) -> bytes:
        try:
            size = path.stat().st_size
            if size <= limit:
                return path.read_bytes()
        except OSError as error:
            raise DraftError(
                f"{self.where}: cannot read '{path.name}': {error.strerror}."
            ) from None
        raise DraftError(
            f"{self.where}: '{path.name}' has {size} bytes; at most {limit} are allowed."
        )

    def _measure(self, root: ET.Element) -> None:
        """Refuse a document too deep or too long for anything that walks it."""
        rest = [(root, 1)]
        while rest:
            element, depth = rest.pop()
            self.elements += 1
            if depth > MAX_DEPTH or self.elements > MAX_ELEMENTS:
                raise DraftError(
                    f"{self.where} has too many elements; at most {MAX_ELEMENTS}, {MAX_DEPTH} deep."
                )
            rest += [(child, depth + 1) for child in element]

    def _include(self, element: ET.Element) -> None:
        """Put the children of each included file in the place of its ``<include>``."""
        for index in reversed(range(len(element))):
            child = element[index]
            if child.tag != "include":
                self._include(child)
                continue
            at = f"{self.where}, include"
            path = inside(self.folder, self.home, child.get("file"), at)
            element[index : index + 1] = list(self._parsed(path))

    def meshes(self, root: ET.Element) -> tuple[tuple[str, bytes], ...]:
        """Return the mesh files, renamed in the document; check and drop the textures."""
        folders = _asset_folders(root)
        for parent, texture in list(_pairs(root, "texture")):
            for key, name in texture.attrib.items():
                if key.startswith("file"):
                    at = f"{self.where}, texture"
                    inside(self.folder, self.home, folders.texture(name), at)
            parent.remove(texture)
        for material in root.iter("material"):
            material.attrib.pop("texture", None)
            for layer in material.findall("layer"):
                material.remove(layer)
        found: dict[str, bytes] = {}
        for mesh in root.iter("mesh"):
            name = mesh.get("file")
            if name is not None:
                self._add_mesh(mesh, name, folders.mesh(name), found)
        return tuple(found.items())

    def _add_mesh(self, mesh: ET.Element, name: str, place: str, found: dict[str, bytes]) -> None:
        path = inside(self.folder, self.home, place, f"{self.where}, mesh")
        stem = PurePosixPath(name).stem
        mesh.set("name", mesh.get("name", stem))
        if any(mesh.get(key) is not None for key in ("refpos", "refquat")):
            raise DraftError(
                f"{self.where}: mesh {mesh.get('name')!r} has refpos or refquat; move the geom "
                "that shows it instead."
            )
        content = self._content(path, MAX_MESH_BYTES)
        key = _plain(f"{mesh.get('name')}{path.suffix.lower()}")
        if found.setdefault(key, content) != content:
            raise DraftError(f"{self.where} has two meshes {mesh.get('name')!r}; rename one.")
        if sum(map(len, found.values())) > MAX_ASSET_BYTES:
            raise DraftError(
                f"{self.where}: its meshes have more than {MAX_ASSET_BYTES} bytes in all."
            )
        mesh.set("file", key)


def _plain(name: str) -> str:
    """Return a file name of letters, digits and ``_.-`` that does not begin with a dot."""
    clean = "".join(c if (c.isascii() and c.isalnum()) or c in "_.-" else "_" for c in name)
    return clean.lstrip(".") or "mesh"


@dataclass(frozen=True)
class _Folders:
    """Where the ``<compiler>`` says that meshes and textures are."""

    meshes: str
    textures: str
    strip: bool

    def mesh(self, name: str) -> str:
        return self._place(self.meshes, name)

    def texture(self, name: str) -> str:
        return self._place(self.textures, name)

    def _place(self, folder: str, name: str) -> str:
        name = PurePosixPath(name).name if self.strip else name
        # an absolute name stays one, to be refused
        return str(PurePosixPath(folder) / name)


def _asset_folders(root: ET.Element) -> _Folders:
    """Return the folders of the assets, and have the compiler keep every body and geom."""
    stated: dict[str, str] = {}
    compilers = root.findall("compiler") or [ET.SubElement(root, "compiler")]
    for compiler in compilers:
        for key in ("assetdir", "meshdir", "texturedir", "strippath"):
            value = compiler.attrib.pop(key, None)
            if value is not None:
                stated[key] = value
        compiler.set("fusestatic", "false")
        compiler.set("discardvisual", "false")
    shared = stated.get("assetdir", "")
    return _Folders(
        stated.get("meshdir", shared),
        stated.get("texturedir", shared),
        stated.get("strippath") == "true",
    )


def _pairs(root: ET.Element, tag: str) -> Iterator[tuple[ET.Element, ET.Element]]:
    """Return every element of a tag with its parent."""
    for parent in root.iter():
        for child in parent.findall(tag):
            yield parent, child


def _drop(root: ET.Element) -> None:
    """Take out lights and cameras, which are no part of a robot."""
    for tag in _DROPPED_INSIDE:
        for parent, child in list(_pairs(root, tag)):
            parent.remove(child)


def _sensors(root: ET.Element) -> Iterator[Element]:
    """Take the sensors out of a document; MuJoCo's names for them would not be the robot's."""
    for block in root.findall("sensor"):
        root.remove(block)
        for sensor in block:
            yield str(sensor.tag), tuple(sensor.attrib.items())


def _refuse(root: ET.Element, where: str) -> None:
    defaults = {id(inner) for default in root.findall("default") for inner in default.iter()}
    for element in root.iter():
        if id(element) in defaults:
            continue
        if element.tag in REFUSED and (element.tag not in ("equality", "tendon") or len(element)):
            raise DraftError(f"{where} has <{element.tag}>: {REFUSED[element.tag]}.")
        if element.get("mocap") == "true":
            raise DraftError(
                f"{where} has the mocap body {element.get('name')!r}: a robot moves by its joints; "
                "leave mocap out."
            )
        if element.tag not in ("mesh", "texture") and any("file" in key for key in element.attrib):
            raise DraftError(f"{where}: <{element.tag[:40]}> may not name a file.")
