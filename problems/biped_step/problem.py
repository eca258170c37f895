"""The biped of Spielberg et al. (2017), Sec. IV-B, up a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from codesign import Terrain, Trajectory
from codesign.constraints import Constraint, at_least
from draft_core.backend import jax, jnp
from problems.biped_flat.problem import BipedFlat


@dataclass(frozen=True)
class Step:
    """Height of a smooth step across x, steep but finite.

    Attributes:
        at: where it is half as high; [m].
        rise: its height; [m].
        width: of the logistic function; nine tenths of the rise are within six widths; [m].
    """

    at: float
    rise: float
    width: float

    def __call__(self, position: jax.Array) -> jax.Array:
        """Return the height at a horizontal position (2,); [m]."""
        return self.rise * jax.nn.sigmoid((position[0] - self.at) / self.width)


class BipedStep(BipedFlat):
    """A biped on point feet walks 0.3 m and up a step of 0.1 m with the least peak torque.

    Options:
        step_at: where the step is; [m].
        step_height: how high it is; [m].
    """

    step_at = 0.15
    step_height = 0.1

    @property
    def terrain(self) -> Terrain:
        return Terrain(Step(self.step_at, self.step_height, 0.01), "step")

    def ground_at_end(self) -> float:
        return self.step_height

    def constraints(self, traj: Trajectory) -> Iterator[Constraint | Iterator[Constraint]]:
        yield from super().constraints(traj)
        for foot in traj.plant.robot.contact_names:
            height = traj.knot(-1).site_position(foot)[2]
            yield at_least(
                height,
                0.99 * self.step_height,
                name=f"{foot} on the step",
                unit="m",
                knot=traj.knots - 1,
            )
