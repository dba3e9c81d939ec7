"""The generation prompt stops before a newline that the template writes before each response in the history.

What it checks: the generation prompt, against what the template writes before the same response in the history. A
missing space is not reported: most tokenizers split `Assistant:` and ` Sure` like this, with the space in the word.

Why it matters: the history shows `<|im_start|>assistant` and a newline before each response, so the model has to
generate the newline first. Some models were trained like this, for example GLM-4. If the model was not, the first token
of every response is a guess. Usually the newline was lost to `strip`, `trim` or a dash (`-%}`) from an editor or a
conversion.

Affected runtimes: every runtime that renders this template.

Example:

    {% if add_generation_prompt %}{{ '<|im_start|>assistant' }}{% endif %}

in a template that writes `'<|im_start|>assistant\\n'` before each response.

Fix: compare with the template of the original model. If that template has the newline, write it in the generation
prompt too.

    {% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import REPLY, USER, reply, user
from toolfmt.inspect.probe.turn_markers import known_reasoning
from toolfmt.inspect.report.report import Severity
from toolfmt.inspect.report.wording import quote

SEVERITY: Severity = "note"
WHY_NOT_FIXED = "the model may have been trained on a prompt that ends so"


def check(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None or facts.detail("generation_prompt").answer != "yes":
        return
    prompt, answered = renders.render(user(), generation=True), renders.render(reply())
    if not isinstance(prompt, str) or not isinstance(answered, str) or not answered.startswith(prompt):
        return
    rest = answered[len(prompt) :].partition(REPLY)[0]
    after = rest.lstrip()
    whitespace = rest[: len(rest) - len(after)]
    if "\n" not in whitespace or (
        after and not any(after.startswith(opener.strip()) for opener, _ in known_reasoning())
    ):
        return
    tail = prompt.rpartition(USER)[2]
    line_ends = "\\n" * tail[len(tail.rstrip()) :].count("\n")
    yield Diagnostic(
        f"The generation prompt ends with '{quote(tail[-60:])}{line_ends}', without the line end that the template "
        "writes there before a response: the model has to write it itself.",
        "Nothing to do where the original template has none either; else put the line end into the generation prompt.",
        renders.line_at(user(), None, len(prompt) - 1, generation=True),
    )
