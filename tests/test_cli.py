"""The command line as a person meets it: what is printed, written and returned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.cli import main
from codesign.problem_source import make_problem, parse_setting, problem_class

ROOT = Path(__file__).resolve().parents[1]
ROBOT = ROOT / "problems" / "quadcopter" / "robot"

HOVER = '''
from codesign import Problem
from codesign.constraints import at_rest, base_position
from codesign.objectives import peak_thrust


class Hover(Problem):
    """A quadcopter stays where it is."""

    robot = {robot!r}
    design = {{"mass": (0.3, 0.7)}}
    duration, knots = 0.4, 4
    height = 1.0
    gentle = True
    label = "hover"

    def objective(self, traj):
        return peak_thrust(traj)

    def constraints(self, traj):
        yield at_rest(traj, knot=0)
        for knot in (0, -1):
            yield base_position(traj, knot=knot, x=0.0, y=0.0, z=self.height)
'''


@pytest.fixture
def hover(tmp_path):
    path = tmp_path / "hover.py"
    path.write_text(HOVER.format(robot=str(ROBOT)))
    return path


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("solved")
    source = folder / "hover.py"
    source.write_text(HOVER.format(robot=str(ROBOT)))
    assert main(["solve", str(source), "--out", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


def refusal(capsys, *words) -> str:
    """The one line on stderr of a command that must fail with status 2 and print nothing."""
    assert main([str(word) for word in words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("codesign: ")
    assert "Traceback" not in captured.err
    return lines[0]


def run(*words, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "codesign.cli", *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


# --- help and list -------------------------------------------------------------------------------


def test_help_is_quick_and_lists_the_commands(tmp_path):
    began = time.perf_counter()
    done = run("--help", cwd=tmp_path)
    seconds = time.perf_counter() - began
    assert done.returncode == 0
    for command in ("list", "solve", "show", "export", "compile"):
        assert command in done.stdout
    assert seconds < 0.5 * 4  # 0.07 s alone on the machine; four times 0.5 s when it is busy


def test_help_and_mistakes_load_nothing_heavy(tmp_path):
    code = (
        "import sys; from codesign.cli import main; main(['--help']); main(['solve']); "
        "main(['list']); print([m for m in ('jax', 'mujoco', 'casadi', 'numpy') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_no_arguments_show_help(capsys):
    assert main([]) == 0
    assert "Commands" in capsys.readouterr().out


def test_list_names_each_problem_with_its_question(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines]
    assert names == sorted(names)
    assert {"hexapod", "hopper", "quadcopter", "biped_flat_and_step"} <= set(names)
    question = "A hexapod walks 0.45 m and presses a button 0.15 m above the ground."
    assert question in lines[names.index("hexapod")]


def test_every_listed_problem_loads():
    from codesign import Problem, Tasks
    from problems import registry

    for name, entry in registry().items():
        assert issubclass(problem_class(name), Problem | Tasks)
        assert entry.summary


@pytest.mark.skipif(os.name != "posix", reason="pipes close differently elsewhere")
def test_a_closed_pipe_is_no_error(tmp_path):
    command = f"{sys.executable} -m codesign.cli list | true"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; sleep 0.1; {command}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- solve ---------------------------------------------------------------------------------------


def test_solve_writes_what_the_design_names(solved):
    names = {path.name for path in solved.iterdir()}
    assert {"solution.json", "trajectory.npz", "robot", "report.html"} <= names
    record = json.loads((solved / "solution.json").read_text())
    assert record["success"] is True
    assert record["design"]["mass"]["value"] == pytest.approx(0.3, abs=1e-3)
    assert (record["design"]["mass"]["unit"], record["design"]["mass"]["lower"]) == ("kg", 0.3)
    with np.load(solved / "trajectory.npz") as arrays:
        assert {"t", "q", "v", "u", "contact_force", "dt"} <= set(arrays)
    assert (solved / "robot" / "robot.xml").is_file()


def test_report_of_a_solve_tells_how_to_repeat_it(solved):
    page = (solved / "report.html").read_text()
    assert f"hover.py --seed 0 --out {solved}" in page
    assert "A quadcopter stays where it is." in page


def test_solve_prints_the_report_path_last(hover, tmp_path, capsys):
    out = tmp_path / "result"
    assert main(["solve", f"{hover}:Hover", "--out", str(out), "--seed", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == str(out / "report.html")
    assert "seed 3: solved" in lines[0]
    assert any(line.split()[:2] == ["mass", "0.3"] for line in lines)


def test_quiet_solve_prints_the_path_alone(hover, tmp_path, capsys):
    assert main(["solve", str(hover), "--out", str(tmp_path / "o"), "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{tmp_path / 'o' / 'report.html'}\n"
    assert captured.err == ""


def test_solve_replaces_an_earlier_result(hover, solved, capsys):
    assert main(["solve", str(hover), "--out", str(solved), "--seed", "5", "-q"]) == 0
    assert json.loads((solved / "solution.json").read_text())["seed"] == 5


def test_knots_and_options_reach_the_problem(hover, tmp_path):
    out = tmp_path / "o"
    words = ["solve", hover, "--out", out, "--knots", 5, "--set", "height=1.5", "-q"]
    assert main([str(word) for word in words]) == 0
    with np.load(out / "trajectory.npz") as arrays:
        assert len(arrays["t"]) == 5
        assert arrays["q"][0, 2] == pytest.approx(1.5, abs=1e-6)


def test_default_result_folder_is_out_and_the_name(hover, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "hover.py", "-q"]) == 0
    assert capsys.readouterr().out.strip() == str(Path("out") / "hover" / "report.html")


@pytest.mark.parametrize(
    "form", ["markers = {spot}", "def markers(self, design):\n        return {spot}"]
)
def test_markers_of_a_problem_are_shown_in_its_report(form, hover, tmp_path):
    marked = form.format(spot='{"button": (0.5, 0.0, 1.0)}')
    hover.write_text(hover.read_text().replace("    gentle = True\n", f"    {marked}\n\n"))
    assert main(["solve", str(hover), "--out", str(tmp_path / "o"), "-q"]) == 0
    assert '"name":"button","p":[0.5,0,1]' in (tmp_path / "o" / "report.html").read_text()


def test_an_impossible_task_is_status_1_and_explained(hover, tmp_path, capsys):
    # 100 m in 0.4 s, from rest, takes 100 times the weight.
    hover.write_text(hover.read_text().replace("z=self.height)", "z=100.0 * knot)"))
    out = tmp_path / "o"
    assert main(["solve", str(hover), "--out", str(out)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == str(out / "report.html")
    assert "is off by" in lines[0]
    assert 'class="verdict good"' not in (out / "report.html").read_text()


# --- solve: bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["solv"], "No such command 'solv'"),
        (["solve"], "Missing argument"),
        (["solve", "hexpod"], "did you mean 'hexapod'?"),
        (["solve", "hexapod", "--seed", "abc"], "--seed"),
        (["solve", "hexapod", "--seeds", "1"], "No such option"),
        (["solve", "hexapod", "--seed", "-1"], "seed is -1"),
        (["solve", "hexapod", "--starts", "0"], "starts is 0"),
        (["solve", "hexapod", "--jobs", "0"], "jobs is 0"),
        (["solve", "hexapod", "--time-limit", "nan"], "time_limit is nan"),
        (["solve", "hexapod", "--knots", "1"], "knots is 1"),
        (["solve", "hexapod", "--set", "gamma=1"], "It has:"),
        (["solve", "hexapod", "--set", "beta"], "write it as key=value"),
        (["solve", "hexapod", "--set", "beta=much"], "'beta' of Hexapod is a number"),
        (["solve", "hexapod", "--set", "beta=nan"], "'beta' of Hexapod is a number"),
        (["solve", "hexapod", "--set", "beta=[1"], "cannot be read"),
        (["solve", "hexapod", "--set", "beta=2024-99-99"], "'beta' of Hexapod is a number"),
        (["solve", "hexapod", "--set", f"beta={'9' * 5000}"], "'beta' of Hexapod is a number"),
        (["solve", "hexapod", "--set", f"beta={'[' * 5000}"], "cannot be read"),
        (["solve", "hexapod", "--set", "knots=" + "9" * 400], "'knots' of Hexapod is a number"),
        (["solve", "hexapod", "--set", "step_range=5"], "a list, written as [0.5, 1.5]; '5'"),
        (["solve", "hexapod", "--set", "step_range=null"], "; 'null' was given"),
        (["solve", "hexapod", "--set", "step_range=1,1"], "a list, written as [0.5, 1.5]; '1,1'"),
        (["solve", "hexapod", "--set", "step_range=[1, b]"], "a list, written as [0.5, 1.5]"),
        (["solve", "hexapod", "--set", "step_range=[1, 1e999]"], "a list, written as [0.5, 1.5]"),
        (["solve", "hexapod", "--set", "design=5"], "written as {name: [lower, upper]}"),
        (["solve", "hexapod", "--set", "terrain=flat"], "terrain is stated in the class"),
        (["solve", "hexapod", "--set", "robot=5"], "'robot' of Hexapod is text"),
        (["solve", "hexapod", "--set", "robot=nowhere"], "robot 'nowhere' is no folder"),
        (["solve", "hexapod", "--set", "solve=5"], "has no option 'solve'"),
        (["solve", "hexapod", "--out", "x" * 300], "File name too long"),
        (["solve", "hexapod", "--out", "."], "the folder you are in"),
        (["show", "x" * 300], "File name too long"),
        (["compile", ROBOT, "--out", "x" * 300], "File name too long"),
        (["compile", "x" * 300, "--out", "y"], "is neither a folder nor a robot that ships"),
        (["compile", ROBOT, "--out", "."], "the folder you are in"),
        (["compile", ROBOT, "--out", ""], "the folder you are in"),
        (["compile", ROBOT, "--set", "motors." + "a." * 3000 + "a=1", "--out", "y"], "nested deep"),
        (["compile", ROBOT, "--set", "radius=&a [*a]", "--out", "y"], "cannot be read"),
        (["compile", ROBOT, "--set", "radius=1:30", "--out", "y"], "is a text, '1:30'"),
        (["solve", "x" * 300 + ".py"], "File name too long"),
        (["solve", "missing.py:Robot"], "there is no file 'missing.py'"),
        (["show", "nowhere"], "nowhere"),
        (["export", "nowhere", "--out", "x"], "nowhere"),
        (["export", "nowhere"], "--out"),
        (["compile", "nowhere", "--out", "x"], "robot 'nowhere' is neither a folder nor a robot"),
        (["compile", ROBOT, "--out", "x", "--set", "mas=1"], "mas"),
        (["compile", ROBOT, "--out", "x", "--set", "mass=heavy"], "mass"),
        (["compile", ROBOT, "--out", "x", "--set", "mass=-1"], "mass"),
        (["compile", ROBOT, "--out", "x", "--overrides", "no.yaml"], "no overrides file 'no.yaml'"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert told in refusal(capsys, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("def __init__(self, target): pass", "cannot be made: "),
        ("def __init__(self): self.height = 1 / 0", "hover.py:17: ZeroDivisionError"),
        ("solve = 5", "Hover.solve is 5, which hides"),
        ("plant = None", "Hover.plant is None, which hides"),
        ("options = {}", "Hover.options is {}, which hides"),
        ("markers = [1]", "Hover.markers is [1], which hides"),
        ("keyframes = 3", "Hover.keyframes is 3, which hides"),
        ("constraints = 5", "Hover.constraints is 5, which hides"),
        ("objective = 1.0", "Hover.objective is 1.0, which hides"),
        ("def objective(self): return 0.0", "write def objective(self, traj)"),
        ("def constraints(traj): pass", "write def constraints(self, traj)"),
        ("def keyframes(self, n): pass", "write def keyframes(self)"),
        ("def markers(self): return {}", "write def markers(self, design)"),
    ],
)
def test_a_class_that_cannot_be_solved_is_told(body, told, hover, tmp_path, capsys):
    head = hover.read_text().split("    def objective")[0]
    hover.write_text(f"{head}    {body}\n")
    assert told in refusal(capsys, "solve", hover, "--out", tmp_path / "o")
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("given", ["lambda self, traj: 0.0", "staticmethod(lambda traj: 0.0)"])
def test_an_objective_may_be_any_function(given, hover):
    traj: Any = None
    head, tail = hover.read_text().split("    def objective")
    rest = tail[tail.index("    def constraints") :]
    hover.write_text(f"{head}    objective = {given}\n\n{rest}")
    assert make_problem(problem_class(str(hover)), []).objective(traj) == 0.0


def test_settings_of_the_wrong_kind_are_refused(hover, capsys):
    assert "is true or false" in refusal(capsys, "solve", hover, "--set", "gentle=2")
    assert "is text" in refusal(capsys, "solve", hover, "--set", "label=2")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("x = 1", "It has none: subclass codesign.Problem"),
        ("def f(:\n  pass", "user.py:1: invalid syntax"),
        ("\nimport no_such_module", "user.py:2: ModuleNotFoundError"),
        ("1 / 0", "user.py:1: ZeroDivisionError"),
        ("raise SystemExit(0)", "user.py:1: SystemExit"),
        (
            "from codesign import Problem\nclass A(Problem): pass\nclass B(Problem): pass",
            "It has: A, B",
        ),
    ],
)
def test_a_file_without_the_problem_is_told(body, told, tmp_path, capsys):
    source = tmp_path / "user.py"
    source.write_text(body)
    line = refusal(capsys, "solve", f"{source}:Missing" if "class" not in body else source)
    assert told in line


def test_an_error_in_the_users_objective_is_told_by_its_line(hover, tmp_path, capsys):
    hover.write_text(hover.read_text().replace("peak_thrust(traj)\n", "peek_thrust(traj)\n", 1))
    line = refusal(capsys, "solve", hover, "--out", tmp_path / "o")
    assert "hover.py:18: NameError: name 'peek_thrust' is not defined" in line
    assert not (tmp_path / "o").exists()


def test_a_file_may_import_what_is_beside_it(hover, tmp_path):
    (tmp_path / "beside_hover.py").write_text("HEIGHT = 2.0\n")
    hover.write_text("from beside_hover import HEIGHT\n" + hover.read_text())
    assert problem_class(str(hover)).__name__ == "Hover"


def test_a_foreign_folder_is_refused_before_the_solve(hover, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("codesign.problem.Problem.solve", lambda *a, **k: pytest.fail("solved"))
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat.jpg").write_text("meow")
    assert "it holds cat.jpg" in refusal(capsys, "solve", hover, "--out", folder)
    (folder / "solution.json").write_text("{}")
    (folder / "cat.jpg").unlink()
    assert "which no solve wrote" in refusal(capsys, "solve", hover, "--out", folder)
    assert (folder / "solution.json").read_text() == "{}"
    file = tmp_path / "file"
    file.write_text("")
    assert "it is a file" in refusal(capsys, "solve", hover, "--out", file)
    assert "is a file" in refusal(capsys, "solve", hover, "--out", file / "deeper" / "still")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write to")
def test_an_unwritable_folder_is_refused_before_the_solve(hover, capsys, monkeypatch):
    monkeypatch.setattr("codesign.problem.Problem.solve", lambda *a, **k: pytest.fail("solved"))
    assert "cannot write to '/proc/result'" in refusal(
        capsys, "solve", hover, "--out", "/proc/result"
    )


def test_an_interrupt_while_building_is_one_line(hover, tmp_path, capsys, monkeypatch):
    def interrupted(*a, **k):
        raise KeyboardInterrupt

    monkeypatch.setattr("codesign.problem.Problem.solve", interrupted)
    assert main(["solve", str(hover), "--out", str(tmp_path / "o")]) == 1
    assert capsys.readouterr().err.startswith("codesign: interrupted")
    assert not (tmp_path / "o").exists()


def interrupted(*a, **k):
    raise KeyboardInterrupt


def test_an_interrupt_while_saving_tells_what_is_true(hover, tmp_path, capsys, monkeypatch):
    solution = problem_class(str(hover))().solve()
    monkeypatch.setattr("codesign.problem.Problem.solve", lambda *a, **k: solution)
    words = ["solve", str(hover), "--out", str(tmp_path / "o"), "-q"]

    def told(step: str, by=interrupted) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(step, by)
            assert main(words) == 1
        return capsys.readouterr().err

    assert "saving: nothing is written" in told("codesign.storage._write_result")
    assert not (tmp_path / "o").exists()
    late = told("draft_core.swap._restore", lambda scratch, to: to.name == "o" and interrupted())
    assert "'{}' holds the new result".format(tmp_path / "o") in late
    assert main(["show", str(tmp_path / "o")]) == 0
    capsys.readouterr()
    assert "'{}' is as it was".format(tmp_path / "o") in told("codesign.storage._write_result")


def test_a_first_interrupt_while_saving_waits_for_the_result(hover, tmp_path, capsys, monkeypatch):
    from codesign import storage

    written = storage._write_result
    monkeypatch.setattr(
        storage,
        "_write_result",
        lambda *a: (os.kill(os.getpid(), signal.SIGINT), written(*a)),
    )
    assert main(["solve", str(hover), "--out", str(tmp_path / "o"), "-q"]) == 1
    assert "saving: '{}' holds the new result".format(tmp_path / "o") in capsys.readouterr().err
    assert main(["show", str(tmp_path / "o")]) == 0


def test_a_report_that_fails_is_noted_and_the_solve_kept(hover, tmp_path, capsys, monkeypatch):
    def broken(*a, **k):
        raise RuntimeError("no ink")

    monkeypatch.setattr("codesign.report.page.report_html", broken)
    assert main(["solve", str(hover), "--out", str(tmp_path / "o"), "-q"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "codesign: the report could not be drawn: RuntimeError: no ink\n"
    assert main(["show", str(tmp_path / "o")]) == 0


# --- show, export, compile -----------------------------------------------------------------------


def test_show_prints_design_and_verdict(solved, capsys):
    assert main(["show", str(solved)]) == 0
    text = capsys.readouterr().out
    assert ": solved (" in text
    assert "0.3 to 0.7" in text


def test_exported_robot_loads_in_mujoco_with_the_design(solved, tmp_path, capsys):
    import mujoco

    assert main(["export", str(solved), "--out", str(tmp_path / "x")]) == 0
    path = capsys.readouterr().out.strip()
    model = mujoco.MjModel.from_xml_path(path)
    assert model.body_mass.sum() == pytest.approx(0.3, abs=1e-3)


def test_compile_takes_settings_over_overrides(tmp_path, capsys):
    import mujoco

    file = tmp_path / "o.yaml"
    file.write_text("mass: 0.6\nradius: 0.2\n")
    words = ["compile", ROBOT, "--overrides", file, "--set", "mass=0.5", "--out", tmp_path / "x"]
    assert main([str(word) for word in words]) == 0
    *table, path = capsys.readouterr().out.splitlines()
    assert mujoco.MjModel.from_xml_path(path).body_mass.sum() == pytest.approx(0.5)
    assert "feasible, 0.5 kg" in table[0]


def test_robots_lists_those_that_ship_and_compile_builds_one_by_name(tmp_path, capsys):
    import mujoco
    import yaml

    assert main(["robots"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["quadruped", "cheetah", "bear", "giraffe", "humanoid", "hopper"]
    assert main(["compile", "cheetah", "--out", str(tmp_path / "c")]) == 0
    *table, path = capsys.readouterr().out.splitlines()
    assert mujoco.MjModel.from_xml_path(path).body_mass.sum() == pytest.approx(32.638, abs=1e-3)
    assert any("MIT U12" in line for line in table)
    written = {p.relative_to(tmp_path / "c").as_posix() for p in (tmp_path / "c").rglob("*.*")}
    assert written == {
        *("robot.xml", "scene.xml", "robot.urdf", "assets/torso.obj"),
        *("parameters_resolved.yaml", "feasibility_report.yaml"),
    }
    report = yaml.safe_load((tmp_path / "c" / "feasibility_report.yaml").read_text())
    assert report["verdict"] == "feasible"


def test_a_refused_robot_says_why_and_writes_nothing(tmp_path, capsys):
    words = ["compile", "quadruped", "--set", "allow_hypothetical=false", "--out"]
    assert main([*words, str(tmp_path / "q")]) == 1
    said = capsys.readouterr()
    assert "refused" in said.out.splitlines()[0]
    assert said.err.startswith("codesign: ")
    assert "IM6014" in said.err
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_compile_refuses_overrides_that_are_a_list(tmp_path, capsys):
    file = tmp_path / "o.yaml"
    file.write_text("- 1\n- 2\n")
    refusal(capsys, "compile", ROBOT, "--overrides", file, "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("a=1", ("a", 1)),
        ("a=1e-3", ("a", 1e-3)),
        ("a = -2.5 ", ("a", -2.5)),
        ("a=true", ("a", True)),
        ("a=text", ("a", "text")),
        ("a=[1, 2.5]", ("a", [1, 2.5])),
        ("a=b=c", ("a", "b=c")),
        ("a=[1e300, -2E+5, 1.5e3]", ("a", [1e300, -2e5, 1.5e3])),
        ("a=2024-01-01", ("a", "2024-01-01")),
        ("a=null", ("a", None)),
    ],
)
def test_settings_are_read_by_what_they_look_like(setting, expected):
    assert parse_setting(setting) == expected
