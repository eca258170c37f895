"""solution.json: what stands in it, and how it is read without trusting it.

Numbers that are not finite are null, as JSON has no others.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from codesign.audit import Audit, Violation
from codesign.certificate import Certificate, Certification
from codesign.certificate.record import CertificateRow, PriceRow, told
from codesign.errors import SolutionError
from codesign.motor_library.record import MotorRecord
from codesign.physics import EnergyAudit
from codesign.solution import DesignValue, PhaseRecord
from codesign.solve.refine import MeshRecord
from codesign.solve.starts_record import StartRecord
from codesign.solve.status import SolveStatus

if TYPE_CHECKING:
    from codesign.solution import Solution

FORMAT = 4
_READ = (3, FORMAT)  # 3 lacks the fields that have a default here
Number = float | None
Kind = TypeVar("Kind", bound=msgspec.Struct)


class _Row(msgspec.Struct):
    """`codesign.audit.Violation`."""

    constraint: str
    knot: int | None
    element: str
    amount: Number
    unit: str
    scaled: Number


class _Phase(msgspec.Struct):
    """`codesign.solution.PhaseRecord`."""

    phase: str
    relaxation: float
    iterations: int
    status: str
    objective: Number
    violation: Number
    seconds: float


class StartRow(msgspec.Struct):
    """`codesign.solve.starts_record.StartRecord`."""

    seed: int
    status: str
    success: bool
    objective: Number
    design: dict[str, Number]
    iterations: int
    wall_s: float
    message: str


class _Mesh(msgspec.Struct):
    """`codesign.solve.refine.MeshRecord`."""

    knots: int
    objective: Number
    change: Number
    energy_share: Number
    contact_work_share: Number
    iterations: int
    wall_s: float
    success: bool
    message: str


class _Energy(msgspec.Struct):
    """`codesign.physics.EnergyAudit`, and what follows from it."""

    change: list[Number]
    actuator_work: list[Number]
    contact_work: list[Number]
    damping_work: list[Number]
    numerical_energy: list[Number]


class Record(msgspec.Struct):
    """solution.json. `sha256` maps the files that belong to it to their digests."""

    format: int
    problem: str
    options: dict[str, Any]
    seed: int
    status: SolveStatus
    success: bool
    message: str
    objective: Number
    objective_gap: Number
    design: dict[str, DesignValue]
    max_dynamics_residual: Number
    max_violation: Number
    max_complementarity: Number
    worst: list[_Row]
    energy: _Energy
    notes: list[str]
    phases: list[_Phase]
    iterations: int
    wall_s: float
    build_s: float
    robot_folder: str
    terrain: str
    question: str
    markers: dict[str, list[Number]]
    versions: dict[str, str]
    sha256: dict[str, str]
    starts: list[StartRow]
    mesh: list[_Mesh] = msgspec.field(default_factory=list)
    source: str = ""
    guess: str = ""
    overrides: list[dict[str, Any]] = msgspec.field(default_factory=list)
    motor_choice: MotorRecord | None = None
    certificate: CertificateRow | None = None
    prices: list[PriceRow] = msgspec.field(default_factory=list)
    allowance: Number = 0.0

    def audit(self) -> Audit:
        """Return the verdict it tells."""
        works = (
            self.energy.change,
            self.energy.actuator_work,
            self.energy.contact_work,
            self.energy.damping_work,
        )
        return Audit(
            worst=tuple(Violation(**_numbers(row)) for row in self.worst),
            max_dynamics_residual=number(self.max_dynamics_residual),
            max_violation=number(self.max_violation),
            max_complementarity=number(self.max_complementarity),
            energy=EnergyAudit(*(np.array([number(x) for x in work]) for work in works)),
            objective=number(self.objective),
            objective_gap=number(self.objective_gap),
            allowance=number(self.allowance),
            by_kind=self.certification().certificate(None).violations,
        )

    def certification(self) -> Certification:
        """Return the certificate it tells; an empty one where it was saved without."""
        if self.certificate is None:
            return Certification(found=Certificate(note="saved before there were certificates"))
        return Certification(found=self.certificate.certificate(self.prices))

    def outcomes(self) -> tuple[StartRecord, ...]:
        """Return what came of each start."""
        return start_records(self.starts)

    def meshes(self) -> tuple[MeshRecord, ...]:
        """Return what came of each mesh."""
        return tuple(MeshRecord(**_numbers(row)) for row in self.mesh)

    def stages(self) -> tuple[PhaseRecord, ...]:
        """Return the stages of the solve."""
        return tuple(PhaseRecord(**_numbers(phase)) for phase in self.phases)


def start_records(rows: Sequence[StartRow]) -> tuple[StartRecord, ...]:
    """Return what came of each start."""
    return tuple(
        StartRecord(
            **{
                **msgspec.structs.asdict(row),
                "objective": number(row.objective),
                "design": {name: number(value) for name, value in row.design.items()},
            }
        )
        for row in rows
    )


def number(value: Number) -> float:
    """Return a number of the record; null is NaN."""
    return math.nan if value is None else value


def _numbers(struct: _Row | _Phase | _Mesh) -> dict[str, Any]:
    values = msgspec.structs.asdict(struct)
    missing = [name for name, value in values.items() if value is None and name != "knot"]
    return values | dict.fromkeys(missing, math.nan)


def encode(solution: Solution, digests: Mapping[str, str]) -> str:
    """Return solution.json's text.

    Args:
        solution: what it tells of.
        digests: files that belong to it, name → sha256.
    """
    audit, energy = solution.audit, solution.audit.energy
    works = ("change", "actuator_work", "contact_work", "damping_work", "numerical_energy")
    record = {
        "format": FORMAT,
        "problem": solution.problem,
        "options": dict(solution.options),
        "seed": solution.seed,
        "status": str(solution.status),
        "success": solution.success,
        "message": solution.message,
        "objective": solution.objective,
        "objective_gap": audit.objective_gap,
        "allowance": audit.allowance,
        "design": {name: asdict(value) for name, value in solution.design_values.items()},
        "max_dynamics_residual": audit.max_dynamics_residual,
        "max_violation": audit.max_violation,
        "max_complementarity": audit.max_complementarity,
        "worst": [asdict(violation) for violation in audit.worst],
        "energy": {name: getattr(energy, name).tolist() for name in works},
        "notes": list(solution.notes),
        "phases": [asdict(phase) for phase in solution.phases],
        "iterations": solution.iterations,
        "wall_s": solution.wall_s,
        "build_s": solution.build_s,
        "robot_folder": solution.robot_folder,
        "terrain": solution.terrain,
        "question": solution.question,
        "markers": {str(name): list(point) for name, point in solution.markers.items()},
        "versions": dict(solution.versions),
        "sha256": dict(digests),
        "starts": [asdict(row) for row in solution.starts],
        "mesh": [asdict(row) for row in solution.mesh],
        "source": solution.source,
        "guess": solution.guess,
        "overrides": [dict(override) for override in solution.overrides],
        "certificate": told(solution.certificate),
        "prices": [asdict(price) for price in solution.prices],
        "motor_choice": None if solution.motor_choice is None else asdict(solution.motor_choice),
    }
    return as_json(record)


def as_json(record: Mapping[str, Any]) -> str:
    """Return a record as text; numbers that are not finite are null."""
    return json.dumps(_finite(dict(record)), indent=2, allow_nan=False) + "\n"


def decode(text: bytes, kind: type[Kind] = Record) -> Kind:
    """Return the record that solution.json holds.

    Args:
        text: of the file.
        kind: what it should hold.

    Raises:
        SolutionError: it is not JSON, or not of this format; one line says where.
    """
    try:
        data = json.loads(text, parse_constant=_no_constant)
        found = data.get("format") if isinstance(data, dict) else None
        if isinstance(data, dict) and (isinstance(found, bool) or found not in _READ):
            raise SolutionError(
                f"it has format {str(found)[:20]}, this version reads format {FORMAT}; solve again"
            )
        if found == FORMAT:
            for name in kind.__struct_fields__:
                if name not in data:
                    raise SolutionError(f"it lacks '{name}'")
        return msgspec.convert(data, kind)
    except RecursionError:
        raise SolutionError("it is nested too deeply") from None
    except OverflowError:
        raise SolutionError("it holds a number beyond 1.8e308") from None
    except msgspec.ValidationError as error:
        raise SolutionError(str(error).replace("`", "'")) from None
    except SolutionError:
        raise
    except ValueError as error:
        raise SolutionError(f"it is not JSON ({str(error)[:120]})") from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite(value: Any) -> Any:
    """Return the value with infinities and NaN as None, and NumPy's numbers as Python's."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        return _finite(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
