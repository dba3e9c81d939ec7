"""Turns with calls as a template renders them, for authors of formats, with their own calls and text.

Used by `toolfmt dev new-format`. The template's code runs in this process: `toolfmt.model.jobs` runs it in one with
limits. Nothing here depends on how the results are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolfmt.errors import CannotWrite, TemplateError
from toolfmt.inspect.derive_model import DerivationResult, derivation_of
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.format.read_back import rendered_variant
from toolfmt.inspect.probe.conversations import REASONING, REPLY, SINGLE, TOOLS, Call, Message, conversation, user
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.profiling import facts_of
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.templates import ModelFiles

_ENDLESS = ("RecursionError: ", "OverflowError: Range too big")
"""How engine errors start if one of the engine's own limits ends a template."""


@dataclass(frozen=True)
class RequestedTurn:
    """A turn with these calls, with text or reasoning before them unless they are empty."""

    tools: Sequence[Message]
    calls: tuple[Call, ...]
    content: str = ""
    reasoning: str = ""


@dataclass(frozen=True)
class ShownTurns:
    """What a template renders for calls.

    `derivation` is what can be derived from them. `as_known` is whether a known format reads them and also writes them
    as the template does, byte for byte. `failure` is why the template cannot be rendered at all, or empty. `texts` are
    the requested turns, without the prompt before them and the end of the response; None if a turn cannot be cut out.
    """

    derivation: DerivationResult
    as_known: bool = False
    failure: str = ""
    texts: tuple[str | None, ...] = ()


def show_turns(files: ModelFiles, turns: Sequence[RequestedTurn]) -> ShownTurns:
    """Return these turns as rendered by the template that is used with tools. Raise only `LimitHit`."""
    facts = facts_of(files, None)
    derivation = derivation_of(facts)
    if facts.renders is None:
        return ShownTurns(derivation, failure=derivation.why_not)
    if facts.shape is None and (endless := _endless(facts.renders)):
        return ShownTurns(derivation, failure=endless)
    if facts.shape is None:
        return ShownTurns(derivation, texts=(None,) * len(turns))
    texts = tuple(_text(facts.renders, facts.shape, turn) for turn in turns)
    return ShownTurns(derivation, _as_known(facts), texts=texts)


def _endless(renders: Renders) -> str:
    """Return the engine limit that a template with infinite recursion or huge ranges hits, or an empty string.

    Renders a question and a call.
    """
    for messages in (user(), conversation(TurnShape(), SINGLE)):
        made = renders.render(messages, TOOLS)
        if isinstance(made, TemplateError) and made.engine_message.startswith(_ENDLESS):
            return f"the template hit a limit: {thrown(made).sentence}"
    return ""


def _as_known(facts: Facts) -> bool:
    best = facts.decided.read_back
    if best is None or facts.renders is None or facts.probed is None:
        return False
    try:
        return rendered_variant(facts.renders, best.format, best.shape, parallel=facts.probed.parallel) is not None
    except CannotWrite:
        return False


def _text(renders: Renders, shape: TurnShape, turn: RequestedTurn) -> str | None:
    shape = replace(shape, content="text" if turn.content else shape.content, reasoning=bool(turn.reasoning))
    region = renders.calls(shape, turn.calls, turn.tools)
    if isinstance(region, TemplateError) or not region.text.strip():
        return None
    begin = _begin(renders, shape, turn, region)
    if begin is None:
        return None
    return _in_words(renders, shape, turn, region, begin)


def _begin(renders: Renders, shape: TurnShape, turn: RequestedTurn, region: Region) -> int | None:
    """Return the offset in the prompt where the turn starts (reasoning, text, or calls), or None if not found."""
    begin = len(region.before)
    if turn.content or shape.content in ("text", "parts"):
        begin -= len(REPLY)
        if not region.before.endswith(REPLY):
            return None
        begin = begin if turn.content else len(region.before)
    if turn.reasoning:
        plain = renders.calls(replace(shape, reasoning=False), turn.calls, turn.tools)
        if isinstance(plain, TemplateError):
            return None
        begin = common_prefix(region.before, plain.before)
        if REASONING not in region.before[begin:]:
            return None
    return begin


def _in_words(renders: Renders, shape: TurnShape, turn: RequestedTurn, region: Region, begin: int) -> str | None:
    """Return the turn with the requested text and reasoning in place of the sentinels.

    None if the template renders them differently.
    """
    cut = region.before[begin:] + region.text
    if not (turn.content or turn.reasoning):
        return cut
    words = {REPLY: turn.content, REASONING: turn.reasoning}
    messages = [_reworded(message, words) for message in conversation(shape, turn.calls)]
    made = renders.render(messages, turn.tools if shape.tools else None)
    for sentinel, word in words.items():
        cut = cut.replace(sentinel, word) if word else cut
    whole = region.before[:begin] + cut + region.after
    return cut if made == whole else None


def _reworded(message: Message, words: dict[str, str]) -> Message:
    """Return a message with the sentinels in its text and its reasoning replaced."""
    if message.get("role") != "assistant" or "tool_calls" not in message:
        return message
    other = dict(message)
    if message.get("content") == REPLY and words[REPLY]:
        other["content"] = words[REPLY]
    if "reasoning_content" in message:
        other["reasoning_content"] = words[REASONING]
    return other
