"""Map the architecture of a GGUF file to a model type of transformers.

llama.cpp has its own names. This module lists those that are one model type, or models that share a language model.
Others (`llama` is also Mistral's, `deepseek2` also Kimi's, `qwen2vl` also Qwen2.5-VL's) stay unchanged, and so do names
that are the same in both. Source: MODEL_ARCH_NAMES in gguf-py's constants.py (gguf 0.19) and the architectures that
llama.cpp's converter registers for each; transformers 5.23 maps four of them the same way
(modeling_gguf_pytorch_utils.py).
"""

from __future__ import annotations

_MODEL_TYPES = {
    "command-r": "cohere",
    "ernie4_5-moe": "ernie4_5_moe",
    "exaone-moe": "exaone_moe",
    "falcon-h1": "falcon_h1",
    "glm-dsa": "glm_moe_dsa",
    "glm4moe": "glm4_moe",
    "gpt-oss": "gpt_oss",
    "hunyuan-dense": "hunyuan_v1_dense",
    "hunyuan-moe": "hunyuan_v1_moe",
    "kimi-linear": "kimi_linear",
    "lfm2moe": "lfm2_moe",
    "minimax-m2": "minimax_m2",
    "nemotron_h_moe": "nemotron_h",
    "qwen2moe": "qwen2_moe",
    "qwen35": "qwen3_5",
    "qwen35moe": "qwen3_5_moe",
    "qwen3moe": "qwen3_moe",
    "qwen3next": "qwen3_next",
    "qwen3vl": "qwen3_vl",
    "qwen3vlmoe": "qwen3_vl_moe",
}


def model_type(architecture: str) -> str:
    """Return the model type, or the architecture unchanged if it is not listed."""
    return _MODEL_TYPES.get(architecture, architecture)
