"""The shapes in annotations hold: each call is checked while every robot is built."""

from __future__ import annotations

import subprocess
import sys

from tests.draft_core.conftest import FOLDERS, PROJECT

# All but `realization`: MJX's own dataclass does not keep its annotations (`signature`).
MODULES = [
    f"draft_core.{path.stem}"
    for path in (PROJECT / "draft_core").glob("*.py")
    if path.stem not in ("__init__", "realization", "backend")
]

SCRIPT = """
import sys
import numpy as np
from jaxtyping import TypeCheckError, install_import_hook

folders, modules = sys.argv[1].split(","), sys.argv[2].split(",")
with install_import_hook(modules, "beartype.beartype"):
    import draft_core
    from draft_core import realization, rotations
from draft_core.backend import jax

try:
    rotations.multiply(np.zeros(3), np.zeros(4))
except TypeCheckError:
    pass
else:
    sys.exit("calls are not checked")
for folder in folders:
    robot = draft_core.load(folder)
    robot.compile()
    given = robot.tree.parameters.entries
    design = {e.name: e.stated for e in given if type(e.stated) is float and not e.fixed}
    jax.make_jaxpr(robot.realize)(design)
"""


def test_annotated_shapes_hold():
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, ",".join(map(str, FOLDERS.values())), ",".join(MODULES)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
