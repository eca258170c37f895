# MuJoCo's bindings are compiled and ship no type information: every name is taken as it comes.
from typing import Any

def __getattr__(name: str) -> Any: ...
