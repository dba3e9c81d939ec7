"""Decide the format of a model: the strongest source with a result wins, and the evidence of all is shown.

Strongest first: the directory's declaration, the rendered calls that a format reads back exactly, the signatures of
formats in the template's source, the model type, the default. No format is named here: all of them are tried in the
same way, so a new one only has to be in the registry. A rendered call that no format reads is decisive too: no
signature or model type can be right then. The format is one that is derived from the template's calls and verified on
others, or None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError, UnknownFormat
from toolfmt.formats import RuntimeParser, ToolCallFormat, default_format, formats, get
from toolfmt.formats.response_template.reader import declared_formats
from toolfmt.formats.runtime_parsers import parser_names
from toolfmt.inspect.format.best_reading import ReadBack, best_reading
from toolfmt.inspect.format.derived import UnrecognizedCalls, unclaimed
from toolfmt.inspect.format.read_back import (
    trials,
)
from toolfmt.inspect.probe.capabilities import Probed, probe
from toolfmt.inspect.probe.conversations import PLACEHOLDERS, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Confidence, Evidence, FormatDecision
from toolfmt.inspect.report.wording import quote
from toolfmt.templates import ChatTemplate
from toolfmt.templates.files.read_text import LONGEST_NAME, LONGEST_TOKEN

# The runtime that reads the key: its own meaning of a name comes first.
_RESPONSE_TEMPLATE = "response_template"
_DECLARING_KEYS = {"tool_parser_type": "mlx-lm", "tool_parser": "vLLM", "tool_call_parser": "vLLM"}
_READERS = {"tool_parser_type": ("mlx-lm", "mlx-swift-lm"), _RESPONSE_TEMPLATE: ("transformers",)}
_MOST_LITERALS = 100


@dataclass(frozen=True)
class Declaration:
    """A parser that the directory declares: the file, the key, the value, and the formats that it may refer to."""

    file: str
    key: str
    value: str
    formats: tuple[ToolCallFormat, ...]
    runtime: str = ""
    """The runtime that the parser name belongs to, if one runtime reads the key."""
    readers: tuple[str, ...] = ()
    """The runtimes that read the key; known only by a program of the user's if empty."""

    @property
    def source(self) -> str:
        """The file and the key, for display."""
        return f"{self.file}: {self.key}"

    def covers(self, format: ToolCallFormat) -> bool:
        """Return whether this declares the format, also if the runtime's parser of that name reads only a part."""
        return format in self.formats or self.value in parser_names(format, self.runtime)


@dataclass(frozen=True)
class FormatResolution:
    """The decision and its evidence."""

    decision: FormatDecision
    format: ToolCallFormat | None
    declarations: tuple[Declaration, ...] = ()
    read_back: ReadBack | None = None
    """The format that reads the template's calls best, if any does."""
    rendered: str = ""
    """The call that the template renders; empty if it renders none."""
    by_model_type: tuple[ToolCallFormat, ...] = ()
    unclaimed: UnrecognizedCalls | None = None
    """The analysis of calls that no known format parses; None without such calls."""


def decide(
    source: str | None,
    renders: Renders | None,
    probed: Probed | None,
    model_types: Sequence[str] = (),
    declarations: Sequence[Declaration] = (),
    *,
    derive: bool = True,
) -> FormatResolution:
    """Return the format, from all evidence.

    `source` is the template's source (None without one), `renders` and `probed` are None if it does not compile. With
    `derive=False`, only known formats are tried. Raise only `LimitHit`.
    """
    signed = signatures(source or "")
    typed = tuple(format for format in formats() if any(model_type in format.model_types for model_type in model_types))
    best, rendered = None, ""
    if renders is not None and probed is not None and probed.shape is not None:
        region, best = best_reading(renders, probed, tuple(format for format, _ in signed), typed)
        rendered = region.text.strip()
    evidence = [
        *(Evidence("declared", _only_name(declared.formats), _declares(declared)) for declared in declarations),
        *_read_evidence(best, rendered),
        *(Evidence("signature", format.name, detail) for format, detail in signed),
        *(Evidence("model-type", format.name, _lists(format, model_types)) for format in typed),
    ]
    known = tuple(format for format, _ in signed)
    format, confidence = _strongest(declarations, best, rendered, known, typed)
    other = None
    if derive and best is None and rendered and renders is not None and probed is not None:
        likely = (*sorted(typed, key=lambda one: one not in known), *known)
        other = unclaimed(renders, probed, likely, derive=format is None)
        if format is None:
            format, confidence, best = _derived(renders, probed, other)
            evidence.append(_derived_evidence(other))
    if format is None and not rendered and source is not None:
        format, confidence = default_format(), "default"
        evidence.append(Evidence("default", format.name, "no evidence of the format; this is the default"))
    variant = ""
    if format is not None and best is not None and best.format == format and renders is not None and probed is not None:
        variant = best.variant or ""
    made = None if other is None else other.derived
    decision = FormatDecision(format.name if format else None, confidence, tuple(evidence), variant, made)
    return FormatResolution(decision, format, tuple(declarations), best, rendered, typed, other)


