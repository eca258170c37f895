"""The nonlinear program: interval blocks and user terms assembled with exact sparse derivatives."""

from codesign.nlp.assembly import NonlinearProgram, assemble

__all__ = ["NonlinearProgram", "assemble"]
