"""Find the mass that a spring brings from 1 m to −1 m in T = π √(5/100) s, by hand.

x⁺ = x + h (v + v⁺)/2,   m (v⁺ − v)/h = u − k (x + x⁺)/2,   u = 0   (implicit midpoint)
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from benchmarks.handwritten.program import HandwrittenProgram, RowList

STIFFNESS = 100.0  # [N/m]
DURATION = float(np.pi * np.sqrt(5 / 100))  # [s]
INTERVALS = 25
MASS_BOUNDS = (1e-3, 10.0)  # [kg]
NOMINAL_WEIGHT = 8.0 * 9.81  # unit of forces; [N]
MOTOR_LIMIT = 1.0  # unit of efforts; [N]


def spring() -> HandwrittenProgram:
    """Return the program; variables (x v u h) of each interval, (x v) at the end, the mass."""
    step = DURATION / INTERVALS
    x = ca.SX.sym("x", 4 * INTERVALS + 3)
    knots, (last_q, last_v, share) = ca.reshape(x[:-3], 4, INTERVALS), ca.vertsplit(x[-3:])
    q, v = ca.vertcat(knots[0, :].T, last_q), ca.vertcat(knots[1, :].T, last_v)
    u, h = MOTOR_LIMIT * knots[2, :].T, step * knots[3, :].T
    mass = (MASS_BOUNDS[1] - MASS_BOUNDS[0]) * share

    rows = RowList()
    for k in range(INTERVALS):
        speed = (v[k] + v[k + 1]) / 2
        middle = (q[k] + q[k + 1]) / 2
        rows.add(q[k + 1] - (q[k] + h[k] * speed))
        force = mass * (v[k + 1] - v[k]) / h[k] + STIFFNESS * middle - u[k]
        rows.add(force / NOMINAL_WEIGHT)
    rows.add(q[0], 1.0, 1.0)
    rows.add(v[0])
    rows.add(u)
    rows.add(ca.sum1(h), -np.inf, DURATION)
    return rows.program(x, q[-1])
