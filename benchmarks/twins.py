"""Are Unitree's Go2, B2 and G1 what the trends make of their geometry, torque and speed alone?

Each twin in benchmarks/twins states joint frames, outer sizes, torque and speed limits, and no mass
of the vendor's. Held against a vendor's description of the same machine, at poses q in the ranges
that both share, with the rotors' inertia left out of both:

    e_M = |M − M_v| / |M_v|,   e_g = |g − g_v| / |g_v|

M is the joint-space mass matrix, g the gravity vector, |·| the Frobenius norm; medians over poses.
Once over the hinges alone, the base held, which is how the published figures are read here; once
with the base's six freedoms, which ask for the whole machine's weight too. The base is the vendor's
root (pelvis or trunk), upright, its frame the same in both.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml
from numpy.typing import NDArray

import draft_core
from benchmarks.common import machine

HERE = Path(__file__).parent / "twins"
POSES, QUICK_POSES, SEED = 300, 50, 0
BASE = 6  # freedoms of a free root
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Twin:
    """A robot of ours and a vendor's description of the machine it rebuilds.

    Attributes:
        robot: the machine.
        vendor: the table under twins/vendor: "mjcf" is unitree_mujoco's, "urdf" unitree_ros's.
        folder: the robot folder under twins.
        overrides: its override file, if any.
    """

    robot: str
    vendor: str
    folder: str
    overrides: str | None = None

    @property
    def name(self) -> str:
        """Robot and description, such as "go2_urdf"."""
        return f"{self.robot.lower()}_{self.vendor}"

    def model(self) -> mujoco.MjModel:
        """Return our robot, compiled."""
        folder = HERE / self.folder
        return draft_core.load(folder, self.overrides and folder / self.overrides).compile().model

    def vendor_model(self) -> mujoco.MjModel:
        """Return the vendor's."""
        return vendor_model(vendor_table(self.name))


TWINS = (
    Twin("Go2", "urdf", "quadruped"),
    Twin("Go2", "mjcf", "quadruped"),
    Twin("B2", "urdf", "quadruped", "b2.yaml"),
    Twin("B2", "mjcf", "quadruped", "b2.yaml"),
    Twin("G1", "urdf", "g1", "rev_1_0.yaml"),
    Twin("G1", "mjcf", "g1"),
)

SOURCE = "Nguyen, Coelho, Kim (2026), arXiv 2609.38405, docs/twins.md of davidhnguyen2000/draft"
#: Mass [kg], mass ratio and median errors of the published twins; their vendor is the URDF.
PUBLISHED: dict[str, dict[str, float]] = {
    "Go2": {"mass": 16.3, "mass_ratio": 1.011, "mass_matrix": 0.128, "gravity": 0.214},
    "B2": {"mass": 62.7, "mass_ratio": 0.841, "mass_matrix": 0.217, "gravity": 0.341},
    "G1": {"mass": 37.2, "mass_ratio": 1.115, "mass_matrix": 0.339, "gravity": 0.252},
}
#: The greatest error allowed; of mass_ratio, the greatest distance from 1.
TARGETS: dict[str, dict[str, float]] = {
    "Go2": {"mass_ratio": 0.25, "mass_matrix": 0.13, "gravity": 0.22},
    "B2": {"mass_ratio": 0.25, "mass_matrix": 0.22, "gravity": 0.35},
    "G1": {"mass_ratio": 0.25, "mass_matrix": 0.34, "gravity": 0.26},
}


def vendor_table(name: str) -> dict[str, Any]:
    """Return a table of twins/vendor: its source and bodies by name, parents first."""
    return yaml.safe_load((HERE / "vendor" / f"{name}.yaml").read_text(encoding="utf-8"))


