"""`Robot`: a robot folder, read; what people and the other packages hold."""

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import yaml

from draft_core.errors import DraftError, close_match, known_names
from draft_core.expressions import shorten
from draft_core.given import concrete
from draft_core.overrides import Overrides, as_mappings, merged
from draft_core.parameters import Parameter
from draft_core.parsing import parse_folder
from draft_core.quantities import contact_friction, effort_limits, quantities, speed_limits
from draft_core.reading import is_there, read_mapping
from draft_core.robots import ROBOTS
from draft_core.tree import RobotTree

if TYPE_CHECKING:
    import mujoco

    from draft_core.export import CompiledRobot
    from draft_core.feasibility import FeasibilityReport
    from draft_core.realization import RealizedModel


FILES = ("parameters.yaml", "tree.yaml")  # either makes a folder a robot's


@dataclass(frozen=True)
class Contact:
    """A contact point: a site that may touch the ground.

    Attributes:
        friction: coefficient at the nominal parameters; `Robot.contact_friction` follows the
            design.
    """

    name: str
    site_id: int
    body_id: int
    friction: float


@dataclass(frozen=True)
class Actuator:
    """A motor on a joint or a thruster on a site.

    Attributes:
        joint_id: the motor's joint, None for a thruster.
        site_id: the thruster's site, None for a motor.
        speed_limit: top joint speed [rad/s] or [m/s] at the nominal parameters; None for none.
    """

    name: str
    kind: Literal["motor", "thruster"]
    joint_id: int | None
    site_id: int | None
    speed_limit: float | None


class Robot:
    """A robot as a function of its design. Pickles as its folder's path and its overrides."""

    def __init__(self, folder: str | Path, overrides: Overrides = None):
        """Read the folder and check it at its nominal parameters.

        Args:
            folder: a robot folder, or the name of a robot that ships (`draft_core.robots`).
            overrides: what parameters.yaml is to say otherwise: a mapping or an override file,
                or several, later ones winning.

        Raises:
            DraftError: anything in it cannot work.
        """
        self.folder, shipped = _found(folder)
        self.overrides = (*shipped, *as_mappings(overrides))
        self.tree: RobotTree = parse_folder(self.folder, self.overrides)
        env = self.tree.resolve()
        quantities(self.tree, env)
        self.parameters: Mapping[str, Parameter] = MappingProxyType(self.tree.parameters.numeric())
        self.contacts = _contacts(self.tree, env)
        self.actuators = _actuators(self.tree, env)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and overrides; reading is quick and the files are the robot."""
        return Robot, (str(self.folder), self.overrides)

    def __repr__(self) -> str:
        """Return name and folder."""
        return f"Robot({self.name!r}, folder={str(self.folder)!r})"

    @functools.cached_property
    def source(self) -> tuple[tuple[str, bytes], ...]:
        """Names and bytes of the files that make this robot a folder without overrides."""
        return robot_source(self.folder, self.overrides)

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.tree.name

    @property
    def body_names(self) -> tuple[str, ...]:
        """Bodies in MuJoCo's order, the world first."""
        return ("world", *(link.name for link in self.tree.links))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in MuJoCo's order."""
        return tuple(joint.name for joint in self.tree.joints)

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Actuators in MuJoCo's order."""
        return self.tree.actuator_names

    @property
    def site_names(self) -> tuple[str, ...]:
        """Sites in MuJoCo's order; contact points and thrusters are sites too."""
        return self.tree.site_names

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Contact points in MuJoCo's order."""
        return tuple(contact.name for contact in self.contacts)

    @functools.cached_property
    def base_model(self) -> "mujoco.MjModel":
        """MuJoCo's model at the nominal parameters; shared, not to be changed."""
        from draft_core.realization import base_model

        return base_model(self.tree)

    def realize(self, design: Mapping[str, Any] | None = None) -> "RealizedModel":
        """Return the MJX model at a design, as `draft_core.realize` does."""
        from draft_core.realization import realize

        return realize(self.tree, design)

    def compile(
        self,
        design: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        gates: bool = True,
    ) -> "CompiledRobot":
        """Compile at a design and write a folder if asked, as `draft_core.export` does.

        Raises:
            Refused: the feasibility filter refuses the design (unless ``gates`` is off).
        """
        from draft_core.export import compile_robot

        return compile_robot(self.tree, design, None if out is None else _path(out), gates)

    def check(self, design: Mapping[str, Any] | None = None) -> "FeasibilityReport":
        """Return what the feasibility filter says of a design, refused or not."""
        from draft_core.feasibility import feasibility

        return feasibility(self.tree, self.tree.resolve(concrete(design)))

    def check_design(self, design: Mapping[str, Any] | None = None) -> None:
        """Check that the robot exists at a design: every number keeps its rule, MuJoCo accepts it.

        Takes milliseconds, so that the corners of a design space can be checked before a search.
        The feasibility filter is not asked: a corner may be refused where the optimum is not.

        Raises:
            DraftError: in one line, the first number that cannot work, with its place.
        """
        given = concrete(design)
        speed_limits(self.tree, self.tree.resolve(given))  # no part of MuJoCo's model
        self.compile(given, gates=False)

    def contact_friction(self, design: Mapping[str, Any] | None = None) -> Any:
        """Return the friction coefficient of each contact point (ncontact,) at a design."""
        return contact_friction(self.tree, self.tree.resolve(design))

    def effort_limits(self, design: Mapping[str, Any] | None = None) -> Any:
        """Return the least and most effort of each actuator (nu, 2) [N m] or [N] at a design."""
        return effort_limits(self.tree, self.tree.resolve(design))

    def speed_limits(self, design: Mapping[str, Any] | None = None) -> list[Any]:
        """Return each actuator's top joint speed at a design, None where it has none."""
        return speed_limits(self.tree, self.tree.resolve(design))


