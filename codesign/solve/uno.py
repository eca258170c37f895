"""One call of Uno through CasADi: a second opinion by a sequential quadratic method.

Uno's default preset is a filter SQP method, which shares no algorithm with IPOPT's barrier. CasADi
takes no derivative functions for it: it differentiates the program's expressions by itself, which
is slower and gives the same numbers.

References:
    Vanaret and Leyffer (2024), Unifying nonlinearly constrained optimization, arXiv:2406.13454.
"""

from __future__ import annotations

import time
from typing import Any

import casadi as ca
import numpy as np

from codesign.solve.ipopt import (
    AnyProgram,
    IterationFunction,
    Monitor,
    Point,
    StageResult,
    StopRequest,
    Vector,
    violation,
)

# Uno's words → IPOPT's, which `codesign.solve.status` explains
_WORDS = {
    "Converged with feasible KKT point": "Solve_Succeeded",
    "Converged with feasible FJ point": "Solved_To_Acceptable_Level",
    "Converged with infeasible stationary point": "Infeasible_Problem_Detected",
    "Terminated with feasible small step": "Search_Direction_Becomes_Too_Small",
    "Terminated with infeasible small step": "Search_Direction_Becomes_Too_Small",
    "Terminated with unbounded problem": "Diverging_Iterates",
}


class Uno:
    """Uno bound to one nonlinear program; built once, run for every stage and seed."""

    def __init__(self, program: AnyProgram, tolerance: float, max_iterations: int) -> None:
        """Args: the program, the tolerance of every residual, and the most iterations."""
        self._program = program
        self._monitor = Monitor(program)
        settings = {
            "uno": {
                "primal_tolerance": tolerance,
                "dual_tolerance": tolerance,
                "max_iterations": max_iterations,
                "logger": "SILENT",
            },
            "print_time": False,
            "iteration_callback": self._monitor,
            "error_on_fail": False,
        }
        self._solver = ca.nlpsol("program", "uno", program.problem, settings)

    def run(
        self,
        start: Point,
        bounds: tuple[Vector, Vector],
        parameters: tuple[float, float],
        stop: StopRequest,
        report: IterationFunction,
        upper: Vector | None = None,
    ) -> StageResult:
        """Solve one stage; see `codesign.solve.ipopt.Ipopt.run`."""
        monitor, program = self._monitor, self._program
        monitor.reset()
        monitor.stop, monitor.report = stop, report
        monitor.upper = program.upper if upper is None else upper
        arguments: dict[str, Any] = {
            "x0": start.x,
            "p": list(parameters),
            "lbx": bounds[0],
            "ubx": bounds[1],
            "lbg": program.lower,
            "ubg": monitor.upper,
        }
        if start.lam_x is not None:
            arguments |= {"lam_x0": start.lam_x, "lam_g0": start.lam_g}
        began = time.perf_counter()
        result = self._solver(**arguments)
        seconds = time.perf_counter() - began
        if monitor.failure is not None:
            raise monitor.failure
        stats = self._solver.stats()
        point = Point(*(np.array(result[k]).ravel() for k in ("x", "lam_x", "lam_g")))
        final = violation(np.array(result["g"]).ravel(), program.lower, monitor.upper)
        iterations = int(stats["iter_count"])
        status = _WORDS.get(str(stats["return_status"]), "Maximum_Iterations_Exceeded")
        if stop and status == "Maximum_Iterations_Exceeded":
            status = "User_Requested_Stop"
            if monitor.best is not None:
                point, final = Point(monitor.best), monitor.best_violation
        return StageResult(point, status, iterations, float(result["f"]), final, seconds)
