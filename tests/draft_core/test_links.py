"""The primitives of a structure (basic, sphere, foot) and the root's lofted mesh."""

from __future__ import annotations

import numpy as np
import pytest

import draft_core
from draft_core.errors import DraftError
from draft_core.trends import structure

PARAMETERS = """
thigh: 0.25
motors:
  leg: {peak_torque: 25, gear: 6}
"""
TREE = """
robot: leg
population: quadruped
nodes:
  body:
    primitive: root
    joint: free
    shape: box
    size: [0.2, 0.2, 0.1]
    center: [0, 0, 0.12]
    mass: 3
  thigh:
    primitive: basic
    parent: body
    joint: {type: hinge, name: hip, axis: [0, 1, 0]}
    motor: leg
    direction: [1, 0, -1]
    start: [0, 0, -0.01]
    length: "${thigh}"
    radius: 0.02
    segment: thigh
  shank:
    primitive: basic
    parent: thigh
    pos: ["${thigh / sqrt(2)}", 0, "${-0.01 - thigh / sqrt(2)}"]
    joint: {type: hinge, name: knee, axis: [0, 1, 0]}
    motor: leg
    length: 0.2
    radius: 0.015
    segment: shank
  ball:
    primitive: sphere
    parent: shank
    pos: [0, 0, -0.2]
    radius: 0.02
    friction: 0.7
    member_of: shank
"""
FOOT = """
  ball:
    primitive: foot
    parent: shank
    pos: [0, 0, -0.2]
    length: 0.1
    width: 0.06
    height: 0.02
    center: [0.03, 0, -0.03]
    mass: 0.2
"""


def as_robot(make_robot, tree: str = TREE, parameters: str = PARAMETERS):
    return draft_core.load(make_robot(parameters, tree))


def test_a_basic_link_is_a_cylinder_from_its_start_to_the_next_joint(make_robot):
    model = as_robot(make_robot).compile().model
    geom = model.geom("thigh")
    np.testing.assert_allclose(geom.size[:2], [0.02, 0.125])
    half = 0.125 / np.sqrt(2)
    np.testing.assert_allclose(geom.pos, [half, 0, -0.01 - half], atol=1e-12)


def test_a_segment_weighs_what_its_trend_says_and_members_share_it_by_length(make_robot):
    robot = as_robot(make_robot)
    mass = {link.name: 0.0 for link in robot.tree.links}
    from draft_core.anatomy import anatomy

    seen = anatomy(robot.tree, robot.tree.resolve())
    mass = dict(zip((s.name for s in seen.parts.solids), seen.mass, strict=True))
    assert mass["thigh"] == pytest.approx(structure.member_mass("quadruped", "thigh", 0.25))
    whole = structure.member_mass("quadruped", "shank", 0.2)
    assert mass["shank"] == pytest.approx(whole * 0.2 / 0.24)
    assert mass["ball"] == pytest.approx(whole * 0.04 / 0.24)


def test_the_parent_carries_the_motor_of_its_childs_joint(make_robot):
    robot = as_robot(make_robot)
    owner = {s.name: link.name for link in robot.tree.links for s in link.solids}
    assert owner["thigh_actuator"] == "body"
    assert owner["shank_actuator"] == "thigh"
    model = robot.compile().model
    # its axis is the joint's, y in the thigh's frame: z turned to y
    turn = np.zeros(9)
    import mujoco

    mujoco.mju_quat2Mat(turn, model.geom("shank_actuator").quat)
    np.testing.assert_allclose(turn.reshape(3, 3)[:, 2], [0, 1, 0], atol=1e-12)


def test_a_sphere_touches_the_ground_at_its_lowest_point(make_robot):
    robot = as_robot(make_robot)
    (contact,) = robot.contacts
    assert (contact.name, contact.friction) == ("ball", 0.7)
    np.testing.assert_allclose(robot.compile().model.site("ball").pos, [0, 0, -0.02])


