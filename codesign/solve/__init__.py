"""Solving: starts, the relaxation homotopy, IPOPT, and what its answers mean."""

from codesign.solve.driver import Transcription, solve, transcribe
from codesign.solve.starts import Keyframe
from codesign.solve.status import SolveStatus

__all__ = ["Keyframe", "SolveStatus", "Transcription", "solve", "transcribe"]
