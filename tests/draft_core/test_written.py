"""What compiling may replace, and what a folder holds after anything that can stop it."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import draft_core
from draft_core.errors import DraftError
from draft_core.written import INDEX, check_folder, write_folder

PROJECT = Path(__file__).resolve().parents[2]
FIRST = {INDEX: "robot: a\n", "robot.xml": "<a/>", "assets/trunk.obj": b"v 0 0 0\n"}
SECOND = {INDEX: "robot: b\n", "robot.xml": "<b/>"}


def content(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder that was written, alone in another."""
    write_folder(tmp_path / "in" / "out", FIRST)
    return tmp_path / "in" / "out"


def test_the_digests_are_those_of_the_files(out: Path):
    index = (out / INDEX).read_text(encoding="utf-8")
    digests = yaml.safe_load(index)["sha256"]
    assert set(digests) == set(FIRST)
    for name, digest in digests.items():
        data = content(out)[name] if name != INDEX else FIRST[INDEX].encode()
        assert hashlib.sha256(data).hexdigest() == digest


def test_what_was_written_is_replaced(out: Path):
    write_folder(out, SECOND)
    assert set(content(out)) == set(SECOND)
    (out / "robot.xml").unlink()  # what is gone cannot be lost
    write_folder(out, FIRST)
    assert set(content(out)) == set(FIRST)
    assert [path.name for path in out.parent.iterdir()] == ["out"]


# Compiling once looked at the names of the top level only: notes among the meshes and changes by
# hand to scene.xml were gone after the next compile, without a word.
CHANGES: dict[str, Callable[[Path], Any]] = {
    "assets/notes.txt": lambda path: path.write_text("precious"),
    "assets/photos/": lambda path: path.mkdir(),
    "deep/er/file": lambda path: [path.parent.mkdir(parents=True), path.touch()],
    "robot.xml": lambda path: path.write_text("<a/><!-- mine -->"),
    "assets/trunk.obj": lambda path: path.write_bytes(b""),
    INDEX: lambda path: path.write_text(path.read_text() + "# mine\n"),
    f" {INDEX}": lambda path: path.with_name(INDEX).write_text("robot: mine\n"),
    "robot.urdf": lambda path: path.symlink_to("robot.xml"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_person_added_or_changed_is_not_replaced(change: str, out: Path):
    CHANGES[change](out / change)
    before = content(out)
    with pytest.raises(DraftError, match="or not as it is now; give a new or empty folder") as told:
        write_folder(out, SECOND)
    assert change.strip() in str(told.value)
    assert content(out) == before


def test_a_compiled_robot_with_a_note_among_its_meshes_is_not_replaced(tmp_path: Path):
    robot = draft_core.load("quadruped")
    robot.compile(out=tmp_path / "out")
    robot.compile(out=tmp_path / "out")
    (tmp_path / "out" / "assets" / "notes.txt").write_text("precious", encoding="utf-8")
    with pytest.raises(DraftError, match=r"it holds assets/notes\.txt"):
        robot.compile(out=tmp_path / "out")
    assert (tmp_path / "out" / "assets" / "notes.txt").exists()


def stopped(at: str, by: str, out: Path) -> int:
    """Write a folder in a process that stops itself at a step; return how it ended."""
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom draft_core.written import *\n"
        f"real = Path.{at}\n"
        "def stopping(self, *given):\n"
        "    if self.name in ('new', 'robot.xml'):\n"
        f"        {by}\n"
        "    return real(self, *given)\n"
        f"Path.{at} = stopping\n"
        f"write_folder(Path(sys.argv[1]), {SECOND!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(out)], cwd=PROJECT, check=False, capture_output=True
    )
    return done.returncode


# Ctrl-C between the two renames once lost the earlier output together with the new one; a kill
# there left neither, and hidden folders that nothing ever removed.
@pytest.mark.parametrize("at", ["write_bytes", "rename"])
def test_an_interrupt_leaves_the_earlier_output_alone(at: str, out: Path):
    before = content(out)
    assert stopped(at, "raise KeyboardInterrupt", out) != 0
    assert content(out) == before
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("at", ["write_bytes", "rename"])
def test_after_a_kill_the_next_call_finds_the_earlier_output(at: str, kind: int, out: Path):
    before = content(out)
    assert stopped(at, f"os.kill(os.getpid(), {int(kind)})", out) == -kind
    check_folder(out)
    assert content(out) == before
    assert [path.name for path in out.parent.iterdir()] == ["out"]


# Four processes that wrote one folder failed nine times in 160 with "Directory not empty".
def test_processes_that_write_one_folder_leave_one_whole_output(tmp_path: Path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom draft_core.written import *\n"
        "files = {INDEX: sys.argv[2], 'robot.xml': sys.argv[2], 'scene.xml': sys.argv[2]}\n"
        "for i in range(40): write_folder(Path(sys.argv[1]), files)\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "out")]
    running = [
        subprocess.Popen([*words, name], cwd=PROJECT, stderr=subprocess.PIPE) for name in "123"
    ]
    told = [process.communicate()[1].decode() for process in running]
    assert told == ["", "", ""]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert content(tmp_path / "out")["robot.xml"] == content(tmp_path / "out")["scene.xml"]


# `--out .` in an empty folder once exchanged the folder under the shell, which then was nowhere.
@pytest.mark.parametrize("here", [".", "", "..", "../in"])
def test_the_folder_one_is_in_is_not_replaced(
    here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    with pytest.raises(DraftError, match="the folder you are in"):
        draft_core.load("hopper").compile(out=here)
    assert list(tmp_path.rglob("*")) == [tmp_path / "in"]


def test_a_path_through_a_folder_that_is_missing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # `deep/er/..` became `deep`, and the path that was printed then led nowhere.
    monkeypatch.chdir(tmp_path)
    for out in ("new/..", "deep/er/..", "new/../x"):
        with pytest.raises(DraftError, match="its parent is missing"):
            draft_core.load("hopper").compile(out=out)
    assert list(tmp_path.iterdir()) == []


# A write that failed once left the folders above it behind.
@pytest.mark.parametrize(
    "name", ["x" * 300, "a/" + "x" * 300, "a/b/" + "x" * 254, "a/" * 3000, "nul\0l", "file/b/c"]
)
def test_a_name_that_no_disk_takes_leaves_nothing_behind(name: str, tmp_path: Path):
    (tmp_path / "file").touch()
    robot = draft_core.load("hopper")
    if len(name) < 260 and "x" in name:  # the name fits, and the disk fills up while it is written
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "write_bytes", full)
            with pytest.raises(DraftError, match=r"cannot write to .*No space left"):
                robot.compile(out=tmp_path / name)
    else:
        with pytest.raises(DraftError, match="cannot write to") as told:
            robot.compile(out=tmp_path / name)
        assert len(str(told.value)) < 400
    assert [path.name for path in tmp_path.rglob("*")] == ["file"]


def full(*given: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_link_stays_one_and_what_it_shows_is_replaced(out: Path, tmp_path: Path):
    link = tmp_path / "latest"
    link.symlink_to(out)
    write_folder(link, SECOND)
    assert link.is_symlink()
    assert set(content(out)) == set(SECOND)
