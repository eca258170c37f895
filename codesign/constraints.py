"""Constraints: lower ≤ value ≤ upper, with the names and units that reports use.

A constraint's value is any JAX function of one knot, of several, of the design or of the whole
trajectory; which variables it touches is found from the traced expression, never declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codesign.dynamics.integration import quaternion_product
from codesign.errors import ProblemError
from codesign.plant import coordinate_labels, drives
from codesign.trajectory import Trajectory
from draft_core.backend import jax, jnp


@dataclass(frozen=True)
class Constraint:
    """One named group of rows lower ≤ value ≤ upper.

    Attributes:
        name: what reports call it.
        value: flat array of m entries.
        lower: lower bounds, shape (m,); −inf where there is none.
        upper: upper bounds, shape (m,).
        unit: unit of every entry.
        labels: name of each entry, m of them (may be empty strings).
        knot: knot it belongs to, None when it spans several.
    """

    name: str
    value: jax.Array
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    unit: str = ""
    labels: tuple[str, ...] = ()
    knot: int | None = None

    def __post_init__(self) -> None:
        """Fill in labels; refuse bounds and labels that do not fit.

        Raises:
            ProblemError: saying which.
        """
        value = jnp.ravel(jnp.asarray(self.value))
        object.__setattr__(self, "value", value)
        if not self.labels:
            object.__setattr__(self, "labels", tuple(str(i) for i in range(value.size)))
        if len(self.labels) != value.size:
            raise ProblemError(
                f"constraint '{self.name}': {len(self.labels)} labels for {value.size} entries"
            )
        low, high = np.ravel(self.lower), np.ravel(self.upper)
        if low.shape != value.shape or high.shape != value.shape:
            raise ProblemError(
                f"constraint '{self.name}': bounds do not fit its {value.size} entries"
            )
        if np.isnan(low).any() or np.isnan(high).any():
            raise ProblemError(f"constraint '{self.name}': a bound is NaN")
        if (low > high).any():
            i = int(np.argmax(low > high))
            raise ProblemError(
                f"constraint '{self.name}': lower bound {low[i]:g} is above upper bound {high[i]:g}"
            )
        if np.isposinf(low).any() or np.isneginf(high).any():
            raise ProblemError(
                f"constraint '{self.name}': a lower bound of inf or an upper bound of -inf "
                "cannot be met"
            )
        if self.knot is not None and type(self.knot) is not int:
            raise ProblemError(
                f"constraint '{self.name}': knot is {self.knot!r}; it must be a whole number"
            )


def between(
    value: Any,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    name: str,
    unit: str = "",
    labels: Sequence[str] = (),
    knot: int | None = None,
) -> Constraint:
    """Return lower ≤ value ≤ upper, entry by entry.

    Args:
        value: JAX array of any shape.
        lower: number or array that broadcasts to `value`; numbers, not functions of the trajectory.
        upper: the same; may be inf.
        name: what reports call it.
        unit: unit of the entries.
        labels: one name per entry, optional.
        knot: knot it belongs to, for reports.

    Raises:
        ProblemError: bounds that are NaN, crossed, of the wrong shape or that depend on the motion.
    """
    array = jnp.asarray(value)
    try:
        low = np.broadcast_to(np.asarray(lower, dtype=float), array.shape).ravel()
        high = np.broadcast_to(np.asarray(upper, dtype=float), array.shape).ravel()
    except ValueError as error:
        raise ProblemError(
            f"constraint '{name}': bounds do not fit a value of shape {array.shape}"
        ) from error
    except jax.errors.TracerArrayConversionError as error:
        raise ProblemError(
            f"constraint '{name}': bounds must be numbers; move what depends on the motion or the "
            "design to the value"
        ) from error
    names = tuple(labels) or _default_labels(array.shape)
    return Constraint(name, jnp.ravel(array), low, high, unit, names, knot)


def _default_labels(shape: tuple[int, ...]) -> tuple[str, ...]:
    if not shape:
        return ("",)
    return tuple(",".join(str(i) for i in place) for place in np.ndindex(*shape))


def equal(value: Any, target: ArrayLike, *, name: str, **names: Any) -> Constraint:
    """Return value = target; see `between` for the arguments."""
    return between(value, target, target, name=name, **names)


def at_least(value: Any, lower: ArrayLike, *, name: str, **names: Any) -> Constraint:
    """Return value ≥ lower; see `between`."""
    return between(value, lower, np.inf, name=name, **names)


def at_most(value: Any, upper: ArrayLike, *, name: str, **names: Any) -> Constraint:
    """Return value ≤ upper; see `between`."""
    return between(value, -np.inf, upper, name=name, **names)


def oriented(
    traj: Trajectory, knot: int, quaternion: Sequence[float], *, name: str = "oriented"
) -> Constraint:
    """Return: the free base has an orientation at a knot.

    Three rows, the vector part of p̄ ∘ q, so that q and −q, the same orientation, both meet it.

    Args:
        traj: trajectory.
        knot: knot.
        quaternion: orientation p as (w, x, y, z); its length does not matter.
        name: what reports call it.

    Raises:
        ProblemError: the quaternion is no four numbers, or zero.
    """
    target = np.asarray(quaternion, dtype=float)
    if target.shape != (4,) or not np.linalg.norm(target) > 1e-9:
        raise ProblemError(
            f"{name}: quaternion is {quaternion!r}; it must be (w, x, y, z), not zero"
        )
    inverse = jnp.array(target / np.linalg.norm(target) * np.array([1.0, -1.0, -1.0, -1.0]))
    turned = quaternion_product(inverse, traj.knot(knot).base_quaternion)
    return equal(turned[1:], 0.0, name=name, labels=("x", "y", "z"), knot=knot)


def upright(traj: Trajectory, knot: int) -> Constraint:
    """Return: the free base has no roll, pitch or yaw at a knot."""
    return oriented(traj, knot, (1.0, 0.0, 0.0, 0.0), name="upright")


def planted(traj: Trajectory, knot: int) -> Constraint:
    """Return: every contact point touches the terrain at a knot."""
    labels = traj.plant.robot.contact_names
    if not labels:
        raise ProblemError(f"robot '{traj.plant.robot.name}' has no contact points to plant")
    return equal(traj.knot(knot).gap(), 0.0, name="planted", unit="m", labels=labels, knot=knot)


def standing(traj: Trajectory, knot: int) -> Iterator[Constraint]:
    """Return: upright with every contact point on the terrain at a knot."""
    yield upright(traj, knot)
    yield planted(traj, knot)


def stand_to_stand(traj: Trajectory, forward: float) -> Iterator[Constraint]:
    """Yield: standing at rest, first at x = y = 0, at the last knot at x = forward [m]."""
    for knot, x in ((0, 0.0), (-1, forward)):
        yield from standing(traj, knot)
        yield at_rest(traj, knot)
        yield base_position(traj, knot, x=x, y=0.0)


def at_rest(traj: Trajectory, knot: int) -> Constraint:
    """Return: all velocities are zero at a knot."""
    labels = coordinate_labels(traj.plant.nominal)[1]
    velocity = traj.knot(knot).v
    return equal(velocity, 0.0, name="at rest", unit="rad/s or m/s", labels=labels, knot=knot)


def site_position(
    traj: Trajectory,
    site: str,
    knot: int,
    *,
    x: float | None = None,
    y: float | None = None,
    z: float | None = None,
) -> Constraint:
    """Return: a site's stated world coordinates at a knot [m]; those left out are free."""
    return _coordinates(traj.knot(knot).site_position(site), (x, y, z), f"site {site}", knot)


