"""Find the tools that a finished prompt shows differently than the sentinel prompt of the same request does.

`tool_parts.py` checks which parts of a definition the template leaves out, for each tool alone. This module checks the
whole conversation: depending on a string, a template may show other tools or none, or rename a tool. The sentinel
prompt shows which names, descriptions, parameter names and limits to search for, and in which order among the texts of
the messages. So a string of a message does not count as a definition. `toolfmt.render.verify.delivery` calls
`changed_tools` if the two prompts cannot be aligned. Nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from toolfmt.render.request.messages import Message
from toolfmt.render.verify.sentinel_request import RequestSpan, SentinelRequest, spellings, spellings_of, words_in

BETWEEN_WORDS = r"(?:[\s/#*|>-]|\\+[nrt])+"
"""What may replace whitespace of a description in a prompt: a template may break lines and indent them."""
_WHITESPACE = re.compile(r"(?:\s|\\+[nrt])+")
_LETTER = "[A-Za-z0-9_]"
_BEFORE, _AFTER = f"(?<!{_LETTER})", f"(?!{_LETTER})"
_DEEPEST = 64


@dataclass(frozen=True)
class _Expected:
    """What the sentinel prompt has at a position, and the tool that is lost without it (None for a message's text)."""

    begin: int
    pattern: str
    tool: str = ""


def unnamed_tools(twin: SentinelRequest, twin_prompt: str) -> tuple[str, ...]:
    """Return the tools that the sentinel prompt describes without their names: the template writes others."""
    words = words_in(twin_prompt, twin)
    described = {twin.pieces[number].name for _, _, number in words if twin.pieces[number].kind == "definition"}
    regions = list(_regions(twin, words, len(twin_prompt)))
    return tuple(
        name
        for name in _names(twin.tools)
        if name in described and not any(_is_in(name, twin_prompt, *region) for region in regions)
    )


def changed_tools(
    twin: SentinelRequest, twin_prompt: str, prompt: str, missing: Iterable[RequestSpan]
) -> tuple[str, ...]:
    """Return the tools that the prompt does not show completely and in the order of the sentinel prompt.

    For prompts that cannot be aligned. `missing` are the texts of messages that are known to be missing.
    """
    words = words_in(twin_prompt, twin)
    expected = [*_worded(twin, words, frozenset(missing)), *_named(twin, words, twin_prompt)]
    changed: dict[str, None] = {}
    offset, matched = 0, 0
    since: dict[str, int] = {}
    for one in sorted(expected, key=lambda one: one.begin):
        if one.tool in changed:
            continue  # its other parts would match in another tool's definition
        found = re.compile(one.pattern).search(prompt, offset)
        if found is None and not one.tool:
            # The match for the definition is inside this text or after it.
            found = re.compile(one.pattern).search(prompt, matched)
            changed |= {tool: None for tool, end in since.items() if found and end > found.start()}
        if found:
            offset = found.end()
            since, matched = (since | {one.tool: offset}, matched) if one.tool else ({}, offset)
        elif one.tool:
            changed[one.tool] = None
    return tuple(changed)


def _worded(
    twin: SentinelRequest, words: Sequence[tuple[int, int, int]], missing: frozenset[RequestSpan]
) -> Iterator[_Expected]:
    """Yield the texts of messages and definitions that sentinel words replace, without reasoning."""
    for begin, _, number in words:
        piece = twin.pieces[number]
        if piece.kind == "definition":
            yield _Expected(begin, in_lines(piece.text), piece.name)
        elif piece.kind != "reasoning" and piece not in missing:
            yield _Expected(begin, "|".join(map(re.escape, dict.fromkeys(spellings_of(piece)))))


def _named(twin: SentinelRequest, words: Sequence[tuple[int, int, int]], twin_prompt: str) -> Iterator[_Expected]:
    """Yield the names of tools and parameters and the parameters' limits around descriptions in the sentinel prompt."""
    names = _names(twin.tools)
    if not names:
        return
    parameters = {name: frozenset((*_parameters(tool), *_limits(_schema(tool)))) for name, tool in names.items()}
    every = [*names, *dict.fromkeys(key for keys in parameters.values() for key in keys)]
    whole = {written: name for name in reversed(every) for written in spellings(name)}
    looked_for = re.compile(_by_itself(every))
    last = ""
    for region in _regions(twin, words, len(twin_prompt)):
        for found in looked_for.finditer(twin_prompt, *region):
            name = whole[found[0]]
            # A name after its tool's name is that tool's parameter; before any tool name, it belongs to the first that
            # has it.
            owners = [last] if last and name in parameters[last] else [one for one in names if name in parameters[one]]
            last = name if name in names else last
            before = "" if re.match(_LETTER, twin_prompt[max(0, found.start() - 1) : found.start()]) else _BEFORE
            after = "" if re.match(_LETTER, twin_prompt[found.end() : found.end() + 1]) else _AFTER
            owner = name if name in names else owners[0]
            yield _Expected(found.start(), before + re.escape(found[0]) + after, owner)


def _regions(twin: SentinelRequest, words: Sequence[tuple[int, int, int]], length: int) -> Iterator[tuple[int, int]]:
    """Yield where the sentinel prompt describes tools: between the texts of two messages."""
    reached = 0
    runs = [(key, list(run)) for key, run in groupby(words, lambda word: twin.pieces[word[2]].kind == "definition")]
    for at, (defines, run) in enumerate(runs):
        if defines:
            yield reached, runs[at + 1][1][0][0] if at + 1 < len(runs) else length
        reached = run[-1][1]


def _names(tools: Iterable[Message] | None) -> dict[str, Message]:
    return {tool["function"]["name"]: tool for tool in tools or ()}


def _parameters(schema: Any, depth: int = 0) -> Iterator[str]:
    """Yield the names of the parameters in a definition, at any depth."""
    if depth >= _DEEPEST:
        return
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        yield from (str(key) for key in (properties if isinstance(properties, Mapping) else ()) if key)
    inner = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, (list, tuple)) else ()
    for value in inner:
        yield from _parameters(value, depth + 1)


