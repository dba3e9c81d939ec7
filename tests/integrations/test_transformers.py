"""Streaming from transformers: a scripted `generate` over the real streamer, and a real model if torch is installed."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_tokenizers import KINDS, by_bytes
from token_outputs import ids_of, parsed, summary, tokenizer_with
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

import toolfmt
from toolfmt.formats import Parser, TokenParser
from toolfmt.integrations import transformers as for_transformers
from toolfmt.integrations.protocols import Usage
from toolfmt.integrations.streaming import Stream
from toolfmt.integrations.transformers import stream
from toolfmt.messages.events import (
    Content,
    Event,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
    merge,
)
from toolfmt.render.prompt import Prompt

END = "<|im_end|>"
ANSWER = 'Let me see. <tool_call>\n{"name": "f", "arguments": {"text": "Zoë</tool_call>日本\\n🙂"}}\n</tool_call>'


class Counting(PreTrainedTokenizerFast):
    """A real tokenizer that counts the tokens it decodes in one call."""

    most_decoded = 0

    def decode(self, token_ids: Any, *given: Any, **options: Any) -> Any:
        self.most_decoded = max(self.most_decoded, len(token_ids))
        return super().decode(token_ids, *given, **options)


class _OnDevice(dict[str, Any]):
    def to(self, device: str) -> _OnDevice:
        assert device == "the model's"
        return self


@pytest.fixture(autouse=True)
def arrays_for_tensors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "real" not in request.node.name:
        monkeypatch.setattr(for_transformers, "BatchEncoding", arrays)


def arrays(ids: dict[str, list[list[int]]], tensor_type: str) -> _OnDevice:
    assert tensor_type == "pt"
    return _OnDevice({name: np.array(values) for name, values in ids.items()})


class Scripted:
    """A model that generates these tokens and calls the streamer as `generate` does: the prompt, a token at a time."""

    device = "the model's"

    def __init__(self, tokens: list[int], end: int, wait: Callable[[int], None] = lambda token: None) -> None:
        self.tokens, self.wait = tokens, wait
        self.generation_config = SimpleNamespace(eos_token_id=[end])
        self.given: dict[str, Any] = {}
        self.generated = 0
        self.thread: threading.Thread | None = None

    def generate(self, ids: Any, *, streamer: Any, stopping_criteria: list[Any], **options: Any) -> None:
        self.given, self.thread = {"ids": ids.tolist(), **options}, threading.current_thread()
        streamer.put(ids)
        for token in self.tokens:
            self.wait(token)
            streamer.put(np.array([token]))
            self.generated += 1
            if any(bool(criterion(ids, None)) for criterion in stopping_criteria):
                break
        streamer.end()


def of(tokenizer: Any, end: str) -> Counting:
    return Counting(tokenizer_object=tokenizer, eos_token=end)  # type: ignore[no-untyped-call]  # theirs


@pytest.fixture
def tokenizer() -> Counting:
    return of(by_bytes(), END)


def model_of(tokenizer: Counting, answer: str, **options: Any) -> Scripted:
    return Scripted(tokenizer.encode(answer, add_special_tokens=False), tokenizer.eos_token_id, **options)


def parser(**options: Any) -> Parser:
    return Parser("json", stop=[END], **options)


def test_a_scripted_answer_streams_the_same_events_as_its_text(tokenizer: Counting) -> None:
    model = model_of(tokenizer, ANSWER + END)
    streamed = stream(model, tokenizer, "Say it.", parser=parser(), max_new_tokens=99)
    events = list(streamed)
    *others, ended = merge(events)
    assert isinstance(ended, ToolCallEnd)
    assert [*others, replace(ended, tokens=None)] == parsed(Parser("json"), [ANSWER])
    before = tokenizer.encode("Let me see. ", add_special_tokens=False)
    assert ended.tokens == (len(before), len(model.tokens) - 1)
    assert len([event for event in events if isinstance(event, ToolCallArguments)]) > 8  # they stream
    assert tokenizer.most_decoded < 10  # however long the output is
    prompt = tokenizer.encode("Say it.", add_special_tokens=False)
    assert (streamed.finish_reason, streamed.usage) == ("stop", Usage(len(prompt), len(model.tokens)))
    attention = model.given.pop("attention_mask")
    assert attention.tolist() == [[1] * len(prompt)]
    assert model.given == {"ids": [prompt], "max_new_tokens": 99}


def test_a_call_that_a_response_quotes_is_content() -> None:
    backend = tokenizer_with(END, "<tool_call>", "</tool_call>")
    output = f"«{END}»".join([f"It says {ANSWER[12:]}. ", ""])
    model = Scripted(ids_of(backend, output), of(backend, END).eos_token_id)
    assert summary(merge(stream(model, of(backend, END), "Say it.", parser=parser()))) == [
        ("content", f"It says {ANSWER[12:]}. ")
    ]
    model = Scripted(ids_of(backend, output), of(backend, END).eos_token_id)
    lenient = TokenParser(parser(), of(backend, END), "text")
    assert summary(merge(stream(model, of(backend, END), "Say it.", parser=lenient)))[1][0] == "call"


@pytest.mark.parametrize("kind", [kind for kind, tokenizer in KINDS.items() if isinstance(tokenizer, Tokenizer)])
def test_tokens_come_as_the_text_that_all_of_them_are(kind: str) -> None:
    tokenizer = of(KINDS[kind], "</s>")
    text = "the  cat's 日本 🙂🙂 é\n\n\n <tool_call>x</s>y the table , the cat ? it rains . "
    tokens = tokenizer.encode(text, add_special_tokens=False)
    events = stream(Scripted(tokens, -1), tokenizer, "the", parser=Parser("glm4"))
    whole = tokenizer.decode(tokens, clean_up_tokenization_spaces=False)
    assert "".join(event.text for event in events if isinstance(event, Content)) == whole


def test_streaming_waits_for_whole_characters_but_not_for_whitespace(tokenizer: Counting) -> None:
    """transformers' own streamer emits a line without spaces at its end."""
    go_on = threading.Semaphore(0)
    model = model_of(tokenizer, "abc🙂def", wait=lambda token: go_on.acquire() and None)
    events = stream(model, tokenizer, "", parser=parser())
    seen: list[Event] = []
    for _ in model.tokens:
        go_on.release()
        if len(seen) < 3:
            seen.append(next(events))
    assert seen == [Content("a", 0), Content("b", 1), Content("c", 2)]
    rest = "".join(event.text for event in events if isinstance(event, Content))
    assert rest == "🙂def"


