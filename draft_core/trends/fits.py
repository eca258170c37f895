"""Refit the actuator trends to the catalogue: ``python -m draft_core.trends.fits [--check]``.

Each law is y = c ∏ xᵢ^eᵢ, least squares in logarithms. Each is scored on hardware it was not
fitted to, one module or one vendor held out, by the geometric mean fold error

    GMFE = exp(mean |ln(ŷ / y)|),

where the whole chain is refitted: a held-out radius follows from the held-out volume and aspect, a
reduction from inverting the held-out speed law. Writes data/actuators.yaml, three times over: on
the modules whose reduction is known, on those without the suspect ones, and (mass alone needs no
reduction) on all.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jaxtyping import Float, Shaped

from draft_core.trends import actuator
from draft_core.trends.catalog import FAMILIES, Module, catalogue
from draft_core.trends.tables import read_yaml

OUTPUT = Path(__file__).parent / "data" / "actuators.yaml"
HEADER = """\
# Actuator trends, written by `python -m draft_core.trends.fits` from actuators.csv; do not edit.
# SI units. Laws are c * torque^.. * gear^.., standard errors under `stderr` (of the factor: of
# its logarithm); loo_gmfe and vendor_out_gmfe hold out one module, or one vendor, and refit.
"""
Vector = Float[np.ndarray, " n"]
Rows = dict[str, Vector]


@dataclass(frozen=True)
class PowerLaw:
    """A law y = c ∏ xᵢ^eᵢ with how well it fits: r² in logarithms, standard errors, rows used."""

    c: float
    exponents: tuple[float, ...]
    stderr: tuple[float, ...]
    r2: float
    n: int

    def __call__(self, *inputs: Vector) -> Vector:
        """Return y at inputs of one row per module."""
        return self.c * np.prod([x**e for x, e in zip(inputs, self.exponents, strict=True)], axis=0)


@dataclass(frozen=True)
class Trends:
    """The five laws fitted to one set of modules."""

    mass: PowerLaw
    speed: PowerLaw
    volume: PowerLaw
    aspect: PowerLaw
    rotor_inertia: PowerLaw


def fit_power_law(y: Vector, *inputs: Vector, given: tuple[float, ...] | None = None) -> PowerLaw:
    """Fit ln y = ln c + Σ eᵢ ln xᵢ by least squares, to the rows where all are known.

    Args:
        y: what the law gives; NaN where unknown.
        inputs: what it is given; NaN where unknown.
        given: exponents to hold fixed, so that only c is fitted.
    """
    logs = np.log(np.stack([y, *inputs]))
    logs = logs[:, np.isfinite(logs).all(axis=0)]
    target, n = logs[0], logs.shape[1]
    known = np.zeros(n) if given is None else np.asarray(given) @ logs[1:]
    columns = np.stack([np.ones(n), *(logs[1:] if given is None else [])], axis=1)
    solution = np.linalg.lstsq(columns, target - known, rcond=None)[0]
    residual = target - known - columns @ solution
    variance = residual @ residual / (n - columns.shape[1])
    stderr = np.sqrt(variance * np.diag(np.linalg.inv(columns.T @ columns)))
    return PowerLaw(
        c=float(np.exp(solution[0])),
        exponents=tuple(map(float, solution[1:] if given is None else given)),
        stderr=tuple(map(float, stderr)),
        r2=float(1 - residual @ residual / np.sum((target - target.mean()) ** 2)),
        n=n,
    )


def fit_trends(rows: Rows) -> Trends:
    """Fit the five laws; rows without a reduction enter the law of mass alone."""
    return Trends(
        mass=fit_power_law(rows["mass"], rows["torque"]),
        speed=fit_power_law(rows["speed"], rows["gear"]),
        volume=fit_power_law(rows["volume"], rows["torque"], rows["gear"]),
        aspect=fit_power_law(rows["aspect"], rows["torque"], rows["gear"]),
        rotor_inertia=fit_power_law(rows["rotor_inertia"], rows["radius"], given=(4.0,)),
    )


def predict(trends: Trends, rows: Rows) -> Rows:
    """Return what the laws say of modules known by torque, gear, speed (and radius, for one)."""
    volume = trends.volume(rows["torque"], rows["gear"])
    aspect = trends.aspect(rows["torque"], rows["gear"])
    radius = actuator.radius(volume, aspect)
    return {
        "mass": trends.mass(rows["torque"]),
        "reduction": (rows["speed"] / trends.speed.c) ** (1 / trends.speed.exponents[0]),
        "volume": volume,
        "aspect": aspect,
        "radius": radius,
        "length": actuator.length(radius, aspect),
        "rotor_inertia": trends.rotor_inertia(radius),
        "rotor_inertia_own_radius": trends.rotor_inertia(rows["radius"]),
    }


def measured(rows: Rows) -> Rows:
    """Return what the catalogue says of the quantities of `predict`."""
    same = ("mass", "volume", "aspect", "radius", "length", "rotor_inertia")
    own = {"reduction": rows["gear"], "rotor_inertia_own_radius": rows["rotor_inertia"]}
    return {name: rows[name] for name in same} | own


def held_out_gmfe(rows: Rows, groups: Shaped[np.ndarray, " n"]) -> dict[str, float]:
    """Return the GMFE of each prediction, each group of rows predicted by laws of the others."""
    truth = measured(rows)
    errors = {name: np.full(len(groups), np.nan) for name in truth}
    for group in np.unique(groups):
        out = groups == group
        trends = fit_trends({name: column[~out] for name, column in rows.items()})
        guesses = predict(trends, {name: column[out] for name, column in rows.items()})
        for name, guess in guesses.items():
            errors[name][out] = np.abs(np.log(guess / truth[name][out]))
    return {name: float(np.exp(np.nanmean(error))) for name, error in errors.items()}


def table(modules: Iterable[Module]) -> Rows:
    """Return the modules as columns, NaN where a figure is unpublished or unfit for its law."""
    rows = list(modules)

    def column(of: Callable[[Module], float | None]) -> Vector:
        return np.array([np.nan if of(row) is None else of(row) for row in rows], dtype=float)

    return {
        "torque": column(lambda m: m.peak_torque),
        "speed": column(lambda m: m.no_load_speed),
        "gear": column(lambda m: m.gear if m.in_gear_fits else None),
        "mass": column(lambda m: m.mass),
        "radius": column(lambda m: m.radius),
        "length": column(lambda m: m.length),
        "volume": column(lambda m: m.volume),
        "aspect": column(lambda m: m.aspect),
        "rotor_inertia": column(lambda m: m.rotor_inertia if m.in_inertia_fit else None),
    }


def report(modules: Iterable[Module]) -> dict[str, Any]:
    """Return every law of these modules with its constants and its scores."""
    modules = list(modules)
    rows = table(modules)
    trends = fit_trends(rows)
    loo = held_out_gmfe(rows, np.arange(len(modules)))
    vendor_out = held_out_gmfe(rows, np.array([m.vendor for m in modules]))

    def scores(name: str) -> dict[str, float]:
        return {"loo_gmfe": loo[name], "vendor_out_gmfe": vendor_out[name]}

    b = trends.speed.exponents[0]
    fits = {
        "mass": _law(trends.mass, "torque") | scores("mass"),
        "speed": _law(trends.speed, "gear"),
        "reduction": {"c": trends.speed.c ** (-1 / b), "speed": 1 / b, "n": trends.speed.n}
        | scores("reduction"),
        "volume": _law(trends.volume, "torque", "gear") | scores("volume"),
        "aspect": _law(trends.aspect, "torque", "gear") | scores("aspect"),
        "radius": scores("radius"),
        "length": scores("length"),
        "rotor_inertia": _law(trends.rotor_inertia, "radius") | scores("rotor_inertia"),
    }
    own = scores("rotor_inertia_own_radius")
    fits["rotor_inertia"] |= {f"{name}_own_radius": value for name, value in own.items()}
    fits["rotor_inertia"]["free_exponent"] = fit_power_law(
        rows["rotor_inertia"], rows["radius"]
    ).exponents[0]
    return fits


def frontier(modules: Iterable[Module]) -> dict[str, Any]:
    """Return the best torque and power densities of some modules."""
    modules = list(modules)
    return {
        "n": len(modules),
        "torque_density_n_m_per_kg": _best(modules, lambda m: m.torque_density),
        "power_density_w_per_kg": _best(modules, lambda m: m.power_density),
    }


def fit_catalogue() -> dict[str, Any]:
    """Return all that data/actuators.yaml holds, computed from data/actuators.csv."""
    modules = list(catalogue().values())
    geared = [m for m in modules if m.in_gear_fits]
    suspect = [m.model for m in geared if m.doubt]
    families = {name: [m for m in modules if m.family == name] for name in FAMILIES}
    return {
        "fits": report(geared),
        "fits_without_suspect_rows": report(m for m in geared if not m.doubt),
        "suspect_rows": suspect,
        "mass_of_every_module": report(modules)["mass"],
        "frontier": {
            name: frontier(group) for name, group in (families | {"all": modules}).items()
        },
        "aspect": {name: _spread([m.aspect for m in group]) for name, group in families.items()}
        | {"all": _spread([m.aspect for m in modules])},
        "package_density_kg_m3": _spread([m.mass / m.volume for m in modules]),
    }


def summary(fitted: dict[str, Any]) -> str:
    """Return the fits as a small table: with all rows, then without the suspect ones."""
    return "\n".join(line.rstrip() for line in _lines(fitted))


def is_same(first: Any, second: Any, tolerance: float = 1e-9) -> bool:
    """Tell whether two nested results agree, numbers to a relative tolerance."""
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(
            is_same(first[key], second[key], tolerance) for key in first
        )
    if isinstance(first, float) and isinstance(second, float):
        return bool(np.isclose(first, second, rtol=tolerance, atol=0))
    return first == second


def _law(law: PowerLaw, *names: str) -> dict[str, Any]:
    exponents = dict(zip(names, law.exponents, strict=True))
    errors = dict(zip(("ln_c", *names), law.stderr, strict=False))
    return {"c": law.c} | exponents | {"n": law.n, "r2": law.r2, "stderr": errors}


def _best(modules: list[Module], of: Callable[[Module], float]) -> dict[str, Any]:
    best = max(modules, key=of)
    p90 = float(np.percentile([of(module) for module in modules], 90))
    return {"max": of(best), "p90": p90, "best": best.model}


def _spread(values: list[float]) -> dict[str, float]:
    low, p10, median, p90, high = np.percentile(values, [0, 10, 50, 90, 100]).tolist()
    return {"min": low, "p10": p10, "median": median, "p90": p90, "max": high}


def _lines(fitted: dict[str, Any]) -> Iterator[str]:
    titles = {"fits": "every row", "fits_without_suspect_rows": "without the suspect rows"}
    for key, title in titles.items():
        fits = fitted[key]
        yield f"{title:26} {'n':>4} {'r2':>6} {'loo':>6} {'vendor':>6}  law"
        for name, law in fits.items():
            yield f"  {name:24} {law.get('n', ''):>4} {_score(law, 'r2')} " + (
                f"{_score(law, 'loo_gmfe')} {_score(law, 'vendor_out_gmfe')}  {_formula(law)}"
            )
        own = fits["rotor_inertia"]
        yield f"  {'  (from its own radius)':24} {'':4} {'':6} " + (
            f"{_score(own, 'loo_gmfe_own_radius')} {_score(own, 'vendor_out_gmfe_own_radius')}"
        )
    for name, group in fitted["frontier"].items():
        torque, power = group["torque_density_n_m_per_kg"], group["power_density_w_per_kg"]
        yield (
            f"{name:9} n {group['n']:3}: {torque['max']:6.1f} N m/kg ({torque['best']}), "
            f"{power['max']:6.1f} W/kg ({power['best']})"
        )


def _score(law: dict[str, Any], name: str) -> str:
    return f"{law[name]:6.3f}" if name in law else " " * 6


def _formula(law: dict[str, Any]) -> str:
    powers = [f"{x}^{law[x]:.4f}" for x in ("torque", "gear", "speed", "radius") if x in law]
    return " ".join([f"{law['c']:.6g}", *powers]) if "c" in law else ""


def main(arguments: list[str] | None = None) -> int:
    """Fit, print, and write data/actuators.yaml; with ``--check``, only compare with it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit 1 if the file is out of date")
    check = parser.parse_args(arguments).check
    fitted = fit_catalogue()
    print(summary(fitted))
    if check:
        up_to_date = is_same(fitted, read_yaml(OUTPUT.name))
        print(f"{OUTPUT.name} {'agrees' if up_to_date else 'differs: run without --check'}")
        return 0 if up_to_date else 1
    text = yaml.safe_dump(fitted, sort_keys=False, default_flow_style=None, width=100)
    OUTPUT.write_text(HEADER + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
