"""docs/robot-format.md: its example works, and it names every key there is."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import pytest

from draft_core import grammar, reading, values
from draft_core.parsing import MAX_NODES
from draft_core.primitives import PRIMITIVES, parts
from tests.draft_core.conftest import PROJECT

TEXT = (PROJECT / "docs" / "robot-format.md").read_text(encoding="utf-8")
CODE = re.findall(r"```(yaml|python)\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_minimal_robot_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "hopper"
    folder.mkdir()
    files = {text.split("\n", 1)[0]: text for language, text in CODE if language == "yaml"}
    for name in ("parameters.yaml", "tree.yaml"):
        (folder / name).write_text(files[f"# {name}"], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (script,) = (text for language, text in CODE if language == "python")
    exec(compile(script, "robot-format.md", "exec"), {})
    model = mujoco.MjModel.from_xml_path("out/hopper/scene.xml")
    assert model.site("foot").pos[2] == pytest.approx(-0.02)


def documented() -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", TEXT))


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_every_primitive_and_its_keys_are_documented(primitive: str):
    assert {*PRIMITIVES[primitive].keys, primitive} <= documented()


def test_every_joint_shape_and_function_is_documented():
    keys = {key for keys in parts.JOINT_KEYS.values() for key in keys}
    assert keys | set(parts.JOINT_KEYS) | set(parts.SHAPES) | set(parts.SOLID_KEYS) <= documented()
    for word in (*grammar.FUNCTIONS, *grammar.CONSTANTS):
        assert re.search(rf"`[^`]*\b{word}\b[^`]*`", TEXT), word
    for parts_of_size in parts.SHAPES.values():
        assert f"{{{', '.join(parts_of_size)}}}" in TEXT


def test_the_limits_are_those_of_the_code():
    assert f"{reading.MAX_BYTES // 1024} KiB" in TEXT
    assert f"{MAX_NODES} nodes" in TEXT
    assert f"{grammar.MAX_NODES} terms" in TEXT
    assert f"{grammar.MAX_DEPTH} levels" in TEXT
    assert f"at most {grammar.MAX_POWER} in size" in TEXT
    assert f"at most {grammar.MAX_DIGITS} digits" in TEXT
    assert f"at most {values.MAX_SIZE} elements and characters" in TEXT
    assert f"at most {values.MAX_NESTING} lists within" in TEXT
