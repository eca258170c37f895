"""The report: one HTML file that a person reads first, with nothing to fetch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from codesign.audit import COMPLEMENTARITY_TOLERANCE
from codesign.report.certificate import certificate_section, price_section
from codesign.report.forces import SiteForce, site_forces
from codesign.report.mesh import mesh_section
from codesign.report.montage import Arrow, choose_frames, montage_svg
from codesign.report.player import embedded_json, player_scene
from codesign.report.plots import all_plots, effort_kind, energy_sentence
from codesign.report.poses import Motion, base_body, body_poses, frame_times, interpolate
from codesign.report.tables import (
    audit_table,
    design_table,
    log_table,
    number,
    plain,
    residual_table,
    table,
)

if TYPE_CHECKING:
    from codesign.replay import Replay
    from codesign.solution import Solution

#: Status -> what it means, for a reader who has not seen the solver.
VERDICTS = {
    "solved": "Feasible: design and motion satisfy every constraint.",
    "not_converged": "Not finished: the solver stopped before it met the tolerances.",
    "infeasible": "Not feasible: no design and motion were found that satisfy every constraint.",
    "iteration_limit": "Not finished: the iteration limit came first.",
    "time_limit": "Not finished: the time limit came first.",
    "interrupted": "Interrupted: this is the best point so far, not a result.",
    "numerical_failure": "Failed: the solver ran into numbers it could not handle.",
    "refused": "Refused: the motion is found, but the filter says the robot cannot be built.",
    "not_physical": "Rejected: the motion takes energy out of its contacts, which no ground gives.",
}


def write_report(
    solution: Solution,
    model: mujoco.MjModel,
    path: str | os.PathLike,
    *,
    title: str | None = None,
    question: str | None = None,
    markers: Mapping[str, Sequence[float] | np.ndarray] | None = None,
    command: str | None = None,
    replay: Replay | None = None,
    remarks: Sequence[str] = (),
) -> Path:
    """Write the report of a solution.

    Args:
        solution: solved or not.
        model: the robot at the final design, with its geoms; contact points are its sites.
        path: file to write; replaced only when the page is complete.
        title: headline; the problem's name by default.
        question: what was asked, in a sentence.
        markers: named points of the world to show, e.g. a button [m]; what is no point is left out.
        command: what a person types to get this solution again; a line of Python by default.
        replay: how the plan fared in simulation, if it was tried.
        remarks: what else the reader should know, e.g. that no replay could be made.

    Returns:
        The path written.
    """
    path = Path(path)
    page = report_html(
        solution,
        model,
        title=title,
        question=question,
        markers=markers,
        command=command,
        replay=replay,
        remarks=remarks,
    )
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(page, encoding="utf-8")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def report_html(
    solution: Solution,
    model: mujoco.MjModel,
    *,
    title: str | None = None,
    question: str | None = None,
    markers: Mapping[str, Sequence[float] | np.ndarray] | None = None,
    command: str | None = None,
    replay: Replay | None = None,
    remarks: Sequence[str] = (),
) -> str:
    """Return the report as HTML; see `write_report`."""
    title = title or str(solution.problem)
    names = contact_names(solution)
    motion, script = _motion(solution, model, names, usable_markers(markers or {}))
    plots = "".join(all_plots(solution, model, names)) if _is_drawable(solution) else ""
    body = [
        _headline(solution, title, question, replay, remarks),
        _facts(solution, model),
        f"<h2>Motion</h2>{motion}",
        f"<h2>Design</h2>{design_table(solution.design_values)}",
        f'<h2>Over time</h2><div class="plots">{plots}</div>' if plots else "",
        f"<h2>What holds it back</h2>{price_section(solution.certificate)}",
        f"<h2>Audit</h2>{_audit(solution)}",
        f"<h2>Is it an optimum?</h2>{certificate_section(solution.certificate)}",
        f"<h2>Mesh</h2>{mesh_section(solution.mesh)}" if solution.mesh else "",
        f"<h2>Replay</h2>{_replay(replay)}" if replay is not None else "",
        f"<h2>Solver</h2>{log_table(solution.phases)}",
        f"<h2>Reproduce</h2>{_reproduce(solution, command)}",
        "<footer>Written by codesign. SI units throughout; angles are shown in degrees.</footer>",
    ]
    return page_of(title, "\n".join(body), script)


def page_of(title: str, body: str, script: str = "") -> str:
    """Return a whole page in the reports' style from its body."""
    return Template(_asset("page.html")).substitute(
        title=escape(title), style=_asset("style.css"), body=body, script=script
    )


