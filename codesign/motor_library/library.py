"""Motors one can buy, and what the smallest sufficient one asks of the body that carries it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codesign.errors import ProblemError
from codesign.motor_library.curve import PiecewisePolynomial, conservative_rows, rising

if TYPE_CHECKING:
    from codesign.problem import Problem

FIELDS = ("mass", "x", "y", "z")
_KEYS = ("name", "size", "mass", "torque", "speed")
_UNITS = {"mass": "kg", "x": "m", "y": "m", "z": "m"}
_MOST = 1000  # motors in a file


@dataclass(frozen=True)
class Motor:
    """One motor that can be bought.

    Attributes:
        name: what it is called, unique in its library.
        size: extents along x, y and z; [m].
        mass: [kg].
        torque: largest torque; [N m].
        speed: top speed; [rad/s].
    """

    name: str
    size: tuple[float, float, float]
    mass: float
    torque: float
    speed: float

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ProblemError: naming the motor and the field.
        """
        if not isinstance(self.name, str) or not self.name.strip():
            raise ProblemError(f"a motor's name is {self.name!r}; it must be text")
        where = f"motor '{self.name[:60]}'"
        size = self.size
        if isinstance(size, str) or not isinstance(size, Sequence) or len(size) != 3:
            raise ProblemError(f"{where}: size is {size!r}; it must be [x, y, z] in m")
        numbers = {f"size {a}": s for a, s in zip("xyz", size, strict=True)}
        numbers |= {"mass": self.mass, "torque": self.torque, "speed": self.speed}
        for field, value in numbers.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 < value < math.inf:
                raise ProblemError(
                    f"{where}: {field} is {str(value)[:40]!r}; it must be a positive number"
                )
        object.__setattr__(self, "size", tuple(float(s) for s in size))
        for field in ("mass", "torque", "speed"):
            object.__setattr__(self, field, float(getattr(self, field)))

    def need(self, field: str) -> float:
        """Return what it asks for: its mass [kg], or its extent x, y or z [m]."""
        return self.mass if field == "mass" else self.size["xyz".index(field)]


