"""The README does what it says: its Python runs, its robot compiles."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.S | re.M)


@pytest.mark.slow
def test_python_of_the_readme_runs(tmp_path, monkeypatch):
    (tmp_path / "problems").symlink_to(ROOT / "problems")
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "readme"}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    solution = names["solution"]
    solution.require_success()
    assert (tmp_path / "out" / "button_press" / "robot.xml").is_file()
    # differences of 10 µm err by their square, and by rounding / 10 µm: far below 1e-6 kg
    np.testing.assert_allclose(names["slope"], mass_matrix_slope(), atol=1e-6)
    # The nose is at the height of the body's middle, where the legs' hips are: a nose at 0.15 m
    # that ends at rest needs legs of at least that length, less what a tilted body gains.
    assert 0.12 < solution.design["leg_length"] <= 0.20


def mass_matrix_slope(leg_length: float = 0.10, step: float = 1e-5) -> np.ndarray:
    """MuJoCo C's mass matrices of two compiled robots, differenced."""
    import mujoco

    import draft_core

    def at(length: float) -> np.ndarray:
        robot = draft_core.load(ROOT / "problems/hexapod/robot")
        model = robot.compile({"leg_length": length}).model
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        return full

    return (at(leg_length + step) - at(leg_length - step)) / (2 * step)


def test_python_of_the_problem_guide_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    guide = (ROOT / "docs/problem.md").read_text(encoding="utf-8")
    names: dict = {"__name__": "guide"}
    for block in re.findall(r"^```python\n(.*?)^```", guide, re.S | re.M):
        exec(compile(block, "docs/problem.md", "exec"), names)
    assert names["solution"].success


def test_the_problem_guide_lists_every_option_and_status():
    from codesign import Problem, SolveStatus

    guide = (ROOT / "docs/problem.md").read_text(encoding="utf-8")
    for name in (*Problem.option_names(), *map(str, SolveStatus)):
        assert f"`{name}`" in guide


def test_robot_of_the_readme_compiles(tmp_path):
    import draft_core

    (block,) = blocks("yaml")
    parameters, leg = block.split("# tree.yaml")
    body = {"primitive": "root", "joint": "free", "shape": "sphere", "mass": 1.0}
    body["size"] = {"radius": 0.05}
    nodes = {"body": body, **yaml.safe_load(leg)}
    (tmp_path / "parameters.yaml").write_text(parameters)
    (tmp_path / "tree.yaml").write_text(yaml.safe_dump({"robot": "readme", "nodes": nodes}))
    robot = draft_core.load(tmp_path)
    assert robot.contact_names == ("foot_fl", "foot_fr")
    model = robot.compile({"leg_length": 0.15}).model
    assert model.nu == 2
    assert model.site("foot_fl").pos[2] == pytest.approx(-0.15)


@pytest.mark.parametrize("command", re.findall(r"`codesign (\w+)", README))
def test_commands_of_the_readme_exist(command):
    from codesign.cli import app

    assert command in {info.name for info in app.registered_commands}
