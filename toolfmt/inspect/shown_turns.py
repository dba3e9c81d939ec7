"""Turns with calls as a template renders them, for whoever writes a format down: what stands there is what went in.

Asked for by name (`toolfmt dev new-format`). The template's code runs in this process: `toolfmt.model.jobs` runs it in
one with limits. Nothing here knows what is made of the texts.
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
"""How the engine's words begin where one of its own limits ends a template."""


@dataclass(frozen=True)
class AskedTurn:
    """A turn with these calls, with text or reasoning before them where they are not empty."""

    tools: Sequence[Message]
    calls: tuple[Call, ...]
    content: str = ""
    reasoning: str = ""


@dataclass(frozen=True)
class ShownTurns:
    """What a template shows of its calls.

    `derivation` is what can be derived of them; `as_known` whether the known format that reads them, where there is
    one, also writes what the template renders, byte for byte; `failure` why the template cannot be rendered at all,
    empty where it can. `texts` are the turns that were asked about, each without what the prompt has before it and the
    answer's own end: None where the template does not render it so that it can be cut out.
    """

    derivation: DerivationResult
    as_known: bool = False
    failure: str = ""
    texts: tuple[str | None, ...] = ()


def show_turns(files: ModelFiles, asked: Sequence[AskedTurn]) -> ShownTurns:
    """What the template in force if tools are given makes of these turns. Raises `LimitHit`, and nothing else."""
    facts = facts_of(files, None)
    derivation = derivation_of(facts)
    if facts.renders is None:
        return ShownTurns(derivation, failure=derivation.why_not)
    if facts.shape is None and (endless := _endless(facts.renders)):
        return ShownTurns(derivation, failure=endless)
    if facts.shape is None:
        return ShownTurns(derivation, texts=(None,) * len(asked))
    texts = tuple(_text(facts.renders, facts.shape, turn) for turn in asked)
    return ShownTurns(derivation, _as_known(facts), texts=texts)


def _endless(renders: Renders) -> str:
    """Which limit of the engine a template hits that calls itself without end, or counts beyond any prompt; else empty.
    A question is asked, and a call."""
    for messages in (user(), conversation(TurnShape(), SINGLE)):
        made = renders.render(messages, TOOLS)
        if isinstance(made, TemplateError) and made.own_words.startswith(_ENDLESS):
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


def _text(renders: Renders, shape: TurnShape, turn: AskedTurn) -> str | None:
    shape = replace(shape, content="text" if turn.content else shape.content, reasoning=bool(turn.reasoning))
    region = renders.calls(shape, turn.calls, turn.tools)
    if isinstance(region, TemplateError) or not region.text.strip():
        return None
    begin = _begin(renders, shape, turn, region)
    if begin is None:
        return None
    return _in_words(renders, shape, turn, region, begin)


def _begin(renders: Renders, shape: TurnShape, turn: AskedTurn, region: Region) -> int | None:
    """Where in the prompt the turn begins that is told: with its reasoning, with its text, or with its calls."""
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


def _in_words(renders: Renders, shape: TurnShape, turn: AskedTurn, region: Region, begin: int) -> str | None:
    """The same with the text and the reasoning that were asked for, rendered in the place of the sentinels; None where
    the template makes something else of them."""
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
    """A message with other words for the sentinels in its text and its reasoning."""
    if message.get("role") != "assistant" or "tool_calls" not in message:
        return message
    other = dict(message)
    if message.get("content") == REPLY and words[REPLY]:
        other["content"] = words[REPLY]
    if "reasoning_content" in message:
        other["reasoning_content"] = words[REASONING]
    return other
