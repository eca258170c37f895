"""The nonlinear program: interval blocks and user terms assembled with exact sparse derivatives."""

from codesign.nlp.assembly import NonlinearProgram, assemble
from codesign.nlp.elastic import ElasticProgram, elastic

__all__ = ["ElasticProgram", "NonlinearProgram", "assemble", "elastic"]
