"""Compiling: a design becomes a MuJoCo model and, if asked, a folder, whole or not at all."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from draft_core.derived import body_frames, derived, structure
from draft_core.errors import DraftError
from draft_core.feasibility import FeasibilityReport, feasibility
from draft_core.formula import Formula
from draft_core.given import concrete
from draft_core.meshes import mesh_topology
from draft_core.mjcf import GENERATOR, Drawing, compile_xml, drawing, robot_xml, scene_xml
from draft_core.parameters import Entry
from draft_core.quantities import OWN_FIELDS, quantities, speed_limits
from draft_core.tree import RobotTree
from draft_core.urdf import robot_urdf, why_no_urdf
from draft_core.written import INDEX, check_folder, write_folder

_YAML_WORDS = {"yes", "no", "on", "off", "y", "n", "true", "false", "null"}
MAX_DRIFT = 1e-9  # relative, of the fields we state
# Of the fields MuJoCo derives: it takes frames within 1e-6 of each other for one frame.
MAX_DERIVED_DRIFT = 1e-5


class Refused(DraftError):
    """The feasibility filter refuses a design; `report` says why in full."""

    def __init__(self, report: FeasibilityReport):
        """Keep the report; the message is its first refusal."""
        super().__init__(report.refusal())
        self.report = report


@dataclass(frozen=True)
class CompiledRobot:
    """A robot at one design as MuJoCo compiled it.

    Attributes:
        model: MuJoCo's model of `xml`.
        xml: the MJCF document.
        design: the parameters that were given, by name.
        drift: largest relative difference between a field of `model` and what `realize` says.
        report: what the feasibility filter says; None where it was not asked.
    """

    model: mujoco.MjModel
    xml: str
    design: dict[str, float]
    drift: float
    report: FeasibilityReport | None = None


def compile_robot(
    tree: RobotTree,
    design: Mapping[str, Any] | None = None,
    out: Path | None = None,
    gates: bool = True,
) -> CompiledRobot:
    """Compile a robot, check it against its own numbers and the filter, and write it if asked.

    Args:
        tree: the robot.
        design: parameter values by (dotted) name.
        out: folder to write to; it may be new, empty, or hold what an earlier call wrote.
        gates: whether the feasibility filter decides; without it nothing is refused but what
            cannot exist.

    Raises:
        Refused: the feasibility filter refuses the design; nothing is then written.
        DraftError: a value cannot work, MuJoCo refuses the model or reads something else than
            was written, or the folder cannot be written. Nothing is then left behind.
    """
    if out is not None:
        check_folder(Path(out))
    given = concrete(design)
    env = tree.resolve(given)
    fields = quantities(tree, env)
    frames = body_frames(structure(tree), fields)
    shown = drawing(tree, env, fields)
    xml = robot_xml(tree, fields, shown)
    model = compile_xml(tree, xml)
    consequences = derived(structure(tree), np.array(model.body_simple), fields, frames)
    stated = {name: value for name, value in fields.items() if name not in OWN_FIELDS}
    drift = _checked_drift(tree, model, stated, consequences)
    report = feasibility(tree, env, fields, drift, frames) if gates else None
    if report is not None and not report.is_feasible:
        raise Refused(report)
    if out is not None:
        files: dict[str, str | bytes] = {
            "robot.xml": xml,
            "scene.xml": scene_xml(tree),
            INDEX: parameters_text(tree, env, given),
            **_meshes(tree, shown),
        }
        if why_no_urdf(tree) is None:
            files["robot.urdf"] = robot_urdf(
                tree, fields, speed_limits(tree, env), meshes=_mesh_files(tree), poses=shown.frames
            )
        if report is not None:
            files["feasibility_report.yaml"] = report.to_yaml()
        write_folder(Path(out), files)
    return CompiledRobot(model, xml, given, drift, report)


def write_refused(
    tree: RobotTree, design: Mapping[str, Any], report: FeasibilityReport, out: Path
) -> None:
    """Write why a design is refused, and its parameters, but no robot.

    Raises:
        DraftError: the folder holds other things, or the disk refuses.
    """
    given = concrete(design)
    parameters = parameters_text(tree, tree.resolve(given), given)
    files = {INDEX: parameters, "feasibility_report.yaml": report.to_yaml()}
    write_folder(out, files)


def _mesh_files(tree: RobotTree) -> dict[str, str]:
    """Return the file of each mesh in the written folder, by its solid's name."""
    return {
        solid.name: f"assets/{solid.asset.file if solid.asset else solid.name + '.obj'}"
        for solid in tree.meshes
    }


def _meshes(tree: RobotTree, shown: Drawing) -> dict[str, str | bytes]:
    """Return the mesh files: modules' own, and the lofted ones for URDF and other programs."""
    files: dict[str, str | bytes] = {}
    for solid, file in zip(tree.meshes, _mesh_files(tree).values(), strict=True):
        if solid.asset is not None:
            files[file] = solid.asset.data
        else:
            files[file] = _obj(shown.vertices[solid.name], mesh_topology(solid).faces)
    return files


