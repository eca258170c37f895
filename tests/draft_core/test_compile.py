"""`compile`: what is written reads back as the same model, whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml

import draft_core
from draft_core.errors import DraftError
from draft_core.export import parameters_text
from draft_core.mjcf import compile_xml
from tests.draft_core.conftest import Sample, mass_matrix_c


def float_fields(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Return every float array of a MuJoCo model."""
    names = [name for name in dir(model) if not name.startswith("_")]
    values = {name: getattr(model, name) for name in names}
    return {k: v for k, v in values.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"}


def test_what_is_written_reloads_as_the_same_model(any_robot: Sample, tmp_path: Path):
    # MuJoCo's own writer would keep six digits here.
    rng = np.random.default_rng(5)
    for i, design in enumerate(any_robot.designs(5, seed=5)):
        compiled = any_robot.robot.compile(design, tmp_path / str(i), gates=False)
        reloaded = mujoco.MjModel.from_xml_path(str(tmp_path / str(i) / "robot.xml"))
        assert compiled.drift < 1e-12
        ours, theirs = float_fields(compiled.model), float_fields(reloaded)
        assert len(ours) > 50
        for name, value in ours.items():
            np.testing.assert_array_equal(theirs[name], value, err_msg=name)
        q = any_robot.pose(rng)
        np.testing.assert_array_equal(mass_matrix_c(reloaded, q), mass_matrix_c(compiled.model, q))


def test_numbers_keep_all_their_digits(hexapod: Sample):
    length = 0.123456789012345678
    compiled = hexapod.robot.compile({"leg_length": length})
    assert repr(length) in compiled.xml
    assert compiled.model.site("foot_fl").pos[2] == -length


def test_the_scene_puts_the_robot_on_a_floor(any_robot: Sample, tmp_path: Path):
    any_robot.robot.compile(out=tmp_path / "out")
    scene = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "scene.xml"))
    assert scene.geom("floor").type == mujoco.mjtGeom.mjGEOM_PLANE
    assert scene.nbody == any_robot.robot.base_model.nbody
    assert scene.nu == any_robot.robot.base_model.nu


def test_the_hexapod_stands_on_its_feet(hexapod: Sample, tmp_path: Path):
    hexapod.robot.compile({"leg_length": 0.15}, tmp_path / "out")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    feet = [data.site(name).xpos[2] for name in hexapod.robot.contact_names]
    np.testing.assert_allclose(feet, 0.0, atol=1e-12)
    assert data.site("nose").xpos[2] == pytest.approx(0.15)
    assert data.ncon >= 6
    # the contact points' friction decides, not the floor's
    np.testing.assert_allclose(data.contact.friction[:, 0], 0.7)


def test_resolved_parameters_say_value_unit_and_source(hexapod: Sample, tmp_path: Path):
    hexapod.robot.compile({"body_x": 0.9}, tmp_path / "out")
    text = (tmp_path / "out" / "parameters_resolved.yaml").read_text(encoding="utf-8")
    rows = yaml.safe_load(text)["parameters"]
    assert rows["body_x"] == {"value": 0.9, "unit": "m", "source": "override"}
    assert rows["hip_spread"]["value"] == pytest.approx(0.3)
    assert rows["leg_mass"] == {"value": 0.1, "unit": "kg", "source": "parameters.yaml"}
    assert set(rows) >= set(hexapod.robot.parameters)


