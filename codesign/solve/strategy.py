"""How a program is solved: formulation, solver, and its options for early stages and the last.

The default is what won `python -m benchmarks.formulations`; see
docs/decisions/0005-complementarity-formulation.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from codesign.contact import formulation_named
from codesign.errors import SolverError
from codesign.nlp import JointProgram, NonlinearProgram, PenaltyProgram, elastic, penalised
from codesign.solve.homotopy import Solvers
from codesign.solve.ipopt import AnyProgram, Ipopt
from codesign.solve.modes import mode_bounds
from codesign.solve.uno import Uno

SOLVERS = ("ipopt", "uno")
_KNOWN = (
    *("alpaqa", "ampl", "blocksqp", "bonmin", "conopt", "feasiblesqpmethod", "knitro", "madnlp"),
    *("qrsqp", "scpgen", "sleqp", "snopt", "sqpmethod", "worhp"),
)  # to CasADi, installed or not

LOOSE = (
    ("tol", 1e-3),
    ("compl_inf_tol", 1e-3),
    ("constr_viol_tol", 1e-4),
    ("dual_inf_tol", 1e-1),
)  # an early stage only has to lead into a valley; the last one finds its bottom


@dataclass(frozen=True)
class Strategy:
    """How a program is solved.

    Attributes:
        formulation: of complementarity, one of `codesign.contact.FORMULATIONS`.
        solver: one of `SOLVERS`.
        options: IPOPT's own options by their names, over the project's.
        early: the same for the objective's stages before the last relaxation, over `options`.
        fixes_modes: whether a last stage holds the contacts that are open open, and the closed
            ones closed.
    """

    formulation: str = "scholtes_contact"
    solver: str = "ipopt"
    options: tuple[tuple[str, Any], ...] = ()
    early: tuple[tuple[str, Any], ...] = LOOSE
    fixes_modes: bool = False

    def bind(self, program: NonlinearProgram | JointProgram, options: Mapping[str, Any]) -> Solvers:
        """Return solvers of a program and of its elastic form.

        Args:
            program: stated in this strategy's formulation.
            options: IPOPT's options unless this strategy has others.
        """
        require_solver(self.solver)
        softened = elastic(program)
        ours: NonlinearProgram | JointProgram | PenaltyProgram = program
        if formulation_named(self.formulation).is_penalty and isinstance(program, NonlinearProgram):
            ours = penalised(program)
        first = dict(options) | dict(self.options)
        return Solvers(
            self._solver(ours, first),
            self._solver(softened, first),
            softened,
            early=self._solver(ours, first | dict(self.early)),
            modes=mode_bounds(program)
            if self.fixes_modes and isinstance(program, NonlinearProgram)
            else None,
        )

    def _solver(self, program: AnyProgram, options: Mapping[str, Any]) -> Ipopt | Uno:
        if self.solver == "uno":
            return Uno(program, options["tol"], options["max_iter"])
        return Ipopt(program, dict(options))


DEFAULT = Strategy()


def require_solver(name: str) -> None:
    """Refuse a solver that cannot be used here.

    Raises:
        SolverError: saying why, and which can.
    """
    if name in SOLVERS:
        return
    here = f"there are: {', '.join(SOLVERS)}"
    if name == "fatrop":
        raise SolverError(
            "solver 'fatrop' is not offered: it is for stages that share no variables, and these "
            f"share the design; {here}"
        )
    if name not in _KNOWN:
        raise SolverError(f"solver is {name!r}, which is none; {here}")
    why = "not supported" if ca.has_nlpsol(name) else "not installed"
    raise SolverError(f"solver '{name}' is {why}; {here}")
