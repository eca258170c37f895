"""What follows from a tree alone is worked out once and kept with the tree."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from draft_core.tree import RobotTree

_Result = TypeVar("_Result")


def once_per_tree(function: Callable[["RobotTree"], _Result]) -> Callable[["RobotTree"], _Result]:
    """Return the function with its result kept on the tree, as long as the tree lives.

    Looking it up neither hashes nor compares trees, so two that are equal but state their numbers
    in different places each name their own in messages.
    """
    key = f"{function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def remembered(tree: "RobotTree") -> _Result:
        kept = tree.__dict__
        if key not in kept:
            kept[key] = function(tree)
        return kept[key]

    return remembered
