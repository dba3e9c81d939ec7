"""Create a new finding in a clone: its module with the page to write, its list entry, and its test templates.

Everything that a person must write begins with `TO FILL`. Until then, the check finds nothing and its test fails.
"""

from __future__ import annotations

import re

from toolfmt.cli.scaffolding.clone import CHECKS, Clone, FilePlan
from toolfmt.cli.scaffolding.names import check_finding_name
from toolfmt.errors import ToolfmtError

_LIST = f"{CHECKS}/__init__.py"
_MODULE = re.compile(r"tf([0-9]{3})_([a-z0-9_]+)")
_LAST = 999

_CHECK = '''"""TO FILL: in one sentence, what goes wrong.

What it checks: TO FILL: which conversations or files are tried, and what is compared.

Why it matters: TO FILL: what the user sees.

Affected runtimes: TO FILL: which runtimes or clients.

Example:

    TO FILL: the shortest template that has it

Fix: TO FILL: what to do, as an imperative.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import TOOLS, user
from toolfmt.inspect.report.report import Severity

# TO FILL: how reliable tool calling is. "error": it is not reliable, and render does not fix it by itself; "warning": a
# plain client goes wrong, and what FIXED_BY names fixes it, in a line below, FIXED_BY: FixedBy = "render", "prompt",
# "setting", "request" or "template"; "note": cost and taste.
SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None:
        return
    # TO FILL: decide by what a probe renders, as here, or by an answer's outcome (facts.detail("...").outcome), never
    # by searching a sentence of the report.
    messages = user()
    offset = renders.text(messages, TOOLS).find("TO FILL: what shows it in the prompt")
    if offset >= 0:
        yield Diagnostic(
            "TO FILL: a sentence, what this template does.",
            "TO FILL: a sentence, what to do about it.",
            renders.line_at(messages, TOOLS, offset),
        )
'''

_WITH = (
    "{# TO FILL: a template that has it, as small as possible; nothing is wrong with tests/findings/clean.jinja #}\n"
)
_WITHOUT = "{# TO FILL: the same template without it; delete this file if that is tests/findings/clean.jinja #}\n"
_EXPECTED = '[{"severity": "note", "line": 0}]\n'


def prepare(name: str, clone: Clone) -> tuple[str, FilePlan]:
    """Return the code of a finding with this name, and the files to write.

    Raises `ToolfmtError` for an invalid name, or if something already exists.
    """
    listed = [found for module in clone.modules(_LIST) if (found := _MODULE.fullmatch(module))]
    check_finding_name(name, [found[2].replace("_", "-") for found in listed])
    numbers = [*(int(found[1]) for found in listed), *clone.numbers(CHECKS, "tf"), *_replaced(clone)]
    number = max([0, *numbers]) + 1
    if number > _LAST:
        raise ToolfmtError(
            f"there is no code after TF{_LAST}; a new finding needs a longer code, which you have to add by hand"
        )
    code, module = f"TF{number:03}", f"tf{number:03}_{name.replace('-', '_')}"
    new = {
        f"{CHECKS}/{module}.py": _CHECK,
        f"tests/findings/{code}/with.jinja": _WITH,
        f"tests/findings/{code}/without.jinja": _WITHOUT,
        f"tests/findings/{code}/expected.json": _EXPECTED,
    }
    plan = FilePlan(new, _LIST, module)
    clone.check(plan)
    return code, plan


def _replaced(clone: Clone) -> list[int]:
    """Return the numbers of replaced codes, which are never reused."""
    texts = (file.read_text("utf-8", "replace") for file in (clone.root / CHECKS).glob("tf*.py"))
    return [int(number) for text in texts for number in re.findall(r'replaces="TF([0-9]{3}) ', text)]
