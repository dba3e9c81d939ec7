"""The list of all known formats. Everything else about a format is in its own module."""

from importlib import import_module

from toolfmt.errors import BadFormat
from toolfmt.formats.format import ToolCallFormat

_MODULES = (
    "apertus",
    "apriel",
    "atem",
    "beam",
    "command_a",
    "command_r",
    "deepseek_dsml",
    "deepseek_v3",
    "deepseek_v31",
    "delphi",
    "dots",
    "doubao",
    "ernie45",
    "falcon3",
    "firefunction_v1",
    "functionary_v2",
    "functionary_v25",
    "functionary_v31",
    "functionary_v32",
    "gcml",
    "gemma",
    "gemma4",
    "gemma_code",
    "gigachat3",
    "gigachat31",
    "glm4",
    "glm4_legacy",
    "gpt_oss",
    "granite",
    "granite_20b_fc",
    "hunyuan_a13b",
    "hunyuan_v1",
    "hunyuan_v3",
    "hunyuan_v4",
    "hyperclovax",
    "inkling",
    "internlm",
    "iquest",
    "iquest_coder",
    "jamba",
    "json_tool_call",
    "k2_horizon",
    "kimi_k2",
    "kimi_k3",
    "lfm2",
    "llama3",
    "lm_studio",
    "longcat",
    "minicpm3",
    "minicpm5",
    "minimax_m1",
    "minimax_m2",
    "minimax_m3",
    "mistral",
    "mistral_list",
    "nemotron",
    "nemotron_mini",
    "olmo3",
    "openpangu",
    "phi4",
    "plamo3",
    "pythonic",
    "qwen3_5",
    "sarashina",
    "seed_oss",
    "solar",
    "solar_open2",
    "step3",
    "step3_vl",
    "step_audio",
    "telechat",
    "xlam",
    "xml_function",
    "zyphra",
)


def _format(module: str) -> ToolCallFormat:
    """Return the format that a module defines. Raises `BadFormat`, which names the file, if the module fails."""
    try:
        format: ToolCallFormat = import_module(f"{__name__}.{module}").FORMAT
    except Exception as error:  # the author of a new format may still be working on its module
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise BadFormat(
            f"toolfmt/formats/known/{module}.py: loading the format failed: {what}; correct this module"
        ) from error
    return format


def module_of(format: ToolCallFormat) -> str:
    """Return the name of the module of a known format, without its package.

    It is the name of the format, unless the standard library has a module of that name.
    """
    return next(module for module in _MODULES if _format(module) is format)


KNOWN = tuple(map(_format, _MODULES))

DEFAULT = _format("json_tool_call")
"""The format for a model about which nothing is known. It is the most common one."""
