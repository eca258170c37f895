"""The peers' problems in dymos (OpenMDAO): third-order Gauss–Lobatto collocation, uniform steps.

dymos states the same questions in another transcription, so that answers agree to its own accuracy
and not to rounding. Its optimiser is scipy's SLSQP, which is what OpenMDAO has without pyOptSparse.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.common import lap
from benchmarks.handwritten import quadcopter as rotors
from benchmarks.handwritten import spring as block

OPTIMISER = "SLSQP (scipy)"
NOT_INSTALLED = "not installed (pip install dymos)"


@dataclass(frozen=True)
class DymosAnswer:
    """What dymos found.

    Attributes:
        build_s: setting up the problem; [s].
        solve_s: running the optimiser; [s].
        iterations: of the optimiser.
        success: whether the optimiser says that it converged.
        objective: the objective.
        design: design variables by name.
    """

    build_s: float
    solve_s: float
    iterations: int
    success: bool
    objective: float
    design: dict[str, float]


def is_installed() -> bool:
    """Whether dymos and OpenMDAO can be imported."""
    return find_spec("dymos") is not None and find_spec("openmdao") is not None


def _modules() -> tuple[Any, Any]:
    """Return dymos and OpenMDAO, which need not be there."""
    return import_module("dymos"), import_module("openmdao.api")


def solve_spring() -> DymosAnswer:
    """Find the mass of the half swing, from 8 kg."""
    return _solve(_spring, "timeseries.x", ["mass"])


def solve_quadcopter(seed: int) -> DymosAnswer:
    """Find radius and mass of the quadcopter, from level rest and thrusts near hover.

    The other peers start from thrusts near zero; from there SLSQP gives up after 130 iterations.
    """
    return _solve(lambda: _quadcopter(seed), "parameter_vals:peak", ["radius", "mass"])


def _solve(build: Callable[[], Any], objective: str, design: Sequence[str]) -> DymosAnswer:
    times: dict[str, float] = {}
    with _quietly():
        with lap(times, "build"):
            problem = build()
        with lap(times, "solve"):
            result = problem.run_driver()

    def value(name: str) -> float:
        return float(np.ravel(problem.get_val(f"traj.phase0.{name}"))[-1])

    return DymosAnswer(
        build_s=times["build"],
        solve_s=times["solve"],
        iterations=int(result.iter_count),
        success=bool(result.success),
        objective=value(objective),
        design={name: value(f"parameter_vals:{name}") for name in design},
    )


@contextlib.contextmanager
def _quietly() -> Any:
    """Keep OpenMDAO's folders, reports and warnings away from the user."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        os.environ.setdefault("OPENMDAO_REPORTS", "0")
        yield


def _problem(phase: Any) -> Any:
    """Return an OpenMDAO problem with one phase and SLSQP, not yet set up."""
    dymos, om = _modules()
    problem = om.Problem(reports=False)
    problem.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", tol=1e-6, maxiter=500, disp=False)
    problem.driver.declare_coloring(show_summary=False)
    trajectory = dymos.Trajectory()
    trajectory.add_phase("phase0", phase)
    problem.model.add_subsystem("traj", trajectory)
    return problem


def _spring() -> Any:
    dymos, om = _modules()

    class Block(om.ExplicitComponent):
        """Acceleration of a mass on a spring: v̇ = −k x / m."""

        def initialize(self) -> None:
            self.options.declare("num_nodes", types=int)

        def setup(self) -> None:
            n = self.options["num_nodes"]
            self.add_input("x", shape=n, units="m")
            self.add_input("mass", shape=1, units="kg")
            self.add_output("v_dot", shape=n, units="m/s**2")
            self.declare_partials("v_dot", "x", rows=np.arange(n), cols=np.arange(n))
            self.declare_partials("v_dot", "mass")

        def compute(self, inputs: Any, outputs: Any) -> None:
            outputs["v_dot"] = -block.STIFFNESS * inputs["x"] / inputs["mass"]

        def compute_partials(self, inputs: Any, partials: Any) -> None:
            partials["v_dot", "x"] = -block.STIFFNESS / inputs["mass"]
            partials["v_dot", "mass"] = block.STIFFNESS * inputs["x"] / inputs["mass"] ** 2

    phase = dymos.Phase(
        ode_class=Block, transcription=dymos.GaussLobatto(num_segments=block.INTERVALS, order=3)
    )
    problem = _problem(phase)
    phase.set_time_options(
        fix_initial=True, fix_duration=True, duration_val=block.DURATION, units="s"
    )
    phase.add_state("x", rate_source="v", targets=["x"], units="m", fix_initial=True)
    phase.add_state("v", rate_source="v_dot", units="m/s", fix_initial=True)
    phase.add_parameter(
        "mass",
        opt=True,
        lower=block.MASS_BOUNDS[0],
        upper=block.MASS_BOUNDS[1],
        units="kg",
        static_target=True,
    )
    phase.add_objective("x", loc="final")
    problem.setup()
    phase.set_state_val("x", [1.0, 1.0])
    phase.set_state_val("v", [0.0, 0.0])
    phase.set_parameter_val("mass", 8.0)
    problem.final_setup()
    return problem


