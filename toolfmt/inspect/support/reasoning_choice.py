"""Which of a runtime's parsers takes the reasoning out of an answer, before its tool parser looks for calls in it.

Without one a server executes the calls that a model drafts while it thinks. They are chosen by what stands around the
reasoning, and were run on answers with a drafted call in it (vLLM 0.33.0, SGLang 0.5.23; November 2026): vLLM's qwen3,
glm45, nemotron_v3 and mimo end the reasoning at the draft's `<tool_call>`, its deepseek_r1 does not; SGLang's
deepseek-r1 takes every answer to begin with reasoning, its qwen3 only those that open a block, but ends that, in a
stream, at a draft's `<tool_call>`. Those for Mistral, gpt-oss, Muse and Cohere read tokens or need a library of their
own: they were not run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolfmt.formats import FORMATS
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.support.template_choice import SGLANG, VLLM

_DRAFTED = "<tool_call>"
_ENDS_AT_A_DRAFT = (SGLANG, "qwen3")
_REMARK = f"in a stream qwen3 ends the reasoning at the first {_DRAFTED}: a call that is only drafted is executed"

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
_NOT_BEGUN: Mapping[tuple[str, str], str] = {(SGLANG, "<think>"): "qwen3"}
"""The parser where the prompt does not open the block, if that is another one."""


@dataclass(frozen=True)
class ReasoningChoice:
    """The parser to name ("" for none), and what is to be known of it."""

    name: str = ""
    remark: str = ""


def reasoning_parser(facts: Facts, runtime: str, tool_parser: str) -> ReasoningChoice:
    """The runtime's parser for this model's reasoning; none where the model has none, or the runtime no parser."""
    opener, begun = _opened(facts)
    names = OPENED.get(runtime, {}).get(opener, ())
    if not names:
        return ReasoningChoice()
    name = tool_parser if tool_parser in names else names[0]
    if not begun:
        name = _NOT_BEGUN.get((runtime, opener), name)
    drafts = (runtime, name) == _ENDS_AT_A_DRAFT and _DRAFTED in facts.decided.rendered
    return ReasoningChoice(name, _REMARK if drafts else "")


def _opened(facts: Facts) -> tuple[str, bool]:
    """What opens the reasoning ("" where there is none), and whether the prompt has opened it."""
    prefill = facts.profile.prefill
    known = (pair for format in FORMATS for pair in format.reasoning)
    pairs = [facts.profile.reasoning] if facts.profile.reasoning else dict.fromkeys(known)
    for opener, closer in pairs:
        _, found, behind = prefill.rpartition(opener)
        if found and closer not in behind:
            return opener, True
    return (facts.profile.reasoning[0], False) if facts.profile.reasoning else ("", False)
