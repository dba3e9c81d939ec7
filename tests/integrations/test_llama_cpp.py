"""The real llama.cpp under llama-cpp-python: a tiny GGUF file that knows one output, and any output as its tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolfmt
from toolfmt.formats import FORMATS, TokenParser
from toolfmt.formats.parser.tokens.detokenizer import Detokenizer
from toolfmt.formats.parser.tokens.vocabulary import Tokens

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is compiled where it is installed")
pytest.importorskip("mlx_lm", reason="the tiny model is trained with mlx-lm")
import tiny_gguf  # noqa: E402  it is of use only then
import tiny_models  # noqa: E402  it needs mlx

from toolfmt.integrations.llama_cpp import ChatHandler, stream  # noqa: E402  it needs llama-cpp-python
from toolfmt.messages.message import Message  # noqa: E402  after the checks above

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "write_file",
            "description": "Write a file.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
                "required": ["path", "text"],
            },
        },
    }
]
MESSAGES: list[Any] = [{"role": "user", "content": "Write it."}]
INDENT = " " * 100
"""One token of more bytes than fit into llama-cpp-python's `detokenize` and our first buffer."""
ARGUMENTS = {"path": "a.py", "text": f"def f():\n{INDENT}return '🦀 </tool_call>'\n"}
TEXT = "I write it.\n"
CALL = toolfmt.write("json", [("write_file", ARGUMENTS)], TOOLS)
END = "<|im_end|>"
MARKERS = tiny_gguf.markers(but={END, "<|im_start|>", tiny_models.PADDING})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that writes a file; the markers of all formats are control tokens of its tokenizer."""
    directory = tmp_path_factory.mktemp("tiny-qwen3")
    tiny_models.build(
        directory,
        template=tiny_models.TEMPLATE,
        messages=MESSAGES,
        tools=TOOLS,
        answer=TEXT + CALL,
        special=["<|im_start|>"],
        added=[INDENT, *MARKERS],
    )
    return tiny_gguf.written(directory, directory / "tiny.gguf", control=MARKERS)


def opened(file: Path, handler: Any = None, **options: Any) -> Any:
    return llama_cpp.Llama(str(file), n_ctx=2048, verbose=False, chat_handler=handler, **options)


@pytest.fixture(scope="module")
def llama(file: Path) -> Iterator[Any]:
    with_handler = opened(file, ChatHandler(file))
    yield with_handler
    with_handler.close()


def ask(llama: Any, **options: Any) -> Any:
    return llama.create_chat_completion(MESSAGES, **{"tools": TOOLS, "temperature": 0.0, **options})


def saying(monkeypatch: pytest.MonkeyPatch, llama: Any, answer: str | list[int], *, end: bool = True) -> dict[str, Any]:
    """Makes the model generate this output; returns the model."""
    request: dict[str, Any] = {}
    tokens_to_emit = llama.tokenize(answer.encode(), add_bos=False, special=True) if isinstance(answer, str) else answer

    def generate(tokens: list[int], **options: Any) -> Iterator[int]:
        request.update(options, prompt=llama.detokenize(tokens, special=True).decode(), generated=0)
        for token in [*tokens_to_emit, *([llama.token_eos()] if end else [])]:
            request["generated"] += 1
            yield token

    monkeypatch.setattr(llama, "generate", generate)
    return request


def calls_of(message: dict[str, Any]) -> list[tuple[str, Any]]:
    calls = [call["function"] for call in message.get("tool_calls") or []]
    return [(call["name"], json.loads(call["arguments"])) for call in calls]


def joined(chunks: Iterable[Any]) -> tuple[dict[str, Any], str]:
    """What a client makes of the chunks: the message, and why it ended."""
    message: dict[str, Any] = {"content": "", "tool_calls": []}
    reason = ""
    for choice in (chunk["choices"][0] for chunk in chunks):
        message["content"] += choice["delta"].get("content") or ""
        for call in choice["delta"].get("tool_calls", []):
            if "id" in call:
                message["tool_calls"].append({"id": call["id"], "function": dict(call["function"])})
            else:
                message["tool_calls"][call["index"]]["function"]["arguments"] += call["function"]["arguments"]
        reason = choice["finish_reason"] or reason
    return message, reason


def test_the_handler_gives_the_call_that_the_own_one_gives_as_spoilt_text(file: Path, llama: Any) -> None:
    completion = ask(llama)
    (choice,) = completion["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (TEXT, "tool_calls")
    assert calls_of(choice["message"]) == [("write_file", ARGUMENTS)]
    assert completion["model"] == str(file)
    answer = llama.tokenize((TEXT + CALL).encode(), add_bos=False, special=True)
    assert completion["usage"]["completion_tokens"] == len(answer)
    own = opened(file)
    message = ask(own)["choices"][0]["message"]
    own.close()
    spoilt = (TEXT + CALL).replace("<tool_call>", "").replace("</tool_call>", "").replace(INDENT, "")
    assert (message.get("tool_calls"), message["content"]) == (None, spoilt)


def test_a_call_that_a_response_quotes_is_content(llama: Any, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quoted = llama.tokenize((TEXT + CALL).encode(), add_bos=False, special=False)
    saying(monkeypatch, llama, quoted)
    (choice,) = ask(llama)["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (TEXT + CALL, "stop")
    lenient = opened(file, ChatHandler(file, markers="text"))
    saying(monkeypatch, lenient, quoted)
    assert calls_of(ask(lenient)["choices"][0]["message"]) == [("write_file", ARGUMENTS)]
    lenient.close()
    prompt = toolfmt.load(file, trusted=True).render(MESSAGES, TOOLS)
    for parser, count in ((None, 0), (TokenParser(prompt.parser(), llama, "text"), 1)):
        assert len(Message.from_events(stream(llama, prompt, parser=parser)).tool_calls) == count


@pytest.mark.parametrize("text", ["é日本🦜", INDENT, "a b  c", "<|im_end|>"])
def test_tokens_have_their_text(llama: Any, text: str) -> None:
    ids = llama.tokenize(text.encode(), add_bos=False, special=True)
    tokens = Tokens(llama)
    detokenizer = Detokenizer(tokens, tokens.vocabulary.markers)
    assert "".join(piece for id in ids for piece, _ in detokenizer.feed([id])) == text
    assert tokens.piece(-1) == tokens.piece(10**6) == ""
    assert {END, *MARKERS} <= set(tokens.vocabulary.markers.values())


def test_content_streams_and_the_call_comes_whole(llama: Any) -> None:
    chunks = list(ask(llama, stream=True))
    assert len([chunk for chunk in chunks if chunk["choices"][0]["delta"].get("content")]) > 2
    assert len([chunk for chunk in chunks if "tool_calls" in chunk["choices"][0]["delta"]]) == 2
    message, reason = joined(chunks)
    assert (message["content"], calls_of(message), reason) == (TEXT, [("write_file", ARGUMENTS)], "tool_calls")


def test_what_it_answers_is_what_openai_s_client_takes(llama: Any) -> None:
    request: Any = {"messages": MESSAGES, "tools": TOOLS, "temperature": 0.0}
    (choice,) = llama.create_chat_completion_openai_v1(**request).choices
    (call,) = choice.message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("write_file", ARGUMENTS)
    chunks = list(llama.create_chat_completion_openai_v1(**request, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_arguments_are_streamed_if_requested(file: Path) -> None:
    llama = opened(file, ChatHandler(toolfmt.load(file), whole_calls=False))
    chunks = list(ask(llama, stream=True))
    assert len([chunk for chunk in chunks if "tool_calls" in chunk["choices"][0]["delta"]]) > 20
    assert calls_of(joined(chunks)[0]) == [("write_file", ARGUMENTS)]
    cut = ask(llama, max_tokens=len(llama.tokenize((TEXT + CALL[:-40]).encode(), False, True)))["choices"][0]
    assert (calls_of(cut["message"]), cut["finish_reason"]) == ([], "length")
    llama.close()


def test_a_model_may_be_the_directory_that_the_file_was_made_of(file: Path) -> None:
    llama = opened(file, ChatHandler(file.parent))
    assert calls_of(ask(llama)["choices"][0]["message"]) == [("write_file", ARGUMENTS)]
    llama.close()


def both_ways(llama: Any, **options: Any) -> list[tuple[dict[str, Any], str]]:
    """The output as a whole, and as the joined chunks."""
    choice = ask(llama, **options)["choices"][0]
    return [(choice["message"], choice["finish_reason"]), joined(ask(llama, stream=True, **options))]


def test_cut_at_every_token_there_is_no_call_and_the_text_before_it(llama: Any) -> None:
    answer = llama.tokenize((TEXT + CALL).encode(), add_bos=False, special=True)
    for most in range(1, len(answer)):
        written = llama.detokenize(answer[:most], special=True).decode(errors="ignore")
        for message, reason in both_ways(llama, max_tokens=most):
            assert (calls_of(message), reason) == ([], "length")
            assert message["content"].rstrip() == written[: len(TEXT)].rstrip()


def test_a_response_is_streamed_as_events(file: Path, llama: Any) -> None:
    model = toolfmt.load(file)
    events = stream(llama, model.render(MESSAGES, TOOLS), temp=0.0)
    message = Message.from_events(list(events))
    assert (message.content, [(call.name, json.loads(call.arguments)) for call in message.tool_calls]) == (
        TEXT,
        [("write_file", ARGUMENTS)],
    )
    assert (events.finish_reason, events.usage is not None and events.usage.output_tokens) == (
        "stop",
        len(llama.tokenize((TEXT + CALL).encode(), add_bos=False, special=True)),
    )
    cut = stream(llama, model.render(MESSAGES, TOOLS), max_tokens=10, temp=0.0)
    assert Message.from_events(list(cut)).tool_calls == [] and cut.finish_reason == "length"


def test_a_grammar_decides_what_a_response_may_be(file: Path, llama: Any) -> None:
    prompt = toolfmt.load(file).render(MESSAGES, TOOLS)
    grammar = toolfmt.grammar("json", TOOLS, syntax="gbnf", choice="write_file", parallel=False)
    message = Message.from_events(list(stream(llama, prompt, grammar=grammar, max_tokens=200, temp=0.0)))
    assert message.content is None  # without a grammar, the model writes a text first
    assert [call.name for call in message.tool_calls] + [call.name for call in message.rejected] == ["write_file"]
    with pytest.raises(ValueError, match=r'^llama\.cpp reads grammars in GBNF: create it with syntax="gbnf"'):
        stream(llama, prompt, grammar=toolfmt.grammar("json", TOOLS))


def test_a_consumer_that_goes_away_stops_the_model(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    request = saying(monkeypatch, llama, TEXT + CALL)
    stream = ask(llama, stream=True)
    assert not request
    next(stream)
    stream.close()
    assert request["generated"] == 1


@pytest.mark.parametrize("name", [format.name for format in FORMATS])
def test_every_format_is_read_although_its_markers_are_control_tokens(
    name: str, file: Path, llama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [("write_file", ARGUMENTS)]
    saying(monkeypatch, llama, toolfmt.write(name, calls, TOOLS))
    monkeypatch.setattr(llama, "chat_handler", ChatHandler(file, format=name))
    choice = ask(llama)["choices"][0]
    assert (calls_of(choice["message"]), choice["finish_reason"]) == (calls, "tool_calls")


def test_the_prompt_is_the_template_s_and_options_reach_the_sampling(
    llama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = saying(monkeypatch, llama, "Yes.")
    choice = ask(llama, temperature=0.5, top_k=7, seed=3, response_format={"type": "text"})["choices"][0]
    assert choice == choice | {"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    assert (request["temp"], request["top_k"], llama._seed) == (0.5, 7, 3)
    assert request["prompt"] == llama.chat_handler._model.render(MESSAGES, TOOLS).text


@pytest.mark.parametrize("given", [{"tool_choice": "none"}, {"tools": None}, {"tools": [], "functions": None}])
def test_without_tools_what_looks_like_a_call_is_text(given: Any, llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    request = saying(monkeypatch, llama, CALL)
    choice = ask(llama, **given)["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == (CALL, "stop")
    assert "# Tools" not in request["prompt"]


def test_functions_are_tools_by_their_older_name(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    request = saying(monkeypatch, llama, CALL)
    functions = [TOOLS[0]["function"]]
    assert len(calls_of(ask(llama, tools=None, functions=functions)["choices"][0]["message"])) == 1
    assert "write_file" in request["prompt"]
    assert calls_of(ask(llama, tools=None, functions=functions, function_call="none")["choices"][0]["message"]) == []


@pytest.mark.parametrize("stop", ["is", ["it's", "is"]])
def test_an_answer_ends_at_a_stop_string_and_the_model_with_it(
    stop: Any, llama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = saying(monkeypatch, llama, "This one goes on. " * 20)
    for message, reason in both_ways(llama, stop=stop):
        assert (message["content"], reason) == ("Th", "stop")
        assert request["generated"] < 6


def test_a_stop_string_within_a_call_leaves_no_call(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    saying(monkeypatch, llama, TEXT + CALL)
    choice = ask(llama, stop=["a.py"])["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == (TEXT + CALL.partition("a.py")[0], "stop")


def test_an_end_of_turn_in_other_tokens_is_text_except_with_a_grammar(
    llama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = llama.tokenize(END.encode(), add_bos=False, special=False)
    request = saying(monkeypatch, llama, [*llama.tokenize(b"Yes.", False, True), *end, *end])
    expected = ("Yes." + END + END, "stop")
    assert [(message["content"], reason) for message, reason in both_ways(llama)] == [expected] * 2
    (choice,) = ask(llama, grammar=llama_cpp.LlamaGrammar.from_string('root ::= "Yes"', verbose=False))["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("Yes.", "stop")
    assert request["generated"] == len(llama.tokenize(b"Yes.", False, True)) + len(end)


def test_bytes_that_are_no_text_take_nothing_with_them(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = llama.tokenize("🦀".encode(), add_bos=False, special=True)
    more = llama.tokenize(b" so", add_bos=False, special=True)
    assert len(ids) > 1
    saying(monkeypatch, llama, [*ids[:1], *more, *ids, *more, *ids[:1]])
    for message, _ in both_ways(llama):
        assert message["content"] == "\N{REPLACEMENT CHARACTER} so🦀 so\N{REPLACEMENT CHARACTER}"


def test_half_a_character_in_a_message_is_a_question_mark(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    request = saying(monkeypatch, llama, "Yes.")
    llama.create_chat_completion([{"role": "user", "content": "\ud83d so"}])
    assert "user\n? so" in request["prompt"]


def test_ids_go_on_from_those_of_the_conversation(llama: Any) -> None:
    call = {"id": "call_0", "type": "function", "function": {"name": "write_file", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "call_0", "content": "no"}
    turns = [*MESSAGES, {"role": "assistant", "content": None, "tool_calls": [call]}, result]
    prompt = llama.chat_handler._model.render(turns, TOOLS)
    assert prompt.text.count("<tool_call>") == 1
    with pytest.MonkeyPatch.context() as patch:
        saying(patch, llama, CALL)
        message = llama.create_chat_completion(turns, tools=TOOLS)["choices"][0]["message"]
    assert [made["id"] for made in message["tool_calls"]] == ["call_1"]


def test_reasoning_has_a_key_of_its_own(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    saying(monkeypatch, llama, "<think>Hm.</think>Yes.")
    message = ask(llama)["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"logprobs": True}, "does not take logprobs"),
        ({"logit_bias": {5: 1.0}}, "does not take logit_bias"),
        ({"response_format": {"type": "json_object"}}, "does not take response_format"),
        ({"tool_choice": "required"}, "tool_choice 'required' is enforced by a grammar alone"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice .* is enforced by a grammar"),
    ],
)
def test_unsupported_options_are_reported(given: Any, message: str, llama: Any) -> None:
    with pytest.raises(ValueError, match=message):
        ask(llama, **given)


def test_a_prompt_that_does_not_fit_is_reported_and_an_answer_ends_with_the_context(
    llama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = llama.chat_handler._model.render(MESSAGES, TOOLS).text
    prompt = len(llama.tokenize(text.encode(), add_bos=False, special=True))
    monkeypatch.setattr(llama, "n_ctx", lambda: prompt + 10)
    completion = ask(llama, max_tokens=500)
    assert (completion["choices"][0]["finish_reason"], completion["usage"]["completion_tokens"]) == ("length", 10)
    assert ask(llama, max_tokens=-1)["usage"]["completion_tokens"] == 10
    monkeypatch.setattr(llama, "n_ctx", lambda: prompt)
    with pytest.raises(ValueError, match=f"^the prompt has {prompt} tokens, the context {prompt}: give more n_ctx$"):
        ask(llama)


def test_a_required_call_is_left_to_the_caller_s_grammar(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = llama_cpp.LlamaGrammar.from_string('root ::= "x"', verbose=False)
    request = saying(monkeypatch, llama, CALL)
    assert len(calls_of(ask(llama, tool_choice="required", grammar=grammar)["choices"][0]["message"])) == 1
    assert request["grammar"] is grammar