def _quadcopter(seed: int) -> Any:
    dymos, om = _modules()

    class Flight(om.ExplicitComponent):
        """Rates of a quadcopter's state (v, r, ω) and its thrusts' distance from the peak."""

        def initialize(self) -> None:
            self.options.declare("num_nodes", types=int)

        def setup(self) -> None:
            n = self.options["num_nodes"]
            for name, width, unit in (("v", 3, "m/s"), ("r", 4, None), ("w", 3, "rad/s")):
                self.add_input(name, shape=(n, width), units=unit)
                rate = "1/s" if unit is None else f"{unit}/s"
                self.add_output(f"{name}_dot", shape=(n, width), units=rate)
            self.add_input("u", shape=(n, 4), units="N")
            self.add_output("excess", shape=(n, 4), units="N")
            for name, unit in (("radius", "m"), ("mass", "kg"), ("peak", "N")):
                self.add_input(name, shape=1, units=unit)
            self.declare_partials("*", "*", method="cs")
            self.declare_coloring(wrt="*", method="cs", show_summary=False)

        def compute(self, inputs: Any, outputs: Any) -> None:
            u, spin = inputs["u"], inputs["w"]
            w, x, y, z = inputs["r"].T
            square = w * w + x * x + y * y + z * z
            up = np.stack([x * z + w * y, y * z - w * x, square / 2 - x * x - y * y], axis=1)
            thrust = 2 * up / square[:, None] * np.sum(u, axis=1)[:, None]
            outputs["v_dot"] = thrust / inputs["mass"] - [0, 0, rotors.GRAVITY]
            a, b, c = spin.T
            rate = [-x * a - y * b - z * c, w * a + y * c - z * b]
            rate += [w * b + z * a - x * c, w * c + x * b - y * a]
            outputs["r_dot"] = 0.5 * np.stack(rate, axis=1)
            arms = inputs["radius"] * rotors.ARMS
            torque = u @ np.stack([arms[:, 1], -arms[:, 0], rotors.DRAG], axis=1)
            gyration = _cross(spin, rotors.INERTIA * spin)
            outputs["w_dot"] = (torque - gyration) / rotors.INERTIA
            outputs["excess"] = u - inputs["peak"]

    segments = rotors.KNOTS - 1
    phase = dymos.Phase(
        ode_class=Flight, transcription=dymos.GaussLobatto(num_segments=segments, order=3)
    )
    problem = _problem(phase)
    phase.set_time_options(
        fix_initial=True, fix_duration=True, duration_val=rotors.DURATION, units="s"
    )
    phase.add_state("p", rate_source="v", shape=(3,), units="m")
    phase.add_state(
        "v", rate_source="v_dot", targets=["v"], shape=(3,), units="m/s", fix_initial=True
    )
    phase.add_state("r", rate_source="r_dot", targets=["r"], shape=(4,), units=None)
    phase.add_state(
        "w", rate_source="w_dot", targets=["w"], shape=(3,), units="rad/s", fix_initial=True
    )
    phase.add_control("u", targets=["u"], shape=(4,), units="N", lower=0.0, upper=5.0)
    for name, lower, upper, unit in (
        ("radius", 0.1, 0.5, "m"),
        ("mass", 0.3, 0.7, "kg"),
        ("peak", 0.0, 5.0, "N"),
    ):
        phase.add_parameter(
            name, opt=True, lower=lower, upper=upper, units=unit, static_target=True
        )
    phase.add_path_constraint("excess", shape=(4,), units="N", upper=0.0)
    phase.add_objective("peak")
    angle = np.linspace(0.0, 2 * np.pi, rotors.KNOTS)
    circle = np.stack([np.cos(angle), np.sin(angle), np.full_like(angle, rotors.ALTITUDE)], axis=1)
    ends = np.array([0, *range(3, 3 * segments, 3), 3 * segments - 1])  # nodes at segments' ends
    problem.model.add_constraint(
        "traj.phase0.timeseries.p",
        indices=(3 * ends[:, None] + np.arange(3)).ravel(),
        flat_indices=True,
        equals=circle.ravel(),
    )
    phase.add_boundary_constraint("r", loc="initial", indices=[0], equals=1.0)  # its length is free
    problem.setup()
    times = np.linspace(0.0, rotors.DURATION, rotors.KNOTS)
    hover = rotors.NOMINAL_WEIGHT / 4 + np.random.default_rng(seed).uniform(
        -0.1, 0.1, (rotors.KNOTS, 4)
    )
    phase.set_state_val("p", circle, time_vals=times)
    phase.set_state_val("v", np.zeros((rotors.KNOTS, 3)), time_vals=times)
    phase.set_state_val("r", np.tile([1.0, 0, 0, 0], (rotors.KNOTS, 1)), time_vals=times)
    phase.set_state_val("w", np.zeros((rotors.KNOTS, 3)), time_vals=times)
    phase.set_control_val("u", hover, time_vals=times)
    phase.set_parameter_val("radius", 0.3)
    phase.set_parameter_val("mass", 0.5)
    phase.set_parameter_val("peak", float(hover.max()) * 1.1)
    problem.final_setup()
    return problem


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a × b row by row, complex numbers allowed."""
    return np.stack(
        [
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ],
        axis=1,
    )
