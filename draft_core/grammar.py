"""The grammar of ``${...}``: a whitelist of Python's syntax, turned into closures.

Python's ``ast`` parses; what is not listed here is refused by name. The closures work on floats
and on JAX arrays alike: each operation looks at its operands' types.
"""

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from draft_core.errors import ExpressionError, known_names
from draft_core.namespace import is_jax, is_traced, namespace

MAX_NODES = 200
MAX_DEPTH = 50
MAX_POWER = 32
MAX_DIGITS = 15

Environment = Mapping[str, Any]
Evaluator = Callable[[Environment], Any]

CONSTANTS = {"pi": math.pi}


def _truth(value: Any) -> Any:
    return (value != 0) if is_jax(value) else bool(value)


def _select(condition: Any, yes: Evaluator, no: Evaluator, env: Environment) -> Any:
    if is_traced(condition):
        return _where(condition, yes(env), no(env))
    return yes(env) if condition else no(env)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    lists = [isinstance(value, tuple) for value in (yes, no)]
    if all(lists) and len(yes) == len(no):
        return tuple(_where(condition, a, b) for a, b in zip(yes, no, strict=True))
    if any(lists) or isinstance(yes, str) or isinstance(no, str):
        raise ExpressionError("both results of a design variable's condition must be alike")
    return namespace(condition).where(condition, yes, no)


def _power(base: Any, exponent: Any) -> Any:
    if is_jax(exponent):
        xp = namespace(exponent)
        steep = xp.logical_and(exponent > 0, exponent < 2)
        return _steep(base, lambda x: xp.power(x, exponent), steep)
    if abs(exponent) > MAX_POWER:
        raise ExpressionError(f"a power of {exponent:g} is too large (at most {MAX_POWER})")
    if not is_jax(base):
        return math.pow(base, exponent)
    if float(exponent).is_integer():
        return base ** int(exponent)
    return _steep(base, lambda x: x**exponent) if 0 < exponent < 2 else base**exponent


def _sqrt(x: Any) -> Any:
    return _steep(x, namespace(x).sqrt) if is_jax(x) else math.sqrt(x)


def _steep(x: Any, function: Callable[[Any], Any], is_steep: Any = True) -> Any:
    """Return a root or power, 0 at 0, with slopes of 0 where its own are not finite there."""
    xp = namespace(x, is_steep)
    nothing = xp.logical_and(x == 0, is_steep)
    return xp.where(nothing, 0.0, function(xp.where(nothing, 1.0, x)))


def _elementwise(name: str) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        return getattr(namespace(x), name)(x) if is_jax(x) else getattr(math, name)(x)

    return apply


def _extreme(name: str, builtin: Callable[..., Any], pick: str) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        items = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        if not items:
            raise ExpressionError(f"{name}() needs at least one number")
        if set(map(type, items)) == {float}:
            return builtin(items)
        items = [_scalar(item) for item in items]
        result = items[0]
        for item in items[1:]:
            if is_jax(result) or is_jax(item):
                result = getattr(namespace(result, item), pick)(result, item)
            else:
                result = builtin(result, item)
        return result

    return apply


def _round(x: Any, digits: Any = 0.0) -> Any:
    if is_jax(digits) or not abs(digits) <= MAX_DIGITS:
        raise ExpressionError(
            f"round() needs a constant number of digits, at most {MAX_DIGITS} either way"
        )
    return namespace(x).round(x, int(digits)) if is_jax(x) else float(round(x, int(digits)))


def _len(items: Any) -> float:
    if not isinstance(items, tuple):
        raise ExpressionError("len() needs a list")
    return float(len(items))


# name: (least and most arguments, whether a list may be one, the function)
FUNCTIONS: dict[str, tuple[int, int, bool, Callable[..., Any]]] = {
    "abs": (1, 1, False, abs),
    "min": (1, 50, True, _extreme("min", min, "minimum")),
    "max": (1, 50, True, _extreme("max", max, "maximum")),
    "sqrt": (1, 1, False, _sqrt),
    "sin": (1, 1, False, _elementwise("sin")),
    "cos": (1, 1, False, _elementwise("cos")),
    "len": (1, 1, True, _len),
    "round": (1, 2, False, _round),
}

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}

_COMPARE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}

_WORKS = (
    "numbers, names, + - * / // % **, comparisons, and/or/not, 'a if b else c', lists, "
    f"pi and {known_names(FUNCTIONS)}"
)


def _scalar(value: Any) -> Any:
    """Return an operand of arithmetic; a switch counts 1 or 0, as a float."""
    if isinstance(value, tuple | str):
        kind = "a list" if isinstance(value, tuple) else f"the text {value[:40]!r}"
        raise ExpressionError(f"arithmetic needs numbers, not {kind}")
    if isinstance(value, bool):
        return float(value)
    return value.astype(float) if is_jax(value) and value.dtype == bool else value


def _comparable(value: Any) -> Any:
    if isinstance(value, tuple):
        raise ExpressionError("lists do not compare; compare their elements, as in a[0] < b[0]")
    return value


