"""A robot on its terrain as a function of the design: what every traced function closes over."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from codesign.dynamics import template_data
from codesign.errors import ProblemError
from codesign.motor_library.library import AvailableMotors
from codesign.terrain import FLAT, Ground
from draft_core import Robot
from draft_core.backend import jax, mjx, mujoco
from draft_core.design import DesignSpace
from draft_core.realization import RealizedModel

_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def index_of(name: str, names: Sequence[str], kind: str) -> int:
    """Return the position of a name; refuse unknown ones with the list of those that exist.

    Raises:
        ProblemError: the robot has no such name.
    """
    if name in names:
        return names.index(name)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    known = ", ".join(names) if names else "none"
    raise ProblemError(f"the robot has no {kind} '{name}'. It has: {known}.{hint}")


@dataclass(frozen=True)
class Plant:
    """Robot, design space and terrain.

    Attributes:
        robot: the parsed robot folder.
        space: design variables in the order of the design vector ρ.
        terrain: ground under the contact points.
        source: names and bytes of the robot's files, as they were when it was read.
        motors: motors that can be bought, whose torque and speed bound those of the robot's.
    """

    robot: Robot
    space: DesignSpace
    terrain: Ground = FLAT
    source: tuple[tuple[str, bytes], ...] = ()
    motors: AvailableMotors | None = None

    @cached_property
    def template(self) -> mjx.Data:
        """Empty MJX data with the robot's topology."""
        return template_data(self.robot)

    def realize(self, design: jax.Array) -> RealizedModel:
        """Return the model of a design vector, shape (p,), in SI units."""
        return self.robot.realize(self.space.as_dict(design))

    @property
    def nominal(self) -> mujoco.MjModel:
        """MuJoCo model at the robot folder's own parameters."""
        return self.robot.base_model

    @cached_property
    def weight(self) -> float:
        """Weight of the nominal robot: the unit in which contact forces are scaled; [N]."""
        mass = float(np.sum(self.nominal.body_mass))
        gravity = float(np.linalg.norm(self.nominal.opt.gravity))
        return mass * (gravity if gravity > 0 else 1.0)

    @cached_property
    def q_home(self) -> NDArray[np.float64]:
        """Configuration the robot folder describes, shape (nq,)."""
        return np.array(self.nominal.qpos0)

    @cached_property
    def has_free_base(self) -> bool:
        """Whether the first joint is free."""
        kinds = self.nominal.jnt_type
        return len(kinds) > 0 and int(kinds[0]) == int(mujoco.mjtJoint.mjJNT_FREE)

    def joint_address(self, name: str) -> int:
        """Return the index in q of a hinge or slide joint."""
        joint = index_of(name, self.robot.joint_names, "joint")
        if int(self.nominal.jnt_type[joint]) not in _SCALAR:
            raise ProblemError(
                f"joint '{name}' is free or a ball and has no single position; use base_position, "
                "base_quaternion or its entries of q (docs/notation.md)"
            )
        return int(self.nominal.jnt_qposadr[joint])

    def site_id(self, name: str) -> int:
        """Return the id of a site or contact point."""
        return index_of(name, self.robot.site_names, "site")


def coordinate_labels(model: mujoco.MjModel) -> tuple[list[str], list[str]]:
    """Return names of the entries of q and of v, such as 'body qw' or 'leg_fl'."""
    free, ball = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
    q_labels: list[str] = []
    v_labels: list[str] = []
    for joint, kind in enumerate(model.jnt_type):
        name = model.joint(joint).name
        if int(kind) == free:
            q_labels += [f"{name} {axis}" for axis in "xyz"]
            v_labels += [f"{name} v{axis}" for axis in "xyz"]
        if int(kind) in (free, ball):
            q_labels += [f"{name} q{axis}" for axis in "wxyz"]
            v_labels += [f"{name} w{axis}" for axis in "xyz"]
        else:
            q_labels.append(name)
            v_labels.append(name)
    return q_labels, v_labels


@dataclass(frozen=True)
class Drive:
    """A joint that a motor class drives.

    Attributes:
        joint: its name.
        actuator: the motor's place among the actuators.
        dof: the joint's place among the velocities.
        key: where the class's numbers are among the parameters, such as "motors.L".
    """

    joint: str
    actuator: int
    dof: int
    key: str


def drives(plant: Plant) -> list[Drive]:
    """Return the joints that motor classes drive, in the order of the joints."""
    robot, found = plant.robot, []
    for link in robot.tree.links:
        if link.joint is None or link.motor is None or link.motor.kind is None:
            continue
        joint = index_of(link.joint.name, robot.joint_names, "joint")
        actuator = index_of(link.motor.name, robot.actuator_names, "actuator")
        dof = int(plant.nominal.jnt_dofadr[joint])
        found.append(Drive(link.joint.name, actuator, dof, link.motor.kind.key))
    return found