def base_position(
    traj: Trajectory,
    knot: int,
    *,
    x: float | None = None,
    y: float | None = None,
    z: float | None = None,
) -> Constraint:
    """Return: the free base's stated world coordinates at a knot [m]; those left out are free."""
    return _coordinates(traj.knot(knot).base_position, (x, y, z), "base position", knot)


def _coordinates(
    position: jax.Array, targets: Sequence[float | None], name: str, knot: int
) -> Constraint:
    axes = [i for i, target in enumerate(targets) if target is not None]
    if not axes:
        raise ProblemError(f"constraint '{name}': give at least one of x, y, z")
    stated = [targets[i] for i in axes]
    labels = ["xyz"[i] for i in axes]
    return equal(
        jnp.stack([position[i] for i in axes]),
        np.array(stated, dtype=float),
        name=name,
        unit="m",
        labels=labels,
        knot=knot,
    )


FEASIBLE = "feasible"
_INSIDE = 1e-5  # of a margin: what the solver's tolerance may give away, and the filter not


def feasible(traj: Trajectory, *gates: str) -> Iterator[Constraint]:
    """Yield that the feasibility filter passes the design, as far as a gate would refuse it.

    Args:
        traj: the trajectory.
        gates: names of `draft_core.gates`; none for all of them.

    Raises:
        DraftError: a name is no gate's.
    """
    from draft_core.gates import feasible_vector

    tree = traj.plant.robot.tree
    values, labels = feasible_vector(tree, dict(traj.parameters), gates or None)
    if labels:
        yield at_least(values, _INSIDE, name=FEASIBLE, labels=labels)


def within_torque_speed_line(traj: Trajectory) -> Iterator[Constraint]:
    """Yield |τ| / τ_peak + |ω| / ω_NL ≤ 1 for every actuator of a motor class, in every interval.

    That is the straight line from stall torque to no-load speed; the effort is the interval's, the
    speeds those at both of its ends.
    """
    for drive in drives(traj.plant):
        torque = traj.u[:, drive.actuator] / traj.parameters[f"{drive.key}.peak_torque"]
        speed = traj.v[:, drive.dof] / traj.parameters[f"{drive.key}.no_load_speed"]
        for k in range(traj.knots - 1):
            ends = (speed[k], speed[k + 1])
            sums = jnp.stack([torque[k] + sign * end for end in ends for sign in (1, -1)])
            yield between(
                sums,
                -1.0,
                1.0,
                name="torque-speed line",
                labels=[
                    f"{drive.joint} {how} {when}"
                    for when in ("at first", "in the end")
                    for how in ("driving", "braking")
                ],
                knot=k + 1,
            )


def flatten(items: Any) -> Iterator[Constraint]:
    """Yield every constraint of a possibly nested iterable.

    Raises:
        ProblemError: something in it is not a constraint.
    """
    if items is None:
        return
    if isinstance(items, Constraint):
        yield items
        return
    if not isinstance(items, Iterable) or isinstance(items, str | bytes | Mapping | jax.Array):
        raise ProblemError(
            f"constraints() gave a {type(items).__name__}; yield constraints such as "
            "at_rest(traj, knot=-1) or between(value, lower, upper, name=...)"
        )
    for item in items:
        yield from flatten(item)
