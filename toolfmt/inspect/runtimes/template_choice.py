"""Select the template of a directory that each runtime uses: search locations, order, with and without tools.

Facts about runtimes as data and short rules; each has its source.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from toolfmt.inspect.report.wording import quote
from toolfmt.templates import ModelFiles, TemplateSource

TRANSFORMERS, VLLM, SGLANG = "transformers", "vLLM", "SGLang"
MLX_LM, MLX_SWIFT_LM, LLAMA_CPP = "mlx-lm", "mlx-swift-lm", "llama.cpp"
RUNTIMES = (TRANSFORMERS, VLLM, SGLANG, MLX_LM, MLX_SWIFT_LM, LLAMA_CPP)

_JINJA, _TOKENIZER, _PROCESSOR = "chat_template.jinja", "tokenizer_config.json", "chat_template.json"
_OWN_CODE = "chat_template_type"


@dataclass(frozen=True)
class TemplateChoice:
    """What a runtime renders with: `with_tools` and `without` are templates of the directory, or None.

    `named` is whether it receives several templates by name; `own` is what it uses instead of a template.
    """

    runtime: str
    with_tools: TemplateSource | None
    without: TemplateSource | None
    why: str
    named: bool = False
    own: str = ""

    def describe(self) -> str:
        """Return the location, as in `tokenizer_config.json (tool_use; without tools default)`; empty for none."""
        if self.own:
            return self.own
        first, other = self.with_tools, self.without
        if first is None or other is None or (first.origin, first.name) == (other.origin, other.name):
            source = first or other
            when = "" if bool(first) == bool(other) else "only with tools" if first else "only without tools"
            return "" if source is None else _label(source, when)
        if first.origin == other.origin:
            return f"{first.origin} ({first.name}; without tools {other.name})"
        return f"{_label(first)}, without tools {_label(other)}"


def template_choices(files: ModelFiles) -> tuple[TemplateChoice, ...]:
    """Return what every runtime uses from this directory, in the order of `RUNTIMES`."""
    if files.kind == "gguf":
        return _of_gguf(files)
    as_transformers = [_as_transformers(files, runtime) for runtime in (TRANSFORMERS, VLLM, SGLANG)]
    return (*as_transformers, _mlx_lm(files), _mlx_swift_lm(files), _llama_cpp(files))


def same_text(one: TemplateSource | None, other: TemplateSource | None) -> bool:
    """Return whether two templates have the same text, ignoring the newline style and the last newline."""
    if one is None or other is None:
        return one is other
    texts = [source.text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n") for source in (one, other)]
    return texts[0] == texts[1]


def swift_infers_from(files: ModelFiles) -> TemplateSource | None:
    """Return the template that mlx-swift-lm infers from, which need not be the one it renders."""
    # ToolCallFormatInference.swift, TokenizerToolCallConfiguration: the tokenizer's entry before the .jinja file.
    return _pick(_at(files, _TOKENIZER), tools=True) or _pick(_at(files, _JINJA), tools=True)


def _as_transformers(files: ModelFiles, runtime: str) -> TemplateChoice:
    """transformers 5.23 and runtimes that load its tokenizer; the precedence is that of `ModelFiles.template`."""
    why = files.reason(True)
    if any(source.origin != _PROCESSOR for source in files.templates):
        processors = next(iter(_at(files, _PROCESSOR)), None)
        if processors is not None and not _at(files, _JINJA) and not same_text(processors, files.template(True)):
            why += f", which the tokenizer takes; a processor takes {_PROCESSOR}"
        return TemplateChoice(runtime, files.template(True), files.template(False), why)
    if not files.templates:
        return TemplateChoice(runtime, None, None, why)
    if runtime == TRANSFORMERS:
        why = f"{_PROCESSOR} holds the only chat template, and only processors read it: the tokenizer has none"
        return TemplateChoice(runtime, files.template(True), files.template(False), why)
    return TemplateChoice(runtime, None, None, f"the tokenizer has no template: only processors read {_PROCESSOR}")


def _mlx_lm(files: ModelFiles) -> TemplateChoice:
    """mlx-lm 0.32.2, tokenizer_utils.load: the tokenizer of transformers, unless its own code is requested."""
    choice = _as_transformers(files, MLX_LM)
    code = files.tokenizer_config.get(_OWN_CODE)
    if isinstance(code, str) and code:
        code = quote(code)
        why = f"{_TOKENIZER} declares {_OWN_CODE} {code}, which comes before any template"
        return TemplateChoice(MLX_LM, choice.with_tools, choice.without, why, own=f"its own code for {code}")
    return TemplateChoice(MLX_LM, choice.with_tools, choice.without, choice.why, _named(files))


def _named(files: ModelFiles) -> bool:
    """Return whether the transformers tokenizer has templates by name, not just a single one named default."""
    best = files.templates[0].origin if files.templates else ""
    if best == _TOKENIZER:
        return not isinstance(files.tokenizer_config.get("chat_template"), str)
    return any(source.name != "default" for source in files.templates if source.origin.endswith(".jinja"))


def _mlx_swift_lm(files: ModelFiles) -> TemplateChoice:
    """swift-transformers, which it renders with: the .jinja file, chat_template.json, then the tokenizer's entry."""
    for origin in (_JINJA, _PROCESSOR, _TOKENIZER):
        found = _at(files, origin)
        if found:
            others = {source.origin for source in files.templates} - {origin}
            why = f"it takes {origin} before any other" if others else f"{origin} holds the only chat template"
            return TemplateChoice(MLX_SWIFT_LM, _pick(found, tools=True), _pick(found, tools=False), why)
    return TemplateChoice(MLX_SWIFT_LM, None, None, "it finds no chat template")


