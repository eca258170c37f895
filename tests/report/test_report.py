"""The report page and the montage, on a robot that walks by formula."""

from __future__ import annotations

import html.parser
import json
import re
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from codesign.audit import Audit, Violation
from codesign.physics import EnergyAudit
from codesign.report import montage_svg, solution_montage, write_report
from codesign.report.camera import (
    Camera,
    Solid,
    area,
    convex_hull,
    front_depth,
    intersection,
    painting_order,
)
from codesign.report.forces import site_forces
from codesign.report.montage import Arrow
from codesign.report.page import VERDICTS, report_html
from codesign.report.plot import Series, line_plot, row_plot, ticks
from codesign.report.poses import body_poses, interpolate
from codesign.report.shapes import box, capsule, cylinder, ellipsoid, shapes_of, sphere
from codesign.report.tables import bound_note, number
from codesign.solution import DesignValue, PhaseRecord
from codesign.solve.status import SolveStatus
from codesign.terrain.relief import Relief
from tests.report.standin import LEGS, walker_model, walker_solution


@pytest.fixture(scope="module")
def model():
    return walker_model()


@pytest.fixture(scope="module")
def page(model):
    return report_html(walker_solution(model), model, title="Walk", markers={"b": np.ones(3)})


class _Outline(html.parser.HTMLParser):
    """Checks that elements nest, and collects what the page would fetch."""

    VOID = frozenset({"meta", "input", "br", "link", "img"})
    FETCHES = frozenset({"src", "href", "xlink:href", "data", "poster", "action", "srcset"})

    def __init__(self):
        super().__init__()
        self.stack, self.fetched, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for key, value in attrs if key in self.FETCHES]
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def outline(page: str) -> _Outline:
    parser = _Outline()
    parser.feed(page)
    parser.close()
    assert parser.stack == []
    return parser


def motion_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="motion">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found.group(1))


