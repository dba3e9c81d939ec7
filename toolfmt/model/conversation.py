"""A conversation with one model, turn by turn: what was said, and what the model wrote, as it wrote it.

A program asks `prompt()`, lets the model write, hands its text to `answered` and adds what follows. Each next prompt
says how much of what the model has computed already is its beginning. Where rendering the conversation anew changes
what the model wrote (reasoning left out, other blanks, keys in another order), `prompt(raw=True)` builds on its own
text instead. Nothing here knows templates: all of it is read off prompts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolfmt.errors import ToolfmtError, WorkerUnavailable
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.messages.arguments import unreadable_rejected
from toolfmt.messages.message import Message, said_in, taken_ids
from toolfmt.render.backend import REASONING_LEFT_OUT
from toolfmt.render.budget import Budget
from toolfmt.render.prompt import Prompt
from toolfmt.render.request.messages import checked_messages
from toolfmt.render.token_ids import encoded
from toolfmt.render.verify.delivery import Span

if TYPE_CHECKING:
    from toolfmt.model.model import Model


@dataclass(frozen=True)
class Turn:
    """A prompt of a conversation.

    `computed` is what the model has read and written before (characters of the last prompt and of its answer), and
    `stable_prefix` how many of them this prompt begins with. `raw` says whether it is built on the model's own text,
    `plain` whether it equals the plain rendering of the conversation, `longer` by how many characters it is longer.
    `why_not_raw` is empty, or says why it could not be built on the model's text though that was asked for.
    """

    prompt: Prompt
    computed: str
    stable_prefix: int
    raw: bool = False
    plain: bool = True
    longer: int = 0
    why_not_raw: str = ""

    def stable_tokens(self, tokenizer: Any) -> tuple[int, int]:
        """How many tokens of what was computed this prompt begins with, and how many there are.

        Takes whatever has `encode(text, add_special_tokens=False)`: a tokenizer of transformers, or of tokenizers.
        Raises `ToolfmtError` for anything else.
        """
        before, now = (encoded(tokenizer, text)[0] for text in (self.computed, self.prompt.text))
        same = next((at for at, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), None)
        return (min(len(before), len(now)) if same is None else same), len(before)


class Conversation:
    """Takes a model, the messages that it begins with, tools, and what `Model.render` takes besides.

    With `continue_final_message` the first answer goes on with the one that the messages end with, and takes its place.
    `messages` are those so far, the model's answers among them in the shape of chat endpoints.
    """

    def __init__(self, model: Model, messages: Iterable[Any] = (), tools: object = None, **options: Any) -> None:
        self.messages: list[Any] = list(messages)
        self._model = model
        self._tools = list(tools) if isinstance(tools, Iterator) else tools
        self._goes_on = bool(options.pop("continue_final_message", False))
        self._options = options
        self._asked: Prompt | None = None
        self._computed = ""
        self._spans: tuple[Span, ...] = ()
        self._shown: tuple[object, object] = (None, None)
        self._asked_with: list[str] = []
        self._answered_with: list[str] | None = None

    def add(self, *messages: Any) -> None:
        """Adds what the user or the program says, in any shape that `Model.render` takes; raises `BadMessages`."""
        for message in messages:
            role = message.get("role") if isinstance(message, Mapping) else None
            checked_messages([message], [role] if isinstance(role, str) else [])
        self.messages += messages

    def result(self, call_id: str, content: Any) -> None:
        """Adds the result of a call: a text, a list of parts, or what JSON can tell."""
        told = content if isinstance(content, (str, list)) else json.dumps(content, ensure_ascii=False, default=str)
        self.add({"role": "tool", "tool_call_id": call_id, "content": told})

    def answered(self, text: str, *, cut: bool = False) -> Message:
        """Takes the whole text that the model wrote behind the last prompt, and adds it as a message.

        `cut` says that the model was stopped at its limit. Returns the message that it makes; its calls have ids that
        no other call has. What was rejected stays in the conversation as the text that it is; a call whose arguments no
        conversation can hold (a name twice, 1e999) is rejected as `invalid_arguments`. Raises `ToolfmtError` where no
        prompt has been made for it, and what `Prompt.parser` raises; never on the text.
        """
        prompt = self._asked
        if prompt is None:
            raise ToolfmtError("no prompt has been made that this text would answer; call prompt() first")
        parser = prompt.parser()
        read = [*parser.feed(text), *parser.finish(cut=cut)]
        events = unreadable_rejected([*parser.continued, *read], text)
        message = Message.from_events(events, taken_ids(self.messages), parser.format.call_id)
        said = said_in(events, message)
        self._computed = prompt.text + _up_to_stop(text, prompt)
        self._shown = prompt.strategy, prompt.shown_tools
        as_asked = _told(self.messages) == self._asked_with
        self._spans = prompt.spans
        begun = self.messages.pop() if self._goes_on else None
        self._asked, self._goes_on = None, False
        self.messages.append({**(begun if isinstance(begun, Mapping) else {}), **said})
        self._answered_with = _told(self.messages) if as_asked else None
        return message

    def prompt(self, *, raw: bool = False, **options: Any) -> Turn:
        """The next prompt; with `raw` the last one and the model's own text, as they were, and what follows them.

        `options` are those of `Model.render` for this prompt alone. Raises what `Model.render` raises.
        """
        self._goes_on = bool(options.pop("continue_final_message", self._goes_on))
        options = {**self._options, **options, **({"continue_final_message": True} if self._goes_on else {})}
        plain = self._model.render(self.messages, self._tools, **options)
        turn = Turn(plain, self._computed, common_prefix(self._computed, plain.text))
        if raw and self._computed:
            behind, why_not = self._behind_answer(plain, options)
            turn = replace(turn, why_not_raw=why_not) if why_not else self._raw(plain, behind, options)
        self._asked, self._asked_with = turn.prompt, _told(self.messages)
        return turn

    def _raw(self, plain: Prompt, behind: str, options: Mapping[str, Any]) -> Turn:
        """The turn whose prompt is what was computed and what is behind it."""
        text = self._computed + behind
        longer = len(text) - len(plain.text)
        if text == plain.text:
            return Turn(plain, self._computed, len(self._computed), raw=True)
        later = (span for span in plain.spans if span.begin >= len(plain.text) - len(behind))
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
        """The budget of a text of which nothing can be left out."""
        used = self._model.counter(options.get("tokenizer"))(text)
        return Budget(context, used, max(0, context - used), max(0, used - context))

    def _behind_answer(self, plain: Prompt, options: Mapping[str, Any]) -> tuple[str, str]:
        """What the template writes behind the model's last answer; and why that cannot be told, else empty."""
        told = self._answered_with
        at = len(told or "") - 1
        if told is None or _told(self.messages[:at]) != told[:at]:
            return "", "the messages before the answer are others than the prompt was made of"
        if _told(self.messages[at : at + 1]) != told[at:]:
            return "", "the answer is another than the model wrote"
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
            return "", "the template takes no conversation that ends with this answer"
        at = _place(self.messages[: at + 1])
        last, later = (_last_span(made, at) for made in (closed, plain))
        if last is None or later is None:
            return "", "what the model wrote is not found in the prompt as it was"
        if any(span.message < at and span.begin > later.end for span in plain.spans):
            return "", "the template moves a text of the last prompt to after the response"
        behind_closed, behind = closed.text[last.end :], plain.text[later.end :]
        written = self._computed.rstrip()
        end = _turn_end(behind_closed, plain.stop, written)
        if end is None and written.endswith(closed.text[last.begin : last.end]):
            end = 0
        if end is None or behind[:end] != behind_closed[:end]:
            return "", "where the template ends an answer is not clear"
        given = {str(message.get("tool_call_id", "")) for message in plain.messages if message["role"] == "tool"}
        if any(id and id in behind[end:] and id not in self._computed for id in given):
            return "", "the results name their calls by ids that the model did not write"
        return behind[end:], ""


