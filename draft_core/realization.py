"""``realize``: a tree and a design become an MJX model, differentiable in the design.

The base model is MuJoCo's own compilation of the robot at its nominal parameters. Every float
field that can follow the design is replaced; what MuJoCo specialises for one design (frames that
happen to coincide, mass-matrix entries that happen to vanish) is replaced by the general case.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from draft_core.backend import jax, jnp, mjx, mujoco
from draft_core.derived import Structure, derived, structure
from draft_core.mjcf import compile_xml, robot_xml
from draft_core.namespace import is_jax
from draft_core.quantities import OWN_FIELDS, quantities
from draft_core.tree import RobotTree


class RealizedModel(mjx.Model):
    """An MJX model at one design, with full inertia tensors.

    Attributes:
        body_fullinertia: inertia about each body's centre of mass, along the body's own axes
            (nbody, 3, 3) [kg m²]; unlike ``body_inertia`` and ``body_iquat`` it needs no
            eigen-decomposition.
    """

    body_fullinertia: jax.Array


@functools.lru_cache(maxsize=32)
def base_model(tree: RobotTree) -> mujoco.MjModel:
    """Return MuJoCo's model at the nominal parameters; shared, not to be changed."""
    return compile_xml(tree, robot_xml(tree, quantities(tree, tree.resolve())))


@functools.lru_cache(maxsize=32)
def _structure(tree: RobotTree) -> tuple[Structure, np.ndarray]:
    return structure(tree), np.array(base_model(tree).body_simple)


@functools.lru_cache(maxsize=32)
def _base(tree: RobotTree) -> RealizedModel:
    model = base_model(tree).__copy__()
    # MJX refuses some pairs of shapes; the optimisation model has no collision geometry.
    model.geom_contype[:] = 0
    model.geom_conaffinity[:] = 0
    with jax.ensure_compile_time_eval():
        base = mjx.put_model(model)
        values = {f.name: getattr(base, f.name) for f in mjx.Model.fields()}
        nbody = int(base.nbody)
        return RealizedModel(
            **{**values, **_general_structure(tree, model)},
            body_fullinertia=jnp.zeros((nbody, 3, 3)),
        )


def _general_structure(tree: RobotTree, model: mujoco.MjModel) -> dict[str, Any]:
    """Return the structural fields for a general design.

    MuJoCo marks frames that coincide and bodies whose mass matrix is diagonal *at this design*;
    MJX then drops the other entries of M for every design.
    """
    chains: list[list[int]] = []
    for dof in range(model.nv):
        parent = int(model.dof_parentid[dof])
        chains.append([*(chains[parent] if parent >= 0 else []), dof])
    lengths = np.array([len(chain) for chain in chains], dtype=np.int32)
    return {
        "body_sameframe": np.zeros_like(model.body_sameframe),
        "geom_sameframe": np.zeros_like(model.geom_sameframe),
        "site_sameframe": np.zeros_like(model.site_sameframe),
        "body_simple": np.zeros_like(model.body_simple),
        "dof_simplenum": np.zeros_like(model.dof_simplenum),
        "M_rownnz": lengths,
        "M_rowadr": (np.cumsum(lengths) - lengths).astype(np.int32),
        "M_colind": np.array([j for chain in chains for j in chain], dtype=np.int32),
        "nC": int(lengths.sum()),
    }


def realize(tree: RobotTree, design: Mapping[str, Any] | None = None) -> RealizedModel:
    """Return the robot's MJX model at a design.

    Args:
        tree: the robot.
        design: parameter values by (dotted) name, floats or JAX scalars; the file's values
            hold for the rest.

    Returns:
        A model whose float fields follow the design; traceable by ``jax.jit``, ``vmap``,
        ``grad`` and ``make_jaxpr``. Fields the caller does not use are dead code in a trace.

    Raises:
        DraftError: a name that is no parameter, or a number that breaks a rule.
    """
    fields = quantities(tree, tree.resolve(design))
    shape, simple = _structure(tree)
    base = _base(tree)
    if any(map(is_jax, fields.values())):
        fields |= _traced_derived(tree)(_strip(fields))
    else:
        fields |= derived(shape, simple, fields)
    with jax.ensure_compile_time_eval():
        fields |= jax.device_put({k: v for k, v in fields.items() if not is_jax(v)})
    stat = {k.removeprefix("stat."): v for k, v in fields.items() if k.startswith("stat.")}
    own = {
        k: v
        for k, v in fields.items()
        if not k.startswith("stat.") and (k not in OWN_FIELDS or k == "body_fullinertia")
    }
    return base.replace(stat=base.stat.replace(**stat), **own)


_DERIVED_INPUTS = (
    *(
        "body_pos",
        "body_quat",
        "body_mass",
        "body_ipos",
        "body_fullinertia",
        "jnt_axis",
        "dof_armature",
    ),
    *("geom_pos", "geom_rbound", "site_pos", "site_quat", "actuator_gear"),
)


def _strip(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: fields[key] for key in _DERIVED_INPUTS}


@functools.lru_cache(maxsize=32)
def _traced_derived(tree: RobotTree) -> Any:
    """Return the derived fields as one jitted call: traced once, dropped whole where unused."""
    shape, simple = _structure(tree)
    return jax.jit(functools.partial(derived, shape, simple))