def test_page_nests_and_fetches_nothing(page):
    assert outline(page).fetched == []
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(", page)
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a namespace, never fetched


def test_page_says_what_was_found(page):
    text = " ".join(outline(page).texts)
    for piece in (
        "Feasible: design and motion satisfy every constraint.",
        "leg_length",
        "0.1498",
        "at its lower bound",
        "Hexapod(beta=0.0).solve(seed=0)",
        "nothing depends on design variable 'body_y'",
        "Peak torque",
        "the actuators did 0.16 J of work",
        "complementarity",
    ):
        assert piece in text


def test_page_has_every_plot(page):
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert captions == [
        "Torque over time",
        "Base position over time",
        "Base orientation over time",
        "Joint angle over time",
        "Vertical contact force",
        "Energy per interval",
    ]


def test_page_escapes_every_text(model):
    evil = '</script><script>alert(1)</script>&"'
    solution = walker_solution(
        model,
        problem=evil,
        message=evil,
        options={evil: evil},
        notes=(evil,),
        versions={evil: evil},
        robot_folder=evil,
        phases=(PhaseRecord(evil, 1.0, 1, evil, 0.0, 0.0, 0.0),),
        design_values={evil: DesignValue(1.0, evil, 0.0, 2.0, 1.0)},
    )
    solution = replace(
        solution, audit=replace(solution.audit, worst=(Violation(evil, 0, evil, 1.0, evil, 1.0),))
    )
    page = report_html(
        solution, model, question=evil, markers={evil: np.zeros(3)}, command=evil, title=evil
    )
    outline(page)
    assert "<script>alert" not in page


@pytest.mark.parametrize("status", [s for s in SolveStatus if s is not SolveStatus.SOLVED])
def test_page_never_calls_a_failure_feasible(model, status):
    page = report_html(walker_solution(model, status=status), model)
    assert status in VERDICTS
    assert VERDICTS[status] in page
    assert 'class="verdict good"' not in page
    assert "Feasible:" not in page


def test_a_failure_says_that_its_motion_is_only_the_best_point(model):
    good = walker_solution(model)
    early = replace(good, status=SolveStatus.ITERATION_LIMIT, phases=good.phases[:2])
    page = report_html(early, model)
    assert "is the best point that the solver reached, not a plan" in page
    assert "be up to 0.01 (scaled), where a solution needs 0.0001" in page
    flying = replace(early, phases=(replace(good.phases[0], relaxation=0.0),))
    assert "not a plan." in report_html(flying, model)
    assert "best point" not in report_html(good, model)


def test_every_residual_stands_beside_its_limit(model):
    # A complementarity of 8.7e-5 passes although it is larger than the other rows' 1e-6.
    page = report_html(walker_solution(model), model)
    assert re.search(r"complementarity</td>(<td[^>]*>[^<]*</td>){5}<td[^>]*>0.0001</td>", page)
    assert "over</strong>" not in page
    worst = (Violation("standing", 0, "foot_fl", 2e-3, "m", 2e-3),)
    audit = replace(walker_solution(model).audit, max_violation=2e-3, worst=worst)
    assert report_html(walker_solution(model, audit=audit), model).count("over</strong>") == 2


def test_the_audit_tells_what_share_of_the_work_the_integrator_lost(page):
    # 0.6 − 1 + 0.3 of the actuator work
    assert "the integration lost 0.016 J, 10 % of the actuators&#x27; work" in page


def test_many_actuators_get_a_row_each_on_one_scale(page):
    torque = page.split("<figcaption>Torque over time</figcaption>")[1].split("</figure>")[0]
    assert torque.count('class="f0 band"') == 6
    assert "rows reach ±0.05 N m; limit ±1.5 N m" in torque
    near = row_plot(
        [Series(f"m{i}", np.array([0.0, 1.0, 2.0]), np.array([1.0, np.nan])) for i in range(5)],
        label="Torque",
        unit="N m",
        limits=[-1.2, 1.2],
    )
    assert near.count('class="limit"') == 10
    assert "nan" not in near


@pytest.mark.parametrize(
    "bad", [[0.0, 1.0], [np.nan, 0, 0], [np.inf, 0, 0], "here", None, [[1, 2, 3]], [1, "a", 2]]
)
def test_a_marker_that_is_no_point_is_left_out(bad, model):
    page = report_html(walker_solution(model), model, markers={"bad": bad, "good": [1, 0, 0]})
    assert [marker["name"] for marker in motion_of(page)["markers"]] == ["good"]
    assert "bad" not in solution_montage(walker_solution(model), model, markers={"bad": bad})


def test_page_survives_a_trajectory_of_nans(model):
    solution = walker_solution(model, status=SolveStatus.NUMERICAL_FAILURE, objective=np.nan)
    solution.q[:] = np.nan
    page = report_html(solution, model)
    outline(page)
    assert "not numbers" in page
    assert ">nan" not in page


def test_page_survives_nan_forces_and_efforts(model):
    solution = walker_solution(model)
    solution.contact_force[3] = np.nan
    solution.u[2] = np.nan
    assert "nan" not in report_html(solution, model).split("</style>")[1].split("<script>")[0]


def test_page_survives_a_robot_without_contacts_motors_or_audit():
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><joint type="slide"/><geom type="sphere" size=".1"/></body>'
        "</worldbody></mujoco>"
    )
    t = np.linspace(0, 1, 3)
    solution = walker_solution(
        walker_model(),
        t=t,
        q=t[:, None],
        v=t[:, None],
        u=np.zeros((2, 0)),
        contact_force=np.zeros((2, 0, 3)),
        phases=(),
        design_values={},
        audit=Audit((), 0.0, 0.0, 0.0, EnergyAudit(*np.zeros((4, 2))), 0.0),
    )
    page = report_html(solution, model)
    outline(page)
    assert "Joint travel over time" in page
    assert "No constraint is violated by more than rounding." in page


def test_page_shows_a_single_knot(model):
    s = walker_solution(model)
    energy = EnergyAudit(*np.zeros((4, 0)))
    still = walker_solution(
        model,
        t=s.t[:1],
        q=s.q[:1],
        v=s.v[:1],
        u=s.u[:0],
        contact_force=s.contact_force[:0],
        audit=replace(s.audit, energy=energy),
    )
    outline(report_html(still, model))


