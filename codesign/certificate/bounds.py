"""Which bounds are active at an answer, told by their multipliers.

Bounds of the design; limits of efforts, speeds and joints, which are bounds on variables or, where
they follow the design, rows; the task's rows and the automatic ones. Rows that belong to the
physics (dynamics, contact) and the rows of peaks are nobody's to move.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from codesign.certificate.lagrangian import Multipliers, interval_groups
from codesign.plant import coordinate_labels
from draft_core.backend import mujoco

if TYPE_CHECKING:
    from codesign.plant import Plant
    from codesign.solve.transcribed import Transcription

Vector = NDArray[np.float64]

ACTIVE = 1e-6  # a scaled multiplier below it is the solver's rounding
_OF_PHYSICS = ("integration", "dynamics", "gap", "friction cone", "sliding", "complementarity")
_NUMERICAL = ("unit quaternion",)


@dataclass
class ActiveBound:
    """An active bound before it is put into words; rows that move together share one.

    `entries` are its places in (x, g), each with the scaled move that a physical unit makes.
    """

    name: str
    kind: str
    side: str
    unit: str
    value: float
    price: float
    knots: list[int | None]
    entries: list[tuple[int, float]]


def _side(multiplier: float) -> str:
    return "upper" if multiplier > 0 else "lower"


def design_bounds(
    ready: Transcription, at: Multipliers, box: tuple[Vector, Vector]
) -> Iterator[ActiveBound]:
    """Yield the active bounds of design variables."""
    program, space = ready.program, ready.plant.space
    for variable, i in zip(space.variables, program.layout.fields["design"].tolist(), strict=True):
        multiplier = float(at.bounds[i])
        if abs(multiplier) <= ACTIVE or box[0][i] >= box[1][i]:
            continue
        side = _side(multiplier)
        yield ActiveBound(
            variable.name,
            "design",
            side,
            variable.unit or "",
            variable.upper if side == "upper" else variable.lower,
            -multiplier / float(program.scale[i]),
            [None],
            [(i, 1.0 / float(program.scale[i]))],
        )


def limit_bounds(
    ready: Transcription, at: Multipliers, box: tuple[Vector, Vector]
) -> Iterator[ActiveBound]:
    """Yield the bounds of efforts, speeds and joint positions that are bounds on variables."""
    program, plant = ready.program, ready.plant
    model = plant.nominal
    scalar = [j for j in range(model.njnt) if _is_scalar(model, j)]
    places = {
        "u": [
            (i, f"effort of {n}", _effort_unit(plant, i)) for i, n in enumerate(_actuators(plant))
        ],
        "v": [
            (
                int(model.jnt_dofadr[j]),
                f"speed of {plant.robot.joint_names[j]}",
                _joint_unit(model, j, "/s"),
            )
            for j in scalar
        ],
        "q": [
            (
                int(model.jnt_qposadr[j]),
                f"position of {plant.robot.joint_names[j]}",
                _joint_unit(model, j),
            )
            for j in scalar
        ],
        "dt": [(None, "time step", "s")],
    }
    for field, entries in places.items():
        for element, name, unit in entries:
            index = program.layout.fields[field]
            index = index if element is None else index[:, element]
            for side, sign in (("upper", 1.0), ("lower", -1.0)):
                multipliers = np.maximum(sign * at.bounds[index], 0.0)
                active = np.flatnonzero(multipliers > ACTIVE)
                active = active[box[0][index[active]] < box[1][index[active]]]
                if not len(active):
                    continue
                scale = program.scale[index[active]]
                bound = box[1] if side == "upper" else box[0]
                first = 0 if field in ("q", "v") else 1
                yield ActiveBound(
                    name,
                    "automatic" if field == "dt" else "limit",
                    side,
                    unit,
                    float(bound[index[active[0]]] * scale[0]),
                    -sign * float(np.sum(multipliers[active] / scale)),
                    [int(k) + first for k in active],
                    list(zip(index[active].tolist(), (1.0 / scale).tolist(), strict=True)),
                )


def row_bounds(ready: Transcription, at: Multipliers) -> Iterator[ActiveBound]:
    """Yield the active rows: the task's, the automatic ones, and limits that follow the design."""
    program = ready.program
    grouped: dict[tuple[str, ...], ActiveBound] = {}
    physics = {
        rows.name
        for rows in interval_groups(program)
        if rows.name in _OF_PHYSICS or rows.name.startswith("passivity")
    }
    first_peak = len(program.rows) - len(program.peaks)
    for position, placed in enumerate(program.rows):
        rows, is_task = placed.rows, placed.start >= program.task.start
        is_task = is_task and placed.start < program.task.stop
        is_interval = placed.start < program.task.start
        if position >= first_peak or (is_interval and rows.name in physics):
            continue
        if not is_task and rows.name in _NUMERICAL:
            continue
        multipliers = at.rows[placed.start : placed.start + rows.size]
        for j in np.flatnonzero(np.abs(multipliers) > ACTIVE).tolist():
            is_equal = bool(rows.lower[j] == rows.upper[j])
            side = "equal" if is_equal else _side(float(multipliers[j]))
            label = rows.labels[j]
            kind = "constraint" if is_task else "automatic"
            key = (kind, rows.name, label, side)
            if is_equal:  # the same words at another knot are another demand
                key = (*key, str(placed.start))
            bound = rows.upper[j] if side == "upper" else rows.lower[j]
            made = grouped.setdefault(
                key,
                ActiveBound(
                    f"{rows.name} ({label})" if label else rows.name,
                    kind,
                    side,
                    _unit_of_row(ready.plant, rows.unit, label),
                    float(bound * rows.scale[j]),
                    0.0,
                    [],
                    [],
                ),
            )
            made.price -= float(multipliers[j] / rows.scale[j])
            made.knots.append(placed.knot)
            move = 1.0 / float(rows.scale[j])
            made.entries.append((program.size + placed.start + j, move))
    for bound in grouped.values():
        yield _as_limit(ready.plant, bound)


