"""What an answer is worth: every residual recomputed, the worst named, the energy balanced.

Nothing here uses CasADi: dynamics and energy come from MuJoCo C on the compiled design
(`codesign.physics`), everything else from evaluating the problem's own functions in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

from codesign.physics import EnergyAudit, Motion, audit_physics
from codesign.plant import Plant, coordinate_labels
from codesign.transcription import (
    INTEGRATORS,
    Rows,
    interval_rows,
)

if TYPE_CHECKING:
    from codesign.solve.transcribed import Transcription

Vector = NDArray[np.float64]

FEASIBILITY_TOLERANCE = 1e-6  # scaled: forces by the robot's weight, lengths in m, speeds in m/s
COMPLEMENTARITY_TOLERANCE = 1e-4
CONTACT_WORK_SHARE = 0.01  # of the total actuator work, in any interval
TOTAL_CONTACT_WORK_SHARE = 0.05  # of the same, in all intervals together
_HARDLY_LIFTED = 1e-5  # [m], by which contacts may lift a robot whose motors do nothing
OBJECTIVE_GAP = 1e-3  # relative, between the objective and its value with true maxima
ENERGY_NOTE_SHARE = 0.2  # of the total actuator work, made or lost by the integrator


@dataclass(frozen=True)
class Violation:
    """The worst row of one group of constraints.

    Attributes:
        constraint: name of the group.
        knot: knot it belongs to, None when it spans several.
        element: which entry.
        amount: physical amount by which it is violated.
        unit: unit of the amount.
        scaled: the amount in the solver's scaled units.
    """

    constraint: str
    knot: int | None
    element: str
    amount: float
    unit: str
    scaled: float

    def __str__(self) -> str:
        where = f" at knot {self.knot}" if self.knot is not None else ""
        which = f" ({self.element})" if self.element else ""
        return f"{self.constraint}{which}{where} is off by {self.amount:.3g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Audit:
    """The verdict on one answer.

    Attributes:
        worst: the worst row of each group, worst first as multiples of their tolerances.
        max_dynamics_residual: largest dynamics residual by MuJoCo C, scaled by weight.
        max_violation: largest scaled violation of dynamics, bounds and constraints.
        max_complementarity: largest scaled complementarity product of a contact.
        energy: energy balance of every interval; [J].
        objective: the objective with true maxima in place of epigraph variables.
        objective_gap: how far it is from the objective that the solver saw.
        allowance: contact work of an interval that is never held against it, what lifts the robot
            by a hundredth of a millimetre: of a robot that stands still, 1 % is nothing; [J].
        by_kind: the worst row of each kind (integration, dynamics, gap, …, task, automatic, peaks,
            bounds, limits), those that hold among them with amount 0.
    """

    worst: tuple[Violation, ...]
    max_dynamics_residual: float
    max_violation: float
    max_complementarity: float
    energy: EnergyAudit
    objective: float
    objective_gap: float = 0.0
    allowance: float = 0.0
    by_kind: Mapping[str, Violation] = field(default_factory=dict)

    @property
    def is_feasible(self) -> bool:
        """Whether every residual is below its tolerance."""
        return (
            self.max_violation <= FEASIBILITY_TOLERANCE
            and self.max_complementarity <= COMPLEMENTARITY_TOLERANCE
        )

    @property
    def has_true_peaks(self) -> bool:
        """Whether the epigraph variables of the objective are the maxima they stand for."""
        return self.objective_gap <= OBJECTIVE_GAP * max(1.0, abs(self.objective))

    @property
    def is_physical(self) -> bool:
        """Whether neither contacts nor the integrator supplied the energy that actuators should.

        Contacts may not do positive work beyond a share of the actuator work, in one interval or in
        all, and over no stretch of the motion may the integrator make more energy than the
        actuators did work.
        """
        energy = self.energy
        work = energy.total_actuator_work
        return (
            energy.worst_contact_work <= max(CONTACT_WORK_SHARE * work, self.allowance, 1e-9)
            and energy.positive_contact_work
            <= max(TOTAL_CONTACT_WORK_SHARE * work, 10 * self.allowance, 1e-8)
            and energy.most_made_by_integrator <= max(work, self.allowance, 1e-6)
        )


def audit(
    ready: Transcription, z: Vector, model: mujoco.MjModel, box: tuple[Vector, Vector]
) -> Audit:
    """Recompute every residual of a decision vector in physical units.

    Args:
        ready: the transcribed problem.
        z: decision vector, shape (n,).
        model: the design's compiled MJCF.
        box: physical bounds of z.
    """
    plant, terms = ready.plant, ready.terms
    layout = terms.layout
    fields = layout.split(z)
    motion = Motion(
        fields["q"], fields["v"], fields["u"], np.asarray(ready.evaluate_forces(z)), fields["dt"]
    )
    physics = audit_physics(plant, model, motion, INTEGRATORS[ready.integrator])
    seen, _, peaks = ready.evaluate_terms(z)
    exact = z.copy()
    exact[layout.fields["peaks"]] = np.asarray(peaks)
    objective, user, _ = ready.evaluate_terms(exact)
    contact, kinematic, passive = _interval_violations(ready, z)
    stated = list(_user_violations(ready, np.asarray(user)))
    bounds = list(_bound_violations(ready, z, box))
    compiled = list(_compiled_limit_violations(plant, model, motion))
    dynamics = _dynamics_violation(plant, physics.dynamics)
    found = [*kinematic, *stated, *bounds, *compiled, dynamics]
    worst = sorted([*found, *contact], key=lambda v: -v.scaled / _tolerance(v))
    return Audit(
        worst=tuple(v for v in worst if v.scaled > 0),
        max_dynamics_residual=found[-1].scaled,
        max_violation=max(v.scaled for v in found),
        max_complementarity=max((v.scaled for v in contact), default=0.0),
        energy=physics.energy,
        objective=float(objective),
        objective_gap=abs(float(objective) - float(seen)),
        allowance=_HARDLY_LIFTED * plant.weight,
        by_kind=_by_kind(
            [(v.constraint, v) for v in (dynamics, *kinematic, *contact, *passive)]
            + list(zip(_user_kinds(ready), stated, strict=True))
            + [("bounds", v) for v in bounds]
            + [("limits", v) for v in compiled]
        ),
    )


def _by_kind(found: Iterable[tuple[str, Violation]]) -> dict[str, Violation]:
    """Return the worst of each kind; one that holds has no place."""
    worst: dict[str, Violation] = {}
    for kind, violation in found:
        if kind not in worst or violation.scaled > worst[kind].scaled:
            worst[kind] = violation
    return {
        kind: v if v.scaled > 0 else replace(v, knot=None, element="", amount=0.0, scaled=0.0)
        for kind, v in worst.items()
    }


def _user_kinds(ready: Transcription) -> Iterator[str]:
    """Yield for each group of the user's rows whether it is of the task, automatic or of a peak."""
    program = ready.program
    groups = program.user_rows
    for position, placed in enumerate(groups):
        is_peak = position >= len(groups) - len(program.peaks)
        is_task = placed.start < program.task.stop
        yield "peaks" if is_peak else "task" if is_task else "automatic"


