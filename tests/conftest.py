"""Settings every test shares."""

from __future__ import annotations

import os

from jaxtyping import install_import_hook

# Tests compare numbers, so they run on one platform wherever they run.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

#: Modules whose array shapes are checked by beartype at every call in tests. A module can be
#: listed when its annotations name nothing that is imported under TYPE_CHECKING alone.
SHAPE_CHECKED = ("draft_core.derived", "draft_core.namespace", "draft_core.rotations")

install_import_hook(list(SHAPE_CHECKED), "beartype.beartype")
