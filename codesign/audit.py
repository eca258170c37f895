"""What an answer is worth: every residual recomputed, the worst named, the energy balanced.

Nothing here uses CasADi: dynamics and energy come from MuJoCo C on the compiled design
(`codesign.physics`), everything else from evaluating the problem's own functions in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from codesign.physics import EnergyAudit, Motion, audit_physics
from codesign.plant import Plant, coordinate_labels
from codesign.tracing import evaluate
from codesign.transcription import (
    INTEGRATORS,
    Layout,
    Rows,
    UserTerms,
    interval_function,
    interval_rows,
)

if TYPE_CHECKING:
    from codesign.solve.driver import Transcription

Vector = NDArray[np.float64]

FEASIBILITY_TOLERANCE = 1e-6  # scaled: forces by the robot's weight, lengths in m, speeds in m/s
COMPLEMENTARITY_TOLERANCE = 1e-4
CONTACT_WORK_SHARE = 0.01  # of the total actuator work, in any interval
_ROUNDING = 1.01  # what a converged solver may exceed its relaxation by


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
        worst: the worst row of each group, worst first.
        max_dynamics_residual: largest dynamics residual by MuJoCo C, scaled by weight.
        max_violation: largest scaled violation of dynamics, bounds and constraints.
        max_complementarity: largest scaled complementarity product of a contact.
        energy: energy balance of every interval; [J].
        objective: the objective with true maxima in place of epigraph variables.
    """

    worst: tuple[Violation, ...]
    max_dynamics_residual: float
    max_violation: float
    max_complementarity: float
    energy: EnergyAudit
    objective: float

    @property
    def is_feasible(self) -> bool:
        """Whether every residual is below its tolerance."""
        return (
            self.max_violation <= FEASIBILITY_TOLERANCE * _ROUNDING
            and self.max_complementarity <= COMPLEMENTARITY_TOLERANCE * _ROUNDING
        )

    @property
    def is_physical(self) -> bool:
        """Whether no interval's contacts did positive work beyond the allowed share."""
        allowed = CONTACT_WORK_SHARE * self.energy.total_actuator_work
        return self.energy.worst_contact_work <= max(allowed, 1e-9)


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
        fields["q"], fields["v"], fields["u"], world_forces(plant, layout, z), fields["dt"]
    )
    physics = audit_physics(plant, model, motion, INTEGRATORS[ready.integrator])
    objective, user, peaks = evaluate(terms.evaluate, z)
    found = [
        *_interval_violations(ready, z),
        *_user_violations(terms, np.asarray(user)),
        *_bound_violations(ready, z, box),
    ]
    dynamics = _dynamics_violation(plant, physics.dynamics)
    products = [v for v in found if v.constraint == "complementarity"]
    found = [v for v in found if v.constraint not in ("complementarity", "dynamics", "passivity")]
    worst = sorted([*found, *products, dynamics], key=lambda v: -v.scaled)
    return Audit(
        worst=tuple(v for v in worst if v.scaled > 0),
        max_dynamics_residual=dynamics.scaled,
        max_violation=max([v.scaled for v in found] + [dynamics.scaled]),
        max_complementarity=max([v.scaled for v in products], default=0.0),
        energy=physics.energy,
        objective=_true_objective(terms, z, float(objective), np.asarray(peaks)),
    )


def _true_objective(terms: UserTerms, z: Vector, objective: float, peaks: Vector) -> float:
    """Return the objective with epigraph variables replaced by the maxima they stand for."""
    if not len(peaks):
        return objective
    exact = z.copy()
    exact[terms.layout.fields["peaks"]] = peaks
    return float(np.asarray(evaluate(terms.evaluate, exact)[0]))


def world_forces(plant: Plant, layout: Layout, z: Vector) -> Vector:
    """Return contact forces on the robot in the world frame, shape (N, nc, 3); [N]."""
    from codesign.trajectory import PeakCollector, Trajectory

    if not layout.nc:
        return np.zeros((layout.intervals, 0, 3))

    def forces(x: Any) -> Any:
        return Trajectory.of(plant, layout.split(x), PeakCollector()).contact_force

    return np.asarray(evaluate(forces, z))


def _dynamics_violation(plant: Plant, residual: Vector) -> Violation:
    interval, dof = np.unravel_index(int(np.argmax(residual)), residual.shape)
    amount = float(residual[interval, dof])
    label = coordinate_labels(plant.nominal)[1][dof]
    knot = int(interval) + 1
    return Violation("dynamics", knot, label, amount, "N or N m", amount / plant.weight)


def _interval_violations(ready: Transcription, z: Vector) -> Iterator[Violation]:
    from draft_core.backend import jax, jnp

    plant, layout = ready.plant, ready.terms.layout
    residuals = interval_function(plant, ready.integrator)
    widths = [layout.nq, layout.nv, layout.nq, layout.nv, layout.nu]
    widths += [layout.nc, 4 * layout.nc, layout.nc, 1]
    edges = np.cumsum(widths)

    def one(local: Any) -> Any:
        parts = jnp.split(local, edges)
        return residuals(*parts[:8], parts[8][0], parts[9])

    values = np.asarray(evaluate(jax.vmap(one), z[layout.interval_index]))
    start = 0
    for rows in interval_rows(plant):
        block = values[:, start : start + rows.size] / rows.scale
        start += rows.size
        yield _worst_of(rows, block, knots=range(1, layout.knots))


def _user_violations(terms: UserTerms, values: Vector) -> Iterator[Violation]:
    start = 0
    for rows in terms.rows:
        block = values[None, start : start + rows.size] / rows.scale
        start += rows.size
        knot = rows.knot
        if knot is not None and knot < 0:
            knot += terms.layout.knots
        yield _worst_of(rows, block, knots=[knot])


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
    yield Violation(
        f"bound of {field}",
        knot,
        _element_name(ready, field, element),
        float(excess[i] * scale[i]),
        "",
        float(excess[i]),
    )


def _element_name(ready: Transcription, field: str, element: tuple[int, ...]) -> str:
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
