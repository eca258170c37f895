"""Settings every test shares."""

from __future__ import annotations

import os

# Tests compare numbers, so they run on one platform wherever they run.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
