"""docs/trends.md prints the fits and the structural trends as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from draft_core.trends import fits, structure
from draft_core.trends.tables import read_yaml

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "trends.md").read_text(encoding="utf-8")
TABLE = [[cell.strip() for cell in line.split("|")[1:-1]] for line in TEXT.splitlines()]


def test_the_fits_are_printed_as_the_command_prints_them():
    assert f"```text\n{fits.summary(read_yaml('actuators.yaml'))}\n```" in TEXT


@pytest.mark.parametrize("population", structure.populations())
def test_every_structural_class_has_its_row(population: str):
    rows = {row[1]: row[2:] for row in TABLE if row[:1] == [population]}
    assert rows.keys() == structure.classes(population).keys()
    for cls, trend in structure.classes(population).items():
        low, _, high = trend.kg_per_m
        assert rows[cls] == [
            f"{trend.c:.4g}",
            f"{trend.e:.4g}",
            f"{trend.length[0]:g} – {trend.length[1]:g}",
            f"{low:.3g} – {high:.3g}",
            f"{trend.density[1]:.0f}",
            f"{trend.n}",
            f"{trend.gmfe:.2f}",
            "–" if trend.loo is None else f"{trend.loo:.2f}",
            ", ".join(f"{kink:.3f}" for kink in structure.kinks(population, cls)),
        ]
