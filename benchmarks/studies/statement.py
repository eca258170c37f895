"""Which studies there are, what is asked of each, and what is published of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from codesign.problem_source import problem_class
from problems import registry

PUBLISHED = Path(__file__).resolve().parents[1] / "published.yaml"

COMPLEMENTARITY = 1e-4  # scaled
DYNAMICS = 1e-6  # scaled by weight
CONTACT_WORK = 0.01  # of the actuator work, in any interval
FLOOR = 0.01  # of the published objective


@dataclass(frozen=True)
class Study:
    """One study: a problem, and what this project asks of it.

    Attributes:
        name: of the study.
        problem: name of the problem that ships.
        question: what is minimised.
        unit: of the objective.
        options: options of the problem.
        least_share: least share of starts that must succeed.
        most_seconds: most median wall time of a solve; [s].
        below: what the median objective must be below; inf for no bar.
        most_torque: largest torque in any counted success; [N m].
        figure: what is compared with the published objective: "objective" or "peak_effort".
        design: what every counted success must end at, within 1e-3; empty where it may be any.
        mesh_options: options that differ where the mesh is refined.
        small: options of a quick run.
    """

    name: str
    problem: str
    question: str
    unit: str
    options: Mapping[str, Any] = field(default_factory=dict)
    least_share: float = 0.95
    most_seconds: float = math.inf
    below: float = math.inf
    most_torque: float = math.inf
    figure: str = "objective"
    design: Mapping[str, float] = field(default_factory=dict)
    mesh_options: Mapping[str, Any] = field(default_factory=dict)
    small: Mapping[str, Any] = field(default_factory=dict)

    @property
    def floor(self) -> float:
        """Change of the objective between meshes that is none: 1 % of what is published."""
        return 0.0 if math.isinf(self.below) else FLOOR * self.below

    @property
    def is_there(self) -> bool:
        """Whether its problem ships."""
        return self.problem in registry()

    def make(self, quick: bool, for_meshes: bool = False) -> Any:
        """Return the problem, in its smallest size for a quick run."""
        options = dict(self.options) | (dict(self.small) if quick else {})
        options |= dict(self.mesh_options) if for_meshes else {}
        return problem_class(self.problem)(**options)


_WALK = {"knots": 4, "distance": 0.05}
STUDIES = (
    Study(
        "quadcopter",
        "quadcopter",
        "peak thrust",
        "N",
        least_share=1.0,
        most_seconds=3.0,
        design={"radius": 0.5, "mass": 0.3},
        mesh_options={"integrator": "implicit_midpoint"},
    ),
    Study(
        "hexapod_beta_0",
        "hexapod",
        "peak torque",
        "N m",
        {"beta": 0.0},
        most_seconds=15.0,
        below=1.28,
        small=_WALK,
    ),
    Study(
        "hexapod_beta_1",
        "hexapod",
        "peak torque, of peak torque + regularisation",
        "N m",
        {"beta": 1.0},
        figure="peak_effort",
        most_seconds=15.0,
        below=1.28,
        small=_WALK,
    ),
    Study(
        "biped_flat",
        "biped_flat",
        "peak torque",
        "N m",
        most_seconds=10.0,
        below=0.506,
        small=_WALK,
    ),
    Study(
        "biped_step",
        "biped_step",
        "peak torque",
        "N m",
        most_seconds=20.0,
        below=0.651,
        small={"knots": 6, "distance": 0.2, "step_at": 0.1, "step_height": 0.02},
    ),
    Study(
        "quadruped_torque",
        "quadruped_torque",
        "peak torque",
        "N m",
        least_share=0.9,
        most_seconds=30.0,
        below=0.294,
        small=_WALK,
    ),
    Study(
        "quadruped_time",
        "quadruped_time",
        "duration",
        "s",
        least_share=0.9,
        most_seconds=30.0,
        below=1.252,
        most_torque=6.0,
        small=_WALK,
    ),
    Study("biped_flat_and_step", "biped_flat_and_step", "worse of the two peak torques", "N m"),
)
BY_NAME = {study.name: study for study in STUDIES}


@cache
def published() -> dict[str, Any]:
    """Return what is published of each study, by its name."""
    return yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))


def published_of(name: str) -> dict[str, Any]:
    """Return what is published of one study; nothing where it is not in the paper."""
    return published().get(name, {})
