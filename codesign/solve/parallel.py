"""Random starts in several processes: a crashed one is recorded, and the others go on.

Each process is a new interpreter that builds the program once and takes one seed after another, so
that a seed's answer does not depend on how many there are or on which process it fell to.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codesign.errors import ProblemError, SolverError

if TYPE_CHECKING:
    from codesign.problem import Problem
    from codesign.solve.ipopt import StopRequest
    from codesign.tasks import Tasks

Outcome = tuple[int, Any, float]  # seed, a solution or an exception, wall time [s]
_GRACE = 10.0  # [s] that a process gets to end after it was asked to


class Crashed(SolverError):
    """A process died while it worked on a start."""


def parallel(
    problem: Problem | Tasks,
    seeds: Sequence[int],
    jobs: int,
    options: Mapping[str, Any],
    stop: StopRequest,
) -> Iterator[Outcome]:
    """Solve a problem from several seeds; yield what came of each as it ends.

    Args:
        problem: the robot and the task.
        seeds: the starts.
        jobs: most processes at once.
        options: keyword arguments of `Problem.solve` for each start.
        stop: no start begins after it asks to stop; running ones are stopped.

    Raises:
        ProblemError: the problem cannot cross to another process, or not be built there.
    """
    if os.name != "posix":
        raise SolverError("jobs needs a POSIX system; use jobs=1")
    recipe, waiting = _recipe(problem), list(seeds)
    workers = [_Worker(recipe) for _ in range(min(jobs, len(waiting)))]
    asked = False
    try:
        while any(worker.seed is not None or not (worker.is_ready or stop) for worker in workers):
            if stop.interrupted and not asked:
                asked = True
                for worker in workers:
                    worker.interrupt()
            for worker in _heard(workers):
                yield from worker.outcome()
                if worker.is_dead:
                    workers.remove(worker)
                    worker.close()
                    if waiting and not stop:
                        workers.append(_Worker(recipe))
                elif worker.is_ready and waiting and not stop:
                    worker.give(waiting.pop(0), _with_deadline(options, stop))
            if not workers and waiting and not stop:
                raise ProblemError("every process of the multi-start ended before its first start")
    finally:
        for worker in workers:
            worker.close()


def _with_deadline(options: Mapping[str, Any], stop: StopRequest) -> dict[str, Any]:
    left = stop.deadline - time.monotonic()
    return {**options, "time_limit": None if left == float("inf") else max(left, 1e-3)}


def _heard(workers: Sequence[_Worker]) -> list[_Worker]:
    """Return the workers that have something to say, waiting for it."""
    ready = wait([worker.pipe for worker in workers], timeout=0.2)
    return [worker for worker in workers if worker.pipe in ready]


def _recipe(problem: Problem | Tasks) -> tuple[tuple[str, ...] | None, Any]:
    """Return how another process gets the problem: where its class is, and what it is made of.

    The first is None for a class that is imported; the second is then the problem itself. It goes
    by itself, as it may refer to the file that the first names.

    Raises:
        ProblemError: its class is neither in a module nor in a file.
    """
    kind = type(problem)
    module = sys.modules.get(kind.__module__)
    path = getattr(module, "__file__", None)
    if _is_importable(kind.__module__):
        return None, problem
    if path is None or not Path(path).is_file() or "." in kind.__qualname__:
        raise ProblemError(
            f"{kind.__name__} is defined where other processes cannot find it; put the class at "
            "the top of a file, or use jobs=1"
        )
    if kind.__module__ == "__main__" and "if __name__" not in Path(path).read_text("utf-8"):
        raise ProblemError(
            f"'{path}' runs as a script and solves in several processes; put what it runs under "
            "'if __name__ == \"__main__\":', as each process reads the file"
        )
    where = str(Path(path).resolve()), kind.__name__, kind.__module__
    return where, problem.__getstate__()


def _is_importable(module: str) -> bool:
    """Tell whether another interpreter finds a module by its name, loaded here or not."""
    top = module.partition(".")[0]
    if top == "__main__":
        return False
    return any(finder.find_spec(top, None) is not None for finder in sys.meta_path)


class _Worker:
    """A process and the start it works on.

    Attributes:
        pipe: our end of the pipe to it.
        seed: the start it works on, None between two.
        is_ready: whether it has built the program.
        is_dead: whether it is gone.
    """

    def __init__(self, recipe: tuple[Any, ...]) -> None:
        self.pipe, theirs = Pipe()
        assert isinstance(theirs, Connection)
        command = [sys.executable, "-m", "codesign.solve.worker", str(theirs.fileno())]
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches the parent alone, which passes it on once
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )
        theirs.close()
        self._errors: list[bytes] = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        self.seed: int | None = None
        self.is_ready = self.is_dead = False
        self._began = time.monotonic()
        try:
            for part in recipe:
                self.pipe.send(part)
        except (BrokenPipeError, OSError):
            self.is_dead = True

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors = [*self._errors[-20:], line]

    def give(self, seed: int, options: Mapping[str, Any]) -> None:
        """Hand it a start."""
        self.seed, self._began = seed, time.monotonic()
        try:
            self.pipe.send({"seed": seed, **options})
        except (BrokenPipeError, OSError):
            self.is_dead = True

    def interrupt(self) -> None:
        """Have a running start stop and tell how far it came."""
        if self.seed is not None:
            self._process.send_signal(signal.SIGINT)

    def outcome(self) -> Iterator[Outcome]:
        """Yield what came of its start, if that is what it says.

        Raises:
            ProblemError: it could not build the problem.
        """
        try:
            kind, value = self.pipe.recv()
        except (EOFError, ConnectionResetError, OSError):
            kind, value = "died", None
        if kind == "ready":
            self.is_ready = True
            return
        seconds, seed = time.monotonic() - self._began, self.seed
        self.seed = None
        if kind == "failed":
            self.is_dead = True
            raise ProblemError(f"the problem cannot be solved in another process: {value}")
        if kind == "died":
            self.is_dead = True
            if seed is None:
                raise ProblemError(f"a process of the multi-start ended at once: {self._why()}")
            yield seed, Crashed(f"the process of this start died ({self._why()})"), seconds
            return
        assert seed is not None
        assert value is not None
        yield seed, value, seconds

    def _why(self) -> str:
        code = self._process.wait(_GRACE)
        self._reader.join(1.0)
        last = b"".join(self._errors[-1:]).decode(errors="replace").strip()
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return f"{how}: {last}" if last else how

    def close(self) -> None:
        """End the process, whatever it does."""
        try:
            if self.seed is None and not self.is_dead:
                self.pipe.send(None)
            else:
                self._process.terminate()
        except (BrokenPipeError, OSError):
            pass
        self.pipe.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()