def test_a_character_that_stays_broken_is_emitted_as_a_replacement_character(tokenizer: Counting) -> None:
    first_byte = tokenizer.encode("🙂", add_special_tokens=False)[0]
    tokens = [*[first_byte] * 3, *tokenizer.encode("a", add_special_tokens=False)]
    events = list(stream(Scripted(tokens, -1), tokenizer, "", parser=parser()))
    assert merge(events) == [Content("\ufffd\ufffd\ufffda", 0)]


@pytest.mark.parametrize(
    ("ending", "options", "last"),
    [
        (" ", {}, ToolCallEnd),
        ("", {}, ToolCallRejected),  # its tokens ran out, if the end marker is missing
        (" ", {"eos_token_id": 5}, ToolCallRejected),
        ("", {"eos_token_id": "}"}, ToolCallEnd),
        (" ", {"generation_config": SimpleNamespace(eos_token_id=None)}, ToolCallRejected),
    ],
)
def test_an_open_call_is_cut_where_the_model_did_not_end_its_answer(
    tokenizer: Counting, ending: str, options: dict[str, Any], last: type
) -> None:
    def id_of(text: str) -> int:
        return int(tokenizer.encode(text, add_special_tokens=False)[0])

    if isinstance(options.get("eos_token_id"), str):
        options = {"eos_token_id": id_of(options["eos_token_id"])}
    model = model_of(tokenizer, '<tool_call>{"name": "f", "arguments": {}}' + ending)
    model.generation_config.eos_token_id = [7, id_of(" ")]
    assert type(list(stream(model, tokenizer, "", parser=Parser("json"), **options))[-1]) is last