def _found(folder: str | Path) -> tuple[Path, tuple[dict[str, Any], ...]]:
    """Return the folder of a path or name, and the overrides that the name stands for.

    Raises:
        DraftError: there is neither a folder nor a robot of this name.
    """
    path = _path(folder)
    shipped = ROBOTS.get(str(folder))
    if shipped is not None and not any(map(is_there, (path / name for name in FILES))):
        return shipped.folder, as_mappings(shipped.overrides)
    if is_there(path) or path.name != str(folder):
        return path.resolve() if is_there(path, "is_dir") else path, ()
    given = shorten(str(folder))
    raise DraftError(
        f"robot {given!r} is neither a folder nor a robot that ships"
        f"{close_match(given, ROBOTS)}. There are: {known_names(ROBOTS)}."
    )


def _path(given: Any) -> Path:
    """Return a path that a caller gives.

    Raises:
        DraftError: it is none.
    """
    if not isinstance(given, str | os.PathLike):
        raise DraftError(f"{shorten(repr(given))} is no path; give the path of a folder as text.")
    return Path(given)


def robot_source(
    folder: Path, overrides: Sequence[Mapping[str, Any]] = ()
) -> tuple[tuple[str, bytes], ...]:
    """Return names and bytes of a robot's files, its overrides merged into parameters.yaml.

    The files are the YAML ones that a robot is read from and all that lies under ``modules/``.
    """
    paths = [folder / name for name in ("parameters.yaml", "tree.yaml", "mesh.yaml")]
    paths += sorted((folder / "modules").rglob("*")) if (folder / "modules").is_dir() else []
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths if p.is_file()}
    if overrides:
        stated = merged(read_mapping(folder, "parameters.yaml"), overrides).stated
        files["parameters.yaml"] = yaml.safe_dump(dict(stated), sort_keys=False).encode()
    return tuple(sorted(files.items()))


def _contacts(tree: RobotTree, env: Mapping[str, Any]) -> tuple[Contact, ...]:
    friction = contact_friction(tree, env)
    result: list[Contact] = []
    site = 0
    for body, link in enumerate(tree.links, start=1):
        site += len(link.sites)
        for contact in link.contacts:
            result.append(Contact(contact.name, site, body, float(friction[len(result)])))
            site += 1
        site += len(link.thrusters)
    return tuple(result)


def _actuators(tree: RobotTree, env: Mapping[str, Any]) -> tuple[Actuator, ...]:
    speeds = speed_limits(tree, env)
    result: list[Actuator] = []
    site = joint = 0
    for link in tree.links:
        if link.motor:
            result.append(Actuator(link.motor.name, "motor", joint, None, speeds[len(result)]))
        joint += link.joint is not None
        site += len(link.sites) + len(link.contacts)
        for thruster in link.thrusters:
            result.append(Actuator(thruster.name, "thruster", None, site, None))
            site += 1
    return tuple(result)
