"""Forces that are drawn as arrows: contact forces in the world frame, thrusts in their body's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from codesign.report.poses import rotation_matrix

if TYPE_CHECKING:
    from codesign.solution import Solution

LONGEST = 0.45  # of the robot's size: the arrow of the largest force of its kind
NEGLIGIBLE = 0.01  # of the largest: not drawn


@dataclass(frozen=True)
class SiteForce:
    """A force on the robot that acts at a site and holds over each interval.

    Attributes:
        kind: "contact", in the world frame, or "thrust", in the frame of the site's body.
        site: where it acts.
        force: over the intervals (K-1, 3) [N].
        largest: magnitude of the largest force of this kind in the motion [N].
    """

    kind: str
    site: int
    force: np.ndarray
    largest: float

    def in_world(self, interval: int, body_quaternion: np.ndarray) -> np.ndarray:
        """Return the force over an interval in the world frame (3,) [N]."""
        force = self.force[interval]
        return rotation_matrix(body_quaternion) @ force if self.kind == "thrust" else force


def site_forces(
    solution: Solution, model: mujoco.MjModel, contact_names: Sequence[str]
) -> list[SiteForce]:
    """Return the contact forces and thrusts of a solution.

    Args:
        solution: gives `contact_force` and `u`.
        model: contact names are its sites; thrusters are its actuators that act on a site.
        contact_names: of the contacts (nc,); contacts that are no site are left out.
    """
    sites = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name) for name in contact_names]
    contacts = [(site, solution.contact_force[:, c]) for c, site in enumerate(sites) if site >= 0]
    return _of_kind("contact", contacts) + _of_kind("thrust", _thrusts(solution, model))


def _thrusts(solution: Solution, model: mujoco.MjModel) -> list[tuple[int, np.ndarray]]:
    found = []
    for actuator in range(min(model.nu, solution.u.shape[1])):
        if int(model.actuator_trntype[actuator]) == int(mujoco.mjtTrn.mjTRN_SITE):
            site = int(model.actuator_trnid[actuator, 0])
            axis = rotation_matrix(model.site_quat[site]) @ model.actuator_gear[actuator, :3]
            found.append((site, solution.u[:, actuator, None] * axis))
    return found


def _of_kind(kind: str, forces: Sequence[tuple[int, np.ndarray]]) -> list[SiteForce]:
    clean = [(site, np.nan_to_num(np.asarray(force, dtype=float))) for site, force in forces]
    sizes = [float(np.linalg.norm(f, axis=1).max(initial=0.0)) for _, f in clean]
    largest = max(sizes, default=0.0)
    return [SiteForce(kind, site, force, largest) for site, force in clean if largest > 0]
