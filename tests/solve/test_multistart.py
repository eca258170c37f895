"""Several starts, here or in several processes: same answers, all on record, crashes survived."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from codesign import load
from codesign.errors import ProblemError, SolverError
from codesign.problem_source import problem_class
from codesign.solve.starts_record import (
    StartRecord,
    sentence,
    statistics,
    wilson_interval,
)
from problems.quadcopter.problem import Quadcopter

ROOT = Path(__file__).resolve().parents[2]


def quick() -> Quadcopter:
    return Quadcopter(knots=4, duration=1.5, circle_radius=0.3)


@pytest.fixture(scope="module")
def alone():
    return quick().solve(seed=3, starts=3)


def test_a_seed_has_the_same_answer_in_every_process(alone):
    together = quick().solve(seed=3, starts=3, jobs=2)
    assert [row.seed for row in alone.starts] == [3, 4, 5]
    for here, there in zip(alone.starts, together.starts, strict=True):
        assert (here.seed, here.status, here.iterations) == (
            there.seed,
            there.status,
            there.iterations,
        )
        assert here.objective == there.objective
        assert here.design == there.design
    assert together.seed == alone.seed
    assert (together.q == alone.q).all()


def test_the_best_start_is_the_answer_and_all_are_saved(alone, tmp_path):
    solved = [row for row in alone.starts if row.success]
    assert alone.objective == min(row.objective for row in solved)
    alone.save(tmp_path / "out")
    assert load(tmp_path / "out").starts == alone.starts
    assert quick().solve(seed=3).starts == ()


def test_progress_tells_the_best_so_far():
    notes: list[str] = []
    quick().solve(starts=2, progress=lambda p: notes.append(p.note) if p.note else None)
    assert [note.split(",")[0] for note in notes] == ["1 of 2 starts", "2 of 2 starts"]
    assert "best" in notes[-1]


CRASHING = """
    import os
    from pathlib import Path
    from problems.quadcopter.problem import Quadcopter

    class Fragile(Quadcopter):
        '''A quadcopter whose start kills its process.'''
        robot = {robot!r}
        knots, duration, circle_radius = 4, 1.5, 0.3
        calls = 0

        def keyframes(self):
            Fragile.calls += 1
            if "codesign.solve.worker" in Path("/proc/self/cmdline").read_text():
                mark = {mark!r}
                if not os.path.exists(mark):
                    open(mark, "w").close()
                    os.kill(os.getpid(), 9)
            return super().keyframes()
"""


SEVERAL = """
    from codesign import Tasks
    from problems.quadcopter.problem import Quadcopter

    class Small(Quadcopter):
        '''A quadcopter of this file.'''
        robot = {robot!r}
        knots, duration, circle_radius = 4, 1.5, 0.3

    class Pair(Tasks):
        '''Two circles of one quadcopter.'''
        def tasks(self):
            return {{"small": Small(), "smaller": Small(circle_radius=0.2)}}

    if __name__ == "__main__":
        found = Pair().solve(starts=2, jobs=2)
        print([row.status for row in found.starts])
"""


def test_several_tasks_of_a_file_cross_to_other_processes(tmp_path):
    file, robot = tmp_path / "several.py", str(ROOT / "problems" / "quadcopter" / "robot")
    file.write_text(textwrap.dedent(SEVERAL).format(robot=robot), encoding="utf-8")
    solution = problem_class(f"{file}:Pair")().solve(starts=2, jobs=2)
    assert [row.status for row in solution.starts] == ["solved", "solved"]
    assert set(solution.tasks) == {"small", "smaller"}
    script = subprocess.run(
        [sys.executable, str(file)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert script.stdout == "['solved', 'solved']\n", script.stderr


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_a_crashed_process_is_recorded_and_the_others_go_on(tmp_path):
    file = tmp_path / "fragile.py"
    robot = str(ROOT / "problems" / "quadcopter" / "robot")
    file.write_text(
        textwrap.dedent(CRASHING).format(robot=robot, mark=str(tmp_path / "dead")),
        encoding="utf-8",
    )
    solution = problem_class(f"{file}:Fragile")().solve(starts=3, jobs=2)
    statuses = [row.status for row in solution.starts]
    assert statuses.count("crashed") == 1
    assert statuses.count("solved") == 2
    (crash,) = (row for row in solution.starts if row.status == "crashed")
    assert "signal 9" in crash.message
    assert math.isnan(crash.objective)
    assert "1 crashed" in sentence(solution.starts)


def test_a_problem_that_cannot_cross_says_what_to_do():
    class Local(Quadcopter):
        """Defined inside a function."""

        robot = str(ROOT / "problems" / "quadcopter" / "robot")
        knots = 4

    Local.__module__ = "typed_at_a_prompt"
    with pytest.raises(ProblemError, match="top of a file, or use jobs=1"):
        Local().solve(starts=2, jobs=2)


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2"])
def test_jobs_is_a_whole_number(jobs):
    with pytest.raises(SolverError, match="jobs is"):
        quick().solve(starts=2, jobs=jobs)


SCRIPT = """
    from problems.hexapod.problem import Hexapod

    if __name__ == "__main__":
        tell = lambda progress: print(progress.note, flush=True)
        found = Hexapod(knots=6, distance=0.1).solve(starts=200, jobs=2, progress=tell)
        print([row.status for row in found.starts])
"""


@pytest.mark.slow
def test_an_interrupt_keeps_what_there_is_and_leaves_no_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while "1 of 200 starts" not in process.stdout.readline():
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    statuses = out.splitlines()[-1]
    assert "solved" in statuses or "interrupted" in statuses, err
    assert statuses.count("'") < 2 * 50, "it went on after the interrupt"
    listed = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True)
    assert f"{process.pid} " not in "".join(
        line for line in listed.stdout.splitlines() if "codesign.solve.worker" in line
    )


def test_wilsons_interval_has_its_published_values():
    # Wilson's interval of 8 of 10 is 0.490 to 0.943, of 0 of 10 0 to 0.278 (Brown, Cai, DasGupta
    # 2001, Stat. Sci. 16).
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_statistics_are_of_the_successes():
    def row(seed: int, objective: float, success: bool) -> StartRecord:
        return StartRecord(seed, "solved", success, objective, {}, 1, 1.0 + seed, "")

    told = statistics([row(0, 3.0, True), row(1, 1.0, True), row(2, 0.5, False)])
    assert (told.starts, told.solved) == (3, 2)
    assert (told.best, told.median, told.worst) == (1.0, 2.0, 3.0)
    assert told.median_wall_s == 2.0
    assert "2 of 3 starts solved" in sentence(
        [row(0, 3.0, True), row(1, 1.0, True), row(2, 9, False)]
    )
