"""The step of the biped, as a height function and as cells."""

from __future__ import annotations

import numpy as np
import pytest

from codesign.errors import ProblemError
from codesign.tracing import evaluate
from problems.biped_step.problem import BipedStep


@pytest.mark.parametrize("model", ["height", "cells"])
def test_both_models_of_the_ground_have_the_same_step(model) -> None:
    ground = BipedStep(terrain_model=model, step_height=0.08).terrain
    for x, height in ((0.0, 0.0), (0.3, 0.08)):
        # 15 cm from the middle of a sigmoid of 1 cm: 0.08 e⁻¹⁵
        assert abs(float(evaluate(ground.gap, np.array([x, 0.0, height])))) < 1e-7
    riser = evaluate(ground.frame, np.array([0.15, 0.0, 0.04]))[2]
    steepness = np.degrees(np.arccos(riser[2]))
    assert steepness == pytest.approx({"height": 63.4, "cells": 90.0}[model], abs=0.1)


def test_another_model_is_refused_in_one_line() -> None:
    with pytest.raises(ProblemError, match="terrain_model is 'hills'; it must be 'height' or 'ce"):
        BipedStep(terrain_model="hills").terrain  # noqa: B018
