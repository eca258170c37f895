"""All numbers at once: each expression evaluated once, constants kept apart, mistakes named."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from draft_core.backend import jax, jnp
from draft_core.errors import DraftError
from draft_core.expressions import Expression
from draft_core.formula import Formula
from draft_core.memo import once_per_tree
from draft_core.quantities import quantities
from draft_core.register import Register, Stated
from draft_core.stated import Scalar, Vector
from draft_core.template import slots, template
from draft_core.tree import RobotTree
from tests.draft_core.conftest import sample


def scalar(text: str, rule: Any = "any") -> Scalar:
    return Scalar(Expression(text, "here"), f"number {text}", rule)


def test_equal_expressions_and_constants_share_their_places():
    register = Register()
    vector = Vector((Expression("${a}", "there"), 2.0, Expression("${b}", "there")), "vector")
    places = register.vector(vector)
    assert register.scalar(scalar("${a}")) == places[0]
    assert register.scalar(Scalar(2.0, "two")) == places[1]
    assert len(register.finished().base) == 3


calls: list[float] = []


def counted(value: float) -> tuple[float, ...]:
    calls.append(value)
    return value, 2 * value, 3 * value


def test_a_rule_many_things_follow_is_evaluated_once():
    register = Register()
    places = []
    for where in ("one", "another"):
        rule = Formula("a rule", counted, (Expression("${a}", where),), (), where)
        places.append(register.vector(Vector(rule, where)))
    assert places[0] == places[1]
    calls.clear()
    np.testing.assert_array_equal(
        register.finished().at({"a": 5.0})(np.array(places[0])), [5, 10, 15]
    )
    assert calls == [5.0]


def stated() -> Stated:
    register = Register()
    for item in (scalar("${a}", "positive"), scalar("${b}", "not negative"), scalar("${c}")):
        register.scalar(item)
    register.vector(Vector(Expression("${d}", "list"), "list", (2,)))
    return register.finished()


GOOD = {"a": 1.0, "b": 0.0, "c": -1.0, "d": (1.0, 2.0)}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"a": 0.0}, r"number \$\{a\} is 0 .*greater than 0"),
        ({"b": -1.0}, r"number \$\{b\} is -1 .*0 or more"),
        ({"c": float("nan")}, r"number \$\{c\} is nan; it must be a finite number"),
        ({"c": -2e9}, r"number \$\{c\} is -2e\+09; at most 1e\+09"),
        ({"c": (1.0,)}, r"number \$\{c\} .*one number"),
        ({"d": (1.0,)}, "list .*list of 2 numbers"),
        ({"d": 1.0}, "list .*list of 2 numbers"),
        ({"d": (1.0, "x")}, r"list\[1\] .*one number"),
        ({"c": float("inf"), "a": -1.0}, r"number \$\{a\} is -1"),  # the first of two
    ],
)
@pytest.mark.parametrize("traced", [False, True])
def test_the_first_number_that_breaks_its_rule_is_named(
    wrong: Mapping[str, Any], says: str, traced: bool
):
    assert stated().at(GOOD).varying is None
    env = {**GOOD, **wrong}
    if not traced:
        with pytest.raises(DraftError, match=says):
            stated().at(env)
        return
    free = next(name for name in "bc" if name not in wrong)
    with pytest.raises(DraftError, match=says):
        jax.jit(lambda value: stated().at({**env, free: value}).varying)(0.5)


def test_booleans_and_jax_numbers_count_as_numbers():
    numbers = stated().at({**GOOD, "a": True, "c": jnp.asarray(3.0)})
    np.testing.assert_array_equal(numbers.known, [1, 0, 3, 1, 2])
    np.testing.assert_array_equal(numbers.varying, [1, 0, 3, 1, 2])


def test_what_follows_no_design_variable_stays_out_of_a_trace():
    robot = sample("everything").robot

    def trace(length: Any) -> Any:
        fields = quantities(robot.tree, robot.tree.resolve({"leg.length": length}))
        constant.update(name for name, value in fields.items() if isinstance(value, np.ndarray))
        return fields["body_mass"]

    constant: set[str] = set()
    jax.make_jaxpr(trace)(0.3)
    expected = {"body_quat", "jnt_axis", "dof_armature", "geom_quat", "site_quat"}
    assert expected <= constant
    assert not {"body_pos", "body_mass", "geom_size", "site_pos", "body_fullinertia"} & constant


def test_what_is_kept_with_a_tree_is_made_once_and_never_copied():
    tree = sample("arm").robot.tree
    made: list[str] = []

    @once_per_tree
    def name(tree: RobotTree) -> str:
        made.append(tree.name)
        return tree.name

    assert name(tree) == name(tree) == "arm"
    assert made == ["arm"]
    other = copy.copy(tree)
    assert other == tree
    assert set(vars(other)) < set(vars(tree))
    assert name(other) == "arm"
    assert made == ["arm", "arm"]


def test_a_template_puts_every_number_back_into_its_words():
    numbers = np.array([0.1 + 0.2, -0.0, 1.0, 1e-300, float(2**53)])
    text = template(f"a {slots([2, 0])} b {slots(1)}{slots([[3], [4]])}").filled(numbers)
    assert text == "a 1.0 0.30000000000000004 b 0.01e-300 9007199254740992.0"
    assert template("words alone").filled(numbers) == "words alone"