def _tolerance(violation: Violation) -> float:
    is_contact = violation.constraint == "complementarity"
    return COMPLEMENTARITY_TOLERANCE if is_contact else FEASIBILITY_TOLERANCE


def _dynamics_violation(plant: Plant, residual: Vector) -> Violation:
    residual = np.where(np.isfinite(residual), residual, np.inf)
    interval, dof = np.unravel_index(int(np.argmax(residual)), residual.shape)
    amount = float(residual[interval, dof])
    label = coordinate_labels(plant.nominal)[1][dof]
    knot = int(interval) + 1
    return Violation("dynamics", knot, label, amount, "N or N m", amount / plant.weight)


def _interval_violations(
    ready: Transcription, z: Vector
) -> tuple[list[Violation], list[Violation], list[Violation]]:
    """Return the worst complementarity, of each other group of an interval's rows, and passivity.

    Dynamics are MuJoCo's to judge, and passivity the energy audit's.
    """
    plant, layout = ready.plant, ready.terms.layout
    values = np.asarray(ready.evaluate_intervals(z[layout.interval_index]))
    contact: list[Violation] = []
    other: list[Violation] = []
    passive: list[Violation] = []
    start = 0
    for rows in interval_rows(plant, ready.integrator):
        block = values[:, start : start + rows.size] / rows.scale
        start += rows.size
        worst = _worst_of(rows, block, knots=range(1, layout.knots))
        if rows.name == "complementarity":
            contact.append(worst)
        elif rows.name.startswith("passivity"):
            passive.append(worst)
        elif rows.name != "dynamics":
            other.append(worst)
    return contact, other, passive


