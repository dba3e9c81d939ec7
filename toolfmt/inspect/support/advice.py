"""A chapter of the report: what to do to call tools with each runtime, as it is typed.

Flags and settings are those of the runtimes' own documentation (November 2026): vLLM "Tool Calling", SGLang "Tool
Parser", llama.cpp tools/server/README.md and docs/function-calling.md, mlx-lm tokenizer_utils.py, mlx-swift-lm
ChatConventionsRegistry.swift.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from toolfmt.formats import ToolCallFormat
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Advice, RuntimeSupport
from toolfmt.inspect.support.parser_line import our_parser
from toolfmt.inspect.support.parser_names import DERIVED, parser_name, parser_names
from toolfmt.inspect.support.support import DECLARING_KEY, choices_of, misread, runtime_support
from toolfmt.inspect.support.template_choice import (
    LLAMA_CPP,
    MLX_LM,
    MLX_SWIFT_LM,
    SGLANG,
    TRANSFORMERS,
    VLLM,
    TemplateChoice,
    same_text,
)

_Adviser: TypeAlias = Callable[[Facts, ToolCallFormat, RuntimeSupport, TemplateChoice], Advice]

EVERY_RUNTIME = "any runtime"
_NO_QUESTION = {
    "nothing": "the template shows neither tools nor what a user says: this model cannot be told of tools through it",
    "parts": "the template shows no tools, and text only in lists of parts: describe the tools in one",
}
_NO_OPENER = "missing_opener"
_FLAGS = {VLLM: "--enable-auto-tool-choice --tool-call-parser", SGLANG: "--tool-call-parser"}


def advice(facts: Facts) -> tuple[Advice, ...]:
    """What to do, one entry a runtime; before them, for `EVERY_RUNTIME`, what holds wherever the model runs.

    Where no format is known, or it is only the default beside a template that shows tools, no flag is named: it would
    be a guess.
    """
    # Where a declaration contradicts the template, the template is right (TF022).
    best = facts.decided.read_back
    format = facts.decided.format if best is None else best.format
    guessed = facts.decided.decision.confidence == "default"
    if facts.template is None or facts.broken is not None:
        what = "there is no chat template" if facts.broken is None else "the chat template does not compile"
        return (Advice(EVERY_RUNTIME, f"{what}: take the one of the original model first", False),)
    if not facts.shows_tools and facts.question_form != "text":
        return (Advice(EVERY_RUNTIME, _NO_QUESTION[facts.question_form], False),)
    if format is None:
        unknown = Advice(EVERY_RUNTIME, "no known format: set the parser that the model card names", False)
        return (unknown,) if facts.shows_tools else (_in_words(facts, None, guessed=False), unknown)
    if not facts.shows_tools:
        return (_in_words(facts, format, guessed=guessed), *_each(facts, format))
    if guessed:
        text = f"nothing tells the format, {format.name} is a guess: look at one answer before you set a parser"
        return (Advice(EVERY_RUNTIME, text, False),)
    return tuple(_each(facts, format))


def setting(parser: str) -> str:
    """The entry of tokenizer_config.json that names a parser to mlx-lm and mlx-swift-lm."""
    return f'"{DECLARING_KEY}": "{parser}"'


def _in_words(facts: Facts, format: ToolCallFormat | None, *, guessed: bool) -> Advice:
    """Where the template shows no tools, toolfmt's prompt asks for calls in the format, known or chosen."""
    text = "the template shows no tools: toolfmt render describes them in words"
    if format is None:
        return Advice(EVERY_RUNTIME, text)
    chosen = f" and asks for {format.name} calls" if guessed else ""
    return Advice(EVERY_RUNTIME, f"{text}{chosen}; {our_parser(facts, format)} reads the answer")


def _each(facts: Facts, format: ToolCallFormat) -> list[Advice]:
    both = zip(runtime_support(facts), choices_of(facts), strict=True)
    return [_ADVISERS[support.runtime](facts, format, support, choice) for support, choice in both]


def _transformers(facts: Facts, format: ToolCallFormat, support: RuntimeSupport, choice: TemplateChoice) -> Advice:
    parse = f"read the answer with {our_parser(facts, format)}"
    if not facts.shows_tools:
        return Advice(TRANSFORMERS, f"give it the prompt of toolfmt render, {parse}")
    return Advice(TRANSFORMERS, f"apply_chat_template(messages, tools=tools), {parse}")


