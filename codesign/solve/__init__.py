"""Solving: starts, the relaxation homotopy, IPOPT, and what its answers mean."""

from codesign.solve.driver import solve
from codesign.solve.starts import Keyframe
from codesign.solve.status import SolveStatus
from codesign.solve.transcribed import Transcription, transcribe

__all__ = ["Keyframe", "SolveStatus", "Transcription", "solve", "transcribe"]
