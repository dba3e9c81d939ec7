"""Which model type of transformers an architecture of a GGUF file is.

llama.cpp has its own names. Those that stand for one model type, or for the models that share its language model, are
named here; others (`llama` is also Mistral's, `deepseek2` also Kimi's, `qwen2vl` also Qwen2.5-VL's) stay as they are
written, as does what both spell alike. Source: MODEL_ARCH_NAMES in gguf-py's constants.py (gguf 0.19) and the
architectures that llama.cpp's converter registers for each; transformers 5.23 maps four of them the same way
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
    """The model type, or the architecture as it is written."""
    return _MODEL_TYPES.get(architecture, architecture)
