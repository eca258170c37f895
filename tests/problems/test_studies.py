"""The published studies are the ones that are stated: degrees of freedom, contacts, variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from codesign.transcription import Layout
from problems.biped_flat.problem import BipedFlat
from problems.biped_step.problem import BipedStep
from problems.hexapod.problem import Hexapod
from problems.quadcopter.problem import Quadcopter
from problems.quadruped_time.problem import QuadrupedTime
from problems.quadruped_torque.problem import QuadrupedTorque

#: problem, published count, epigraph variables (the peak torque, which the motors need)
STUDIES: list[tuple[Any, int, int]] = [
    (Hexapod, 1528, 1),
    (BipedFlat, 750, 1),
    (BipedStep, 750, 1),
    (QuadrupedTorque, 1284, 1),
    (QuadrupedTime, 1284, 1),
    (Quadcopter, 274, 1),
]


@pytest.mark.parametrize(("study", "published", "peaks"), STUDIES)
def test_the_papers_formula_gives_the_papers_count(study: Any, published: int, peaks: int) -> None:
    """(2n + m + 6l) K + p + 1 + (K − 1)(5l + 1), Spielberg et al. (2017), Sec. IV-A."""
    problem = study()
    layout = Layout.of(problem.plant, problem.knots)
    n, m, c, p, k = layout.nv, layout.nu, layout.nc, layout.n_design, layout.knots
    assert (2 * n + m + 6 * c) * k + p + 1 + (k - 1) * (5 * c + 1) == published


@pytest.mark.parametrize(("study", "published", "peaks"), STUDIES)
def test_ours_differs_by_what_is_explained(study: Any, published: int, peaks: int) -> None:
    problem = study()
    layout = Layout.of(problem.plant, problem.knots)
    m, c, k = layout.nu, layout.nc, layout.knots
    ours = published
    ours += k  # orientations are quaternions
    ours -= m + 6 * c  # efforts and contact forces belong to the intervals, not to the knots
    ours -= (k - 1) * 5 * c  # complementarity is relaxed without slack variables
    ours += peaks - 1  # the peak torque takes one variable, as theirs
    assert layout.size + peaks == ours


def test_bounds_and_readings_of_the_biped() -> None:
    problem = BipedFlat()
    space = problem.plant.space
    assert space.names == (
        *("lower_leg_length", "upper_leg_length", "body_x", "body_y", "body_z"),
        *("body_mass", "upper_leg_mass", "lower_leg_mass"),
    )
    np.testing.assert_allclose(space.lower, [0.05, 0.05, 0.03, 0.03, 0.03, 0.05, 0.05, 0.05])
    np.testing.assert_allclose(space.upper, [0.4, 0.4, 0.2, 0.2, 0.2, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(space.initial, [0.1, 0.2, 0.1, 0.1, 0.1, 0.4, 0.4, 0.4])


@pytest.mark.parametrize("study", [BipedFlat, QuadrupedTorque])
def test_a_bodys_constant_inertia_is_that_of_the_initial_box(study: Any) -> None:
    plant = study().plant
    design = plant.space.as_dict(np.asarray(plant.space.initial))
    x, y, z, mass = (design[name] for name in ("body_x", "body_y", "body_z", "body_mass"))
    box = mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    body = plant.nominal.body("body").id
    np.testing.assert_allclose(np.sort(plant.nominal.body_inertia[body]), np.sort(box), rtol=3e-4)


def test_the_quadruped_starts_too_short_and_can_grow() -> None:
    problem = QuadrupedTorque()
    space = problem.plant.space
    initial, upper = space.as_dict(space.initial), space.as_dict(space.upper)
    legs = ("upper_leg_length", "lower_leg_length")
    low, high = problem.final_height
    assert sum(initial[name] for name in legs) == pytest.approx(0.30)
    assert sum(initial[name] for name in legs) < low
    assert sum(upper[name] for name in legs) == pytest.approx(high)
