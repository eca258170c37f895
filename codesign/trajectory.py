"""What objectives and constraints see: arrays over knots, by name, traceable by JAX.

The same object serves the optimiser (arrays are tracers) and a finished solution (arrays are
numbers), so that a term means the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from codesign.contact import ContactForces, world_force
from codesign.dynamics import kinematics, point_jacobian
from codesign.errors import ProblemError
from codesign.plant import Plant, index_of
from draft_core.backend import jax, jnp, mjx
from draft_core.realization import RealizedModel


@dataclass
class Peak:
    """A maximum that the optimiser replaces by an epigraph variable ξ ≥ every entry of `values`."""

    name: str
    unit: str
    values: jax.Array
    labels: tuple[str, ...] = ()


@dataclass
class PeakCollector:
    """Hands out epigraph variables in the order in which terms ask for them.

    Attributes:
        variables: ξ of each peak; None while they are counted.
        peaks: the peaks asked for so far.
        shared: peaks that several terms ask for, by name, so that they are one variable.
    """

    variables: jax.Array | None = None
    peaks: list[Peak] = field(default_factory=list)
    shared: dict[str, jax.Array] = field(default_factory=dict)

    def __call__(self, peak: Peak) -> jax.Array:
        """Register a peak and return what stands for it."""
        self.peaks.append(peak)
        if self.variables is None:
            return jnp.max(peak.values)
        return self.variables[len(self.peaks) - 1]


@dataclass(frozen=True)
class Knot:
    """The robot at one instant.

    Attributes:
        q: configuration, shape (nq,), MuJoCo's order.
        v: velocity, shape (nv,).
    """

    plant: Plant
    model: RealizedModel
    q: jax.Array
    v: jax.Array

    @cached_property
    def data(self) -> mjx.Data:
        """World poses at this configuration."""
        return kinematics(self.model, self.plant.template, self.q)

    def site_position(self, name: str) -> jax.Array:
        """Return the world position of a site or contact point, shape (3,); [m]."""
        return self.data.site_xpos[self.plant.site_id(name)]

    def site_velocity(self, name: str) -> jax.Array:
        """Return the world velocity of a site or contact point, shape (3,); [m/s]."""
        site = self.plant.site_id(name)
        body = int(self.plant.nominal.site_bodyid[site])
        jacobian, _ = point_jacobian(self.model, self.data, self.data.site_xpos[site], body)
        return jacobian.T @ self.v

    def body_position(self, name: str) -> jax.Array:
        """Return the world position of a body's frame, shape (3,); [m]."""
        return self.data.xpos[index_of(name, self.plant.robot.body_names, "body")]

    def joint(self, name: str) -> jax.Array:
        """Return the position of a hinge [rad] or slide [m] joint."""
        return self.q[self.plant.joint_address(name)]

    def gap(self) -> jax.Array:
        """Return the distance of every contact point from the terrain, shape (nc,); [m]."""
        points = [self.data.site_xpos[c.site_id] for c in self.plant.robot.contacts]
        if not points:
            return jnp.zeros(0)
        return jnp.stack([self.plant.terrain.gap(point) for point in points])

    @property
    def base_position(self) -> jax.Array:
        """World position of the free base, shape (3,); [m]."""
        return self._base(slice(0, 3))

    @property
    def base_quaternion(self) -> jax.Array:
        """Orientation of the free base (w, x, y, z), shape (4,)."""
        return self._base(slice(3, 7))

    def _base(self, part: slice) -> jax.Array:
        if not self.plant.has_free_base:
            raise ProblemError(
                f"robot '{self.plant.robot.name}' has no free base; use joint(), site_position() "
                "or body_position() instead"
            )
        return self.q[part]


