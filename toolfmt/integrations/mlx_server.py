"""mlx-lm's own server, with toolfmt's prompts and parsers.

    python -m toolfmt.integrations.mlx_server --model DIR          (and all options of mlx_lm.server)

mlx-lm does queueing, batches, caches, sampling and HTTP. For a chat request, `Model.render` creates the prompt. So the
template gets the messages in the form that it needs, and if it drops tools, the system prompt describes them. The
response goes through an `AlignedParser` into `toolfmt.integrations.protocols.Chat`. Without tools, and with
`tool_choice: "none"`, no call is emitted. With `"required"` or a tool's name, an llguidance grammar allows only calls.

Contract as in mlx-lm 0.32.2, server.py: `ResponseGenerator._tokenize` and `.generate`, whose responses the handler goes
through, and `_make_logits_processors`, which it calls for each request; `APIHandler.handle_chat_completions`,
`.handle_completion` and `.generate_response`; `_run_http_server`, which takes the class of a handler that `run` does
not pass on. Each request has a handler in its own thread; `_tokenize` runs in the thread that generates.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import ThreadingHTTPServer
from typing import Any, Literal

try:
    from mlx_lm import server, tokenizer_utils
except ModuleNotFoundError as error:
    _needs = f"toolfmt.integrations.mlx_server needs mlx-lm: pip install 'mlx-lm[cpu]' ({error})"
    if __name__ == "__main__":
        print(_needs, file=sys.stderr)
        sys.exit(2)
    raise ImportError(_needs) from error

from toolfmt.errors import ToolfmtError
from toolfmt.formats import Parser, ToolCallFormat, default_format
from toolfmt.formats.serialization.files import named_format
from toolfmt.grammars.grammar import Grammar, grammar
from toolfmt.grammars.masks import Masks, marker_ids
from toolfmt.integrations.aligned_parser import AlignedParser, Markers
from toolfmt.integrations.mlx import GrammarProcessor, stop_tokens
from toolfmt.integrations.protocols import Chat, FinishReason, Payload
from toolfmt.messages.events import Event
from toolfmt.messages.message import taken_ids
from toolfmt.model.model import Model
from toolfmt.render.compiled_template import taught_format
from toolfmt.render.prompt import Prompt, render
from toolfmt.templates import TemplateSource, load_files

_log = logging.getLogger(__name__)
_TAIL = 64
"""Number of tokens at the end of a prompt that may contain the start of the response, if toolfmt did not render it."""
_REASONING_KEYS = ("reasoning_content", "reasoning")
"""mlx-lm and vLLM write the second one; many clients read the first one."""


@dataclass(frozen=True)
class ServerOptions:
    """The options that this server adds to mlx-lm's.

    Attributes:
        whole_calls: A stream sends a call only once it has ended.
        rejected: What happens to a rejected call's text.
        format: The format of a model whose files do not show it.
        markers: Whether markers that are tokens count only as these (`auto`), or also in other tokens (`text`).
    """

    whole_calls: bool = False
    rejected: Literal["content", "drop"] = "content"
    format: ToolCallFormat | None = None
    markers: Markers = "auto"


@dataclass
class ChatRequest(server.CompletionRequest):  # type: ignore[misc]  # mlx-lm's types are not available
    """A chat request. The generator adds `parser` and the end tokens, `ends`.

    `choice` is the name of a tool that must be called, `required`, or empty. `parallel` allows several calls.
    """

    choice: str = ""
    parallel: bool = True
    parser: AlignedParser | None = None
    ends: set[int] = field(default_factory=set)


class Generator(server.ResponseGenerator):  # type: ignore[misc]  # mlx-lm's types are not available
    """mlx-lm's generation from prompts that toolfmt renders, to text that includes the markers."""

    def __init__(self, model_provider: Any, prompt_cache: Any, options: ServerOptions) -> None:
        self.options = options
        self._models: dict[str, Model] = {}
        self._template = model_provider.cli_args.chat_template
        if model_provider.cli_args.model:
            self._model(model_provider.cli_args.model)
        super().__init__(model_provider, prompt_cache)

    def _model(self, path: str) -> Model:
        """The toolfmt model, probed once."""
        if path not in self._models:
            self._models[path] = model = model_at(path, self._template)
            if model.profile.format is None and self.options.format is None:
                _log.warning(
                    f"{path}: the tool-call format of this model is not known ({model.profile.why_no_format}); "
                    f"its outputs are parsed as {default_format().name}, unless --tool-format names another"
                )
        return self._models[path]

    def _tokenize(self, tokenizer: Any, request: Any, args: Any) -> Any:
        # Rendered here, because the tokenizer and mlx-lm's default of `enable_thinking` are known only here. mlx-lm
        # would change messages again: it adds content to every message and parses all arguments.
        if not isinstance(request, ChatRequest):
            return super()._tokenize(tokenizer, request, args)
        provider = self.model_provider
        model, prompt = self._model(provider.model_key[0]), None
        if _is_rendered(model, tokenizer, request):
            given = provider.cli_args.chat_template_args | (args.chat_template_kwargs or {})
            prompt = model.render(request.messages, request.tools or [], **_variables(model, tokenizer, given))
            tokenizer = _Rendered(tokenizer, prompt.text)
        ids, *others = super()._tokenize(tokenizer, request, args)
        tail = tokenizer.decode(ids[-_TAIL:])
        request.parser = AlignedParser(self._parser(model, prompt, request, tail), tokenizer, self.options.markers)
        request.ends = stop_tokens(tokenizer, model.profile.stop) | set(tokenizer.eos_token_ids)
        if request.choice:
            prefix = tail if prompt is None else prompt.prefill
            args.held = GrammarProcessor(
                Masks(self._grammar(model, request, prefix, tokenizer), tokenizer, request.ends)
            )
        return ids, *others

    def _grammar(self, model: Model, request: ChatRequest, prefix: str, tokenizer: Any) -> Grammar:
        """Return the grammar of the requested calls, in the format of the response's parser."""
        assert request.parser is not None
        read, taught = request.parser.format, taught_format(model.profile)
        return grammar(
            taught if taught.name == read.name and self.options.format is None else read,
            request.tools or [],
            choice=request.choice,
            parallel=request.parallel,
            tokens=marker_ids(tokenizer),
            prefix=prefix,
        )

    def _parser(self, model: Model, prompt: Prompt | None, request: Any, tail: str) -> Parser:
        if prompt is not None and prompt.strategy == "prompt":
            return prompt.parser()
        format = self.options.format or model.profile.tool_call_format or default_format()
        if prompt is not None:
            return prompt.parser(format=format)
        stop = [mark for mark in model.profile.stop if not format.in_calls(mark)]
        return Parser(format, tools=request.tools or [], prefix=tail, stop=stop)


