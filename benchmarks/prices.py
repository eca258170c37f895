"""Are prices true? Each beside what solving again with its bound moved costs.

A price is a derivative: the objective's change per unit of a bound, from the multipliers of one
solve. Here the bound is moved both ways, the problem solved again from the answer, and half the
difference of the two compared with the prediction. The same answer solved again with nothing moved
comes first, so that all start from the bottom of one valley; where contacts are involved a solve
may settle in another all the same, which shows as two moves that disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common import record, settings, show
from codesign import Problem, Solution
from codesign.certificate import Price
from problems.hexapod.problem import Hexapod
from problems.quadcopter.problem import Quadcopter

Options = Mapping[str, Any]
SHARE = 0.2  # of the price's own step, small beside what changes the contacts


@dataclass(frozen=True)
class Moved:
    """A bound that an option of a problem moves.

    Attributes:
        name: the price's name.
        knot: its knot, None for a design bound.
        option: change of the bound → the problem's options.
    """

    name: str
    knot: int | None
    option: Callable[[float], Options]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    asked = settings(__doc__, 1, arguments)
    results = {"quadcopter": _study(Quadcopter, (), asked.quick)}
    if not asked.quick:
        last = Hexapod.knots - 1
        task = (
            Moved(
                "site nose (z)",
                last,
                lambda d: {"button_height": Hexapod.button_height + d},
            ),
            Moved("base position (x)", last, lambda d: {"distance": Hexapod.distance + d}),
        )
        results["hexapod"] = _study(Hexapod, task, asked.quick)
    record("prices", asked, {"share_of_step": SHARE, **results})


def _study(kind: type[Problem], task: Sequence[Moved], quick: bool) -> list[dict[str, Any]]:
    """Print and return a row for each design bound and task constraint that has a price."""
    first = kind().solve(seed=0).require_success()
    base = kind().solve(start=first).require_success()
    rows = []
    for price in base.prices:
        moved = next((m for m in task if (m.name, m.knot) == (price.name, price.knot)), None)
        if price.kind == "design":
            option = _design_option(kind, base, price)
        elif moved is not None:
            option = moved.option
        else:
            continue
        rows.append(_row(kind, base, price, option))
        if quick:
            break
    columns = ["bound", "moved by", "predicted", "solved again", "down", "up", "unit of bound"]
    table = [
        [
            row["name"],
            row["move"],
            row["predicted"],
            row["solved"],
            row["down"],
            row["up"],
            row["per"],
        ]
        for row in rows
    ]
    title = f"{kind.__name__}: objective {base.objective:.6g}, {base.certificate.verdict}"
    show(title, columns, table)
    return rows


def _design_option(kind: type[Problem], base: Solution, price: Price) -> Callable[[float], Options]:
    lower, upper = kind.design[price.name][:2]
    initial = base.design_values[price.name].initial

    def option(change: float) -> Options:
        low = lower + change if price.side == "lower" else lower
        high = upper + change if price.side == "upper" else upper
        moved = (low, high, min(max(initial, low), high))
        return {"design": {**kind.design, price.name: moved}}

    return option


def _row(
    kind: type[Problem], base: Solution, price: Price, option: Callable[[float], Options]
) -> dict[str, Any]:
    move = SHARE * abs(price.step)
    changes = []
    for sign in (-1.0, 1.0):
        again = kind(**option(sign * move)).solve(start=base)
        changes.append(again.objective - base.objective if again.success else float("nan"))
    return {
        "name": f"{price.name}, {price.side}",
        "move": move,
        "per": price.unit.rpartition("/")[2],
        "predicted": price.price * move,
        "solved": (changes[1] - changes[0]) / 2,
        "down": changes[0],
        "up": changes[1],
        "sentence": price.sentence,
    }


if __name__ == "__main__":
    main()