def _schema(tool: Message) -> Any:
    return tool["function"].get("parameters")


def _limits(schema: Any, depth: int = 0) -> Iterator[str]:
    """Yield what a schema limits values by, at any depth: types, enum values, and that some or all are required."""
    if depth >= _DEEPEST:
        return
    if isinstance(schema, Mapping):
        yield from (word for word in ("enum", "required") if schema.get(word))
        for limit in (schema.get("type"), schema.get("enum")):
            yield from (
                word for word in (limit if isinstance(limit, list) else [limit]) if word and isinstance(word, str)
            )
    inner = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, (list, tuple)) else ()
    for value in inner:
        yield from _limits(value, depth + 1)


def _is_in(name: str, text: str, begin: int, end: int) -> bool:
    """Return whether the name is in this range by itself. `find` comes first: a pattern would try each character."""
    by_itself = _by_itself([name])
    for written in filter(None, spellings(name)):
        at = text.find(written, begin, end)
        while at >= 0:
            if re.compile(by_itself).match(text, at, end):
                return True
            at = text.find(written, at + 1, end)
    return False


def _by_itself(names: Iterable[str]) -> str:
    """Return a pattern for any of the names, in any variant, as a whole word or next to a sentinel word."""
    spelled = sorted({written for name in names for written in spellings(name)}, key=len, reverse=True)
    one_of = "|".join(map(re.escape, filter(None, spelled)))
    return rf"(?:{_BEFORE}|(?<=\dz))(?:{one_of})(?:{_AFTER}|(?=Zq\d))"


def in_lines(text: str) -> str:
    """Return a pattern for a string in any variant, with any line breaks."""
    spelled = dict.fromkeys(BETWEEN_WORDS.join(map(re.escape, _WHITESPACE.split(one))) for one in spellings(text))
    return "|".join(spelled)
