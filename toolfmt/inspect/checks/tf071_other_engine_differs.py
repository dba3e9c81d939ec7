"""Another template engine writes another prompt.

The model then reads a prompt that it was not trained on, and nothing says so. Which runtimes are concerned: see
TF070. What is compared is the template alone: these runtimes also write JSON as they like (mistral.rs, Dynamo and
SGLang's gateway without blanks behind `:` and `,`), which changes every prompt with tools and is no fault of the
template.

What to do: write what both engines take alike. minijinja drops the newline at the end of a text that `indent` gets;
for it a string is no `sequence`, and a loop over a string has no `loop.last`; and jinja2 escapes `<`, `"` and `&` in
what is joined to a text that went through `safe`, which prompts never need.

Example: `{{ '{\\n' | indent(4, first=true) }}`, in templates of Command R: the line break is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Diagnostic]:
    other = facts.sections.portability
    for difference in other.differences if other else ():
        if not difference.fails:
            yield Diagnostic(
                f"With the engine {other.engine if other else ''}, {difference.construct} comes out differently: "
                f"{difference.what}.",
                "Save the template with plain line ends (LF): jinja2 reads CRLF as LF, the other engine does not."
                if "\r\n" in difference.written + difference.expected
                else "Write it in a way that both engines render alike, or use a runtime that renders with jinja2.",
                difference.line,
            )
