"""The quadcopter that flies a circle with the least peak thrust, by hand.

    p⁺ = p + h v⁺,   r⁺ = r ∘ exp(h ω⁺/2)                       (r: unit quaternion, ω: body axes)
    m ((v⁺ − v)/h + g e_z) = R(r⁺) e_z Σ u
    I (ω⁺ − ω)/h + ω⁺ × I ω⁺ = Σ uᵢ (aᵢ × e_z + dᵢ e_z)         (backward Euler)

Numbers are those of problems/quadcopter and its robot folder.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from benchmarks.handwritten.program import HandwrittenProgram, RowList

KNOTS, DURATION = 16, 6.0  # [–], [s]
CIRCLE_RADIUS, ALTITUDE = 1.0, 1.0  # [m]
GRAVITY = 9.81  # [m/s²]
INERTIA = np.array([1.135e-2, 1.135e-2, 2.25e-2])  # of the base, fixed; [kg m²]
DRAG = np.array([0.02, -0.02, 0.02, -0.02])  # torque per thrust; [m]
ARMS = np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]])  # rotors, in radii
RADIUS_RANGE, MASS_RANGE = 0.4, 0.4  # widths of the design's bounds; [m], [kg]
NOMINAL_WEIGHT = 0.5 * GRAVITY  # unit of forces and of thrusts; [N]
_BLOCK = 7 + 6 + 4 + 1  # q, v, u, h
_UP = ca.DM([0, 0, 1])


def quadcopter() -> HandwrittenProgram:
    """Return the program; variables (q v u h) of each interval, (q v) at the end, design, peak."""
    n = KNOTS - 1
    x = ca.SX.sym("x", n * _BLOCK + 13 + 2 + 1)
    parts = [x[k * _BLOCK : (k + 1) * _BLOCK] for k in range(n)]
    tail = x[n * _BLOCK :]
    q = [part[:7] for part in parts] + [tail[:7]]
    v = [part[7:13] for part in parts] + [tail[7:13]]
    u = [NOMINAL_WEIGHT * part[13:17] for part in parts]
    h = [DURATION / n * part[17] for part in parts]
    radius, mass, peak = RADIUS_RANGE * tail[13], MASS_RANGE * tail[14], tail[15]

    rows = RowList()
    for k in range(n):
        rows.add(q[k + 1] - _step(q[k], v[k + 1], h[k]))
        acceleration = (v[k + 1] - v[k]) / h[k]
        force = _missing_force(q[k + 1], v[k + 1], acceleration, u[k], radius, mass)
        rows.add(force / NOMINAL_WEIGHT)
    rows.add(v[0])
    for k, angle in enumerate(np.linspace(0.0, 2 * np.pi, KNOTS)):
        for place, target in zip(ca.vertsplit(q[k][:3]), _waypoint(float(angle)), strict=True):
            rows.add(place, target, target)
    rows.add(ca.sum1(ca.vertcat(*h)), -np.inf, DURATION)
    rows.add(ca.sumsqr(q[0][3:]), 1.0, 1.0)
    thrusts = ca.vertcat(*u)
    rows.add(peak - ca.vertcat(thrusts, -thrusts), 0.0, np.inf)
    return rows.program(x, peak)


def _waypoint(angle: float) -> tuple[float, float, float]:
    return CIRCLE_RADIUS * np.cos(angle), CIRCLE_RADIUS * np.sin(angle), ALTITUDE


def _missing_force(q: ca.SX, v: ca.SX, a: ca.SX, u: ca.SX, radius: ca.SX, mass: ca.SX) -> ca.SX:
    """Return the force and torque that the motion needs and the rotors do not supply, (6, 1)."""
    thrust = _rotation(q[3:]) @ (_UP * ca.sum1(u))
    force = mass * (a[:3] + GRAVITY * _UP) - thrust
    spin = v[3:]
    torque = INERTIA * a[3:] + ca.cross(spin, INERTIA * spin)
    for i in range(4):
        torque -= u[i] * (ca.cross(radius * ca.DM(ARMS[i]), _UP) + DRAG[i] * _UP)
    return ca.vertcat(force, torque)


def _step(q: ca.SX, v: ca.SX, h: ca.SX) -> ca.SX:
    """Return q ⊕ h v, (7, 1)."""
    return ca.vertcat(q[:3] + h * v[:3], _product(q[3:], _exponential(h * v[3:])))


def _exponential(w: ca.SX) -> ca.SX:
    """Return the unit quaternion of a rotation vector, by its series near zero, (4, 1)."""
    squared = ca.sumsqr(w)
    is_small = squared < 1e-8
    angle = ca.sqrt(ca.if_else(is_small, 1.0, squared))
    cosine = ca.if_else(is_small, 1 - squared / 8, ca.cos(angle / 2))
    ratio = ca.if_else(is_small, 0.5 - squared / 48, ca.sin(angle / 2) / angle)
    return ca.vertcat(cosine, ratio * w)


def _product(a: ca.SX, b: ca.SX) -> ca.SX:
    """Return the product of two quaternions (w, x, y, z), (4, 1)."""
    scalar = a[0] * b[0] - ca.dot(a[1:], b[1:])
    return ca.vertcat(scalar, a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:]))


def _rotation(r: ca.SX) -> ca.SX:
    """Return the rotation of a quaternion of any length, (3, 3)."""
    w, x, y, z = ca.vertsplit(r)
    s = 2 / ca.sumsqr(r)
    rows = [
        [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
        [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
        [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)],
    ]
    return ca.vertcat(*[ca.horzcat(*row) for row in rows])
