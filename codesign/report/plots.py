"""Which plots a solution gets: efforts, base, joints, contacts, energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from codesign.report.plot import Series, bar_plot, gait_plot, line_plot, row_plot
from codesign.report.poses import base_body, rotation_matrix
from codesign.report.tables import number

if TYPE_CHECKING:
    from codesign.physics import EnergyAudit
    from codesign.solution import Solution

MOST_STEPS = 4  # lines of steps that can be told apart in one plot
_MOTORS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


def all_plots(solution: Solution, model: mujoco.MjModel, contact_names: Sequence[str]) -> list[str]:
    """Return every plot that the solution has data for, as ``<figure>`` elements."""
    t = np.asarray(solution.t, dtype=float)
    if len(t) < 2:
        return []
    force = np.asarray(solution.contact_force, dtype=float)
    plots = effort_plots(model, t, np.asarray(solution.u, dtype=float))
    plots += base_plots(model, t, np.asarray(solution.q, dtype=float))
    plots += joint_plots(model, t, np.asarray(solution.q, dtype=float))
    if len(contact_names):
        plots.append(
            gait_plot(t, force[..., 2], contact_names, label="Vertical contact force", unit="N")
        )
    return [*plots, energy_plot(t, solution.audit.energy)]


def effort_kind(model: mujoco.MjModel, actuator: int) -> tuple[str, str]:
    """Return what an actuator's control is, and its unit."""
    transmission = int(model.actuator_trntype[actuator])
    if transmission == int(mujoco.mjtTrn.mjTRN_SITE):
        return "Thrust", "N"
    if transmission in _MOTORS:
        joint = int(model.actuator_trnid[actuator, 0])
        is_slide = int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
        return ("Force", "N") if is_slide else ("Torque", "N m")
    return "Effort", "SI"


def effort_plots(model: mujoco.MjModel, t: np.ndarray, u: np.ndarray) -> list[str]:
    """Return one plot for each kind of effort, with the limits its actuators share."""
    groups: dict[tuple[str, str], list[int]] = {}
    for actuator in range(min(model.nu, u.shape[1] if u.ndim == 2 else 0)):
        groups.setdefault(effort_kind(model, actuator), []).append(actuator)
    plots = []
    for (label, unit), members in groups.items():
        series = [
            Series(_name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, a), t, u[:, a]) for a in members
        ]
        limits = np.unique(np.round(model.actuator_ctrlrange[members], 9))
        limited = bool(np.all(model.actuator_ctrllimited[members])) and len(limits) <= 4
        shown = [float(v) for v in limits if v != 0] if limited else []
        if len(members) > MOST_STEPS:
            plots.append(row_plot(series, label=label, unit=unit, limits=shown))
        else:
            plots.append(line_plot(series, label=label, unit=unit, limits=shown, include_zero=True))
    return plots


def base_plots(model: mujoco.MjModel, t: np.ndarray, q: np.ndarray) -> list[str]:
    """Return position and tilt of a free base; nothing for a robot that is fixed to the world."""
    address = _free_joint(model)
    if address is None:
        return []
    position = [Series(n, t, q[:, address + i]) for i, n in enumerate("xyz")]
    turn = np.degrees([_roll_pitch_yaw(row[address + 3 : address + 7]) for row in q])
    angles = [Series(n, t, turn[:, i]) for i, n in enumerate(("roll", "pitch", "yaw"))]
    return [
        line_plot(position, label="Base position", unit="m", knots=t, include_zero=True),
        line_plot(angles, label="Base orientation", unit="deg", knots=t, include_zero=True),
    ]


def joint_plots(model: mujoco.MjModel, t: np.ndarray, q: np.ndarray) -> list[str]:
    """Return joint angles and joint travels over time."""
    kinds = {
        mujoco.mjtJoint.mjJNT_HINGE: ("Joint angle", "deg", 180 / np.pi),
        mujoco.mjtJoint.mjJNT_SLIDE: ("Joint travel", "m", 1.0),
    }
    plots = []
    for kind, (label, unit, scale) in kinds.items():
        members = [j for j in range(model.njnt) if int(model.jnt_type[j]) == int(kind)]
        series = [
            Series(
                _name(model, mujoco.mjtObj.mjOBJ_JOINT, j), t, scale * q[:, model.jnt_qposadr[j]]
            )
            for j in members
        ]
        if series:
            plots.append(line_plot(series, label=label, unit=unit, knots=t, include_zero=True))
    return plots


def energy_plot(t: np.ndarray, energy: EnergyAudit) -> str:
    """Return the energy balance of every interval: what the works and the integration add up to."""
    parts = [
        Series("actuator work", t, energy.actuator_work),
        Series("contact work", t, energy.contact_work),
        Series("damping work", t, energy.damping_work),
        Series("numerical energy", t, energy.numerical_energy),
    ]
    shown = [part for part in parts if np.any(part.y != 0)] or parts[:1]
    total = Series("energy change", t, energy.change)
    return bar_plot(t, shown, total=total, label="Energy", unit="J")


def energy_sentence(energy: EnergyAudit) -> str:
    """Return the energy balance of the whole motion in words."""
    change, actuators, contacts, damping = (
        number(float(np.nansum(part)), 3)
        for part in (
            energy.change,
            energy.actuator_work,
            energy.contact_work,
            energy.damping_work,
        )
    )
    return (
        f"Over the motion the robot's energy changed by {change} J: the actuators did "
        f"{actuators} J of work, the contacts {contacts} J, joint damping {damping} J, and the "
        f"integration {_integrated(energy)}. Resting ground can only take energy, so contact "
        "work above zero would mean that the plan cheats."
    )


def _integrated(energy: EnergyAudit) -> str:
    """Return what the integration made or lost, and its share of the work that was put in."""
    made = float(np.nansum(energy.numerical_energy))
    work = float(np.nansum(np.abs(energy.actuator_work)))
    share = f", {number(100 * abs(made) / work, 2)} % of the actuators' work" if work > 0 else ""
    return f"{'made' if made > 0 else 'lost'} {number(abs(made), 3)} J{share}"


def _free_joint(model: mujoco.MjModel) -> int | None:
    """Address in q of the base's free joint, if it has one."""
    joint = int(model.body_jntadr[base_body(model)])
    if joint < 0 or int(model.jnt_type[joint]) != int(mujoco.mjtJoint.mjJNT_FREE):
        return None
    return int(model.jnt_qposadr[joint])


def _roll_pitch_yaw(quaternion: np.ndarray) -> np.ndarray:
    """Angles about x, y, z with R = Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    norm = float(np.linalg.norm(quaternion))
    r = rotation_matrix(quaternion / norm if norm > 0 else np.array([1.0, 0, 0, 0]))
    pitch = np.arcsin(np.clip(-r[2, 0], -1.0, 1.0))
    return np.array([np.arctan2(r[2, 1], r[2, 2]), pitch, np.arctan2(r[1, 0], r[0, 0])])


def _name(model: mujoco.MjModel, kind: mujoco.mjtObj, index: int) -> str:
    return mujoco.mj_id2name(model, kind, index) or f"{index}"
