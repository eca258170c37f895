"""JAX functions as CasADi graphs: exact, sparse, and fast to differentiate twice.

Stands on its own: needs jax, numpy and casadi, and imports jax only when a function is traced.
"""

from codesign.tracing.errors import TracingError
from codesign.tracing.trace import evaluate, evaluator, to_casadi

__all__ = ["TracingError", "evaluate", "evaluator", "to_casadi"]
