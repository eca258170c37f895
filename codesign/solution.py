"""The answer of a solve: design, motion, verdict; saved, loaded, exported and solved from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codesign.audit import Audit, audit
from codesign.between_knots import deepest_passage
from codesign.certificate import Certificate, Certification, Multipliers, Price
from codesign.errors import ProblemError, SolutionError
from codesign.motor_library.record import MotorRecord
from codesign.problem_source import source_of
from codesign.robot_files import stated_overrides
from codesign.solve.refine import CHANGE, ENERGY, MESH_CONVERGED, MOST_KNOTS, MeshRecord
from codesign.solve.resample import resample
from codesign.solve.starts_record import StartRecord
from codesign.solve.status import SolveStatus
from codesign.solve.verdict import filtered, held_hinges, judge, notes_on
from codesign.terrain import Relief, relief_under
from codesign.transcription import INTEGRATORS
from draft_core.errors import DraftError

if TYPE_CHECKING:
    import mujoco

    from codesign.plant import Plant
    from codesign.problem import Problem
    from codesign.replay import Replay
    from codesign.solve.homotopy import Path as HomotopyPath
    from codesign.solve.progress import ProgressFunction
    from codesign.solve.transcribed import Transcription
    from codesign.transcription import Layout
    from draft_core import Robot

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class DesignValue:
    """One design variable of a solution, in its unit."""

    value: float
    unit: str
    lower: float
    upper: float
    initial: float


@dataclass(frozen=True)
class PhaseRecord:
    """One stage of the solve."""

    phase: str
    relaxation: float
    iterations: int
    status: str
    objective: float
    violation: float
    seconds: float


@dataclass(frozen=True)
class Solution:
    """A design and its motion, with the verdict on both.

    K knots, N = K − 1 intervals, nc contact points. Entry k of an interval's quantity acts from
    knot k to knot k + 1.

    Attributes:
        problem: name of the problem.
        options: its plain options.
        seed: seed of the start it came from.
        status: how the solve ended.
        message: what that means, the worst constraint, and what to try.
        objective: objective with true maxima.
        design_values: design variables by name.
        t: times, shape (K,); [s].
        q: configurations in MuJoCo's order, shape (K, nq).
        v: velocities, shape (K, nv).
        u: efforts, shape (N, nu); [N m] or [N].
        contact_force: force on the robot in the world frame, shape (N, nc, 3); [N].
        dt: time steps, shape (N,); [s].
        normal: normal contact forces, shape (N, nc); [N].
        tangent: friction along ±t₁, ±t₂, shape (N, nc, 4); [N].
        slide: sliding slacks, shape (N, nc); [m/s].
        audit: residuals and energies, recomputed independently.
        notes: what the designer should know, e.g. design variables that nothing depends on.
        phases: stages of the solve.
        wall_s: wall time of the solve, building included; [s].
        build_s: time of tracing and differentiation; [s].
        robot_folder: robot folder the problem was stated with.
        robot: the robot as it was when the problem was read.
        robot_source: names and bytes of its files.
        terrain: name of the ground it moves on.
        relief: shape of that ground around the motion; None for level ground.
        question: the problem in a sentence.
        markers: points of the world to show in pictures, name → (x, y, z); [m].
        versions: versions of the packages that made it.
        starts: what came of each random start, where there were several.
        mesh: what came of each mesh, coarsest first, where it was refined.
        source: what `codesign solve` finds its problem by: a name, or path/to/file.py:Class; empty
            where the class has no file.
        overrides: what the problem says otherwise than the robot's own parameters.yaml.
        motor_choice: the motor that was chosen for it, or for which it was solved.
        guess: what its start was made of, a name of `codesign.solve.guesses.GUESSES`, "solution",
            or empty where it is not known.
        task: the problem itself, where it was solved here; not saved.
        certification: the certificate, or what it takes to work it out; see `certificate`.
    """

    problem: str
    options: Mapping[str, Any]
    seed: int
    status: SolveStatus
    message: str
    objective: float
    design_values: Mapping[str, DesignValue]
    t: Vector
    q: Vector
    v: Vector
    u: Vector
    contact_force: Vector
    dt: Vector
    normal: Vector
    tangent: Vector
    slide: Vector
    audit: Audit
    notes: tuple[str, ...]
    phases: tuple[PhaseRecord, ...]
    wall_s: float
    build_s: float
    robot_folder: str
    robot: Robot = field(repr=False, compare=False)
    robot_source: Mapping[str, bytes] = field(repr=False)
    terrain: str = "flat ground"
    relief: Relief | None = field(default=None, repr=False, compare=False)
    question: str = ""
    markers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    starts: tuple[StartRecord, ...] = ()
    mesh: tuple[MeshRecord, ...] = ()
    source: str = ""
    guess: str = ""
    overrides: tuple[Mapping[str, Any], ...] = ()
    motor_choice: MotorRecord | None = None
    task: Problem | None = field(default=None, repr=False, compare=False)
    certification: Certification = field(default_factory=Certification, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the problem behind, which another process makes anew."""
        return vars(self) | {"task": None}

    @property
    def success(self) -> bool:
        """Whether the answer met every tolerance and is physical."""
        return self.status is SolveStatus.SOLVED

    @property
    def is_mesh_converged(self) -> bool:
        """Whether it was refined until the thresholds of the refinement were reached."""
        return any(note.startswith(MESH_CONVERGED) for note in self.notes)

    @property
    def design(self) -> dict[str, float]:
        """Design variables by name, in SI units."""
        return {name: value.value for name, value in self.design_values.items()}

    @property
    def certificate(self) -> Certificate:
        """How good the answer is: violations by kind, stationarity, prices.

        Worked out when first asked for, or when the solution is saved.
        """
        return self.certification.certificate(self.task)

    @property
    def prices(self) -> tuple[Price, ...]:
        """What holds the answer back: active bounds, those worth most first."""
        return self.certificate.prices

    @property
    def iterations(self) -> int:
        """Solver iterations over all stages."""
        return sum(phase.iterations for phase in self.phases)

    def require_success(self) -> Solution:
        """Return self when solved.

        Raises:
            SolutionError: it is not; the message says why.
        """
        if not self.success:
            raise SolutionError(self.message)
        return self

    def resample(self, layout: Layout, plant: Plant) -> Vector:
        """Return a decision vector that starts another solve from this solution.

        See `codesign.solve.resample`; the number of knots may differ.

        Raises:
            SolutionError: the solution belongs to a robot of another shape.
        """
        return resample(self, layout, plant)

    def compile(self) -> mujoco.MjModel:
        """Return the MuJoCo model of the design, whatever the feasibility filter says of it."""
        return self.robot.compile(self.design, gates=False).model

    def refine(
        self,
        change: float = CHANGE,
        energy: float = ENERGY,
        floor: float = 0.0,
        most_knots: int = MOST_KNOTS,
        time_limit: float | None = None,
        progress: ProgressFunction | None = None,
        problem: Problem | None = None,
    ) -> Solution:
        """Split every interval in two and solve again, until the mesh no longer decides the answer.

        See `codesign.solve.refine.refine` for the arguments, the answer and the errors.
        """
        from codesign.solve.refine import refine

        return refine(
            self,
            change=change,
            energy=energy,
            floor=floor,
            most_knots=most_knots,
            time_limit=time_limit,
            progress=progress,
            problem=problem,
        )

    def replay(self) -> Replay:
        """Simulate the plan in MuJoCo at 1 kHz under feedback; see `codesign.replay`.

        Raises:
            SolutionError: the shape of the terrain is not known, or the trajectory is no motion.
        """
        from codesign.replay import replay

        return replay(self)

    def export(self, folder: str | Path) -> Path:
        """Write the robot as MJCF and URDF, with its feasibility report, to a folder.

        Raises:
            Refused: the feasibility filter refuses the design; nothing is written.
            DraftError: the folder holds something else, or cannot be written.
        """
        target = Path(folder)
        self.robot.compile(self.design, target)
        return target

    def save(self, folder: str | Path, command: str | None = None) -> Path:
        """Write the solution, its robot, its replay and its report to a folder.

        The folder then holds solution.json, trajectory.npz, report.html, robot/ (MJCF),
        robot_source/ (the robot's own files) and, for a success, replay.json. It
        is replaced whole or, whatever goes wrong, not at all. A report or replay that cannot be
        made is warned of and does not keep the solution from being saved.

        Args:
            folder: new, empty, or holding an earlier result.
            command: shell command that repeats the solve, shown in the report.

        Raises:
            SolutionError: the folder holds something else, or cannot be written.
        """
        from codesign.storage import save

        for note in save(self, Path(folder), command):
            warnings.warn(note, RuntimeWarning, stacklevel=2)
        return Path(folder)