def _llama_cpp(files: ModelFiles) -> TemplateChoice:
    """llama.cpp's converter, gguf-py/gguf/vocab.py (main, November 2026), and how its runtime uses the result."""
    config = files.tokenizer_config
    if not config:
        why = f"its converter takes a template only next to a {_TOKENIZER}"
        return TemplateChoice(LLAMA_CPP, None, None, why)
    if "chat_template" in config:
        usable = isinstance(config["chat_template"], (str, list))
        found = _at(files, _TOKENIZER) if usable else []
        why = (
            f"its converter takes {_TOKENIZER} before any file" if usable else f"{_TOKENIZER} holds no usable template"
        )
    elif _at(files, _JINJA):
        # A default.jinja among the additional ones comes later in the converter's list and wins there too.
        found = [source for source in files.templates if source.origin.endswith(".jinja")]
        why = f"its converter takes {_JINJA}, because {_TOKENIZER} has no template"
    else:
        found = _at(files, _PROCESSOR)
        why = (
            f"its converter takes {_PROCESSOR} if there is nothing else" if found else "its converter finds no template"
        )
    return TemplateChoice(LLAMA_CPP, _pick(found, tools=True), _pick(found, tools=False), why)


def _of_gguf(files: ModelFiles) -> tuple[TemplateChoice, ...]:
    """A GGUF file: llama.cpp reads it as it is, transformers with `gguf_file=`."""
    both = files.template(True), files.template(False)
    return (
        TemplateChoice(TRANSFORMERS, *both, "it reads the template of a GGUF file given as gguf_file="),
        TemplateChoice(LLAMA_CPP, *both, "it takes the template in the file"),
    )


def _at(files: ModelFiles, origin: str) -> list[TemplateSource]:
    return [source for source in files.templates if source.origin == origin]


def _pick(sources: Iterable[TemplateSource], *, tools: bool) -> TemplateSource | None:
    """Return `tool_use` if tools are passed and it exists, else `default`."""
    named: dict[str, TemplateSource] = {}
    for source in sources:
        named.setdefault(source.name, source)
    return (named.get("tool_use") if tools else None) or named.get("default")


def _label(source: TemplateSource, when: str = "") -> str:
    name = source.name if source.name != "default" and source.origin in (_TOKENIZER, _PROCESSOR) else ""
    within = "; ".join(filter(None, (name, when)))
    return source.origin + (f" ({within})" if within else "")