class Builder:
    """Turns a whitelisted Python expression into closures and collects the names it reads."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.count = 0

    def build(self, node: ast.AST, depth: int = 0) -> Evaluator:
        """Return the closure of one node; each kind of node has its method below.

        Raises:
            ExpressionError: the node, or one below it, is not allowed.
        """
        self.count += 1
        if self.count > MAX_NODES:
            raise ExpressionError(f"it is too long (at most {MAX_NODES} terms)")
        if depth > MAX_DEPTH:
            raise ExpressionError(f"it is nested too deep (at most {MAX_DEPTH} levels)")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise ExpressionError(f"{type(node).__name__} is not allowed; what works: {_WORKS}")
        return method(node, depth + 1)

    def _constant(self, node: ast.Constant, _: int) -> Evaluator:
        if isinstance(node.value, bool):
            value: Any = node.value
        elif isinstance(node.value, int | float) and abs(node.value) <= 1e300:
            value = float(node.value)
        else:
            raise ExpressionError(f"the constant {str(node.value)[:20]!r} is not a usable number")
        return lambda _env: value

    def _name(self, node: ast.Name, _: int) -> Evaluator:
        return self._lookup(node.id)

    def _attribute(self, node: ast.Attribute, _: int) -> Evaluator:
        parts, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            parts, inner = [inner.attr, *parts], inner.value
        if not isinstance(inner, ast.Name) or any(part.startswith("_") for part in parts):
            raise ExpressionError(f"attribute access '.{node.attr}' is not allowed")
        return self._lookup(".".join([inner.id, *parts]))

    def _lookup(self, name: str) -> Evaluator:
        if name in CONSTANTS:
            value = CONSTANTS[name]
            return lambda _env: value
        if name.startswith("_"):
            raise ExpressionError(f"the name {name!r} is not allowed")
        self.names[name] = None
        return lambda env: env[name]

    def _binop(self, node: ast.BinOp, depth: int) -> Evaluator:
        apply = _BINARY.get(type(node.op))
        if apply is None:
            raise ExpressionError(f"the operator {type(node.op).__name__} is not allowed")
        left, right = self.build(node.left, depth), self.build(node.right, depth)
        return lambda env: apply(_scalar(left(env)), _scalar(right(env)))

    def _unaryop(self, node: ast.UnaryOp, depth: int) -> Evaluator:
        operand = self.build(node.operand, depth)
        if isinstance(node.op, ast.USub):
            return lambda env: -_scalar(operand(env))
        if isinstance(node.op, ast.UAdd):
            return lambda env: _scalar(operand(env))
        if isinstance(node.op, ast.Not):
            return lambda env: _not(_truth(operand(env)))
        raise ExpressionError(f"the operator {type(node.op).__name__} is not allowed")

    def _boolop(self, node: ast.BoolOp, depth: int) -> Evaluator:
        parts = [self.build(value, depth) for value in node.values]
        every = isinstance(node.op, ast.And)
        return lambda env: _logical(parts, every, env)

    def _compare(self, node: ast.Compare, depth: int) -> Evaluator:
        operands = [self.build(n, depth) for n in (node.left, *node.comparators)]
        tests = [_COMPARE.get(type(op)) for op in node.ops]
        if None in tests:
            raise ExpressionError("only < <= > >= == != compare")

        def evaluate(env: Environment) -> Any:
            values = [_comparable(operand(env)) for operand in operands]
            result: Any = True
            for test, a, b in zip(tests, values, values[1:], strict=False):
                assert test is not None
                result = _and(result, test(a, b))
            return result

        return evaluate

    def _ifexp(self, node: ast.IfExp, depth: int) -> Evaluator:
        test, yes, no = (self.build(n, depth) for n in (node.test, node.body, node.orelse))
        return lambda env: _select(_truth(test(env)), yes, no, env)

    def _list(self, node: ast.List, depth: int) -> Evaluator:
        items = [self.build(element, depth) for element in node.elts]
        return lambda env: tuple(item(env) for item in items)

    def _subscript(self, node: ast.Subscript, depth: int) -> Evaluator:
        items = self.build(node.value, depth)
        index = node.slice
        if not isinstance(index, ast.Constant) or type(index.value) is not int:
            raise ExpressionError("a list is indexed by a constant whole number, as in a[0]")
        position: int = index.value

        def evaluate(env: Environment) -> Any:
            values = items(env)
            if not isinstance(values, tuple):
                raise ExpressionError("only a list can be indexed")
            if position >= len(values):
                raise ExpressionError(f"index {position} is beyond a list of {len(values)}")
            return values[position]

        return evaluate

    def _call(self, node: ast.Call, depth: int) -> Evaluator:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)[:40]
        if name not in FUNCTIONS or not isinstance(node.func, ast.Name):
            raise ExpressionError(f"{name}() is not a function; there are {known_names(FUNCTIONS)}")
        least, most, lists, function = FUNCTIONS[name]
        if node.keywords or not least <= len(node.args) <= most:
            count = str(least) if least == most else f"{least} to {most}"
            raise ExpressionError(f"{name}() takes {count} unnamed arguments")
        arguments = [self.build(argument, depth) for argument in node.args]
        check = (lambda value: value) if lists else _scalar
        return lambda env: function(*[check(argument(env)) for argument in arguments])


def _and(a: Any, b: Any) -> Any:
    return namespace(a, b).logical_and(a, b) if is_jax(a) or is_jax(b) else bool(a and b)


def _not(a: Any) -> Any:
    return namespace(a).logical_not(a) if is_jax(a) else not a


def _logical(parts: list[Evaluator], every: bool, env: Environment) -> Any:
    result: Any = every
    for part in parts:
        if not is_traced(result) and bool(result) != every:
            return not every
        value = _truth(part(env))
        if is_jax(result) or is_jax(value):
            xp = namespace(result, value)
            result = (xp.logical_and if every else xp.logical_or)(result, value)
        else:
            result = value
    return result


def build(source: str) -> tuple[Evaluator, tuple[str, ...]]:
    """Return an expression as a function of the parameters, and the names it reads.

    Raises:
        ExpressionError: it is not one of the language.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as "1if", which Python accepts with a warning
            parsed = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or "not an expression"
        raise ExpressionError(f"it does not parse ({reason})") from None
    builder = Builder()
    return builder.build(parsed.body), tuple(builder.names)
