"""No known format reads the calls that the template renders; one was derived from them.

Nobody has written this dialect down, so it was read off what the template renders: calls that differ in one thing at a
time show what stands around names, keys and values, and the parser that follows from it has read back calls, and whole
answers, that it was not made from. That proves what the template writes into the history of a conversation. What a
model writes is mostly the same, and for some models is not: only an answer of the model shows it.

What to do: look at one answer of the model, and parse with the derived format. `toolfmt dev derive` prints it, as a
file that any program can load.

Example: a template that renders `⟦call get_weather⟧⟦arg city⟧Paris⟦/arg⟧⟦end⟧`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.shell import argument
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity
from toolfmt.inspect.runtimes.parser_line import has_place

SEVERITY: Severity = "note"


def _command(facts: Facts) -> str:
    place = f" {argument(str(facts.files.directory))}" if has_place(facts) else ""
    return f"toolfmt dev derive{place}"


def check(facts: Facts) -> Iterator[Diagnostic]:
    derived = facts.decided.decision.derived
    if derived is None:
        return
    limits = "".join(f"; {limit}" for limit in derived.limits)
    yield Diagnostic(
        f"No known format reads the calls that the template renders; one was derived from them ({derived.kind}) and "
        f"{derived.proof}{limits}.",
        f"`{_command(facts)}` prints it as a file. Look at one answer of the model before you rely on it: the format "
        "is read from the template's history, not from a model's output.",
        facts.capabilities["tool_calls"].line,
    )
