"""The section on runtimes: the template that each one uses, the parser it selects, and whether that reads the calls.

`template_choice` knows where runtimes search for templates, `parser_inference` what they search for. This module
combines both with the results of the probes.
"""

from __future__ import annotations

from toolfmt.formats import formats
from toolfmt.formats.runtime_parsers import DERIVED, parser_name, parser_names
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import RuntimeSupport
from toolfmt.inspect.runtimes.parser_inference import Inferred, misread_by_mlx_lm, mlx_lm, mlx_swift_lm
from toolfmt.inspect.runtimes.template_choice import (
    LLAMA_CPP,
    MLX_LM,
    MLX_SWIFT_LM,
    RUNTIMES,
    TRANSFORMERS,
    TemplateChoice,
    same_text,
    swift_infers_from,
    template_choices,
)
from toolfmt.templates import ModelFiles, TemplateSource

DECLARING_KEY = "tool_parser_type"
_RESPONSE_TEMPLATE = "response_template"


def runtime_support(facts: Facts) -> tuple[RuntimeSupport, ...]:
    """Return one entry per runtime, in the order of `RUNTIMES`; empty without a template.

    For a single template, every runtime is assumed to use it.
    """
    if facts.template is None:
        return ()
    return tuple(_support(facts, choice) for choice in choices_of(facts))


def choices_of(facts: Facts) -> tuple[TemplateChoice, ...]:
    """Return what every runtime uses from the directory, or the single template."""
    if not _alone(facts.files):
        return template_choices(facts.files)
    given = facts.template
    return tuple(TemplateChoice(runtime, given, given, "the only template given") for runtime in RUNTIMES)


def _alone(files: ModelFiles) -> bool:
    """Return whether a template was passed without a model, so that its location in a model is unknown."""
    return files.kind == "template"


def declares_parser(facts: Facts) -> bool:
    """Return whether the directory declares a parser for mlx-lm and mlx-swift-lm, which then infer none."""
    return facts.files.tokenizer_config.get(DECLARING_KEY) is not None


def no_tools(facts: Facts) -> str:
    """Return what the template does with the tools of a request if it does not show them."""
    return f"the template {'raises an error if tools are sent' if facts.rejects_tools else 'renders no tools'}"


def misled(facts: Facts, runtime: str) -> bool:
    """Return whether the template's text makes the runtime select its parser."""
    return any(_inferred(facts, choice).shown for choice in choices_of(facts) if choice.runtime == runtime)


def misread(facts: Facts, runtime: str, parser: str) -> str:
    """Return what the runtime's parser for the format gets wrong in the calls of the template; empty for nothing."""
    best = facts.decided.read_back
    if runtime != MLX_LM or best is None or parser not in parser_names(best.format, runtime):
        return ""
    return misread_by_mlx_lm(parser, facts.decided.rendered)


def mlx_lm_reader(facts: Facts) -> str | None:
    """Return mlx-lm's parser for the calls of the template; None if it has none, or one that misreads them."""
    best = facts.decided.read_back
    name = None if best is None else parser_name(best.format, MLX_LM)
    return None if name is None or misread(facts, MLX_LM, name) else name


def _support(facts: Facts, choice: TemplateChoice) -> RuntimeSupport:
    where = choice.describe()
    if not where:
        return RuntimeSupport(choice.runtime, "", None, None, choice.why)
    if choice.runtime == LLAMA_CPP:
        parser, right, how = _derived(facts, choice)
    elif choice.runtime == TRANSFORMERS:
        parser, right, how = _declared(facts)
    elif choice.runtime in (MLX_LM, MLX_SWIFT_LM):
        inferred = _inferred(facts, choice)
        parser, how = inferred.parser, inferred.how
        right = None if parser is None else _reads(facts, choice, parser)
        how += _verdict(facts, choice.runtime, parser, right)
    else:
        parser, right, how = None, None, "it does not choose a parser automatically"
    why_template = "" if _alone(facts.files) else choice.why
    return RuntimeSupport(choice.runtime, where, parser, right, why_template, how)


def _inferred(facts: Facts, choice: TemplateChoice) -> Inferred:
    files = facts.files
    model_type = next(iter(files.model_types), None)
    declared = files.tokenizer_config.get(DECLARING_KEY)
    if choice.runtime == MLX_SWIFT_LM:
        source = choice.with_tools if _alone(files) else swift_infers_from(files)
        return mlx_swift_lm(_text(source), declared, model_type, files.config)
    tokens = None if files.added_tokens is None else frozenset(files.added_tokens.values())
    inferred = mlx_lm(None if choice.named else _text(choice.with_tools), declared, model_type, tokens)
    if choice.named and inferred.parser is None and declared is None:
        return Inferred(None, "it does not detect a parser in named templates")
    return inferred


def _derived(facts: Facts, choice: TemplateChoice) -> tuple[str | None, bool | None, str]:
    """Return what llama.cpp derives from the template; confirmed only for formats that declare it."""
    same = same_text(choice.with_tools, facts.template)
    if same and not facts.shows_tools:
        return None, None, f"{no_tools(facts)}, so no parser can be derived from it"
    best = facts.decided.read_back
    confirmed = same and best is not None and DERIVED in parser_names(best.format, LLAMA_CPP)
    return DERIVED, True if confirmed else None, "it chooses or derives the parser by the template"


def _declared(facts: Facts) -> tuple[str | None, bool | None, str]:
    """Return what transformers parses: only what a `response_template` describes."""
    found = next((known for known in facts.decided.declarations if known.key == _RESPONSE_TEMPLATE), None)
    if found is None:
        return None, None, "it parses no calls without a response_template"
    best = facts.decided.read_back
    right = None if best is None or not found.formats else best.format in found.formats
    return _RESPONSE_TEMPLATE, right, f"{found.source} specifies the format of calls"


def _reads(facts: Facts, choice: TemplateChoice, parser: str) -> bool | None:
    """Return whether the parser with this name reads the calls of the inspected template."""
    best = facts.decided.read_back
    if best is None or facts.renders is None or choice.own or not same_text(choice.with_tools, facts.template):
        return None
    if parser in parser_names(best.format, choice.runtime):
        return not misread(facts, choice.runtime, parser)
    # A parser that no format names could read any format.
    return False if any(parser in parser_names(format, choice.runtime) for format in formats()) else None


def _verdict(facts: Facts, runtime: str, parser: str | None, right: bool | None) -> str:
    best = facts.decided.read_back
    if parser is None or right is not False or best is None:
        return ""
    wrong = misread(facts, runtime, parser)
    return f", but it {wrong}" if wrong else f", but the calls are {best.format.name}"


def _text(source: TemplateSource | None) -> str | None:
    """Return the text as a runtime reads it: text mode converts all line ends of files to newlines."""
    if source is None:
        return None
    return source.text.replace("\r\n", "\n") if source.origin.endswith(".jinja") else source.text
