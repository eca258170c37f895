"""A module as MuJoCo compiles it.

Mass, centre and inertia of each body are those that MuJoCo computes, so that a robot with the
module attached moves as one that MuJoCo attached the file to.
"""

import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from draft_core.errors import DraftError
from draft_core.modules.model import (
    ModuleActuator,
    ModuleBody,
    ModuleGeom,
    ModuleJoint,
    ModuleMesh,
    ModuleModel,
    Numbers,
    Place,
    compose,
    inverse,
    numbers,
)
from draft_core.modules.source import ModuleSource

_SHAPES = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box", 7: "mesh"}
_OTHER_SHAPES = {0: "plane", 1: "height field", 4: "ellipsoid", 8: "signed distance field"}
_JOINTS = ("free", "ball", "slide", "hinge")
_DEFAULT_COLOR = (0.5, 0.5, 0.5, 1.0)
_CONTACT: dict[str, Numbers] = {
    **{"contype": (1.0,), "conaffinity": (1.0,), "condim": (3.0,), "priority": (0.0,)},
    **{"group": (0.0,), "margin": (0.0,), "gap": (0.0,), "solmix": (1.0,)},
    **{"solref": (0.02, 1.0), "solimp": (0.9, 0.95, 0.001, 0.5, 2.0)},
}


