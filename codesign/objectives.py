"""Objectives: scalars of the whole trajectory that a `Problem` minimises; add them freely."""

from __future__ import annotations

from codesign.errors import ProblemError
from codesign.trajectory import Trajectory
from draft_core.backend import jax, jnp


def peak_torque(traj: Trajectory) -> jax.Array:
    """Return the largest |effort| of any motor at any time, max |u|; [N m]."""
    return _peak_effort(traj, "motor", "peak torque", "N m")


def peak_thrust(traj: Trajectory) -> jax.Array:
    """Return the largest |thrust| of any thruster at any time; [N]."""
    return _peak_effort(traj, "thruster", "peak thrust", "N")


def _peak_effort(traj: Trajectory, kind: str, name: str, unit: str) -> jax.Array:
    if name in traj.collector.shared:
        return traj.collector.shared[name]
    names = [a.name for a in traj.plant.robot.actuators if a.kind == kind]
    if not names:
        have = sorted({a.kind for a in traj.plant.robot.actuators})
        raise ProblemError(
            f"robot '{traj.plant.robot.name}' has no {kind}s; its actuators are: {', '.join(have)}"
        )
    labels = [f"{actuator} before knot {k}" for k in range(1, traj.knots) for actuator in names]
    found = traj.peak_magnitude(traj.effort(names), name, unit, labels)
    traj.collector.shared[name] = found
    return found


def effort_squared(traj: Trajectory) -> jax.Array:
    """Return ∫ Σ u² dt; [N² m² s] for motors."""
    return jnp.sum(traj.dt * jnp.sum(traj.u**2, axis=1))


def duration(traj: Trajectory) -> jax.Array:
    """Return the time the motion takes; [s]."""
    return jnp.sum(traj.dt)


def design_change(traj: Trajectory) -> jax.Array:
    """Return ½ ‖ρ − ρ₀‖² in SI units, the distance from the designer's own values."""
    change = traj.design_vector - jnp.array(traj.plant.space.initial)
    return 0.5 * jnp.sum(change**2)
