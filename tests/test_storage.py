"""Results on disk: saved whole or not at all, and checked when they are read back."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codesign import Problem, load
from codesign.cli import main
from codesign.constraints import equal
from codesign.errors import SolutionError
from codesign.objectives import effort_squared
from codesign.replay import Replay
from codesign.result_folder import RESULT_FILES, check_result_folder
from codesign.solution import Solution
from codesign.storage import ARRAYS
from draft_core.swap import clear_leftovers, replacing
from tests.support import ROOT


class Push(Problem):
    """A block on a rail moves 1 m from rest in 1 s."""

    robot = ROOT / "tests/robots/rail"
    design = {"reach": (1.2, 2.0)}
    duration, knots = 1.0, 4
    step_range = (1.0, 1.0)

    def objective(self, traj):
        return effort_squared(traj) + traj.design["reach"]

    def constraints(self, traj):
        yield equal(traj.q[0, 0], 0.0, name="start", unit="m")
        yield equal(traj.q[-1, 0], 1.0, name="end", unit="m")
        yield equal(traj.v[0], 0.0, name="start speed", unit="m/s")


@pytest.fixture(scope="module")
def push() -> Solution:
    return Push().solve().require_success()


@pytest.fixture(scope="module")
def saved(push, tmp_path_factory) -> Path:
    return push.save(tmp_path_factory.mktemp("saved") / "result")


@pytest.fixture
def result(saved, tmp_path) -> Path:
    """A copy of the saved result to break."""
    return shutil.copytree(saved, tmp_path / "result")


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


# --- saving --------------------------------------------------------------------------------------


def test_what_is_saved_is_what_is_loaded(push, saved):
    loaded = load(saved)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(push, name))
    for name in ("problem", "seed", "status", "message", "objective", "design_values", "notes"):
        assert getattr(loaded, name) == getattr(push, name)
    assert loaded.phases == push.phases
    assert loaded.audit.worst == push.audit.worst
    assert loaded.robot_source == push.robot_source
    np.testing.assert_array_equal(loaded.audit.energy.change, push.audit.energy.change)


def test_a_result_consists_of_the_files_that_a_next_solve_may_replace(saved):
    assert names(saved) == RESULT_FILES


def test_a_result_saved_again_is_the_same(saved, tmp_path):
    load(saved).save(tmp_path / "again")
    first, second = (
        json.loads((p / "solution.json").read_text()) for p in (saved, tmp_path / "again")
    )
    assert first == second


def test_numbers_that_are_not_finite_survive_as_nan(push, tmp_path):
    worst = (replace(push.audit.worst[0], amount=np.inf),)
    failed = replace(
        push,
        status=type(push.status).NUMERICAL_FAILURE,
        objective=np.nan,
        markers={"gone": [np.nan, 0.0, 0.0]},
        audit=replace(push.audit, worst=worst),
        q=np.full_like(push.q, np.nan),
    )
    loaded = load(failed.save(tmp_path / "failed"))
    assert np.isnan(loaded.objective)
    assert np.isnan(loaded.q).all()
    assert np.isnan(loaded.audit.worst[0].amount)


class _FailingOnce:
    """Counts calls that change the disk, and raises at one of them."""

    def __init__(self, patch, error: BaseException, at: int):
        self.count, self.error, self.at = 0, error, at
        for owner, name in (
            (Path, "write_text"),
            (Path, "write_bytes"),
            (Path, "mkdir"),
            (Path, "rename"),
            (Path, "replace"),
            (tempfile, "mkdtemp"),
            (np, "savez_compressed"),
        ):
            patch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, call):
        def counted(*args, **settings):
            self.count += 1
            if self.count == self.at:
                raise self.error
            return call(*args, **settings)

        return counted


ERRORS = {
    "disk full": OSError(errno.ENOSPC, "No space left on device"),
    "not permitted": PermissionError(errno.EACCES, "Permission denied"),
    "Ctrl-C": KeyboardInterrupt(),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_a_failure_at_any_step_of_saving_leaves_one_whole_result(kind, push, saved, tmp_path):
    # Every step at which the disk changes is made to fail once, until a save has no further step.
    other = replace(push, seed=7)
    for step in range(1, 200):
        folder = shutil.copytree(saved, tmp_path / f"{step}" / "result")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("codesign.report.page.report_html", lambda *a, **k: "<p>drawn</p>")
            patch.setattr(Solution, "replay", lambda self: _still())
            failing = _FailingOnce(patch, ERRORS[kind], step)
            try:
                other.save(folder)
                failed = False
            except (SolutionError, KeyboardInterrupt):
                failed = True
        assert [p.name for p in folder.parent.iterdir()] == ["result"]
        assert load(folder).seed == (0 if failed else 7)
        if failing.count < step:
            assert step > 15
            return
    pytest.fail("saving never ends")


def _still() -> Replay:
    return Replay(np.zeros(1), np.zeros((1, 1)), 0.0, 0.0, 0.0, 0.0, 0.0, False, True)


def test_an_error_while_two_folders_change_places_puts_the_old_one_back(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "old").touch()
    rename = Path.rename

    def refuse(self, target):
        if self.name == "new":
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        with pytest.raises(OSError, match="Input"), replacing(folder) as stage:
            (stage / "new").touch()
    assert names(tmp_path) == {"a/old"}


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_save_leaves_the_old_result_and_does_not_block_the_next(push, result):
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom draft_core.swap import replacing\n"
        "with replacing(Path(sys.argv[1])) as stage:\n"
        "    (stage / 'solution.json').write_text('{')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(result)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(result.parent.iterdir())) == 2
    assert load(result).seed == 0
    replace(push, seed=3).save(result)
    assert load(result).seed == 3
    assert [path.name for path in result.parent.iterdir()] == ["result"]


def test_a_run_killed_between_two_renames_is_undone(result):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.getpid", lambda: 2**22 + 1)  # above the largest process id of Linux
        patch.setattr("draft_core.swap._restore", lambda *a: None)
        patch.setattr("shutil.rmtree", lambda *a, **k: None)
        patch.setattr("draft_core.swap._exchange", lambda new, old, s: old.rename(s / "old000"))
        with replacing(result):
            pass
    assert not result.exists()
    clear_leftovers(result)
    assert load(result).success
    assert [path.name for path in result.parent.iterdir()] == ["result"]


def test_runs_that_save_into_one_folder_leave_one_whole_result(tmp_path):
    folder = tmp_path / "result"

    def write(name: str) -> None:
        for _ in range(40):
            with replacing(folder) as stage:
                for part in "abc":
                    (stage / part).write_text(name)

    threads = [threading.Thread(target=write, args=(name,)) for name in "123"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
    assert len({(folder / part).read_text() for part in "abc"}) == 1


@pytest.mark.parametrize(
    "foreign",
    [
        *("notes.txt", "robot/mine.stl", "robot/meshes/", "robot_source/notes.md", "deep/er/file"),
        *("robot/assets/notes.txt", "robot/robot.xml.part", "robot_source/modules/hand.xml"),
    ],
)
def test_a_foreign_file_at_any_depth_is_found(foreign, result):
    path = result / foreign
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir() if foreign.endswith("/") else path.touch()
    with pytest.raises(SolutionError, match=f"it holds {foreign}, which no solve wrote"):
        check_result_folder(result)
    assert path.exists()


@pytest.mark.parametrize(
    "name", ["robot/scene.xml", "robot_source/tree.yaml", "robot/parameters_resolved.yaml"]
)
def test_a_file_of_a_result_that_was_changed_is_not_replaced(name, push, result):
    # Changes by hand to a robot, or to the copy of its source, were gone after the next solve.
    with (result / name).open("a") as file:
        file.write("# mine\n")
    before = (result / name).read_bytes()
    with pytest.raises(SolutionError, match=f"it holds {name}, which no solve wrote, or not as"):
        push.save(result)
    assert (result / name).read_bytes() == before


def test_a_link_in_a_result_is_foreign_and_not_followed(result, tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    shutil.rmtree(result / "robot")
    (result / "robot").symlink_to(photos)
    with pytest.raises(SolutionError, match="it holds robot, which"):
        check_result_folder(result)


def test_saving_from_python_replaces_no_foreign_folder(push, tmp_path):
    (tmp_path / "diary.txt").touch()
    with pytest.raises(SolutionError, match=r"it holds diary\.txt"):
        push.save(tmp_path)
    assert names(tmp_path) == {"diary.txt"}


@pytest.mark.parametrize("leftover", ["solution.json.part", "replay.json.part", ".report.html.77"])
def test_drafts_of_a_killed_run_are_not_foreign(leftover, push, result):
    (result / leftover).touch()
    push.save(result)
    assert names(result) == RESULT_FILES


def test_a_result_folder_that_is_a_link_stays_one(push, result, tmp_path):
    link = tmp_path / "latest"
    link.symlink_to(result)
    replace(push, seed=2).save(link)
    assert link.is_symlink()
    assert load(result).seed == 2


@pytest.mark.parametrize("here", [".", "", ".."])
def test_the_folder_one_is_in_is_not_replaced(here, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    with pytest.raises(SolutionError, match="the folder you are in"):
        check_result_folder(Path(here))


@pytest.mark.parametrize("name", ["x" * 300, "a/" + "x" * 300, "a/" * 3000, "nul\0l"])
def test_a_name_that_no_disk_takes_is_one_line(name, tmp_path):
    with pytest.raises(SolutionError, match="cannot write to") as told:
        check_result_folder(tmp_path / name)
    assert "\n" not in str(told.value)
    assert list(tmp_path.iterdir()) == []


# --- a report or a replay that fails -------------------------------------------------------------


def broken(*args, **settings):
    raise RuntimeError("no\nink <b>")


def test_a_report_that_fails_does_not_lose_the_solve(push, tmp_path, monkeypatch):
    monkeypatch.setattr("codesign.report.page.report_html", broken)
    with pytest.warns(RuntimeWarning, match="the report could not be drawn: RuntimeError: no ink"):
        folder = push.save(tmp_path / "result")
    assert load(folder).success
    page = (folder / "report.html").read_text()
    assert "could not be drawn: RuntimeError: no ink &lt;b&gt;" in page
    assert "Traceback" not in page


def test_a_replay_that_fails_is_told_in_the_report(push, tmp_path, monkeypatch):
    monkeypatch.setattr(Solution, "replay", broken)
    with pytest.warns(RuntimeWarning, match="the plan could not be replayed: RuntimeError"):
        folder = push.save(tmp_path / "result")
    assert load(folder).success
    assert "the plan could not be replayed: RuntimeError" in (folder / "report.html").read_text()
    assert not (folder / "replay.json").exists()


def test_markers_that_are_no_points_are_left_out(push, tmp_path):
    markers = {"flat": [0.0, 1.0], "nan": [np.nan, 0, 0], 5: [0, 0, 1], "good": [1, 0, 0]}
    page = (replace(push, markers=markers).save(tmp_path / "r") / "report.html").read_text()
    assert '"markers":[{"name":"5","p":[0,0,1]},{"name":"good","p":[1,0,0]}]' in page


# --- loading what was damaged or edited ----------------------------------------------------------


def edited(folder: Path, change) -> None:
    path = folder / "solution.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def packed(folder: Path, **changes) -> None:
    """Change arrays of trajectory.npz, with its digest put right; None removes one."""
    with np.load(folder / "trajectory.npz") as stored:
        arrays = {**stored, **changes}
    stream = io.BytesIO()
    np.savez(stream, **{name: values for name, values in arrays.items() if values is not None})
    signed(folder, stream.getvalue())


def signed(folder: Path, content: bytes) -> None:
    (folder / "trajectory.npz").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    edited(folder, lambda record: record["sha256"].update({"trajectory.npz": digest}))


def complaint(folder: Path) -> str:
    """What `load` refuses the folder with; nothing when it loads."""
    try:
        load(folder)
    except SolutionError as error:
        return str(error)
    return ""


def refused(folder: Path, capsys) -> str:
    """What `load` says, once every command has said the same in one line."""
    with pytest.raises(SolutionError) as told:
        load(folder)
    for words in (["show"], ["replay"], ["export", "--out", str(folder / "x")]):
        assert main([words[0], str(folder), *words[1:]]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 600
    return str(told.value)


TEXTS = {
    "a list": b"[]",
    "text": b'"solved"',
    "null": b"null",
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b"\xff\xfe",
    "a nesting bomb": b"[" * 100_000,
    "a nesting bomb in a value": b'{"format": 3, "options": ' + b'{"a":' * 100_000,
    "a huge integer": b'{"format": 1' + b"0" * 400 + b"}",
    "more digits than Python reads": b'{"format": 1' + b"0" * 5000 + b"}",
    "NaN": b'{"format": NaN}',
    "another format": b'{"format": 1}',
    "nothing but the format": b'{"format": 3}',
}


@pytest.mark.parametrize("kind", TEXTS)
def test_solution_json_of_another_shape_is_one_line(kind, result, capsys):
    (result / "solution.json").write_bytes(TEXTS[kind])
    assert "solution.json: " in refused(result, capsys)


def test_every_section_that_is_missing_null_or_of_another_kind_is_one_line(result):
    keep = (result / "solution.json").read_bytes()
    for name in json.loads(keep):
        for value in (None, [], "text", {"a": 1}, [[1]], 10**400, -1.5, True):
            (result / "solution.json").write_bytes(keep)
            edited(result, lambda r, name=name, value=value: r.update({name: value}))
            assert "\n" not in complaint(result)
        (result / "solution.json").write_bytes(keep)
        edited(result, lambda record, name=name: record.pop(name))
        with pytest.raises(SolutionError):
            load(result)


EDITS = {
    "a design of text": (lambda r: r["design"]["reach"].update(value="heavy"), "design"),
    "another design": (lambda r: r["design"]["reach"].update(value=1.5), "says reach = 1.5"),
    "a design without value": (lambda r: r["design"]["reach"].pop("value"), "design"),
    "another variable": (lambda r: r["design"].update(m=r["design"]["reach"]), "parameter 'm'"),
    "a violation": (lambda r: r.update(max_violation=1e-3), "violates constraints by 0.001"),
    "no violation": (lambda r: r.update(max_violation=None), "violates constraints by nan"),
    "a product": (lambda r: r.update(max_complementarity=1.0), "complementarity by 1"),
    "contacts that push": (lambda r: r["energy"].update(contact_work=[9.0] * 3), "do 9 J of work"),
    "a short energy": (lambda r: r["energy"].update(change=[0.0]), "energy.change has 1"),
    "a slack peak": (lambda r: r.update(objective_gap=2.0), "peaks are off by 2"),
    "no success": (lambda r: r.update(success=False), "yet its status is 'solved'"),
    "a status": (lambda r: r.update(status="great"), "status"),
    "no digest": (lambda r: r["sha256"].clear(), "its sha256 differs"),
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edited_record_is_refused(kind, result, capsys):
    change, told = EDITS[kind]
    edited(result, change)
    assert told in refused(result, capsys)


ARRAY_EDITS = {
    "q of text": ({"q": np.full((4, 1), "a")}, "'q' holds"),
    "complex q": ({"q": np.zeros((4, 1), complex)}, "'q' holds complex128"),
    "no u": ({"u": None}, "has no array 'u'"),
    "flat q": ({"q": np.zeros(4)}, "'q' has shape (4,); 4 knots of robot 'rail' need (4, 1)"),
    "another robot's q": ({"q": np.zeros((4, 2))}, "'q' has shape (4, 2)"),
    "fewer knots": ({"t": np.zeros(3)}, "3 knots"),
    "one knot": ({"t": np.zeros(1)}, "two times or more"),
    "a time": ({"t": np.zeros(())}, "two times or more"),
    "contacts": ({"normal": np.zeros((3, 1))}, "'normal' has shape (3, 1)"),
    "NaN": ({"v": np.full((4, 1), np.nan)}, "'v' of a solved problem is not finite"),
    "another clock": ({"t": np.arange(4.0)}, "not the sum of the time steps"),
    "no steps": ({"dt": np.zeros(3)}, "not the sum of the time steps"),
}


@pytest.mark.parametrize("kind", ARRAY_EDITS)
def test_arrays_that_do_not_fit_are_refused(kind, result, capsys):
    changes, told = ARRAY_EDITS[kind]
    packed(result, **changes)
    assert told in refused(result, capsys)


def test_arrays_of_python_objects_are_never_unpickled(result, capsys):
    packed(result, q=np.array([{"a": 1}], dtype=object))
    assert "allow_pickle" in refused(result, capsys)


def test_arrays_of_an_absurd_size_are_refused(result, capsys):
    header = io.BytesIO()
    layout = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10**3)}
    np.lib.format.write_array_header_1_0(header, layout)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("t.npy", header.getvalue())
    signed(result, stream.getvalue())
    assert "trajectory.npz: " in refused(result, capsys)


def test_an_array_of_another_solve_is_noticed(result, capsys):
    content = (result / "trajectory.npz").read_bytes()
    (result / "trajectory.npz").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "trajectory.npz is not the file that was saved" in refused(result, capsys)


def test_a_damaged_archive_is_refused_or_read_but_never_a_traceback(result):
    # Truncations and flipped bytes, with the digest put right so that the reader itself meets them.
    content = (result / "trajectory.npz").read_bytes()
    rng = np.random.default_rng(0)
    damaged = [content[:cut] for cut in range(0, len(content), len(content) // 40)]
    for _ in range(150):
        at = rng.integers(0, len(content), size=3)
        junk = bytearray(content)
        for place in at:
            junk[place] ^= int(rng.integers(1, 256))
        damaged.append(bytes(junk))
    told = []
    for junk in damaged:
        signed(result, junk)
        told.append(complaint(result))
    assert sum(bool(line) for line in told) > 100
    assert not any("\n" in line for line in told)


@pytest.mark.parametrize(
    "name",
    [
        "solution.json",
        "trajectory.npz",
        "robot_source/tree.yaml",
        "robot_source/parameters.yaml",
        "robot/parameters_resolved.yaml",
    ],
)
def test_a_missing_or_foreign_file_of_a_result_is_one_line(name, result, capsys):
    path = result / name
    path.unlink()
    assert f"{path.name} is missing" in refused(result, capsys)
    path.mkdir()
    refused(result, capsys)
    path.rmdir()
    path.write_bytes(b"\xff\x00: [")
    refused(result, capsys)


def test_an_edited_robot_is_noticed(result, capsys):
    path = result / "robot_source" / "tree.yaml"
    path.write_text(path.read_text() + "# mine\n")
    assert "robot_source/tree.yaml is not the file that was saved" in refused(result, capsys)


def test_a_failed_solution_with_nan_is_shown_and_not_replayed(push, tmp_path, capsys):
    status = type(push.status).NUMERICAL_FAILURE
    failed = replace(push, status=status, q=np.full_like(push.q, np.nan))
    folder = failed.save(tmp_path / "failed")
    assert main(["show", str(folder)]) == 0
    assert "numerical failure" in capsys.readouterr().out
    assert main(["replay", str(folder)]) == 2
    assert "not numbers" in capsys.readouterr().err