def _as_limit(plant: Plant, bound: ActiveBound) -> ActiveBound:
    """Return a margin of a limit that follows the design as the limit itself.

    The margins upper(ρ) − x ≥ 0 and x − lower(ρ) ≥ 0 count downwards from the limit: widening one
    by δ lets its margin fall to −δ.
    """
    name, _, label = bound.name.partition(" (")
    words = label.removesuffix(")").rsplit(" ", 1)
    is_limit = bound.kind == "automatic" and name in ("effort limit", "joint limit")
    if not is_limit or words[-1] == "range":  # a ball's, in squares of cosines
        return bound
    subject, side = words[0], "lower" if words[-1] in ("lower", "-") else "upper"
    unit = _unit_of_limit(plant, name, subject)
    price = bound.price if side == "lower" else -bound.price
    value = math.nan
    if name == "effort limit":
        subject = f"effort of {subject}"
    elif not subject.startswith("speed of "):
        subject = f"position of {subject}"
    return ActiveBound(subject, "limit", side, unit, value, price, bound.knots, bound.entries)


def _unit_of_limit(plant: Plant, name: str, subject: str) -> str:
    names = _actuators(plant)
    if name == "effort limit":
        return _effort_unit(plant, names.index(subject))
    if subject.startswith("speed of "):
        joint = plant.robot.actuators[names.index(subject.removeprefix("speed of "))].joint_id
        return _joint_unit(plant.nominal, joint, "/s") if joint is not None else ""
    joints = list(plant.robot.joint_names)
    return _joint_unit(plant.nominal, joints.index(subject)) if subject in joints else ""


def _unit_of_row(plant: Plant, unit: str, label: str) -> str:
    """Return the unit of one row of a group with angular and linear entries."""
    angular, _, linear = unit.partition(" or ")
    labels = coordinate_labels(plant.nominal)[1]
    if not linear or label not in labels:
        return unit
    dof = labels.index(label)
    joint = int(plant.nominal.dof_jntid[dof])
    if _is_scalar(plant.nominal, joint):
        is_linear = _joint_unit(plant.nominal, joint) == "m"
    else:
        is_linear = label.endswith((" vx", " vy", " vz"))
    return linear if is_linear else angular


def _actuators(plant: Plant) -> list[str]:
    return list(plant.robot.actuator_names)


def _effort_unit(plant: Plant, actuator: int) -> str:
    joint = plant.robot.actuators[actuator].joint_id
    is_hinge = joint is not None and _joint_unit(plant.nominal, joint) == "rad"
    return "N m" if is_hinge else "N"


def _joint_unit(model: mujoco.MjModel, joint: int, per: str = "") -> str:
    is_slide = int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
    return ("m" if is_slide else "rad") + per


def _is_scalar(model: mujoco.MjModel, joint: int) -> bool:
    kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    return int(model.jnt_type[joint]) in kinds