def test_report_is_replaced_only_by_a_complete_one(model, tmp_path):
    path = write_report(walker_solution(model), model, tmp_path / "report.html")
    before = path.read_text()
    with pytest.raises(AttributeError):
        write_report(walker_solution(model, design_values={"a": None}), model, path)
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_player_gets_mujoco_poses(model, page):
    scene, solution = motion_of(page), walker_solution(model)
    data = mujoco.MjData(model)
    position = np.array(scene["position"]).reshape(-1, model.nbody, 3)
    for knot in (0, 8, 16):  # knots fall on frames: 4 s, 30 frames a second
        data.qpos[:] = solution.q[knot]
        mujoco.mj_kinematics(model, data)
        np.testing.assert_allclose(position[round(knot * 7.5)], data.xpos, atol=6e-3)
    np.testing.assert_allclose(position[0], _xpos(model, solution.q[0]), atol=1e-5)
    np.testing.assert_allclose(position[-1], _xpos(model, solution.q[-1]), atol=1e-5)


def _xpos(model, q):
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    return data.xpos.copy()


def test_player_shares_meshes_of_legs_that_are_alike(page):
    scene = motion_of(page)
    assert len(scene["shapes"]) == 9
    assert len(scene["meshes"]) == 4


def test_page_is_small(page):
    assert len(page) < 300_000


# --- forces --------------------------------------------------------------------------------------


def feet():
    return [f"foot_{name}" for name in LEGS]


def test_contact_forces_stay_in_the_world_frame(model):
    s = walker_solution(model)
    forces = site_forces(s, model, feet())
    quarter_turn = np.array([np.sqrt(0.5), np.sqrt(0.5), 0, 0])
    np.testing.assert_array_equal(forces[2].in_world(3, quarter_turn), s.contact_force[3, 2])
    assert forces[2].site == model.site("foot_ml").id
    assert forces[2].largest == pytest.approx(np.hypot(2.2, 0.3))


def test_contacts_that_are_no_site_are_not_drawn(model):
    assert site_forces(walker_solution(model), model, ["contact 0", "contact 1"]) == []


def test_thrust_turns_with_its_body():
    # The rotor's site is turned a quarter about y, so that its z axis is the body's x axis; the
    # body is turned a quarter about z, so that the thrust points along the world's y.
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><freejoint/><geom size=".1"/>'
        '<site name="rotor" euler="0 90 0"/></body></worldbody>'
        '<actuator><motor site="rotor" gear="0 0 1 0 0 0.1"/></actuator></mujoco>'
    )
    t = np.array([0.0, 1.0])
    s = walker_solution(walker_model(), t=t, u=np.array([[3.0]]), contact_force=np.zeros((1, 0, 3)))
    (force,) = site_forces(s, model, [])
    turned = np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    np.testing.assert_allclose(force.in_world(0, turned), [0, 3, 0], atol=1e-12)


def test_page_and_strip_show_the_forces(model):
    solution = walker_solution(model)
    page = report_html(solution, model)
    scene = motion_of(page)
    assert [a["kind"] for a in scene["arrows"]] == ["contact"] * 6
    assert all(len(a["f"]) == 3 * len(solution.u) for a in scene["arrows"])
    assert "red arrows are contact forces" in page
    assert 'class="tip"' in solution_montage(solution, model)


def test_nan_forces_are_not_drawn(model):
    solution = walker_solution(model)
    solution.contact_force[:] = np.nan
    assert site_forces(solution, model, feet()) == []


# --- poses ---------------------------------------------------------------------------------------


def test_interpolation_passes_through_the_knots(model):
    s = walker_solution(model)
    np.testing.assert_allclose(interpolate(model, s.t, s.q, s.t), s.q, atol=1e-12)


def test_interpolation_turns_at_constant_rate():
    # A quarter turn about z: half way is an eighth of a turn, whatever the quaternions' signs.
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><joint type="ball"/><geom size=".1"/></body></worldbody></mujoco>'
    )
    q = np.array([[1, 0, 0, 0], [-np.cos(np.pi / 4), 0, 0, -np.sin(np.pi / 4)]])
    (middle,) = interpolate(model, np.array([0.0, 2.0]), q, np.array([1.0]))
    expected = np.array([np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)])
    np.testing.assert_allclose(middle * np.sign(middle[0]), expected, atol=1e-12)


