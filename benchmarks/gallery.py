"""What do the robots that ship look like? Writes docs/robots.svg."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

import draft_core
from codesign.report.montage import PANEL_WIDTH, montage_svg
from draft_core.robots import ROBOTS

OUT = Path(__file__).resolve().parents[1] / "docs" / "robots.svg"
HEIGHT = 300.0  # [px]
POSES = {  # joints by the beginnings of their names [rad]; the rest at zero
    "quadruped": {"hip_pitch": 0.7, "knee": -1.4},
    "humanoid": {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3, "elbow": -0.5},
    "hopper": {"hip": -0.7, "knee": 1.4},
}


def picture(names: Sequence[str]) -> str:
    """Return an SVG picture with one panel for each robot, by name, with its mass."""
    panels = []
    for i, name in enumerate(names):
        model = draft_core.load(name).compile().model
        q = np.array(model.qpos0)
        for joint in range(model.njnt):
            stated = POSES[ROBOTS[name].folder.name].items()
            angle = next((a for start, a in stated if model.joint(joint).name.startswith(start)), 0)
            if model.jnt_type[joint] == 3:
                q[model.jnt_qposadr[joint]] = angle
        q[2 if model.jnt_type[0] == 0 else 0] -= _lowest(model, q)
        svg = montage_svg(model, q[None], label=f"The {name}").replace(
            "<svg ", f'<svg x="{PANEL_WIDTH * i}" y="0" width="{PANEL_WIDTH}" height="{HEIGHT}" ', 1
        )
        caption = f"{name}, {model.body_mass.sum():.1f} kg"
        place = f'x="{PANEL_WIDTH * (i + 0.5)}" y="{HEIGHT + 18}"'
        panels.append(f'{svg}<text class="name" {place}>{caption}</text>')
    style = (
        "<style>.name{font:500 13px system-ui,sans-serif;fill:#6b7785;text-anchor:middle}</style>"
    )
    size = f'viewBox="0 0 {PANEL_WIDTH * len(names)} {HEIGHT + 26}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="The robots" {size}>'
    return f"{head}{style}{''.join(panels)}</svg>\n"


def _lowest(model: mujoco.MjModel, q: np.ndarray) -> float:
    """Return the height of the lowest site: of the contact point nearest to the floor [m]."""
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    return float(data.site_xpos[:, 2].min())


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help=f"file to write ({OUT.name})")
    out = parser.parse_args(arguments).out
    out.write_text(picture(list(ROBOTS)), encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
