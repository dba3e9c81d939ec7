"""The section on advice: what to type to call tools with each runtime.

Flags and settings are those of the runtimes' own documentation (November 2026): vLLM "Tool Calling" and "Reasoning
Outputs", SGLang "Tool Parser" and "Reasoning Parser", llama.cpp tools/server/README.md and docs/function-calling.md,
mlx-lm tokenizer_utils.py, mlx-swift-lm ChatConventionsRegistry.swift. `parser_choice` and `reasoning_choice` select
the parsers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from toolfmt._util.shell import argument
from toolfmt._util.text_lists import listed
from toolfmt.errors import LimitHit
from toolfmt.formats import ToolCallFormat, formats
from toolfmt.formats.format import DERIVED as DERIVED_FORMAT
from toolfmt.formats.runtime_parsers import DERIVED, parser_name, parser_names
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Finding, RuntimeSupport
from toolfmt.inspect.report.verdicts import Advice
from toolfmt.inspect.runtimes.parser_choice import chosen
from toolfmt.inspect.runtimes.parser_inference import OWN_DEFAULT
from toolfmt.inspect.runtimes.parser_line import has_place, our_parser
from toolfmt.inspect.runtimes.reasoning_choice import reasoning_parser
from toolfmt.inspect.runtimes.runtime_support import (
    DECLARING_KEY,
    choices_of,
    declares_parser,
    misread,
    no_tools,
    runtime_support,
)
from toolfmt.inspect.runtimes.template_choice import (
    LLAMA_CPP,
    MLX_LM,
    MLX_SWIFT_LM,
    RUNTIMES,
    SGLANG,
    TRANSFORMERS,
    VLLM,
    TemplateChoice,
    same_text,
)

_Adviser: TypeAlias = Callable[[Facts, ToolCallFormat, RuntimeSupport, TemplateChoice], Advice]

EVERY_RUNTIME = "any runtime"
NONE = "none: "
"""The start of the sentence if there is nothing to type."""
_NO_QUESTION = {
    "nothing": Advice(
        EVERY_RUNTIME,
        "the template renders neither tools nor user messages: it cannot be used for tool calling",
        "fails",
        typed=False,
    ),
    "parts": Advice(
        EVERY_RUNTIME,
        "describe the tools in a part of the type text",
        "tools as text",
        "the template renders no tools, and it takes text only as a list of parts",
        typed=False,
    ),
}
_NO_FORMAT = "no known format: set the parser that the model card names"
_NO_START = "missing_opener"
FLAGS = {VLLM: "--enable-auto-tool-choice --tool-call-parser", SGLANG: "--tool-call-parser"}
"""The flags before the name of a parser."""
_INSTALL = "install toolfmt in its environment"
_DECODED = "decode with skip_special_tokens=False"
_SPECIAL = 'send "skip_special_tokens": false'
# https://github.com/ggml-org/llama.cpp/pull/22217, merged in April 2026
_PARALLEL = 'builds before May 2026 allow one call per turn unless you send "parallel_tool_calls": true'
_REJECTS = "the template rejects a plain question"
_IN_QUESTION = "at the beginning of the first user message (the template supports no system message)"
_EVERY_OUTPUT = "parses the output of transformers, and of every other runtime"
_GUESSED = "the format is unknown"
_NOT_CHECKED = "not checked for .gguf files: inspect the model directory instead"


def advice(facts: Facts, findings: Sequence[Finding] = ()) -> tuple[Advice, ...]:
    """Return one entry per runtime, after entries for `EVERY_RUNTIME` that apply to all runtimes.

    If one of the `findings` is fixed by `toolfmt render`, prompts are rendered with it. If the format is unknown, or
    only the default for a template that shows tools, no flag is named: it would be a guess. If the template shows no
    tools, no flag helps: a server drops the tools that it is sent.
    """
    format = _output_format(facts)
    if what := _unusable(facts):
        return (Advice(EVERY_RUNTIME, f"{what}: use the template of the original model", "fails", typed=False),)
    if facts.rejects_questions:
        without = {0: "", 1: " without it"}.get(len(facts.needed_variables), " without them")
        return (Advice(EVERY_RUNTIME, f"{_rejects(facts)}, so no tool can be called{without}", "fails", typed=False),)
    if not facts.shows_tools:
        if facts.question_form != "text":
            return (_NO_QUESTION[facts.question_form],)
        return _in_words(facts, format)
    if format is None:
        return (Advice(EVERY_RUNTIME, _NO_FORMAT, "unknown", typed=False),)
    if _is_guess(facts):
        text = f"{_GUESSED} and {format.name} is a guess: check one output before you set a parser"
        return (Advice(EVERY_RUNTIME, text, "unknown", typed=False),)
    rendered = () if _keeps_history(facts) else (Advice(EVERY_RUNTIME, _rendered(facts), remark=_why_rendered(facts)),)
    return (*rendered, *_each(facts, format, as_sent=_takes_messages_as_sent(facts, findings)))


def runtimes(facts: Facts) -> dict[str, str]:
    """Return each runtime's name for the parser of this model's calls.

    Includes every runtime that has a parser for any format. Without a parser, the value is `none: ` and the reason.
    """
    if facts.decided.format is None and facts.decided.read_back is None:
        return {}
    known = sorted({runtime for other in formats() for runtime in other.runtime_parsers}, key=str.lower)
    return {runtime: _named(facts, runtime) for runtime in known}


def _of(format: ToolCallFormat) -> str:
    """Return the name of the format for advice. The name of a derived format carries no information."""
    return "this format" if format.name == DERIVED_FORMAT else format.name


def setting(parser: str) -> str:
    """Return the entry of tokenizer_config.json that selects a parser in mlx-lm and mlx-swift-lm."""
    return f'"{DECLARING_KEY}": "{parser}"'


def _output_format(facts: Facts) -> ToolCallFormat | None:
    """Return the format of the output: if a declaration contradicts the template, the template wins."""
    best = facts.decided.read_back
    return facts.decided.format if best is None else best.format


def _unusable(facts: Facts) -> str:
    """Return why no runtime can render anything, or no advice is possible; empty if neither."""
    if isinstance(facts.broken, LimitHit):
        if facts.broken.limit == "crash":
            return "the chat template ended the process that ran it"
        return f"the chat template hit a limit ({facts.broken.limit})"
    if facts.broken is not None:
        return "the chat template does not compile"
    return "there is no chat template" if facts.template is None else ""


def _rejects(facts: Facts) -> str:
    """Return that a plain question is rejected, and which variables would have to be set."""
    needed = facts.needed_variables
    return _REJECTS + (f" unless {listed(needed)} {'is' if len(needed) == 1 else 'are'} given" if needed else "")


def _is_guess(facts: Facts) -> bool:
    return facts.decided.read_back is None and facts.decided.decision.confidence == "default"


def _named(facts: Facts, runtime: str) -> str:
    if facts.rejects_questions:
        return NONE + _rejects(facts)
    if not facts.shows_tools:
        return NONE + (_unusable(facts) or no_tools(facts))
    if _is_guess(facts):
        return f"{NONE}{_GUESSED}"
    choice = chosen(facts, runtime)
    wrong = misread(facts, runtime, choice.name) if choice.name else ""
    if wrong:
        return f"{NONE}{choice.name} {wrong}"
    return choice.name or NONE + choice.why_not


def _place(facts: Facts) -> str:
    """Return the model's path as it was passed, shell-quoted, or a placeholder."""
    return argument(str(facts.files.directory)) if has_place(facts) else "DIR"


