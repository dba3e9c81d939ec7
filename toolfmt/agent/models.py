"""Models for `run` in this process: from the events of a runtime, or from the text of any engine."""

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
"""A piece of text, or a pair of text and the finish reason after it (None if the response continues)."""
OnEvent: TypeAlias = Callable[[Event], object]


def from_stream(
    model: Model,
    stream: Callable[[Prompt], Iterable[Event]],
    *,
    on_event: OnEvent | None = None,
    **options: Any,
) -> AskModel:
    """Return a model in this process whose runtime returns events.

        from_stream(toolfmt.load(path), lambda prompt: for_mlx.stream(weights, tokenizer, prompt))

    The model raises what `Model.render` and `stream` raise, and `TypeError` if `stream` is async.

    Args:
        model: What `toolfmt.load` returned.
        stream: Returns the events of the response to a prompt. After its end, the result may have a `finish_reason`.
            The response was cut if that is "length", or any value that does not mean that the model ended it ("stop"
            and "eos" do).
        on_event: Called with each event as it arrives.
        **options: Options of `Model.render`.

    Raises:
        TypeError: `model` is not one of `toolfmt.load`, or `stream` is not a function.
    """
    check_model(model, "from_stream")
    check_function(stream, "stream")

    def ask(messages: list[Any], tools: list[dict[str, Any]]) -> ModelResponse:
        prompt = model.render(messages, tools or None, **options)
        streamed = stream(prompt)
        check_waited_for(streamed, "stream")
        events = _emit(streamed, on_event)
        cut = was_cut(getattr(streamed, "finish_reason", None))
        form = CALL_ID if prompt.tool_call_format is None else prompt.tool_call_format.call_id
        return ModelResponse.of_events(events, messages, cut, form)

    return ask


def from_text(
    model: Model,
    generate: Callable[[Prompt], str | Iterable[Piece]],
    *,
    raw: bool = True,
    on_event: OnEvent | None = None,
    **options: Any,
) -> AskModel:
    """Return a model whose text an engine writes.

    The model raises what `toolfmt.Conversation` and `generate` raise, and `TypeError` if `generate` is async or returns
    anything but text.

    Args:
        model: What `toolfmt.load` returned.
        generate: Returns the response to a prompt, with control tokens: the whole text or an iterable of pieces. A
            piece may be a pair of text and finish reason. The response was cut if that is "length", or any value that
            does not mean that the model ended it ("stop" and "eos" do).
        raw: Each prompt continues the model's raw output, so that an engine can reuse its computation. If False, the
            template decides which reasoning stays.
        on_event: Called with each event as it arrives.
        **options: Options of `Model.render`.

    Raises:
        TypeError: `model` is not one of `toolfmt.load`, or `generate` is not a function.
    """
    check_model(model, "from_text")
    check_function(generate, "generate")
    talk: Conversation | None = None
    offered: list[dict[str, Any]] = []

    def ask(messages: list[Any], tools: list[dict[str, Any]]) -> ModelResponse:
        nonlocal talk, offered
        talk, offered = (
            _going_on(talk, messages, tools, offered) or _new_conversation(model, messages, tools, options),
            tools,
        )
        prompt = talk.prompt(raw=raw).prompt
        text, cut = _read(generate(prompt), prompt, on_event)
        message = talk.answered(text, cut=cut)
        return ModelResponse.of(message, cut, talk.messages[-1])

    return ask


def _new_conversation(
    model: Model, messages: list[Any], tools: list[dict[str, Any]], options: Mapping[str, Any]
) -> Conversation:
    from toolfmt.model.conversation import Conversation

    return Conversation(model, messages, tools or None, **options)


def _going_on(
    talk: Conversation | None, messages: list[Any], tools: list[dict[str, Any]], offered: list[dict[str, Any]]
) -> Conversation | None:
    """Return the conversation of these messages, with new messages added, if it is the same one."""
    if talk is None or tools != offered:
        return None
    known = len(talk.messages)
    if messages[:known] != talk.messages:
        return None
    talk.add(*messages[known:])
    return talk


def _read(written: str | Iterable[Piece], prompt: Prompt, on_event: OnEvent | None) -> tuple[str, bool]:
    """Return the text of a response up to the piece in which a stop string ends it, and whether it was cut."""
    parser = prompt.parser()
    text, cut = "", False
    for piece, reason in _pieces(written):
        text += piece
        _emit(parser.feed(piece), on_event)
        cut = was_cut(reason) and not parser.ended
        if reason or parser.ended:
            break
    _emit(parser.finish(cut=cut), on_event)
    return text, cut


def _pieces(written: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the pieces of `generate`, each with a finish reason or None. Raises `TypeError` if a piece is not text."""
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


def _emit(events: Iterable[Event], on_event: OnEvent | None) -> list[Event]:
    """Return the events, and call `on_event` with each."""
    emitted = []
    for event in events:
        emitted.append(event)
        if on_event is not None:
            on_event(event)
    return emitted