def test_what_generate_raises_reaches_the_caller_after_the_emitted_events(tokenizer: Counting) -> None:
    def fail(token: int) -> None:
        if token == tokenizer.encode("!", add_special_tokens=False)[0]:
            raise MemoryError("no more")

    emitted = []
    with pytest.raises(MemoryError, match="no more"):
        for event in stream(model_of(tokenizer, "abc!def", wait=fail), tokenizer, "", parser=parser()):
            emitted.append(event)  # noqa: PERF402  # what came before the exception is kept
    assert merge(emitted) == [Content("abc", 0)]


def test_what_is_raised_after_the_last_token_reaches_the_caller(tokenizer: Counting) -> None:
    class Late(Scripted):
        def generate(self, ids: Any, **options: Any) -> None:
            super().generate(ids, **options)
            threading.Event().wait(0.05)
            raise MemoryError("too late")

    model = Late(tokenizer.encode("abc", add_special_tokens=False), -1)
    with pytest.raises(MemoryError, match="too late"):
        list(stream(model, tokenizer, "", parser=parser()))


def test_who_stops_iterating_stops_the_generation(tokenizer: Counting) -> None:
    never = threading.Event()
    model = model_of(tokenizer, "ab" * 5000, wait=lambda token: bool(never.wait(0.001)) and None)
    events = stream(model, tokenizer, "", parser=parser())
    assert next(events) == Content("a", 0)
    events.close()
    assert model.generated < 5000
    assert model.thread is not None
    assert not model.thread.is_alive()


def test_who_lets_go_of_a_stream_stops_the_generation(tokenizer: Counting) -> None:
    never = threading.Event()
    model = model_of(tokenizer, "ab" * 5000, wait=lambda token: bool(never.wait(0.001)) and None)
    for event in stream(model, tokenizer, "", parser=parser()):
        assert event == Content("a", 0)
        break
    assert model.generated < 5000
    assert model.thread is not None
    assert not model.thread.is_alive()


def waits(check: Callable[[], bool]) -> bool:
    """Whether something becomes true within some seconds."""
    return any(check() or threading.Event().wait(0.01) for _ in range(1000))


def test_a_stream_that_is_held_and_not_read_generates_no_further_and_goes_on_when_it_is_read(
    tokenizer: Counting,
) -> None:
    model = model_of(tokenizer, "ab" * 500 + END)
    events = stream(model, tokenizer, "", parser=parser())
    for event in events:
        assert event == Content("a", 0)
        break
    ahead = for_transformers._MOST_UNREAD
    assert waits(lambda: model.generated == ahead + 1)
    assert not threading.Event().wait(0.1)
    assert model.generated == ahead + 1  # the one that was read, and those that wait
    rest = "".join(event.text for event in events if isinstance(event, Content))
    assert ("a" + rest, events.finish_reason) == ("ab" * 500, "stop")


def test_what_waits_to_be_read_ends_with_its_stream(tokenizer: Counting) -> None:
    model = model_of(tokenizer, "ab" * 500)
    with stream(model, tokenizer, "", parser=parser()) as events:
        assert next(events) == Content("a", 0)
        assert waits(lambda: model.generated > 10)
    assert model.thread is not None
    assert not model.thread.is_alive()
    assert model.generated < 30
    assert list(events) == []


def test_tokens_that_come_several_at_once_do_not_wait_for_who_has_gone(tokenizer: Counting) -> None:
    class Guessing(Scripted):
        def generate(self, ids: Any, *, streamer: Any, stopping_criteria: list[Any], **options: Any) -> None:
            self.thread = threading.current_thread()
            streamer.put(ids)
            streamer.put(np.array(self.tokens))
            assert stopping_criteria[-1](ids, None)
            streamer.end()

    model = Guessing(tokenizer.encode("ab" * 100, add_special_tokens=False), -1)
    with stream(model, tokenizer, "", parser=parser()) as events:
        assert next(events) == Content("a", 0)
    assert model.thread is not None
    assert not model.thread.is_alive()


