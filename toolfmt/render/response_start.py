"""Find the part of the response that a rendered prompt already contains: the prefill, or the message to continue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolfmt.errors import NotDelivered
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.inspect.probe.conversations import REPLY
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.render.attempts import PLACEHOLDER, Attempt, Request
from toolfmt.render.request.messages import Message

_LONGEST_HEADER = 200
"""Longer than the header of any assistant message, in characters."""


def prefill(request: Request, made: Attempt) -> str:
    """Return the part of the response that the generation prompt already contains: usually nothing, or `<think>`."""
    closed = request.without_generation_prompt(made, made.messages)
    if not request.variables["add_generation_prompt"]:
        return ""
    if not closed or closed == made.text or not made.text.startswith(closed):
        # The template always begins the response, or writes an end marker if there is no generation prompt. The probes
        # show how a response begins.
        always = made.profile.prefill
        return always if made.text.endswith(always) else ""
    generation = made.text[len(closed) :]
    format = request.format
    prefix = answer_prefix(generation, headers=format.headers)
    if not prefix.strip(": \n"):
        return ""
    if prefix == generation and not answer_prefix(closed[-_LONGEST_HEADER:], headers=format.headers):
        return generation  # the header is always there, so what is added begins the response
    # Two ways to find the assistant's header: its shape, or what also comes before a plain text response.
    header = len(generation) - len(prefix) or _shown_header(request, made, closed, generation) or len(generation)
    openers = {opener for opener, _ in format.reasoning_read}
    openers |= {closer for opener, closer in format.reasoning_read if closer == f"</{opener[1:]}"}
    openers |= {made.profile.reasoning[0]} if made.profile.reasoning else set()
    # An empty reasoning block before every response is not part of the header.
    return generation[min([header, *(at for opener in openers if (at := generation.find(opener)) >= 0)]) :]


def _shown_header(request: Request, made: Attempt, closed: str, generation: str) -> int:
    """Return how much of the generation prompt also comes before a plain text response."""
    answered = request.without_generation_prompt(made, [*made.messages, {"role": "assistant", "content": REPLY}])
    before = answered.partition(REPLY)[0]
    return common_prefix(generation, before[len(closed) :]) if before.startswith(closed) else 0


def left_open(request: Request, made: Attempt) -> tuple[str, str]:
    """Return the prompt up to the end of the message to continue, and the part of it that is the response."""
    last = len(request.messages) - 1
    spans = [span for span in made.delivery.spans if span.message == last]
    texts = _texts_of(request.messages[last].get("content"))
    last_text = texts[-1].strip()
    marked = _marked_end(request, made)
    end = marked or max((span.end for span in spans), default=made.text.rfind(last_text) + len(last_text))
    whitespace = texts[-1][len(texts[-1].rstrip()) :]
    end += len(whitespace) if marked is None and made.text.startswith(whitespace, end) else 0
    text = made.text[:end]
    before = request.without_generation_prompt(made, made.messages[:-1])
    begin = len(before) if before and text.startswith(before) else max(0, end - len(last_text) - _LONGEST_HEADER)
    whole = (texts[0], texts[0].lstrip(), texts[0].rstrip(), last_text) if len(texts) == 1 else ()
    shown = next((one for one in whole if text.endswith(one)), "")
    shown = shown or text[min((span.begin for span in spans if span.begin < end), default=end) :]
    if not shown:
        raise NotDelivered(
            f"messages[{last}] (assistant): {made.template.origin} leaves out the text that is to go on; "
            "leave continue_final_message out, or give reasoning as reasoning_content"
        )
    known = request.format
    head = answer_prefix(
        text[begin : end - len(shown)], known.markers.output_starts, known.headers, known.reasoning_read
    )
    # Whitespace that the template writes before a string is not part of it.
    return text, (head if head.strip() else "") + shown


def _marked_end(request: Request, made: Attempt) -> int | None:
    """Return where the last message's text ends in the prompt, or None if the template changes what comes before it.

    A placeholder is appended to the text, as transformers does. The space after it shows whether the template keeps
    whitespace at the end of a string.
    """
    marked = _with_text_appended(made.messages[-1], f"{PLACEHOLDER} ")
    text = request.without_generation_prompt(made, [*made.messages[:-1], marked])
    at = text.rfind(PLACEHOLDER)
    before = text[: max(at, 0)]
    if not text.startswith(f"{PLACEHOLDER} ", at):
        before = before.rstrip()
    return len(before) if before and made.text.startswith(before) else None


def _texts_of(content: Any) -> list[str]:
    """Return the texts of a content, at least one: itself, or those of its parts."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return [text for text in texts if isinstance(text, str)] or [""]


def _with_text_appended(message: Message, added: str) -> Message:
    """Return the message with text appended to the last text of its content, or the message itself if it has none."""
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": content + added}
    parts = list(content or [])
    for at, part in reversed(list(enumerate(parts))):
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            parts[at] = {**part, "text": part["text"] + added}
            return {**message, "content": parts}
    return message