def vendor_model(table: Mapping[str, Any]) -> mujoco.MjModel:
    """Return the robot of a vendor's table, on a free root at the origin."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    bodies: dict[str, Any] = {}
    for name, row in table["bodies"].items():
        parent = bodies[row["parent"]] if "parent" in row else spec.worldbody
        body = bodies[name] = parent.add_body(
            name=name,
            pos=row.get("pos", [0, 0, 0]),
            quat=row.get("quat", [1, 0, 0, 0]),
            mass=row["mass"],
            ipos=row["com"],
            fullinertia=row["inertia"],
            explicitinertial=True,
        )
        if "parent" not in row:
            body.add_freejoint()
            continue
        hinge = mujoco.mjtJoint.mjJNT_HINGE
        body.add_joint(name=row["joint"], type=hinge, axis=row["axis"], range=row["range"])
    return spec.compile()


@dataclass(frozen=True)
class Side:
    """One of the two robots, its hinges in the order and with the signs both share.

    Attributes:
        model: its model.
        qpos: where the angles are in qpos.
        dofs: the base's freedoms, then the hinges'.
        signs: 1 or −1 for each of these: a hinge whose axis points the other way turns the other
            way.
        ranges: of the hinges, in the shared signs (n, 2) [rad].
    """

    model: mujoco.MjModel
    qpos: NDArray[np.int64]
    dofs: NDArray[np.int64]
    signs: Array
    ranges: Array

    def dynamics(self, angles: Array) -> tuple[Array, Array]:
        """Return mass matrices (poses, nv, nv) and gravity vectors (poses, nv), rotors left out.

        Args:
            angles: of the hinges, in the shared signs (poses, n) [rad].
        """
        model, data = self.model, mujoco.MjData(self.model)
        model.dof_armature[:] = 0.0
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        matrices, gravity, full = [], [], np.zeros((model.nv, model.nv))
        for pose in angles:
            data.qpos[:] = 0.0
            data.qpos[3] = 1.0
            data.qpos[self.qpos] = pose * self.signs[BASE:]
            mujoco.mj_forward(model, data)
            mujoco.mj_fullM(model, data, full)
            matrices.append(full[np.ix_(self.dofs, self.dofs)] * np.outer(self.signs, self.signs))
            gravity.append(data.qfrc_bias[self.dofs] * self.signs)
        return np.array(matrices), np.array(gravity)


@dataclass(frozen=True)
class Pair:
    """Two robots with the same hinges.

    Attributes:
        ours: our robot.
        theirs: the vendor's.
        joints: names of the hinges.
        angle: the greatest angle between two hinges' axes, base upright, joints at zero [rad].
        distance: the greatest distance between them, base frames together [m].
    """

    ours: Side
    theirs: Side
    joints: tuple[str, ...]
    angle: float
    distance: float


def paired(ours: mujoco.MjModel, theirs: mujoco.MjModel) -> Pair:
    """Return two models with their hinges matched by name.

    Raises:
        ValueError: they do not have the same hinges.
    """
    names, other = _hinges(theirs), _hinges(ours)
    if set(names) != set(other):
        raise ValueError(f"only one of the robots has {sorted(set(names) ^ set(other))}.")
    axis, anchor = _axes(ours, names)
    axis_v, anchor_v = _axes(theirs, names)
    cosines = (axis * axis_v).sum(axis=1)
    gap = anchor - anchor_v
    gap -= axis_v * (gap * axis_v).sum(axis=1)[:, None]
    return Pair(
        _side(ours, names, np.sign(cosines)),
        _side(theirs, names, np.ones(len(names))),
        tuple(names),
        float(np.linalg.norm(np.cross(axis, axis_v), axis=1).max()),
        float(np.linalg.norm(gap, axis=1).max()),
    )


def _hinges(model: mujoco.MjModel) -> list[str]:
    ids = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)
    return [model.joint(i).name for i in ids]


def _axes(model: mujoco.MjModel, names: Sequence[str]) -> tuple[Array, Array]:
    """Return axes (n, 3) and anchors (n, 3) [m] of hinges, the root's frame at the origin."""
    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    data.qpos[3] = 1.0
    mujoco.mj_kinematics(model, data)
    ids = [model.joint(name).id for name in names]
    return data.xaxis[ids], data.xanchor[ids]


def _side(model: mujoco.MjModel, names: Sequence[str], signs: Array) -> Side:
    ids = [model.joint(name).id for name in names]
    ranges = np.sort(model.jnt_range[ids] * signs[:, None], axis=1)
    dofs = np.array([*range(BASE), *model.jnt_dofadr[ids]])
    return Side(model, model.jnt_qposadr[ids], dofs, np.array([*[1.0] * BASE, *signs]), ranges)


def compare(ours: mujoco.MjModel, theirs: mujoco.MjModel, poses: int, seed: int) -> dict[str, Any]:
    """Return masses [kg], their ratio, and the median errors of mass matrix and gravity vector.

    Args:
        ours: our model; its rotors' inertia is set to zero, as the vendor's.
        theirs: the vendor's.
        poses: how many.
        seed: of the poses, uniform in the range that both have of each hinge.
    """
    pair = paired(ours, theirs)
    low = np.maximum(pair.ours.ranges[:, 0], pair.theirs.ranges[:, 0])
    high = np.minimum(pair.ours.ranges[:, 1], pair.theirs.ranges[:, 1])
    angles = np.random.default_rng(seed).uniform(low, high, (poses, len(low)))
    (matrix, gravity), (matrix_v, gravity_v) = (
        side.dynamics(angles) for side in (pair.ours, pair.theirs)
    )
    mass, mass_v = (float(np.sum(model.body_mass)) for model in (ours, theirs))
    joints = slice(BASE, None)
    return {
        "mass": mass,
        "vendor_mass": mass_v,
        "mass_ratio": mass / mass_v,
        "mass_matrix": _error(matrix[:, joints, joints], matrix_v[:, joints, joints]),
        "gravity": _error(gravity[:, joints], gravity_v[:, joints]),
        "with_base": {
            "mass_matrix": _error(matrix, matrix_v),
            "gravity": _error(gravity, gravity_v),
        },
        "axes": {"angle_rad": pair.angle, "distance_m": pair.distance},
        "links": _link_masses(pair),
    }


