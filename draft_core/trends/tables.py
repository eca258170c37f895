"""The package's own data files, read from wherever it is installed."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

#: libyaml's loader where PyYAML was built with it: ten times quicker, and as safe.
_SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_text(name: str) -> str:
    """Return the text of one file of draft_core/trends/data."""
    return (files("draft_core.trends") / "data" / name).read_text(encoding="utf-8")


def read_yaml(name: str) -> dict[str, Any]:
    """Return the contents of one YAML file of draft_core/trends/data."""
    return yaml.load(read_text(name), Loader=_SafeLoader)


@cache
def actuator_fits() -> dict[str, Any]:
    """Return data/actuators.yaml, read once; not to be written to."""
    return read_yaml("actuators.yaml")
