"""What cannot be traced is refused in one line: primitive, the user's source line, a way out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from codesign.tracing import TracingError, to_casadi

jax.config.update("jax_enable_x64", True)

X = np.array([0.3, 1.2, -0.4])


def printed(x: Any) -> Any:
    """A function with a side effect."""
    jax.debug.print("{x}", x=x)
    return x


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "eigh": (lambda x: jnp.linalg.eigh(jnp.outer(x, x))[0], "full matrix"),
    "lu": (lambda x: jnp.linalg.solve(jnp.outer(x, x) + jnp.eye(3), x), "cho_solve"),
    "qr": (lambda x: jnp.linalg.qr(jnp.outer(x, x))[0], "Cholesky"),
    "svd": (lambda x: jnp.linalg.svd(jnp.outer(x, x))[1], "Cholesky"),
    "sort": (jnp.sort, "max, min"),
    "gather": (lambda x: x[x.astype(int)], "jnp.where"),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (jnp.argmax(x),), (1,)), "jnp.where"),
    "scatter": (lambda x: x.at[x.astype(int)].set(0.0), "jnp.where"),
    "while": (lambda x: lax.while_loop(lambda y: y.sum() > 1, lambda y: y / 2, x), "lax.scan"),
    "random_bits": (lambda x: x * jax.random.normal(jax.random.key(0), (3,)), "draw them before"),
    "and": (lambda x: x.astype(int) & 3, "booleans"),
    "reduce_or": (lambda x: lax.reduce_or(x.astype(int), (0,)), "booleans"),
    "erfc": (jax.scipy.special.erfc, "1 - erf"),
    "lt_to": (lambda x: jnp.interp(x, X, X), "jnp.where"),
    "lgamma": (jax.scipy.special.gammaln, "arithmetic"),
    "debug": (printed, "debug.print"),
    "convert_element_type": (lambda x: jnp.abs(x * 1j), "imaginary"),
}


@pytest.mark.parametrize("primitive", REFUSED)
def test_refusal_names_primitive_line_and_remedy(primitive: str) -> None:
    f, remedy = REFUSED[primitive]
    with pytest.raises(TracingError) as refusal:
        to_casadi(f, X)
    message = str(refusal.value)
    assert "\n" not in message
    assert message.startswith(primitive.removesuffix("_bits"))
    assert remedy in message
    if inspect.isfunction(f) and f.__module__ == __name__:
        first = f.__code__.co_firstlineno
        assert any(f"{__file__}:{line}" in message for line in range(first, first + 5))


def test_loop_that_never_ends_is_refused() -> None:
    with pytest.raises(TracingError, match="longer than 10000 steps"):
        to_casadi(
            lambda x: lax.while_loop(lambda s: s[0] >= 0, lambda s: (s[0] + 1, s[1]), (0, x)), X
        )


def test_refusal_inside_a_library_names_both_lines() -> None:
    with pytest.raises(TracingError, match=r"test_refusals\.py"):
        to_casadi(lambda x: jax.scipy.stats.gamma.logpdf(x, 2.0 + x), X)


def test_refusal_of_a_library_function_names_it() -> None:
    with pytest.raises(TracingError, match=r"lu at .*linalg\.py:\d+ \(inv\): "):
        to_casadi(jnp.linalg.inv, np.eye(3))


def test_complex_ends_are_refused() -> None:
    with pytest.raises(TracingError, match="output 0 is complex"):
        to_casadi(lambda x: x * 1j, X)
    with pytest.raises(TracingError, match="input 0 is complex"):
        to_casadi(jnp.abs, X * 1j)


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(TracingError, match=r"argument \[1\]\['a'\] is 'leg', not an array"):
        to_casadi(lambda x, y: x, X, {"a": "leg"})
    with pytest.raises(TracingError, match="not numbers"):
        to_casadi(lambda x: jax.random.key(0), X)


def test_wrong_number_of_names_is_refused() -> None:
    with pytest.raises(TracingError, match="2 input names for 1 input"):
        to_casadi(jnp.sin, X, input_names=["a", "b"])
