"""A folder that compiling writes: whole or not at all, and never over what a person did there.

Every such folder has a ``parameters_resolved.yaml`` (`INDEX`), which ends in the digests of all its
files, its own up to there included. What they do not match is somebody else's.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from draft_core.errors import DraftError, known_names
from draft_core.expressions import shorten
from draft_core.swap import (
    clear_leftovers,
    entries,
    is_in_the_way,
    replacing,
    settled,
    why_not_replaceable,
)

INDEX = "parameters_resolved.yaml"
_DIGESTS = b"sha256:\n"


def write_folder(out: Path, files: Mapping[str, str | bytes]) -> None:
    """Write a folder so that it appears whole or not at all.

    Args:
        out: it may be new, empty, or hold what an earlier call wrote.
        files: contents by name; `INDEX` is among them, YAML that the digests are added to.

    Raises:
        DraftError: the folder holds other things, or the disk refuses.
    """
    content = {
        name: text.encode() if isinstance(text, str) else text for name, text in files.items()
    }
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    content[INDEX] += _listing(digests)
    check_folder(out)
    with _told(out), replacing(out) as stage:
        for name, data in content.items():
            path = stage / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)


def check_folder(out: Path) -> None:
    """Refuse a folder that cannot be written, or that holds anything we did not write.

    Raises:
        DraftError: in one line, what is in the way.
    """
    with _told(out):
        if is_in_the_way(out):
            raise DraftError(
                f"cannot write to '{out}': it is not a folder; give a new or empty one."
            )
        if ".." in out.parts and not out.parent.exists():
            raise DraftError(f"cannot write to '{shorten(str(out), 120)}': its parent is missing.")
        reason = why_not_replaceable(out)
        if reason is not None:
            raise DraftError(f"cannot write to '{out}': {reason}.")
        clear_leftovers(out)
        found = settled(out, lambda: foreign(out) if out.is_dir() else [])
    if found:
        raise DraftError(
            f"cannot write to '{out}': it holds {known_names(found, 3)}, which no earlier "
            "compile wrote, or not as it is now; give a new or empty folder."
        )


def foreign(folder: Path) -> list[str]:
    """Return what is in a folder and not as `write_folder` wrote it.

    Raises:
        OSError: it cannot be read.
    """
    written = _digests(folder / INDEX)
    return sorted(
        name for name in entries(folder) if _digest(folder / name, written.get(name)) is None
    )


def _digest(path: Path, expected: str | None) -> str | None:
    """Return a file's digest if it is the expected one."""
    if expected is None or path.is_symlink() or not path.is_file():
        return None
    data = path.read_bytes()
    if path.name == INDEX:
        data, _, listing = data.rpartition(_DIGESTS)
        if _DIGESTS + listing != _listing(_parsed(listing)):
            return None
    return expected if hashlib.sha256(data).hexdigest() == expected else None


def _listing(digests: Mapping[str, str]) -> bytes:
    return _DIGESTS + "".join(f"  {name}: {digest}\n" for name, digest in digests.items()).encode()


def _digests(index: Path) -> dict[str, str]:
    """Return the digests that an index lists, by file name; none where there is no index."""
    if index.is_symlink() or not index.is_file():
        return {}
    return _parsed(index.read_bytes().rpartition(_DIGESTS)[2])


def _parsed(listing: bytes) -> dict[str, str]:
    lines = listing.decode(errors="replace").splitlines()
    rows = (line.strip().rpartition(": ") for line in lines)
    return {name: digest for name, _, digest in rows}


@contextlib.contextmanager
def _told(out: Path) -> Iterator[None]:
    """Tell what the disk refuses in one line."""
    shown = shorten(str(out), 120)
    try:
        yield
    except DraftError:
        raise
    except OSError as error:
        raise DraftError(f"cannot write to '{shown}': {error.strerror or error}.") from None
    except (ValueError, RuntimeError) as error:  # a NUL in the name, links in a circle
        raise DraftError(f"cannot write to {shown!r}: {error}.") from None
