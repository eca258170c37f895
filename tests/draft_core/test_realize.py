"""`realize` against MuJoCo's own compilation: every field, the mass matrix, and derivatives."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import draft_core
from draft_core.backend import jax, jnp, mjx
from draft_core.errors import DraftError
from tests.draft_core.conftest import FOLDERS, VARIANTS, Sample, mass_matrix_c, sample

# What MuJoCo specialises for one design (frames that coincide, entries of M that vanish), and
# what differs because the optimisation model has no collision geometry.
GENERALISED = {
    *("body_sameframe", "geom_sameframe", "site_sameframe", "body_simple", "dof_simplenum"),
    *("M_rownnz", "M_rowadr", "M_colind", "nC", "_sizes", "signature"),
    *("geom_contype", "geom_conaffinity", "body_contype", "body_conaffinity"),
    "body_fullinertia",
    "geom_rgba",  # colours are for the compiled model
}


# The mesh of a root is no part of the optimisation model: geoms are compared without it, and what
# MuJoCo derives from meshes is left out. Masses and inertias are not among that.
PLAIN_GEOMS = ("geom_pos", "geom_quat", "geom_size", "geom_rbound", "geom_aabb", "geom_friction")


def follows_meshes(name: str) -> bool:
    """Tell whether a field counts or describes geoms, meshes or the box around them."""
    counts = {"ngeom", "nmesh", "nbvh", "nbvhstatic", "ntree", "npoly", "npaths", "names"}
    starts = (
        "geom_",
        "mesh_",
        "_impl.",
        "nmesh",
        "bvh_",
        "body_geom",
        "body_bvh",
        "stat.",
        "names",
    )
    return name in counts or name.startswith((*starts, "nnames", "name_", "_sizes"))


def fields(model: Any) -> dict[str, Any]:
    """Return a model's fields by name, those of nested dataclasses dotted."""
    result = {}
    for field in type(model).fields():
        value = getattr(model, field.name)
        if hasattr(value, "fields"):
            inner = fields(value).items()
            result |= {f"{field.name}.{key}": item for key, item in inner}
        else:
            result[field.name] = value
    return result


def compiled(model: mujoco.MjModel) -> dict[str, Any]:
    """Return the fields of MJX's model of a compiled robot, put without collision pairs."""
    bare = model.__copy__()
    bare.geom_contype[:] = 0
    bare.geom_conaffinity[:] = 0
    return fields(mjx.put_model(bare))


def assert_close(value: Any, expected: Any, name: str, tolerance: float = 1e-9) -> None:
    """Compare relatively; entries under a millionth of the largest count as that large."""
    value, expected = np.asarray(value, dtype=float), np.asarray(expected, dtype=float)
    floor = 1e-6 * np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(
        value, expected, rtol=tolerance, atol=tolerance * max(floor, 1e-12), err_msg=name
    )


@pytest.mark.parametrize("name", [*FOLDERS, *VARIANTS])
def test_every_field_equals_the_compiled_model_at_50_designs(name: str):
    # mujoco#1607: fields derived by the compiler (subtree masses, inverse weights, statistics)
    # silently keep their old values when a field they follow is replaced in an MJX model.
    any_robot = sample(name)
    robot = any_robot.robot
    for design in any_robot.designs(50):
        ours = fields(robot.realize(design))
        model = robot.compile(design, gates=False).model
        theirs = compiled(model)
        assert set(ours) - {"body_fullinertia"} == set(theirs)
        compared = set(ours) - GENERALISED
        if robot.tree.meshes:
            compared = {name for name in compared if not follows_meshes(name)}
            plain = model.geom_type != mujoco.mjtGeom.mjGEOM_MESH
            for name in PLAIN_GEOMS:
                assert_close(ours[name], np.asarray(theirs[name])[plain], name)
        for name in compared:
            value, expected = ours[name], theirs[name]
            if isinstance(value, jax.Array | np.ndarray | float):
                if name == "_impl.geom_rbound_hfield":
                    continue  # static in MJX, read only for height fields, which robots have not
                assert np.shape(value) == np.shape(expected), name
                assert_close(value, expected, name)
            else:
                assert value == expected, name


