"""A strip of poses as one SVG picture: needs no script, no renderer and no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import mujoco
import numpy as np

from codesign.report.camera import Camera, Solid, convex_hull, painting_order
from codesign.report.forces import LONGEST, NEGLIGIBLE
from codesign.report.ground import ground_shapes
from codesign.report.poses import Motion, base_body, body_poses, rotation_matrix
from codesign.report.shapes import Shape, shapes_of
from codesign.terrain.relief import Relief

PANEL_WIDTH = 240.0  # [px]
GAP = 6.0  # between panels [px]
CAPTION_HEIGHT = 22.0  # [px]
_LIGHT = np.array([0.35, -0.45, 0.82]) / np.linalg.norm([0.35, -0.45, 0.82])
_ELEVATION = np.radians(18.0)
_QUARTER_VIEW = np.radians(28.0)  # turned from the pure side view, to show depth

_STYLE = """
.montage{--ink:#1f2933;--soft:#6b7785;--grid:#c9d1da;--force:#c22f4e;--thrust:#2a8a57;--path:#3a6fb0;--mark:#b8860b;
--back:#f3f5f8}
@media (prefers-color-scheme:dark){
.montage{--ink:#e4e9ee;--soft:#98a4b1;--grid:#3b4652;--force:#ff6f8b;--thrust:#6fd3a0;--path:#7db0ee;--mark:#f0c04a;--back:#1c232b}}
.montage text{font:500 12px system-ui,sans-serif;fill:var(--soft)}
.montage .back{fill:var(--back)}
.montage .grid{stroke:var(--grid);stroke-width:.7;fill:none}
.montage .shadow{fill:#000;fill-opacity:.16}
.montage .path{stroke:var(--path);stroke-width:1.3;stroke-dasharray:3 3;fill:none}
.montage .contact{stroke:var(--force);fill:var(--force)}
.montage .thrust{stroke:var(--thrust);fill:var(--thrust)}
.montage .shaft{stroke-width:2;fill:none}
.montage .tip{stroke:none}
.montage .mark{stroke:var(--mark);stroke-width:1.6;fill:none}
.montage .solid polygon{stroke:#1b2530;stroke-opacity:.45;stroke-width:.6;stroke-linejoin:round}
"""


@dataclass(frozen=True)
class Arrow:
    """A force at a site.

    Attributes:
        kind: "contact" or "thrust".
        site: where it acts.
        share: the force in the world frame, as a share of the largest of its kind (3,).
    """

    kind: str
    site: int
    share: np.ndarray


@dataclass(frozen=True)
class Scene:
    """What is drawn besides the robot.

    Attributes:
        ground: height of the ground grid [m].
        blocks: what stands on it: shapes of the world.
        arrows: for each frame.
        markers: named points of the world [m].
        track: where the base goes (n, 3) [m].
    """

    ground: float
    blocks: Sequence[Shape]
    arrows: Sequence[Sequence[Arrow]]
    markers: Mapping[str, np.ndarray]
    track: np.ndarray


def montage_svg(
    model: mujoco.MjModel,
    q_frames: np.ndarray,
    *,
    times: Sequence[float] | np.ndarray | None = None,
    arrows: Sequence[Sequence[Arrow]] = (),
    track: np.ndarray | None = None,
    markers: Mapping[str, np.ndarray] | None = None,
    relief: Relief | None = None,
    label: str = "The robot at successive times",
) -> str:
    """Return an SVG picture with one panel for each configuration.

    Args:
        model: the robot, with its geoms.
        q_frames: configurations to draw (F, nq).
        times: captions (F,) [s]; none when left out.
        arrows: forces to draw in each panel (F of them, or none).
        track: where the base goes (n, 3) [m]; through the given configurations by default.
        markers: named points of the world to mark, e.g. a button [m].
        relief: the ground's shape; level by default.
        label: what the picture shows, for readers who cannot see it.

    Returns:
        A complete ``<svg>`` element, fit for a file or for a page, in light and in dark.
    """
    q_frames = np.atleast_2d(np.asarray(q_frames, dtype=float))
    stamps = np.arange(len(q_frames), dtype=float) if times is None else np.asarray(times)
    motion = body_poses(model, stamps, q_frames)
    shapes = shapes_of(model)
    base = base_body(model)
    scene = Scene(
        ground=ground_height(motion, shapes, relief),
        blocks=ground_shapes(relief),
        arrows=arrows or [()] * len(q_frames),
        markers={name: np.asarray(at, dtype=float) for name, at in (markers or {}).items()},
        track=motion.position[:, base] if track is None else np.asarray(track),
    )
    view = View.framing(model, motion, shapes, scene)
    panels = [
        _panel(model, motion, frame, shapes, scene, view, has_caption=times is not None)
        for frame in range(len(q_frames))
    ]
    width = PANEL_WIDTH * len(panels) + GAP * (len(panels) - 1)
    height = view.height + (CAPTION_HEIGHT if times is not None else 0.0)
    body = "".join(
        f'<svg x="{_n((PANEL_WIDTH + GAP) * i)}" y="0" width="{_n(PANEL_WIDTH)}" '
        f'height="{_n(height)}">{panel}</svg>'
        for i, panel in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="montage" role="img" '
        f'aria-label="{escape(label)}" viewBox="0 0 {_n(width)} {_n(height)}">'
        f"<style>{_STYLE}</style>{body}</svg>"
    )


def choose_frames(t: np.ndarray, count: int = 5) -> np.ndarray:
    """Return `count` evenly spaced times from the first knot to the last (fewer for one knot)."""
    return np.linspace(t[0], t[-1], count) if t[-1] > t[0] else np.asarray(t[:1])


def ground_height(motion: Motion, shapes: list[Shape], relief: Relief | None = None) -> float:
    """Return the ground's lowest height, or that of the motion where the robot goes below 0."""
    if relief is not None:
        return relief.lowest
    lowest = min((float(world_vertices(motion, 0, s)[:, 2].min()) for s in shapes), default=0.0)
    lowest = min(lowest, float(motion.position[:, 1:, 2].min(initial=0.0)))
    return 0.0 if lowest > -0.05 else lowest


def world_vertices(motion: Motion, frame: int, shape: Shape) -> np.ndarray:
    """Return the shape's vertices in the world (n, 3) [m]."""
    in_body = shape.mesh.vertices @ rotation_matrix(shape.quaternion).T + shape.position
    turn = rotation_matrix(motion.quaternion[frame, shape.body])
    return in_body @ turn.T + motion.position[frame, shape.body]


def side_view(motion: Motion, base: int) -> float:
    """Return the azimuth that sees the base travel from left to right [rad]."""
    travel = motion.position[-1, base] - motion.position[0, base]
    is_travelling = np.hypot(travel[0], travel[1]) > 0.05
    heading = float(np.arctan2(travel[1], travel[0])) if is_travelling else 0.0
    return heading - np.pi / 2 + float(_QUARTER_VIEW)


@dataclass(frozen=True)
class View:
    """One camera for every panel, and the part of its picture that a panel shows.

    Attributes:
        camera: the projection.
        centre: picture point at the middle of each frame's panel (F, 2) [m].
        scale: [px/m].
        height: of a panel [px].
        robot_size: diagonal of the robot's first pose [m].
    """

    camera: Camera
    centre: np.ndarray
    scale: float
    height: float
    robot_size: float

    @classmethod
    def framing(cls, model, motion: Motion, shapes: list[Shape], scene: Scene) -> View:
        """Return a view that holds the whole motion, or follows a robot that goes far."""
        camera = Camera(side_view(motion, base_body(model)), float(_ELEVATION), np.zeros(3))
        low, high = _extents(motion, shapes, camera, scene)
        size = float(np.max(high - low, axis=1).max()) or 1.0
        for frame in range(len(low)):
            ends = [arrow_ends(model, motion, frame, a, size)[1] for a in scene.arrows[frame]]
            seen = camera.project(np.asarray(ends).reshape(-1, 3))
            low[frame] = np.minimum(low[frame], seen.min(axis=0, initial=np.inf))
            high[frame] = np.maximum(high[frame], seen.max(axis=0, initial=-np.inf))
        whole_low, whole_high = low.min(axis=0), high.max(axis=0)
        middle = np.tile((whole_low + whole_high) / 2, (len(low), 1))
        span = (whole_high - whole_low) * 1.08 + 0.02 * size
        if span[0] > 3.5 * size:  # too far to show whole: keep the robot in the middle
            middle[:, 0] = ((low + high) / 2)[:, 0]
            span[0] = 1.6 * size
        scale = PANEL_WIDTH / span[0]
        height = float(np.clip(span[1] * scale, 0.5 * PANEL_WIDTH, 1.15 * PANEL_WIDTH))
        scale = min(scale, height / span[1])
        return cls(camera, middle, float(scale), height, size)

    def pixels(self, frame: int, points: np.ndarray) -> np.ndarray:
        """Return panel pixels (…, 2), y down, of picture points (…, 2)."""
        offset = (np.asarray(points) - self.centre[frame]) * self.scale
        return offset * [1.0, -1.0] + [PANEL_WIDTH / 2, self.height / 2]

    def world(self, frame: int, points: np.ndarray) -> np.ndarray:
        """Return panel pixels (…, 2) of world points (…, 3)."""
        return self.pixels(frame, self.camera.project(points))


def _extents(motion, shapes, camera, scene) -> tuple[np.ndarray, np.ndarray]:
    """Picture corners of each frame's robot (F, 2), its shadow and the markers included."""
    marks = [np.asarray(list(scene.markers.values())).reshape(-1, 3)]
    low, high = [], []
    for frame in range(len(motion.t)):
        points = [world_vertices(motion, frame, s) for s in shapes]
        points = points or [motion.position[frame]]
        flat = [p * [1, 1, 0] + [0, 0, scene.ground] for p in points]
        seen = camera.project(np.concatenate(points + flat + marks))
        low.append(seen.min(axis=0))
        high.append(seen.max(axis=0))
    return np.array(low), np.array(high)


def _panel(model, motion, frame, shapes, scene, view, has_caption: bool) -> str:
    parts = [_grid(view, frame, scene.ground)]
    world = [world_vertices(motion, frame, shape) for shape in shapes]
    parts.append(_shadow(view, frame, world, scene.ground))
    parts.append(_solids(view, frame, motion, scene.blocks))
    parts.append(_path(frame, scene, view))
    parts.append(_solids(view, frame, motion, shapes))
    parts.append(_arrows(model, motion, frame, scene, view))
    parts.append(_markers(frame, scene, view))
    caption = (
        f'<text x="{_n(PANEL_WIDTH / 2)}" y="{_n(view.height + 16)}" '
        f'text-anchor="middle">{motion.t[frame]:.2f} s</text>'
    )
    size = f'width="{_n(PANEL_WIDTH)}" height="{_n(view.height)}"'
    return (
        f'<rect class="back" {size} rx="6"/><svg {size}>{"".join(parts)}</svg>'
        f"{caption if has_caption else ''}"
    )


def _solids(view: View, frame: int, motion: Motion, shapes: Sequence[Shape]) -> str:
    """Shapes, the nearer ones over the further ones."""
    solids = [
        Solid.seen(view.camera, world_vertices(motion, frame, shape), shape.mesh.triangles)
        for shape in shapes
    ]
    order = painting_order(view.camera, solids)
    return "".join(_solid(view, frame, solids[index], shapes[index]) for index in order)


def _grid(view: View, frame: int, ground: float) -> str:
    """Ground lines, at a round spacing, on the part of the ground that the panel shows."""
    spacing = round_length(max(view.robot_size / 4, PANEL_WIDTH / view.scale / 9))
    camera = view.camera
    middle = camera.lift(view.centre[frame])
    onto = (ground - middle[2]) / camera.towards[2]
    foot = (middle + onto * camera.towards)[:2]
    reach = 1.6 * PANEL_WIDTH / view.scale  # a low camera sees far
    first = np.ceil((foot - reach) / spacing) * spacing
    lines = []
    for axis in range(2):
        for value in np.arange(first[axis], foot[axis] + reach, spacing):
            ends = np.empty((2, 3))
            ends[:, axis], ends[:, 1 - axis] = value, foot[1 - axis] + np.array([-reach, reach])
            ends[:, 2] = ground
            lines.append("M" + "L".join(_xy(p) for p in view.world(frame, ends)))
    return f'<path class="grid" d="{"".join(lines)}"/>'


def round_length(length: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is not above `length`."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(max(m * power for m in (1, 2, 5) if m * power <= length * (1 + 1e-9)))


def _shadow(view: View, frame: int, world: list[np.ndarray], ground: float) -> str:
    outlines = []
    for vertices in world:
        fallen = vertices * [1, 1, 0] + [0, 0, ground]
        hull = convex_hull(view.camera.project(fallen))
        outlines.append("M" + "L".join(_xy(p) for p in view.pixels(frame, hull)) + "Z")
    return f'<path class="shadow" d="{"".join(outlines)}"/>' if outlines else ""


def _path(frame: int, scene: Scene, view: View) -> str:
    track = view.world(frame, scene.track)
    return f'<polyline class="path" points="{" ".join(_xy(p) for p in track)}"/>'


def _solid(view: View, frame: int, solid: Solid, shape: Shape) -> str:
    """The silhouette in the colour of the turned-away side, then each flat face that is seen."""
    pieces = [_polygon(view, frame, solid.silhouette, shape.colour, 0.86)]
    for normal, corners in _flat_faces(solid, shape):
        if normal @ view.camera.towards > 1e-6:
            outline = convex_hull(view.camera.project(corners))
            if len(outline) > 2:
                light = 0.66 + 0.42 * max(0.0, float(normal @ _LIGHT))
                pieces.append(_polygon(view, frame, outline, shape.colour, light))
    return f'<g class="solid">{"".join(pieces)}</g>'


def _flat_faces(solid: Solid, shape: Shape) -> list[tuple[np.ndarray, np.ndarray]]:
    """Normal and corners of each flat face: six of a box, two of a cylinder, none when round."""
    is_whole = len(solid.corners) == 12  # a wedge of the ground has fewer triangles than a box
    if shape.kind == "box" and is_whole:
        groups = [np.arange(2 * i, 2 * i + 2) for i in range(6)]
    elif shape.kind == "cylinder":
        caps = np.arange(len(solid.corners)).reshape(4, -1)  # two quarters are the wall
        groups = [caps[2], caps[3]]
    elif shape.kind in ("mesh", "box"):
        groups = [np.array([i]) for i in range(len(solid.corners))]
    else:
        return []
    return [(solid.normals[g[0]], solid.corners[g].reshape(-1, 3)) for g in groups]


def _polygon(view: View, frame: int, outline: np.ndarray, colour, light: float) -> str:
    rgb = [round(255 * min(1.0, channel * light)) for channel in colour]
    points = " ".join(_xy(p) for p in view.pixels(frame, outline))
    return f'<polygon points="{points}" fill="#{rgb[0]:02x}{rgb[1]:02x}{rgb[2]:02x}"/>'


def _arrows(model, motion, frame, scene: Scene, view: View) -> str:
    drawn = []
    for arrow in scene.arrows[frame]:
        if np.linalg.norm(arrow.share) < NEGLIGIBLE:
            continue
        ends = arrow_ends(model, motion, frame, arrow, view.robot_size)
        drawn.append(f'<g class="{arrow.kind}">{_arrow(view.world(frame, ends))}</g>')
    return "".join(drawn)


def arrow_ends(
    model: mujoco.MjModel, motion: Motion, frame: int, arrow: Arrow, robot_size: float
) -> np.ndarray:
    """Return where an arrow starts and where it points to, in the world (2, 3) [m]."""
    body = int(model.site_bodyid[arrow.site])
    turn = rotation_matrix(motion.quaternion[frame, body])
    start = motion.position[frame, body] + turn @ model.site_pos[arrow.site]
    return np.stack([start, start + arrow.share * LONGEST * robot_size])


def _arrow(ends: np.ndarray) -> str:
    start, tip = ends
    along = tip - start
    length = float(np.hypot(*along))
    if length < 1.0:
        return ""
    along = along / length
    across, head = np.array([-along[1], along[0]]), min(8.0, 0.6 * length)
    corners = (
        tip,
        tip - head * along + 0.45 * head * across,
        tip - head * (along) - 0.45 * head * across,
    )
    return (
        f'<path class="shaft" d="M{_xy(start)}L{_xy(tip - 0.8 * head * along)}"/>'
        f'<polygon class="tip" points="{" ".join(_xy(c) for c in corners)}"/>'
    )


def _markers(frame: int, scene: Scene, view: View) -> str:
    marks = []
    for name, point in scene.markers.items():
        x, y = view.world(frame, point)
        marks.append(
            f'<circle class="mark" cx="{_n(x)}" cy="{_n(y)}" r="4">'
            f"<title>{escape(name)}</title></circle>"
        )
    return "".join(marks)


def _n(value: float) -> str:
    """A number for SVG: a tenth of a pixel is enough."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _xy(point: np.ndarray) -> str:
    return f"{_n(point[0])},{_n(point[1])}"
