"""What can be wrong with a program before the solver sees it, said in the designer's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from codesign.errors import ProblemError, SolverError
from codesign.nlp import NonlinearProgram
from codesign.plant import Plant
from draft_core.backend import mujoco
from draft_core.errors import DraftError

if TYPE_CHECKING:
    from codesign.solution import Solution

Vector = NDArray[np.float64]

_PARAMETERS = (1.0, 1.0)  # any relaxation and weight: structure does not depend on them


def require_supported(plant: Plant, integrator: str) -> None:
    """Refuse robots that the optimiser's dynamics do not cover.

    Raises:
        ProblemError: no actuators, springs on a ball joint, or a library of motors on a slide.
    """
    robot, model = plant.robot, plant.nominal
    if model.nu == 0:
        raise ProblemError(f"robot '{robot.name}' has no actuators: give a joint a motor")
    for joint, kind in enumerate(int(k) for k in model.jnt_type):
        if kind == int(mujoco.mjtJoint.mjJNT_BALL) and np.any(model.jnt_stiffness[joint] != 0):
            raise ProblemError(
                f"ball joint '{robot.joint_names[joint]}' has a stiffness, which the optimiser "
                "does not model; use three hinges, whose springs it does"
            )
    if plant.motors is not None:
        _require_hinges(plant)


def _require_hinges(plant: Plant) -> None:
    """Refuse motors that can be bought, stated in N m and rad/s, on a slide.

    Raises:
        ProblemError: naming the joint.
    """
    robot, slide = plant.robot, int(mujoco.mjtJoint.mjJNT_SLIDE)
    for actuator in robot.actuators:
        joint = actuator.joint_id
        if joint is not None and int(plant.nominal.jnt_type[joint]) == slide:
            raise ProblemError(
                f"motors of a library turn, and joint '{robot.joint_names[joint]}' slides: "
                "replace it by a hinge, or state no library"
            )


def require_valid_design_space(plant: Plant) -> None:
    """Refuse a design space whose corners along each variable are no robots.

    Raises:
        ProblemError: naming the design variable and what its robot cannot be.
    """
    initial = plant.space.as_dict(plant.space.initial)
    for variable in plant.space.variables:
        for value in (variable.lower, variable.upper):
            try:
                plant.robot.check_design({**initial, variable.name: value})
            except DraftError as error:
                raise ProblemError(
                    f"design variable '{variable.name}' may not reach {value:g}: {error}"
                ) from error


def dry_friction_joints(plant: Plant, model: mujoco.MjModel) -> tuple[str, ...]:
    """Return the joints of a compiled design whose dry friction the dynamics leave out."""
    names = plant.robot.joint_names
    joints = sorted({int(model.dof_jntid[d]) for d in np.flatnonzero(model.dof_frictionloss)})
    return tuple(names[joint] for joint in joints)


def idle_design(plant: Plant, program: NonlinearProgram) -> tuple[str, ...]:
    """Return the design variables whose Jacobian and gradient columns are structurally zero."""
    columns = np.diff(np.array(program.derivatives["jac_g"].sparsity_out(1).colind()))
    curvature = program.derivatives["hess_lag"].sparsity_out(0)
    in_hessian = {*curvature.row(), *np.flatnonzero(np.diff(np.array(curvature.colind())))}
    gradient = np.array(program.derivatives["grad_f"](_probe(program), _PARAMETERS)[1]).ravel()
    names = zip(plant.space.names, program.layout.fields["design"].tolist(), strict=True)
    return tuple(
        name for name, i in names if columns[i] == 0 and i not in in_hessian and gradient[i] == 0.0
    )


def _probe(program: NonlinearProgram) -> Vector:
    """Return a point at which no gradient vanishes by accident."""
    return np.random.default_rng(0).uniform(0.3, 0.7, program.layout.size)


def require_live_rows(program: NonlinearProgram) -> None:
    """Refuse constraints that no variable touches and that do not hold.

    Raises:
        ProblemError: naming the constraint.
    """
    sparsity = program.derivatives["jac_g"].sparsity_out(1)
    touched = np.zeros(len(program.lower), dtype=bool)
    touched[sparsity.row()] = True
    if touched.all():
        return
    g = np.array(program.derivatives["jac_g"](_probe(program), _PARAMETERS)[0]).ravel()
    lower, upper = program.lower, program.upper
    broken = ~touched & ~((g >= lower - 1e-9) & (g <= upper + 1e-9))
    if broken.any():
        placed, label = program.place(int(np.argmax(broken)))
        which = f" ({label})" if label else ""
        raise ProblemError(
            f"constraint '{placed.rows.name}'{which} depends on neither the motion nor the design, "
            "and does not hold; state it on something that can change"
        )


def require_numbers(start: Solution) -> None:
    """Refuse a solution to start from that holds NaN or infinity.

    Raises:
        SolverError: naming the quantity and the knot, or the design variable.
    """
    for name in ("q", "v", "u", "normal", "tangent", "slide", "dt"):
        bad = np.argwhere(~np.isfinite(getattr(start, name)))
        if len(bad):
            raise SolverError(
                f"start: its {name} is NaN or infinite at knot {bad[0][0]}; start from another "
                "solution, or from none"
            )
    for name, value in start.design.items():
        if not np.isfinite(value):
            raise SolverError(f"start: its design variable '{name}' is {value}; give it a number")


def require_finite_start(program: NonlinearProgram, x: Vector) -> None:
    """Refuse a start at which a term or its derivative is NaN or infinite.

    Raises:
        ProblemError: naming the term.
    """
    f, gradient = (np.array(v).ravel() for v in program.derivatives["grad_f"](x, _PARAMETERS))
    if not np.isfinite(f).all():
        raise ProblemError(
            "the objective is NaN or infinite at the start; "
            "look for divisions, roots and logarithms in it"
        )
    if not np.isfinite(gradient).all():
        raise ProblemError(
            "the objective's gradient is NaN or infinite at the start; a norm or a root at zero "
            "does that: add a small constant under the root"
        )
    g, jacobian = program.derivatives["jac_g"](x, _PARAMETERS)
    values = np.array(g).ravel()
    if not np.isfinite(values).all():
        raise ProblemError(f"{_row_name(program, values)} is NaN or infinite at the start")
    rows, _ = jacobian.sparsity().get_triplet()
    entries = np.array(jacobian.nonzeros())
    if not np.isfinite(entries).all():
        worst = np.zeros(len(values))
        worst[np.array(rows)[~np.isfinite(entries)]] = np.nan
        raise ProblemError(
            f"the derivative of {_row_name(program, worst)} is NaN or infinite at the start; a "
            "norm or a root at zero does that: add a small constant under the root"
        )


def _row_name(program: NonlinearProgram, values: Vector) -> str:
    placed, label = program.place(int(np.argmax(~np.isfinite(values))))
    where = f" at knot {placed.knot}" if placed.knot is not None else ""
    which = f" ({label})" if label else ""
    return f"constraint '{placed.rows.name}'{which}{where}"


def require_peaks_pushed_down(program: NonlinearProgram, x: Vector) -> None:
    """Refuse an objective that rewards a peak: its epigraph variable would grow without bound.

    Raises:
        ProblemError: naming the peak.
    """
    if not program.peaks:
        return
    gradient = np.array(program.derivatives["grad_f"](x, _PARAMETERS)[1]).ravel()
    slopes = gradient[program.layout.fields["peaks"]]
    if (slopes < 0).any():
        name = program.peaks[int(np.argmin(slopes))][0]
        raise ProblemError(
            f"the objective falls as '{name}' grows; a peak can only be pushed down. To keep "
            "something large, constrain it with at_least()"
        )