def test_every_field_equals_the_compiled_model_with_its_collision_pairs(hexapod: Sample):
    design = hexapod.designs(1)[0]
    theirs = fields(mjx.put_model(hexapod.robot.compile(design, gates=False).model))
    for name, value in fields(hexapod.robot.realize(design)).items():
        if isinstance(value, jax.Array) and name not in GENERALISED:
            assert_close(value, theirs[name], name)


def test_mass_matrix_equals_mujoco_at_random_designs_and_poses(any_robot: Sample):
    rng = np.random.default_rng(1)
    for design in any_robot.designs(20, seed=1):
        q = any_robot.pose(rng)
        ours = any_robot.mass_matrix(any_robot.robot.realize(design), q)
        assert_close(
            ours, mass_matrix_c(any_robot.robot.compile(design, gates=False).model, q), "M"
        )


def test_full_inertia_is_the_principal_one_turned_back(any_robot: Sample):
    model = any_robot.robot.realize(any_robot.designs(1)[0])
    for body in range(model.nbody):
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, np.asarray(model.body_iquat[body]))
        turn = turn.reshape(3, 3)
        expected = turn @ np.diag(np.asarray(model.body_inertia[body])) @ turn.T
        # Elements beside the diagonal may be the rounding of larger sums; axes do not follow them.
        atol = 1e-14 * np.abs(expected).max()
        np.testing.assert_allclose(model.body_fullinertia[body], expected, rtol=1e-12, atol=atol)


def real_fields(robot: Sample, design: dict[str, Any]) -> dict[str, Any]:
    model = fields(robot.robot.realize(design))
    return {k: v for k, v in model.items() if isinstance(v, jax.Array) and v.dtype == float}


def test_a_traced_model_equals_the_one_from_numbers(any_robot: Sample):
    design = any_robot.designs(1)[0]
    traced = jax.jit(lambda values: real_fields(any_robot, values))(design)
    for name, value in real_fields(any_robot, design).items():
        assert_close(traced[name], value, name, 1e-10)


@pytest.mark.parametrize(
    "name", ["hexapod", "quadcopter", pytest.param("everything", marks=pytest.mark.slow)]
)
def test_every_field_has_finite_derivatives(name: str):
    # Repeated moments, points that coincide and corners of max() all occur in these robots. One
    # direction is enough: a partial derivative that is not finite spoils it.
    robot = sample(name)
    values, rates = robot.stated, dict.fromkeys(robot.stated, 1.0)
    push = jax.jit(lambda v, r: jax.jvp(lambda d: real_fields(robot, d), (v,), (r,))[1])
    derivative = push(values, rates)
    for field, rate in derivative.items():
        assert np.isfinite(rate).all(), field
    assert np.abs(derivative["body_mass"]).max() > 0


def test_it_maps_over_designs(hexapod: Sample):
    lengths = jnp.linspace(0.05, 0.2, 4)
    realize = jax.vmap(lambda length: hexapod.robot.realize({"leg_length": length}))
    models = jax.jit(realize)(lengths)
    assert models.body_inertia.shape == (4, 8, 3)
    np.testing.assert_allclose(models.site_pos[:, 1, 2], -lengths)