def _rendered(facts: Facts, *, prompt: bool = False) -> str:
    alone = (
        facts.files.kind == "template"
    )  # missing tokens are an error of a model directory, but not of a single template
    tokens = "".join(f""" --var {token}='"YOUR_{token.upper()}"'""" for token in facts.needed_tokens) if alone else ""
    return f"toolfmt render {_place(facts)} --request FILE{tokens}{'' if prompt else ' --output messages'}"


def _in_words(facts: Facts, format: ToolCallFormat | None) -> tuple[Advice, ...]:
    """Return the advice if the template shows no tools: toolfmt's system prompt requests calls in the format."""
    request_note = f" and asks for calls in the {format.name} format" if format is not None and _is_guess(facts) else ""
    where = "in the system prompt" if facts.yes("system") else _IN_QUESTION
    remark = (
        f"{no_tools(facts)}; this command describes them {where}{request_note}; "
        "send the printed request, which has no `tools`"
    )
    made = Advice(EVERY_RUNTIME, _rendered(facts), "tools as text", remark)
    if format is None:
        return (made, Advice(EVERY_RUNTIME, _NO_FORMAT, "unknown", typed=False))
    return (made, Advice(TRANSFORMERS, our_parser(facts, format), "tools as text", _EVERY_OUTPUT))


