"""Design spaces: bounds, initial values and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from draft_core import DesignSpace, DesignVariable
from draft_core.errors import DraftError
from tests.draft_core.conftest import Sample


def test_a_space_takes_initial_values_and_units_from_the_robot(hexapod: Sample):
    space = DesignSpace.of(
        hexapod.robot, {"leg_length": (0.05, 0.2), "leg_mass": (0.08, 0.12, 0.09)}
    )
    assert space.names == ("leg_length", "leg_mass")
    assert [v.unit for v in space.variables] == ["m", "kg"]
    np.testing.assert_array_equal(space.lower, [0.05, 0.08])
    np.testing.assert_array_equal(space.upper, [0.2, 0.12])
    np.testing.assert_array_equal(space.initial, [0.1, 0.09])
    np.testing.assert_allclose(space.scale, [0.075, 0.02])
    assert len(space) == 2
    assert space.as_dict(space.initial) == {"leg_length": 0.1, "leg_mass": 0.09}


def test_an_empty_space_is_a_space(hexapod: Sample):
    space = DesignSpace.of(hexapod.robot, {})
    assert (space.names, space.lower.shape, space.as_dict([])) == ((), (0,), {})


def test_dotted_and_computed_parameters_can_vary(everything: Sample):
    space = DesignSpace.of(everything.robot, {"leg.length": (0.2, 0.3), "hip.0": (0.1, 0.2)})
    assert space.initial.tolist() == [0.25, 0.15]
    model = everything.robot.realize(space.as_dict([0.21, 0.11]))
    assert float(model.body_pos[everything.robot.body_names.index("thigh_left")][0]) == 0.11
    assert DesignSpace.of(everything.robot, {"tail_length": (0.1, 1)}).initial[0] > 0.1


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"leg_lenght": (0, 1)}, "'leg_lenght' is not a numeric parameter .*'leg_length'.*body_x"),
        ({"leg_length": (0.2, 0.05)}, r"\(0.2, 0.05\); the first must be less"),
        ({"leg_length": (0.1, 0.1)}, "the first must be less"),
        ({"leg_length": (0.15, 0.2)}, r"starts at 0.1, outside its bounds \(0.15, 0.2\)"),
        ({"leg_length": (0.05, 0.2, 0.3)}, "starts at 0.3, outside"),
        ({"leg_length": (math.nan, 0.2)}, "lower is nan; it must be a finite"),
        ({"leg_length": (0.05, math.inf)}, "upper is inf; it must be a finite"),
        ({"leg_length": (0.05, 0.2, math.nan)}, "initial is nan; it must be a finite"),
        ({"leg_length": ("a", 0.2)}, "lower is 'a'; it must be a finite"),
        ({"leg_length": (0.2,)}, r"give \(lower, upper\) or"),
        ({"leg_length": 0.2}, r"give \(lower, upper\) or"),
        ({"leg_length": "0.1"}, r"give \(lower, upper\) or"),
    ],
)
def test_a_space_that_cannot_work_is_refused(hexapod: Sample, bounds: Any, says: str):
    with pytest.raises(DraftError, match=says) as caught:
        DesignSpace.of(hexapod.robot, bounds)
    assert "leg_len" in str(caught.value)


def test_a_variable_stands_alone():
    assert DesignVariable("length", "m", 0, 2, 1).scale == 1.0


def test_a_vector_of_the_wrong_length_is_refused(hexapod: Sample):
    space = DesignSpace.of(hexapod.robot, {"leg_length": (0.05, 0.2)})
    with pytest.raises(DraftError, match="2 design values are given; there are 1"):
        space.as_dict([0.1, 0.2])
