"""A conversation with a model, turn by turn, including the model's raw output.

Call `prompt()`, run the model, pass its text to `answered`, and add what follows. Each prompt shows how much of the
previous computation it can reuse as a prefix. Rendering the conversation again may change what the model wrote
(reasoning left out, other whitespace, keys in another order). `prompt(raw=True)` therefore appends to the model's raw
output instead. This module does not depend on templates; it only compares prompts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolfmt.errors import ToolfmtError, WorkerUnavailable
from toolfmt.formats import Parser, TokenParser
from toolfmt.formats.parser.tokens.detokenizer import text_of
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.messages.arguments import unreadable_rejected
from toolfmt.messages.events import Event
from toolfmt.messages.message import Message, stored_message, taken_ids
from toolfmt.render.backend import REASONING_LEFT_OUT
from toolfmt.render.budget import Budget
from toolfmt.render.prompt import Prompt
from toolfmt.render.request.messages import checked_messages
from toolfmt.render.token_ids import OF_OTHERS, encoded, token_ids_and_offsets
from toolfmt.render.verify.delivery import Span

if TYPE_CHECKING:
    from toolfmt.model.model import Model


@dataclass(frozen=True)
class Turn:
    """A prompt of a conversation.

    Attributes:
        prompt: The prompt.
        computed: What the model has processed so far: the text of the last prompt and its output.
        stable_prefix: How many characters of `computed` this prompt begins with.
        raw: Whether it contains the model's raw output.
        plain: Whether it equals the plain rendering of the conversation.
        longer: By how many characters it is longer than the plain rendering.
        why_not_raw: Why the raw output could not be used although `raw` was requested, else empty.
    """

    prompt: Prompt
    computed: str
    stable_prefix: int
    raw: bool = False
    plain: bool = True
    longer: int = 0
    why_not_raw: str = ""

    def stable_tokens(self, tokenizer: Any) -> tuple[int, int]:
        """Return how many of the tokens computed so far this prompt begins with, and their total number.

        Takes an object with `encode(text, add_special_tokens=False)`, or a tokenizer of transformers or tokenizers.
        Raises `ToolfmtError` for anything else.
        """
        before, now = (encoded(tokenizer, text)[0] for text in (self.computed, self.prompt.text))
        same = next((at for at, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), None)
        return (min(len(before), len(now)) if same is None else same), len(before)


class Conversation:
    """A conversation with a model: it renders the prompts and stores the responses.

    Args:
        model: The model.
        messages: The initial messages.
        tools: Tool definitions, as for `Model.render`.
        **options: Options of `Model.render`. With `continue_final_message`, the first output continues the last initial
            message and replaces it.

    Attributes:
        messages: All messages so far, the model's included, in the format of chat endpoints.
    """

    def __init__(self, model: Model, messages: Iterable[Any] = (), tools: object = None, **options: Any) -> None:
        self.messages: list[Any] = list(messages)
        self._model = model
        self._tools = list(tools) if isinstance(tools, Iterator) else tools
        self._goes_on = bool(options.pop("continue_final_message", False))
        self._options = options
        self._last_prompt: Prompt | None = None
        self._computed = ""
        self._spans: tuple[Span, ...] = ()
        self._shown: tuple[object, object] = (None, None)
        self._prompted_with: list[str] = []
        self._answered_with: list[str] | None = None

    def add(self, *messages: Any) -> None:
        """Add messages of the user or the program.

        Args:
            *messages: Messages in any format that `Model.render` takes.

        Raises:
            BadMessages: A message is not valid.
        """
        for message in messages:
            role = message.get("role") if isinstance(message, Mapping) else None
            checked_messages([message], [role] if isinstance(role, str) else [])
        self.messages += messages

    def result(self, call_id: str, content: Any) -> None:
        """Add the result of a call.

        Args:
            call_id: The id of the call.
            content: A string, a list of parts, or any JSON value.
        """
        text = content if isinstance(content, (str, list)) else json.dumps(content, ensure_ascii=False, default=str)
        self.add({"role": "tool", "tool_call_id": call_id, "content": text})

    def answered(self, output: str | Sequence[int], *, cut: bool = False, tokenizer: Any = None) -> Message:
        """Add the model's raw output after the last prompt, and return it as a message.

        Call ids are unique in the conversation. Rejected calls stay in the conversation as text. A call whose arguments
        JSON cannot represent (a duplicate name, 1e999) is rejected as `invalid_arguments`. Never raises because of the
        output.

        Args:
            output: The complete output: its text, or its token ids. Of token ids, a marker that is one token counts
                only where the model wrote that token (`toolfmt.TokenParser`).
            cut: The model stopped at its token limit.
            tokenizer: The tokenizer of the token ids, as for `toolfmt.TokenParser`.

        Raises:
            ToolfmtError: There is no prompt for this output, or `Prompt.parser` raises.
            TypeError: The output is token ids, and `tokenizer` is not a tokenizer.
        """
        prompt = self._last_prompt
        if prompt is None:
            raise ToolfmtError("there is no prompt yet that this text could follow; call prompt() first")
        parser: Parser | TokenParser
        if isinstance(output, str):
            parser, text, kept = prompt.parser(), output, _up_to_stop(output, prompt)
            read = parser.feed(text)
        else:
            parser = with_ids = TokenParser(prompt.parser(), tokenizer)
            read, end = _read_ids(with_ids, output)
            text = text_of(output[:end], tokenizer)
            quoted = with_ids.marker_tokens - {text_of(output[max(end - 1, 0) : end], tokenizer).strip()}
            kept = _without_stop(text, prompt, quoted)
        read += parser.finish(cut=cut)
        events = unreadable_rejected([*parser.continued, *read], text)
        message = Message.from_events(events, taken_ids(self.messages), parser.format.call_id)
        stored = stored_message(events, message)
        self._computed = prompt.text + kept
        self._shown = prompt.strategy, prompt.shown_tools
        unchanged = _reprs(self.messages) == self._prompted_with
        self._spans = prompt.spans
        partial = self.messages.pop() if self._goes_on else None
        self._last_prompt, self._goes_on = None, False
        self.messages.append({**(partial if isinstance(partial, Mapping) else {}), **stored})
        self._answered_with = _reprs(self.messages) if unchanged else None
        return message

    def prompt(self, *, raw: bool = False, **options: Any) -> Turn:
        """Return the next prompt. Raises what `Model.render` raises.

        Args:
            raw: Begin with the last prompt and the model's raw output, followed by what is new.
            **options: Options of `Model.render` for this prompt only.
        """
        self._goes_on = bool(options.pop("continue_final_message", self._goes_on))
        options = {**self._options, **options, **({"continue_final_message": True} if self._goes_on else {})}
        plain = self._model.render(self.messages, self._tools, **options)
        turn = Turn(plain, self._computed, common_prefix(self._computed, plain.text))
        if raw and self._computed:
            after, why_not = self._after_response(plain, options)
            turn = replace(turn, why_not_raw=why_not) if why_not else self._raw(plain, after, options)
        self._last_prompt, self._prompted_with = turn.prompt, _reprs(self.messages)
        return turn

    def token_ids(self, prompt_ids: Sequence[int], completion_ids: Sequence[int], tokenizer: Any) -> list[int]:
        """Return the ids of the next prompt, which begin with those of the last prompt and of the model's output.

        This renders `prompt(raw=True)`, after `answered` and what followed. New texts of users and results give no
        control tokens.

        Args:
            prompt_ids: The ids of the last prompt.
            completion_ids: The ids that the model generated, with or without the stop token.
            tokenizer: A tokenizer of transformers or of tokenizers.

        Raises:
            ToolfmtError: The next prompt does not begin with the model's raw output. The message contains the reason.
        """
        turn = self.prompt(raw=True)
        if not turn.raw:
            why = turn.why_not_raw or "there is no output yet"
            raise ToolfmtError(f"the next prompt does not continue these ids: {why}")
        begin = len(turn.computed)
        others = [
            (span.begin - begin, span.end - begin)
            for span in turn.prompt.spans
            if span.begin >= begin and span.role in OF_OTHERS
        ]
        after, _ = token_ids_and_offsets(turn.prompt.text[begin:], others, tokenizer, continued=True)
        known = [*completion_ids]
        stopped = next((size for size in range(len(after), 0, -1) if known[-size:] == after[:size]), 0)
        return [*prompt_ids, *known, *after[stopped:]]

    def _raw(self, plain: Prompt, after: str, options: Mapping[str, Any]) -> Turn:
        """Return the turn whose prompt is everything computed so far plus what follows."""
        text = self._computed + after
        longer = len(text) - len(plain.text)
        if text == plain.text:
            return Turn(plain, self._computed, len(self._computed), raw=True)
        later = (span for span in plain.spans if span.begin >= len(plain.text) - len(after))
        moved = (replace(span, begin=span.begin + longer, end=span.end + longer) for span in later)
        made = replace(
            plain,
            text=text,
            built_on_text=True,
            spans=(*self._spans, *moved),
            adaptations=tuple(name for name in plain.adaptations if name != REASONING_LEFT_OUT),
            budget=None if plain.budget is None else self._counted(text, plain.budget.context, options),
        )
        return Turn(made, self._computed, len(self._computed), True, False, longer)

    def _counted(self, text: str, context: int, options: Mapping[str, Any]) -> Budget:
        """Return the budget of a string from which nothing can be removed."""
        used = self._model.counter(options.get("tokenizer"))(text)
        return Budget(context, used, max(0, context - used), max(0, used - context))

    def _after_response(self, plain: Prompt, options: Mapping[str, Any]) -> tuple[str, str]:
        """Return what the template writes after the model's last message, and the reason if that is unknown, else
        "".
        """
        known = self._answered_with
        at = len(known or "") - 1
        if known is None or _reprs(self.messages[:at]) != known[:at]:
            return "", "the messages before the response differ from those of the prompt"
        if _reprs(self.messages[at : at + 1]) != known[at:]:
            return "", "the response is not the one that the model wrote"
        if (plain.strategy, plain.shown_tools) != self._shown:
            return "", "this prompt shows other tools than the last one"
        if at == len(self.messages) - 1:
            return "", "nothing follows what the model wrote"
        options = {**options, "add_generation_prompt": False, "continue_final_message": False, "context": None}
        try:
            closed = self._model.render(self.messages[: at + 1], self._tools, **options)
        except WorkerUnavailable:
            raise
        except ToolfmtError:
            return "", "the template rejects a conversation that ends with this response"
        at = _place(self.messages[: at + 1])
        last, later = (_last_span(made, at) for made in (closed, plain))
        if last is None or later is None:
            return "", "what the model wrote is not found in the prompt as it was"
        if any(span.message < at and span.begin > later.end for span in plain.spans):
            return "", "the template moves a text of the last prompt to after the response"
        after_closed, after = closed.text[last.end :], plain.text[later.end :]
        written = self._computed.rstrip()
        end = _turn_end(after_closed, plain.stop, written)
        if end is None and written.endswith(closed.text[last.begin : last.end]):
            end = 0
        if end is None or after[:end] != after_closed[:end]:
            return "", "it is not clear where the template ends a response"
        given = {str(message.get("tool_call_id", "")) for message in plain.messages if message["role"] == "tool"}
        if any(id and id in after[end:] and id not in self._computed for id in given):
            return "", "the results name their calls by ids that the model did not write"
        return after[end:], ""


def _reprs(messages: Iterable[Any]) -> list[str]:
    """Return a copy of the messages, so that later changes by the caller have no effect."""
    return [repr(message) for message in messages]


def _place(messages: Sequence[Any]) -> int:
    """Return the index of the last message as rendered. A client's message may become several for a template."""
    roles = [message.get("role") for message in messages if isinstance(message, Mapping)]
    return len(checked_messages(messages, [role for role in roles if isinstance(role, str)])) - 1


