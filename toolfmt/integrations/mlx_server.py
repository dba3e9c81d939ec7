"""mlx-lm's own server, with prompts that toolfmt renders and answers that it reads.

    python -m toolfmt.integrations.mlx_server --model DIR          (and all options of mlx_lm.server)

Queueing, batches, caches, sampling and HTTP are mlx-lm's. Of a chat request the prompt is the one of `Model.render`,
so that a template gets the messages as it takes them, and a model whose template drops tools is told of them in words;
the answer's text goes through a parser into `toolfmt.integrations.protocols.Chat`. Without tools, and with
`tool_choice: "none"`, no call is emitted; with `"required"` or a tool's name the answer is held to calls by a grammar,
which needs llguidance.

Contract as in mlx-lm 0.32.2, server.py: `ResponseGenerator._tokenize` and `.generate`, whose responses the handler goes
through, and `_make_logits_processors`, which it asks for each request; `APIHandler.handle_chat_completions`,
`.handle_completion` and `.generate_response`; `_run_http_server`, which takes the class of a handler that `run` does
not pass on. Several requests run at once, each with a handler in a thread of its own; `_tokenize` runs in the one
thread that generates.
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
from toolfmt.formats.format_files import given_format
from toolfmt.grammars.grammar import Grammar, grammar
from toolfmt.grammars.masks import Masks, marker_ids
from toolfmt.integrations.mlx import GrammarProcessor, stop_tokens
from toolfmt.integrations.protocols import Chat, FinishReason, Payload
from toolfmt.messages.events import Event
from toolfmt.messages.message import taken_ids
from toolfmt.model.model import Model
from toolfmt.render.compiled_template import spoken_format
from toolfmt.render.prompt import Prompt, render
from toolfmt.templates import TemplateSource, load_files

_log = logging.getLogger(__name__)
_TAIL = 64
"""Tokens at a prompt's end in which the answer's beginning stands, where toolfmt has not rendered it."""
_REASONING_KEYS = ("reasoning_content", "reasoning")
"""What mlx-lm and vLLM write is the second; many clients read the first."""


@dataclass(frozen=True)
class ServerOptions:
    """What this server has beyond mlx-lm's: whether a stream tells a call only once it has ended, what becomes of a
    rejected call's text, and the format of a model whose files do not show it."""

    whole_calls: bool = False
    rejected: Literal["content", "drop"] = "content"
    format: ToolCallFormat | None = None


@dataclass
class ChatRequest(server.CompletionRequest):  # type: ignore[misc]  # mlx-lm's types are not read
    """A request for an answer; `_tokenize` adds what reads that, and the tokens that end it.

    `choice` is a tool that must be called, `required`, or empty; `parallel` whether several calls may be made.
    """

    choice: str = ""
    parallel: bool = True
    parser: Parser | None = None
    ends: set[int] = field(default_factory=set)