def model_at(path: str, template: str = "") -> Model:
    """Return the model at a path. With a template, mlx-lm was configured to use it instead of the model's own."""
    files = load_files(path)
    return Model(replace(files, templates=(TemplateSource(template, "--chat-template"),)) if template else files)


def _is_rendered(model: Model, tokenizer: Any, request: Any) -> bool:
    """Return whether toolfmt renders a request: there is a template, mlx-lm has no code instead of it, and no image."""
    theirs = type(tokenizer._tokenizer).apply_chat_template
    by_program = tokenizer._chat_template or theirs is not tokenizer_utils.PreTrainedTokenizerBase.apply_chat_template
    template = model.files.template(bool(request.tools))
    return template is not None and not by_program and not any(server._image_parts(request.messages))


_OPTIONS = frozenset(inspect.signature(render).parameters)


def _variables(model: Model, tokenizer: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the request's variables that the template reads. Reasoning is on if it is on in mlx-lm."""
    profiles = (model.profile, model.profile.without_tools or model.profile)
    read = {name for profile in profiles for name in profile.variables} - _OPTIONS
    return {
        name: value for name, value in ({"enable_thinking": tokenizer.has_thinking} | given).items() if name in read
    }


class _InFrontOf:
    """Wraps an object of mlx-lm and replaces some of its behavior."""

    def __init__(self, other: Any) -> None:
        self._other = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)


