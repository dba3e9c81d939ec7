"""Propose every format that a template's calls could have, the most likely first: `Candidates`.

`derive.py` verifies each of them. A rendering limit ends it; apart from that only `NotDerivable` is raised, whatever a
template renders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias

from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import DERIVED, ToolCallFormat
from toolfmt.inspect.format.derive.code_calls import code_calls
from toolfmt.inspect.format.derive.engine_drafts import EngineCandidate
from toolfmt.inspect.format.derive.json_objects import json_objects
from toolfmt.inspect.format.derive.named_json import name_then_json
from toolfmt.inspect.format.derive.nested import nested_tags
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.rendered_calls import SENTINELS, Rendered, rendered
from toolfmt.inspect.format.derive.surroundings import Surroundings, ignored_after
from toolfmt.inspect.format.derive.tags import tags
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import quote

_MOST = 24
_KINDS: tuple[tuple[str, Callable[[Rendered, Surroundings], Iterator[EngineCandidate]]], ...] = (
    ("JSON objects", json_objects),
    ("a name, then JSON", name_then_json),
    ("nested tags", nested_tags),
    ("calls as code", code_calls),
    ("tags", tags),
)
_BROKEN_JSON = re.compile(r'\{\s*"\w*"?|"\s*:|\}')
_MARKS = (
    "opener",
    "closer",
    "call_opener",
    "call_closer",
    "lead",
    "separator",
    "name_opener",
    "name_closer",
    "key_opener",
    "key_closer",
    "value_opener",
    "value_closer",
)
_PROSE = re.compile(r"[\w\s.,:;!?'\"-]*")
"""Characters of prose, which is not a marker."""
_INSTRUCTIONS = (
    "To call a tool, write the call exactly as the example below shows it, with nothing left out and nothing added."
)

Rejection: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Candidate:
    """A format that may be the template's; `kind` is its description for people."""

    format: ToolCallFormat
    kind: str


class Candidates:
    """The formats that can be derived from one template. Raise `NotDerivable` if it writes no call to derive from."""

    def __init__(self, renders: Renders, shape: TurnShape) -> None:
        self._rendered = rendered(renders, shape)
        self._around = Surroundings(self._rendered)
        self.parallel = self._rendered.two is not None
        """Whether a turn may have two calls."""
        self.rejections: list[Rejection] = []
        """Kinds of syntax that do not match the calls, each with the reason.

        Complete once all candidates have been yielded, the most informative last. Empty if there are candidates, since
        their failures are more informative.
        """

    def candidates(self) -> Iterator[Candidate]:
        """Yield the candidates of every engine, the most likely of each first."""
        rejected: list[tuple[int, Rejection]] = []
        yielded: list[ToolCallFormat] = []
        for kind, why, candidate in self._tried():
            if why is not None:
                rejected.append((why.near, (kind, str(why))))
                by_nearness = sorted(rejected, key=lambda found: found[0])
                self.rejections = [] if yielded else [rejection for _, rejection in by_nearness]
            elif candidate is not None and candidate.format not in yielded:
                yielded.append(candidate.format)
                self.rejections = []
                yield candidate
            if len(yielded) == _MOST:
                return

    def _tried(self) -> Iterator[tuple[str, NotDerivable | None, Candidate | None]]:
        """Yield each draft as a candidate, or the reason why it is none."""
        for kind, derived in _KINDS:
            try:
                for candidate in derived(self._rendered, self._around):
                    try:
                        format = put_together(candidate, self._rendered, self._around)
                    except NotDerivable as why:
                        yield kind, why, None
                    else:
                        yield kind, None, Candidate(format, candidate.kind)
            except NotDerivable as why:
                yield kind, why, None


def put_together(candidate: EngineCandidate, rendered: Rendered, around: Surroundings) -> ToolCallFormat:
    """Return the format of an engine, with what the template shows of responses.

    Raise `NotDerivable` if its markers cannot be those of a format.
    """
    engine = candidate.engine
    _check_markers(engine)
    _check_openers(engine, rendered)
    between = engine.between if isinstance(engine, NamedJson) else ""
    marks = (*ignored_after(candidate.ignored, between), *around.ignored)
    ignored = [mark for mark in marks if not _of_calls(mark, engine) and not _held(mark)]
    return ToolCallFormat(
        name=DERIVED,
        engine=engine,
        page=f"Derived from a chat template: {candidate.kind}.",
        instructions=_INSTRUCTIONS,
        source=("the chat template that it was derived from",),
        reasoning=around.reasoning,
        any_reasoning=True,
        content_markers=around.content,
        headers=around.headers,
        ignored_markers=tuple(dict.fromkeys((*ignored, *_text_openers(engine, around)))),
        ignored_at_start=around.at_start,
        call_id=candidate.call_id,
    )


def _of_calls(mark: str, engine: Engine) -> bool:
    """Return whether a marker ends calls or contains a start marker, and therefore has a meaning."""
    return mark in engine.closers or any(opener in mark for opener in engine.openers if opener)


def _text_openers(engine: Engine, around: Surroundings) -> tuple[str, ...]:
    """Return the start markers of text for the user, if the prompt has not already written a part of them."""
    if not isinstance(engine, NamedJson) or engine.name_at_start != "usual":
        return ()
    return tuple(engine.call_opener + start for start in around.at_start)


def _check_markers(engine: Engine) -> None:
    for text in _texts(engine):
        if word := _held(text):
            raise NotDerivable(f"a marker would hold a part of the conversation: {quote(word, 40)}", near=2)
    if isinstance(engine, (NamedJson, Tagged)):
        for name in _MARKS:
            if _BROKEN_JSON.search(mark := getattr(engine, name, "")):
                raise NotDerivable(f"a marker would be a piece of broken JSON: {quote(mark, 40)}", near=3)


def _check_openers(engine: Engine, rendered: Rendered) -> None:
    answer = rendered.text_response[max(0, len(rendered.question) - len(rendered.header)) :]
    for opener in engine.openers:
        closed = isinstance(engine, NamedJson) and opener.isupper() and engine.call_closer
        if _PROSE.fullmatch(opener) and not closed:
            raise NotDerivable(f"a call would start with plain words: {quote(opener, 40)}", near=3)
        if len(opener.strip()) == 1:
            raise NotDerivable(
                f"a call would start with one character that ordinary responses contain: {opener.strip()}", near=3
            )
        if opener in answer and opener not in rendered.header:
            raise NotDerivable(
                f"a call would start with text that ordinary responses contain: {quote(opener, 40)}", near=3
            )


def _held(text: str) -> str:
    """Return the word of the conversation that a marker contains; empty without one."""
    return next((word for word in SENTINELS if word in text), "")


def _texts(value: Any) -> Iterator[str]:
    """Yield every string among the parameters of an engine."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for inner in value:
            yield from _texts(inner)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _texts(getattr(value, field.name))
