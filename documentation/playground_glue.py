"""The API for the playground's Web Worker: a request as JSON in, the result to show as JSON out.

It runs in the browser (and in the tests, in CPython) and is independent of the page. `answer` never raises: an error is
one line. The only HTML in the result is the report's own page, which the browser shows in a sandboxed frame. The
templates run in this process, as `trusted`: the caller ends the process when it takes too long.
"""

from __future__ import annotations

import inspect
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from toolfmt import Message, Model, Parser, Prompt, ToolCallFormat, load
from toolfmt import write as written
from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.page import marked, markers_seen, report_page
from toolfmt.cli.printing.settings import invented_result, runtime_rows, special_markers, stops
from toolfmt.cli.printing.severities import worst_first
from toolfmt.cli.printing.verdict import LEVELS, counts, first_step
from toolfmt.errors import CannotWrite, ToolfmtError
from toolfmt.formats import FORMATS
from toolfmt.formats.prompting.samples import sample, sampled_properties
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.segments import PromptSegment, added, overlaid
from toolfmt.inspect.report.report import Finding, Report, SampleSpan, SampleSpanKind
from toolfmt.messages.events import Event, ToolCallEnd, ToolCallStart
from toolfmt.messages.tools import canonical_tools
from toolfmt.render import prompt as rendering

TEMPLATE = "chat_template.jinja"
_FILES = (TEMPLATE, "config.json", "generation_config.json", "tokenizer_config.json")
_KINDS: Mapping[str, SampleSpanKind] = {
    "": "tools",
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "answer",
    "tool": "result",
    "function": "result",
}
_NEAR = 200
"""Two texts of definitions that are no further apart than so many characters have nothing else between them."""
_MOST_SHOWN = 200_000
"""So many characters of a prompt are shown."""
_MOST_CHARACTERS = 10_000
"""The limit for an output fed in chunks: each event is an element of the page, and a hundred thousand of them freeze
it.
"""


def answer(request: str) -> str:
    """The response to a request: `{"value": …}`, or `{"error": "one line"}`."""
    try:
        parsed = json.loads(request)
        return json.dumps({"value": _HANDLERS[parsed["ask"]](parsed)})
    except ToolfmtError as error:
        return json.dumps({"error": visible(str(error))})
    except RecursionError:
        return json.dumps({"error": "Nested too deep for Python in a browser; the command line may still read it."})
    except MemoryError:
        return json.dumps({"error": "The memory limit of the browser is reached; use the command line instead."})
    except Exception as error:  # noqa: BLE001 - a bug in toolfmt; the page stays usable, without a traceback
        message = visible(f"{type(error).__name__}: {error}")
        return json.dumps({"error": f"toolfmt itself failed; please report this bug: {message}"})


# --- the model


def _model(request: Mapping[str, Any]) -> Model:
    return _loaded(request["name"], json.dumps(request["files"], sort_keys=True))


@lru_cache(maxsize=1)
def _loaded(name: str, files: str) -> Model:
    """The model of these files, probed and inspected once for all requests.

    It is read from a separate folder, which becomes the working directory: a report names it by a relative path.
    """
    given = _given(json.loads(files))
    folder = Path("".join(char if char.isalnum() or char in "-_." else "-" for char in name)[:80].strip(".") or "model")
    os.chdir(tempfile.mkdtemp(prefix="toolfmt-"))
    folder.mkdir()
    for file, text in given.items():
        (folder / file).write_text(text, encoding="utf-8", newline="")
    return load(folder / TEMPLATE if set(given) == {TEMPLATE} else folder, trusted=True)


def _given(files: Mapping[str, str]) -> dict[str, str]:
    """The files that are not empty. A template that is a whole tokenizer_config.json is used as one."""
    given = {name: files[name] for name in _FILES if files.get(name, "").strip()}
    if TEMPLATE in given and _is_configuration(given[TEMPLATE]):
        if "tokenizer_config.json" in given:
            raise ToolfmtError(
                "The template box contains a whole tokenizer_config.json, and the box for that file another one; "
                "empty one of them."
            )
        given["tokenizer_config.json"] = given.pop(TEMPLATE)
    if not given:
        raise ToolfmtError("No template yet: paste one, or choose an example.")
    return given