def test_a_foot_stands_on_the_corners_of_its_sole(make_robot):
    tree = TREE[: TREE.index("\n  ball:")] + FOOT
    robot = as_robot(make_robot, tree)
    assert [c.name for c in robot.contacts] == ["ball_0", "ball_1", "ball_2", "ball_3"]
    corners = [robot.compile().model.site(f"ball_{i}").pos for i in range(4)]
    expected = [(0.08, 0.03), (-0.02, 0.03), (-0.02, -0.03), (0.08, -0.03)]
    np.testing.assert_allclose(corners, [(x, y, -0.04) for x, y in expected], atol=1e-12)


def test_a_foot_may_state_its_polygon(make_robot):
    tree = TREE[: TREE.index("\n  ball:")] + FOOT
    robot = as_robot(make_robot, tree + "    polygon: [[0.04, 0], [-0.04, 0.02], [-0.04, -0.02]]\n")
    assert len(robot.contacts) == 3
    np.testing.assert_allclose(robot.compile().model.site("ball_0").pos, [0.07, 0, -0.04])


@pytest.mark.parametrize(
    ("polygon", "says"),
    [
        ("[[-0.04, -0.02], [-0.04, 0.02], [0.04, 0]]", "counter-clockwise"),
        ("[[-0.04, -0.02], [0.04, 0.02], [0.04, -0.02], [-0.04, 0.02]]", "once around"),
        ("[[0.04, 0], [-0.04, 0], [0, 0]]", "once around"),
        ("[[0.04, 0], [0.04, 0], [0.04, 0]]", "once around"),
        ("[[0.06, 0], [-0.04, 0.02], [-0.04, -0.02]]", r"point 0 .*outside the plate of 0\.1 by"),
        ('["${[thigh, 0, 0]}", [-0.04, 0.02], [-0.04, -0.02]]', "7 numbers"),
    ],
    ids=["clockwise", "crossing", "line", "point", "outside", "three numbers"],
)
def test_a_polygon_that_is_no_sole_is_refused(make_robot, polygon, says):
    # All of these compiled once: contacts stood off the plate, or in a line.
    tree = TREE[: TREE.index("\n  ball:")] + FOOT + f"    polygon: {polygon}\n"
    with pytest.raises(DraftError, match=f"node 'ball' .foot., polygon: .*{says}") as error:
        as_robot(make_robot, tree)
    assert "\n" not in str(error.value)


def test_a_sole_that_follows_the_design_is_held_to_its_plate_at_every_design(make_robot):
    outline = '[["${thigh / 5}", 0], [-0.04, 0.02], [-0.04, -0.02]]'
    tree = TREE[: TREE.index("\n  ball:")] + FOOT + f"    polygon: {outline}\n"
    robot = as_robot(make_robot, tree)
    np.testing.assert_allclose(robot.compile().model.site("ball_0").pos, [0.08, 0, -0.04])
    with pytest.raises(DraftError, match="outside the plate"):
        robot.check({"thigh": 0.3})
    from draft_core.backend import jax

    def ahead(thigh):
        return robot.realize({"thigh": thigh}).site_pos[robot.site_names.index("ball_0"), 0]

    assert jax.grad(ahead)(0.25) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("population: quadruped", "", "names no population"),
        ("segment: thigh", "segment: thig", "thigh"),
        ("segment: thigh", "segment: torso", "torso"),
        ("segment: thigh", "", "has no mass"),
        ("segment: thigh", "segment: thigh\n    mass: 1", "mass and segment"),
        ("member_of: shank", "member_of: shin", "which is no node with a segment"),
        ("member_of: shank", "member_of: body", "which is no node with a segment"),
        ("motor: leg\n    direction", "motor: arm\n    direction", "names motor 'arm'"),
        ("name: hip, axis", "name: hip, rol: x, axis", "did you mean 'role'"),
        ("direction: [1, 0, -1]", "direction: [0, 0, 0]", "must have a direction"),
        ('length: "${thigh}"', "length: -0.2", "must be greater than 0"),
        ("radius: 0.015", "", "has no 'radius'"),
        ("motor: leg\n    length", "motor: {class: leg, carried_by: body}\n    length", "no place"),
        (
            "motor: leg\n    length",
            "motor: {class: leg, carried_by: bod, pos: [0, 0, 0]}\n    length",
            "carried_by names 'bod'",
        ),
        ("type: hinge, name: knee", "type: slide, name: knee", "turns a hinge"),
        ("friction: 0.7", "touches: perhaps", "must be true or false"),
    ],
)
def test_a_link_that_cannot_work_is_refused_in_one_line(make_robot, old, new, says):
    assert old in TREE
    with pytest.raises(DraftError) as error:
        as_robot(make_robot, TREE.replace(old, new, 1))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("quadruped", 31.9348),
        ("cheetah", 32.6381),
        ("bear", 110.05),
        ("giraffe", 91.2642),
        # the torso's taper and where segments share their mass are not published: 1.4 % apart
        ("humanoid", 53.721),
    ],
)
def test_shipped_robots_weigh_what_is_published(name: str, published: float):
    model = draft_core.load(name).compile().model
    assert model.body_mass.sum() == pytest.approx(published, rel=0.02)
    if name != "humanoid":
        assert model.body_mass.sum() == pytest.approx(published, rel=1e-4)


