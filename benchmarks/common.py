"""What every benchmark shares: arguments, clocks, a printed table and a JSON record.

Each script answers one question: ``python -m benchmarks.NAME [--quick] [--seeds N] [--out DIR]``.
Ratios are of figures taken in one run, in turns, so that a busy machine slows both sides.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from codesign.solve.ipopt import StageResult

Vector = NDArray[np.float64]

OUT = Path("out/benchmarks")
_PACKAGES = (
    *("codesign", "casadi", "jax", "jaxlib", "mujoco", "mujoco-mjx", "numpy", "scipy"),
    *("dymos", "openmdao"),
)


@dataclass(frozen=True)
class Settings:
    """What was asked for on the command line.

    Attributes:
        quick: the smallest sizes, to see that the script works; its figures say nothing.
        seeds: number of random starts.
        out: folder of the JSON record.
    """

    quick: bool
    seeds: int
    out: Path


def settings(description: str | None, seeds: int, arguments: Sequence[str] | None) -> Settings:
    """Read the command line of a benchmark.

    Args:
        description: what `--help` says; its first line is used.
        seeds: number of random starts unless `--seeds` or `--quick` says otherwise.
        arguments: what follows the program's name; the process's own by default.
    """
    summary = (description or "").splitlines()[0] if description else None
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--quick", action="store_true", help="smallest sizes; proves nothing")
    parser.add_argument("--seeds", type=positive, help=f"random starts ({seeds} by default)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"folder of the JSON ({OUT})")
    given = parser.parse_args(arguments)
    return Settings(given.quick, given.seeds or (1 if given.quick else seeds), given.out)


def positive(text: str) -> int:
    """Return a whole number, 1 or more, of a command line."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number, 1 or more")
    return value


def machine() -> dict[str, Any]:
    """Return what a reader must know to compare figures: machine, versions, date, command."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", "-m", _module(), *sys.argv[1:]]),
        "cpus": os.cpu_count(),
        "processor": _processor(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _module() -> str:
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name if spec is not None else Path(sys.argv[0]).name


def _processor() -> str:
    """Return the processor's name where the system tells it."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def record(name: str, asked: Settings, results: Mapping[str, Any]) -> Path:
    """Write DIR/NAME.json with the machine's facts and return its path, which is printed too."""
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / f"{name}.json"
    content = {"benchmark": name, "quick": asked.quick, "machine": machine(), **results}
    path.write_text(json.dumps(plain(content), indent=1) + "\n", encoding="utf-8")
    print(f"\n{path}")
    return path


def plain(value: Any) -> Any:
    """Return a value as JSON has it; what is not a finite number becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: the first column flush left, the others flush right."""
    cells = [list(columns), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    print(f"\n{title}")
    for row in cells:
        first = row[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join([f"  {first}", *rest]).rstrip())


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def median(values: Sequence[float]) -> float:
    """Return the median, NaN of nothing."""
    return float(np.median(values)) if len(values) else math.nan


@contextmanager
def lap(times: dict[str, float], name: str) -> Iterator[None]:
    """Add the wall time of a block to times[name]; [s]."""
    began = time.perf_counter()
    try:
        yield
    finally:
        times[name] = times.get(name, 0.0) + time.perf_counter() - began


def seconds_per_call(
    calls: Mapping[str, Callable[[], Any]], budget: float = 0.1, rounds: int = 7
) -> dict[str, float]:
    """Return the median time of each call; [s].

    The calls take turns: each round runs every one of them, repeated to fill its share of time.

    Args:
        calls: functions of nothing, by name.
        budget: time for one call in one round; [s].
        rounds: number of rounds.
    """
    repeats = {}
    for name, call in calls.items():
        call()
        once = _timed(call, 1)
        repeats[name] = max(1, int(budget / max(once, 1e-7)))
    samples = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            samples[name].append(_timed(call, repeats[name]))
    return {name: median(values) for name, values in samples.items()}


def _timed(call: Callable[[], Any], repeats: int) -> float:
    began = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - began) / repeats


@dataclass(frozen=True)
class RecordedStage:
    """One IPOPT run as the driver asked for it.

    Attributes:
        start: where it began, scaled variables; a feasibility stage has its stretch after them.
        bounds: lower and upper bounds of x.
        parameters: (relaxation, weight of the objective).
        result: what it gave.
        callback_seconds: time spent in the iteration callback; [s].
    """

    start: Vector
    bounds: tuple[Vector, Vector]
    parameters: tuple[float, float]
    result: StageResult
    callback_seconds: float


@dataclass
class Recording:
    """What the project asked of IPOPT while it was watched.

    Attributes:
        stages: every run, in order.
        setup_s: time spent in making solvers; [s].
    """

    stages: list[RecordedStage] = field(default_factory=list)
    setup_s: float = 0.0

    @property
    def solve_s(self) -> float:
        """Time of all runs; [s]."""
        return sum(stage.result.seconds for stage in self.stages)

    @property
    def iterations(self) -> int:
        """Iterations of all runs."""
        return sum(stage.result.iterations for stage in self.stages)


@contextmanager
def recorded() -> Iterator[Recording]:
    """Watch every IPOPT solver that the project makes and runs while the context is open."""
    from codesign.solve.ipopt import Ipopt

    recording = Recording()
    make, run = Ipopt.__init__, Ipopt.run

    def timed_make(self: Ipopt, *arguments: Any) -> None:
        began = time.perf_counter()
        make(self, *arguments)
        recording.setup_s += time.perf_counter() - began

    def recorded_run(
        self: Ipopt, start: Any, bounds: Any, parameters: Any, stop: Any, report: Any, *more: Any
    ) -> StageResult:
        result = run(self, start, bounds, parameters, stop, report, *more)
        callback = float(self._solver.stats().get("t_wall_callback_fun", 0.0))
        stage = RecordedStage(start.x.copy(), bounds, parameters, result, callback)
        recording.stages.append(stage)
        return result

    with patch.object(Ipopt, "__init__", timed_make), patch.object(Ipopt, "run", recorded_run):
        yield recording
