"""How large a value of an expression may be.

A value may hold another twice, so that n parameters could state one of 2ⁿ numbers; each is
measured when it is computed, at a cost bounded by the limit.
"""

from typing import Any

from draft_core.errors import ExpressionError

MAX_SIZE = 1000
MAX_NESTING = 16


def bounded(value: Any) -> Any:
    """Return a computed value: a number, switch, text, (nested) tuple of these, or JAX array.

    The size of a text is its characters; that of a list is its elements and the sizes of the
    lists and texts among them, each time they occur.

    Raises:
        ExpressionError: it counts more than `MAX_SIZE`, or its lists nest too deep.
    """
    if not isinstance(value, tuple | str):
        return value
    size, rest = 0, [(value, 1)]
    while rest:
        item, depth = rest.pop()
        size += len(item)
        if size > MAX_SIZE:
            raise ExpressionError(
                f"its value is too large (at most {MAX_SIZE} numbers and characters, with those of "
                "lists in lists)"
            )
        if isinstance(item, tuple):
            if depth > MAX_NESTING:
                raise ExpressionError(
                    f"its value has lists nested too deep (at most {MAX_NESTING} levels)"
                )
            rest += [(inner, depth + 1) for inner in item if isinstance(inner, tuple | str)]
    return value
