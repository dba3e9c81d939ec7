"""The data of a report, created by `toolfmt.inspect.inspection` and read by printers.

`Report.to_dict()` is exactly the JSON of the command line; from `profile` it only has `stop` and `prefill`. Nothing
here makes decisions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from toolfmt._util.text_lists import listed
from toolfmt.errors import HAPPENED, FailureKind
from toolfmt.inspect.report.growing_prompts import ResponseStart, Stability
from toolfmt.inspect.report.json_record import JsonRecord
from toolfmt.inspect.report.template_profile import Strategy, TemplateProfile
from toolfmt.inspect.report.verdicts import Advice, Verdict, VerdictBasis
from toolfmt.inspect.report.wording import check_excerpts, filled, quote

SCHEMA = "toolfmt.report/1"

AnswerWord: TypeAlias = Literal["yes", "no", "error"]
ReasoningEffect: TypeAlias = Literal["", "kept", "kept-with-calls", "dropped"]
Outcome: TypeAlias = Literal[
    "",
    "threw",
    "dropped",
    "double-encoded",
    "python",
    "none-printed",
    "not-read-back",
    "spelled",
    "call-dropped",
    "name-lost",
    "by-order",
    "misplaced",
    "inside",
    "json-text",
    "in-place",
    "stays",
    "changes-other-text",
    "like-a-call",
    "beside-system",
    "as-parts",
    "as-answer",
    "as-parameter",
    "answer-refused",
    "assistant-text-cut",
    "text-changed",
    "in-part",
    "in-some-conversations",
    "lost-later",
    "in-branch",
]
Source: TypeAlias = Literal["declared", "verified", "signature", "model-type", "derived", "default"]
Confidence: TypeAlias = Literal["declared", "verified", "signature", "model-type", "derived", "default", "none"]
Severity: TypeAlias = Literal["error", "warning", "note"]
"""How reliable tool calling is with the model as it is.

`error`: not reliable, and `render` does not fix it by itself. `warning`: a plain client fails, and `Finding.fixed_by`
names the fix. `note`: cost and style.
"""
FixedBy: TypeAlias = Literal["", "render", "prompt", "setting", "request", "template"]
"""What fixes a finding. Empty if nothing does, or if there is nothing to fix.

