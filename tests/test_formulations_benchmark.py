"""The benchmark of formulations in its smallest size."""

from __future__ import annotations

import json

from benchmarks import formulations


def test_a_candidate_is_judged_by_the_audit_and_by_time(tmp_path, capsys) -> None:
    options = ["--quick", "--candidates", "scholtes_knot", "--out", str(tmp_path)]
    formulations.main(options)
    content = json.loads((tmp_path / "formulations.json").read_text())
    (row,) = content["studies"]["hexapod"]["scholtes_knot"]["rows"]
    assert row["success"] is (row["status"] == "solved")
    if row["success"]:
        assert row["complementarity"] <= 1e-4
    formulations.main([*options, "--limit", "0.001"])
    content = json.loads((tmp_path / "formulations.json").read_text())
    (row,) = content["studies"]["hexapod"]["scholtes_knot"]["rows"]
    assert row["status"] == "time_limit"
    assert not row["success"]
    assert "0/1" in capsys.readouterr().out