def load(folder: str | Path) -> Any:
    """Read a saved solution: a `Solution`, or the `TasksSolution` of tasks that share a design.

    Raises:
        SolutionError: the folder does not hold one.
    """
    from codesign.storage import load_solution, task_folders
    from codesign.tasks.storage import load_tasks

    place = Path(folder)
    return load_tasks(place) if task_folders(place) else load_solution(place)


def solution_of(
    problem: Problem,
    ready: Transcription,
    path: HomotopyPath,
    box: tuple[Vector, Vector],
    seed: int,
    wall_s: float,
) -> Solution:
    """Return the solution at the end of a homotopy path, audited."""
    program, plant = ready.program, ready.plant
    z = np.clip(path.point.x, *box) * program.scale
    fields = program.layout.split(z)
    design = plant.space.as_dict(fields["design"].tolist())
    try:
        model = plant.robot.compile(design, gates=False).model
    except DraftError as error:
        values = ", ".join(f"{name} = {value:.6g}" for name, value in design.items())
        raise ProblemError(
            f"the search ended at a design that is no robot ({values}): {error} Bound the design, "
            "or constrain it, so that it is: at_least(traj.design[...] - ..., 0.01, name=...)"
        ) from error
    physical_box = (box[0] * program.scale, box[1] * program.scale)
    verdict = audit(ready, z, model, physical_box)
    status, message = judge(path, verdict)
    if status is SolveStatus.SOLVED:
        status, message = filtered(ready, message, design)
    return Solution(
        problem=type(problem).__name__,
        options=problem.options,
        seed=seed,
        status=status,
        message=message,
        objective=verdict.objective,
        design_values={
            v.name: DesignValue(design[v.name], v.unit or "", v.lower, v.upper, v.initial)
            for v in plant.space.variables
        },
        t=np.concatenate([[0.0], np.cumsum(fields["dt"])]),
        contact_force=np.asarray(ready.evaluate_forces(z)),
        audit=verdict,
        notes=notes_on(
            ready,
            model,
            verdict,
            held_hinges(ready, *(program.layout.split(v)["q"] for v in (z, *physical_box))),
            (fields["u"], fields["v"], design),
            deepest_passage(
                plant, model, fields["q"], fields["v"], fields["dt"], INTEGRATORS[ready.integrator]
            ),
        ),
        phases=tuple(_record(stage) for stage in path.stages),
        wall_s=wall_s,
        build_s=ready.build_seconds,
        robot_folder=str(problem.robot_folder()),
        robot=plant.robot,
        robot_source=dict(plant.source),
        overrides=stated_overrides(problem),
        terrain=plant.terrain.name,
        relief=relief_under(plant.terrain, model, fields["q"]),
        question=_first_line(type(problem).__doc__),
        markers=checked_markers(problem, design),
        versions=package_versions(),
        source=source_of(type(problem)),
        task=copy(problem),
        certification=_certification(ready, path, box, verdict),
        **{name: fields[name] for name in ("q", "v", "u", "dt", "normal", "tangent", "slide")},
    )


