"""Robots the tests of draft_core share, each with its compiled MJX functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import draft_core
from draft_core.backend import jax, mjx
from draft_core.robots import ROBOTS

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS: dict[str, Path | str] = {
    "hexapod": PROJECT / "problems" / "hexapod" / "robot",
    "quadcopter": PROJECT / "problems" / "quadcopter" / "robot",
    **{name: Path(__file__).parent / "robots" / name for name in ("everything", "arm", "slider")},
    **{name: name for name, robot in ROBOTS.items() if robot.overrides is None},
}
# the same tree as the quadruped's, at other numbers: for what is quick
VARIANTS = tuple(name for name, robot in ROBOTS.items() if robot.overrides is not None)

PARAMETERS = "length: 0.3\nmass: 1.0\n"
TREE = """
robot: cart
nodes:
  base: {primitive: root, joint: free, shape: box, size: [0.2, 0.1, 0.1], mass: 2}
  leg:
    primitive: geom
    parent: base
    joint: {type: hinge, axis: [0, 1, 0]}
    motor: {limit: 2}
    shape: box
    size: [0.02, 0.02, "${length}"]
    center: [0, 0, "${-length / 2}"]
    mass: "${mass}"
"""


class Sample:
    """A robot with functions that are compiled once for all tests."""

    def __init__(self, name: str):
        self.robot = draft_core.load(FOLDERS.get(name, name))
        self.nominal = {
            key: p.value for key, p in self.robot.parameters.items() if p.value is not None
        }
        self.stated = {
            entry.name: float(entry.stated)
            for entry in self.robot.tree.parameters.entries
            if isinstance(entry.stated, float)
        }

    def designs(self, count: int, seed: int = 0) -> list[dict[str, float]]:
        """Return random designs: every stated number within 20 % of the file's.

        The elements of a list change together, so that stated moments stay those of a body.
        """
        rng = np.random.default_rng(seed)
        lists = {key: key.rstrip("0123456789") for key in self.stated}

        def draw() -> dict[str, float]:
            factor = {name: rng.uniform(0.8, 1.2) for name in lists.values()}
            return {key: value * factor[lists[key]] for key, value in self.stated.items()}

        return [draw() for _ in range(count)]

    def pose(self, rng: np.random.Generator) -> np.ndarray:
        """Return a random configuration, its quaternions normalised."""
        model = self.robot.base_model
        q = rng.uniform(-1, 1, model.nq)
        for joint in range(model.njnt):
            kind, first = model.jnt_type[joint], model.jnt_qposadr[joint]
            first += 3 if kind == mujoco.mjtJoint.mjJNT_FREE else 0
            if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
                q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        return q

    @functools.cached_property
    def mass_matrix(self) -> Callable[..., Any]:
        """M(model, q) by MJX, compiled."""

        def evaluate(model: Any, q: Any) -> Any:
            data = mjx.make_data(model).replace(qpos=q)
            data = mjx.crb(model, mjx.com_pos(model, mjx.kinematics(model, data)))
            return mjx.full_m(model, data)

        return jax.jit(evaluate)


def mass_matrix_c(model: mujoco.MjModel, q: np.ndarray) -> np.ndarray:
    """Return M(q) by MuJoCo's own engine."""
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    return full


@functools.cache
def sample(name: str) -> Sample:
    return Sample(name)


@pytest.fixture(params=FOLDERS)
def any_robot(request: pytest.FixtureRequest) -> Sample:
    return sample(request.param)


@pytest.fixture
def everything() -> Sample:
    return sample("everything")


@pytest.fixture
def hexapod() -> Sample:
    return sample("hexapod")


@pytest.fixture
def make_robot(tmp_path: Path) -> Callable[..., Path]:
    """Write a robot folder, by default the cart's, with texts replaced."""

    def make(
        parameters: str = PARAMETERS,
        tree: str = TREE,
        replace: Mapping[str, str] | None = None,
    ) -> Path:
        for old, new in (replace or {}).items():
            assert old in parameters + tree
            parameters, tree = parameters.replace(old, new), tree.replace(old, new)
        folder = tmp_path / "robot"
        folder.mkdir(exist_ok=True)
        (folder / "parameters.yaml").write_text(parameters, encoding="utf-8")
        (folder / "tree.yaml").write_text(tree, encoding="utf-8")
        return folder

    return make
