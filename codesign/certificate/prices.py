"""What holds a design back: every active bound with what moving it is worth.

At a minimiser whose multipliers are λ, a scaled bound that moves by δ changes the objective by

    df = −λ δ,   in physical units  df/dbound = −λ / s

with s the physical amount of one scaled unit (the envelope theorem; Fiacco 1983, ch. 3). That holds
as long as the same bounds stay active. Rows that say one thing at many knots (a motor's limit, an
inequality stated at each) move together: their prices add up. Where other active bounds leave a
bound no room to move, its multiplier is one of many and no price: an equation that others imply, or
one whose least move changes what is active. With A the gradients of all active rows and bounds, and
d the move asked for, that is where A p = d has no solution; as δ → 0,

    dᵀ δ (A Aᵀ + δ I)⁻¹ d / dᵀ d → share of d in the left null space of A, 0 where d can be.

References:
    Fiacco (1983), Introduction to Sensitivity and Stability Analysis in Nonlinear Programming.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from codesign.certificate.lagrangian import Multipliers, interval_groups
from codesign.plant import coordinate_labels
from draft_core.backend import mujoco

if TYPE_CHECKING:
    from codesign.plant import Plant
    from codesign.solve.driver import Transcription

Vector = NDArray[np.float64]

ACTIVE = 1e-6  # a scaled multiplier below it is the solver's rounding
WORTH_TELLING = 1e-5  # of the objective: a step that is worth less is not listed
_DEPENDENT = 1e-2  # share of a move in the null space from which on it has no price
_DAMPING = 1e-10
_OF_PHYSICS = ("integration", "dynamics", "gap", "friction cone", "sliding", "complementarity")
_NUMERICAL = ("unit quaternion",)

#: unit → (step in SI units, how a person says it)
_STEPS = {
    "m": (1e-3, "one millimetre"),
    "kg": (1e-3, "one gram"),
    "s": (1e-2, "a hundredth of a second"),
    "rad": (math.pi / 180, "one degree"),
    "deg": (1.0, "one degree"),
    "m/s": (1e-2, "one centimetre per second"),
}


@dataclass(frozen=True)
class Price:
    """What moving one bound is worth.

    Attributes:
        name: design variable, constraint or limit, with its element.
        kind: 'design', 'constraint' (the task's), 'automatic' (every problem's) or 'limit' (of
            motors and joints).
        side: 'lower', 'upper' or 'equal'.
        knot: the only knot it is active at, None for several or none.
        value: where the bound is, in the unit of the constraint.
        price: change of the objective by moving the bound up, per unit of it.
        unit: unit of the price.
        step: a change of the bound that a person would make, in its unit, towards a better
            objective.
        worth: change of the objective by that step, to first order; never positive.
        sentence: the same in words.
    """

    name: str
    kind: str
    side: str
    knot: int | None
    value: float
    price: float
    unit: str
    step: float
    worth: float
    sentence: str


@dataclass(frozen=True)
class PriceList:
    """Prices, and what is not among them.

    Attributes:
        prices: worth most first.
        below: how many active bounds are worth too little to list.
        tied: names of active bounds that other active ones leave no room to move.
    """

    prices: tuple[Price, ...]
    below: int
    tied: tuple[str, ...]


@dataclass
class _Bound:
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


def prices_of(ready: Transcription, at: Multipliers, box: tuple[Vector, Vector]) -> PriceList:
    """Return the price of every active bound.

    Args:
        ready: the transcribed problem.
        at: where the solve converged.
        box: bounds of x.
    """
    program = ready.program
    f, gradient = (
        np.array(part).ravel() for part in program.derivatives["grad_f"](at.x, [at.relaxation, 1.0])
    )
    objective_unit = unit_of_objective(ready, gradient)
    found = [
        *_design_bounds(ready, at, box),
        *_limit_bounds(ready, at, box),
        *_row_bounds(ready, at),
    ]
    tied = _tied(ready, at, box, [bound.entries for bound in found])
    alone = [bound for bound, is_tied in zip(found, tied, strict=True) if not is_tied]
    told = [_in_words(bound, objective_unit) for bound in alone]
    least = WORTH_TELLING * max(abs(float(f[0])), 1e-12)
    listed = sorted((p for p in told if -p.worth > least), key=lambda p: p.worth)
    names = [_named(bound) for bound, is_tied in zip(found, tied, strict=True) if is_tied]
    return PriceList(tuple(listed), len(told) - len(listed), tuple(names))


def unit_of_objective(ready: Transcription, gradient: Vector) -> str:
    """Return the unit of the objective where it is a single peak or the duration, else nothing.

    Args:
        ready: the transcribed problem.
        gradient: of the objective in scaled variables, shape (n,).
    """
    program = ready.program
    physical = gradient / program.scale
    touched = np.flatnonzero(physical)
    fields = program.layout.fields
    peaks = fields["peaks"]
    if len(touched) == 1 and touched[0] in peaks and physical[touched[0]] == 1.0:
        return program.peaks[int(np.flatnonzero(peaks == touched[0])[0])][1]
    is_time = np.array_equal(touched, np.sort(fields["dt"])) and np.all(physical[touched] == 1.0)
    return "s" if is_time else ""


def _side(multiplier: float) -> str:
    return "upper" if multiplier > 0 else "lower"


def _design_bounds(
    ready: Transcription, at: Multipliers, box: tuple[Vector, Vector]
) -> Iterator[_Bound]:
    program, space = ready.program, ready.plant.space
    for variable, i in zip(space.variables, program.layout.fields["design"].tolist(), strict=True):
        multiplier = float(at.bounds[i])
        if abs(multiplier) <= ACTIVE or box[0][i] >= box[1][i]:
            continue
        side = _side(multiplier)
        yield _Bound(
            variable.name,
            "design",
            side,
            variable.unit or "",
            variable.upper if side == "upper" else variable.lower,
            -multiplier / float(program.scale[i]),
            [None],
            [(i, 1.0 / float(program.scale[i]))],
        )


def _limit_bounds(
    ready: Transcription, at: Multipliers, box: tuple[Vector, Vector]
) -> Iterator[_Bound]:
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
                yield _Bound(
                    name,
                    "limit",
                    side,
                    unit,
                    float(bound[index[active[0]]] * scale[0]),
                    -sign * float(np.sum(multipliers[active] / scale)),
                    [int(k) + first for k in active],
                    list(zip(index[active].tolist(), (1.0 / scale).tolist(), strict=True)),
                )


def _row_bounds(ready: Transcription, at: Multipliers) -> Iterator[_Bound]:
    """Yield the active rows: the task's, the automatic ones, and limits that follow the design."""
    program = ready.program
    grouped: dict[tuple[str, ...], _Bound] = {}
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
                _Bound(
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


def _as_limit(plant: Plant, bound: _Bound) -> _Bound:
    """Return a margin of a limit that follows the design as the limit itself.

    The margins upper(ρ) − x ≥ 0 and x − lower(ρ) ≥ 0 count downwards from the limit: widening one
    by δ lets its margin fall to −δ.
    """
    name, _, label = bound.name.partition(" (")
    if bound.kind != "automatic" or name not in ("effort limit", "joint limit"):
        return bound
    words = label.removesuffix(")").rsplit(" ", 1)
    subject, side = words[0], "lower" if words[-1] in ("lower", "-") else "upper"
    unit = _unit_of_limit(plant, name, subject)
    price = bound.price if side == "lower" else -bound.price
    value = math.nan
    subject = f"effort of {subject}" if name == "effort limit" else subject
    return _Bound(subject, "limit", side, unit, value, price, bound.knots, bound.entries)


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


def _tied(
    ready: Transcription,
    at: Multipliers,
    box: tuple[Vector, Vector],
    moves: Sequence[Sequence[tuple[int, float]]],
) -> list[bool]:
    """Return which moves the other active bounds leave no room for.

    Args:
        ready: the transcribed problem.
        at: where the solve converged.
        box: bounds of x.
        moves: entries of (x, g) that move, each with how far.
    """
    if not moves:
        return []
    program, n = ready.program, len(at.x)
    jacobian = program.derivatives["jac_g"](at.x, [at.relaxation, 1.0])[1]
    rows, columns = jacobian.sparsity().get_triplet()
    values = np.array(jacobian.nonzeros())
    gradients = sparse.csr_matrix((values, (rows, columns)), shape=(len(at.rows), n))
    lower, upper = np.append(box[0], program.lower), np.append(box[1], program.upper)
    is_active = (np.abs(np.append(at.bounds, at.rows)) > ACTIVE) | (lower >= upper)
    active = np.flatnonzero(is_active)
    gradients = sparse.vstack([sparse.identity(n, format="csr"), gradients], format="csr")
    a = sparse.csr_matrix(gradients)[active]
    m = len(active)
    system = sparse.bmat(
        [[sparse.identity(n), a.T], [a, -_DAMPING * sparse.identity(m)]], format="csc"
    )
    position = np.full(len(is_active), -1)
    position[active] = np.arange(m)
    d = np.zeros((m, len(moves)))
    for k, move in enumerate(moves):
        for entry, amount in move:
            d[position[entry], k] += amount
    answer = splu(system).solve(np.vstack([np.zeros((n, len(moves))), -_DAMPING * d]))[n:]
    share = np.sum(d * answer, axis=0) / np.sum(d * d, axis=0)
    return (np.abs(share) > _DEPENDENT).tolist()


def _named(bound: _Bound) -> str:
    return f"`{bound.name}`{_where(bound)}"


def _where(bound: _Bound) -> str:
    knots = [k for k in bound.knots if k is not None]
    if len(knots) == 1:
        return f" at knot {knots[0]}"
    return f" at {len(knots)} knots" if knots else ""


def _in_words(bound: _Bound, objective_unit: str) -> Price:
    step, amount = _STEPS.get(bound.unit, (0.1, f"0.1 {bound.unit}".strip()))
    direction = -1.0 if bound.price > 0 else 1.0
    worth = -abs(bound.price) * step
    more = "less" if direction < 0 else "more"
    what = _named(bound)
    if bound.side != "equal":
        what = f"{_named(_Bound(**{**vars(bound), 'knots': []}))} {bound.side} bound{_where(bound)}"
    knots = [k for k in bound.knots if k is not None]
    number = f"{worth:.3g}".replace("-", "−")
    return Price(
        name=bound.name,
        kind=bound.kind,
        side=bound.side,
        knot=knots[0] if len(knots) == 1 else None,
        value=bound.value,
        price=bound.price,
        unit=_ratio(objective_unit, bound.unit),
        step=direction * step,
        worth=worth,
        sentence=f"{amount} {more} {what} is worth {number} {objective_unit}".rstrip(),
    )


def _ratio(numerator: str, denominator: str) -> str:
    if not denominator:
        return numerator
    below = f"({denominator})" if any(c in denominator for c in " /·") else denominator
    return f"{numerator or '1'}/{below}"