MESH = """
axis: x
sections:
  - {at: -0.2, size: [0.2, 0.1], chamfer: 0.02, inset: 0.01}
  - {at: -0.15}
  - {at: "${end}", size: ["${2 * end}", 0.12], center: [0, 0.01]}
"""
TRUNK = """
robot: trunk
nodes:
  body:
    primitive: root
    joint: free
    shape: mesh
    density: 700
  arm:
    primitive: geom
    parent: body
    pos: [0, 0.3, 0]
    joint: {type: hinge, axis: [0, 1, 0]}
    motor: {limit: 1}
    shape: sphere
    size: [0.02]
    mass: 0.1
"""


def trunk(make_robot, mesh: str = MESH, tree: str = TRUNK):
    folder = make_robot("end: 0.1\n", tree)
    (folder / "mesh.yaml").write_text(mesh, encoding="utf-8")
    return draft_core.load(folder)


def test_a_lofted_root_has_the_mass_properties_trimesh_measures(make_robot):
    import trimesh

    robot = trunk(make_robot)
    for end in (0.08, 0.1, 0.14):
        model = robot.compile({"end": end}).model
        mesh = model.mesh("body")
        start, count = mesh.vertadr[0], mesh.vertnum[0]
        assert count == 24
        from draft_core.meshes import mesh_topology, mesh_vertices

        (solid,) = robot.tree.meshes
        vertices = mesh_vertices(solid, robot.tree.resolve({"end": end}))
        oracle = trimesh.Trimesh(vertices, mesh_topology(solid).faces, process=False)
        oracle.density = 700
        assert oracle.is_watertight
        assert model.body("body").mass == pytest.approx(oracle.mass, rel=1e-12)
        np.testing.assert_allclose(model.body("body").ipos, oracle.center_mass, atol=1e-12)
        moments = np.linalg.eigvalsh(oracle.moment_inertia)
        np.testing.assert_allclose(np.sort(model.body("body").inertia), moments, rtol=1e-12)
        # MuJoCo keeps vertices as 32-bit floats, in the frame of the mesh
        data = __import__("mujoco").MjData(model)
        __import__("mujoco").mj_kinematics(model, data)
        geom = model.geom("body").id
        turn = data.geom_xmat[geom].reshape(3, 3)
        local = model.mesh_vert[start : start + count]
        np.testing.assert_allclose(local @ turn.T + data.geom_xpos[geom], vertices, atol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("axis: x", "axis: w", "must be one of"),
        ("at: -0.15", "at: -0.25", "not above the section before"),
        ("chamfer: 0.02", "chamfer: 0.06", "leaves nothing of the smaller side"),
        ("inset: 0.01", "inset: 0.2", "leaves nothing of the smaller side"),
        (
            "- {at: -0.15}",
            "- {at: -0.15, polygon: [[0, 0], [0.1, 0], [0, 0.1]]}",
            "equally many",
        ),
        ("size: [0.2, 0.1], chamfer", "chamfer", "neither of size and polygon"),
        ("{at: -0.15}", "{at: -0.15, insets: 1}", "did you mean 'inset'"),
        ("${2 * end}", "${2 * ende}", "ende"),
    ],
)
def test_a_mesh_that_cannot_work_is_refused_in_one_line(make_robot, old, new, says):
    assert old in MESH
    with pytest.raises(DraftError) as error:
        trunk(make_robot, MESH.replace(old, new)).compile()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_mesh_root_needs_its_file_and_one_mass(make_robot):
    with pytest.raises(DraftError, match=r"no mesh\.yaml"):
        draft_core.load(make_robot("end: 0.1\n", TRUNK))
    with pytest.raises(DraftError, match="density and segment"):
        trunk(make_robot, tree=TRUNK.replace("density: 700", "density: 700\n    segment: trunk"))
    with pytest.raises(DraftError, match="names no population"):
        trunk(make_robot, tree=TRUNK.replace("density: 700", "segment: trunk"))


