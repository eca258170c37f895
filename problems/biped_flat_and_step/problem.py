"""One biped for two of the tasks of Spielberg et al. (2017), Sec. IV-B: level ground and a step."""

from __future__ import annotations

from codesign import Problem, Tasks
from problems.biped_flat.problem import BipedFlat
from problems.biped_step.problem import BipedStep


class BipedFlatAndStep(Tasks):
    """One biped walks 0.3 m on level ground and up a step, with the least peak torque of the two.

    Its motors are the same in both tasks, so that the worst peak torque is what they must carry.
    """

    combine = "worst"

    def tasks(self) -> dict[str, Problem]:
        return {"flat": BipedFlat(), "step": BipedStep()}