@functools.lru_cache(maxsize=32)
def compiled(source: ModuleSource) -> ModuleModel:
    """Return the numbers of a module, compiled once for each content.

    Raises:
        DraftError: MuJoCo refuses the file, or it has what a robot cannot.
    """
    import mujoco

    assets = dict(source.meshes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            spec = mujoco.MjSpec.from_string(source.xml, assets=assets)
            files = {mesh.name: mesh.file for mesh in spec.meshes if mesh.file}
            if not set(files.values()) <= set(assets):
                raise ValueError("a mesh names another file than the document did")
            model = spec.compile()
    except (ValueError, UserWarning, mujoco.FatalError) as error:
        raise DraftError(f"{source.file}: MuJoCo refuses it: {error}") from None
    return _Reading(
        model, source.file, {name: (f, assets[f]) for name, f in files.items()}
    ).module()


class _Reading:
    """Reads a compiled model."""

    def __init__(self, model: Any, file: str, meshes: Mapping[str, tuple[str, bytes]]):
        self.model = model
        self.file = file
        self.meshes = meshes

    def module(self) -> ModuleModel:
        m = self.model
        roots = sum(m.body_parentid[1:] == 0)
        sites = sum(m.site_bodyid == 0)
        if roots != 1 or m.body_geomnum[0] or sites:
            raise self._error(
                f"has {roots} bodies, {m.body_geomnum[0]} geoms and {sites} sites in its "
                "<worldbody>; a module is one body there, with all else in it"
            )
        return ModuleModel(
            bodies=tuple(self._body(body) for body in range(1, m.nbody)),
            actuators=tuple(self._actuator(i) for i in range(m.nactuator)),
            excluded=tuple(self._excluded()),
        )

    def _error(self, reason: str) -> DraftError:
        return DraftError(f"{self.file} {reason}.")

    def _name(self, kind: str, index: int) -> str:
        return getattr(self.model, kind)(index).name or f"{kind}{index}"

    def _body(self, body: int) -> ModuleBody:
        m = self.model
        if m.body_gravcomp[body]:
            raise self._error(
                f"has gravcomp in body {self._name('body', body)!r}, which no robot has; leave it "
                "out"
            )
        parent, first = int(m.body_parentid[body]), int(m.body_geomadr[body])
        return ModuleBody(
            name=self._name("body", body),
            parent=None if parent == 0 else parent - 1,
            place=Place(numbers(m.body_pos[body]), numbers(m.body_quat[body])),
            mass=float(m.body_mass[body]),
            inertia=numbers(m.body_inertia[body]),
            inertial=Place(numbers(m.body_ipos[body]), numbers(m.body_iquat[body])),
            joint=self._joint(body),
            geoms=tuple(self._geom(first + i, i) for i in range(int(m.body_geomnum[body]))),
            sites=tuple(
                (self._name("site", i), Place(numbers(m.site_pos[i]), numbers(m.site_quat[i])))
                for i in range(m.nsite)
                if m.site_bodyid[i] == body
            ),
        )

    def _joint(self, body: int) -> ModuleJoint | None:
        m = self.model
        count, i = int(m.body_jntnum[body]), int(m.body_jntadr[body])
        if count == 0:
            return None
        owner = self._name("body", body)
        if count > 1:
            raise self._error(f"has {count} joints in body {owner!r}; give each its own body")
        kind = _JOINTS[m.jnt_type[i]]
        if kind == "free":
            raise self._error(
                f"has a free joint in body {owner!r}, but a module is attached; leave the joint "
                "out, or state one in the node"
            )
        dof, coordinate = int(m.jnt_dofadr[i]), int(m.jnt_qposadr[i])
        name = m.joint(i).name or owner
        if kind != "ball" and m.qpos0[coordinate] != 0:
            raise self._error(
                f"has ref in joint {name!r}, but a robot's joints are zero at its reference pose; "
                "turn or move the body instead"
            )
        if any(m.jnt_stiffnesspoly[i]) or any(m.dof_dampingpoly[dof]) or m.jnt_springyield[i]:
            raise self._error(
                f"has a spring or damper in joint {name!r} that is not linear; give one number"
            )
        return ModuleJoint(
            name=name,
            type=kind,  # pyright: ignore[reportArgumentType]
            axis=numbers(m.jnt_axis[i]),
            anchor=numbers(m.jnt_pos[i]),
            range=numbers(m.jnt_range[i]) if m.jnt_limited[i] else None,
            numbers={
                "armature": float(m.dof_armature[dof]),
                "damping": float(m.dof_damping[dof]),
                "frictionloss": float(m.dof_frictionloss[dof]),
                "stiffness": float(m.jnt_stiffness[i]),
                "springref": 0.0 if kind == "ball" else float(m.qpos_spring[coordinate]),
            },
        )

    def _geom(self, geom: int, position: int) -> ModuleGeom:
        m = self.model
        owner = self._name("body", int(m.geom_bodyid[geom]))
        name = m.geom(geom).name or f"{owner}_geom{position}"
        kind = int(m.geom_type[geom])
        if kind not in _SHAPES:
            raise self._error(
                f"has a geom {name!r} that is a {_OTHER_SHAPES.get(kind, 'shape of its own')}; use "
                "a box, sphere, capsule, cylinder or mesh"
            )
        place, mesh = Place(numbers(m.geom_pos[geom]), numbers(m.geom_quat[geom])), None
        if _SHAPES[kind] == "mesh":
            mesh, place = self._mesh(int(m.geom_dataid[geom]), place, name)
        return ModuleGeom(
            name=name,
            shape=_SHAPES[kind],
            size=_whole_lengths(_SHAPES[kind], numbers(m.geom_size[geom])),
            place=place,
            rgba=self._color(geom),
            mesh=mesh,
            friction=numbers(m.geom_friction[geom]),
            attributes=tuple(self._contact(geom)),
        )

    def _contact(self, geom: int) -> Iterator[tuple[str, str]]:
        """Return what a geom states about its contacts and group, where not MuJoCo's default."""
        for key, default in _CONTACT.items():
            values = getattr(self.model, f"geom_{key}")[geom]
            given = numbers(np.atleast_1d(values))
            if given != default:
                whole = isinstance(values, np.integer)
                yield key, " ".join(str(int(v)) if whole else repr(v) for v in given)

    def _color(self, geom: int) -> Numbers:
        """Return a geom's colour, or its material's where it has none of its own."""
        m = self.model
        rgba, material = numbers(m.geom_rgba[geom]), int(m.geom_matid[geom])
        if material >= 0 and rgba == _DEFAULT_COLOR:
            rgba = numbers(m.mat_rgba[material])
        return tuple(round(value, 6) for value in rgba)  # MuJoCo keeps single precision

    def _mesh(self, mesh: int, place: Place, geom: str) -> tuple[ModuleMesh, Place]:
        """Return a mesh and the frame its file's points are in; MuJoCo moves them to its own."""
        m = self.model
        name = m.mesh(mesh).name
        if name not in self.meshes:
            raise self._error(
                f"has a geom {geom!r} that shows mesh {name!r}, which is written in the document; "
                "save it as an .obj or .stl file"
            )
        file, data = self.meshes[name]
        own = Place(numbers(m.mesh_pos[mesh]), numbers(m.mesh_quat[mesh]))
        x, y, z = numbers(m.mesh_scale[mesh])
        return ModuleMesh(file, data, (x, y, z)), compose(place, inverse(own))

    def _actuator(self, i: int) -> ModuleActuator:
        m = self.model
        name = self._name("actuator", i)
        on_joint = m.actuator_trntype[i] == 0
        kind = _JOINTS[m.jnt_type[m.actuator_trnid[i, 0]]] if on_joint else None
        if kind not in ("hinge", "slide"):
            raise self._error(
                f"has an actuator {name!r} that acts on no hinge or slide; put it on one"
            )
        joint = int(m.actuator_trnid[i, 0])
        fixed = m.actuator_gaintype[i] == 0 and m.actuator_dyntype[i] == 0
        if not fixed or m.actuator_biastype[i] > 1 or any(m.actuator_dampingpoly[i]):
            raise self._error(
                f"has an actuator {name!r} that is neither a motor nor a servo; use <motor>, "
                "<position> or <velocity>"
            )
        if m.actuator_armature[i] or m.actuator_damping[i]:
            raise self._error(
                f"has armature or damping in actuator {name!r}; state it in the joint"
            )
        gear, limits = float(m.actuator_gear[i, 0]), []
        if not gear:
            raise self._error(f"has gear 0 in actuator {name!r}; give it another")
        if m.actuator_biastype[i] == 0:  # a motor's force is its gain times the control
            gear *= float(m.actuator_gainprm[i, 0]) or 1.0
            limits += [numbers(m.actuator_ctrlrange[i])] if m.actuator_ctrllimited[i] else []
        per_force = float(m.actuator_gear[i, 0]) / gear
        if m.actuator_forcelimited[i]:
            limits.append(_scaled(numbers(m.actuator_forcerange[i]), per_force))
        if m.jnt_actfrclimited[joint]:
            limits.append(_scaled(numbers(m.jnt_actfrcrange[joint]), 1 / gear))
        owner = self._name("body", int(m.jnt_bodyid[joint]))
        target = m.joint(joint).name or owner
        return ModuleActuator(m.actuator(i).name or target, target, gear, _tightest(limits))

    def _excluded(self) -> Iterator[tuple[str, str]]:
        for signature in self.model.exclude_signature:
            bodies = int(signature) >> 16, int(signature) & 0xFFFF
            first, second = (self._name("body", body) for body in bodies)
            yield first, second


def _whole_lengths(shape: str, half: Numbers) -> Numbers:
    """Return a geom's size as the format states it, from MuJoCo's radii and half lengths."""
    if shape == "mesh":
        return ()
    if shape == "sphere":
        return half[:1]
    if shape == "box":
        return tuple(2 * value for value in half)
    return half[0], 2 * half[1]


def _tightest(limits: Sequence[Numbers]) -> Numbers | None:
    if not limits:
        return None
    return max(low for low, _ in limits), min(high for _, high in limits)


def _scaled(ends: Numbers, factor: float) -> Numbers:
    return tuple(sorted(factor * end for end in ends))
