"""The user's objective and constraints as one function of the decision vector.

Peaks (maxima) become epigraph variables: each ξ replaces its maximum and every entry w adds a row
ξ − w ≥ 0.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from codesign.constraints import Constraint, at_least, at_most, between, equal, flatten
from codesign.errors import ProblemError
from codesign.plant import Plant, coordinate_labels
from codesign.trajectory import Peak, PeakCollector, Trajectory
from codesign.transcription.interval import INTEGRATORS
from codesign.transcription.layout import Layout
from codesign.transcription.limits import (
    limits,
    moving_limits,
    state_margin_labels,
    state_margins,
)
from codesign.transcription.rows import Rows
from draft_core.backend import jax, jnp, mujoco

if TYPE_CHECKING:
    from codesign.problem import Problem


@dataclass(frozen=True)
class UserTerms:
    """The user's side of the nonlinear program.

    Attributes:
        layout: layout with room for the epigraph variables.
        rows: rows of all constraints: the user's own, those every problem has, those of the peaks.
        task_rows: how many rows are the user's own.
        peaks: (name, unit) of each epigraph variable.
        evaluate: physical z → (objective, all rows in one flat array, the largest entry behind each
            ξ in an array of shape (n_peaks,)).
    """

    layout: Layout
    rows: tuple[Rows, ...]
    task_rows: int
    peaks: tuple[tuple[str, str], ...]
    evaluate: Callable[[jax.Array], tuple[jax.Array, jax.Array, jax.Array]]


@dataclass(frozen=True)
class _Evaluated:
    objective: jax.Array
    task: list[Constraint]
    automatic: list[Constraint]
    peaks: list[Peak]


def user_terms(problem: Problem, plant: Plant, layout: Layout) -> UserTerms:
    """Return the terms of a problem; `layout` is extended by one variable per peak.

    Raises:
        ProblemError: a name that does not exist, an objective that is not a scalar, or a
            constraint that cannot be read.
    """
    described: list[_Evaluated] = []

    def describe(z: jax.Array) -> jax.Array:
        described.append(_evaluate(problem, plant, layout, z, PeakCollector()))
        return described[-1].objective

    jax.eval_shape(describe, jax.ShapeDtypeStruct((layout.size,), jnp.float64))
    terms = described[0]
    full = replace(layout, n_peaks=len(terms.peaks))

    sizes = [c.value.size for c in (*terms.task, *terms.automatic)]

    def evaluate(z: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        xi = z[full.fields["peaks"]]
        result = _evaluate(problem, plant, full, z, PeakCollector(variables=xi))
        values = [c.value for c in (*result.task, *result.automatic)]
        if [v.size for v in values] != sizes or len(result.peaks) != len(terms.peaks):
            raise ProblemError(
                f"{type(problem).__name__} states other terms each time it is asked; "
                "objective() and constraints() must not depend on anything that changes"
            )
        values += [xi[i] - peak.values for i, peak in enumerate(result.peaks)]
        maxima = [jnp.max(peak.values) for peak in result.peaks]
        return result.objective, jnp.concatenate(values), jnp.array(maxima, dtype=jnp.float64)

    return UserTerms(
        layout=full,
        rows=(
            *(_rows(c) for c in (*terms.task, *terms.automatic)),
            *(_peak_rows(p) for p in terms.peaks),
        ),
        task_rows=sum(len(c.labels) for c in terms.task),
        peaks=tuple((p.name, p.unit) for p in terms.peaks),
        evaluate=evaluate,
    )


def _evaluate(
    problem: Problem, plant: Plant, layout: Layout, z: jax.Array, collector: PeakCollector
) -> _Evaluated:
    name = type(problem).__name__
    trajectory = Trajectory.of(plant, layout.split(z), collector)
    try:
        objective = _scalar(f"{name}.objective", problem.objective(trajectory))
        task = list(flatten(problem.constraints(trajectory)))
    except jax.errors.JAXTypeError as error:
        raise ProblemError(
            f"{name} needs the value of a quantity that is not known yet, in a Python if, float() "
            f"or numpy call{_place_in(error, problem)}: use jnp.where and jax.numpy instead"
        ) from error
    for constraint in task:
        if constraint.knot is not None and not -layout.knots <= constraint.knot < layout.knots:
            raise ProblemError(
                f"constraint '{constraint.name}': knot {constraint.knot} does not exist: there are "
                f"{layout.knots} knots"
            )
    return _Evaluated(objective, task, automatic_constraints(problem, trajectory), collector.peaks)


def _scalar(what: str, value: Any) -> jax.Array:
    try:
        number = jnp.asarray(value, dtype=jnp.float64)
    except (TypeError, ValueError) as error:
        raise ProblemError(
            f"{what} returned {value!r}; it must return one number, a function of the trajectory"
        ) from error
    if number.size != 1:
        raise ProblemError(
            f"{what} returned an array of shape {number.shape}; "
            "it must be one number (sum it, or use traj.peak)"
        )
    return number.reshape(())


def _place_in(error: BaseException, problem: Problem) -> str:
    """Return ' (file:line)' of the user's own line that an error came through."""
    file = inspect.getsourcefile(type(problem))
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return f" (line {lines[-1]} of {Path(file).name})" if file and lines else ""


