"""The report of several tasks: the shared design, what each task came to, and links to each."""

from __future__ import annotations

from html import escape

from codesign.certificate import Certificate
from codesign.report.certificate import price_section
from codesign.report.page import VERDICTS, page_of
from codesign.report.tables import design_table, log_table, number, plain, table
from codesign.result_folder import TASKS
from codesign.solve.starts_record import sentence
from codesign.tasks.sharing import design_rows, price_table
from codesign.tasks.solution import TasksSolution

_COMBINED = {"worst": "the worst of the tasks'", "sum": "the sum of the tasks'"}


def tasks_page(solution: TasksSolution, command: str | None = None) -> str:
    """Return the report of the whole as HTML; each task has a report of its own beside it.

    Args:
        solution: solved or not.
        command: what a person types to get this answer again; a line of Python by default.
    """
    verdict = VERDICTS.get(str(solution.status)) or plain(solution.status)
    asked = f'<p class="question">{escape(solution.question)}</p>' if solution.question else ""
    good = " good" if solution.success else ""
    notes = "".join(f"<p>Note: {escape(note)}.</p>" for note in solution.notes)
    body = [
        f"<h1>{escape(solution.problem)}</h1>{asked}",
        f'<div class="verdict{good}"><strong>{escape(verdict)}</strong>'
        f"<p>{escape(solution.message)}</p></div>{notes}",
        _facts(solution),
        f"<h2>Tasks</h2>{_tasks(solution)}",
        f"<h2>Shared design</h2>{design_table(solution.design_values)}",
        f"<h2>What holds the design back</h2>{_held(solution)}",
        _price(solution),
        _starts(solution),
        f"<h2>Solver</h2>{log_table(solution.phases)}",
        f"<h2>Reproduce</h2>{_reproduce(solution, command)}",
        "<footer>Written by codesign. SI units throughout.</footer>",
    ]
    return page_of(solution.problem, "\n".join(body))


def _facts(solution: TasksSolution) -> str:
    facts = [
        ("Objective", number(solution.objective), _COMBINED.get(solution.combine, "")),
        ("Tasks", str(len(solution.tasks)), "one design"),
        ("Solve", f"{number(solution.wall_s, 3)} s", f"{solution.iterations} iterations"),
        ("Largest violation", number(solution.audit.max_violation, 2), "scaled"),
    ]
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)} <small>{escape(note)}</small></dd></div>"
        for name, value, note in facts
    )
    return f'<dl class="facts">{cells}</dl>'


def _tasks(solution: TasksSolution) -> str:
    rows = [
        [
            f'<a href="{TASKS}/{escape(name)}/report.html">{escape(name)}</a>',
            escape(task.question),
            escape(plain(task.status)),
            number(task.objective),
            number(solution.weights[name]),
            f"{number(task.t[-1], 3)} s",
            number(task.audit.max_violation, 2),
        ]
        for name, task in solution.tasks.items()
    ]
    head = ["task", "question", "status", "objective", "weight", "duration", "violation"]
    return table(head, rows, numeric=(3, 4, 5, 6))


def _price(solution: TasksSolution) -> str:
    """The table of what sharing costs, where the specialists were asked for."""
    if not solution.specialists:
        return ""
    told = "Each task beside its specialist: the same task alone, with a design of its own."
    tables = [
        table(rows[0], [[escape(cell) for cell in row] for row in rows[1:]], range(1, len(rows[0])))
        for rows in (
            price_table(solution, solution.specialists),
            design_rows(solution, solution.specialists),
        )
    ]
    return f"<h2>Price of sharing</h2><p>{told}</p>{tables[0]}<p></p>{tables[1]}"


def _held(solution: TasksSolution) -> str:
    note = "" if solution.success else "There are no prices without a success"
    told = price_section(Certificate(prices=solution.prices, note=note))
    return f"{told}<p>What holds each task's motion back is in its own report.</p>"


def _starts(solution: TasksSolution) -> str:
    return f"<h2>Starts</h2><p>{escape(sentence(solution.starts))}</p>" if solution.starts else ""


def _reproduce(solution: TasksSolution, command: str | None) -> str:
    options = ", ".join(f"{key}={value!r}" for key, value in solution.options.items())
    python = f"{solution.problem}({options}).solve(seed={solution.seed})"
    rows = [[escape(str(k)), escape(str(v))] for k, v in solution.versions.items()]
    return f"<pre>{escape(command or python)}</pre>{table(['what', 'version'], rows)}"
