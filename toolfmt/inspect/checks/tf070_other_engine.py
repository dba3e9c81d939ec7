"""Another template engine rejects the template, or renders another prompt.

Chat templates are written for jinja2, which is Python. Runtimes that are not written in Python use another engine:
mistral.rs, text-generation-inference, SGLang's gateway and NVIDIA Dynamo use minijinja.

- `other-engine-fails`: loading the model or the request fails.
- `other-engine-differs`: the model silently gets a prompt that it was not trained on. Only the template is compared:
  these runtimes also format JSON in their own way (mistral.rs, Dynamo and SGLang's gateway without whitespace after `:`
  and `,`), which changes every prompt with tools and is not an issue of the template.

What to do: write what both engines accept and render alike. In minijinja:

- `tools is iterable and tools | length > 0` fails without tools: write `tools`, which is false for none and for an
  empty list.
- `{% generation %}` is unknown. mistral.rs and Dynamo remove the tags if they are written `{% generation %}` and
  `{% endgeneration %}`, without hyphens.
- `indent` drops the newline at the end of its text, a string is not a `sequence`, and a loop over a string has no
  `loop.last`. jinja2 in turn escapes `<`, `"` and `&` in what is joined to a text that went through `safe`, which
  prompts never need.

Example: `{%- if tools is iterable and tools | length > 0 %}`, in templates of Qwen3-Coder and Nemotron 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts

OUTCOMES = {
    "other-engine-fails": FindingOutcome("note", replaces="TF070 other-engine-fails"),
    "other-engine-differs": FindingOutcome("note", replaces="TF071 other-engine-differs"),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _fails(facts)
    yield from _differs(facts)


def _fails(facts: Facts) -> Iterator[Diagnostic]:
    other = facts.sections.portability
    for difference in other.differences if other else ():
        if difference.fails:
            yield Diagnostic(
                f"With the engine {other.engine if other else ''}, {difference.construct} fails: {difference.what}.",
                "Write it in a way that both engines support, or use a runtime that renders with jinja2.",
                difference.line,
                outcome="other-engine-fails",
            )


def _differs(facts: Facts) -> Iterator[Diagnostic]:
    other = facts.sections.portability
    for difference in other.differences if other else ():
        if not difference.fails:
            yield Diagnostic(
                f"With the engine {other.engine if other else ''}, {difference.construct} renders differently: "
                f"{difference.what}.",
                "Save the template with plain line ends (LF): jinja2 reads CRLF as LF, the other engine does not."
                if "\r\n" in difference.written + difference.expected
                else "Write it so that both engines render the same, or use a runtime that renders with jinja2.",
                difference.line,
                outcome="other-engine-differs",
            )
