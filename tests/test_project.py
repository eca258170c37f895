"""The project as a fresh clone: licence, targets, no machine's paths, short modules."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("codesign", "draft_core", "problems", "benchmarks")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TEXTS = [
    path
    for pattern in ("*.py", "*.md", "*.toml", "*.yaml", "*.js", "*.css", "*.html")
    for folder in (*PACKAGES, "tests", "docs")
    for path in (ROOT / folder).rglob(pattern)
] + [ROOT / name for name in ("README.md", "pyproject.toml", "Makefile", ".ci/run")]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    return found


def test_licence_is_mit():
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert project()["project"]["license"] == "MIT"


@pytest.mark.parametrize("target", ["env", "demo", "test", "bench", "clean", "help"])
def test_makefile_has_target(target):
    assert re.search(rf"^{target}:.*##", (ROOT / "Makefile").read_text(), re.M)


def test_ci_runs_make_test():
    text = (ROOT / ".ci" / "run").read_text()
    assert "set -euo pipefail" in text
    assert "make test" in text


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_is_short_enough_to_read(path):
    assert len(path.read_text().splitlines()) < 500


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_path_of_one_machine(path):
    # Written in pieces, so that this file passes its own test.
    places = ["/" + name + "/" for name in ("work", "root", "home", "Users")] + ["/t" + "mp/"]
    text = path.read_text(encoding="utf-8")
    assert [place for place in places if place in text] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_is_evaluated_or_unpickled(path):
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"eval", "exec"}
    assert not {"pickle", "cloudpickle", "dill", "marshal"} & imports_of(path)
    assert not re.search(
        r"yaml\.(load|unsafe_load|full_load)\((?!.*SafeLoader|.*_PlainLoader)", path.read_text()
    )


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "codesign" / "tracing").rglob("*.py")),
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_tracing_stands_on_its_own(path):
    ours = {name for name in imports_of(path) if name.split(".")[0] in PACKAGES}
    assert all(name.startswith("codesign.tracing") for name in ours)


def test_mujoco_and_mjx_and_jax_are_pinned():
    pinned = project()["project"]["dependencies"]
    for name in ("jax", "mujoco", "mujoco-mjx"):
        assert any(re.fullmatch(rf"{name}==[\d.]+", line) for line in pinned), name


@pytest.mark.parametrize("package", ["codesign", "draft_core", "problems"])
def test_importing_is_cheap(package):
    code = f"import sys, {package}; print('jax' in sys.modules or 'casadi' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_public_names_resolve():
    import codesign

    for name in codesign.__all__:
        assert getattr(codesign, name) is not None
    assert set(codesign.__all__) <= set(dir(codesign))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = codesign.Nothing
