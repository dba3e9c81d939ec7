"""Models for `run` that live in this process: of the events that a runtime tells, or of the text of any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from toolfmt.agent.argument_checks import check_function, check_model, check_waited_for
from toolfmt.agent.protocol import AskModel, ModelResponse, was_cut
from toolfmt.messages.events import Event
from toolfmt.messages.message import CALL_ID
from toolfmt.messages.tools import kind_of

if TYPE_CHECKING:
    from toolfmt.model.conversation import Conversation
    from toolfmt.model.model import Model
    from toolfmt.render.prompt import Prompt

Piece: TypeAlias = str | tuple[str, str | None]
"""A piece of an answer; or that and the reason for which the answer ended behind it, None where it goes on."""
OnEvent: TypeAlias = Callable[[Event], object]


def from_stream(
    model: Model,
    stream: Callable[[Prompt], Iterable[Event]],
    *,
    on_event: OnEvent | None = None,
    **options: Any,
) -> AskModel:
    """A model in this process, whose answers a runtime tells as events:

        from_stream(toolfmt.load(path), lambda prompt: for_mlx.stream(weights, tokenizer, prompt))

    `on_event` is given each event as it comes, `options` go to `Model.render`. What `stream` returns may say in
    `finish_reason`, once it has ended, that the answer was cut ("length", or whatever is no end of a model's own, as
    "stop" and "eos" are). Raises `TypeError` for what is no model of
    `toolfmt.load` or no function. The model raises what `Model.render` and `stream` raise, and `TypeError` for a
    `stream` that is async.
    """
    check_model(model, "from_stream")
    check_function(stream, "stream")

    def ask(messages: list[Any], tools: list[dict[str, Any]]) -> ModelResponse:
        prompt = model.render(messages, tools or None, **options)
        streamed = stream(prompt)
        check_waited_for(streamed, "stream")
        events = _tell(streamed, on_event)
        cut = was_cut(getattr(streamed, "finish_reason", None))
        form = CALL_ID if prompt.tool_call_format is None else prompt.tool_call_format.call_id
        return ModelResponse.told(events, messages, cut, form)

    return ask


def from_text(
    model: Model,
    generate: Callable[[Prompt], str | Iterable[Piece]],
    *,
    raw: bool = True,
    on_event: OnEvent | None = None,
    **options: Any,
) -> AskModel:
    """A model of which an engine writes the text: its answer to a prompt, whole or in pieces, control tokens included.

    A piece may be a pair of text and reason: "length" says that the answer was cut there, and so does whatever is no
    end of a model's own, as "stop" and "eos" are. With `raw` each prompt goes on from what the model wrote, as it wrote
    it, so that an engine computes none of it again; without, the template decides what stays of its reasoning.
    `on_event` is given each event as it comes, `options` go to `Model.render`. Raises `TypeError` for what
    is no model of `toolfmt.load` or no function. The model raises what `toolfmt.Conversation` raises, what `generate`
    raises, and `TypeError` where that is async or gives what is no text.
    """
    check_model(model, "from_text")
    check_function(generate, "generate")
    talk: Conversation | None = None
    offered: list[dict[str, Any]] = []

    def ask(messages: list[Any], tools: list[dict[str, Any]]) -> ModelResponse:
        nonlocal talk, offered
        talk, offered = _going_on(talk, messages, tools, offered) or _begun(model, messages, tools, options), tools
        prompt = talk.prompt(raw=raw).prompt
        text, cut = _read(generate(prompt), prompt, on_event)
        message = talk.answered(text, cut=cut)
        return ModelResponse.of(message, cut, talk.messages[-1])

    return ask


def _begun(model: Model, messages: list[Any], tools: list[dict[str, Any]], options: Mapping[str, Any]) -> Conversation:
    from toolfmt.model.conversation import Conversation

    return Conversation(model, messages, tools or None, **options)


def _going_on(
    talk: Conversation | None, messages: list[Any], tools: list[dict[str, Any]], offered: list[dict[str, Any]]
) -> Conversation | None:
    """The conversation, gone on with, where it is the one that these messages are of."""
    if talk is None or tools != offered:
        return None
    known = len(talk.messages)
    if messages[:known] != talk.messages:
        return None
    talk.add(*messages[known:])
    return talk


def _read(written: str | Iterable[Piece], prompt: Prompt, on_event: OnEvent | None) -> tuple[str, bool]:
    """The text of an answer, up to the piece in which a stop string ends it; and whether it was cut."""
    parser = prompt.parser()
    text, cut = "", False
    for said, reason in _pieces(written):
        text += said
        _tell(parser.feed(said), on_event)
        cut = was_cut(reason) and not parser.ended
        if reason or parser.ended:
            break
    _tell(parser.finish(cut=cut), on_event)
    return text, cut


def _pieces(written: Any) -> Iterator[tuple[str, str | None]]:
    """What `generate` gives, piece by piece, each with the reason of an end; raises `TypeError` for what is no text."""
    check_waited_for(written, "generate")
    if isinstance(written, (bytes, Mapping)) or not isinstance(written, Iterable):
        raise TypeError(f"generate must return a string or an iterable of strings, not {kind_of(written)}")
    for piece in [written] if isinstance(written, str) else written:
        pair = (piece, None) if isinstance(piece, str) else piece
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(
                f'each item of generate must be a string or a pair such as ("", "length"), not {kind_of(piece)}'
            )
        yield pair[0], pair[1]


def _tell(events: Iterable[Event], on_event: OnEvent | None) -> list[Event]:
    """The events, each told as it comes."""
    told = []
    for event in events:
        told.append(event)
        if on_event is not None:
            on_event(event)
    return told
