"""What cannot work in a robot folder or a request: one error for people, one inside."""

import difflib
from collections.abc import Iterable


class DraftError(ValueError):
    """A mistake in a robot folder or in a request, told in one line.

    The message says what was given, where (file, node, key), and what would work.
    """

    def __init__(self, message: str):
        """Collapse the message to one line, so that a command line can print it as it is."""
        super().__init__(" ".join(str(message).split()))


class ExpressionError(Exception):
    """What is wrong with an expression; whoever knows which one and where says so."""


def known_names(names: Iterable[str], limit: int = 40) -> str:
    """Return the names as a readable list, for the "what would work" half of a message."""
    listed = sorted(str(name) for name in names)
    if not listed:
        return "none"
    rest = f", ... ({len(listed) - limit} more)" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + rest


def close_match(name: str, names: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the nearest of the names, or nothing."""
    nearest = difflib.get_close_matches(str(name), [str(n) for n in names], n=1, cutoff=0.6)
    return f" (did you mean {nearest[0]!r}?)" if nearest else ""