@pytest.mark.parametrize("name", ["hexapod", "quadcopter", "everything", "hopper"])
def test_gradient_of_the_mass_matrix_is_that_of_the_compiled_model(name: str):
    # Central differences of MuJoCo's own M, step 1e-5 of the value: their error is about
    # 1e-10 (truncation) + 1e-16 / 1e-5 (rounding), both below the 1e-5 asked for.
    robot = sample(name)
    design = robot.designs(1, seed=3)[0]
    q = robot.pose(np.random.default_rng(3))
    names = [key for key in design if "inertia" not in key and design[key]]

    def mass_matrix(values: Any) -> Any:
        model = robot.robot.realize(design | dict(zip(names, values, strict=True)))
        return robot.mass_matrix(model, q)

    values = jnp.array([design[key] for key in names])
    push = jax.jit(lambda v, rate: jax.jvp(mass_matrix, (v,), (rate,))[1])
    for i, key in enumerate(names):
        gradient = push(values, jnp.eye(len(names))[i])
        step = 1e-5 * design[key]
        ends = [
            mass_matrix_c(
                robot.robot.compile(design | {key: design[key] + sign * step}, gates=False).model, q
            )
            for sign in (1, -1)
        ]
        expected = (ends[0] - ends[1]) / (2 * step)
        # what does not depend on the parameter differs by rounding of M over the step
        scale = max(np.abs(expected).max(), 1e-6 * np.abs(mass_matrix(values)).max() / design[key])
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5 * scale, err_msg=key)


def test_fields_nobody_reads_are_dead_code(everything: Sample):
    # The optimiser traces realize with kinematics; the reference inverse of M must not be in it.
    def function(length: Any) -> Any:
        model = everything.robot.realize({"leg.length": length})
        return model.body_pos, model.body_mass, model.body_fullinertia

    jaxpr = jax.make_jaxpr(function)(0.25).jaxpr
    needed = {var for var in jaxpr.outvars if not hasattr(var, "val")}
    live = []
    for equation in reversed(jaxpr.eqns):
        if needed & set(equation.outvars):
            live.append(equation)
            needed |= {var for var in equation.invars if not hasattr(var, "val")}
    names = {str(equation.params.get("name", equation.primitive)) for equation in live}
    assert "derived" not in names
    assert not {"lu", "triangular_solve", "while", "callback", "pure_callback"} & names
    assert len(live) < 1000


def test_a_design_that_moves_the_centre_of_mass_couples_the_mass_matrix(make_robot):
    # At its nominal design this body is "simple" to MuJoCo (centre of mass at the origin), and
    # MJX would then drop the off-diagonal entries of M for every other design too.
    folder = make_robot(
        "offset: 0.0\n",
        """
        robot: block
        nodes:
          body:
            primitive: root
            joint: free
            shape: box
            size: [0.1, 0.2, 0.3]
            center: ["${offset}", 0, 0]
            mass: 1
            thrusters: {fan: {limit: 1}}
        """,
    )
    robot = draft_core.load(folder)
    q = jnp.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5])

    @jax.jit
    def mass_matrix(offset: Any) -> Any:
        model = robot.realize({"offset": offset})
        data = mjx.make_data(model).replace(qpos=q)
        return mjx.full_m(model, mjx.crb(model, mjx.com_pos(model, mjx.kinematics(model, data))))

    expected = mass_matrix_c(robot.compile({"offset": 0.05}).model, np.asarray(q))
    assert np.abs(expected - np.diag(np.diag(expected))).max() > 0.01
    assert_close(mass_matrix(0.05), expected, "M")


def test_an_unknown_design_variable_is_refused_with_those_that_exist(hexapod: Sample):
    with pytest.raises(DraftError, match=r"'leg_lenght' .*did you mean 'leg_length'.*body_mass"):
        hexapod.robot.realize({"leg_lenght": 0.1})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "long", None, [0.1, 0.2], True])
def test_a_design_value_that_is_no_number_is_refused(hexapod: Sample, value: object):
    with pytest.raises(DraftError, match=r"'leg_length'.*finite number"):
        hexapod.robot.realize({"leg_length": value})


@pytest.mark.parametrize("value", [0.0, -0.1])
def test_a_negative_mass_is_refused_where_its_number_is_known(hexapod: Sample, value: float):
    with pytest.raises(
        DraftError, match=r"node 'leg_fl'.*mass is .*'\$\{leg_mass\}'.*greater than 0"
    ):
        hexapod.robot.realize({"leg_mass": value})