def automatic_constraints(problem: Problem, traj: Trajectory) -> list[Constraint]:
    """Return what every problem has: a duration, unit quaternions and feet above ground at knot 0.

    Later knots need neither of the last two: steps keep a quaternion's norm, and intervals watch
    gaps.
    """
    first = traj.knot(0)
    found = [at_most(jnp.sum(traj.dt), problem.duration, name="duration", unit="s")]
    model = traj.plant.nominal
    for joint, kind in enumerate(model.jnt_type):
        start = int(model.jnt_qposadr[joint])
        if int(kind) == int(mujoco.mjtJoint.mjJNT_FREE):
            start += 3
        elif int(kind) != int(mujoco.mjtJoint.mjJNT_BALL):
            continue
        norm = jnp.sum(first.q[start : start + 4] ** 2)
        label = (model.joint(joint).name,)
        found.append(equal(norm, 1.0, name="unit quaternion", labels=label, knot=0))
    if traj.plant.robot.contacts:
        names = traj.plant.robot.contact_names
        found.append(at_least(first.gap(), 0.0, name="gap", unit="m", labels=names, knot=0))
    moving = moving_limits(traj.plant)
    if moving.speed or moving.range:
        labels = state_margin_labels(traj.plant, moving)
        margins = state_margins(
            traj.plant, moving, first.q, first.v, limits(traj.plant, dict(traj.design))
        )
        found.append(at_least(margins, 0.0, name="joint limit", labels=labels, knot=0))
    if problem.step_turn is not None:
        found += _bounded_turns(problem, traj)
    return found


def _bounded_turns(problem: Problem, traj: Trajectory) -> Iterator[Constraint]:
    """Yield that no hinge, and no axis of a free or ball joint, turns too far in one step."""
    most, model = problem.step_turn, traj.plant.nominal
    assert most is not None
    theta = INTEGRATORS[problem.integrator]
    labels = coordinate_labels(model)[1]
    free, slide = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_SLIDE)
    hinge = int(mujoco.mjtJoint.mjJNT_HINGE)
    turns: list[tuple[str, Callable[[int], Any]]] = []
    for joint, kind in enumerate(int(k) for k in model.jnt_type):
        place, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        if kind == hinge:
            turns.append((labels[dof], lambda k, i=place: traj.q[k + 1, i] - traj.q[k, i]))
        elif kind != slide:
            first = dof + (3 if kind == free else 0)
            turns += [
                (
                    labels[i],
                    lambda k, i=i: (
                        traj.dt[k] * ((1 - theta) * traj.v[k, i] + theta * traj.v[k + 1, i])
                    ),
                )
                for i in range(first, first + 3)
            ]
    for k in range(traj.knots - 1):
        yield between(
            jnp.stack([turn(k) for _, turn in turns]),
            -most,
            most,
            name="turn in one step",
            unit="rad",
            labels=[label for label, _ in turns],
            knot=k + 1,
        )


def _rows(constraint: Constraint) -> Rows:
    ones = np.ones(len(constraint.labels))
    return Rows(
        constraint.name,
        constraint.unit,
        constraint.labels,
        constraint.lower,
        constraint.upper,
        ones,
        knot=constraint.knot,
    )


def _peak_rows(peak: Peak) -> Rows:
    m = int(np.prod(peak.values.shape))
    labels = peak.labels if len(peak.labels) == m else tuple(str(i) for i in range(m))
    return Rows(peak.name, peak.unit, labels, np.zeros(m), np.full(m, np.inf), np.ones(m))