def _keeps_history(facts: Facts) -> bool:
    """Return whether a call and its result are rendered. If not, the second turn fails or lacks them."""
    return facts.renders_calls and facts.yes("tool_calls") and facts.yes("tool_results")


def _takes_messages_as_sent(facts: Facts, findings: Sequence[Finding]) -> bool:
    """Return whether messages render correctly in the form that clients send.

    For calls: arguments as a string, content null, empty or absent, and any ids. For results: no tool name.
    Definitions may leave out optional parts. No finding may need `render` as the fix.
    """
    forms = ("arguments_string", "content_null", "content_empty")
    definitions = facts.sections.definitions.values()
    profile = facts.profile
    return (
        all(facts.yes(form) for form in forms)
        and not (profile.ids or profile.results_named or profile.reasoning_parts or profile.results == "parts")
        and not any(answer.error for answer in definitions)
        and not any(finding.fixed_by in ("render", "prompt") for finding in findings)
    )


def _why_rendered(facts: Facts) -> str:
    lost = next(name for name in ("tool_calls", "tool_results") if not facts.yes(name) or not facts.renders_calls)
    what = "calls" if lost == "tool_calls" else "results"
    how = "rejects" if facts.capabilities[lost].answer == "error" else "drops"
    return f"the template {how} earlier {what}: in every turn, send the messages and tools that this prints"


def _each(facts: Facts, format: ToolCallFormat, *, as_sent: bool) -> list[Advice]:
    both = zip(runtime_support(facts), choices_of(facts), strict=True)
    each = [
        _transformers(facts, format, as_sent=as_sent)
        if support.runtime == TRANSFORMERS
        else _elsewhere(facts, support, choice) or _ADVISERS[support.runtime](facts, format, support, choice)
        for support, choice in both
    ]
    covered = {advice.runtime for advice in each}
    return [
        *each,
        *(Advice(runtime, _NOT_CHECKED, "unknown", typed=False) for runtime in RUNTIMES if runtime not in covered),
    ]


def _elsewhere(facts: Facts, support: RuntimeSupport, choice: TemplateChoice) -> Advice | None:
    """Return the advice for a runtime that does not render the inspected template, whatever is set; else None."""
    if support.runtime == LLAMA_CPP:  # a flag gives it the template
        return None
    if not support.template:
        return Advice(support.runtime, choice.why, "fails", typed=False)
    if choice.own or not same_text(choice.with_tools, facts.template):
        return Advice(
            support.runtime, f"it uses {support.template}, which is not inspected here", "unknown", typed=False
        )
    return None


def _transformers(facts: Facts, format: ToolCallFormat, *, as_sent: bool) -> Advice:
    first = _DECODED
    if _keeps_history(facts):
        plain = "apply_chat_template(messages, tools=tools)"
        # No punctuation after the command, which is copied from a terminal.
        first = f"render with {plain if as_sent else _rendered(facts, prompt=True)} and {_DECODED}"
    return Advice(TRANSFORMERS, our_parser(facts, format), remark=f"{first}; parse the output with this parser")


def _flagged(runtime: str) -> _Adviser:
    def advise(facts: Facts, format: ToolCallFormat, support: RuntimeSupport, choice: TemplateChoice) -> Advice:
        parser = chosen(facts, runtime)
        name = parser.name
        known = format.runtime_parser(runtime)
        about = f"{name} {known.remark}" if known and known.remark else ""
        if not name:
            name = "toolfmt" if format.name == DERIVED_FORMAT else f"toolfmt_{format.name}"
            about = f"{parser.why_not}; {_INSTALL}"
        reasoning = reasoning_parser(facts, runtime, name)
        flag = f" --reasoning-parser {reasoning.name}" if reasoning.name else ""
        remarks = filter(None, (parser.remark, _objects_only(facts), reasoning.remark, about))
        return Advice(runtime, f"{FLAGS[runtime]} {name}{flag}", remark="; ".join(remarks))

    return advise


def _objects_only(facts: Facts) -> str:
    """Return the remark on servers that parse all arguments into objects before rendering."""
    if not _keeps_history(facts) or facts.yes("arguments_object"):
        return ""
    fixed = f"toolfmt inspect {_place(facts)} --fix --output COPY"
    return (
        "it passes the arguments of past calls as objects, which this template does not render correctly: "
        f"serve the copy that {fixed} writes"
    )


def _doubt(facts: Facts) -> str:
    """Return the caveat on a parser made for the format as it is, if the template writes less of it."""
    best = facts.decided.read_back
    lacking = best is not None and _NO_START in best.tolerated
    return "not confirmed: it may wait for the start marker, which these calls lack" if lacking else ""