def test_interpolation_holds_the_ends(model):
    s = walker_solution(model)
    ends = interpolate(model, s.t, s.q, np.array([-1.0, 99.0]))
    np.testing.assert_allclose(ends, s.q[[0, -1]], atol=1e-12)


# --- shapes --------------------------------------------------------------------------------------

SOLIDS = {
    "box": (box((0.1, 0.2, 0.3)), 8 * 0.1 * 0.2 * 0.3),
    "sphere": (sphere((0.2,)), 4 / 3 * np.pi * 0.2**3),
    "capsule": (capsule((0.1, 0.3)), np.pi * 0.1**2 * (0.6 + 4 / 3 * 0.1)),
    "cylinder": (cylinder((0.1, 0.3)), np.pi * 0.1**2 * 0.6),
    "ellipsoid": (ellipsoid((0.1, 0.2, 0.3)), 4 / 3 * np.pi * 0.1 * 0.2 * 0.3),
}


@pytest.mark.parametrize("kind", SOLIDS)
def test_mesh_encloses_the_volume_of_its_solid(kind):
    # Divergence theorem: the volume is a sixth of the sum of a · (b × c). It is positive only if
    # triangles are wound outwards; facets cut at most a few per cent off a round solid.
    mesh, volume = SOLIDS[kind]
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    enclosed = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
    assert volume * 0.94 < enclosed <= volume * (1 + 1e-9)


@pytest.mark.parametrize("kind", SOLIDS)
def test_mesh_normals_point_outwards(kind):
    mesh, _ = SOLIDS[kind]
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=1e-12)
    assert np.all(np.einsum("ij,ij->i", mesh.normals, mesh.vertices) > 0)


def test_a_mesh_geom_is_drawn_as_its_hull():
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1 .1 .1 .1"/></asset>'
        '<worldbody><geom type="plane" size="1 1 1"/><body><freejoint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    (shape,) = shapes_of(model)  # the plane is ground, not a solid
    a, b, c = (shape.mesh.vertices[shape.mesh.triangles[:, i]] for i in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6 == pytest.approx(1 / 6, rel=1e-5)


# --- picture geometry ----------------------------------------------------------------------------


def cube_at(camera, x, y, z, half=0.5):
    mesh = box((half, half, half))
    return Solid.seen(camera, mesh.vertices + np.array([x, y, z]), mesh.triangles)


def test_camera_is_a_right_handed_frame():
    camera = Camera(0.7, 0.3, np.zeros(3))
    frame = np.stack([camera.right, camera.up, camera.towards])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1.0)


def test_lifting_undoes_projecting():
    camera = Camera(0.7, 0.3, np.array([1.0, 2.0, 3.0]))
    point = np.array([0.2, -0.4])
    np.testing.assert_allclose(camera.project(camera.lift(point)), point, atol=1e-12)


def test_hull_drops_inner_points():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0.5, 0]])
    assert len(convex_hull(square)) == 4
    assert area(convex_hull(square)) == pytest.approx(1.0)


def test_intersection_of_shifted_squares():
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    assert area(intersection(square, square + np.array([0.75, 0.5]))) == pytest.approx(0.125)
    assert len(intersection(square, square + 3)) == 0


def test_front_depth_of_a_cube_is_its_near_face():
    camera = Camera(0.0, 0.0, np.zeros(3))  # seen along −x
    assert front_depth(camera, cube_at(camera, 2, 0, 0), np.zeros(2)) == pytest.approx(2.5)


def test_nearer_solids_are_painted_later():
    camera = Camera(0.3, 0.4, np.zeros(3))
    distances = [1.0, -3.0, 4.0, 0.0]
    solids = [cube_at(camera, *(d * camera.towards)) for d in distances]
    assert painting_order(camera, solids) == list(np.argsort(distances))


def test_a_large_far_plate_stays_behind_a_small_near_one():
    # Sorting by centres gets this wrong: the plate's centre is nearer than the cube's.
    camera = Camera(0.0, np.radians(60), np.zeros(3))
    plate, cube = box((5, 5, 0.1)), box((0.2, 0.2, 0.2))
    plate = Solid.seen(camera, plate.vertices + np.array([2.0, 0, 0]), plate.triangles)
    cube = Solid.seen(camera, cube.vertices + np.array([-2.5, 0, 0.4]), cube.triangles)
    assert painting_order(camera, [cube, plate]) == [1, 0]


