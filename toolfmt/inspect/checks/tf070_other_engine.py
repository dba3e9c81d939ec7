"""Another template engine rejects the template, or renders a different prompt.

What it checks: the prompts that jinja2 and minijinja render from this template. Only the template is compared. The
runtimes below also format JSON in their own way (mistral.rs, Dynamo and SGLang's gateway without whitespace after `:`
and `,`). That changes every prompt with tools, and is not an issue of the template.

- `other-engine-fails`: loading the model or the request fails.
- `other-engine-differs`: the model silently gets a prompt that it was not trained on.

Why it matters: chat templates are written for jinja2, a Python library. Runtimes that are not written in Python use
another engine, which supports a different part of the language.

Affected runtimes: mistral.rs, text-generation-inference, SGLang's gateway and NVIDIA Dynamo, which use minijinja.

Example:

    {%- if tools is iterable and tools | length > 0 %}...{% endif %}

in templates of Qwen3-Coder and Nemotron 3.

Fix: write what both engines support and render in the same way. In minijinja:

- `tools is iterable and tools | length > 0` fails without tools. Write `tools`, which is false for none and for an
  empty list.
- `{% generation %}` is unknown. mistral.rs and Dynamo remove the tags if they are written `{% generation %}` and `{%
  endgeneration %}`, without hyphens.
- `indent` drops the newline at the end of its text. A string is not a `sequence`, and a loop over a string does not
  have `loop.last`.
- `safe` does not cause escaping. jinja2 escapes `<`, `"` and `&` in what is joined to the output of `safe`, which
  prompts never need.

The example, fixed:

    {%- if tools %}...{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts

OUTCOMES = {
    "other-engine-fails": FindingOutcome("note", replaces="TF070 other-engine-fails"),
    "other-engine-differs": FindingOutcome("note", replaces="TF071 other-engine-differs"),
}
NEEDS_A_PACKAGE = True


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
                runtimes=(),
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
                runtimes=(),
            )
