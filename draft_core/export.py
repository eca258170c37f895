"""Compiling: a design becomes a MuJoCo model and, if asked, a folder, whole or not at all."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from draft_core.derived import derived, structure
from draft_core.errors import DraftError, known_names
from draft_core.mjcf import GENERATOR, compile_xml, drawing, robot_xml, scene_xml
from draft_core.namespace import is_jax
from draft_core.quantities import OWN_FIELDS, quantities
from draft_core.tree import RobotTree

MAX_DRIFT = 1e-9  # relative, of the fields we state
# Of the fields MuJoCo derives: it takes frames within 1e-6 of each other for one frame.
MAX_DERIVED_DRIFT = 1e-5
_FILES = {"robot.xml", "scene.xml", "parameters_resolved.yaml", "feasibility_report.yaml", "assets"}


@dataclass(frozen=True)
class CompiledRobot:
    """A robot at one design as MuJoCo compiled it.

    Attributes:
        model: MuJoCo's model of `xml`.
        xml: the MJCF document.
        design: the parameters that were given, by name.
        drift: largest relative difference between a field of `model` and what `realize` says.
    """

    model: mujoco.MjModel
    xml: str
    design: dict[str, float]
    drift: float


def compile_robot(
    tree: RobotTree, design: Mapping[str, Any] | None = None, out: Path | None = None
) -> CompiledRobot:
    """Compile a robot, check it against its own numbers, and write it if asked.

    Args:
        tree: the robot.
        design: parameter values by (dotted) name.
        out: folder to write robot.xml, scene.xml and parameters_resolved.yaml to; it may be
            new, empty, or hold what an earlier call wrote.

    Raises:
        DraftError: a value cannot work, MuJoCo refuses the model or reads something else than
            was written, or the folder cannot be written. Nothing is then left behind.
    """
    if out is not None:
        _check_writable(Path(out))
    given = {
        name: float(value) if is_jax(value) else value for name, value in (design or {}).items()
    }
    env = tree.resolve(given)
    given = {name: float(env[name]) for name in given}
    fields = quantities(tree, env)
    xml = robot_xml(tree, fields, drawing(tree, env))
    model = compile_xml(tree, xml)
    consequences = derived(structure(tree), np.array(model.body_simple), fields)
    stated = {name: value for name, value in fields.items() if name not in OWN_FIELDS}
    drift = _checked_drift(tree, model, stated, consequences)
    if out is not None:
        resolved = parameters_text(tree, env, given)
        files = {
            "robot.xml": xml,
            "scene.xml": scene_xml(tree),
            "parameters_resolved.yaml": resolved,
        }
        write_folder(Path(out), files)
    return CompiledRobot(model, xml, given, drift)


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
    box = [*consequences["stat.center"], consequences["stat.extent"]]
    theirs = [*model.stat.center, model.stat.extent]
    ours = model.geom_type != mujoco.mjtGeom.mjGEOM_MESH  # MuJoCo moves a mesh's frame to its own

    def theirs_of(name: str) -> np.ndarray:
        values = model_field(model, name)
        return values[ours] if name.startswith("geom_") else values

    drifts = {name: relative_difference(theirs_of(name), v) for name, v in stated.items()}
    loose = {
        name: relative_difference(model_field(model, name), value, floor=1.0)
        for name, value in consequences.items()
        if name not in ("stat.center", "stat.extent", "stat.meansize")
    }
    if not tree.meshes:  # which enter the box around the model
        loose["stat.center"] = relative_difference(theirs, box, floor=1.0)
        loose["stat.meansize"] = relative_difference(
            model.stat.meansize, consequences["stat.meansize"], floor=1.0
        )
    for found, most in ((drifts, MAX_DRIFT), (loose, MAX_DERIVED_DRIFT)):
        worst = max(found, key=lambda name: found[name])
        if not found[worst] <= most:
            raise DraftError(
                f"MuJoCo reads {worst} of {tree.name!r} with a relative difference of "
                f"{found[worst]:.1e}; at most {most:g} is allowed."
            )
    return max(*drifts.values(), *loose.values())


def parameters_text(tree: RobotTree, env: Mapping[str, Any], given: Mapping[str, float]) -> str:
    """Return parameters_resolved.yaml: every parameter's value, unit and where it came from."""
    rows = {}
    for entry in tree.parameters.entries:
        if isinstance(entry.stated, tuple):
            continue
        source = "override" if entry.name in given else "parameters.yaml"
        rows[entry.name] = {"value": env[entry.name], "unit": entry.unit, "source": source}
    document = {"robot": tree.name, "parameters": rows}
    return f"# {GENERATOR}\n" + yaml.safe_dump(document, sort_keys=False)


def _check_writable(out: Path) -> None:
    """Refuse a folder that holds anything we did not write."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise DraftError(f"cannot write to '{out}': it is not a folder; give a new or empty one.")
    if not out.exists():
        return
    names = {path.name for path in out.iterdir()}
    robot = out / "robot.xml"
    ours = (
        robot.is_file() and GENERATOR in robot.read_text(encoding="utf-8", errors="replace")[:300]
    )
    if names and not (ours and names <= _FILES):
        foreign = sorted(names - _FILES) or sorted(names)
        raise DraftError(
            f"cannot write to '{out}': it holds {known_names(foreign, 3)}, which no earlier "
            "compile wrote; give a new or empty folder."
        )


def write_folder(out: Path, files: Mapping[str, str]) -> None:
    """Write a folder so that it appears whole or not at all.

    The files go to a new folder beside it, which then takes its name; an earlier output moves
    aside first and comes back if that fails.

    Raises:
        DraftError: the folder holds other things, or the disk refuses.
    """
    _check_writable(out)
    try:
        out = out.absolute()
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
            new, old = Path(scratch) / "new", Path(scratch) / "old"
            new.mkdir()
            for name, content in files.items():
                (new / name).write_text(content, encoding="utf-8")
            if out.exists():
                out.rename(old)
            try:
                new.rename(out)
            except OSError:
                if old.exists():
                    old.rename(out)
                raise
    except OSError as error:
        raise DraftError(f"cannot write to '{out}': {error.strerror or error}.") from None