@dataclass(frozen=True)
class MotorLibrary:
    """A choice of motors, by rising torque.

    Mass and extents that do not rise with the torque are raised where a continuous function of the
    torque needs it (`codesign.motor_library.curve.rising`); `raised` says which. The motors
    themselves keep their own.

    Attributes:
        motors: by rising torque, whatever order they are given in.
        name: what reports call it.
        source: where its figures were printed.
    """

    motors: tuple[Motor, ...]
    name: str = "motor library"
    source: str = ""

    def __post_init__(self) -> None:
        """Sort the motors.

        Raises:
            ProblemError: there is none, or two of one name or one torque.
        """
        motors = self.motors
        if not isinstance(motors, Sequence) or not all(isinstance(m, Motor) for m in motors):
            raise ProblemError(f"{self.name}: motors are {motors!r:.80}; give a list of Motor(...)")
        if not motors:
            raise ProblemError(f"{self.name}: it holds no motors")
        motors = tuple(sorted(motors, key=lambda motor: motor.torque))
        object.__setattr__(self, "motors", motors)
        names = [motor.name for motor in motors]
        for name in names:
            if names.count(name) > 1:
                raise ProblemError(f"{self.name}: motor '{name}' appears twice")
        for one, other in pairwise(motors):
            if one.torque == other.torque:
                raise ProblemError(
                    f"{self.name}: '{one.name}' and '{other.name}' both have {one.torque:g} N m; "
                    "keep the one you would build with"
                )

    def __iter__(self) -> Iterator[Motor]:
        """Return the motors by rising torque."""
        return iter(self.motors)

    def __len__(self) -> int:
        """Return the number of motors."""
        return len(self.motors)

    def __getitem__(self, name: str) -> Motor:
        """Return a motor by name.

        Raises:
            ProblemError: there is no such motor, with the list of those there are.
        """
        for motor in self.motors:
            if motor.name == name:
                return motor
        names = [motor.name for motor in self.motors]
        close = difflib.get_close_matches(str(name), names, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        raise ProblemError(f"{self.name} has no motor {str(name)[:60]!r}. It has: {shown}.{hint}")

    @property
    def torques(self) -> tuple[float, ...]:
        """Torque of each motor, rising; [N m]."""
        return tuple(motor.torque for motor in self.motors)

    @property
    def largest(self) -> Motor:
        """The motor of the largest torque."""
        return self.motors[-1]

    def needs(self, field: str) -> tuple[float, ...]:
        """Return what each motor asks for, made to rise with the torque.

        Args:
            field: 'mass' [kg], or 'x', 'y' or 'z' [m].
        """
        return rising([motor.need(field) for motor in self.motors])

    @property
    def raised(self) -> tuple[str, ...]:
        """What was made larger than it is so that it rises with the torque, one sentence each."""
        return tuple(
            f"{motor.name}: {field} counts as {need:.4g} {_UNITS[field]} rather than "
            f"{motor.need(field):.4g}, so that it rises with the torque"
            for field in FIELDS
            for motor, need in zip(self.motors, self.needs(field), strict=True)
            if need != motor.need(field)
        )

    @cached_property
    def _rows(self) -> dict[str, tuple[PiecewisePolynomial, ...]]:
        return {f: conservative_rows(self.torques, self.needs(f)) for f in FIELDS}

    def rows(self, field: str) -> tuple[PiecewisePolynomial, ...]:
        """Return smooth functions of the torque whose largest is the conservative requirement.

        See `codesign.motor_library.curve`; the functions are those of `needs(field)`.
        """
        return self._rows[field]

    def requirement(self, field: str, torque: float) -> float:
        """Return the conservative requirement at a torque [N m]; [kg] or [m]."""
        return max(float(row(torque)) for row in self.rows(field))

    def carrying(self, torque: float, speed: float = 0.0, margin: float = 1e-6) -> list[Motor]:
        """Return the motors that carry a torque [N m] and a speed [rad/s], smallest torque first.

        Args:
            torque: that has to be carried.
            speed: that has to be reached.
            margin: relative amount that a solver's tolerance may be beyond a limit.
        """
        return [
            motor
            for motor in self.motors
            if motor.torque * (1 + margin) >= torque and motor.speed * (1 + margin) >= speed
        ]

    @classmethod
    def read(cls, path: str | Path) -> MotorLibrary:
        """Read a library from a YAML file.

        The file has ``motors``, a list of ``{name, size: [x, y, z], mass, torque, speed}`` in SI
        units, and may have ``name`` and ``source``.

        Raises:
            ProblemError: in one line, what cannot be read, where, and what would work.
        """
        from draft_core.errors import DraftError
        from draft_core.reading import read_file

        try:
            found = read_file(Path(path), "motor library")
        except DraftError as error:
            where = ""
            if not Path(path).is_absolute() and not Path(path).exists():
                where = (
                    f" in '{Path.cwd()}'; try MotorLibrary.read(Path(__file__).parent / '{path}')"
                )
            raise ProblemError(str(error).removesuffix(".") + where) from None
        unknown = sorted(set(found) - {"name", "source", "motors"})
        if unknown:
            raise ProblemError(
                f"{path}: unknown key {unknown[0][:40]!r}; a motor library has name, source, motors"
            )
        rows = found.get("motors")
        if not isinstance(rows, list) or not 0 < len(rows) <= _MOST:
            raise ProblemError(
                f"{path}: motors must be a list of 1 to {_MOST} motors, "
                "each {name, size: [x, y, z], mass, torque, speed}"
            )
        labels = {key: found.get(key, "") for key in ("name", "source")}
        for key, text in labels.items():
            if not isinstance(text, str):
                raise ProblemError(f"{path}: {key} is {str(text)[:40]!r}; it must be text")
        try:
            motors = tuple(_motor(row, i) for i, row in enumerate(rows))
            return cls(motors, labels["name"] or Path(path).stem, labels["source"])
        except ProblemError as error:
            raise ProblemError(f"{path}: {error}") from None


@dataclass(frozen=True)
class AvailableMotors:
    """The motors a problem may use: a library, or one motor of it.

    Attributes:
        library: all of them.
        motor: the one that is fixed, None while the answer decides.
    """

    library: MotorLibrary
    motor: Motor | None = None

    @property
    def largest(self) -> Motor:
        """The motor whose torque and speed bound the motion."""
        return self.motor or self.library.largest


def _motor(row: Any, place: int) -> Motor:
    """Return the motor of one entry of a file."""
    where = f"motors, entry {place + 1}"
    if not isinstance(row, Mapping):
        raise ProblemError(f"{where} is {str(row)[:40]!r}; write {{{', '.join(_KEYS)}}}")
    for key in row:
        if key not in _KEYS:
            raise ProblemError(f"{where}: unknown key {key[:40]!r}; it has {', '.join(_KEYS)}")
    missing = [key for key in _KEYS if key not in row]
    if missing:
        raise ProblemError(f"{where} has no {missing[0]}; it needs {', '.join(_KEYS)}")
    return Motor(**row)


def available_motors(problem: Problem) -> AvailableMotors | None:
    """Return the motors a problem may use, None where it does not say.

    Raises:
        ProblemError: its motors are no library, or its motor is none of them.
    """
    name, motors, motor = type(problem).__name__, problem.motors, problem.motor
    if motors is None and not motor:
        return None
    if not isinstance(motor, str):
        raise ProblemError(f"{name}: motor is {motor!r}; it must be the name of a motor")
    if motors is None:
        raise ProblemError(
            f"{name}: motor is '{motor}', but the problem has no motors to pick from"
        )
    if not isinstance(motors, MotorLibrary):
        raise ProblemError(
            f"{name}: motors is a {type(motors).__name__}; it must be a MotorLibrary, such as "
            "codesign.motor_library.DYNAMIXEL or MotorLibrary.read(path)"
        )
    return AvailableMotors(motors, motors[motor] if motor else None)


DYNAMIXEL = MotorLibrary.read(Path(__file__).parent / "dynamixel.yaml")
