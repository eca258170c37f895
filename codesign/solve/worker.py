"""One process of a multi-start: takes a problem, then seeds, and sends back solutions.

Started by `codesign.solve.parallel` as ``python -m codesign.solve.worker FD``; FD is its end of a
pipe. A new interpreter, never a fork: solver objects and JAX do not survive one.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

from codesign.errors import CodesignError


def main(descriptor: int) -> None:
    """Serve one parent until it sends None or goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides; a running solve listens
    pipe = Connection(descriptor)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # solvers print; the pipe is what counts
    try:
        problem = _problem(pipe)
        problem.transcription  # noqa: B018  built once, for all seeds
        pipe.send(("ready", None))
        while (task := pipe.recv()) is not None:
            pipe.send(_solved(problem, **task))
    except (EOFError, BrokenPipeError):
        return
    except Exception as error:
        pipe.send(("failed", _told(error)))


def _problem(pipe: Connection) -> Any:
    """Return the problem that the parent sends, see `codesign.solve.parallel`."""
    if (where := pipe.recv()) is None:
        return pipe.recv()
    path, name, module = where
    from codesign.problem_source import problem_class

    cls = problem_class(f"{path}:{name}")
    sys.modules[module] = sys.modules[cls.__module__]  # "__main__" where the parent ran the file
    problem = object.__new__(cls)
    problem.__dict__.update(pipe.recv())
    return problem


def _solved(problem: Any, **options: Any) -> tuple[str, Any]:
    """Return what a start came to: a solution, or the mistake of the problem it ran into."""
    from draft_core.errors import DraftError

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return "solution", problem.solve(progress=lambda progress: None, **options)
    except (CodesignError, DraftError) as error:
        return "mistake", error
    except KeyboardInterrupt:
        return "mistake", CodesignError("interrupted")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _told(error: Exception) -> str:
    if isinstance(error, CodesignError):
        return str(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"


if __name__ == "__main__":
    main(int(sys.argv[1]))
