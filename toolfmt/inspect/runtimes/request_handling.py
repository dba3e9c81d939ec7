"""What each runtime does to an OpenAI chat request before the chat template receives it.

Facts as data, from the source of each runtime. A request is one that OpenAI clients send: `arguments` as a JSON
string, `content` null next to a call, ids `call_…`, a role `developer`, results with the id of their call only. For the
runtimes that can be imported, tests/inspect/test_request_handling.py sends such requests through the runtime's code.

transformers is a library without requests: a program passes the messages itself. The entry is for a program that passes
an OpenAI request unchanged. mlx-swift-lm is a library as well: the entry is for its type `Chat.Message`, from which it
builds the messages. A program can also give it dictionaries, which reach the template unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from toolfmt.inspect.runtimes.parser_registries import VERSIONS
from toolfmt.inspect.runtimes.template_choice import LLAMA_CPP, MLX_LM, MLX_SWIFT_LM, SGLANG, TRANSFORMERS, VLLM

RequestForm: TypeAlias = Literal[
    "string-arguments",  # `function.arguments` of past calls reach the template as a JSON string
    "object-arguments",  # … as an object
    "null-content",  # content null of an assistant message with calls reaches the template as null
    "absent-content",  # … as a missing key
    "empty-content",  # … as ""
    "empty-parts",  # … as an empty list
    "content-parts",  # content that the client sends as a list of parts reaches the template as a list
    "result-parts",  # … and so does the content of a tool result
    "text-as-parts",  # content that the client sends as a string reaches the template as a list of one part
    "system-role",  # a system message reaches the template as such
    "developer-role",  # … and a developer message, not as a system message
    "empty-tool-calls",  # `tool_calls: []` of an assistant message reaches the template
    "empty-tools",  # `tools: []` reaches the template as an empty list
    "reasoning_content",  # the key under which the template finds the `reasoning_content` that the client sent
    "reasoning",
    "thinking",
    "client-ids",  # ids of calls reach the template as the client sent them
    "unnamed-results",  # tool results reach the template without the name of the tool
    "absent-definition-keys",  # a description or parameters that a tool does not have are missing for the template
    "null-definition-keys",  # … are null
    "strict",  # `strict` of a tool's definition reaches the template
    "bare-tools",  # tools reach the template without `{"type": "function", "function": …}`
]
TemplateProperty: TypeAlias = Literal[
    "loops-over-content",  # it has a loop over the content of a message
    "accepts-parts-only",  # it fails with content as a string, or does not render it
    "accepts-parts-too",  # it checks the type of content, or reads it as a list
    "names-developer",  # its text contains `developer` in quotes
    "channel-markers",  # its text contains `<|channel|>`
    "system-supported",  # it reads the content of a system message
    "reads-arguments",  # it renders a call whose arguments are an object, and reads a member
    "ignores-arguments",  # "reads-arguments" does not hold
    "fails-with-tools",  # it raises an error with the tools in their usual form
]
"""A property of a template on which its handling depends."""


@dataclass(frozen=True)
class RequestHandling:
    """What a runtime passes to the chat template for a request that its clients send.

    `passes` are the forms that reach a template. `depends` are the forms that reach the templates with a property:
    there, `empty-parts` replaces `empty-content`.
    """

    runtime: str
    """As in `template_choice.RUNTIMES`."""
    version: str
    source: str
    """The files and functions in that version."""
    engine: str
    passes: frozenset[RequestForm]
    kwargs: str
    """How template variables are passed; empty if they cannot be."""
    depends: Mapping[RequestForm, TemplateProperty] = field(default_factory=lambda: MappingProxyType({}))
    own_encoders: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Model types of config.json whose template is not used, and what is used instead."""


def _forms(*forms: RequestForm) -> frozenset[RequestForm]:
    """Return the forms that a runtime passes, with those that every runtime passes."""
    return frozenset(("client-ids", "unnamed-results", *forms))