class Generator(server.ResponseGenerator):  # type: ignore[misc]  # mlx-lm's types are not read
    """mlx-lm's generation, of prompts that toolfmt renders, to text with its markers in it."""

    def __init__(self, model_provider: Any, prompt_cache: Any, options: ServerOptions) -> None:
        self.options = options
        self._models: dict[str, Model] = {}
        self._template = model_provider.cli_args.chat_template
        if model_provider.cli_args.model:
            self._model(model_provider.cli_args.model)
        super().__init__(model_provider, prompt_cache)

    def _model(self, path: str) -> Model:
        """The model as toolfmt sees it, probed once."""
        if path not in self._models:
            self._models[path] = model = model_at(path, self._template)
            if model.profile.format is None and self.options.format is None:
                _log.warning(
                    f"{path}: the tool-call format of this model is not known ({model.profile.why_no_format}); "
                    f"its answers are read as {default_format().name}, unless --tool-format names another"
                )
        return self._models[path]

    def _tokenize(self, tokenizer: Any, request: Any, args: Any) -> Any:
        # Rendered here, since only here are the tokenizer and mlx-lm's default of `enable_thinking` known. Passed on as
        # messages, the request would change again: mlx-lm adds a content to every message and parses all arguments.
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
        request.parser = self._parser(model, prompt, request, tail)
        request.ends = stop_tokens(tokenizer, model.profile.stop) | set(tokenizer.eos_token_ids)
        if request.choice:
            begun = tail if prompt is None else prompt.prefill
            args.held = GrammarProcessor(
                Masks(self._grammar(model, request, begun, tokenizer), tokenizer, request.ends)
            )
        return ids, *others

    def _grammar(self, model: Model, request: ChatRequest, begun: str, tokenizer: Any) -> Grammar:
        """The grammar of the calls that the request asks for, in the format that the answer is read in."""
        assert request.parser is not None
        read, spoken = request.parser.format, spoken_format(model.profile)
        return grammar(
            spoken if spoken.name == read.name and self.options.format is None else read,
            request.tools or [],
            choice=request.choice,
            parallel=request.parallel,
            tokens=marker_ids(tokenizer),
            prefix=begun,
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
    """The model at a path; with a template, mlx-lm was told to take that in the place of the model's own."""
    files = load_files(path)
    return Model(replace(files, templates=(TemplateSource(template, "--chat-template"),)) if template else files)


def _is_rendered(model: Model, tokenizer: Any, request: Any) -> bool:
    """Whether toolfmt renders a request: there is a template, and no program in its place; and no image."""
    theirs = type(tokenizer._tokenizer).apply_chat_template
    by_program = tokenizer._chat_template or theirs is not tokenizer_utils.PreTrainedTokenizerBase.apply_chat_template
    template = model.files.template(bool(request.tools))
    return template is not None and not by_program and not any(server._image_parts(request.messages))


_OPTIONS = frozenset(inspect.signature(render).parameters)


def _variables(model: Model, tokenizer: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What a request says to the template, as far as that reads it. Reasoning is on where mlx-lm has it on."""
    profiles = (model.profile, model.profile.without_tools or model.profile)
    read = {name for profile in profiles for name in profile.variables} - _OPTIONS
    return {
        name: value for name, value in ({"enable_thinking": tokenizer.has_thinking} | given).items() if name in read
    }


class _InFrontOf:
    """Stands before an object of mlx-lm's, and does some things itself."""

    def __init__(self, other: Any) -> None:
        self._other = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)


class _Rendered(_InFrontOf):
    """A tokenizer that has its prompt already; a part of the conversation it renders as ever."""

    has_tool_calling = True
    """Else mlx-lm warns of tools that its parsers would not find calls of."""

    def __init__(self, tokenizer: Any, text: str) -> None:
        super().__init__(tokenizer)
        self._text = text

    def apply_chat_template(self, messages: Any, *, add_generation_prompt: bool, **options: Any) -> Any:
        if add_generation_prompt:
            return self._other.encode(self._text, add_special_tokens=False)
        try:
            return self._other.apply_chat_template(messages, add_generation_prompt=False, **options)
        except Exception:  # noqa: BLE001  mlx-lm looks for the system's part, to cache it; templates raise anything
            return []


class Handler(server.APIHandler):  # type: ignore[misc]  # mlx-lm's types are not read
    """One request. mlx-lm goes through the tokens of an answer, and finds no text in them: that has been told."""

    response_generator: Any
    answer: _Answer | None = None

    def handle_chat_completions(self) -> ChatRequest:
        asked = vars(super().handle_chat_completions())
        choice = self.body.get("tool_choice")
        if choice == "none":
            asked["tools"] = None
        return ChatRequest(**asked, choice=_forced(choice), parallel=self.body.get("parallel_tool_calls") is not False)

    def handle_completion(self, request: Any, stop_words: Any) -> None:
        if isinstance(request, ChatRequest):
            self.response_generator = _Reading(self.response_generator, self)
        super().handle_completion(request, stop_words)

    def generate_response(self, text: str, finish_reason: Any, *counts: Any, **more: Any) -> dict[str, Any]:
        told: dict[str, Any] = super().generate_response(text, finish_reason, *counts, **more)
        return told if self.answer is None else self.answer.last(finish_reason, told)

    def tell(self, payloads: Sequence[Payload]) -> None:
        for payload in payloads:
            self.wfile.write(Chat.wire(self.framed(payload)).encode())
        if payloads:
            self.wfile.flush()

    def framed(self, payload: Payload) -> Payload:
        return payload | {"system_fingerprint": self.system_fingerprint}


def _forced(choice: Any) -> str:
    """What a request's `tool_choice` forces: calls, the call of a tool by its name, or nothing."""
    if isinstance(choice, dict) and isinstance(function := choice.get("function"), dict):
        return str(function.get("name") or "")
    return "required" if choice == "required" else ""


class _Reading(_InFrontOf):
    """A generation whose answer is read."""

    def __init__(self, generator: Generator, handler: Handler) -> None:
        super().__init__(generator)
        self._handler = handler

    def generate(self, request: ChatRequest, args: Any, progress_callback: Any = None) -> Any:
        context, responses = self._other.generate(request, args, progress_callback)
        self._handler.answer = answer = _Answer(self._handler, request, self._other.options)
        return context, answer.read(answer.or_told(responses), args.stop_words)


class _Answer:
    """The answer to a chat request: read as it comes, told as it comes where it is streamed."""

    def __init__(self, handler: Handler, request: ChatRequest, options: ServerOptions) -> None:
        assert request.parser is not None  # it was made before the first token
        self._handler, self._parser, self._ends = handler, request.parser, request.ends
        self._events: list[Event] = []
        """What is told at the end, where nothing is streamed."""
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
        """The responses without their text, up to the end of the answer.

        mlx-lm looks for the tokens of a stop word; here it is looked for in the text, which other tokens may say too.
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
                self._told(self._parser.feed(text))
            # Else mlx-lm has found a stop word: what is held back, and the text of this token, is of that.
            stopped = stopped or not within or self._parser.ended
            yield replace(response, text="", finish_reason="stop" if stopped else response.finish_reason)
            if stopped:
                return

    def or_told(self, responses: Iterator[Any]) -> Iterator[Any]:
        """The responses; a generation that fails ends a stream as an error, where mlx-lm would only break off."""
        try:
            yield from responses
        except Exception as error:
            if self._handler.stream:
                self._handler.tell(self._shape.fail(str(error)))
            raise

    def last(self, finish_reason: Any, told: dict[str, Any]) -> dict[str, Any]:
        """What ends the answer: the last chunk of a stream, or all of it in the frame that mlx-lm has made."""
        cut = finish_reason == "length"
        reason: FinishReason = "length" if cut else "stop"
        events = self._parser.finish(cut=cut)
        if self._handler.stream:
            *chunks, last = [*self._shape.push(events), *self._shape.finish(reason)]
            self._handler.tell(chunks)
            return self._handler.framed(last)
        (choice,) = self._shape.whole([*self._events, *events], reason)["choices"]
        # The frame has the usage and, where asked for, the log probabilities.
        told["choices"][0] |= {"message": choice["message"], "finish_reason": choice["finish_reason"]}
        return told

    def _told(self, events: list[Event]) -> None:
        if self._handler.stream:
            self._handler.tell(self._shape.push(events))
        else:
            self._events += events


_processors_of_mlx_lm = server._make_logits_processors


def _logits_processors(args: Any) -> list[Any]:
    """Those of mlx-lm for a request, and last what the answer is held to."""
    return [*_processors_of_mlx_lm(args), *([args.held] if hasattr(args, "held") else [])]


def run(
    host: str,
    port: int,
    model_provider: Any,
    options: ServerOptions = ServerOptions(),
    server_class: type[ThreadingHTTPServer] = ThreadingHTTPServer,
) -> None:
    """As `mlx_lm.server.run`, until the server is shut down. Raises `ToolfmtError` for a model that is none, and
    `OSError` where it cannot listen."""
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
    """The command: its own options, and mlx-lm's."""
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
    parser.add_argument(
        "--tool-format", type=_format, help="the format of calls, for models whose files do not show it"
    )
    own, others = parser.parse_known_args(arguments)
    if {"-h", "--help"} & {*others}:
        print(parser.format_help())
    options = ServerOptions(own.whole_calls, own.rejected_calls, own.tool_format)
    sys.argv = [parser.prog, *others]
    server.run = partial(run, options=options)
    try:
        server.main()
    except (ToolfmtError, OSError) as error:
        parser.exit(2, f"{error}\n")


_DESCRIPTION = "mlx-lm's server, with prompts that toolfmt renders and answers that it reads. Besides mlx-lm's options:"


def _format(name: str) -> ToolCallFormat:
    try:
        return given_format(name)
    except ToolfmtError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


if __name__ == "__main__":
    main()