def test_resolved_parameters_of_every_kind_read_back_as_they_are(make_robot: Callable[..., Path]):
    stated = 'a: 1.0e-7\nb: -2.5e+20\nc: {value: 1, unit: "°: {#}"}\n"on": 5\n'
    stated += 'd: "no: \\"1\\" \\n\\u00e9\\u2028"\n'
    more = "e: true\nf: '${[a, [c, 2]]}'\ng: '1'\nh: [3, 4]\ni: '${0 - 0.0}'\nj: 'null '\n"
    tree = draft_core.load(make_robot(f"length: 0.3\nmass: 1.0\n{stated}{more}")).tree
    env = tree.resolve()
    rows = yaml.safe_load(parameters_text(tree, env, {}))["parameters"]
    for name in "abcdeghij":
        if name != "h":
            assert rows[name]["value"] == env[name]
            assert type(rows[name]["value"]) is type(env[name])
    assert rows["c"]["unit"] == "°: {#}"
    assert rows["f"]["value"] == [1e-7, [1.0, 2.0]]
    assert rows["on"]["value"] == 5
    assert "h" not in rows
    assert rows["h.1"] == {"value": 4.0, "unit": None, "source": "parameters.yaml"}


def test_a_design_is_compiled_from_any_kind_of_number(hexapod: Sample):
    for value in (np.float64(0.12), np.array(0.12), "0.12"):
        compiled = hexapod.robot.compile({"leg_length": value})
        assert compiled.design == {"leg_length": 0.12}


