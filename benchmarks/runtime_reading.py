"""vLLM's and SGLang's parsers, used on an answer the way their servers use them: a name of a parser in, what a client
reads out.

vLLM 0.33: `ParserManager` makes the parser, `ChatStreamProcessor` steps through a stream, `parse` reads a whole answer.
SGLang 0.5.23: `FunctionCallParser`, asked as `serving_chat.py` asks it, the arguments it sends at a stream's end
included. Every doubt is decided for the runtime's own parsers: markers reach them whether or not they ask for them.
What they raise is raised. Both packages are imported when first used, as neither is needed for anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

Token: TypeAlias = tuple[int, str]
"""A token, and the text that a detokenizer hands out with it."""


_MARKER = re.compile(r"</?[^<>\s=/]{2,60}>|\[/?[A-Z_]{4,30}\]")
"""What is written like a token of its own: a tag without attributes, a word in brackets."""


class Told(NamedTuple):
    """What a client has in the end."""

    content: str
    calls: list[tuple[str, str]]
    """Names with the text of their arguments."""
    finish_reason: str | None = None
    reasoning: str = ""


def tokenizer_for(texts: Iterable[str], tools: Sequence[Any]) -> Any:
    """A tokenizer trained on a few answers, whose tokens are pieces of words, with every marker of theirs as one."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    learnt = [*texts, json.dumps(tools)]
    markers = sorted({marker for text in texts for marker in _MARKER.findall(text)})
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(learnt, trainer)
    tokenizer.add_special_tokens([AddedToken(marker, special=True, normalized=False) for marker in markers])
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


def tokens_of(tokenizer: Any, text: str) -> list[Token]:
    """The tokens of a text, special ones with theirs; half a character is handed out once it is whole."""
    ids = tokenizer.encode(text, add_special_tokens=False)
    tokens: list[Token] = []
    told = ""
    for count, token in enumerate(ids, start=1):
        decoded = tokenizer.decode(ids[:count], skip_special_tokens=False)
        new = "" if decoded.endswith("\N{REPLACEMENT CHARACTER}") else decoded[len(told) :]
        told += new
        tokens.append((token, new))
    return tokens


def vllm_streamed(
    name: str,
    tokenizer: Any,
    tokens: Sequence[Token],
    tools: Sequence[Any],
    *,
    cut: bool,
    reasoning_parser: str | None = None,
) -> Told:
    """A stream, a token a step. `cut` is an answer whose tokens ran out."""
    from vllm.entrypoints.openai.chat_completion.stream_processor import ChatStreamProcessor

    request, parser, parser_class = _vllm(name, tokenizer, tools, reasoning_parser)
    processor = ChatStreamProcessor(request, parser, enable_auto_tools=True, parser_cls=parser_class)
    content = reasoning = ""
    reason = None
    calls: dict[int, list[str]] = {}
    for count, (token, text) in enumerate(tokens, start=1):
        ended = ("length" if cut else "stop") if count == len(tokens) else None
        delta, reason = processor.step(text, [token], ended, [1])
        if delta is not None:
            content += delta.content or ""
            reasoning += delta.reasoning or ""
            for call in delta.tool_calls:
                told = calls.setdefault(call.index, ["", ""])
                told[0] += call.function.name or ""
                told[1] += call.function.arguments or ""
    return Told(content, [(name, arguments) for name, arguments in calls.values()], reason, reasoning)


def vllm_whole(
    name: str, tokenizer: Any, tokens: Sequence[Token], tools: Sequence[Any], *, reasoning_parser: str | None = None
) -> Told:
    """A whole answer."""
    request, parser, _ = _vllm(name, tokenizer, tools, reasoning_parser)
    text, ids = "".join(text for _, text in tokens), [token for token, _ in tokens]
    reasoning, content, calls = parser.parse(text, request, enable_auto_tools=True, model_output_token_ids=ids)
    return Told(content or "", [(call.name, call.arguments) for call in calls or ()], None, reasoning or "")


def _vllm(name: str, tokenizer: Any, tools: Sequence[Any], reasoning_parser: str | None) -> tuple[Any, Any, Any]:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.parser import ParserManager

    parser_class = ParserManager.get_parser(
        tool_parser_name=name, reasoning_parser_name=reasoning_parser, enable_auto_tools=True, tokenizer=tokenizer
    )
    messages = [{"role": "user", "content": "Do it."}]
    request = ChatCompletionRequest(model="m", messages=messages, tools=list(tools), tool_choice="auto")
    assert parser_class is not None
    parser = parser_class(tokenizer, request.tools)
    return parser.adjust_request(request), parser, parser_class


def sglang_streamed(name: str, tokenizer: Any, tokens: Sequence[Token], tools: Sequence[Any]) -> Told:
    parser = _sglang(name, tokenizer, tools)
    content = ""
    calls: dict[int, list[str]] = {}
    for said, items in (*(parser.parse_stream_chunk(text) for _, text in tokens), parser.parse_stream_end()):
        content += said or ""
        for item in items:
            told = calls.setdefault(item.tool_index, ["", ""])
            told[0] += item.name or ""
            told[1] += item.parameters
    _add_unstreamed(parser.detector, calls)
    return Told(content, [(name, arguments) for name, arguments in calls.values()])


def sglang_whole(name: str, tokenizer: Any, tokens: Sequence[Token], tools: Sequence[Any]) -> Told:
    parser = _sglang(name, tokenizer, tools)
    text = "".join(text for _, text in tokens)
    content, items = parser.parse_non_stream(text) if parser.has_tool_call(text) else (text, [])
    return Told(content, [(item.name, item.parameters) for item in items])


def _sglang(name: str, tokenizer: Any, tools: Sequence[Any]) -> Any:
    from sglang.srt.entrypoints.openai.protocol import Tool
    from sglang.srt.function_call.function_call_parser import FunctionCallParser

    return FunctionCallParser([Tool(**tool) for tool in tools], name, tokenizer=tokenizer)


def _add_unstreamed(detector: Any, calls: dict[int, list[str]]) -> None:
    """What the server sends at a stream's end of the last call (`_check_for_unstreamed_tool_args`)."""
    known, streamed = detector.prev_tool_call_arr, detector.streamed_args_for_tool
    index = len(known) - 1
    if 0 <= index < len(streamed):
        arguments = known[index].get("arguments", {})
        expected = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        if expected.startswith(streamed[index]):
            calls.setdefault(index, ["", ""])[1] += expected[len(streamed[index]) :]
