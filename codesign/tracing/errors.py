"""What can go wrong while a JAX function is turned into a CasADi one."""

from __future__ import annotations


class TracingError(Exception):
    """A function cannot be traced; the message names primitive, source line and a way out."""