def _obj(vertices: np.ndarray, faces: np.ndarray) -> str:
    """Return a mesh as a Wavefront OBJ document, whose corners count from 1."""
    corners = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    sides = [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    return "\n".join([f"# {GENERATOR}", *corners, *sides, ""])


def model_field(model: mujoco.MjModel, name: str) -> np.ndarray:
    """Return a field of a compiled model, ``stat.*`` included."""
    owner = model.stat if name.startswith("stat.") else model
    return np.asarray(getattr(owner, name.removeprefix("stat.")), dtype=float)


def relative_difference(value: Any, expected: Any, floor: float = 1e-6) -> float:
    """Return the largest |value - expected| relative to |expected|.

    Args:
        value: numbers.
        expected: as many.
        floor: entries below this part of the largest count as that, so that rounding around
            zero is not magnified; 1 compares everything with the largest.
    """
    value, expected = np.asarray(value, dtype=float), np.asarray(expected, dtype=float)
    size = np.abs(expected)
    least = max(floor * float(np.max(size, initial=0.0)), 1e-15)
    return float(np.max(np.abs(value - expected) / np.maximum(size, least), initial=0.0))


def _checked_drift(
    tree: RobotTree,
    model: mujoco.MjModel,
    stated: Mapping[str, Any],
    consequences: Mapping[str, Any],
) -> float:
    """Return the largest relative difference between a model and our numbers.

    Raises:
        DraftError: it is more than MuJoCo's reading and rounding explain.
    """
    plain = model.geom_type != mujoco.mjtGeom.mjGEOM_MESH  # MuJoCo moves a mesh's frame to its own
    read = {name: model_field(model, name) for name in stated}
    if not plain.all():
        read |= {name: v[plain] for name, v in read.items() if name.startswith("geom_")}
    drifts = _drifts(read, stated, floor=1e-6)
    follows = {k: v for k, v in consequences.items() if not k.startswith("stat.")}
    follows |= {name: consequences[name] for name in ("stat.meaninertia", "stat.meanmass")}
    read = {name: model_field(model, name) for name in follows}
    if not tree.meshes:  # which enter the box around the model
        follows["stat.center"] = [*consequences["stat.center"], consequences["stat.extent"]]
        read["stat.center"] = np.array([*model.stat.center, model.stat.extent])
        follows["stat.meansize"] = consequences["stat.meansize"]
        read["stat.meansize"] = np.array(model.stat.meansize)
    loose = _drifts(read, follows, floor=1.0)
    for found, most in ((drifts, MAX_DRIFT), (loose, MAX_DERIVED_DRIFT)):
        worst = max(found, key=lambda name: found[name])
        if not found[worst] <= most:
            raise DraftError(
                f"MuJoCo reads {worst} of {tree.name!r} with a relative difference of "
                f"{found[worst]:.1e}; at most {most:g} is allowed."
            )
    return max(*drifts.values(), *loose.values())


def _drifts(
    read: Mapping[str, np.ndarray], ours: Mapping[str, Any], floor: float
) -> dict[str, float]:
    """Return `relative_difference` of many fields at once, by name; those without entries not."""
    pairs = {name: (read[name], np.asarray(value, dtype=float)) for name, value in ours.items()}
    pairs = {name: pair for name, pair in pairs.items() if pair[1].size}
    lengths = np.array([expected.size for _, expected in pairs.values()])
    starts = np.cumsum(lengths) - lengths
    value = np.concatenate([value.ravel() for value, _ in pairs.values()])
    expected = np.concatenate([expected.ravel() for _, expected in pairs.values()])
    size = np.abs(expected)
    least = np.maximum(floor * np.maximum.reduceat(size, starts), 1e-15)
    ratio = np.abs(value - expected) / np.maximum(size, np.repeat(least, lengths))
    worst = np.maximum.reduceat(ratio, starts)
    return dict(zip(pairs, worst.tolist(), strict=True))


def parameters_text(tree: RobotTree, env: Mapping[str, Any], given: Mapping[str, float]) -> str:
    """Return parameters_resolved.yaml: every parameter's value, unit and where it came from."""
    rows = [f"# {GENERATOR}", f"robot: {_yaml(tree.name)}", "parameters:"]
    for entry in tree.parameters.entries:
        if isinstance(entry.stated, tuple):
            continue
        value, unit = _yaml(env[entry.name]), _yaml(entry.unit)
        source = _source(tree, entry, given)
        name = _yaml(entry.name) if entry.name.lower() in _YAML_WORDS else entry.name
        rows.append(f"  {name}: {{value: {value}, unit: {unit}, source: {source}}}")
    return "\n".join([*rows, ""])


def _yaml(value: Any) -> str:
    """Return a parameter's value as YAML, many times quicker than its dumper."""
    if isinstance(value, float):
        text = repr(value)  # YAML takes 1e-07 for text
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    if isinstance(value, tuple):
        return f"[{', '.join(map(_yaml, value))}]"
    return json.dumps(value)


def _source(tree: RobotTree, entry: Entry, given: Mapping[str, float]) -> str:
    """Return where a parameter's value came from."""
    if entry.name in given or entry.name in tree.overridden:
        return "override"
    return "trend" if isinstance(entry.stated, Formula) else "parameters.yaml"
