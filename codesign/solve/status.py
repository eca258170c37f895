"""How a solve ended, in words a designer can act on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SolveStatus(StrEnum):
    """How a solve ended. Only `SOLVED` is a success."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    NOT_PHYSICAL = "not_physical"
    REFUSED = "refused"
    NOT_CONVERGED = "not_converged"
    ITERATION_LIMIT = "iteration_limit"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    NUMERICAL_FAILURE = "numerical_failure"


@dataclass(frozen=True)
class Meaning:
    """What a solver's return code says about the problem, and what to try."""

    status: SolveStatus
    words: str
    advice: str


_TRY_STARTS = "try another seed, or keyframes closer to the motion you expect"
_CHECK_TASK = (
    f"check that the task is possible within the design's bounds and the duration; {_TRY_STARTS}"
)

_IPOPT: dict[str, Meaning] = {
    "Solve_Succeeded": Meaning(SolveStatus.SOLVED, "the solver converged", ""),
    "Solved_To_Acceptable_Level": Meaning(
        SolveStatus.NOT_CONVERGED,
        "the solver stalled just short of its tolerance",
        _TRY_STARTS,
    ),
    "Infeasible_Problem_Detected": Meaning(
        SolveStatus.INFEASIBLE,
        "the solver reached a point where no small change reduces the constraint violation",
        _CHECK_TASK,
    ),
    "Restoration_Failed": Meaning(
        SolveStatus.INFEASIBLE,
        "the solver lost the feasible region and could not find its way back",
        _CHECK_TASK,
    ),
    "Not_Enough_Degrees_Of_Freedom": Meaning(
        SolveStatus.INFEASIBLE,
        "there are more equations than variables to meet them with",
        "state each equation once, or use more knots",
    ),
    "Maximum_Iterations_Exceeded": Meaning(
        SolveStatus.ITERATION_LIMIT,
        "the solver used up its iterations",
        f"raise max_iterations, or {_TRY_STARTS}",
    ),
    "Search_Direction_Becomes_Too_Small": Meaning(
        SolveStatus.NOT_CONVERGED,
        "the solver's steps became too small to make progress",
        _TRY_STARTS,
    ),
    "Diverging_Iterates": Meaning(
        SolveStatus.NUMERICAL_FAILURE,
        "the variables grew without bound, so that the objective is probably unbounded below",
        "bound the objective, or add constraints to what it rewards",
    ),
    "Invalid_Number_Detected": Meaning(
        SolveStatus.NUMERICAL_FAILURE,
        "a term became NaN or infinite",
        "look for divisions, roots and logarithms in the objective and constraints",
    ),
}

IMPOSSIBLE = Meaning(
    SolveStatus.INFEASIBLE,
    "no small change of design and motion meets the task",
    _CHECK_TASK,
)

NO_MINIMUM = Meaning(
    SolveStatus.NOT_CONVERGED,
    "a motion that meets the task was found, but the objective could not be minimised from it",
    f"{_TRY_STARTS}; kinks (round, conditions, max) in limits or terms do this, too",
)

NO_FREEDOM = Meaning(
    SolveStatus.NOT_CONVERGED,
    "a motion that meets the task was found, but with as many equations as variables or more there "
    "is nothing to minimise over",
    "use more knots, or state each equation once",
)

STOPPED: dict[SolveStatus, Meaning] = {
    SolveStatus.INTERRUPTED: Meaning(
        SolveStatus.INTERRUPTED, "the solve was interrupted", "start again from this solution"
    ),
    SolveStatus.TIME_LIMIT: Meaning(
        SolveStatus.TIME_LIMIT, "the time limit was reached", "raise time_limit"
    ),
}


def meaning_of(return_status: str) -> Meaning:
    """Return what an IPOPT return status means for the problem."""
    unknown = Meaning(
        SolveStatus.NUMERICAL_FAILURE,
        f"the solver failed numerically ({return_status.replace('_', ' ').lower()})",
        _TRY_STARTS,
    )
    return _IPOPT.get(return_status, unknown)
