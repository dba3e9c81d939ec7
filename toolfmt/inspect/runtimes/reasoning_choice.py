"""Select the parser of a runtime that removes the reasoning from an output before its tool parser searches for calls.

Without one, a server executes tool calls inside reasoning. The parsers are selected by the markers around the
reasoning. They were run on outputs with a tool call inside reasoning (vLLM 0.33.0, SGLang 0.5.23; November 2026):

- vLLM's qwen3, glm45, glm47, nemotron_v3 and mimo end the reasoning at the `<tool_call>` inside it (a transition of
  their engine). Its deepseek_r1 does not.
- SGLang's deepseek-r1 assumes that every output starts with reasoning. Its qwen3 only assumes so for outputs that open
  a block, but when streaming it ends the block at a `<tool_call>` inside it.
- Those for Mistral, gpt-oss, Muse and Cohere read tokens or need a library of their own. They were not run.

Some treat an output without the end marker as reasoning only, and its calls are lost. This also affects outputs after
a prompt that has closed the block. They are not recommended there. If a variable of the template closes the block, the
remark says so. vLLM searches for the end marker in the prompt only when streaming. SGLang's qwen3 is forced to start
in the block by the template's text, which does not show how the prompt ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolfmt.formats import formats
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.runtimes.template_choice import SGLANG, VLLM

_CALL_IN_REASONING = "<tool_call>"
_AS_A_CALL = f"a {_CALL_IN_REASONING} in the reasoning as a call"
_REMARKS: Mapping[tuple[str, str], str] = {
    (VLLM, "deepseek_r1"): f"not qwen3 or glm45: these reasoning parsers treat {_AS_A_CALL}",
    (VLLM, "glm45"): f"known flaw of this reasoning parser: it treats {_AS_A_CALL}",
    (SGLANG, "qwen3"): f"known flaw of this reasoning parser: in a stream, it treats {_AS_A_CALL}",
}
"""Remarks if calls, and so tool calls inside reasoning, have this start marker.

They are about the parser itself, or about parsers named after models that should not be used.
"""

OPENED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    VLLM: {
        "<think>": ("deepseek_r1",),
        "<seed:think>": ("seed_oss",),
        "<mm:think>": ("minimax_m3",),
        "<ifm|think>": ("k2_horizon",),
        "<|channel>thought": ("gemma4",),
        "<|open|>think<|sep|>": ("kimi_k3",),
        "<|channel|>analysis<|message|>": ("openai_gptoss",),
        "[THINK]": ("mistral",),
        "<|START_THINKING|>": ("cohere_command4", "cohere_command3"),
        "to=self<|message|>": ("muse_glimmer",),
    },
    SGLANG: {
        "<think>": ("deepseek-r1",),
        "<mm:think>": ("minimax-m3",),
        "<ifm|think>": ("k2_horizon",),
        "<|channel>thought": ("gemma4",),
        "<|inner_prefix|>": ("apertus2509",),
        "<|open|>think<|sep|>": ("kimi_k3",),
        "◁think▷": ("kimi",),
        "<|channel|>analysis<|message|>": ("gpt-oss",),
        "[THINK]": ("mistral",),
        "<|START_THINKING|>": ("cohere_command4",),
        "to=self<|message|>": ("muse",),
    },
}
"""The parsers for reasoning with this start marker; of several, the one with the name of the tool parser."""
_OF_THE_FAMILY: Mapping[tuple[str, str], str] = {(VLLM, "glm45"): "glm45", (VLLM, "glm47"): "glm45"}
"""The parser that the cards of models with this tool parser name.

Run on whole responses (vLLM 0.33.0), it keeps the calls of a response without reasoning and follows `enable_thinking`,
which deepseek_r1 does not. Unless that is false, it too returns text without `</think>` as reasoning.
"""
_NOT_OPENED: Mapping[tuple[str, str], str] = {(SGLANG, "<think>"): "qwen3"}
"""The parser if the prompt does not open the block, if it is a different one."""
_NEED_A_CLOSER: Mapping[tuple[str, str], str] = {
    (VLLM, "deepseek_r1"): " in a response that is not streamed",
    (VLLM, "seed_oss"): " in a response that is not streamed",
    (VLLM, "glm45"): "",
    (SGLANG, "deepseek-r1"): "",
    (SGLANG, "qwen3"): "",
}
"""Parsers that by default treat an output without the end marker as reasoning, and for which outputs they do."""
_SWITCHABLE = ((VLLM, "deepseek_r1"), (SGLANG, "deepseek-r1"))
"""Those of them that ignore variables of the template."""
_SWITCHES = ("enable_thinking", "thinking")
_Block: TypeAlias = Literal["", "opened", "closed"]


@dataclass(frozen=True)
class ReasoningChoice:
    """The parser to name ("" for none), and a remark on it."""

    name: str = ""
    remark: str = ""


def reasoning_parser(facts: Facts, runtime: str, tool_parser: str) -> ReasoningChoice:
    """Return the runtime's parser for this model's reasoning; none if the model or the runtime has none."""
    opener, closer, block = _reasoning_block(facts)
    names = OPENED.get(runtime, {}).get(opener, ())
    if not names:
        return ReasoningChoice()
    name = tool_parser if tool_parser in names else names[0]
    if opener == "<think>":
        name = _OF_THE_FAMILY.get((runtime, tool_parser), name)
    if block != "opened":
        name = _NOT_OPENED.get((runtime, opener), name)
    if block == "closed" and (runtime, name) in _NEED_A_CLOSER:
        return ReasoningChoice()
    in_reasoning = _REMARKS.get((runtime, name), "") if _CALL_IN_REASONING in facts.decided.rendered else ""
    switch = _closing(facts, opener, closer) if (runtime, name) in _SWITCHABLE else ""
    unless = _NEED_A_CLOSER.get((runtime, name), "")
    switched = f"with {switch}=false, leave {name} out: it returns calls as reasoning{unless}" if switch else ""
    return ReasoningChoice(name, "; ".join(filter(None, (in_reasoning, switched))))


def _reasoning_block(facts: Facts) -> tuple[str, str, _Block]:
    """Return the markers around the reasoning ("" without reasoning), and the state of the block in the prompt."""
    prefill, own = facts.profile.prefill, facts.profile.reasoning
    known = (pair for format in formats() for pair in format.reasoning)
    for opener, closer in [own] if own else dict.fromkeys(known):
        block = _block(prefill, opener, closer)
        if block == "opened" or (block and own):
            return opener, closer, block
    return (*own, "") if own else ("", "", "")


def _block(text: str, opener: str, closer: str) -> _Block:
    """Return whether the last block in the text is open or closed; empty without one."""
    opened, closed = text.rfind(opener), text.rfind(closer)
    if opened == closed:
        return ""
    return "opened" if opened > closed else "closed"


def _closing(facts: Facts, opener: str, closer: str) -> str:
    """Return the variable of the template that makes the prompt close the block if it is false, or an empty string."""
    for name in _SWITCHES:
        if (
            name in facts.profile.variables
            and _block(facts.generation_prompt_with({name: False}), opener, closer) == "closed"
        ):
            return name
    return ""
