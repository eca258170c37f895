"""A ground in MuJoCo's scene, in pictures and in files is the one that the optimiser saw."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from codesign import Cells, Terrain, load, step_terrain
from codesign.errors import SolutionError
from codesign.report.ground import ground_shapes
from codesign.report.montage import montage_svg
from codesign.report.player import player_scene
from codesign.terrain import FLAT, Relief, relief_under
from codesign.terrain.relief import FLAT_NAME
from codesign.terrain.scene import add_ground
from draft_core.backend import jnp
from tests.test_replay import shuttle

LOW, HIGH = np.array([-1.0, -1.0]), np.array([1.0, 1.0])


def hills_height(position):
    return 0.1 * jnp.sin(3 * position[0]) * jnp.cos(2 * position[1])


GROUNDS = {
    "cells": Cells([0.15], [-0.05, 0.1]),
    "grid": Cells([0.0, 0.3], [[0, 0], [0, 0.2], [0, 0.1]], edges_y=[-0.2]),
    "step": step_terrain(0.15, 0.1),
    "step down": step_terrain(0.15, -0.1),
    "hills": Terrain(hills_height),
}


def scene_of(relief: Relief | None, radius: float = 0.0) -> mujoco.MjModel:
    """Return the ground as MuJoCo's model, with a ball over it if it has a radius."""
    spec = mujoco.MjSpec()
    add_ground(spec, relief)
    if radius:
        ball = spec.worldbody.add_body(name="ball", pos=[0.5, 0.0, 0.5])
        ball.add_freejoint()
        ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0], mass=1.0)
    return spec.compile()


@pytest.mark.parametrize("name", GROUNDS)
def test_a_ray_from_above_meets_the_ground_at_its_height(name) -> None:
    ground, model = GROUNDS[name], scene_of(GROUNDS[name].relief(LOW, HIGH))
    data, geom = mujoco.MjData(model), np.zeros(1, np.int32)
    mujoco.mj_forward(model, data)
    rng = np.random.default_rng(0)
    for place in rng.uniform(-0.9, 0.9, (60, 2)):
        start, down = np.array([*place, 2.0]), np.array([0.0, 0.0, -1.0])
        height = 2.0 - mujoco.mj_ray(model, data, start, down, None, 1, -1, geom)
        # profiles are drawn to 1e-4 m between samples, hills by planes over 12.5 mm
        true = float(np.asarray(ground.height(np.array(place))))
        assert height == pytest.approx(true, abs=3e-4)


@pytest.mark.parametrize(("name", "height"), [("cells", 0.1), ("step", 0.1), ("step down", -0.1)])
def test_a_ball_comes_to_rest_on_the_step(name, height) -> None:
    model = scene_of(GROUNDS[name].relief(LOW, HIGH), radius=0.05)
    data = mujoco.MjData(model)
    for _ in range(1000):
        mujoco.mj_step(model, data)
    assert data.qpos[2] == pytest.approx(height + 0.05, abs=2e-3)  # contacts are soft


@pytest.mark.parametrize("name", GROUNDS)
def test_shapes_of_a_ground_reach_its_height(name) -> None:
    relief = GROUNDS[name].relief(LOW, HIGH)
    shapes = ground_shapes(relief)
    assert 1 <= len(shapes) <= 256
    top = max(float(shape.mesh.vertices[:, 2].max()) for shape in shapes)
    # hills are drawn by 16 × 16 pieces: a sixteenth of 2 m off the summit at most
    assert top == pytest.approx(relief.height.max(), abs=3e-3 if name == "hills" else 1e-9)
    for shape in shapes:
        mesh, middle = shape.mesh, shape.mesh.vertices.mean(axis=0)
        outward = np.einsum("ij,ij->i", mesh.normals, mesh.vertices - middle)
        assert np.all(outward > -1e-9)


def test_pictures_show_the_step_and_measure_the_robot_alone() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body pos='0 0 .2'><freejoint/><geom size='.1'/></body></worldbody>"
        "</mujoco>"
    )
    relief = relief_under(GROUNDS["cells"], model, model.qpos0[None])
    q = np.stack([model.qpos0] * 2)
    level = player_scene(model, np.array([0.0, 1.0]), q, [], {})
    stepped = player_scene(model, np.array([0.0, 1.0]), q, [], {}, relief)
    assert [shape.get("ground", False) for shape in stepped["shapes"]] == [False, True]
    assert stepped["ground"] == -0.05
    for key in ("low", "high", "size", "grid"):
        assert stepped[key] == level[key]
    drawn = montage_svg(model, q, relief=relief).count("<polygon")
    assert drawn > montage_svg(model, q).count("<polygon")


def test_level_ground_needs_no_relief() -> None:
    model = scene_of(None, radius=0.1)
    assert relief_under(FLAT, model, model.qpos0[None]) is None
    named = Terrain(FLAT.height, "the lab's floor")
    relief = relief_under(named, model, model.qpos0[None])
    assert relief is not None  # its name alone does not say that it is flat
    assert relief.blocks() == []


def test_a_ground_is_saved_with_its_motion_and_replayed(tmp_path) -> None:
    relief = GROUNDS["step"].relief(LOW, HIGH)
    on_step = replace(shuttle(), terrain="a step", relief=relief)
    folder = on_step.save(tmp_path / "result")
    back = load(folder)
    assert back.relief is not None
    for name, values in vars(relief).items():
        np.testing.assert_array_equal(getattr(back.relief, name), values)
    assert (folder / "replay.json").exists()
    assert back.replay().arrived
    assert shuttle().relief is None
    assert shuttle().terrain == FLAT_NAME


def test_a_ground_that_is_none_is_refused(tmp_path) -> None:
    bent = Relief(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.zeros((3, 3)))
    folder = replace(shuttle(), terrain="a step", relief=bent).save(tmp_path / "result")
    with pytest.raises(SolutionError, match="'ground_x', '_y' and '_height' describe no ground"):
        load(folder)


def test_pictures_of_rugged_ground_are_made_of_few_pieces() -> None:
    rugged = Terrain(lambda position: jnp.sin(200 * position[0])).relief(LOW, HIGH)
    assert len(rugged.blocks()) > 500
    assert 50 <= len(ground_shapes(rugged)) <= 100


def test_ground_without_a_finite_height_does_not_spoil_a_result(tmp_path) -> None:
    holed = Terrain(lambda position: jnp.sqrt(position[0] - 0.1), "holed")
    solution = shuttle()
    model = solution.compile()
    assert relief_under(holed, model, solution.q) is None
    saved = replace(solution, terrain="holed", relief=None)
    with pytest.warns(RuntimeWarning, match="ground 'holed' has no finite height"):
        saved.save(tmp_path / "out")
    assert not (tmp_path / "out/replay.json").exists()
    assert load(tmp_path / "out").success