def _user_violations(ready: Transcription, values: Vector) -> Iterator[Violation]:
    start = 0
    for placed in ready.program.user_rows:
        rows = placed.rows
        block = values[None, start : start + rows.size] / rows.scale
        worst = _worst_of(rows, block, knots=[placed.knot])
        if worst.knot is None and worst.element in rows.labels:
            row = placed.start + rows.labels.index(worst.element)
            worst = replace(worst, knot=ready.program.knot_of_row(row))
        start += rows.size
        yield worst


def _worst_of(rows: Rows, values: Vector, knots: Sequence[int | None]) -> Violation:
    if not values.size:
        return Violation(rows.name, None, "", 0.0, rows.unit, 0.0)
    excess = np.maximum(np.maximum(rows.lower - values, values - rows.upper), 0.0)
    excess = np.where(np.isfinite(values), excess, np.inf)
    i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
    scaled = float(excess[i, j])
    return Violation(
        rows.name, knots[int(i)], rows.labels[j], scaled * float(rows.scale[j]), rows.unit, scaled
    )


def _bound_violations(
    ready: Transcription, z: Vector, box: tuple[Vector, Vector]
) -> Iterator[Violation]:
    layout, scale = ready.terms.layout, ready.program.scale
    excess = np.maximum(np.maximum(box[0] - z, z - box[1]), 0.0) / scale
    excess = np.where(np.isfinite(z), excess, np.inf)
    i = int(np.argmax(excess))
    field, knot, element = layout.describe(i)
    name = element_name(ready, field, element)
    amount = float(excess[i] * scale[i])
    unit = _FIELD_UNITS.get(field, "")
    if field == "design":
        unit = ready.plant.space.variables[element[0]].unit or ""
    yield Violation(f"bound of {field}", knot, name, amount, unit, float(excess[i]))


_FIELD_UNITS = {
    "q": "m or rad",
    "v": "m/s or rad/s",
    "u": "N m or N",
    "normal": "N",
    "tangent": "N",
    "slide": "m/s",
    "dt": "s",
}


def _compiled_limit_violations(
    plant: Plant, model: mujoco.MjModel, motion: Motion
) -> Iterator[Violation]:
    """Efforts and joint positions against the limits in the design's compiled MJCF."""
    low, high = model.actuator_ctrlrange.T
    limited = np.array(model.actuator_ctrllimited, dtype=bool)
    over = np.where(limited, np.maximum(low - motion.u, motion.u - high), 0.0)
    yield _worst_place(
        "effort limit", over, plant.robot.actuator_names, plant.weight, "N m or N", 1
    )
    scalar = [j for j in range(model.njnt) if model.jnt_limited[j] and _is_scalar(model, j)]
    q = motion.q[:, model.jnt_qposadr[scalar]]
    low, high = model.jnt_range[scalar].T
    names = [plant.robot.joint_names[j] for j in scalar]
    yield _worst_place("joint range", np.maximum(low - q, q - high), names, 1.0, "rad or m", 0)


def _is_scalar(model: mujoco.MjModel, joint: int) -> bool:
    kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    return int(model.jnt_type[joint]) in kinds


def _worst_place(
    name: str, excess: Vector, labels: Sequence[str], scale: float, unit: str, first: int
) -> Violation:
    """Return the worst entry of an array over (knot, element), or none of zero."""
    if not excess.size:
        return Violation(name, None, "", 0.0, unit, 0.0)
    excess = np.where(np.isfinite(excess), np.maximum(excess, 0.0), np.inf)
    k, i = np.unravel_index(int(np.argmax(excess)), excess.shape)
    amount = float(excess[k, i])
    return Violation(name, int(k) + first, labels[int(i)], amount, unit, amount / scale)


def element_name(ready: Transcription, field: str, element: tuple[int, ...]) -> str:
    """Return the name of one element of a field of z: a joint's, an actuator's, a contact's."""
    plant = ready.plant
    q_labels, v_labels = coordinate_labels(plant.nominal)
    names: dict[str, Sequence[str]] = {
        "q": q_labels,
        "v": v_labels,
        "u": plant.robot.actuator_names,
        "normal": plant.robot.contact_names,
        "tangent": plant.robot.contact_names,
        "slide": plant.robot.contact_names,
        "design": plant.space.names,
    }
    return names[field][element[0]] if field in names and element else ""