def test_a_polygon_goes_counter_clockwise_and_shrinks_by_its_inset(make_robot):
    first = "{at: 0, polygon: [[-1, -1], [1, -1], [1, 1], [-1, 1]]}"
    square = f"sections:\n  - {first}\n  - {{at: 1, inset: 0.5}}\n"
    robot = trunk(make_robot, square)
    from draft_core.meshes import mesh_vertices

    vertices = mesh_vertices(robot.tree.meshes[0], robot.tree.resolve())
    np.testing.assert_allclose(vertices[4:, :2], 0.5 * vertices[:4, :2], atol=1e-12)
    backwards = square.replace("[1, -1], [1, 1], [-1, 1]", "[-1, 1], [1, 1], [1, -1]")
    with pytest.raises(DraftError, match="counter-clockwise"):
        trunk(make_robot, backwards)


POINTS = "[[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]]"
NEXT = "[[0.1, -0.1], [0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1]]"
INNER = "[[-0.1, -0.1], [0.1, -0.1], [0.1, 0.0], [0.0, 0.0], [0.0, 0.1], [-0.1, 0.1]]"
OUTER = "[[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [0.09, 0.1], [-0.09, 0.1], [-0.1, 0.1]]"


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (f"polygon: {POINTS[:-1]}, {POINTS[1:]}", "", r"sections\[0\], polygon: its sides cross"),
        (f"polygon: {POINTS}", f", polygon: {NEXT}", r"sections\[1\] is turned.*its corner 3"),
        ("size: [0.2, 0.2]", ", inset: 0.1", r"sections\[1\], inset is 0\.1 m.*below 0\.1 m\.$"),
        (f"polygon: {INNER}", ", inset: 0.06", r"sections\[1\], inset is 0\.06 m.*of a side"),
    ],
)
def test_a_loft_that_would_weigh_what_it_does_not_show_is_refused(make_robot, first, second, says):
    # Each compiled once, or blamed another number: an inset too large named the chamfer, or the
    # polygon's winding.
    mesh = f"sections:\n  - {{at: 0, {first}}}\n  - {{at: 0.1{second}}}\n"
    with pytest.raises(DraftError, match=says):
        trunk(make_robot, mesh)


def test_outlines_that_are_not_convex_weigh_what_they_enclose(make_robot):
    mesh = f"sections:\n  - {{at: 0, polygon: {INNER}}}\n  - {{at: 0.1, polygon: {OUTER}}}\n"
    solid = trunk(make_robot, mesh.replace(OUTER, INNER)).tree.meshes[0]
    from draft_core.loft import polyhedron
    from draft_core.meshes import mesh_topology, mesh_vertices

    vertices = mesh_vertices(solid, {})
    assert polyhedron(vertices, mesh_topology(solid).faces).volume == pytest.approx(0.03 * 0.1)
    assert trunk(make_robot, mesh).tree.meshes