def test_earlier_output_is_replaced_whole(hexapod: Sample, tmp_path: Path):
    out = tmp_path / "deep" / "out"
    hexapod.robot.compile(out=out)
    hexapod.robot.compile({"leg_length": 0.2}, out)
    assert {path.name for path in out.iterdir()} == {
        *("robot.xml", "scene.xml", "robot.urdf"),
        *("parameters_resolved.yaml", "feasibility_report.yaml"),
    }
    assert mujoco.MjModel.from_xml_path(str(out / "robot.xml")).site("foot_fl").pos[2] == -0.2
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_folder_with_other_things_in_it_is_refused(hexapod: Sample, tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(DraftError, match=r"it holds thesis\.tex.*new or empty folder"):
        hexapod.robot.compile(out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_robot_of_somebody_else_is_refused(hexapod: Sample, tmp_path: Path):
    (tmp_path / "robot.xml").write_text("<mujoco/>", encoding="utf-8")
    with pytest.raises(DraftError, match=r"it holds robot\.xml"):
        hexapod.robot.compile(out=tmp_path)
    assert (tmp_path / "robot.xml").read_text(encoding="utf-8") == "<mujoco/>"


def test_a_file_in_the_way_is_refused(hexapod: Sample, tmp_path: Path):
    (tmp_path / "out").write_text("", encoding="utf-8")
    for out in (tmp_path / "out", tmp_path / "out" / "deeper"):
        with pytest.raises(DraftError, match="cannot write to"):
            hexapod.robot.compile(out=out)


def test_nothing_is_written_for_a_design_that_cannot_be(hexapod: Sample, tmp_path: Path):
    with pytest.raises(DraftError, match="greater than 0"):
        hexapod.robot.compile({"leg_mass": -1.0}, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_leaves_the_earlier_output(
    hexapod: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out = tmp_path / "out"
    hexapod.robot.compile(out=out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    rename, calls = Path.rename, []

    def failing(self: Path, target: Any) -> Path:
        calls.append(self.name)
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(DraftError, match="No space left"):
        hexapod.robot.compile({"leg_length": 0.2}, out)
    assert calls == ["out", "new", "old000"]
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("body", ["<joint/>", '<inertial pos="0 0 0" mass="1e-9" quat="0 0 0 0"/>'])
def test_what_mujoco_refuses_is_refused_in_one_line(hexapod: Sample, body: str):
    xml = f'<mujoco><worldbody><body name="b">{body}</body></worldbody></mujoco>'
    with pytest.raises(DraftError, match="MuJoCo refuses robot 'hexapod'") as caught:
        compile_xml(hexapod.robot.tree, xml)
    assert "\n" not in str(caught.value)


BLOCK = """
robot: block
nodes:
  body:
    primitive: root
    shape: box
    size: [0.1, 0.2, 0.3]
    center: ["${offset}", 0, 0]
    mass: 1
    thrusters: {fan: {limit: 1}}
"""


@pytest.mark.parametrize("offset", [1e-12, 1e-7, 9e-7, 1e-5])
def test_frames_that_nearly_coincide_compile(make_robot: Callable[..., Path], offset: float):
    # MuJoCo takes frames within 1e-6 for one, and derives its reference inertia from that.
    tree = BLOCK.replace("primitive: root", "primitive: root\n    joint: free")
    robot = draft_core.load(make_robot("offset: 0.0\n", tree))
    compiled = robot.compile({"offset": offset})
    assert compiled.model.body_ipos[1, 0] == offset
    assert compiled.drift < 1e-5


PIECES = """
robot: pieces
nodes:
  base: {primitive: root, BASE BALL}
  bracket: {primitive: geom, parent: base, PLACE BALL}
  bare: {primitive: geom, parent: bracket, mass: 1, inertia: [1, 1, 1]}
  upper: {primitive: geom, parent: bare, HINGE motor: {limit: 1}, PLACE BALL}
  sleeve: {primitive: geom, parent: upper, PLACE BALL}
  fore: {primitive: geom, parent: sleeve, HINGE PLACE BALL}
  hand: {primitive: geom, parent: fore, HINGE PLACE BALL}
  tail: {primitive: geom, parent: base, HINGE pos: [0, -0.15, 0], BALL}
"""


def colliding(folder: Path) -> set[frozenset[str]]:
    """Return the pairs of bodies in contact at the reference pose, by MuJoCo."""
    model = draft_core.load(folder).compile().model
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = [model.geom_bodyid[geom] for geom in data.contact.geom]
    return {frozenset(model.body(body).name for body in pair) for pair in bodies}


def pieces(base: str, place: str) -> str:
    hinge = "joint: {type: hinge, axis: [0, 1, 0]},"
    ball = "shape: sphere, size: [0.1], mass: 1"
    words = {"BASE": base, "PLACE": place, "HINGE": hinge, "BALL": ball}
    return re.sub("BASE|PLACE|HINGE|BALL", lambda match: words[match.group()], PIECES)


BASES = {
    "welded": "",
    "free": "joint: free,",
    "turning": "joint: {type: hinge, axis: [0, 0, 1]},",
    "round": "joint: ball,",
}


@pytest.mark.parametrize("base", BASES)
def test_links_that_overlap_only_where_they_hang_do_not_collide(
    make_robot: Callable[..., Path], base: str
):
    # spheres of diameter 0.2 in a row, 0.15 apart; MuJoCo's own filter leaves out a static parent
    tree = pieces(BASES[base], "pos: [0.15, 0, 0],")
    assert colliding(make_robot(tree=tree)) == set()


def test_a_welded_base_collides_as_a_free_one_would(make_robot: Callable[..., Path]):
    # All spheres in one place; MuJoCo's own filter for moving pieces is the oracle.
    free, welded = (
        colliding(make_robot(tree=pieces(BASES[base], ""))) for base in ("free", "welded")
    )
    assert welded == free
    assert {frozenset(pair) for pair in (("base", "hand"), ("upper", "hand"))} <= free
    assert frozenset(("upper", "tail")) in free


def test_only_a_welded_base_needs_excluded_pairs(any_robot: Sample):
    welded = any_robot.robot.tree.links[0].joint is None
    assert (any_robot.robot.base_model.nexclude > 0) == welded
    assert ("<exclude" in any_robot.robot.compile().xml) == welded


def test_a_robot_that_cannot_move_compiles(make_robot: Callable[..., Path]):
    compiled = draft_core.load(make_robot("offset: 0.0\n", BLOCK)).compile()
    assert (compiled.model.nv, compiled.model.nu) == (0, 1)


def test_geometry_has_the_solids_mass_at_their_density(everything: Sample):
    # MuJoCo's own integration of the collision geometry is the oracle for mass from density.
    model = everything.robot.compile().model
    fin = model.body("fin_left")
    size = 2 * model.geom("fin_left").size
    assert fin.mass[0] == pytest.approx(500 * np.prod(size), rel=1e-12)
