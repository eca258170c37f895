"""The robots that come with draft_core, by name: a folder each, or a folder and its overrides."""

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Shipped:
    """A robot that has a name.

    Attributes:
        name: the name.
        folder: its robot folder.
        overrides: the file that turns the folder's robot into this one; None for the robot itself.
        summary: what it is, in a few words.
    """

    name: str
    folder: Path
    overrides: Path | None
    summary: str


_SUMMARIES = {
    "quadruped": ("quadruped", None, "12 joints, the base of the three below; hypothetical motors"),
    "cheetah": ("quadruped", "cheetah", "33 kg, 0.48 m legs, 6:1 quasi-direct drives"),
    "bear": ("quadruped", "bear", "110 kg, 0.74 m legs, 20:1 planetary drives, a wide stance"),
    "giraffe": ("quadruped", "giraffe", "91 kg, 1.30 m legs, 80:1 strain-wave drives"),
    "humanoid": ("humanoid", None, "29 joints, 54 kg"),
    "hopper": ("hopper", None, "one leg on a vertical rail, two motors of one class"),
}

ROBOTS: dict[str, Shipped] = {
    name: Shipped(name, HERE / folder, HERE / folder / f"{file}.yaml" if file else None, summary)
    for name, (folder, file, summary) in _SUMMARIES.items()
}
