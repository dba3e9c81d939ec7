"""Which format a model speaks: every source is asked, the strongest that answers decides, all are shown.

Strongest first: what the directory declares, the calls that its template renders and a format reads back exactly, the
signatures of the formats in the template's source, the model type, the default. No format is named here: all of them
are asked alike, so that a new one takes part by being in the registry. A call that is rendered and that no format reads
decides too: then no signature or model type can be right, and the format is one that is derived from the template's
calls and proven on others, or none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError, UnknownFormat
from toolfmt.formats import RuntimeParser, ToolCallFormat, default_format, formats, get
from toolfmt.formats.declared import formats_declared
from toolfmt.formats.parser_names import parser_names
from toolfmt.inspect.format.best_reading import ReadBack, best_reading
from toolfmt.inspect.format.derived import UnrecognizedCalls, unclaimed
from toolfmt.inspect.format.read_back import (
    trials,
)
from toolfmt.inspect.probe.capabilities import Probed, probe
from toolfmt.inspect.probe.conversations import STAND_INS, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Confidence, Evidence, FormatDecision
from toolfmt.inspect.report.wording import quote
from toolfmt.templates import ChatTemplate
from toolfmt.templates.files.read_text import LONGEST_NAME, LONGEST_TOKEN

# Who reads the key: a name means first what that runtime means by it.
_DECLARING_KEYS = {"tool_parser_type": "mlx-lm", "tool_parser": "vLLM", "tool_call_parser": "vLLM"}
_RESPONSE_TEMPLATE = "response_template"
_MOST_LITERALS = 100


@dataclass(frozen=True)
class Declaration:
    """A parser that the directory names: the file and the key, what it says, and the formats that can mean."""

    file: str
    key: str
    value: str
    formats: tuple[ToolCallFormat, ...]
    runtime: str = ""
    """Whose name for a parser it is, where one runtime reads the key."""

    @property
    def source(self) -> str:
        """Where it is declared, as a person reads it."""
        return f"{self.file}: {self.key}"

    def covers(self, format: ToolCallFormat) -> bool:
        """Whether this names the format: also where the runtime's parser of that name reads only a part of it."""
        return format in self.formats or self.value in parser_names(format, self.runtime)


@dataclass(frozen=True)
class FormatResolution:
    """The decision and what it rests on."""

    decision: FormatDecision
    format: ToolCallFormat | None
    declarations: tuple[Declaration, ...] = ()
    read_back: ReadBack | None = None
    """The format that reads the template's calls best, where one reads any."""
    rendered: str = ""
    """The call that the template renders; empty where it renders none."""
    by_model_type: tuple[ToolCallFormat, ...] = ()
    unclaimed: UnrecognizedCalls | None = None
    """What was made of calls that no known format parses; None where there are none."""