_HANDLING = (
    RequestHandling(
        TRANSFORMERS,
        "5.24.0",
        "tokenization_utils_base.py, apply_chat_template; utils/chat_template_utils.py, _normalize_chat_messages",
        "jinja2",
        _forms(
            "reasoning_content",
            "thinking",
            "string-arguments",
            "absent-content",
            "content-parts",
            "result-parts",
            "system-role",
            "developer-role",
            "empty-tool-calls",
            "empty-tools",
            "absent-definition-keys",
            "strict",
        ),
        "keyword arguments of apply_chat_template",
    ),
    # The key `thinking` of the runtimes in Python is a copy that transformers makes (`_alias_reasoning_fields`).
    # `tools: []` is rejected: "`tools` must not be an empty array". Arguments that are not an object become {}.
    RequestHandling(
        VLLM,
        VERSIONS[VLLM],
        "vllm/renderers/chat_utils/chat_message.py, parse_chat_message_content and _postprocess_messages; "
        "vllm/renderers/hf.py, safe_apply_chat_template; vllm/entrypoints/openai/chat_completion/protocol.py",
        "jinja2",
        _forms(
            "reasoning_content",
            "thinking",
            "object-arguments",
            "empty-content",
            "reasoning",
            "system-role",
            "null-definition-keys",
            "strict",
        ),
        "chat_template_kwargs",
        # If it converts a developer message, it joins all system messages to one at the beginning.
        MappingProxyType(
            {
                "empty-parts": "loops-over-content",
                "content-parts": "loops-over-content",
                "text-as-parts": "loops-over-content",
                "developer-role": "names-developer",
            }
        ),
        # vllm/config/model.py (by architecture), vllm/renderers/online_renderer.py, vllm/tokenizers/registry.py. Not
        # listed, because it does not depend on the model type: mistral_common, if the repository has
        # consolidated*.safetensors and tekken.json or tokenizer.model.v*.
        MappingProxyType(
            {
                "gpt_oss": "openai_harmony",
                "deepseek_v32": "its own encoder (vllm/tokenizers/deepseek_v32.py)",
                "deepseek_v4": "its own encoder (vllm/tokenizers/deepseek_v4.py)",
                "deepseek_v41": "its own encoder (vllm/tokenizers/deepseek_v41.py)",
                "kimi_k3": "the tokenizer's own code (vllm/renderers/kimi_k3.py)",
                "inkling_mm_model": "its own encoder (vllm/renderers/inkling.py)",
            }
        ),
    ),
    # Arguments that are not an object are rejected. Each call gets `index: null`, each tool `defer_loading: null`.
    RequestHandling(
        SGLANG,
        VERSIONS[SGLANG],
        "sglang/srt/entrypoints/openai/serving_chat.py, _apply_jinja_template; "
        "sglang/srt/parser/jinja_template_utils.py, process_content_for_template_format; protocol.py",
        "jinja2",
        _forms(
            "reasoning_content",
            "thinking",
            "object-arguments",
            "empty-content",
            "system-role",
            "developer-role",
            "empty-tool-calls",
            "null-definition-keys",
            "strict",
        ),
        "chat_template_kwargs",
        # It counts a template that contains image, audio, video or vision as one with such a loop.
        MappingProxyType({"content-parts": "loops-over-content", "bare-tools": "fails-with-tools"}),
        # sglang/srt/entrypoints/openai/chat_encoding.py, resolve_chat_encoding_spec. The flag --tool-call-parser
        # selects the encoder of DeepSeek V3.2 too. Not listed, because it depends on more than the model type: its own
        # code for the template of GLM-5.3 (parser/python_chat_template.py).
        MappingProxyType(
            {
                "deepseek_v32": "its own encoder (encoding_dsv32.py)",
                "deepseek_v4": "its own encoder (deepseek_recipe_renderer.py)",
                "deepseek_v41": "its own encoder (deepseek_recipe_renderer.py)",
                "kimi_k3": "the tokenizer's own code",
                "inkling_mm_model": "its own encoder (inkling_renderer.py)",
            }
        ),
    ),
    # `arguments: ""` stays a string. Only text may be sent as parts, unless the model has an image processor.
    RequestHandling(
        MLX_LM,
        VERSIONS[MLX_LM],
        "mlx_lm/server.py, process_message_content, ResponseGenerator._tokenize and handle_chat_completions",
        "jinja2",
        _forms(
            "reasoning_content",
            "thinking",
            "object-arguments",
            "empty-content",
            "system-role",
            "developer-role",
            "empty-tool-calls",
            "absent-definition-keys",
            "strict",
        ),
        "chat_template_kwargs, or the option --chat-template-args",
    ),
    RequestHandling(
        MLX_SWIFT_LM,
        "main, August 2026",
        "Libraries/MLXLMCommon/Chat.swift, MessageGenerator; Libraries/MLXLLM/LLMModelFactory.swift, "
        "LLMUserInputProcessor",
        "swift-jinja",
        _forms("object-arguments", "empty-content", "empty-tool-calls", "absent-definition-keys", "strict"),
        "additionalContext of UserInput",
        # NoSystemMessageGenerator leaves them out: always for Gemma 1 and 2, for Llama's architecture if a conversation
        # with only a system message raises. gpt-oss: only the first call of a message.
        MappingProxyType({"system-role": "system-supported"}),
    ),
    # A tool without a description gets "", one without parameters {}. gpt-oss: reasoning is copied to `thinking`, and a
    # message with reasoning and calls loses its content.
    RequestHandling(
        LLAMA_CPP,
        "0c1e57098",
        "common/chat.cpp, common_chat_msgs_parse_oaicompat, common_chat_msg::to_json_oaicompat and "
        "common_chat_templates_apply_jinja; common/jinja/caps.cpp, caps_get",
        "llama.cpp",
        _forms("empty-content", "reasoning_content"),
        "chat_template_kwargs",
        MappingProxyType(
            {
                "object-arguments": "reads-arguments",
                "string-arguments": "ignores-arguments",
                "content-parts": "accepts-parts-too",
                "result-parts": "accepts-parts-too",
                "text-as-parts": "accepts-parts-only",
                # Otherwise it is merged into the next message, and a developer message becomes a system message.
                "system-role": "system-supported",
                "developer-role": "channel-markers",
                "thinking": "channel-markers",
            }
        ),
    ),
)

REQUEST_HANDLING: Mapping[str, RequestHandling] = MappingProxyType({entry.runtime: entry for entry in _HANDLING})
"""What every runtime of `template_choice.RUNTIMES` passes."""