def contact_names(solution: Solution) -> list[str]:
    """Return the contacts' names from the robot folder, or "contact i" where it has gone."""
    count = solution.contact_force.shape[1]
    robot = getattr(solution, "robot", None)
    names = list(robot.contact_names) if robot is not None else []
    return names if len(names) == count else [f"contact {i}" for i in range(count)]


def usable_markers(markers: Mapping[str, Sequence[float] | np.ndarray]) -> dict[str, np.ndarray]:
    """Return the markers that are points: three finite numbers under a name."""
    found = {}
    for name, point in markers.items():
        try:
            place = np.asarray(point, dtype=float)
        except (TypeError, ValueError):
            continue
        if place.shape == (3,) and np.all(np.isfinite(place)):
            found[str(name)] = place
    return found


def _asset(name: str) -> str:
    return resources.files("codesign.report").joinpath("assets", name).read_text("utf-8")


def _is_drawable(solution: Solution) -> bool:
    return len(solution.t) > 0 and bool(
        np.all(np.isfinite(solution.t)) and np.all(np.isfinite(solution.q))
    )


def _headline(
    solution: Solution,
    title: str,
    question: str | None,
    replay: Replay | None,
    remarks: Sequence[str],
) -> str:
    verdict = VERDICTS.get(str(solution.status)) or plain(solution.status)
    asked = f'<p class="question">{escape(question)}</p>' if question else ""
    message = f"<p>{escape(str(solution.message))}</p>" if solution.message else ""
    if not solution.success and _is_drawable(solution):
        message += f"<p>{escape(_best_point(solution))}</p>"
    if replay is not None and not replay.arrived:
        outcome = "falls" if replay.fell else "does not arrive"
        message += f"<p>In MuJoCo's own simulation this plan {outcome}: see Replay below.</p>"
    notes = "".join(f"<p>Note: {escape(note)}.</p>" for note in (*solution.notes, *remarks))
    return (
        f"<h1>{escape(title)}</h1>{asked}"
        f'<div class="verdict{" good" if solution.success else ""}">'
        f"<strong>{escape(verdict)}</strong>{message}</div>{notes}"
    )


def _best_point(solution: Solution) -> str:
    """Say what the pictures of a failure show."""
    shown = "The motion below is the best point that the solver reached, not a plan"
    relaxation = solution.phases[-1].relaxation if solution.phases else 0.0
    if not relaxation:  # nothing touches the ground
        return f"{shown}."
    return (
        f"{shown}: its last stage let contact force times distance be up to {number(relaxation)} "
        f"(scaled), where a solution needs {number(COMPLEMENTARITY_TOLERANCE)}."
    )


def _facts(solution: Solution, model: mujoco.MjModel) -> str:
    facts = [("Objective", number(solution.objective), "")]
    facts += _peaks(solution, model)
    if len(solution.t):
        intervals = f"in {len(solution.t) - 1} intervals"
        facts.append(("Duration", f"{number(solution.t[-1] - solution.t[0], 3)} s", intervals))
    facts.append(("Solve", f"{number(solution.wall_s, 3)} s", f"{solution.iterations} iterations"))
    facts.append(("Largest violation", number(solution.audit.max_violation, 2), "scaled"))
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)} <small>{escape(note)}</small></dd></div>"
        for name, value, note in facts
    )
    return f'<dl class="facts">{cells}</dl>'


def _peaks(solution: Solution, model: mujoco.MjModel) -> list[tuple[str, str, str]]:
    """Largest effort of each kind of actuator."""
    peaks: dict[tuple[str, str], float] = {}
    u = np.asarray(solution.u, dtype=float)
    for actuator in range(min(model.nu, u.shape[1] if u.ndim == 2 else 0)):
        kind = effort_kind(model, actuator)
        largest = float(np.abs(u[:, actuator]).max(initial=0.0))
        peaks[kind] = max(peaks.get(kind, 0.0), largest)
    return [(f"Peak {k.lower()}", f"{number(v, 3)} {unit}", "") for (k, unit), v in peaks.items()]


