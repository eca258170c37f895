"""One call of IPOPT through CasADi: a stage of the homotopy."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from codesign.nlp import ElasticProgram, JointProgram, NonlinearProgram, PenaltyProgram
from codesign.solve.status import SolveStatus

Vector = NDArray[np.float64]
AnyProgram = NonlinearProgram | JointProgram | ElasticProgram | PenaltyProgram
_BOUND_RELAXATION = 1e-8  # IPOPT's bound_relax_factor
IterationFunction = Callable[[int, float, float], None]


@dataclass
class Point:
    """A primal-dual point of the nonlinear program, in scaled variables."""

    x: Vector
    lam_x: Vector | None = None
    lam_g: Vector | None = None


@dataclass(frozen=True)
class StageResult:
    """What one IPOPT run gave.

    Attributes:
        point: final point.
        return_status: IPOPT's own word.
        iterations: iterations used.
        objective: objective (weighted) at the point.
        violation: largest scaled violation of g's bounds at the point.
        seconds: wall time; [s].
        timings: seconds spent in each derivative function and in all of them.
    """

    point: Point
    return_status: str
    iterations: int
    objective: float
    violation: float
    seconds: float
    timings: dict[str, float] = field(default_factory=dict)

    @property
    def converged(self) -> bool:
        """Whether IPOPT met its tolerances."""
        return self.return_status == "Solve_Succeeded"


@dataclass
class StopRequest:
    """Asked between iterations: stop at a deadline or when interrupted."""

    deadline: float = float("inf")
    interrupted: bool = False

    @property
    def timed_out(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline

    @property
    def reason(self) -> SolveStatus:
        """What a solve that was stopped should be called."""
        return SolveStatus.INTERRUPTED if self.interrupted else SolveStatus.TIME_LIMIT

    def __bool__(self) -> bool:
        return self.interrupted or self.timed_out


@contextmanager
def interrupt_stops(stop: StopRequest) -> Iterator[None]:
    """Turn Ctrl-C into a stop request while the solver runs; a second one raises as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)

    def on_interrupt(signum: int, frame: Any) -> None:
        if stop.interrupted:
            raise KeyboardInterrupt
        stop.interrupted = True

    signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def violation(g: Vector, lower: Vector, upper: Vector) -> float:
    """Return the largest amount by which g leaves its bounds; inf when it is not finite."""
    if not np.all(np.isfinite(g)):
        return float("inf")
    if not len(g):
        return 0.0
    return float(np.max(np.maximum(np.maximum(lower - g, g - upper), 0.0)))


class Monitor(ca.Callback):
    """Watches iterations: reports, keeps the least infeasible point and stops on request."""

    def __init__(self, program: AnyProgram) -> None:
        ca.Callback.__init__(self)
        self._n, self._m = program.size, len(program.lower)
        self._lower, self.upper = program.lower, program.upper
        self.stop = StopRequest()
        self.report: IterationFunction = lambda iteration, objective, violation: None
        self.reset()
        self.construct("monitor", {})

    def reset(self) -> None:
        """Forget what was watched."""
        self.iteration = 0
        self.best_violation = float("inf")
        self.best_objective = float("inf")
        self.best: Vector | None = None
        self.failure: Exception | None = None

    def get_n_in(self) -> int:
        """Return CasADi's number of inputs."""
        return ca.nlpsol_n_out()

    def get_n_out(self) -> int:
        """Return CasADi's number of outputs."""
        return 1

    def get_name_in(self, i: int) -> str:
        """Return the name of an input."""
        return ca.nlpsol_out(i)

    def get_name_out(self, i: int) -> str:
        """Return the name of the output."""
        return "ret"

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        """Return the shape of an input."""
        sizes = {"x": self._n, "lam_x": self._n, "g": self._m, "lam_g": self._m, "f": 1}
        sizes["lam_p"] = 2
        return ca.Sparsity.dense(sizes[ca.nlpsol_out(i)], 1)

    def eval(self, arg: Any) -> list[float]:
        """Watch one iteration; return 1 to stop."""
        values = dict(zip([ca.nlpsol_out(i) for i in range(len(arg))], arg, strict=True))
        f = float(values["f"])
        worst = violation(np.array(values["g"]).ravel(), self._lower, self.upper)
        tolerance = 1e-6
        better = worst < min(self.best_violation, np.inf) and self.best_violation > tolerance
        if better or (worst <= tolerance and f < self.best_objective):
            self.best = np.array(values["x"]).ravel()
            self.best_violation, self.best_objective = worst, f
        try:
            self.report(self.iteration, f, worst)
        except Exception as error:  # CasADi would print it and go on: it is raised after the run
            self.failure = error
        self.iteration += 1
        return [1.0 if self.stop or self.failure else 0.0]


def _moved_in(low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Return a box smaller by what IPOPT lets x leave it, unless it is hardly wider than that.

    Put back into its box afterwards, a speed at its bound would no longer fit the dynamics: over a
    step of 3 ms an error of 1e-8 is one of 1e-5 in the force.
    """
    lowest, highest = np.isfinite(low), np.isfinite(high)
    below = np.where(lowest, _BOUND_RELAXATION * np.maximum(1.0, np.abs(low)), 0.0)
    above = np.where(highest, _BOUND_RELAXATION * np.maximum(1.0, np.abs(high)), 0.0)
    has_room = ~(lowest & highest) | (high - low > 100 * (below + above))
    return np.where(has_room, low + below, low), np.where(has_room, high - above, high)


class Ipopt:
    """IPOPT bound to one nonlinear program; built once, run for every stage and seed."""

    def __init__(self, program: AnyProgram, options: dict[str, Any]) -> None:
        """Args: the program, and IPOPT's own options by their names."""
        self._program = program
        self._monitor = Monitor(program)
        settings = {
            "ipopt": {"print_level": 0, "sb": "yes", **options},
            "print_time": False,
            "iteration_callback": self._monitor,
            "error_on_fail": False,
            **program.derivatives,
        }
        self._solver = ca.nlpsol("program", "ipopt", program.problem, settings)

    def run(
        self,
        start: Point,
        bounds: tuple[Vector, Vector],
        parameters: tuple[float, float],
        stop: StopRequest,
        report: IterationFunction,
        upper: Vector | None = None,
    ) -> StageResult:
        """Solve one stage.

        Args:
            start: where to begin; multipliers are used when given.
            bounds: lower and upper bounds of x.
            parameters: (ε, σ), see `NonlinearProgram`.
            stop: asked every iteration.
            report: called every iteration with (iteration, objective, violation).
            upper: upper bounds of g where they are not the program's own.
        """
        monitor, program = self._monitor, self._program
        monitor.reset()
        monitor.stop, monitor.report = stop, report
        monitor.upper = program.upper if upper is None else upper
        arguments: dict[str, Any] = {
            "x0": start.x,
            "p": list(parameters),
            **dict(zip(("lbx", "ubx"), _moved_in(*bounds), strict=True)),
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
        status = stats["return_status"]
        final = violation(np.array(result["g"]).ravel(), program.lower, monitor.upper)
        if status == "User_Requested_Stop" and monitor.best is not None:
            point, final = Point(monitor.best), monitor.best_violation
        timings = {k[7:]: v for k, v in stats.items() if k.startswith("t_wall_nlp")}
        iterations = min(max(int(stats["iter_count"]), 0), monitor.iteration)  # unset if none ran
        return StageResult(point, status, iterations, float(result["f"]), final, seconds, timings)