@pytest.mark.parametrize(
    ("size", "says"),
    [
        ("[1.0e+7, 1.0e+7]", r"node 'body' is 0 m thick and reaches 5e\+06 m"),
        ("[1.0e+5, 1.0e+5]", "node 'body' is 0.09.* m thick"),
        ("[1.0e-9, 0.1]", "node 'body' is .* m thick"),
        ("[1.0e+2, 1.0e+2]", r"node 'body' has mass \d+ kg and greatest moment 1\.\d*e\+09"),
    ],
)
@pytest.mark.parametrize("by", ["density: 700", "segment: trunk"])
def test_a_loft_beyond_what_can_be_computed_is_refused_by_its_node(make_robot, size, says, by):
    # A slab of 1e7 by 1e7 by 0.1 m lost its thickness in rounding: mass 0, and feasible.
    mesh = f"sections:\n  - {{at: 0, size: {size}}}\n  - {{at: 0.1}}\n"
    tree = TRUNK.replace("density: 700", by)
    if by == "segment: trunk":
        tree = tree.replace("nodes:", "population: quadruped\nnodes:")
    with pytest.raises(DraftError, match=says):
        trunk(make_robot, mesh, tree)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("size: [0.2, 0.2, 0.1]", "size: [1.0e+6, 1, 1]", r"'body' has mass .* at most 1e\+09"),
        ("mass: 3", "density: 1.0e-322", "solid 'body' has mass 0 kg"),
        ("radius: 0.02\n    segment", "radius: 1.0e-200\n    segment", "solid 'thigh' has a size"),
        ("peak_torque: 25", "peak_torque: 1.0e-300", "solid 'thigh_actuator' has a size of"),
        ("gear: 6", "gear: 6, aspect: 1.0e+300", "parameters.yaml, motors.leg, length is"),
        ("gear: 6", "gear: 1.0e-300", r"parameters.yaml, motors.leg, radius is 1.2\d*e\+47"),
    ],
)
def test_what_follows_from_sizes_keeps_the_rules_of_what_is_stated(make_robot, old, new, says):
    assert old in TREE + PARAMETERS
    with pytest.raises(DraftError, match=says):
        as_robot(make_robot, TREE.replace(old, new), PARAMETERS.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("radius: 0.02\n    segment", "radius: 0\n    segment", "'thigh' (basic), radius is 0;"),
        ("length: 0.2", "length: 0", "'shank' (basic), length is 0;"),
        (
            "radius: 0.02\n    friction",
            "radius: -1\n    friction",
            "'ball' (sphere), radius is -1;",
        ),
        ("gear: 6", "gear: 6, friction: -1", "parameters.yaml, motors.leg.friction is -1"),
        ("gear: 6", "gear: 6, damping: -1", "parameters.yaml, motors.leg.damping is -1"),
        ("peak_torque: 25", "peak_torque: 1.0e+12", "motors.leg.peak_torque is 1e+12; at most"),
        ("peak_torque: 25", "peak_torque: -.inf", "motors.leg.peak_torque is -inf;"),
        ("peak_torque: 25", 'peak_torque: "${[1, 2]}"', "its peak torque is (1.0, 2.0), which"),
        ("peak_torque: 25", 'peak_torque: "a ${thigh}"', "its peak torque is 'a 0.25', which is"),
        (
            "center: [0, 0, 0.12]",
            "pos: [0, 0, 1000000000.0000001]",
            "pos[2] is 1000000000.0000001;",
        ),
        ("joint: free", "joint: {type: hinge, axis: [0, 1, 0]}\n    motor: leg", "root hangs from"),
        ("primitive: sphere", "primitive: ball", "primitive is 'ball'; it must be one of: basic,"),
        ("    member_of: shank", "    mirror: shank", "(did you mean 'mirror_of'?)"),
        ("    primitive: sphere\n", "", "has no 'primitive'"),
        ("length: 0.2", "length: 0.2\n    segment_length: 0", "its length is 0 m, which must be"),
    ],
)
def test_a_message_names_the_key_that_is_wrong(make_robot, old, new, says):
    # Each named another key, a number of a list, or what the parser had looked at first.
    assert old in TREE + PARAMETERS
    with pytest.raises(DraftError) as error:
        as_robot(make_robot, TREE.replace(old, new), PARAMETERS.replace(old, new))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("depth", [400, 401])
def test_links_hang_from_each_other_as_deep_as_mujoco_reads(make_robot, depth):
    # Some 490 nested bodies came back as MuJoCo's own 'XML_ELEMENT_DEPTH_EXCEEDED'.
    tree = TREE
    for i in range(depth - 4):
        parent = f"n{i - 1}" if i else "ball"
        tree += f"  n{i}: {{primitive: sphere, parent: {parent}, radius: 0.001, mass: 0.001}}\n"
    if depth == 400:
        assert len(as_robot(make_robot, tree).base_model.body_mass) == 401
    else:
        with pytest.raises(DraftError, match=r"'n396' is 401 links down its chain; at most 400"):
            as_robot(make_robot, tree)
