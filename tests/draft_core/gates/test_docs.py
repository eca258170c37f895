"""docs/gates.md and docs/feasibility-report.md say what there is, and all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from draft_core.feasibility import feasibility
from draft_core.gates import GATES
from draft_core.gates.margins import Gate
from draft_core.trends import limits, structure
from tests.draft_core.conftest import PROJECT
from tests.draft_core.gates.robots import biped

GATES_TEXT = (PROJECT / "docs" / "gates.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `(\w+)`: (.*?)(?=^## |\Z)", GATES_TEXT, flags=re.M | re.S))
REPORT_TEXT = (PROJECT / "docs" / "feasibility-report.md").read_text(encoding="utf-8")


def test_every_gate_has_its_section_in_order():
    assert list(SECTIONS) == [gate.name for gate in GATES]


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_a_section_states_rule_level_switch_source_and_kinks(gate: Gate):
    text = " ".join(SECTIONS[gate.name].split())
    assert text.startswith(gate.title)
    assert f"*Rule*: {gate.rule}." in text
    switch = f"`{gate.switch}`" if gate.switch else "none."
    assert f"- *Switch*: {switch} " in text
    assert re.search(r"- \*Level\*: (error|warning)", text)
    assert ("error" in text.partition("*Level*")[2].partition("*Switch*")[0]) == bool(gate.switch)
    assert "- *Source*: " in text
    assert "- *Kinks*: " in text


def test_the_figures_are_those_of_the_trends():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in GATES_TEXT.splitlines()]
    for family in ("qdd", "midgear", "harmonic", "all"):
        edge = limits.frontier(family)
        figures = (
            *(edge.torque_density, edge.torque_density_p90),
            *(edge.power_density, edge.power_density_p90),
        )
        assert [family, *(f"{figure:.1f}" for figure in figures)] in rows
    for name in structure.populations():
        audit = structure.audit(name)
        (row,) = (row for row in rows if row[:1] == [name])
        assert row[1:6] == [
            f"{audit.actuator_fraction[0]:.3f} … {audit.actuator_fraction[1]:.3f}",
            f"{audit.trunk_fraction[0]:.3f} … {audit.trunk_fraction[1]:.3f}",
            f"{audit.size_c:.1f}",
            f"{audit.size_e:.2f}",
            f"{audit.size_sigma:.3f}",
        ]
    spread = limits.aspect()
    assert f"{spread.min:.3f} ≤ ℓ / 2r ≤ {spread.max:.3f}" in GATES_TEXT
    for name in structure.populations():
        low, high = structure.link_density_band(name)
        assert f"{name} {low:.1f} … {high:.0f} kg/m³" in GATES_TEXT


def keys_of(report: dict[str, Any]) -> Iterator[str]:
    """Yield every key of a report that is not a name of the robot's."""
    yield from report
    yield from report["overrides"]
    yield from report["mass"]
    for group in ("motors", "derived", "members"):
        for row in report[group].values():
            yield from row
    for row in report["margins"]:
        yield from row
    for row in report["motors"].values():
        yield from row["numbers"]


def test_every_key_of_the_report_is_documented_and_no_other():
    tree = biped()
    actual = set(keys_of(yaml.safe_load(feasibility(tree, tree.resolve()).to_yaml())))
    tables = re.findall(r"^\| `(\w+)` \|.*$", REPORT_TEXT, flags=re.M)
    (numbers,) = re.findall(r"^\| `numbers` \|.*$", REPORT_TEXT, flags=re.M)
    documented = {*tables, *re.findall(r"`(\w+)`", numbers)}
    assert documented == actual
