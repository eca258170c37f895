"""The quadcopter's answer: the widest radius and the least mass, as the published grid says."""

from __future__ import annotations

import pytest

from problems.quadcopter.problem import Quadcopter


def peak_thrust(radius: float, mass: float) -> float:
    """Return the least peak thrust of a given design, the best of three starts; [N].

    One start in six ends at a worse local optimum.
    """
    near = {"radius": (radius - 1e-4, radius, radius), "mass": (mass, mass + 1e-4, mass)}
    return Quadcopter(design=near).solve(seed=0, starts=3).require_success().objective


def test_no_other_corner_of_the_grid_needs_less_thrust() -> None:
    free = Quadcopter().solve(seed=0).require_success()
    assert free.design["radius"] == pytest.approx(0.5, abs=1e-3)
    assert free.design["mass"] == pytest.approx(0.3, abs=1e-3)
    best = peak_thrust(0.5, 0.3)
    assert free.objective == pytest.approx(best, abs=1e-4)
    assert peak_thrust(0.1001, 0.3) > best + 1e-3  # the radius is worth less than a hundredth of it
    assert peak_thrust(0.5, 0.6999) > 2 * best  # weight is nearly all of it, and 0.7 / 0.3 > 2


def test_the_way_through_the_waypoints_is_a_whole_circle() -> None:
    points = Quadcopter(circle_radius=2.0).waypoints()
    assert len(points) == 16
    assert points[0] == pytest.approx(points[-1])
    assert (points[:, 0] ** 2 + points[:, 1] ** 2) == pytest.approx(4.0)


def test_a_finer_mesh_flies_through_the_same_waypoints() -> None:
    coarse, fine = Quadcopter(), Quadcopter(knots=31)
    assert fine.waypoints().tolist() == coarse.waypoints().tolist()
    assert list(fine.places()) == list(range(0, 31, 2))
    assert len(Quadcopter(knots=5).waypoints()) == 5