@dataclass(frozen=True)
class Trajectory:
    """A motion and the design that makes it.

    K knots, N = K − 1 intervals, nc contact points.

    Attributes:
        plant: robot, design space and terrain.
        q: configurations, shape (K, nq).
        v: velocities, shape (K, nv).
        u: actuator efforts, shape (N, nu); [N m] or [N].
        normal: normal contact forces, shape (N, nc); [N].
        tangent: tangential contact forces, shape (N, nc, 4); [N].
        slide: sliding slacks, shape (N, nc); [m/s].
        dt: interval durations, shape (N,); [s].
        design_vector: ρ, shape (p,), in SI units.
    """

    plant: Plant
    q: jax.Array
    v: jax.Array
    u: jax.Array
    normal: jax.Array
    tangent: jax.Array
    slide: jax.Array
    dt: jax.Array
    design_vector: jax.Array
    collector: PeakCollector = field(default_factory=PeakCollector)
    _seen: dict[int, Knot] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, plant: Plant, fields: Mapping[str, Any], collector: PeakCollector) -> Trajectory:
        """Return the trajectory of a decision vector split by its layout."""
        names = ("q", "v", "u", "normal", "tangent", "slide", "dt")
        arrays = {name: fields[name] for name in names}
        return cls(plant=plant, design_vector=fields["design"], collector=collector, **arrays)

    @property
    def knots(self) -> int:
        """Number of knots K."""
        return self.q.shape[0]

    @property
    def t(self) -> jax.Array:
        """Times of the knots, shape (K,); [s]."""
        return jnp.concatenate([jnp.zeros(1), jnp.cumsum(self.dt)])

    @cached_property
    def model(self) -> RealizedModel:
        """The robot at this design."""
        return self.plant.realize(self.design_vector)

    @cached_property
    def design(self) -> Mapping[str, jax.Array]:
        """Design variables by name; unknown names are refused with the list."""
        others = tuple(self.plant.robot.parameters)
        return _NamedValues(self.plant.space.names, self.design_vector, others=others)

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Every parameter of the robot at this design, computed ones (motors.L.mass) included."""
        values = self.plant.robot.tree.resolve(self.plant.space.as_dict(self.design_vector))
        return _NamedValues(tuple(values), tuple(values.values()), "parameter")

    def knot(self, index: int) -> Knot:
        """Return one knot; negative indices count from the end."""
        if not -self.knots <= index < self.knots:
            raise ProblemError(f"knot {index} does not exist: there are {self.knots} knots")
        index %= self.knots
        if index not in self._seen:
            self._seen[index] = Knot(self.plant, self.model, self.q[index], self.v[index])
        return self._seen[index]

    @property
    def contact_force(self) -> jax.Array:
        """Contact forces on the robot, world frame, shape (N, nc, 3); [N]."""
        forces = ContactForces(self.normal, self.tangent, self.slide)
        contacts = self.plant.robot.contacts
        if not contacts:
            return jnp.zeros((self.dt.shape[0], 0, 3))

        def at_interval_end(q: jax.Array, force: ContactForces) -> jax.Array:
            data = kinematics(self.model, self.plant.template, q)
            frames = [self.plant.terrain.frame(data.site_xpos[c.site_id]) for c in contacts]
            return world_force(force, jnp.stack(frames))

        return jax.vmap(at_interval_end)(self.q[1:], forces)

    def effort(self, names: Sequence[str] | None = None) -> jax.Array:
        """Return efforts of the named actuators (all by default), shape (N, ·)."""
        if names is None:
            return self.u
        known = self.plant.robot.actuator_names
        return self.u[:, jnp.array([index_of(name, known, "actuator") for name in names])]

    def peak(
        self, values: jax.Array, name: str = "peak", unit: str = "", labels: Sequence[str] = ()
    ) -> jax.Array:
        """Return the largest entry of an array, as a variable the optimiser can push down.

        The maximum becomes ξ with ξ ≥ every entry, which is exact when the objective grows with it.

        Args:
            values: array of any shape.
            name: what reports call it.
            unit: unit of its entries.
            labels: one name per entry, optional.
        """
        return self.collector(Peak(name, unit, jnp.ravel(values), tuple(labels)))

    def peak_magnitude(
        self, values: jax.Array, name: str = "peak", unit: str = "", labels: Sequence[str] = ()
    ) -> jax.Array:
        """Return the largest absolute entry of an array; see `peak`."""
        values = jnp.ravel(values)
        return self.peak(jnp.concatenate([values, -values]), name, unit, [*labels, *labels])


class _NamedValues(Mapping[str, Any]):
    """Entries of a vector by name."""

    def __init__(
        self,
        names: Sequence[str],
        values: Any,
        kind: str = "design variable",
        others: Sequence[str] = (),
    ) -> None:
        self._names, self._values, self._kind = tuple(names), values, kind
        self._others = others

    def __getitem__(self, name: str) -> Any:
        if name not in self._names and name in self._others:
            raise ProblemError(
                f"'{name}' is no design variable but a parameter: write traj.parameters[\"{name}\"]"
            )
        return self._values[index_of(name, self._names, self._kind)]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f'write traj.design["{name}"]; it has: {", ".join(self._names)}')

    def __iter__(self) -> Any:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
