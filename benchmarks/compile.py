"""How soon is a robot compiled, filter and report included, beside MuJoCo's own compilation?

For each robot that ships, in turns in one run: reading its folder; compiling a new design (trends,
geometry, MJCF, MuJoCo's compilation, comparison with our numbers, every gate, the report as YAML);
the same and writing the folder; and MuJoCo alone compiling the written MJCF. The seed reports 50 ms
for its quadruped and 202 ms for its humanoid, on a laptop.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco

import draft_core
from benchmarks.common import record, seconds_per_call, settings, show
from draft_core.robots import ROBOTS

PUBLISHED_MASS = {  # [kg], arXiv 2609.38405
    "quadruped": 31.9348,
    "cheetah": 32.6381,
    "bear": 110.05,
    "giraffe": 91.2642,
    "humanoid": 53.721,
}
PUBLISHED_SECONDS = {"quadruped": 0.050, "humanoid": 0.202}
MOST = 5.0  # times MuJoCo's own


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    asked = settings(__doc__, 1, arguments)
    names = ["hopper"] if asked.quick else list(ROBOTS)
    results = {name: _robot(name, asked.quick) for name in names}
    columns = ["load_s", "compile_s", "write_s", "mujoco_s"]
    table = [
        [
            name,
            row["mass_kg"],
            PUBLISHED_MASS.get(name, ""),
            *(1e3 * row[column] for column in columns),
            row["ratio"],
        ]
        for name, row in results.items()
    ]
    headings = [
        "robot",
        "kg",
        "published",
        "load ms",
        "compile ms",
        "+ write",
        "MuJoCo ms",
        "ratio",
    ]
    show("compiling, gates and report included", headings, table)
    print(f"  wanted: ratio below {MOST:g}; published: quadruped 50 ms, humanoid 202 ms")
    record("compile", asked, {"published": PUBLISHED_SECONDS, "robots": results})


def _robot(name: str, quick: bool) -> dict[str, Any]:
    robot = draft_core.load(name)
    first = robot.compile()
    parameter, designs = _designs(robot)

    def compile_new(out: Path | None = None) -> None:
        compiled = robot.compile({parameter: next(designs)}, out)
        assert compiled.report is not None
        compiled.report.to_yaml()

    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "robot.xml").write_text(first.xml, encoding="utf-8")
        seconds = seconds_per_call(
            {
                "load_s": lambda: draft_core.load(name),
                "compile_s": compile_new,
                "write_s": lambda: compile_new(Path(scratch, "out")),
                "mujoco_s": lambda: mujoco.MjModel.from_xml_path(str(Path(scratch, "robot.xml"))),
            },
            budget=0.01 if quick else 0.1,
            rounds=1 if quick else 7,
        )
    return {
        "mass_kg": float(first.model.body_mass.sum()),
        "published_mass_kg": PUBLISHED_MASS.get(name),
        "joints": int(first.model.nu),
        **seconds,
        "ratio": seconds["compile_s"] / seconds["mujoco_s"],
    }


def _designs(robot: draft_core.Robot) -> tuple[str, Any]:
    """Return a parameter and endless values near its own, so that no design comes twice."""
    name = next(n for n in ("lower_leg", "shank") if n in robot.parameters)
    value = robot.parameters[name].value
    assert value is not None
    return name, (value * (1 + 1e-6 * i) for i in itertools.count())


if __name__ == "__main__":
    main()