def _told(messages: Iterable[Any]) -> list[str]:
    """The messages as they are now, whatever a caller makes of them later."""
    return [repr(message) for message in messages]


def _place(messages: Sequence[Any]) -> int:
    """The position of the last of the messages as they are rendered: one of a client may be several of a template."""
    roles = [message.get("role") for message in messages if isinstance(message, Mapping)]
    return len(checked_messages(messages, [role for role in roles if isinstance(role, str)])) - 1


def _last_span(prompt: Prompt, message: int) -> Span | None:
    """The last text of a message in the prompt."""
    spans = [span for span in prompt.spans if span.message == message]
    return max(spans, key=lambda span: span.end, default=None)


def _turn_end(behind: str, stop: Iterable[str], written: str) -> int | None:
    """Where what the template adds begins, in the text behind the last thing that the model said.

    It begins with what ends an answer; else behind the longest part that the model wrote itself.
    """
    found = [at for mark in stop if (at := behind.find(mark)) >= 0]
    if found:
        return min(found)
    overlap = (length for length in range(len(behind), 0, -1) if written.endswith(behind[:length]))
    return next(overlap, None)


def _up_to_stop(text: str, prompt: Prompt) -> str:
    """The text up to where the parser of the prompt ends it, and without a stop string that ends a call."""
    ended = [at for mark in prompt.ending_answers() if (at := text.find(mark)) >= 0]
    said = text[: min(ended)] if ended else text
    return next((said.removesuffix(mark) for mark in prompt.stop if mark and said.endswith(mark)), said)
