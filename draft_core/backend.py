"""JAX, MJX and MuJoCo as this project uses them: float64, on the CPU unless told otherwise.

Every module that computes with JAX imports it from here, so that the two settings are made
once and before JAX starts. Importing this module takes a second or more; ``import draft_core``
does not import it.
"""

import contextlib
import io
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import mujoco  # noqa: E402

# mujoco.mjx prints two lines about a missing warp package, which a user should not see.
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    import mujoco.mjx as mjx

__all__ = ["jax", "jnp", "mjx", "mujoco"]
