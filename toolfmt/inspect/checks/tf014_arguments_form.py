"""The template accepts `arguments` of past calls in only one form: as an object, or as a JSON string.

What it checks: a past call with `arguments` as an object, as a JSON string, and as null or an empty string.

- `double-encoded`: the template applies `tojson` to a JSON string: `"arguments": "{\\"city\\": \\"Paris\\"}"`.
- `object-rejected`: an object is rejected, dropped, or printed as Python's repr, as in `{'city': 'Paris'}`.
- `string-rejected`: a JSON string is rejected, dropped, or rendered as a call with other arguments. Such a template
  loops over the arguments, which a string does not allow.
- `missing-arguments-lost`: `arguments` that are null or an empty string are rejected, dropped or printed as `None`.
  Some clients send them for a call without parameters.

Why it matters: OpenAI clients send `arguments` as a string that contains JSON; many frameworks pass an object. Given
the form that it does not accept, the template raises an error, drops the arguments, or renders a call that the model
would never write. Models copy the calls in their history.

Affected runtimes: every runtime that passes arguments in the form that the template does not accept. The chat endpoints
of vLLM (0.33.0), SGLang (0.5.23) and mlx-lm (0.32.2) convert a string to an object. If the template rejects strings,
these endpoints work; only programs that render the template themselves are affected.

Example:

    {{ tool_call.arguments | tojson }}

double-encodes a string. `{% for key, value in tool_call.arguments.items() %}` rejects a string.

Fix: pass `arguments` in the form that the template accepts; `toolfmt render` converts them. A template that only prints
the arguments can accept both forms. A template that needs each argument cannot, because jinja2 does not parse JSON.

    {{ tool_call.arguments if tool_call.arguments is string else tool_call.arguments | tojson }}

References: vLLM 0.33.0 (renderers/chat_utils/chat_message.py); SGLang 0.5.23 (entrypoints/openai/serving_chat.py);
mlx-lm 0.32.2 (server.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.checks.editing.edits import unless_string
from toolfmt.inspect.checks.editing.sites import Sites
from toolfmt.inspect.checks.editing.source import Edit
from toolfmt.inspect.checks.editing.template_fix import TemplateFix, Variant
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.runtimes.request_handling import REQUEST_HANDLING

OUTCOMES = {
    "double-encoded": FindingOutcome(
        "warning", "render", replaces="TF014 arguments-double-encoded", summary="double-encoded arguments"
    ),
    "object-rejected": FindingOutcome(
        "warning",
        "render",
        replaces="TF015 object-arguments-refused",
        forms=("object-arguments",),
        summary="`arguments` as an object fail",
    ),
    "string-rejected": FindingOutcome(
        "warning",
        "render",
        replaces="TF016 string-arguments-refused",
        forms=("string-arguments",),
        summary="`arguments` as a JSON string fail",
        why_not_fixed="a template cannot read JSON, and this one needs the arguments one by one",
    ),
    "missing-arguments-lost": FindingOutcome("note", forms=("string-arguments",)),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _double_encoded(facts)
    yield from _object_rejected(facts)
    yield from _string_rejected(facts)
    answer = facts.detail("arguments_missing")
    # A template that rejects strings needs an object in any case.
    known = answer.outcome == "threw" and not facts.yes("arguments_string")
    if answer.outcome in ("threw", "dropped", "python") and not known:
        message = f"{answer.evidence[0].upper()}{answer.evidence[1:]}."
        yield Diagnostic(
            message, "Send `{}` for a call without arguments.", answer.line, outcome="missing-arguments-lost"
        )


def _double_encoded(facts: Facts) -> Iterator[Diagnostic]:
    for form, other in (("string", "objects"), ("object", "strings")):
        answer = facts.capabilities[f"arguments_{form}"]
        if answer.outcome == "double-encoded":
            given = "a JSON string" if form == "string" else "an object"
            yield Diagnostic(
                f"Arguments given as {given} are double-encoded.",
                f"Pass arguments as {other}; {_does_it(other)}. In the template, print "
                "`arguments` unchanged if it is a string, and with `tojson` if not.",
                answer.line,
                outcome="double-encoded",
                forms=("string-arguments",) if form == "string" else ("object-arguments",),
            )


_DIFFERENT = "the call is parsed back as a different call: "
_NOT_IN_SYNTAX = "the call is not rendered in the format's syntax: "
_HOW = {"threw": "are rejected", "python": "are printed as Python's repr", "dropped": "are dropped"}


def _object_rejected(facts: Facts) -> Iterator[Diagnostic]:
    yield from _rejected(facts, "arguments_object", "an object", "a JSON string", "object-rejected")


def _string_rejected(facts: Facts) -> Iterator[Diagnostic]:
    yield from _rejected(facts, "arguments_string", "a JSON string", "objects", "string-rejected")


def _rejected(facts: Facts, capability: str, given: str, instead: str, outcome: str) -> Iterator[Diagnostic]:
    """Report arguments in this form that are not rendered as the same call, except double-encoded ones."""
    answer = facts.capabilities[capability]
    if facts.renders_calls and answer.answer != "yes" and answer.outcome != "double-encoded":
        shown = answer.excerpts[0] if answer.outcome == "python" else answer.evidence.removeprefix(_DIFFERENT)
        how = _HOW.get(answer.outcome, "are rendered as a different call")
        if shown.startswith(_NOT_IN_SYNTAX):
            how, shown = "are not rendered in the format's syntax", shown.removeprefix(_NOT_IN_SYNTAX)
        yield Diagnostic(
            f"Arguments given as {given} {how}: {shown}.",
            f"Pass arguments as {instead}; {_does_it(instead)}."
            + (" In the template, print an object with `tojson`." if capability == "arguments_object" else ""),
            answer.line,
            outcome=outcome,
        )


def _does_it(instead: str) -> str:
    """Return who passes arguments as `objects` or `strings`, whatever the client sends."""
    passing = listed(runtime for runtime, one in REQUEST_HANDLING.items() if "object-arguments" in one.passes)
    servers = f", and so do {passing}" if instead == "objects" else f", but {passing} always pass objects"
    return f"`toolfmt render` does this{servers}"


def _arguments_as_json(sites: Sites) -> Iterator[Edit]:
    """Print arguments unchanged if they are a string, and with `tojson` if they are not."""
    for access in sites.of("arguments", "parameters"):
        end = sites.filtered(access, "tojson")
        if end:
            yield unless_string(sites, access, end, sites.text(access.first, end))
        elif not sites.is_tested(access) and not sites.is_assigned(access):
            end = sites.filtered(access, "string") or access.last
            if not sites.words[end].is_one("|", ".", "["):
                yield unless_string(sites, access, end, f"{access.text} | tojson")
    for access in sites.of("function"):
        end = sites.filtered(access, "tojson")
        if end == access.last + 2:
            pairs = [(f'"{key}"', f"{access.text}.{key}") for key in ("name", "arguments")]
            yield _spelled_out(sites, access.first, end, pairs)
    for opener, word in enumerate(sites.words):
        end = sites.closed(opener) if word.is_one("{") else 0
        if end and sites.is_filter(end, "tojson") and (written := _pairs(sites, opener + 1, end - 1)):
            yield _spelled_out(sites, opener, end + 2, written)


def _pairs(sites: Sites, first: int, last: int) -> list[tuple[str, str]]:
    """Return the keys (as JSON) and values (as in the source) of an object literal.

    Empty if a key is not a plain string, or if none of the keys is for arguments.
    """
    pairs: list[tuple[str, str]] = []
    at = first
    while at < last and sites.words[at].string is not None and sites.words[at + 1].is_one(":"):
        end = at + 2
        while end < last and not sites.words[end].is_one(","):
            end = sites.closed(end) if sites.words[end].is_one("(", "[", "{") else end + 1
        pairs.append((f'"{sites.words[at].string}"', sites.text(at + 2, end)))
        at = end + 1
    whole = at >= last and any(key in ('"arguments"', '"parameters"') for key, _ in pairs)
    return pairs if whole else []


def _spelled_out(sites: Sites, first: int, end: int, pairs: Sequence[tuple[str, str]]) -> Edit:
    """Write a call that is printed with `tojson` key by key if its arguments are a string."""
    parts, arguments = [], ""
    for number, (key, value) in enumerate(pairs):
        begin = ", " if number else "{"
        if key in ('"arguments"', '"parameters"'):
            arguments = value
        parts.append(f"'{begin}{key}: ' ~ {value if value == arguments else f'({value} | tojson)'}")
    text = f"{' ~ '.join(parts)} ~ '}}' if {arguments} is string else {sites.text(first, end)}"
    whole = text if sites.is_standalone(first, end) else f"({text})"
    return Edit(sites.words[first].start, sites.words[end - 1].end, whole)


def _variants(report: Report) -> tuple[Variant, ...]:
    """Return the form that the template does not accept."""
    shape = report.profile.shape
    return ("arguments-object",) if shape is not None and shape.arguments == "string" else ("arguments-string",)


FIX = TemplateFix(_variants, _arguments_as_json)
