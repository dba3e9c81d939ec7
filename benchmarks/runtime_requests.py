"""Prompts of OpenAI chat requests as the runtimes themselves prepare and render them, without a model.

Each function sends a request (the JSON body) through the runtime's own code between its HTTP endpoint and its engine:
validation, changes to messages and tools, the chat template. The tokenizer is a small one whose `apply_chat_template`
is that of transformers. Whatever the runtime raises propagates.
"""

from __future__ import annotations

import copy
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias
from unittest.mock import MagicMock

from toolfmt.inspect.runtimes.template_choice import MLX_LM, SGLANG, TRANSFORMERS, VLLM

Render: TypeAlias = Callable[[str, Mapping[str, Any], Mapping[str, str]], str]
"""Return the prompt for a template, a request and the special tokens."""
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def tokenizer(template: str, tokens: Mapping[str, str] = TOKENS) -> Any:
    """Return a tokenizer of transformers that has a token for each byte, so that it decodes what it encodes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_only = Tokenizer(models.BPE({character: index for index, character in enumerate(alphabet)}, []))
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bytes_only.decoder = decoders.ByteLevel()
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=bytes_only, chat_template=template, clean_up_tokenization_spaces=False, **tokens)


def with_transformers(template: str, request: Mapping[str, Any], tokens: Mapping[str, str] = TOKENS) -> str:
    """As a program that passes the request's messages and tools to `apply_chat_template`."""
    body = copy.deepcopy(dict(request))
    rendered = tokenizer(template, tokens).apply_chat_template(
        body["messages"],
        tools=body.get("tools"),
        tokenize=False,
        add_generation_prompt=True,
        **body.get("chat_template_kwargs", {}),
    )
    return str(rendered)


def with_mlx_lm(template: str, request: Mapping[str, Any], tokens: Mapping[str, str] = TOKENS) -> str:
    """As `mlx_lm.server`: its handler for chat completions, then its tokenization."""
    server: Any = importlib.import_module("mlx_lm.server")
    wrapper: Any = importlib.import_module("mlx_lm.tokenizer_utils").TokenizerWrapper
    body = copy.deepcopy(dict(request))
    asked = server.APIHandler.handle_chat_completions(SimpleNamespace(body=body, stream=False))
    options = SimpleNamespace(chat_template_args={})
    generator = SimpleNamespace(model_provider=SimpleNamespace(processor=None, cli_args=options))
    arguments = SimpleNamespace(chat_template_kwargs=body.get("chat_template_kwargs"))
    used = wrapper(tokenizer(template, tokens))
    prompt, *_ = server.ResponseGenerator._tokenize(generator, used, asked, arguments)
    return str(used.decode(prompt))