def test_the_generating_thread_may_collect_its_own_stream(tokenizer: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python collects cycles in the thread that happens to allocate."""
    failures: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)
    let_go = threading.Event()

    def collect(token: int) -> None:
        if model.generated == 3:
            let_go.wait(10)
            gc.collect()

    model = model_of(tokenizer, "ab" * 500, wait=collect)

    def hold() -> None:
        holder: dict[str, Any] = {"stream": stream(model, tokenizer, "", parser=parser())}
        holder["itself"] = holder
        next(holder["stream"])

    gc.disable()
    try:
        hold()
        let_go.set()
        assert model.thread is not None
        model.thread.join(10)
    finally:
        gc.enable()
    assert not model.thread.is_alive()
    assert (model.generated, failures) == (4, [])


HOLDING = """
import atexit
from test_transformers import END, arrays, for_transformers, model_of, of, parser, stream
from small_tokenizers import by_bytes

for_transformers.BatchEncoding = arrays
tokenizer = of(by_bytes(), END)
model = model_of(tokenizer, "ab" * 500)
atexit.register(lambda: print("still generating:", model.thread.is_alive()))
held = stream(model, tokenizer, "", parser=parser())
for event in held:
    break
"""


@pytest.mark.sample(0)
def test_a_program_that_holds_a_stream_ends_its_generation() -> None:
    """A thread that is within a step of torch when the program ends aborts it."""
    status, printed, complaints = ended(HOLDING)
    assert (status, printed) == (0, "still generating: False\n")
    assert "Exception ignored" not in complaints  # when the modules are gone the generator is closed


def ended(program: str) -> tuple[int, str, str]:
    """The status of a program that found the modules of the tests, what it printed, and its complaints."""
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join(map(str, (tests / "integrations", tests / "support", Path(toolfmt.__file__).parents[1])))
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return run.returncode, run.stdout, run.stderr


def test_stopping_criteria_of_the_caller_are_used_too(tokenizer: Counting) -> None:
    model = model_of(tokenizer, "abcdef")
    criterion = lambda *_: model.generated == 3  # noqa: E731  # used only here
    events = stream(model, tokenizer, "", parser=parser(), stopping_criteria=[criterion])
    assert merge(events) == [Content("abc", 0)]


def test_stop_strings_are_given_with_the_tokenizer_that_they_are_found_by(tokenizer: Counting) -> None:
    model = model_of(tokenizer, "abc")
    list(stream(model, tokenizer, "", parser=parser(), stop_strings=["c"]))
    assert model.given["tokenizer"] is tokenizer
    assert model.given["stop_strings"] == ["c"]


def test_what_is_never_iterated_generates_nothing(tokenizer: Counting) -> None:
    model = model_of(tokenizer, "abc")
    stream(model, tokenizer, "", parser=parser())
    assert model.thread is None


def test_a_prompt_reads_its_own_answer_and_ends_it(tokenizer: Counting) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    prompt = Prompt("Q", "prompt", "json", prefill="<think>", stop=("\n\nUser:", "[TOOL RESULT"), tools=tools)
    text = 'hm</think>A <tool_call>{"name": "f", "arguments": {}}</tool_call>\n\nUser: and then' + "x" * 5000
    model = model_of(tokenizer, text, wait=lambda token: threading.Event().wait(0.0005) and None)
    events = list(stream(model, tokenizer, prompt))
    kinds = [type(event).__name__ for event in merge(events)]
    assert kinds == ["Reasoning", "Content", "ToolCallStart", "ToolCallArguments", "ToolCallEnd"]
    assert model.given["ids"] == [tokenizer.encode("Q", add_special_tokens=False)]
    assert model.generated < 5000  # nothing reads after a stop string


def test_token_ids_are_a_prompt_too(tokenizer: Counting) -> None:
    model = model_of(tokenizer, "abc")
    streamed = stream(model, tokenizer, [5, 7, 9], parser=parser())
    assert merge(streamed) == [Content("abc", 0)]
    assert (model.given["ids"], streamed.finish_reason) == ([[5, 7, 9]], "length")


def test_a_text_without_a_parser_is_rejected_at_once(tokenizer: Counting) -> None:
    with pytest.raises(TypeError, match="needs a parser"):
        stream(model_of(tokenizer, "abc"), tokenizer, "text")


REALLY_HOLDING = """
import toolfmt
from toolfmt.integrations.transformers import stream
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({directory!r})
model = AutoModelForCausalLM.from_pretrained({directory!r})
prompt = toolfmt.load({directory!r}).render({messages!r}, tools={tools!r})
held = stream(model, tokenizer, prompt, min_new_tokens=3900, max_new_tokens=4000)
for event in held:
    break
print("left")
"""


def test_a_real_model_streams_its_call_and_stops_at_its_stop_token(tmp_path: Path) -> None:
    """Generated by torch, from a model that was trained here."""
    pytest.importorskip("torch", reason="torch is large, and CI has no need of it")
    pytest.importorskip("mlx_lm", reason="mlx trains the model")
    from tiny_models import build
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tools = [
        {"type": "function", "function": {"name": "f", "parameters": {"properties": {"text": {"type": "string"}}}}}
    ]
    messages = [{"role": "user", "content": "Say it."}]
    template = (
        "{%- if tools %}{{- '<|im_start|>system\n' }}{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}"
        "{{- '<|im_end|>\n' }}{%- endif %}{%- for message in messages %}{{- '<|im_start|>' + message.role + '\n' }}"
        "{{- message.content or '' }}{%- for call in message.tool_calls or [] %}"
        '{{- \'<tool_call>\n{"name": "\' + call.function.name + \'", "arguments": \' }}'
        "{{- call.function.arguments | tojson + '}\n</tool_call>' }}{%- endfor %}{{- '<|im_end|>\n' }}{%- endfor %}"
        "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"
    )
    special = ["<|im_start|>", "<tool_call>", "</tool_call>"]
    directory = build(tmp_path, template=template, messages=messages, tools=tools, answer=ANSWER, special=special)
    tokenizer: Any = AutoTokenizer.from_pretrained(str(directory))
    model: Any = AutoModelForCausalLM.from_pretrained(str(directory))
    prompt = toolfmt.load(directory).render(messages, tools=tools)

    def answered(**options: Any) -> Stream:
        return stream(model, tokenizer, prompt, do_sample=False, **options)

    events = list(answered(max_new_tokens=300))
    *others, end = merge(events)
    assert isinstance(end, ToolCallEnd) and end.tokens is not None
    assert [*others, replace(end, tokens=None)] == parsed(Parser("json", tools=tools), [ANSWER])
    deltas = [event.delta for event in events if isinstance(event, ToolCallArguments)]
    assert len(deltas) > 4
    assert json.loads("".join(deltas)) == {"text": "Zoë</tool_call>日本\n🙂"}
    cut = list(answered(max_new_tokens=len(tokenizer.encode(ANSWER)) - 8))
    assert isinstance(cut[-1], ToolCallRejected)
    assert cut[-1].reason == "incomplete_output"
    left = answered(max_new_tokens=300)
    assert next(event for event in left if isinstance(event, ToolCallStart)).name == "f"
    before = threading.active_count()
    left.close()
    assert threading.active_count() == before - 1
    held = REALLY_HOLDING.format(directory=str(directory), messages=messages, tools=tools)
    for _ in range(3):
        status, printed, complaints = ended(held)
        assert (status, printed, "ignored" in complaints) == (0, "left\n", False), complaints
    stopped = list(answered(max_new_tokens=300, stop_strings=["see."]))
    assert merge(stopped) == [Content("Let me see.", 0)]
    with pytest.raises(ValueError, match="beam search"):
        list(answered(num_beams=2, max_new_tokens=9))
