"""The names of parsers that runtimes accept in flags and settings, by version.

From the released packages (vllm/tool_parsers and vllm/reasoning, sglang/srt/function_call and
sglang/srt/parser/reasoning_parser.py; November 2026), for mlx-lm from its modules. These are not formats of toolfmt.
With a name that is not listed, the server does not start. llama.cpp and transformers register no names: llama.cpp takes
the parser from the template, transformers from the checkpoint's `response_template`.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolfmt.inspect.runtimes.parser_inference import MLX_LM_OPENERS, MLX_LM_VERSION
from toolfmt.inspect.runtimes.template_choice import MLX_LM, SGLANG, VLLM

VERSIONS: Mapping[str, str] = {VLLM: "0.33.0", SGLANG: "0.5.23", MLX_LM: MLX_LM_VERSION}

TOOL_PARSERS: Mapping[str, frozenset[str]] = {
    VLLM: frozenset((
        "apertus", "beam", "cohere_command3", "cohere_command4", "deepseek_v3", "deepseek_v31", "deepseek_v32",
        "deepseek_v4", "deepseek_v41", "dots", "ernie45", "functiongemma", "gemma4", "gigachat3", "glm45", "glm47",
        "granite", "granite-20b-fc", "granite4", "hermes", "hf", "hunyuan_a13b", "hy_v3", "hy_v4", "inkling",
        "internlm", "jamba", "k2_horizon", "kimi_k2", "kimi_k3", "lfm2", "ling3", "llama3_json", "llama4_json",
        "llama4_pythonic", "longcat", "mimo", "minicpm5", "minimax_m2", "minimax_m3", "mistral", "muse",
        "muse_glimmer", "musespark1x", "olmo3", "openai", "phi4_mini_json", "plamo3", "poolside_v1", "pythonic",
        "qwen3_coder", "qwen3_json", "qwen3_xml", "seed_oss", "step3", "step3p5", "step5", "xlam",
    )),
    SGLANG: frozenset((
        "apertus2509", "beam", "cohere_command4", "deepseekv3", "deepseekv31", "deepseekv32", "deepseekv4",
        "deepseekv41", "dots", "gemma4", "gigachat3", "gigachat35", "glm", "glm45", "glm47", "gpt-oss", "hermes",
        "hunyuan", "inkling", "interns1", "iquest_q1", "k2_horizon", "kimi_k2", "kimi_k3", "lfm2", "ling3", "llama3",
        "mimo", "minicpm5", "minimax-m2", "minimax-m3", "mistral", "muse", "nanbeige", "poolside_v1", "pythonic",
        "qwen", "qwen25", "qwen3_coder", "response_template", "spark25", "step3", "step3p5", "trinity",
    )),
    MLX_LM: frozenset(MLX_LM_OPENERS),
}  # fmt: skip

REASONING_PARSERS: Mapping[str, frozenset[str]] = {
    VLLM: frozenset((
        "beam", "cohere_command3", "cohere_command4", "deepseek_r1", "deepseek_v3", "deepseek_v4", "deepseek_v41",
        "ernie45", "gemma4", "glm45", "glm47", "granite", "granite_thinking_parser", "hf", "holo2", "hunyuan_a13b",
        "hy_v3", "hy_v4", "inkling", "k2_horizon", "kimi_k2", "kimi_k3", "ling3", "mimo", "minicpmv", "minimax_m2",
        "minimax_m2_append_think", "minimax_m3", "mistral", "muse", "muse_glimmer", "musespark1x", "nemotron_v3",
        "olmo3", "openai_gptoss", "plamo3", "poolside_v1", "qwen3", "seed_oss", "step3", "step3p5", "step5",
    )),
    SGLANG: frozenset((
        "apertus2509", "beam", "cohere_command4", "deepseek-r1", "deepseek-v3", "deepseek-v4", "deepseek-v41", "dots",
        "gemma4", "gigachat35", "glm45", "gpt-oss", "granite_thinking_parser", "hunyuan", "inkling", "interns1",
        "iquest_q1", "k2_horizon", "kimi", "kimi_k2", "kimi_k3", "ling3", "mimo", "minimax", "minimax-append-think",
        "minimax-m3", "mistral", "muse", "nanbeige", "nemotron_3", "poolside_v1", "qwen3", "qwen3-thinking",
        "response_template", "step3", "step3p5",
    )),
}  # fmt: skip

_RESPONSE_TEMPLATE = "reads the response_template of the checkpoint, whatever its format is"
WITHOUT_FORMAT: Mapping[tuple[str, str], str] = {
    (VLLM, "hf"): _RESPONSE_TEMPLATE,
    (SGLANG, "response_template"): _RESPONSE_TEMPLATE,
}
"""The tool parsers of `TOOL_PARSERS` that no format names, with the reason. Every other one is in a format's record."""
