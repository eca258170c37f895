"""Each problem's README: its picture is there, and what it says remakes it does."""

from __future__ import annotations

import re

import pytest

from problems import registry

ENTRIES = registry()


def python_blocks(name: str) -> list[str]:
    text = (ENTRIES[name].folder / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_problem_has_question_picture_answer_and_source(name) -> None:
    folder = ENTRIES[name].folder
    text = (folder / "README.md").read_text(encoding="utf-8")
    for part in ("**Question.**", "## Expected answer", "## Readings of the paper", "et al. ("):
        assert part in text
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert pictures
    for picture in pictures:
        assert (folder / picture).read_text(encoding="utf-8").startswith("<svg")
    for block in python_blocks(name):
        compile(block, f"{name}/README.md", "exec")


def test_the_quadcopters_picture_is_made_as_its_readme_says(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "problems" / "quadcopter"
    folder.mkdir(parents=True)
    (code,) = python_blocks("quadcopter")
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert (folder / "motion.svg").read_text(encoding="utf-8").startswith("<svg")