def _finds_itself(format: ToolCallFormat, support: RuntimeSupport) -> bool:
    """Return whether the runtime selects a parser that reads the format by itself, as far as known."""
    if support.parser is None or support.right is False:
        return False
    return support.right is True or support.parser in parser_names(format, support.runtime)


def _nothing_to_do(facts: Facts, format: ToolCallFormat, support: RuntimeSupport) -> Advice:
    parser = format.runtime_parser(support.runtime)
    remark = f"it {parser.remark}" if parser and parser.remark else ""
    by_default = support.why_parser == OWN_DEFAULT
    text = f"uses {support.parser} by default" if by_default else f"detected automatically: {support.parser}"
    return Advice(support.runtime, text, "works", remark)


def _mlx_lm(facts: Facts, format: ToolCallFormat, support: RuntimeSupport, choice: TemplateChoice) -> Advice:
    found, name = support.parser, parser_name(format, MLX_LM)
    if _finds_itself(format, support):
        made = _nothing_to_do(facts, format, support)
        return replace(made, remark="; ".join(filter(None, (made.remark, _objects_only(facts)))))
    if name is not None and name != found and not misread(facts, MLX_LM, name):
        instead = f"otherwise it uses {found}" if found else ""
        remarks = ("in tokenizer_config.json", instead, _objects_only(facts))
        return Advice(MLX_LM, setting(name), remark="; ".join(filter(None, remarks)))
    if found is not None:
        return _mlx_server(facts, f"it selects its parser {found}, which misparses these calls")
    return _mlx_server(facts, f"{MLX_LM} has no built-in parser for this format")


def _mlx_swift_lm(facts: Facts, format: ToolCallFormat, support: RuntimeSupport, choice: TemplateChoice) -> Advice:
    found, name = support.parser, chosen(facts, MLX_SWIFT_LM).name
    if _finds_itself(format, support):
        return _nothing_to_do(facts, format, support)
    if name:
        text = f'toolCallFormat: ToolCallFormat(rawValue: "{name}")'
        doubt = _doubt(facts)
        remark = "; ".join(filter(None, ("in its ModelConfiguration", doubt)))
        return Advice(MLX_SWIFT_LM, text, "unknown" if doubt else "works with", remark)
    misparses = ", which misparses these calls" if support.right is False else ""
    taking = "" if found is None else f"; it selects {found}{misparses}"
    return Advice(MLX_SWIFT_LM, f"no parser for this format{taking}", "fails", typed=False)


def _llama_cpp(facts: Facts, format: ToolCallFormat, support: RuntimeSupport, choice: TemplateChoice) -> Advice:
    confirmed = DERIVED in parser_names(format, LLAMA_CPP)
    doubt = f"llama.cpp derives a parser from the template; whether it parses {_of(format)} is not confirmed"
    remarks = [] if confirmed else [doubt]
    if facts.yes("parallel_tool_calls"):
        remarks.append(_PARALLEL)
    made = Advice(LLAMA_CPP, "--jinja", "works with" if confirmed else "unknown", "; ".join(remarks))
    if facts.files.kind == "template" and has_place(facts):
        return replace(made, text=f"{made.text} --chat-template-file {_place(facts)}")
    if facts.template is None or same_text(choice.with_tools, facts.template):
        return made
    file = facts.template.origin
    if file.endswith(".jinja"):
        place = facts.files.home / file
        return replace(made, text=f"{made.text} --chat-template-file {argument(str(place))}")
    remarks.insert(0, f"FILE is the template of {file}")
    return replace(made, text="--jinja --chat-template-file FILE", remark="; ".join(remarks))


def _mlx_server(facts: Facts, why: str) -> Advice:
    """Return the advice for mlx-lm without a parser for these calls: its server with toolfmt's parser."""
    place = "DIR" if facts.files.kind == "template" else _place(facts)
    text = f"python -m toolfmt.integrations.mlx_server --model {place}"
    remove = f"remove {DECLARING_KEY} from tokenizer_config.json" if declares_parser(facts) else ""
    return Advice(MLX_LM, text, remark="; ".join(filter(None, (why, remove, _INSTALL))))


_ADVISERS: dict[str, _Adviser] = {
    VLLM: _flagged(VLLM),
    SGLANG: _flagged(SGLANG),
    MLX_LM: _mlx_lm,
    MLX_SWIFT_LM: _mlx_swift_lm,
    LLAMA_CPP: _llama_cpp,
}