def _certification(
    ready: Transcription,
    path: HomotopyPath,
    box: tuple[Vector, Vector],
    verdict: Audit,
) -> Certification:
    """Return what the certificate is worked out from, with multipliers where the solve has any."""
    point, last = path.point, path.last
    multipliers = None
    if last.phase == "objective" and point.lam_x is not None and point.lam_g is not None:
        x = np.clip(point.x, *box)
        multipliers = Multipliers(x, point.lam_x, point.lam_g, last.relaxation)
    return Certification(
        violations=verdict.by_kind,
        ready=ready,
        box=box,
        multipliers=multipliers,
        is_minimum=last.result.converged,
    )


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


def checked_markers(problem: Problem, design: Mapping[str, float]) -> dict[str, list[float]]:
    """Return a problem's markers, stated as a method or as a plain mapping.

    Raises:
        ProblemError: they are no points of the world.
    """
    name, stated = type(problem).__name__, problem.markers
    try:
        points = stated if isinstance(stated, Mapping) else stated(design)
        markers = {str(key): [float(x) for x in point] for key, point in points.items()}
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ProblemError(
            f"{name}.markers fails ({error}); it must be markers(self, design) and return "
            "name -> (x, y, z)"
        ) from error
    for key, point in markers.items():
        if len(point) != 3 or not np.all(np.isfinite(point)):
            raise ProblemError(f"{name}.markers: '{key}' is {point}; it must be (x, y, z) [m]")
    return markers


def _record(stage: Any) -> PhaseRecord:
    result = stage.result
    return PhaseRecord(
        stage.phase,
        stage.relaxation,
        result.iterations,
        result.return_status,
        result.objective,
        result.violation,
        result.seconds,
    )


def package_versions() -> dict[str, str]:
    """Return versions of the packages an answer depends on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("codesign", "casadi", "jax", "mujoco", "mujoco-mjx", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