# --- montage -------------------------------------------------------------------------------------


def test_montage_is_well_formed_and_alone(model):
    import xml.etree.ElementTree as ElementTree

    s = walker_solution(model)
    svg = montage_svg(
        model,
        s.q[::4],
        times=s.t[::4],
        arrows=[[Arrow("contact", model.site("foot_fl").id, np.array([0, 0, 1.0]))]] * 5,
        markers={"<button>": np.array([0.6, 0, 0.15])},
    )
    root = ElementTree.fromstring(svg)
    names = [element.tag.split("}")[1] for element in root.iter()]
    assert names.count("rect") == 5
    assert svg.count('class="tip"') == 5
    assert "&lt;button&gt;" in svg
    assert "href" not in svg


def test_montage_draws_a_robot_without_geoms():
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body pos="0 0 1"><freejoint/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>'
    )
    assert "<svg" in montage_svg(model, model.qpos0)


def test_montage_follows_a_robot_that_goes_far(model):
    s = walker_solution(model)
    s.q[:, 0] *= 40  # 18 m
    motion = body_poses(model, s.t, s.q)
    assert np.ptp(motion.position[:, 1, 0]) > 10
    near = montage_svg(model, walker_solution(model).q[[0, -1]])
    far = montage_svg(model, s.q[[0, -1]])
    # The whole 18 m in 240 pixels would leave four of them for the robot.
    assert _widest_polygon(far) > 0.25 * _widest_polygon(near)


def _widest_polygon(svg: str) -> float:
    widths = []
    for points in re.findall(r'<polygon points="([^"]*)"', svg):
        x = [float(pair.split(",")[0]) for pair in points.split()]
        widths.append(max(x) - min(x))
    return max(widths)


# --- plots and numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (-3, 3, [-2, 0, 2]), (0, 4, [0, 1, 2, 3, 4])],
)
def test_ticks_are_round(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_ticks_of_an_empty_range_do_not_hang():
    assert ticks(1.0, 1.0) == [1.0]
    assert ticks(0.0, float("nan"))
    assert ticks(0.0, float("inf"))


def test_values_over_intervals_are_drawn_as_steps():
    x, y = Series("u", np.array([0.0, 1.0, 3.0]), np.array([5.0, 7.0])).corners()
    np.testing.assert_array_equal(x, [0, 1, 1, 3])
    np.testing.assert_array_equal(y, [5, 5, 7, 7])


def test_a_far_limit_is_told_and_not_drawn():
    series = [Series("u", np.array([0.0, 1.0]), np.array([0.01, 0.02]))]
    figure = line_plot(series, label="Torque", unit="N m", limits=[-1.5, 1.5])
    assert 'class="limit"' not in figure
    assert "limit ±1.5 N m, off the scale" in figure
    near = line_plot(series, label="Torque", unit="N m", limits=[-0.03, 0.03])
    assert near.count('class="limit"') == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.15, "0.15"),
        (-1.5, "−1.5"),
        (3.14159265, "3.142"),
        (2.4e-8, "2.4·10⁻⁸"),
        (np.float64(2), "2"),
        (np.nan, "–"),
        (None, "–"),
    ],
)
def test_numbers_read_well(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "note"),
    [(0.05, "at its lower bound"), (0.19999, "at its upper bound"), (0.1, "")],
)
def test_a_value_at_a_bound_is_marked(value, note):
    assert bound_note(value, 0.05, 0.2) == note


def test_a_wedge_of_the_ground_is_drawn(model):
    # A slope from height 0 has triangles without area, which a box has not: it raised IndexError.
    x, y = np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 1.0])
    slope = Relief(x, y, np.array([[0.0, 0.0], [0.0, 0.0], [0.2, 0.2]]))
    q = np.array([model.qpos0])
    level, sloping = montage_svg(model, q), montage_svg(model, q, relief=slope)
    assert sloping.count("<polygon") > level.count("<polygon")