class _Rendered(_InFrontOf):
    """A tokenizer that already has its prompt. It renders a part of the conversation as usual."""

    has_tool_calling = True
    """Without this, mlx-lm warns about tools whose calls its parsers would not find."""

    def __init__(self, tokenizer: Any, text: str) -> None:
        super().__init__(tokenizer)
        self._text = text

    def apply_chat_template(self, messages: Any, *, add_generation_prompt: bool, **options: Any) -> Any:
        if add_generation_prompt:
            return self._other.encode(self._text, add_special_tokens=False)
        try:
            return self._other.apply_chat_template(messages, add_generation_prompt=False, **options)
        except Exception:  # noqa: BLE001  mlx-lm searches for the system part to cache it; templates raise anything
            return []


class Handler(server.APIHandler):  # type: ignore[misc]  # mlx-lm's types are not available
    """One request. mlx-lm iterates over the tokens of the response, whose text is empty because it was already sent."""

    response_generator: Any
    answer: _Answer | None = None

    def handle_chat_completions(self) -> ChatRequest:
        fields = vars(super().handle_chat_completions())
        choice = self.body.get("tool_choice")
        if choice == "none":
            fields["tools"] = None
        return ChatRequest(**fields, choice=_forced(choice), parallel=self.body.get("parallel_tool_calls") is not False)

    def handle_completion(self, request: Any, stop_words: Any) -> None:
        if isinstance(request, ChatRequest):
            self.response_generator = _Reading(self.response_generator, self)
        super().handle_completion(request, stop_words)

    def generate_response(self, text: str, finish_reason: Any, *counts: Any, **more: Any) -> dict[str, Any]:
        response: dict[str, Any] = super().generate_response(text, finish_reason, *counts, **more)
        return response if self.answer is None else self.answer.last(finish_reason, response)

    def send_payloads(self, payloads: Sequence[Payload]) -> None:
        for payload in payloads:
            self.wfile.write(Chat.wire(self.framed(payload)).encode())
        if payloads:
            self.wfile.flush()

    def framed(self, payload: Payload) -> Payload:
        return payload | {"system_fingerprint": self.system_fingerprint}


def _forced(choice: Any) -> str:
    """Return what a request's `tool_choice` forces: any call, a tool's name, or nothing."""
    if isinstance(choice, dict) and isinstance(function := choice.get("function"), dict):
        return str(function.get("name") or "")
    return "required" if choice == "required" else ""


class _Reading(_InFrontOf):
    """A generation whose response is parsed."""

    def __init__(self, generator: Generator, handler: Handler) -> None:
        super().__init__(generator)
        self._handler = handler

    def generate(self, request: ChatRequest, args: Any, progress_callback: Any = None) -> Any:
        context, responses = self._other.generate(request, args, progress_callback)
        self._handler.answer = answer = _Answer(self._handler, request, self._other.options)
        return context, answer.read(answer.reporting_errors(responses), args.stop_words)