def _flagged(runtime: str) -> _Adviser:
    def advise(facts: Facts, format: ToolCallFormat, support: RuntimeSupport, choice: TemplateChoice) -> Advice:
        parser = format.runtime_parser(runtime)
        if parser is None:
            return _without(facts, runtime, format)
        return Advice(runtime, f"{_FLAGS[runtime]} {parser}{_doubt(facts)}")

    return advise


def _doubt(facts: Facts) -> str:
    """What speaks against a parser made for the format as it is, where the template writes less of it.

    SGLang's qwen3_coder_detector.py, for one, reads nothing that holds no `<tool_call>`; toolfmt's parser does.
    """
    best = facts.decided.read_back
    lacking = best is not None and _NO_OPENER in best.tolerated
    return " (not confirmed: it may wait for the opening marker, which these calls lack)" if lacking else ""


def _finds_itself(format: ToolCallFormat, support: RuntimeSupport) -> bool:
    """Whether the runtime takes a parser by itself that reads the format, as far as that is known."""
    if support.parser is None or support.right is False:
        return False
    return support.right is True or support.parser in parser_names(format, support.runtime)


def _nothing_to_do(format: ToolCallFormat, support: RuntimeSupport) -> Advice:
    parser = format.runtime_parser(support.runtime)
    careful = f" ({parser.remark})" if parser and parser.remark else ""
    return Advice(support.runtime, f"nothing to do: it takes {support.parser}{careful}")


def _mlx_lm(facts: Facts, format: ToolCallFormat, support: RuntimeSupport, choice: TemplateChoice) -> Advice:
    found, name = support.parser, parser_name(format, MLX_LM)
    if _finds_itself(format, support):
        return _nothing_to_do(format, support)
    if name is not None and name != found and not misread(facts, MLX_LM, name):
        instead = f", else it takes {found}" if found else ""
        return Advice(MLX_LM, f"{setting(name)} in tokenizer_config.json{instead}")
    if found is not None:
        text = f"it takes {found}, which misreads these calls: {our_parser(facts, format)} instead"
        return Advice(MLX_LM, text, False)
    return _without(facts, MLX_LM, format)


def _mlx_swift_lm(facts: Facts, format: ToolCallFormat, support: RuntimeSupport, choice: TemplateChoice) -> Advice:
    found, name = support.parser, parser_name(format, MLX_SWIFT_LM)
    if _finds_itself(format, support):
        return _nothing_to_do(format, support)
    if name is not None:
        text = f'toolCallFormat: ToolCallFormat(rawValue: "{name}") in its ModelConfiguration'
        return Advice(MLX_SWIFT_LM, text + _doubt(facts))
    misreads = ", which misreads these calls" if support.right is False else ""
    taking = "" if found is None else f"; it takes {found}{misreads}"
    return Advice(MLX_SWIFT_LM, f"no parser for it{taking}", False)


def _llama_cpp(facts: Facts, format: ToolCallFormat, support: RuntimeSupport, choice: TemplateChoice) -> Advice:
    if not facts.shows_tools:
        text = f"no parser for toolfmt's prompts: {our_parser(facts, format)} reads the answer"
        return Advice(LLAMA_CPP, text, False)
    confirmed = DERIVED in parser_names(format, LLAMA_CPP)
    text = "--jinja" + ("" if confirmed else f" (it derives a parser; for {format.name} that is not confirmed)")
    if facts.template is None or same_text(choice.with_tools, facts.template):
        return Advice(LLAMA_CPP, text)
    file = facts.template.origin
    if not file.endswith(".jinja"):
        return Advice(LLAMA_CPP, f"{text} --chat-template-file FILE, with the template of {file} in FILE")
    return Advice(LLAMA_CPP, f"{text} --chat-template-file {file}")


def _without(facts: Facts, runtime: str, format: ToolCallFormat) -> Advice:
    return Advice(runtime, f"no parser for it, import toolfmt's: {our_parser(facts, format)}", False)


_ADVISERS: dict[str, _Adviser] = {
    TRANSFORMERS: _transformers,
    VLLM: _flagged(VLLM),
    SGLANG: _flagged(SGLANG),
    MLX_LM: _mlx_lm,
    MLX_SWIFT_LM: _mlx_swift_lm,
    LLAMA_CPP: _llama_cpp,
}
