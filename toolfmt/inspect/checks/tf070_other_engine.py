"""Another template engine rejects the template, or renders a different prompt.

What it checks: the prompts that jinja2, minijinja and llama.cpp's engine render from this template. llama.cpp's engine
is tested if the package ggufdoctor is installed. Only the template is compared. The runtimes with minijinja also format
JSON in their own way (mistral.rs, Dynamo and SGLang's gateway without whitespace after `:` and `,`). That changes every
prompt with tools, and is not an issue of the template.

- `other-engine-fails`: loading the model or the request fails.
- `other-engine-differs`: the model silently gets a prompt that it was not trained on.

Why it matters: chat templates are written for jinja2, a Python library. Runtimes that are not written in Python use
another engine, which supports a different part of the language.

Affected runtimes: llama.cpp, and those that use minijinja: mistral.rs, text-generation-inference, SGLang's gateway and
NVIDIA Dynamo.

Example:

    {%- if tools is iterable and tools | length > 0 %}...{% endif %}

in templates of Qwen3-Coder and Nemotron 3.

Fix: write what all engines support and render in the same way. In minijinja:

- `tools is iterable and tools | length > 0` fails without tools. Write `tools`, which is false for none and for an
  empty list.
- `{% generation %}` is unknown. mistral.rs and Dynamo remove the tags if they are written `{% generation %}` and `{%
  endgeneration %}`, without hyphens.
- `indent` drops the newline at the end of its text. A string is not a `sequence`, and a loop over a string does not
  have `loop.last`.
- `safe` does not cause escaping. jinja2 escapes `<`, `"` and `&` in what is joined to the output of `safe`, which
  prompts never need.

In llama.cpp (b10775):

- None and objects are printed as nothing, and lists as their items without separators. jinja2 prints `None` and
  Python's syntax. Prompts need neither. GLM-4.6 and MiniMax-M2 print `None` for content null next to a call in jinja2,
  and nothing in llama.cpp, as intended. Write `value or ''` or `value | tojson`.
- `{% continue %}` and `{% break %}` inside of `{% if %}` remove what that `if` has printed: EXAONE 4.0 loses the system
  message. Use `{% else %}` instead.
- `//`, `**`, `%` of a string, `is sameas`, `dict()`, `{% raw %}`, the filters `batch` and `sum`, and the filters
  `default` and `list` of an object fail. So does a namespace with a name that is a method, such as `ns.items`.
- A parameter of a test without parentheses fails: write `x is eq(1)` instead of `x is eq 1`.
- `selectattr('key', 'undefined')` fails: with two parameters, the first is read as the test.
- A loop over a string fails. The filter `format` returns its text unchanged.
- Strings are bytes: the `length` of `é` is 2.

The example, fixed:

    {%- if tools %}...{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Difference
from toolfmt.inspect.runtimes.runtime_verdicts import concerned

OUTCOMES = {
    "other-engine-fails": FindingOutcome("note", replaces="TF070 other-engine-fails"),
    "other-engine-differs": FindingOutcome("note", replaces="TF071 other-engine-differs"),
}
NEEDS_A_PACKAGE = True


def check(facts: Facts) -> Iterator[Diagnostic]:
    for other in facts.sections.engines:
        # llama.cpp's engine has its name. No runtime of the report uses minijinja.
        runtimes = tuple(runtime for runtime in concerned(facts) if runtime == other.engine)
        found = [(difference, _diagnostic(other.engine, difference)) for difference in other.differences]
        for _, diagnostic in sorted(found, key=lambda pair: not pair[0].fails):
            yield replace(diagnostic, runtimes=runtimes)


def _diagnostic(engine: str, difference: Difference) -> Diagnostic:
    if difference.fails:
        return Diagnostic(
            f"With the engine {engine}, {difference.construct} fails: {difference.what}.",
            "Write it in a way that both engines support, or use a runtime that renders with jinja2.",
            difference.line,
            outcome="other-engine-fails",
        )
    return Diagnostic(
        f"With the engine {engine}, {difference.construct} renders differently: {difference.what}.",
        "Save the template with plain line ends (LF): jinja2 reads CRLF as LF, the other engine does not."
        if "\r\n" in difference.written + difference.expected
        else "Write it so that both engines render the same, or use a runtime that renders with jinja2.",
        difference.line,
        outcome="other-engine-differs",
    )