def _error(ours: Array, theirs: Array) -> float:
    """Return the median over poses of |ours − theirs| / |theirs|."""
    difference, size = (x.reshape(len(x), -1) for x in (ours - theirs, theirs))
    return float(np.median(np.linalg.norm(difference, axis=1) / np.linalg.norm(size, axis=1)))


def _link_masses(pair: Pair) -> dict[str, list[float]]:
    """Return our and the vendor's mass [kg] of each rigid piece, by the joint that moves it."""
    both = []
    for model in (pair.ours.model, pair.theirs.model):
        pieces = np.bincount(model.body_weldid, model.body_mass, model.nbody)
        moved = [1, *(model.joint(name).bodyid[0] for name in pair.joints)]
        both.append(pieces[model.body_weldid[moved]].tolist())
    return dict(zip(("base", *pair.joints), map(list, zip(*both, strict=True)), strict=True))


def misses(robot: str, figures: Mapping[str, Any]) -> list[str]:
    """Return which of a robot's targets its figures miss."""
    found = {**figures, "mass_ratio": abs(figures["mass_ratio"] - 1)}
    return [name for name, most in TARGETS[robot].items() if not found[name] <= most]


def run(poses: int, seed: int = SEED) -> dict[str, dict[str, Any]]:
    """Return what `compare` says of every twin, with the targets missed, by its name."""
    results = {}
    for twin in TWINS:
        figures = compare(twin.model(), twin.vendor_model(), poses, seed)
        whole = {**figures, **figures["with_base"]}
        results[twin.name] = {
            **figures,
            "misses": misses(twin.robot, figures),
            "misses_with_base": misses(twin.robot, whole),
        }
    return results


_COLUMNS = (
    *("twin against", "ours kg", "vendor kg", "ratio", "e_M", "e_g"),
    *("e_M with base", "e_g with base"),
)


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the results as a Markdown table, the published twin's row before each robot's."""
    rows = [_COLUMNS, ["---", *["--:"] * (len(_COLUMNS) - 1)]]
    for robot, published in PUBLISHED.items():
        mass, ratio = published["mass"], published["mass_ratio"]
        numbers = [f"{mass:.1f}", f"{mass / ratio:.1f}", f"{ratio:.3f}"]
        errors = [f"{published[name]:.3f}" for name in ("mass_matrix", "gravity")]
        rows.append([f"{robot}, published", *numbers, *errors, "", ""])
        rows += [
            _row(f"{robot}, {twin.vendor.upper()}", results[twin.name])
            for twin in TWINS
            if twin.robot == robot and twin.name in results
        ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(name: str, figures: Mapping[str, Any]) -> list[str]:
    missed = [*figures["misses"], *(f"base {key}" for key in figures["misses_with_base"])]
    base = figures["with_base"]
    cells = {
        "mass_ratio": figures["mass_ratio"],
        "mass_matrix": figures["mass_matrix"],
        "gravity": figures["gravity"],
        "base mass_matrix": base["mass_matrix"],
        "base gravity": base["gravity"],
    }
    marked = [f"{value:.3f}{' ✗' if key in missed else ''}" for key, value in cells.items()]
    return [name, f"{figures['mass']:.1f}", f"{figures['vendor_mass']:.1f}", *marked]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_POSES} poses, not {POSES}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to a file")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write it to DIR/twins.json")
    asked = parser.parse_args(arguments)
    poses = QUICK_POSES if asked.quick else POSES
    results = run(poses)
    print(f"Medians over {poses} poses; ✗ where a target is missed\n\n{table(results)}")
    for file in filter(None, (asked.json, asked.out and asked.out / "twins.json")):
        file.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "benchmark": "twins",
            "quick": asked.quick,
            "machine": machine(),
            "poses": poses,
            "seed": SEED,
            "source": SOURCE,
            "published": PUBLISHED,
            "targets": TARGETS,
            "twins": results,
        }
        file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        print(f"\n{file}")


if __name__ == "__main__":
    main()
