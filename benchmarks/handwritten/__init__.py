"""Problems of this project by hand in plain CasADi: the same programs, nothing of codesign."""

from benchmarks.handwritten.program import HandwrittenProgram

__all__ = ["HandwrittenProgram"]
