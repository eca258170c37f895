"""The expression language: its values, its two number types, and what it refuses."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from codesign.tracing import to_casadi
from draft_core.backend import jax, jnp
from draft_core.errors import DraftError
from draft_core.expressions import Expression, as_number

ENV = {
    **{"a": 2.0, "b": 0.5, "zero": 0.0, "leg.length": 0.4, "word": "up"},
    **{"items": (1.0, 2.0, 3.0), "many": (1.0,) * 50},
}

VALUES = {
    "a + b * 2 - 1": 2.0,
    "a / 4 + 7 // 2 + 7 % 4": 6.5,
    "-a ** 2": -4.0,
    "a ** -1": 0.5,
    "a ** 0.5": math.sqrt(2),
    "pi * a": 2 * math.pi,
    "abs(-a) + min(a, b, 3) + max(items)": 5.5,
    "sqrt(a) + sin(b) + cos(b)": math.sqrt(2) + math.sin(0.5) + math.cos(0.5),
    "round(a * 1.26, 1) + round(b + 0.1)": 3.5,
    "len(items) + items[1]": 5.0,
    "a if a > b else zero": 2.0,
    "1 if a > b and not b > a else 0": 1.0,
    "1 if a < b or 0 < b < 1 else 0": 1.0,
    "1 / zero if zero > 0 else 7": 7.0,
    "leg.length / 2": 0.2,
    "+a": 2.0,
    "[a, b][1]": 0.5,
}


@pytest.mark.parametrize("text", VALUES)
def test_it_computes_what_python_would(text: str):
    value = Expression("${" + text + "}", "here").evaluate(ENV)
    assert value == pytest.approx(VALUES[text], rel=1e-15)
    assert isinstance(value, float)


@pytest.mark.parametrize("text", [text for text in VALUES if "1 / zero" not in text])
def test_floats_and_jax_arrays_give_the_same(text: str):
    expression = Expression("${" + text + "}", "here")
    env = {k: v for k, v in ENV.items() if isinstance(v, float)}
    others = {k: v for k, v in ENV.items() if k not in env}
    traced = jax.jit(lambda values: expression.evaluate({**values, **others}))(env)
    eager = expression.evaluate({**{k: jnp.asarray(v) for k, v in env.items()}, **others})
    np.testing.assert_allclose([traced, eager], VALUES[text], rtol=1e-15)


def test_a_condition_on_a_design_variable_keeps_its_gradient():
    expression = Expression("${a ** 2 if a > 1 else [3 * a, 0][0]}", "here")
    slope = jax.jit(jax.grad(lambda a: expression.evaluate({"a": a})))
    assert (slope(2.0), slope(0.5)) == (4.0, 3.0)


def test_lists_chosen_by_a_design_variable_keep_their_elements():
    expression = Expression("${[a, 1] if a > 1 else [0, b]}", "here")
    chosen = jax.jit(lambda a: expression.evaluate({"a": a, "b": 5.0}))
    assert [float(v) for v in chosen(2.0)] == [2.0, 1.0]
    assert [float(v) for v in chosen(0.5)] == [0.0, 5.0]


def test_switches_count_as_numbers_of_their_own():
    # True + True is a whole number of unlimited size in Python, and True under JAX.
    expression = Expression("${(a > 1) + (b < 1) - -(a > b)}", "here")
    value = expression.evaluate(ENV)
    assert value == 3.0
    assert isinstance(value, float)
    assert jax.jit(lambda a, b: expression.evaluate({"a": a, "b": b}))(2.0, 0.5) == 3.0


def test_a_condition_on_a_design_variable_gives_no_huge_value():
    lists = "[" + "many, " * 20 + "many]"
    expression = Expression("${" + lists + " if a > 1 else " + lists + "}", "here")
    with pytest.raises(DraftError, match="too large"):
        jax.make_jaxpr(lambda a: expression.evaluate({**ENV, "a": a}))(2.0)


def test_whole_powers_are_differentiable_at_zero():
    expression = Expression("${a ** 2}", "here")
    assert jax.grad(jax.grad(lambda a: expression.evaluate({"a": a})))(0.0) == 2.0


def test_text_around_expressions_becomes_text():
    assert Expression("${a} x ${b}", "here").evaluate(ENV) == "2 x 0.5"
    assert Expression("${word}ward", "here").evaluate(ENV) == "upward"


def test_a_whole_expression_keeps_its_type():
    assert Expression(" ${items} ", "here").evaluate(ENV) == (1.0, 2.0, 3.0)
    assert Expression("${a > b}", "here").evaluate(ENV) is True


def test_names_are_listed_in_order_of_appearance():
    assert Expression("${b + a * leg.length + pi + sin(b)}", "here").names == (
        "b",
        "a",
        "leg.length",
    )


def test_it_pickles():
    assert pickle.loads(pickle.dumps(Expression("${a + 1}", "here"))).evaluate(ENV) == 3.0


REFUSED = {
    "().__class__": "attribute access '.__class__'",
    "a.__class__": "attribute access",
    "__import__('os')": "__import__() is not a function",
    "a.b().c": "attribute access",
    "word.upper()": "word.upper() is not a function",
    "open('x')": "open() is not a function; there are abs",
    "eval('1')": "eval() is not a function",
    "[x for x in items]": "ListComp is not allowed",
    "lambda: 1": "Lambda is not allowed",
    "(a := 1)": "NamedExpr is not allowed",
    "(1, 2)": "Tuple is not allowed",
    "f'a'": "JoinedStr is not allowed",
    "f'{a}'": "braces inside are not allowed",
    "'text'": "not a usable number",
    "1j": "not a usable number",
    "None": "not a usable number",
    "1e999": "not a usable number",
    "a << 2": "operator LShift",
    "~a": "operator Invert",
    "a @ b": "operator MatMult",
    "a is b": "only < <= > >=",
    "a in items": "only < <= > >=",
    "min(a, key=b)": "unnamed arguments",
    "sin()": "sin() takes 1",
    "sin(a, b)": "sin() takes 1",
    "items[a]": "constant whole number",
    "items[-1]": "constant whole number",
    "items[0:2]": "constant whole number",
    "a +": "does not parse",
    "": "does not parse",
    "a; b": "does not parse",
    "_hidden": "the name '_hidden' is not allowed",
    "[" + "a," * 210 + "]": "it is too long (at most 200 terms)",
    "-" * 60 + "a": "nested too deep",
    "(" * 240 + "a" + ")" * 240: "does not parse",
    "1" + "0" * 400: "not a usable number",
    "x" * 600: "too long",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_of_the_language_is_refused_when_read(text: str):
    with pytest.raises(DraftError) as caught:
        Expression("${" + text + "}", "tree.yaml, node 'leg', mass")
    assert str(caught.value).startswith("tree.yaml, node 'leg', mass: cannot use ")
    assert REFUSED[text] in str(caught.value)
    assert "\n" not in str(caught.value)


WITHOUT_RESULT = {
    "1 / zero": "divides by zero",
    "1 % zero": "divides by zero",
    "sqrt(-a)": "outside its domain",
    "(-a) ** 0.5": "outside its domain",
    "zero ** -1": "outside its domain",
    "9.0 ** 99": "a power of 99 is too large",
    "a ** (9 ** 9)": "is too large",
    "(((9 ** 32) ** 32) ** 32)": "too large",
    "items + 1": "arithmetic needs numbers, not a list",
    "word * 3": "not the text 'up'",
    "items[7]": "beyond a list of 3",
    "a[0]": "only a list",
    "len(a)": "len() needs a list",
    "min([])": "needs at least one",
    "max(items, 1)": "arithmetic needs numbers, not a list",
    "word < 1": "mixes numbers with lists or text",
    "items == items": "lists do not compare; compare their elements",
    "round(a, 10 ** 9)": "at most 15 either way",
    "round(a, 1e300 * 1e300)": "at most 15 either way",
    "[" + "many, " * 20 + "many]": "too large (at most 1000 numbers",
    "[" * 17 + "a" + "]" * 17: "nested too deep (at most 16 levels)",
    "unknown + 1": "uses parameter 'unknown', which parameters.yaml does not have",
    "leg.lenght": "did you mean 'leg.length'?",
}


@pytest.mark.parametrize("text", WITHOUT_RESULT)
def test_what_has_no_result_says_why(text: str):
    expression = Expression("${" + text + "}", "here")
    with pytest.raises(DraftError) as caught:
        expression.evaluate(ENV)
    assert WITHOUT_RESULT[text] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["${a", "${a} and ${", "${{a}}", "x ${} y"])
def test_unbalanced_placeholders_are_refused(text: str):
    with pytest.raises(DraftError, match="here: cannot use"):
        Expression(text, "here")


def test_numbers_without_a_dot_are_numbers():
    # YAML 1.1 reads 1e-3 as text.
    assert [as_number(v) for v in ("1e-3", "-2E+2", " .5 ", 3, True, "1 m", "nan", None)] == [
        *(1e-3, -200.0, 0.5, 3.0),
        *(None, None, None, None),
    ]


@pytest.mark.parametrize(
    "text", ["sqrt(a - b)", "(a - b) ** 0.5", "(a - b) ** 1.5", "(a - b) ** c"]
)
def test_roots_have_a_slope_of_0_at_0(text: str):
    # A clearance of 0 at the start gave NaN or infinite gradients, and the solver stopped.
    expression = Expression(f"${{{text}}}", "t")

    def value(x):
        return expression.evaluate({"a": x[0], "b": x[1], "c": x[2]})

    at = jnp.array([0.3, 0.3, 0.7])
    assert value(at) == 0.0
    for slope in (jax.grad(value)(at), jax.jacfwd(value)(at), jax.hessian(value)(at)):
        np.testing.assert_array_equal(slope, np.zeros_like(slope))
    near = jnp.array([0.34, 0.3, 0.7])
    exponent = {"c": 0.7, "1.5": 1.5}.get(text.split()[-1], 0.5)
    assert value(near) == pytest.approx(0.04**exponent)
    assert jax.grad(value)(near)[0] == pytest.approx(exponent * 0.04 ** (exponent - 1))
    assert float(to_casadi(value, at)(np.asarray(at))) == 0.0
