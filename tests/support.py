"""What several test modules share: plants, random states, the robots that ship."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import mujoco
import numpy as np

import draft_core
from codesign.plant import Plant
from draft_core.design import DesignSpace

ROOT = Path(__file__).resolve().parents[1]

DESIGNS = {
    "hexapod": (
        ROOT / "problems/hexapod/robot",
        {"body_x": (0.9, 1.2), "leg_length": (0.05, 0.2), "leg_mass": (0.08, 0.12)},
    ),
    "quadcopter": (ROOT / "problems/quadcopter/robot", {"radius": (0.1, 0.5), "mass": (0.3, 0.7)}),
    "acrobat": (ROOT / "tests/robots/acrobat", {"arm": (0.2, 0.6), "mass": (0.3, 1.0)}),
}


@cache
def plant(name: str) -> Plant:
    """Return one of the robots with a design space."""
    folder, bounds = DESIGNS[name]
    robot = draft_core.load(folder)
    return Plant(robot, DesignSpace.of(robot, bounds))


def random_design(plant: Plant, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(plant.space.lower, plant.space.upper)


def random_configuration(model: mujoco.MjModel, rng: np.random.Generator) -> np.ndarray:
    """Return a configuration with unit quaternions, up to about a radian from home."""
    q = model.qpos0.copy()
    mujoco.mj_integratePos(model, q, rng.normal(size=model.nv), 1.0)
    return q


def named(plant: Plant, design: np.ndarray) -> dict[str, float]:
    return dict(zip(plant.space.names, design.tolist(), strict=True))