def declarations(tokenizer_config: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[Declaration, ...]:
    """Return the parsers that the files of a directory declare."""
    found = []
    for file, values in (("tokenizer_config.json", tokenizer_config), ("config.json", config)):
        for key, runtime in _DECLARING_KEYS.items():
            value = values.get(key)
            if isinstance(value, str) and value:
                value = value if len(value) <= LONGEST_NAME else quote(value)
                found.append(Declaration(file, key, value, _named(value, runtime), runtime, _READERS.get(key, ())))
        template = values.get(_RESPONSE_TEMPLATE)
        opens, declared = _response_opens(template, "open"), declared_formats(template)
        if opens or declared:
            named = declared or tuple(
                format for format in formats() if any(opener in text for opener in format.openers for text in opens)
            )
            opens = opens or _response_opens(template, "open_pattern")
            value = quote(" ".join(sorted(opens)))
            found.append(Declaration(file, _RESPONSE_TEMPLATE, value, named, readers=_READERS[_RESPONSE_TEMPLATE]))
    return tuple(found)


def infer(
    *, template: str | None = None, tool_parser_type: str | None = None, model_type: str | None = None
) -> ToolCallFormat | None:
    """Return the format for a template, a declared parser and a model type, in this order of strength.

    The template is rendered in this process, without limits: use `load` for untrusted templates. A derived format is
    named `derived`, which `get` does not know. Invalid values never raise, except values that are not strings.

    Args:
        template: The source of a chat template.
        tool_parser_type: The name of a parser that the model declares.
        model_type: The `model_type` in config.json.

    Returns:
        None if the arguments do not determine a format, or if the template renders a call that no format reads and none
            can be derived.

    Raises:
        TypeError: A value is not a string.
    """
    given = {"template": template, "tool_parser_type": tool_parser_type, "model_type": model_type}
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is a string, not of type {type(value).__name__}")
    declared = declarations({"tool_parser_type": tool_parser_type}, {})
    renders = None
    if template is not None:
        try:
            renders = Renders(ChatTemplate(template), PLACEHOLDERS)
            renders.render(user())  # compiles the template, which parsing alone does not
        except TemplateError:
            renders = None
    probed = None if renders is None else probe(renders)
    decided = decide(template, renders, probed, (model_type,) if model_type else (), declared)
    return None if decided.decision.confidence == "default" else decided.format


def signatures(source: str) -> list[tuple[ToolCallFormat, str]]:
    """Return the formats with a signature in a template's source outside comments, and the location."""
    source = _without_comments(source)
    found = []
    for format in formats():
        for signature in format.signatures:
            match = re.search(signature, source)
            if match:
                line = source.count("\n", 0, match.end()) + 1  # a match over several lines ends with the marker
                shown = match[0].strip().split("\n")[-1].strip()
                found.append((format, f"line {line} of the template has '{quote(shown, 40)}'"))
                break
    return found


def _strongest(
    declarations: Sequence[Declaration],
    best: ReadBack | None,
    rendered: str,
    signed: Sequence[ToolCallFormat],
    typed: Sequence[ToolCallFormat],
) -> tuple[ToolCallFormat | None, Confidence]:
    for declared in declarations:
        if best is not None and declared.covers(best.format):
            return best.format, "declared"
        agreed = _agreed(declared.formats, [best.format] if best else [], signed, typed) or next(
            (format for format in declared.formats if format.name == declared.value), None
        )
        if agreed is not None:
            return agreed, "declared"
    if best is not None:
        return best.format, "verified" if best.verified else "signature"
    if rendered:
        return None, "none"
    agreed = _agreed(signed, typed)
    if agreed is not None:
        return agreed, "signature"
    if len(typed) == 1:
        return typed[0], "model-type"
    return None, "none"


def _derived(
    renders: Renders, probed: Probed, other: UnrecognizedCalls
) -> tuple[ToolCallFormat | None, Confidence, ReadBack | None]:
    """Return the format derived from calls that no known one reads, and its results on the usual calls."""
    if other.format is None or probed.shape is None:
        return None, "none", None
    found = trials(renders, other.format, probed.shape, parallel=probed.parallel, signed=True)
    return other.format, "derived", ReadBack(other.format, probed.shape, tuple(found))


def _derived_evidence(other: UnrecognizedCalls) -> Evidence:
    if other.format is None or other.derived is None:
        return Evidence("derived", None, f"no format can be derived from them: {other.why_not}")
    summary = f"read off the calls that the template renders ({other.derived.kind}), {other.derived.proof}"
    return Evidence("derived", other.format.name, summary, beyond="; ".join(other.derived.limits))


def _agreed(candidates: Sequence[ToolCallFormat], *others: Sequence[ToolCallFormat]) -> ToolCallFormat | None:
    """Return the only candidate, or the only one of several that the next conclusive source confirms."""
    for other in others:
        if len(candidates) < 2:
            break
        names = {format.name for format in other}
        candidates = [format for format in candidates if format.name in names] or candidates
    return candidates[0] if len(candidates) == 1 else None


def _read_evidence(best: ReadBack | None, rendered: str) -> list[Evidence]:
    if best is not None:
        return [best.evidence()]
    if rendered:
        return [Evidence("verified", None, f"no format reads the call that the template renders: {quote(rendered)}")]
    return []


def _named(value: str, runtime: str) -> tuple[ToolCallFormat, ...]:
    """Return the formats that a parser name means: to its runtime, as a format name or alias, or to any runtime."""
    matching = tuple(format for format in formats() if format.runtime_parser(runtime) == RuntimeParser(value))
    if matching:
        return matching
    try:
        return (get(value),)
    except UnknownFormat:
        return tuple(format for format in formats() if value in format.runtime_parsers.values())


def _response_opens(template: Any, key: str) -> set[str]:
    """Return the start markers of tool calls in a `response_template` of transformers."""
    fields = template.get("fields") if isinstance(template, dict) else None
    calls = fields.get("tool_calls") if isinstance(fields, dict) else None
    opens = calls.get(key) if isinstance(calls, dict) else None
    texts = opens[:_MOST_LITERALS] if isinstance(opens, list) else [opens]
    return {text for text in texts if isinstance(text, str) and len(text) <= LONGEST_TOKEN}


def _without_comments(source: str) -> str:
    """Return the source with comments reduced to their newlines.

    Uses `find`, since a regular expression is not linear.
    """
    kept, at = [], 0
    while (begin := source.find("{#", at)) >= 0 and (end := source.find("#}", begin + 2)) >= 0:
        kept += [source[at:begin], "\n" * source.count("\n", begin, end)]
        at = end + 2
    return "".join([*kept, source[at:]])


def _only_name(formats: Sequence[ToolCallFormat]) -> str | None:
    return formats[0].name if len(formats) == 1 else None


def _declares(declared: Declaration) -> str:
    names = listed((format.name for format in declared.formats), "or")
    return f"{declared.source} is {declared.value!r}, " + (
        f"a parser for {names}" if names else "which no format is called"
    )


def _lists(format: ToolCallFormat, model_types: Sequence[str]) -> str:
    named = next(model_type for model_type in model_types if model_type in format.model_types)
    return f"the model type {named} implies {format.name}; used only if there is no other evidence"
