"""Which of a runtime's parsers takes the reasoning out of an answer, before its tool parser looks for calls in it.

Without one a server executes the calls that a model drafts while it thinks. They are chosen by what stands around the
reasoning, and were run on answers with a drafted call in it (vLLM 0.33.0, SGLang 0.5.23; November 2026): vLLM's qwen3,
glm45, glm47, nemotron_v3 and mimo end the reasoning at the draft's `<tool_call>` (a transition of their engine), its
deepseek_r1 does not; SGLang's deepseek-r1 takes every answer to begin with reasoning, its qwen3 only those that open a
block, but ends that, in a stream, at a draft's `<tool_call>`. Those for Mistral, gpt-oss, Muse and Cohere read tokens
or need a library of their own: they were not run.

Some take an answer without the closer for reasoning alone, and its calls are lost. So does an answer behind a prompt
that has closed the block: there they are not named, and where a variable of the template closes it that is told. vLLM
looks for the closer in the prompt only where it streams; SGLang's qwen3 is forced to begin in the block by what it
finds in the template's text, which does not tell what the prompt ends with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolfmt.formats import formats
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.runtimes.template_choice import SGLANG, VLLM

_DRAFTED = "<tool_call>"
_REMARKS: Mapping[tuple[str, str], str] = {
    (VLLM, "deepseek_r1"): f"do not set qwen3 or glm45: they execute a {_DRAFTED} that the reasoning only mentions",
    (VLLM, "glm45"): f"it executes a {_DRAFTED} that the reasoning only mentions",
    (SGLANG, "qwen3"): f"in a stream, it executes a {_DRAFTED} that the reasoning only mentions",
}
"""What is to be known where calls, and so drafts, are written with that mark: of the parser, or of those that bear the
names of models and are not the ones to take."""

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
"""The parsers for reasoning behind this opener; of several, the one that bears the name of the tool parser."""
_OF_THE_FAMILY: Mapping[tuple[str, str], str] = {(VLLM, "glm45"): "glm45", (VLLM, "glm47"): "glm45"}
"""The parser that the cards of models with this tool parser name. Run on whole responses (vLLM 0.33.0), it keeps the
calls of a response without reasoning and follows `enable_thinking`, which deepseek_r1 does not. Unless that is false,
it too returns text without `</think>` as reasoning."""
_NOT_BEGUN: Mapping[tuple[str, str], str] = {(SGLANG, "<think>"): "qwen3"}
"""The parser where the prompt does not open the block, if that is another one."""
_NEED_A_CLOSER: Mapping[tuple[str, str], str] = {
    (VLLM, "deepseek_r1"): " in a response that is not streamed",
    (VLLM, "seed_oss"): " in a response that is not streamed",
    (VLLM, "glm45"): "",
    (SGLANG, "deepseek-r1"): "",
    (SGLANG, "qwen3"): "",
}
"""Those that take an answer without the closer for reasoning, by default, and what answers that holds of."""
_SWITCHABLE = ((VLLM, "deepseek_r1"), (SGLANG, "deepseek-r1"))
"""Those of them that know of no variable of the template."""
_SWITCHES = ("enable_thinking", "thinking")
_Block: TypeAlias = Literal["", "opened", "closed"]


@dataclass(frozen=True)
class ReasoningChoice:
    """The parser to name ("" for none), and what is to be known of it."""

    name: str = ""
    remark: str = ""


def reasoning_parser(facts: Facts, runtime: str, tool_parser: str) -> ReasoningChoice:
    """The runtime's parser for this model's reasoning; none where the model has none, or the runtime no parser."""
    opener, closer, block = _begun(facts)
    names = OPENED.get(runtime, {}).get(opener, ())
    if not names:
        return ReasoningChoice()
    name = tool_parser if tool_parser in names else names[0]
    if opener == "<think>":
        name = _OF_THE_FAMILY.get((runtime, tool_parser), name)
    if block != "opened":
        name = _NOT_BEGUN.get((runtime, opener), name)
    if block == "closed" and (runtime, name) in _NEED_A_CLOSER:
        return ReasoningChoice()
    drafted = _REMARKS.get((runtime, name), "") if _DRAFTED in facts.decided.rendered else ""
    switch = _closing(facts, opener, closer) if (runtime, name) in _SWITCHABLE else ""
    unless = _NEED_A_CLOSER.get((runtime, name), "")
    switched = f"with {switch}=false, leave {name} out: it returns calls as reasoning{unless}" if switch else ""
    return ReasoningChoice(name, "; ".join(filter(None, (drafted, switched))))


def _begun(facts: Facts) -> tuple[str, str, _Block]:
    """What stands around the reasoning ("" where there is none), and what the prompt has written of the block."""
    prefill, own = facts.profile.prefill, facts.profile.reasoning
    known = (pair for format in formats() for pair in format.reasoning)
    for opener, closer in [own] if own else dict.fromkeys(known):
        block = _block(prefill, opener, closer)
        if block == "opened" or (block and own):
            return opener, closer, block
    return (*own, "") if own else ("", "", "")


def _block(text: str, opener: str, closer: str) -> _Block:
    """Whether a block that stands last in the text is open or closed; empty where none does."""
    opened, closed = text.rfind(opener), text.rfind(closer)
    if opened == closed:
        return ""
    return "opened" if opened > closed else "closed"


def _closing(facts: Facts, opener: str, closer: str) -> str:
    """The variable of the template that makes the prompt close the block where it is false; empty for none."""
    for name in _SWITCHES:
        if name in facts.profile.variables and _block(facts.begun_with({name: False}), opener, closer) == "closed":
            return name
    return ""