def _motion(solution: Solution, model, names: list[str], markers) -> tuple[str, str]:
    """The strip and the player, and the scripts that drive it."""
    if not _is_drawable(solution):
        return (
            "<p>There is no motion to show: the trajectory holds values that are not numbers.</p>",
            "",
        )
    forces = site_forces(solution, model, names)
    scene = player_scene(model, solution.t, solution.q, forces, markers, solution.relief)
    script = (
        f'<script type="application/json" id="motion">{embedded_json(scene)}</script>\n'
        f"<script>\n{_asset('player.js')}</script>"
    )
    strip = solution_montage(solution, model, markers=markers)
    hint = f'<p class="hint">{_hint(forces)}</p>'
    return f'{_asset("player.html")}<div class="strip">{strip}</div>{hint}', script


def _hint(forces: Sequence[SiteForce]) -> str:
    words = {"contact": "red arrows are contact forces", "thrust": "green arrows are thrusts"}
    kinds = [words[kind] for kind in dict.fromkeys(force.kind for force in forces)]
    legend = f" On the robot, {' and '.join(kinds)}." if kinds else ""
    return f"Drag to turn, scroll to zoom, shift-drag to move, double-click to reset.{legend}"


def solution_montage(
    solution: Solution,
    model: mujoco.MjModel,
    *,
    count: int = 5,
    markers: Mapping[str, Sequence[float] | np.ndarray] | None = None,
) -> str:
    """Return a solution's motion as a strip of poses: an SVG picture for a page or a file.

    Args:
        solution: with a finite trajectory.
        model: the robot at the final design.
        count: number of panels.
        markers: named points of the world to show [m].
    """
    t = np.asarray(solution.t, dtype=float)
    times, dense = choose_frames(t, count), frame_times(t)
    q = interpolate(model, t, solution.q, times)
    poses = body_poses(model, times, q)
    forces = site_forces(solution, model, contact_names(solution))
    return montage_svg(
        model,
        q,
        times=times,
        arrows=[_arrows_at(model, t, poses, frame, forces) for frame in range(len(times))],
        track=body_poses(model, dense, interpolate(model, t, solution.q, dense)).position[
            :, base_body(model)
        ],
        markers=usable_markers(markers or {}),
        relief=solution.relief,
        label="The motion, at evenly spaced times",
    )


def _arrows_at(model, t, poses: Motion, frame: int, forces: Sequence[SiteForce]) -> list[Arrow]:
    """Forces over the interval that holds a frame's time."""
    interval = int(np.clip(np.searchsorted(t, poses.t[frame], side="right") - 1, 0, len(t) - 2))
    return [
        Arrow(
            force.kind,
            force.site,
            force.in_world(interval, poses.quaternion[frame, model.site_bodyid[force.site]])
            / force.largest,
        )
        for force in forces
        if len(force.force)
    ]


def _audit(solution: Solution) -> str:
    audit = solution.audit
    return (
        f"<p>{escape(energy_sentence(audit.energy))}</p>"
        f"{residual_table(audit)}<p></p>{audit_table(audit.worst)}"
    )


def _replay(replay: Replay) -> str:
    rows = [
        ["base off the plan, at most", f"{number(replay.position_error, 3)} m"],
        ["base off the plan, at the end", f"{number(replay.final_position_error, 3)} m"],
        ["base tilted off the plan, at most", f"{number(np.degrees(replay.tilt_error), 3)}°"],
        ["joints off the plan, root mean square", number(replay.joint_error, 3)],
        ["time with an effort at its limit", f"{number(100 * replay.saturated, 2)} %"],
    ]
    outcome = "fell" if replay.fell else "stayed up but did not arrive"
    verdict = (
        "The robot followed it."
        if replay.arrived
        else f"The robot {outcome}: the plan holds on the optimiser's mesh, not under feedback. "
        "Use more knots, or constrain what it leans on."
    )
    how = "The plan under feedback in MuJoCo's own simulation, with its contacts, at 1 kHz."
    return f"<p>{how} <strong>{verdict}</strong></p>{table(['what', 'amount'], rows, numeric=(1,))}"


def _reproduce(solution: Solution, command: str | None) -> str:
    options = ", ".join(f"{key}={value!r}" for key, value in solution.options.items())
    python = f"{solution.problem}({options}).solve(seed={solution.seed})"
    rows = [[escape(str(k)), escape(str(v))] for k, v in solution.versions.items()]
    rows += [["robot folder", f"<code>{escape(str(solution.robot_folder))}</code>"]]
    return f"<pre>{escape(command or python)}</pre>{table(['what', 'version'], rows)}"
