"""A folder that is replaced whole or not at all, whatever happens while it is written.

The new content is staged in a hidden folder beside the target,

    .codesign-PLACE-PID-xxxxxxxx/new      what is being written
    .codesign-PLACE-PID-xxxxxxxx/old      what was there, for as long as the two change places

and takes the target's name by renaming. PLACE is a digest of machine and target, so that the stage
of a killed run can be recognised and cleared by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")
_ATTEMPTS = 100  # another run may put its result there between our two renames
_OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST)


@contextlib.contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; when the block ends it takes the place of `folder`.

    An exception in the block, Ctrl-C included, leaves `folder` as it was and nothing beside it.

    Raises:
        OSError: the disk refuses; `folder` is as it was.
    """
    target = folder.resolve()
    with _parents(target):
        clear_leftovers(target)
        scratch = Path(tempfile.mkdtemp(prefix=f"{_mark(target)}{os.getpid()}-", dir=target.parent))
        try:
            new = scratch / "new"
            new.mkdir()
            yield new
            _exchange(new, target, scratch)
        finally:
            _restore(scratch, target)
            shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def _parents(target: Path) -> Iterator[None]:
    """Make the folders above one, and remove those that were not there if the block fails."""
    made: list[Path] = []
    try:
        made += [place for place in target.parents if not place.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for place in made:
            with contextlib.suppress(OSError):
                place.rmdir()
        raise


def is_in_the_way(folder: Path) -> bool:
    """Tell whether something else than a folder has its name; asked once, as it may be replaced.

    Raises:
        OSError: it cannot be looked at.
    """
    try:
        return not stat.S_ISDIR(folder.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def why_not_replaceable(folder: Path) -> str | None:
    """Return why a folder cannot be replaced: a shell is in it, or a disk is mounted there.

    Raises:
        OSError: it cannot be looked at.
    """
    target = folder.resolve()
    if Path.cwd().resolve().is_relative_to(target):
        return "it is the folder you are in, which would be replaced; give a folder below it"
    if os.path.ismount(target):
        return "it is where a disk is mounted; give a folder below it"
    return None


def entries(folder: Path) -> Iterator[str]:
    """Yield files and empty folders below a folder; a link is an entry, not what it points to.

    Raises:
        OSError: it cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=refuse):
        below = Path(place).relative_to(folder)
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        yield from ((below / name).as_posix() for name in (*files, *links))
        if not folders and not files and below.parts:
            yield f"{below.as_posix()}/"


def clear_leftovers(folder: Path) -> None:
    """Remove the stages of runs that were killed, and put back what one had moved aside."""
    target = folder.resolve()
    if not target.parent.is_dir():
        return
    mark = _mark(target)
    for scratch in target.parent.glob(f"{mark}*"):
        if not _is_running(scratch.name.removeprefix(mark).partition("-")[0]):
            with contextlib.suppress(OSError):
                _restore(scratch, target)
                shutil.rmtree(scratch, ignore_errors=True)


def settled(folder: Path, look: Callable[[], Found]) -> Found:
    """Return what one finds in a folder, having looked again if it was replaced meanwhile.

    Raises:
        OSError: it cannot be read, or other runs replace it all the time.
    """
    for _ in range(_ATTEMPTS):
        with _held(folder):
            before = identity(folder)
            try:
                found = look()
            except FileNotFoundError:
                if identity(folder) == before:
                    raise
                continue
            if identity(folder) == before:
                return found
    raise OSError(errno.EBUSY, "other runs keep writing there")


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep a folder open, so that no other is given its `identity` when it is removed."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # there is none, or the system opens files only
        yield
        return
    try:
        yield
    finally:
        os.close(handle)


def identity(folder: Path) -> int | None:
    """Return a number that changes when the folder is replaced; None where there is none."""
    try:
        return folder.stat().st_ino
    except OSError:
        return None


def write_whole(path: Path, text: str) -> None:
    """Write a file that is either its old or its new self."""
    temporary = path.with_name(path.name + ".part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _exchange(new: Path, target: Path, scratch: Path) -> None:
    for attempt in range(_ATTEMPTS):
        with contextlib.suppress(FileNotFoundError):
            target.rename(scratch / f"old{attempt:03d}")
        try:
            new.rename(target)
            return
        except OSError as error:
            if error.errno not in _OCCUPIED:
                raise
    raise OSError(errno.EBUSY, "other runs keep writing there")


def _restore(scratch: Path, target: Path) -> None:
    """Put back what was moved aside, unless something has taken its place."""
    for old in sorted(scratch.glob("old*"), reverse=True):
        if target.exists():
            continue
        try:
            old.rename(target)
        except OSError as error:  # another run was quicker
            if error.errno not in _OCCUPIED:
                raise


def _mark(target: Path) -> str:
    place = f"{platform.node()}:{target}"
    return f".codesign-{hashlib.sha256(os.fsencode(place)).hexdigest()[:12]}-"


def _is_running(process: str) -> bool:
    """Whether a process of this machine runs; where that cannot be asked, yes."""
    if os.name != "posix" or not process.isdecimal():
        return True
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