def _is_configuration(text: str) -> bool:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(read, dict) and "chat_template" in read


def _inspected(request: Mapping[str, Any]) -> dict[str, Any]:
    report = _model(request).inspect()
    return {
        "verdict": report.verdict.tools,
        "level": LEVELS[report.verdict.tools],
        "sentence": visible(report.verdict.sentence),
        "first": visible(": ".join(first_step(report) or ())),
        "counts": counts(report),
        "format": report.format.name,
        "confidence": report.format.confidence,
        "derived": "" if report.format.derived is None else visible(report.format.derived.kind),
        "findings": [_finding(finding) for finding in (*worst_first(report.findings), *report.notes)],
        "settings": _settings(report),
        "page": report_page(report),
        "json": report.to_dict(),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    values = finding.to_dict()
    return {key: visible(value) if isinstance(value, str) else value for key, value in values.items()}


def _settings(report: Report) -> list[dict[str, Any]]:
    """The settings for each runtime, each with whether it is something to type."""
    settings = [
        {"what": one.runtime, "text": one.text, "typed": one.typed, "more": f"{one.status}; {one.remark}".rstrip("; ")}
        for one in runtime_rows(report)
    ]
    for marks, where in stops(report):
        if marks:
            more = ", ".join(filter(None, (where, invented_result(report))))
            settings.append({"what": "stop at", "text": "  ".join(marks), "typed": True, "more": more})
    if special := special_markers(report):
        settings.append(
            {"what": "special tokens", "text": "  ".join(special), "typed": True, "more": "do not skip them"}
        )
    return settings


# --- the prompt


def _rendered(request: Mapping[str, Any]) -> dict[str, Any]:
    model = _model(request)
    prompt = _prompt(model, request)
    return {
        "text": prompt.text,
        "strategy": prompt.strategy,
        "format": prompt.format,
        "adaptations": list(prompt.adaptations),
        "prefill": visible(prompt.prefill),
        "stop": [visible(stop) for stop in prompt.stop],
        "pieces": _drawn(model, prompt, request),
    }


def _prompt(model: Model, request: Mapping[str, Any], **options: Any) -> Prompt:
    given = _read(request, "variables", {})
    if not isinstance(given, dict):
        raise ToolfmtError('Variables: an object is expected, as {"enable_thinking": false}.')
    options_of = {*inspect.signature(rendering.render).parameters, *inspect.signature(Model.render).parameters}
    known = [name for name in given if name in options_of]
    if known:
        raise ToolfmtError(f"Variables: {known[0]!r} is not a template variable but an option of toolfmt's render.")
    now = datetime.fromisoformat(request["now"]) if request.get("now") else None
    messages, tools = _read(request, "messages", []), _tools(request)
    return model.render(messages, tools, request.get("strategy") or "auto", now=now, **{**given, **options})


def _tools(request: Mapping[str, Any]) -> Any:
    return _read(request, "tools", None)


def _read(request: Mapping[str, Any], name: str, default: Any) -> Any:
    """The JSON in a box of the page."""
    text = request.get(name, "")
    if not text.strip():
        return default
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ToolfmtError(f"{name.capitalize()}: this is not JSON ({where}: {error.msg}).") from None
    except (ValueError, RecursionError) as error:
        raise ToolfmtError(f"{name.capitalize()}: this JSON cannot be read ({type(error).__name__}).") from None


def _drawn(model: Model, prompt: Prompt, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pieces of the prompt, each in parts that are markers or not."""
    markers = markers_seen(model.inspect())
    return [
        {"kind": piece.kind, "name": visible(piece.name), "parts": list(marked(piece, markers))}
        for piece in pieces(model, prompt, request)
    ]


def pieces(model: Model, prompt: Prompt, request: Mapping[str, Any]) -> Iterator[SampleSpan]:
    """The kind of each segment of the prompt; the segments join to the prompt, or to as much of it as is shown.

    The texts of the request are where rendering has located them; a call is what the parser reads as one between them,
    tools and generation prompt are what the prompt has in addition to one without them.
    """
    texts = _texts(prompt)
    layers = [
        _generation(model, prompt, request),
        _tool_stretches(model, prompt, request, texts),
        texts,
        _calls(prompt),
    ]
    stretches: list[PromptSegment] = []
    for layer in layers:
        stretches = overlaid(stretches, layer)
    text, at = prompt.text[:_MOST_SHOWN], 0
    for stretch in [*stretches, PromptSegment(len(text), len(text), "frame")]:
        if text[at : stretch.begin]:
            yield SampleSpan("frame", text[at : stretch.begin])
        if text[stretch.begin : stretch.end]:
            yield SampleSpan(stretch.kind, text[stretch.begin : stretch.end], stretch.name)
        at = stretch.end


def _other_prompt(model: Model, request: Mapping[str, Any], **options: Any) -> str | None:
    """The prompt of the same request with a change; None if the template raises for it."""
    try:
        return _prompt(model, request, **options).text
    except ToolfmtError:
        return None


def _generation(model: Model, prompt: Prompt, request: Mapping[str, Any]) -> list[PromptSegment]:
    other = _other_prompt(model, request, add_generation_prompt=False)
    if other is None or other == prompt.text:
        return []
    begin = max([common_prefix(prompt.text, other), *(span.end for span in prompt.spans)])
    return [PromptSegment(begin, len(prompt.text), "generation")] if begin < len(prompt.text) else []


def _texts(prompt: Prompt) -> list[PromptSegment]:
    """The texts of the messages, in order; of two overlapping texts, the first."""
    texts: list[PromptSegment] = []
    for span in sorted(prompt.spans, key=lambda span: (span.begin, -span.end)):
        if span.message >= 0 and (not texts or span.begin >= texts[-1].end):
            texts.append(PromptSegment(span.begin, span.end, _KINDS.get(span.role, "user")))
    return texts


def _tool_stretches(
    model: Model, prompt: Prompt, request: Mapping[str, Any], texts: Sequence[PromptSegment]
) -> list[PromptSegment]:
    """Where tools are described: text that is absent without them, and contains a text of a definition."""
    defined = [(span.begin, span.end) for span in prompt.spans if span.message < 0]
    if not defined:
        return []
    other = _other_prompt(model, {**request, "tools": ""})
    anchors = [prompt.text[text.begin : text.end] for text in texts if text.kind != "answer"]
    beyond = [] if other is None else added(prompt.text, other, anchors)
    tool_spans = [span for span in beyond if any(span[0] <= begin < span[1] for begin, _ in defined)]
    joined: list[PromptSegment] = []
    for begin, end in sorted([*tool_spans, *defined]):
        last = joined[-1] if joined else None
        if last is not None and begin - last.end < _NEAR and not _between(texts, last.end, begin):
            joined[-1] = PromptSegment(last.begin, max(last.end, end), "tools")
        else:
            joined.append(PromptSegment(begin, end, "tools"))
    return joined


def _between(texts: Sequence[PromptSegment], begin: int, end: int) -> bool:
    return any(begin <= text.begin < end for text in texts)


def _calls(prompt: Prompt) -> list[PromptSegment]:
    """The calls of the conversation: between the text before those of a message with calls, and the text after."""
    known = prompt.tool_call_format
    if known is None:
        return []
    found: list[PromptSegment] = []
    for message in dict.fromkeys(span.message for span in prompt.spans if span.role == "assistant"):
        begin, end = _around(prompt, message)
        found += [
            PromptSegment(begin + first, begin + last, "call", name)
            for first, last, name in _calls_in(prompt.text[begin:end], known, prompt.tools)
        ]
    return overlaid([], sorted(found, key=lambda call: call.begin))


def _around(prompt: Prompt, message: int) -> tuple[int, int]:
    """From the text before those of a message to the one after them."""
    own = [span for span in prompt.spans if span.message == message]
    begin, end = min(span.begin for span in own), max(span.end for span in own)
    before = [span.end for span in prompt.spans if span.message != message and span.end <= begin]
    after = [span.begin for span in prompt.spans if span.message != message and span.begin >= end]
    return max(before, default=0), min(after, default=len(prompt.text))


def _calls_in(text: str, known: ToolCallFormat, tools: Any) -> Iterator[tuple[int, int, str]]:
    parser = Parser(known, tools=tools)
    names: dict[int, str] = {}
    for event in [*parser.feed(text), *parser.finish()]:
        if isinstance(event, ToolCallStart):
            names[event.index] = event.name
        elif isinstance(event, ToolCallEnd):
            yield (*event.span, names[event.index])


# --- the output


class _Reading:
    """One output while it is typed: what has been fed is kept as long as the text only grows."""

    def __init__(self) -> None:
        self._of = ""
        self._text = ""
        self._events: list[Event] = []
        self._parser: Parser | None = None

    def read(self, request: Mapping[str, Any]) -> dict[str, Any]:
        keys = ("name", "files", "messages", "tools", "variables", "strategy", "format", "pieces")
        of = json.dumps([request.get(key) for key in keys])
        text = request["text"]
        if self._parser is None or of != self._of or not text.startswith(self._text):
            self._of, self._text, self._events, self._parser = of, "", [], None
            self._parser = _parser(request)
        parser, more = self._parser, text[len(self._text) :]
        if request.get("pieces") == "characters" and len(text) > _MOST_CHARACTERS:
            raise ToolfmtError(
                f"Character by character, the limit is {_MOST_CHARACTERS:,} characters, and this output has "
                f"{len(text):,}; feed it whole."
            )
        for piece in list(more) if request.get("pieces") == "characters" else [more] if more else []:
            self._events += parser.feed(piece)
        self._text = text
        end = parser.copy().finish()
        message = Message.from_events([*parser.continued, *self._events, *end], (), parser.format.call_id)
        return {
            "format": parser.format.name,
            "events": [_as_dict(event) for event in self._events],
            "end": [_as_dict(event) for event in end],
            "waiting": parser.waiting_for,
            "ended": parser.ended,
            "message": message.to_dict(),
        }


def _parser(request: Mapping[str, Any]) -> Parser:
    """The parser for this output: that of the prompt, or one of a format that was selected."""
    if request["format"]:
        return Parser(request["format"], tools=_tools(request))
    return _prompt(_model(request), request).parser()


def _as_dict(event: Event) -> dict[str, Any]:
    return event.to_dict()


def _example_call(request: Mapping[str, Any]) -> str:
    """A call of the first tool that the format can write, with values that a person would give."""
    tools = canonical_tools(_tools(request) or [])
    if not tools:
        raise ToolfmtError("No tools yet: write one into the tools box.")
    reason = ""
    for tool in tools:
        function = tool["function"]
        schema = function.get("parameters") or {}
        call = (function["name"], {name: sample(schema, name) for name in sampled_properties(schema)})
        try:
            if request["format"]:
                return written(request["format"], [call], tools)
            return _model(request).write([call], tools)
        except CannotWrite as error:
            reason = reason or str(error)
    raise ToolfmtError(reason)


def _formats(_: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All formats by name, each with the families that write it."""
    return [{"name": format.name, "families": list(format.families)} for format in FORMATS]


_HANDLERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "inspect": _inspected,
    "render": _rendered,
    "read": _Reading().read,
    "write": _example_call,
    "formats": _formats,
}
