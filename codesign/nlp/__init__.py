"""The nonlinear program: interval blocks and user terms assembled with exact sparse derivatives."""

from codesign.nlp.assembly import NonlinearProgram, assemble
from codesign.nlp.elastic import ElasticProgram, elastic
from codesign.nlp.joint import JointProgram, join_programs
from codesign.nlp.penalty import PenaltyProgram, penalised

__all__ = [
    "ElasticProgram",
    "JointProgram",
    "NonlinearProgram",
    "PenaltyProgram",
    "assemble",
    "elastic",
    "join_programs",
    "penalised",
]