`render`: `toolfmt render`, automatically. `prompt`: the strategy `prompt`, if requested. `setting`: a setting of the
model's files or of the runtime. `request`: what the caller sends. `template`: the edit of the template in the finding.
"""
BY_TEMPLATE = "template"
"""The value of `Finding.ignored_by` for a comment of the template."""
FindingKey: TypeAlias = tuple[str, str]
"""The code and the outcome of a finding, used for selections, comparisons and fixes."""

CAPABILITIES = (
    "tools",
    "tool_calls",
    "parallel_tool_calls",
    "tool_results",
    "tool_call_ids",
    "system",
    "content_null",
    "content_empty",
    "arguments_object",
    "arguments_string",
    "reasoning",
)
"""The names of the capabilities, in the order of the report."""


@dataclass(frozen=True)
class TemplateFailure(JsonRecord):
    """The error of a template.

    `engine_message` is the engine's error text or the template's message, `explanation` a plain sentence or empty.
    """

    kind: FailureKind
    engine_message: str
    explanation: str = ""

    @property
    def sentence(self) -> str:
        """The explanation with the searchable error text, without the line."""
        if self.explanation:
            return f"{self.explanation} ({quote(self.engine_message.removesuffix('.'))})"
        # What is not rendered precedes the sentence, for example "a tool result is rejected: ".
        happened = "" if self.kind == "not-rendered" else HAPPENED.get(self.kind, "")
        return ": ".join(filter(None, (happened, self.engine_message)))

    @property
    def clause(self) -> str:
        """The same as a clause about a template that was already named."""
        if self.explanation:
            return self.sentence
        return f"{'it raises' if self.kind == 'raised' else 'it fails'}: {quote(self.engine_message)}"


@dataclass(frozen=True)
class Answer:
    """Whether the template supports something, the evidence, and the line of the template if known.

    `words` are toolfmt's own text, with `{}` for each excerpt. Text from a template or a model's file is only in
    `excerpts` or in `error`. Excerpts without a placeholder are appended to the words. `outcome` is for code that
    depends on the answer; the sentence is only for people.
    """

    answer: AnswerWord
    words: str = ""
    line: int | None = None
    outcome: Outcome = ""
    excerpts: tuple[str, ...] = ()
    error: TemplateFailure | None = None

    def __post_init__(self) -> None:
        check_excerpts(self.words, self.excerpts)

    @property
    def evidence(self) -> str:
        """The evidence as a sentence."""
        sentence = filled(self.words, self.excerpts)
        return ": ".join(filter(None, (sentence, None if self.error is None else self.error.sentence)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "evidence": self.evidence + ("" if self.line is None else f" (line {self.line})"),
            "outcome": self.outcome,
            "excerpts": [text for text in self.excerpts if text],
            "error": None if self.error is None else self.error.to_dict(),
            "line": self.line,
        }


@dataclass(frozen=True)
class Evidence:
    """Evidence of one source about the format; `format` is None if it names an unknown one, or several.

    `summary` is the conclusion. If calls were read back, `problems` are the kinds that failed, each with the reason,
    `tolerated` the tolerances used, and `beyond` what the format itself cannot represent.
    """

    source: Source
    format: str | None
    summary: str
    problems: tuple[str, ...] = ()
    tolerated: tuple[str, ...] = ()
    beyond: str = ""

    @property
    def at_a_glance(self) -> str:
        """The evidence without what the format itself cannot represent, which would look like a contradiction."""
        problems = f"not: {', '.join(self.problems)}" if self.problems else ""
        tolerated = f"tolerated: {', '.join(self.tolerated)}" if self.tolerated else ""
        return "; ".join(filter(None, (self.summary, problems, tolerated)))

    @property
    def detail(self) -> str:
        return "; ".join(filter(None, (self.at_a_glance, self.beyond)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "format": self.format,
            "detail": self.detail,
            "summary": self.summary,
            "problems": list(self.problems),
            "tolerated": list(self.tolerated),
            "beyond": self.beyond,
        }


@dataclass(frozen=True)
class DerivedFormat:
    """A format that is not in the registry, derived from the calls that the template renders and verified on others.

    `kind` describes the syntax of calls. `call_sets` and `answers` are the numbers of call sets and kinds of output
    that were read back exactly. `limits` is what the verification does not cover or the format cannot represent.
    `text` is the format itself (`toolfmt.formats.serialization.format_data`).
    """

    kind: str
    call_sets: int
    outputs: int
    limits: tuple[str, ...]
    text: str

    @property
    def proof(self) -> str:
        """The extent of the verification, as a clause."""
        outputs = f"{self.outputs} kind{'' if self.outputs == 1 else 's'} of output"
        return f"tested with {self.call_sets} generated sets of calls and {outputs}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "call_sets": self.call_sets,
            "outputs": self.outputs,
            "limits": list(self.limits),
            "format": json.loads(self.text),
        }


@dataclass(frozen=True)
class FormatDecision:
    """The format, its confidence, and the evidence of every source: strongest first, derived formats last."""

    name: str | None
    confidence: Confidence
    evidence: tuple[Evidence, ...] = ()
    variant: str = ""
    """The variant of the format that the template renders calls in; empty for the format itself."""
    derived: DerivedFormat | None = None
    """The format itself, if it is not in the registry."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "confidence": self.confidence,
            "evidence": [evidence.to_dict() for evidence in self.evidence],
            **({} if self.derived is None else {"derived": self.derived.to_dict()}),
        }


