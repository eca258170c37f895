"""The biped of Spielberg et al. (2017), Sec. IV-B, up a step."""

from __future__ import annotations

from collections.abc import Iterator

from codesign import Cells, Trajectory, step_terrain
from codesign.constraints import Constraint, at_least
from codesign.errors import ProblemError
from codesign.terrain import Ground
from problems.biped_flat.problem import BipedFlat


class BipedStep(BipedFlat):
    """A biped on point feet walks 0.3 m and up a step of 0.1 m with the least peak torque.

    Options:
        step_at: where the step is; [m].
        step_height: how high it is; [m].
        terrain_model: "height" for a height function, which climbs over 8 cm and is 68° steep at
            most, or "cells" for flat cells with a vertical riser.
    """

    step_at = 0.15
    step_height = 0.1
    terrain_model = "height"

    @property
    def terrain(self) -> Ground:  # pyright: ignore[reportIncompatibleVariableOverride]
        if self.terrain_model == "height":
            return step_terrain(self.step_at, self.step_height, width=0.08)
        if self.terrain_model == "cells":
            return Cells([self.step_at], [0.0, self.step_height], name="step of cells")
        raise ProblemError(
            f"BipedStep: terrain_model is {self.terrain_model!r}; it must be 'height' or 'cells'"
        )

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
