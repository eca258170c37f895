"""Sparse first and second derivatives of a vector of expressions, as functions fast to run.

For g(z, p) and multipliers λ the solver needs J = ∂g/∂z and the upper triangle of H = ∂²(λᵀg)/∂z².
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from codesign.tracing.values import merged


@dataclass(frozen=True)
class Derivatives:
    """A function and its derivatives with respect to z.

    Attributes:
        value: (z, p) -> g, a dense column.
        jacobian: (z, p) -> ∂g/∂z, sparse: only entries that are not zero for every z and p.
        hessian: (z, p, λ) -> upper triangle of ∂²(λᵀg)/∂z², sparse likewise.
    """

    value: ca.Function
    jacobian: ca.Function
    hessian: ca.Function


def derivatives(g: ca.SX, z: ca.SX, p: ca.SX, name: str = "g") -> Derivatives:
    """Differentiate a column of expressions once and twice.

    Args:
        g: expressions (m, 1) in z and p only.
        z: variables (n, 1) to differentiate with respect to.
        p: further variables (k, 1), held fixed; may be empty.
        name: what the functions' names begin with.

    Returns:
        The three functions, inputs and outputs named as in `Derivatives`.
    """
    multipliers = ca.SX.sym("lam", g.numel())
    jacobian = ca.sparsify(ca.jacobian(g, z))
    hessian = ca.sparsify(ca.triu(ca.hessian(ca.dot(multipliers, g), z)[0]))
    return Derivatives(
        value=_function(f"{name}_value", [z, p], ca.densify(g), ["z", "p"], "g"),
        jacobian=_function(f"{name}_jacobian", [z, p], jacobian, ["z", "p"], "J"),
        hessian=_function(f"{name}_hessian", [z, p, multipliers], hessian, ["z", "p", "lam"], "H"),
    )


def _function(
    name: str, inputs: list[ca.SX], output: ca.SX, input_names: list[str], output_name: str
) -> ca.Function:
    return ca.Function(name, inputs, merged([output]), input_names, [output_name])