@dataclass(frozen=True)
class Finding(JsonRecord):
    """A problem: one sentence for what goes wrong, the line, and one sentence for the fix.

    `outcome` selects one of the outcomes of its check; if there is only one, it is the name of the check.
    """

    code: str
    name: str
    message: str
    line: int | None
    fix: str
    severity: Severity = "warning"
    fixed_by: FixedBy = ""
    new: bool | None = None
    """Whether the earlier report that this one was compared with lacks it; None without a comparison."""
    outcome: str = ""
    on_request: bool = False
    """Whether text output shows it only on request, as a note: it is common, or a row of the report states it."""
    runtimes: tuple[str, ...] = ()
    """The runtimes in which it happens. Other runtimes convert the request first, or have nothing to do with it."""
    ignored_by: str = ""
    """`template` or the configuration that ignores it; empty if none does."""
    reason: str = ""
    """The reason there, or empty."""

    @property
    def key(self) -> FindingKey:
        return self.code, self.outcome

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "name": self.name,
            "outcome": self.outcome,
            "severity": self.severity,
            "message": self.message,
            "line": self.line,
            "fix": self.fix,
            "fixed_by": self.fixed_by,
            "runtimes": list(self.runtimes),
            **({"on_request": True} if self.on_request else {}),
            **({} if self.new is None else {"new": self.new}),
            **({"ignored_by": self.ignored_by, "reason": self.reason} if self.ignored_by else {}),
        }


@dataclass(frozen=True)
class TemplateInfo:
    """The inspected template: its file, its name there, the variables that it reads, and why it is used."""

    origin: str
    name: str
    sha256: str
    variables: tuple[str, ...]
    reason: str = ""
    has_sample_words: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"origin": self.origin, "name": self.name, "sha256": self.sha256, "variables": list(self.variables)}


EffectKind: TypeAlias = Literal[
    "printed",
    "adds",
    "leaves-out",
    "replaces",
    "blanks",
    "reasoning-block",
    "tools",
    "calls",
    "needed",
    "fails",
    "takes-tools",
]
"""The first effect of setting a variable.

Its text is printed; text is added, left out or replaced; only whitespace changes. The reasoning block that the
response starts with, the tools, or the calls change. The template fails without it, or with it. It accepts tools.
"""


@dataclass(frozen=True)
class Effect(JsonRecord):
    """What some values of a variable change, in toolfmt's own words with `{}` for each excerpt.

    `values` are labels of the values; `typed` is the first of them as a literal (empty if it is only described).
    `reasoning` is what happens to reasoning in the history, `error` the template's error.
    """

    kind: EffectKind
    words: str
    excerpts: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    typed: str = ""
    reasoning: ReasoningEffect = ""
    error: TemplateFailure | None = None

    def __post_init__(self) -> None:
        check_excerpts(self.words, self.excerpts)

    @property
    def sentence(self) -> str:
        when = listed(self.values, "or")
        return (f"if {when}, " if when and self.kind != "needed" else "") + filled(self.words, self.excerpts)


@dataclass(frozen=True)
class Variable:
    """A variable of the template beyond the usual ones.

    `default` is the value it has if it is not set: from the source, else the boolean that changes nothing while the
    other one does, else None. `effects` is what setting another value changes.
    `takes_tools` is the form in which it accepts the tools ("" if it does not). `formats` is the format of calls for
    each value that changes it, the default's first. `requires` are the variables that have to be true.
    """

    name: str
    default: str | None
    effects: tuple[Effect, ...] = ()
    line: int | None = None
    takes_tools: str = ""
    formats: tuple[tuple[str, str], ...] = ()
    requires: tuple[str, ...] = ()

    @property
    def effect(self) -> str:
        """What setting another value changes, as a sentence; empty if nothing."""
        sentences = [effect.sentence for effect in self.effects]
        if self.formats:
            formats = ", ".join(f"{name} with {value}" for value, name in self.formats)
            sentences.append(f"the format of calls is {formats}")
        return "; ".join(sentences) + (f" (with {listed(self.requires)} true)" if self.requires else "")

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "default": self.default,
            "effect": self.effect,
            "line": self.line,
            "takes_tools": self.takes_tools,
            "formats": dict(self.formats),
            "effects": [effect.to_dict() for effect in self.effects],
            "requires": list(self.requires),
        }