def _last_span(prompt: Prompt, message: int) -> Span | None:
    """Return the span of the last text of a message in the prompt."""
    spans = [span for span in prompt.spans if span.message == message]
    return max(spans, key=lambda span: span.end, default=None)


def _turn_end(after: str, stop: Iterable[str], written: str) -> int | None:
    """Return where the template's own text begins after the model's last text.

    It begins with the end of the response, or else after the longest part that the model wrote itself.
    """
    found = [at for mark in stop if (at := after.find(mark)) >= 0]
    if found:
        return min(found)
    overlap = (length for length in range(len(after), 0, -1) if written.endswith(after[:length]))
    return next(overlap, None)


def _up_to_stop(text: str, prompt: Prompt) -> str:
    """Return the text up to where the prompt's parser ends it, without a stop string that ends a call."""
    ended = [at for mark in prompt.ending_answers() if (at := text.find(mark)) >= 0]
    return _without_stop(text[: min(ended)] if ended else text, prompt)


def _read_ids(parser: TokenParser, ids: Sequence[int]) -> tuple[list[Event], int]:
    """Return the events of token ids, and the number of those up to the end of the output."""
    events: list[Event] = []
    for number, id in enumerate(ids, 1):
        events += parser.feed([id])
        if parser.ended:
            return events, number
    return events, len(ids)


def _without_stop(kept: str, prompt: Prompt, quoted: Collection[str] = ()) -> str:
    """Return a text without a stop string at its end, except those that can only be `quoted` there."""
    stop = (mark for mark in prompt.stop if mark and mark.strip() not in quoted)
    return next((kept.removesuffix(mark) for mark in stop if kept.endswith(mark)), kept)