def with_vllm(template: str, request: Mapping[str, Any], tokens: Mapping[str, str] = TOKENS) -> str:
    """As `vllm serve`: its request class, then what its renderer for models of transformers does."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
    protocol: Any = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
    renderer: Any = importlib.import_module("vllm.renderers.hf")
    body = protocol.ChatCompletionRequest.model_validate({"model": "model", **copy.deepcopy(dict(request))})
    tools = None if body.tools is None else [tool.model_dump() for tool in body.tools]
    parameters = body.build_chat_params(None, "auto").with_defaults({"tools": tools, "tokenize": False})
    used = tokenizer(template, tokens)
    config = SimpleNamespace(
        multimodal_config=None,
        enable_prompt_embeds=False,
        hf_config=SimpleNamespace(model_type="llama"),
        model="model",
        tokenizer="model",
        revision=None,
        code_revision=None,
        tokenizer_revision=None,
        trust_remote_code=False,
        allowed_local_media_path="",
        allowed_media_domains=None,
    )
    rendering = SimpleNamespace(model_config=config, get_tokenizer=lambda: used, use_unified_vision_chunk=False)
    renderer._CONTENT_FORMATS.clear()  # It keeps the format of the first template for the name of the tokenizer.
    _, prompt = renderer.HfRenderer.render_messages(rendering, body.messages, parameters)
    return str(prompt["prompt"])


def with_sglang(template: str, request: Mapping[str, Any], tokens: Mapping[str, str] = TOKENS) -> str:
    """As SGLang's server: its request class and validation, then `_apply_jinja_template`."""
    serving, protocol, templates = _sglang()
    body = protocol.ChatCompletionRequest.model_validate({"model": "model", **copy.deepcopy(dict(request))})
    used = tokenizer(template, tokens)
    chat = serving.OpenAIServingChat.__new__(serving.OpenAIServingChat)
    chat.template_manager = SimpleNamespace(
        jinja_template_content_format=templates.detect_jinja_template_content_format(template),
        jinja_template_may_reorder_tool_results=templates.jinja_template_may_reorder_tool_results(template),
        reasoning_config=None,
        python_chat_template=None,
        chat_template_name=None,
    )
    chat.tokenizer_manager = SimpleNamespace(tokenizer=used)
    chat.chat_encoding_spec = chat._encoding_adapter = chat.reasoning_parser = None
    chat.is_minimax_m3 = chat.is_gpt_oss = chat._prompt_text_round_trip_is_lossy = False
    chat._tokenizer_auto_adds_specials = True
    # As `_process_messages` does for every model.
    tools = [tool.model_dump() for tool in body.tools] if body.tools and body.tool_choice != "none" else None
    return str(used.decode(chat._apply_jinja_template(body, tools, is_multimodal=False).prompt_ids))


RENDERERS: Mapping[str, Render] = {
    TRANSFORMERS: with_transformers,
    MLX_LM: with_mlx_lm,
    VLLM: with_vllm,
    SGLANG: with_sglang,
}
_PACKAGES = {
    TRANSFORMERS: "transformers",
    MLX_LM: "mlx_lm.server",
    VLLM: "vllm.renderers.hf",
    SGLANG: "sglang.srt.parser.jinja_template_utils",
}


@cache
def absence(runtime: str) -> str:
    """Return why a runtime cannot be used here; empty if it can."""
    try:
        importlib.import_module(_PACKAGES[runtime])
    except ImportError as error:
        return f"{runtime} cannot be imported: {error}"
    return ""


# Parts of SGLang that need a GPU or its kernels, and that the preparation of a request does not use.
_UNUSED = (
    "sglang.kernels",
    "sglang.srt.configs",
    "sglang.srt.distributed",
    "sglang.srt.layers",
    "sglang.srt.managers",
    "sglang.srt.model_executor",
    "sglang.srt.model_loader",
    "sglang.srt.multimodal",
    "sglang.srt.server_args",
    "sglang.srt.utils.hf_transformers",
    "sglang.srt.utils.hf_transformers_utils",
)


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import an empty substitute for each of the unused parts."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if any(name == unused or name.startswith(unused + ".") for unused in _UNUSED):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module: Any = MagicMock(name=spec.name)
        module.__path__, module.__spec__, module.__name__ = [], spec, spec.name
        return module  # type: ignore[no-any-return]  # SGLang is not installed for type checking

    def exec_module(self, module: ModuleType) -> None:
        pass


@cache
def _sglang() -> tuple[Any, Any, Any]:
    """Return SGLang's modules for chat requests, with substitutes only while they are imported."""
    before = set(sys.modules)
    finder = _StandIns()
    sys.meta_path.insert(0, finder)
    try:
        package = "sglang.srt.entrypoints.openai"
        names = (f"{package}.serving_chat", f"{package}.protocol", "sglang.srt.parser.jinja_template_utils")
        serving, protocol, templates = map(importlib.import_module, names)
    finally:
        sys.meta_path.remove(finder)
        # The real parsers, which the fuzz kit uses, must be imported without the substitutes.
        for name in set(sys.modules) - before:
            if name.startswith("sglang"):
                del sys.modules[name]
    return serving, protocol, templates