def decide(
    source: str | None,
    renders: Renders | None,
    probed: Probed | None,
    model_types: Sequence[str] = (),
    declarations: Sequence[Declaration] = (),
    *,
    derive: bool = True,
) -> FormatResolution:
    """The format, from everything there is.

    Takes the template's source (None without one), its renders and what probing found (None where it does not
    compile), the model types and the declarations; without `derive` only known formats are asked. Raises nothing but
    `LimitHit`.
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
    """The parsers that the files of a directory name."""
    found = []
    for file, values in (("tokenizer_config.json", tokenizer_config), ("config.json", config)):
        for key, runtime in _DECLARING_KEYS.items():
            value = values.get(key)
            if isinstance(value, str) and value:
                value = value if len(value) <= LONGEST_NAME else quote(value)
                found.append(Declaration(file, key, value, _named(value, runtime), runtime))
        template = values.get(_RESPONSE_TEMPLATE)
        opens, meant = _response_opens(template, "open"), formats_declared(template)
        if opens or meant:
            named = meant or tuple(
                format for format in formats() if any(opener in text for opener in format.openers for text in opens)
            )
            opens = opens or _response_opens(template, "open_pattern")
            found.append(Declaration(file, _RESPONSE_TEMPLATE, quote(" ".join(sorted(opens))), named))
    return tuple(found)


def infer(
    *, template: str | None = None, tool_parser_type: str | None = None, model_type: str | None = None
) -> ToolCallFormat | None:
    """The format that a template's text, a declared parser and a model type tell, strongest first.

    Takes any of them; returns None where they tell none, or a call that no format reads and none can be derived from.
    The template is rendered in this process, without limits: `load` is for templates that nobody has looked at.
    One that was derived is called `derived`, which `get` does not know. Never raises on what they say; raises
    `TypeError` for what is no string.
    """
    given = {"template": template, "tool_parser_type": tool_parser_type, "model_type": model_type}
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is a string, not of type {type(value).__name__}")
    declared = declarations({"tool_parser_type": tool_parser_type}, {})
    renders = None
    if template is not None:
        try:
            renders = Renders(ChatTemplate(template), STAND_INS)
            renders.render(user())  # compiles, which parsing alone does not
        except TemplateError:
            renders = None
    probed = None if renders is None else probe(renders)
    decided = decide(template, renders, probed, (model_type,) if model_type else (), declared)
    return None if decided.decision.confidence == "default" else decided.format


def signatures(source: str) -> list[tuple[ToolCallFormat, str]]:
    """The formats whose signature stands in a template's source outside comments, and where."""
    source = _without_comments(source)
    found = []
    for format in formats():
        for signature in format.signatures:
            match = re.search(signature, source)
            if match:
                line = source.count("\n", 0, match.end()) + 1  # a match over several lines ends with the marker
                shown = match[0].strip().split("\n")[-1].strip()
                found.append((format, f"{quote(shown, 40)} is in line {line} of the template"))
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
    """The format that was derived from calls that no known one reads, and how it fares on calls like any other."""
    if other.format is None or probed.shape is None:
        return None, "none", None
    found = trials(renders, other.format, probed.shape, parallel=probed.parallel, signed=True)
    return other.format, "derived", ReadBack(other.format, probed.shape, tuple(found))


def _derived_evidence(other: UnrecognizedCalls) -> Evidence:
    if other.format is None or other.derived is None:
        return Evidence("derived", None, f"no format can be derived from them: {other.why_not}")
    told = f"read off the calls that the template renders ({other.derived.kind}), {other.derived.proof}"
    return Evidence("derived", other.format.name, told, beyond="; ".join(other.derived.limits))


def _agreed(candidates: Sequence[ToolCallFormat], *others: Sequence[ToolCallFormat]) -> ToolCallFormat | None:
    """The one candidate, or the one of several that the next source with a say confirms alone."""
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
    """What a parser's name means: to the runtime that reads it, as a format's name or alias, to any other runtime."""
    meant = tuple(format for format in formats() if format.runtime_parser(runtime) == RuntimeParser(value))
    if meant:
        return meant
    try:
        return (get(value),)
    except UnknownFormat:
        return tuple(format for format in formats() if value in format.runtime_parsers.values())


def _response_opens(template: Any, key: str) -> set[str]:
    """What opens the tool calls in a `response_template` of transformers."""
    fields = template.get("fields") if isinstance(template, dict) else None
    calls = fields.get("tool_calls") if isinstance(fields, dict) else None
    opens = calls.get(key) if isinstance(calls, dict) else None
    texts = opens[:_MOST_LITERALS] if isinstance(opens, list) else [opens]
    return {text for text in texts if isinstance(text, str) and len(text) <= LONGEST_TOKEN}


def _without_comments(source: str) -> str:
    """The source with only the newlines left of its comments; by `find`, since a regular expression is not linear."""
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
        f"which is {names}" if names else "which no format is called"
    )


def _lists(format: ToolCallFormat, model_types: Sequence[str]) -> str:
    named = next(model_type for model_type in model_types if model_type in format.model_types)
    return f"models of type {named} speak {format.name} when nothing better is known"
