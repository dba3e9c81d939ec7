"""Every known syntax of calls, by the text that a call in it starts with.

Formats share syntaxes, so a start marker has several candidates. Their order decides between those that read a text
equally well: the most common formats first, then the others by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.tagged import INVOKE_TAGS, Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.known import KNOWN
from toolfmt.formats.parser.bare_calls import RECIPIENTS, BareHeader, NameTag

_FIRST = (
    "json", "xml_function", "qwen3_5", "glm4", "lfm2", "llama3", "gemma4", "gemma", "mistral", "minimax_m2",
    "deepseek_dsml", "hunyuan_v3", "gpt_oss", "kimi_k2", "mistral_list", "granite", "phi4", "xlam",
)  # fmt: skip
_JSON_TAGS = ("function", "function_call", "tools", "tool", "tool_calls", "function_calls")
"""Tags around JSON calls that models write by mistake."""
_LABELS = ("tool_call: {", "tool_call:{")
_CODE = "```"
_WORD_START = re.compile(r"[A-Z][a-z0-9]*")


@dataclass(frozen=True)
class Syntax:
    """A way to read a call.

    Attributes:
        name: The kind of syntax, for the tolerance.
        engine: Reads the call.
        opener: The start marker that the engine gets; empty for a call without a frame.
        text: The start of the call, which the engine does not read: the start marker, or a label.
        alone: Whether the call counts only if nothing else is on its last line. Other engines check this themselves.
    """

    name: str
    engine: Engine
    opener: str = ""
    text: str = ""
    alone: bool = False

    @cached_property
    def format(self) -> ToolCallFormat:
        """The syntax as a format, for the recovery after a malformed call."""
        return ToolCallFormat(name=self.name, engine=self.engine)


@dataclass(frozen=True, eq=False)
class Syntaxes:
    """All known syntaxes.

    Attributes:
        framed: By start marker of a frame.
        unframed: By the start of a call without a frame, at the start of the output or of a line.
        start_only: By start marker of a frame at the start of a message, if it counts only there.
    """

    framed: Mapping[str, tuple[Syntax, ...]]
    unframed: Mapping[str, tuple[Syntax, ...]]
    start_only: Mapping[str, tuple[Syntax, ...]]

    def of(self, start: str, *, messages: bool) -> tuple[Syntax, ...]:
        """Return the syntaxes of calls that start with a literal, with those of `start_only` if `messages` is set."""
        found = self.framed.get(start, ()) or self.unframed.get(start, ())
        if not messages:
            return found
        return *found, *(one for other, them in self.start_only.items() if start.startswith(other) for one in them)

    def of_name(self, following: str) -> tuple[Syntax, ...]:
        """Return the syntaxes of a call that starts with a declared name and this character."""
        if following == "(":
            return (_PYTHON,)
        return (_HEADER, *_MARKED) if following == "{" else (_HEADER,)

    @property
    def name_tag(self) -> tuple[Syntax, ...]:
        """The syntaxes of a call that starts with a declared name as a tag."""
        return (_NAME_TAG,)


def _format(name: str) -> ToolCallFormat:
    return next(format for format in KNOWN if format.name == name)


def _leaves(engine: Engine) -> tuple[Engine, ...]:
    return engine.engines if isinstance(engine, Choice) else (engine,)


def _kind(engine: Engine) -> str:
    """Return the name of a syntax: `json_object` for the engine `JsonObject`."""
    return "_".join(part.lower() for part in _WORD_START.findall(type(getattr(engine, "engine", engine)).__name__))


def _engines() -> Iterable[Engine]:
    """Return the engines of all formats, and of syntaxes without a format, in order of preference."""
    first = [_format(name) for name in _FIRST]
    for format in (*first, *(format for format in KNOWN if format not in first)):
        yield from _leaves(format.engine)
        if format is first[0]:
            yield from (JsonObject(opener=f"<{tag}>", closer=f"</{tag}>") for tag in _JSON_TAGS)
            yield replace(INVOKE_TAGS, opener="<tml:function_calls>", closer="</tml:function_calls>")
            yield CallExpression(
                opener="<function-call>", closer="</function-call>", notation=_LFM2.notation, written=_LFM2.written,
                enclosing=("[", "]"),
            )  # fmt: skip


_JSON = next(engine for engine in _leaves(_format("json").engine) if isinstance(engine, JsonObject))
_LFM2 = next(engine for engine in _leaves(_format("lfm2").engine) if isinstance(engine, CallExpression))
_BARE_JSON = Syntax("json_object", _JSON)
_PYTHON = Syntax("call_expression", _LFM2)
_HEADER = Syntax("bare_header", BareHeader(), alone=True)
_NAME_TAG = Syntax("name_tag", NameTag(), alone=True)
_MARKED = tuple(
    Syntax("call_expression", engine, engine.openers[0], alone=True)
    for name in ("gemma4", "gemma")
    for engine in _leaves(_format(name).engine)[:1]
)
"""Calls of Gemma after the name, without their start marker and the word before the name."""


@cache
def syntaxes() -> Syntaxes:
    """Return all known syntaxes of calls."""
    framed: dict[str, list[Syntax]] = {}
    unframed: dict[str, list[Syntax]] = {}
    start_only: dict[str, list[Syntax]] = {}
    engines = tuple(_engines())
    starts = tuple(dict.fromkeys(opener for engine in engines for opener in engine.openers))
    framed |= {start: [] for start in starts}
    for engine in engines:
        kind, openers = _kind(engine), sorted(engine.openers, key=len, reverse=True)
        for start in starts:
            for opener in openers:
                if start.startswith(opener) or opener.startswith(start):
                    _add(framed[start], Syntax(kind, engine, opener, opener))
        for start in engine.start_only_openers:
            _add((framed if start in framed else start_only).setdefault(start, []), Syntax(kind, engine, start, start))
        for literal in engine.unframed_openers:
            _add((framed if literal in framed else unframed).setdefault(literal, []), Syntax(kind, engine))
    apertus = _format("apertus").engine
    unframed["{"] = [_BARE_JSON]
    unframed[_CODE] = [_BARE_JSON, _PYTHON]
    unframed["["] = [_BARE_JSON, _PYTHON, Syntax("keyed_object", apertus, apertus.openers[0], alone=True)]
    for label in _LABELS:
        unframed[label] = [Syntax("json_object", _JSON, text=label[:-1])]
    for recipient in RECIPIENTS:
        unframed[recipient] = [_HEADER]
    for start in [start for start in framed if start[0].isalnum()]:
        unframed[start] = framed.pop(start)  # a word counts only at the start of a line
    groups = (framed, unframed, start_only)
    return Syntaxes(*({start: tuple(found) for start, found in group.items()} for group in groups))


def _add(found: list[Syntax], syntax: Syntax) -> None:
    """Add a syntax unless one that reads the same is there already."""
    if not any(_what_it_reads(other) == _what_it_reads(syntax) for other in found):
        found.append(syntax)


def _what_it_reads(syntax: Syntax) -> tuple[object, ...]:
    """Return the parts of a syntax that decide which calls it reads, apart from tolerances."""
    engine = syntax.engine
    parts: tuple[object, ...] = (engine,)
    if isinstance(engine, JsonObject):
        parts = (engine.name_key, engine.arguments_key, engine.wrapper, engine.notation)
    elif isinstance(engine, Tagged):
        names, keys = (engine.name_opener, engine.name_closer), (engine.key_opener, engine.key_closer)
        parts = (*names, *keys, engine.value_opener, engine.value_closer)
    return type(engine), syntax.opener, syntax.text, *parts
