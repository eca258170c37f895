"""What is said of an answer: whether it is one, why not, and what its designer should know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from codesign.audit import (
    CONTACT_WORK_SHARE,
    ENERGY_NOTE_SHARE,
    TOTAL_CONTACT_WORK_SHARE,
    Audit,
)
from codesign.between_knots import WORTH_TELLING, Passage
from codesign.solve.checks import dry_friction_joints
from codesign.solve.homotopy import Path
from codesign.solve.ipopt import Vector
from codesign.solve.starts import unlimited_hinges
from codesign.solve.status import (
    IMPOSSIBLE,
    NO_FREEDOM,
    NO_MINIMUM,
    STOPPED,
    SolveStatus,
    meaning_of,
)

if TYPE_CHECKING:
    import mujoco

    from codesign.solve.transcribed import Transcription

_TOLD_APART = 1e-6  # the solver's tolerance: a smaller objective may be no minimum
_UNMET_SHARE = 0.01  # of the largest violation, below which one is not worth naming

_SLACK_PEAK = (
    "the objective is not pushing its peaks down: the variable that stands for a maximum ended "
    "away from it; let the objective grow with every traj.peak(), or use jnp.max in its place"
)


def judge(path: Path, verdict: Audit) -> tuple[SolveStatus, str]:
    """Return the status of an answer and what to tell the designer.

    The audit decides: a solver that reports success with a residual above tolerance, or with
    contacts that did positive work, is not believed.
    """
    last = path.last
    meaning = meaning_of(last.result.return_status)
    if path.stopped is not None:
        meaning = STOPPED[path.stopped]
    elif path.is_impossible:
        meaning = IMPOSSIBLE
    elif path.is_feasible and meaning.status is not SolveStatus.SOLVED:
        lacks_freedom = last.result.return_status == "Not_Enough_Degrees_Of_Freedom"
        meaning = NO_FREEDOM if lacks_freedom else NO_MINIMUM
    finished = last.phase == "objective" and meaning.status is SolveStatus.SOLVED
    worst = str(verdict.worst[0]) if verdict.worst else "no constraint is violated"
    if path.is_impossible:
        worst = _unmet(verdict) or worst
    if finished and verdict.is_feasible:
        if not verdict.has_true_peaks:
            return SolveStatus.NOT_CONVERGED, _SLACK_PEAK
        if not verdict.is_physical:
            return SolveStatus.NOT_PHYSICAL, _why_not_physical(verdict)
        return SolveStatus.SOLVED, "every residual is below its tolerance"
    status = SolveStatus.NOT_CONVERGED if finished else meaning.status
    advice = f"; {meaning.advice}" if meaning.advice else ""
    return status, f"{meaning.words}: {worst}{advice}"


def filtered(
    ready: Transcription, message: str, design: Mapping[str, float]
) -> tuple[SolveStatus, str]:
    """Return status and message of a converged solve after the filter has seen its design."""
    from codesign.constraints import FEASIBLE

    report = ready.plant.robot.check(design)
    if report.is_feasible:
        return SolveStatus.SOLVED, message
    stated = any(rows.name == FEASIBLE for rows in ready.terms.rows)
    advice = "" if stated else " Add 'yield feasible(traj)' to the constraints"
    return SolveStatus.REFUSED, (
        "the motion is found, but the feasibility filter refuses its design: "
        f"{report.refusal()}{advice}"
    )


def _unmet(verdict: Audit) -> str:
    """Return the parts of the task that cannot be met together, at most three, the worst first.

    Which of them gives way is the search's choice: all are named.
    """
    stated = [v for v in verdict.worst if v.constraint not in verdict.by_kind]
    large = [v for v in stated if v.scaled > _UNMET_SHARE * stated[0].scaled]
    return ", ".join(str(violation) for violation in large[:3])


def _why_not_physical(verdict: Audit) -> str:
    """Return where energy came from that no actuator supplied, and what to do."""
    energy = verdict.energy
    if energy.worst_contact_work > CONTACT_WORK_SHARE * energy.total_actuator_work:
        knot = int(np.argmax(energy.contact_work)) + 1
        return (
            f"contacts did {energy.worst_contact_work:.3g} J of positive work in the interval "
            f"before knot {knot}, more than {100 * CONTACT_WORK_SHARE:g} % of the actuator work; "
            "use more knots or a smaller step_range"
        )
    work = energy.total_actuator_work
    if energy.most_made_by_integrator <= work:
        return (
            f"contacts did {energy.positive_contact_work:.3g} J of positive work in all, more than "
            f"{100 * TOTAL_CONTACT_WORK_SHARE:g} % of the actuator work; use more knots or a "
            "smaller step_range"
        )
    return (
        f"the integrator made {energy.most_made_by_integrator:.3g} J, more than the actuators' "
        f"{work:.3g} J: the time steps are too long for this motion; use more knots, or bound "
        "turns with step_turn"
    )


def held_hinges(ready: Transcription, q: Vector, low: Vector, high: Vector) -> list[str]:
    """Return the hinges without a range that ended at the box that keeps them near the start."""
    plant = ready.plant
    held = []
    for joint in unlimited_hinges(plant):
        i = int(plant.nominal.jnt_qposadr[joint])
        if (q[:, i] < low[:, i] + 1e-3).any() or (q[:, i] > high[:, i] - 1e-3).any():
            held.append(plant.robot.joint_names[joint])
    return held


def _outside_torque_speed_line(
    ready: Transcription, u: Vector, v: Vector, design: Mapping[str, float]
) -> list[str]:
    """Return which motors of a class leave the line from stall torque to no-load speed."""
    from codesign.plant import drives

    worst: dict[str, float] = {}
    env = ready.plant.robot.tree.resolve(design)
    for drive in drives(ready.plant):
        torque = np.abs(u[:, drive.actuator]) / env[f"{drive.key}.peak_torque"]
        speed = np.abs(v[1:, drive.dof]) / env[f"{drive.key}.no_load_speed"]
        worst[drive.joint] = float((torque + speed).max())
    beyond = [f"{joint} ({share:.2f})" for joint, share in worst.items() if share > 1 + 1e-4]
    if not beyond:
        return []
    return [
        "motors leave their torque-speed line, |torque| / peak + |speed| / no-load speed <= 1: "
        f"{', '.join(beyond)}; 'yield within_torque_speed_line(traj)' keeps them on it"
    ]


def notes_on(
    ready: Transcription,
    model: mujoco.MjModel,
    verdict: Audit,
    held: Sequence[str],
    motion: tuple[Vector, Vector, Mapping[str, float]],
    passage: Passage | None,
) -> tuple[str, ...]:
    """Return what a designer should know beside the verdict."""
    notes = [
        f"nothing depends on design variable '{name}': it keeps its initial value"
        for name in ready.idle_design
    ]
    dry = dry_friction_joints(ready.plant, model)
    if dry:
        notes.append(f"dry friction (frictionloss) is left out of the dynamics: {', '.join(dry)}")
    for name in held:
        notes.append(
            f"hinge '{name}' was held within a turn of the start's poses, because it states no "
            "range; give it one, or keyframes that turn further"
        )
    notes += _outside_torque_speed_line(ready, *motion)
    if passage is not None and passage.depth > WORTH_TELLING:
        notes.append(
            f"between knots {passage.knot} and {passage.knot + 1} '{passage.name}' goes through "
            f"the ground, {passage.depth:.2g} m deep: nothing holds it there; use more knots"
        )
    if 0 < abs(verdict.objective) < _TOLD_APART:
        notes.append(
            f"the objective is {verdict.objective:.2g}, less than the solver's tolerance of "
            f"{_TOLD_APART:g} can tell from its minimum: state it in smaller units if that matters"
        )
    made, work = verdict.energy.made_by_integrator, verdict.energy.total_actuator_work
    if abs(made) > ENERGY_NOTE_SHARE * work and abs(made) > 1e-6:
        share = f" ({100 * abs(made) / work:.0f} % of the actuators' work)" if work > 0 else ""
        notes.append(
            f"the integrator {'made' if made > 0 else 'lost'} {abs(made):.3g} J{share}: with more "
            "knots the answer will change"
        )
    return tuple(notes)