MarkerKind: TypeAlias = Literal["call", "reasoning", "stop"]


@dataclass(frozen=True)
class MarkerTokens(JsonRecord):
    """A marker as the tokenizer splits it; `special` if it contains a token that `skip_special_tokens` drops.

    `only_as_token` is whether `TokenParser` accepts it only where the model wrote a token of it.
    """

    marker: str
    tokens: tuple[str, ...]
    special: bool
    kind: MarkerKind = "call"
    only_as_token: bool = False


@dataclass(frozen=True)
class ToolCost(JsonRecord):
    """What one tool's definition adds to the prompt, in tokens."""

    name: str
    tokens: int


@dataclass(frozen=True)
class Tokens(JsonRecord):
    """Costs in tokens: `total` for all tools, including `preamble` for having any; `tools` in descending order.

    `given` is whether the tools are the caller's or toolfmt's examples. `context` is the context size passed.
    `leave_out` are the tools to leave out first so that the rest takes no more than `room` of it.
    """

    markers: tuple[MarkerTokens, ...] = ()
    preamble: int = 0
    tools: tuple[ToolCost, ...] = ()
    total: int = 0
    given: bool = False
    context: int | None = None
    room: int | None = None
    leave_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference(JsonRecord):
    """A difference in another engine: the construct of the template, its line, and what happens instead.

    `fails` is whether the engine rejects the template or writes another prompt. In the latter case, `written` is the
    engine's text at the difference, and `expected` that of jinja2.
    """

    construct: str
    line: int | None
    what: str
    fails: bool = True
    written: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Portability(JsonRecord):
    """Another template engine compared with jinja2: `same` of `renders` conversations have identical prompts."""

    engine: str
    renders: int
    same: int
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class RuntimeSupport:
    """What one runtime uses.

    `template` is the location of the template it renders ("" for none). `parser` is the parser that it infers, by its
    own name (None if it does not select one). `right` is whether that reads the template's calls, or None.
    `why_template` and `why_parser` are the reasons, a clause each; empty if there is nothing to add.
    """

    runtime: str
    template: str
    parser: str | None
    right: bool | None
    why_template: str = ""
    why_parser: str = ""

    @property
    def why(self) -> str:
        return "; ".join(filter(None, (self.why_template, self.why_parser)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "runtime": self.runtime,
            "template": self.template,
            "parser": self.parser,
            "right": self.right,
            "why": self.why,
            "why_template": self.why_template,
            "why_parser": self.why_parser,
        }


def token_mark(name: str) -> str:
    """Return the placeholder in a displayed prompt for a special token of which only the name is known."""
    return f"{{{{ {name} }}}}"


SampleSpanKind: TypeAlias = Literal[
    "frame", "system", "tools", "user", "reasoning", "call", "answer", "result", "generation"
]


@dataclass(frozen=True)
class SampleSpan(JsonRecord):
    """A part of the sample prompt and its kind; `frame` is what the template writes around everything else."""

    kind: SampleSpanKind
    text: str
    name: str = ""
    """The tool that is defined or called here; empty for none or several."""


@dataclass(frozen=True)
class SamplePrompt:
    """The render of one conversation: the prompt, or the error."""

    text: str
    error: TemplateFailure | None = None


@dataclass(frozen=True)
class Branch:
    """A condition of the template reached by a dedicated conversation, and what it changes.

    `by` is what the condition tests, `place` the location of the text (`a tool's name`) or its amount, `text` the text
    there. `words` are toolfmt's own, with `{}` for each excerpt.
    """

    by: Literal["text", "whole-text", "name", "length", "number", "role", "clock"]
    line: int | None
    place: str
    text: str
    words: str
    excerpts: tuple[str, ...] = ()
    serious: bool = True
    """Whether it hides something or is unexpected: a name, a length, a day."""
    parameter_left_out: bool = False
    """Whether its only effect is that the template leaves out a parameter of this name."""

    def __post_init__(self) -> None:
        check_excerpts(self.words, self.excerpts)

    @property
    def effect(self) -> str:
        """The effect, as the end of a sentence."""
        return filled(self.words, self.excerpts)


@dataclass(frozen=True)
class Sections:
    """The sections of a report, each created by one module; empty if there was nothing to test.

    `details`, `definitions` and `safety` are answers by name, in the order of the report. `sample` is a whole
    conversation with tools as the template renders it, split into spans that join to the prompt.
    """

    details: dict[str, Answer] = field(default_factory=dict)
    definitions: dict[str, Answer] = field(default_factory=dict)
    variables: tuple[Variable, ...] = ()
    stability: Stability | None = None
    safety: dict[str, Answer] = field(default_factory=dict)
    tokens: Tokens | None = None
    engines: tuple[Portability, ...] = ()
    response_starts: tuple[ResponseStart, ...] = ()
    runtime_support: tuple[RuntimeSupport, ...] = ()
    advice: tuple[Advice, ...] = ()
    sample: tuple[SampleSpan, ...] = ()
    branches: tuple[Branch, ...] = ()
    """Reported by the findings on branches; not in the JSON itself."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "details": {name: answer.to_dict() for name, answer in self.details.items()},
            "definitions": {name: answer.to_dict() for name, answer in self.definitions.items()},
            "variables": [variable.to_dict() for variable in self.variables],
            "prefix": None if self.stability is None else self.stability.to_dict(),
            "safety": {name: answer.to_dict() for name, answer in self.safety.items()},
            "tokens": None if self.tokens is None else self.tokens.to_dict(),
            "portability": next((one.to_dict() for one in self.engines if one.engine == "minijinja"), None),
            "engines": [one.to_dict() for one in self.engines],
            "response_starts": [start.to_dict() for start in self.response_starts],
            "runtime_support": [support.to_dict() for support in self.runtime_support],
            "advice": [advice.to_dict() for advice in self.advice],
            "sample": [piece.to_dict() for piece in self.sample],
        }


@dataclass(frozen=True)
class Report:
    """The report on one model or template.

    `verdict` depends on all findings, even those that are ignored or that the caller excluded. `findings` are errors
    and warnings, `notes` are less important, `ignored` are both if the template or a configuration ignores them; all
    have the same shape. `prompts` are renders of some conversations, by their description,
    for comparing templates; `left_out` is the number of findings and notes that the caller excluded (not in the JSON).
    """

    path: str
    verdict: Verdict
    model_type: str | None
    template: TemplateInfo | None
    capabilities: dict[str, Answer]
    format: FormatDecision
    strategy: Strategy
    runtimes: dict[str, str]
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...] = ()
    ignored: tuple[Finding, ...] = ()
    sections: Sections = field(default_factory=Sections)
    profile: TemplateProfile = field(default_factory=TemplateProfile)
    """What rendering needs. The JSON only has what ends a response, and the part of it in the generation prompt."""
    prompts: dict[str, SamplePrompt] = field(default_factory=dict)
    left_out: int = 0
    left_out_by: str = "--select or --ignore"
    """What the caller excluded them with; not in the JSON."""
    accepted_verdict: Verdict | None = None
    """The verdict without ignored findings; not in the JSON."""
    basis: VerdictBasis = field(default_factory=VerdictBasis)
    """What the verdict needs in addition, to be made again for some runtimes; not in the JSON."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "verdict": self.verdict.to_dict(),
            "model_type": self.model_type,
            "template": None if self.template is None else self.template.to_dict(),
            "capabilities": {name: self.capabilities[name].to_dict() for name in CAPABILITIES},
            "format": self.format.to_dict(),
            "strategy": self.strategy,
            "runtimes": dict(self.runtimes),
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": [note.to_dict() for note in self.notes],
            "ignored": [finding.to_dict() for finding in self.ignored],
            "stop": list(self.profile.stop),
            "stop_of_calls": list(self.profile.stop_of_calls),
            "prefill": self.profile.prefill,
            "path": self.path,
            **self.sections.to_dict(),
        }