class _Answer:
    """The response to a chat request: parsed as it arrives, and sent immediately if streamed."""

    def __init__(self, handler: Handler, request: ChatRequest, options: ServerOptions) -> None:
        assert request.parser is not None  # created before the first token
        self._handler, self._parser, self._ends = handler, request.parser, request.ends
        self._events: list[Event] = []
        """What is sent at the end, if not streaming."""
        self._shape = Chat(
            handler.request_id,
            handler.requested_model,
            handler.created,
            taken_ids=taken_ids(request.messages),
            call_id=self._parser.format.call_id,
            reasoning_keys=_REASONING_KEYS,
            whole_calls=options.whole_calls or not handler.stream,
            rejected=options.rejected,
        )

    def read(self, responses: Iterator[Any], stop_words: Sequence[str]) -> Iterator[Any]:
        """Yield the responses without their text, up to the end of the response.

        mlx-lm searches for the tokens of a stop word. This method searches in the text, because other tokens can
        produce the same text.
        """
        ends = [(word, None) for word in stop_words if word]
        words = server.TextStateMachine({"normal": ends} if ends else None)
        state, within = words.make_state(), "normal"
        for response in responses:
            stopped = response.token in self._ends
            if response.finish_reason != "stop" or stopped:
                state, text, within = words.step(state, response.text)
                if response.finish_reason and within:
                    text += words.flush(state)[1]
                self._send(self._parser.feed(text, [response.token]))
            # Else mlx-lm found a stop word, and the held-back text and this token's text belong to it.
            stopped = stopped or not within or self._parser.ended
            yield replace(response, text="", finish_reason="stop" if stopped else response.finish_reason)
            if stopped:
                return

    def reporting_errors(self, responses: Iterator[Any]) -> Iterator[Any]:
        """Yield the responses. A failed generation ends a stream with an error; mlx-lm would only close it."""
        try:
            yield from responses
        except Exception as error:
            if self._handler.stream:
                self._handler.send_payloads(self._shape.fail(str(error)))
            raise

    def last(self, finish_reason: Any, response: dict[str, Any]) -> dict[str, Any]:
        """Return the end of the response: the last chunk of a stream, or the whole response in mlx-lm's frame."""
        cut = finish_reason == "length"
        reason: FinishReason = "length" if cut else "stop"
        events = self._parser.finish(cut=cut)
        if self._handler.stream:
            *chunks, last = [*self._shape.push(events), *self._shape.finish(reason)]
            self._handler.send_payloads(chunks)
            return self._handler.framed(last)
        (choice,) = self._shape.whole([*self._events, *events], reason)["choices"]
        # The frame has the usage and, if requested, the log probabilities.
        response["choices"][0] |= {"message": choice["message"], "finish_reason": choice["finish_reason"]}
        return response

    def _send(self, events: list[Event]) -> None:
        if self._handler.stream:
            self._handler.send_payloads(self._shape.push(events))
        else:
            self._events += events


_processors_of_mlx_lm = server._make_logits_processors


def _logits_processors(args: Any) -> list[Any]:
    """Return mlx-lm's logits processors for a request, followed by the grammar's."""
    return [*_processors_of_mlx_lm(args), *([args.held] if hasattr(args, "held") else [])]


def run(
    host: str,
    port: int,
    model_provider: Any,
    options: ServerOptions = ServerOptions(),
    server_class: type[ThreadingHTTPServer] = ThreadingHTTPServer,
) -> None:
    """Run like `mlx_lm.server.run`. Raises `ToolfmtError` for an invalid model, and `OSError` if it cannot listen."""
    server._make_logits_processors = _logits_processors
    cache = server.LRUPromptCache(model_provider.cli_args.prompt_cache_size)
    generator = Generator(model_provider, cache, options)
    try:
        if server.mx.distributed.init().rank() == 0:
            server._run_http_server(host, port, generator, server_class, Handler)
        else:
            generator.join()
    finally:
        generator.stop_and_join()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command with its own options and mlx-lm's."""
    parser = argparse.ArgumentParser(
        "python -m toolfmt.integrations.mlx_server", description=_DESCRIPTION, add_help=False, allow_abbrev=False
    )
    parser.add_argument("--whole-calls", action="store_true", help="stream a call once it has ended, in one piece")
    parser.add_argument(
        "--rejected-calls",
        choices=("content", "drop"),
        default="content",
        help="what happens to the text of a call that was cut off or rejected before it was emitted (default: content)",
    )
    parser.add_argument("--tool-format", type=_format, help="the format of calls, if the model's files do not show it")
    parser.add_argument("--markers", choices=("auto", "text"), default="auto", help="text: match markers by their text")
    own, others = parser.parse_known_args(arguments)
    if {"-h", "--help"} & {*others}:
        print(parser.format_help())
    options = ServerOptions(own.whole_calls, own.rejected_calls, own.tool_format, own.markers)
    sys.argv = [parser.prog, *others]
    server.run = partial(run, options=options)
    try:
        server.main()
    except (ToolfmtError, OSError) as error:
        parser.exit(2, f"{error}\n")


_DESCRIPTION = "mlx-lm's server, with prompts and parsers of toolfmt. Besides mlx-lm's options:"


def _format(name: str) -> ToolCallFormat:
    try:
        return named_format(name)
    except ToolfmtError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


if __name__ == "__main__":
    main()
