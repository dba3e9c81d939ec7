"""What an inspection says: data only, made by `toolfmt.inspect.inspection`, read by printers.

`Report.to_dict()` is the JSON of the command line, exactly; of the `profile` only `stop` and `prefill` are part of it.
Nothing in here decides anything.
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
"""How reliable tool calling is with the model as it is. `error`: it is not reliable, and `render` does not fix it by
itself; `warning`: a plain client goes wrong, and `Finding.fixed_by` names what fixes it; `note`: cost
and taste."""
FixedBy: TypeAlias = Literal["", "render", "prompt", "setting", "request", "template"]
"""What heals a finding: toolfmt's `render`, by itself; its strategy `prompt`, where it is asked for; a setting of the
model's files or of the runtime; what the caller sends; an edit of the template that the finding spells out. Empty where
nothing does, or where there is nothing to heal."""
FindingKey: TypeAlias = tuple[str, str]
"""The code and the outcome of a finding: what selections, comparisons and fixes go by."""
ToolsWord: TypeAlias = Literal["native", "adapted", "prompt-only", "broken"]

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
    """What a template threw: `own_words` is what the engine said, or the template where it refused; `in_words` what it
    wants in plain words, empty where there are none.
    """

    kind: FailureKind
    own_words: str
    in_words: str = ""

    @property
    def sentence(self) -> str:
        """What happened, with the words that it can be looked up by; the line is told elsewhere."""
        if self.in_words:
            return f"{self.in_words} ({quote(self.own_words.removesuffix('.'))})"
        return ": ".join(filter(None, (HAPPENED.get(self.kind, ""), self.own_words)))

    @property
    def clause(self) -> str:
        """The same, of a template that the sentence has named."""
        if self.in_words:
            return self.sentence
        return f"{'it raises' if self.kind == 'refused' else 'it fails'}: {quote(self.own_words)}"


@dataclass(frozen=True)
class Answer:
    """Whether the template can do something, what showed it, and the line of the template where that can be told.

    `words` are toolfmt's own, with `{}` where an excerpt stands; what a template or a model's file says is among the
    `excerpts` (behind the words, where they have no place for it) or in the `error` that it threw, never in the words.
    `outcome` is one word for whoever decides by the answer: nobody reads the sentence but people.
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
        """What showed it, as a sentence."""
        told = filled(self.words, self.excerpts)
        return ": ".join(filter(None, (told, None if self.error is None else self.error.sentence)))

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
    """What one source says about the format; `format` is None where it names one that nobody knows, or several.

    `summary` is what it comes to. Of calls that were read back, `faults` are the kinds that were not, each with the
    reason, `tolerated` what was overlooked, and `beyond` what the format itself cannot carry, whoever reads it.
    """

    source: Source
    format: str | None
    summary: str
    faults: tuple[str, ...] = ()
    tolerated: tuple[str, ...] = ()
    beyond: str = ""

    @property
    def at_a_glance(self) -> str:
        """All of it but what the format itself cannot carry, which would read as a contradiction."""
        faults = f"not: {', '.join(self.faults)}" if self.faults else ""
        tolerated = f"tolerated: {', '.join(self.tolerated)}" if self.tolerated else ""
        return "; ".join(filter(None, (self.summary, faults, tolerated)))

    @property
    def detail(self) -> str:
        return "; ".join(filter(None, (self.at_a_glance, self.beyond)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "format": self.format,
            "detail": self.detail,
            "summary": self.summary,
            "faults": list(self.faults),
            "tolerated": list(self.tolerated),
            "beyond": self.beyond,
        }


@dataclass(frozen=True)
class DerivedFormat:
    """A format that nobody has written down, read off the calls that the template renders, and proven on others.

    `kind` says in a few words how calls are written, `call_sets` and `answers` how many sets of calls and kinds of
    answer were read back exactly, `limits` what the proof does not show or the format cannot carry, and `text` is the
    format itself (`toolfmt.formats.stored`).
    """

    kind: str
    call_sets: int
    answers: int
    limits: tuple[str, ...]
    text: str

    @property
    def proof(self) -> str:
        """What it rests on, as a clause."""
        outputs = f"{self.answers} kind{'' if self.answers == 1 else 's'} of output"
        return f"verified on {self.call_sets} call sets and {outputs}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "call_sets": self.call_sets,
            "answers": self.answers,
            "limits": list(self.limits),
            "format": json.loads(self.text),
        }


@dataclass(frozen=True)
class FormatDecision:
    """The format, how sure that is, and every source's evidence: strongest first, and last what was derived."""

    name: str | None
    confidence: Confidence
    evidence: tuple[Evidence, ...] = ()
    variant: str = ""
    """The variant of the format that the template renders calls in; empty where that is the format itself."""
    derived: DerivedFormat | None = None
    """The format itself, where it is none that the registry has."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "confidence": self.confidence,
            "evidence": [evidence.to_dict() for evidence in self.evidence],
            **({} if self.derived is None else {"derived": self.derived.to_dict()}),
        }


@dataclass(frozen=True)
class Finding(JsonRecord):
    """Something that will go wrong: one sentence what, the line where, one sentence what to do.

    `outcome` is which of the outcomes of its check this is; the name of a check that has only one.
    """

    code: str
    name: str
    message: str
    line: int | None
    fix: str
    severity: Severity = "warning"
    fixed_by: FixedBy = ""
    new: bool | None = None
    """Whether an earlier report, with which this one was compared, does not have it; None where none was."""
    outcome: str = ""
    on_request: bool = False
    """Whether text shows it on request only, as a note: most templates have it, or a row of the report states it."""

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
            **({"on_request": True} if self.on_request else {}),
            **({} if self.new is None else {"new": self.new}),
        }


@dataclass(frozen=True)
class Verdict(JsonRecord):
    """Whether a program can call tools with the model: `tools` in a word, `sentence` what works and what to do.

    `native`: with the template as it is; `adapted`: with what `render` does for it; `prompt-only`: the template shows
    no tools, and described in the system prompt they work; `broken`: there is an error among the findings.
    """

    tools: ToolsWord
    sentence: str


@dataclass(frozen=True)
class TemplateInfo:
    """The template that was inspected: where it stands, what it is called there, what it reads from its caller."""

    origin: str
    name: str
    sha256: str
    variables: tuple[str, ...]
    reason: str = ""
    """Why this one is in force; one sentence."""

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
"""What giving a variable changes first: its text is printed, something is added, left out or written instead, blanks
alone; the reasoning block that the answer begins with, the tools, the calls; the template fails without it, or with it;
or it takes the tools."""


@dataclass(frozen=True)
class Effect(JsonRecord):
    """What some values of a variable were seen to change, in words of toolfmt's own with `{}` for each excerpt.

    `values` are what a person calls the values, and `typed` is the first of them as it is typed (empty for one that is
    only described). `reasoning` says what becomes of reasoning in the history, `error` what the template threw.
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
        return " ".join(filter(None, (listed(self.values, "or"), filled(self.words, self.excerpts))))


@dataclass(frozen=True)
class Variable:
    """A variable of the template beyond the usual ones. `default` is what it takes where it is not given: as the source
    says it, else the boolean that changed nothing where the other one did (None for neither). `effects` is what giving
    another value was seen to change.

    `takes_tools` is the form in which it takes the tools ("" for one that does not); `formats` the format that calls
    are written in for each value that changes it, the default's first; `beside` the variables that had to be true.
    """

    name: str
    default: str | None
    effects: tuple[Effect, ...] = ()
    line: int | None = None
    takes_tools: str = ""
    formats: tuple[tuple[str, str], ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def effect(self) -> str:
        """What giving it another value was seen to change, as a sentence; empty for nothing."""
        told = [effect.sentence for effect in self.effects]
        if self.formats:
            told.append(f"calls are written in {', '.join(f'{name} with {value}' for value, name in self.formats)}")
        return "; ".join(told) + (f" (with {listed(self.beside)} true)" if self.beside else "")

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "default": self.default,
            "effect": self.effect,
            "line": self.line,
            "takes_tools": self.takes_tools,
            "formats": dict(self.formats),
            "effects": [effect.to_dict() for effect in self.effects],
            "beside": list(self.beside),
        }


MarkerKind: TypeAlias = Literal["call", "reasoning", "stop"]


@dataclass(frozen=True)
class MarkerTokens(JsonRecord):
    """A marker as the tokenizer cuts it: `kind` is what it marks, `special` whether it is or holds a token that
    detokenizers drop when told to skip special tokens.
    """

    marker: str
    tokens: tuple[str, ...]
    special: bool
    kind: MarkerKind = "call"

    def to_dict(self) -> dict[str, Any]:
        return {"marker": self.marker, "kind": self.kind, "tokens": list(self.tokens), "special": self.special}


@dataclass(frozen=True)
class ToolCost(JsonRecord):
    """What one tool's definition adds to the prompt, in tokens."""

    name: str
    tokens: int


@dataclass(frozen=True)
class Tokens(JsonRecord):
    """Costs in tokens: `total` for all tools, of it `preamble` for having tools at all, `tools` the dearest first.

    `given` says whether the tools are the caller's or toolfmt's examples; `context` is the context size asked about,
    `leave_out` the tools to leave out first so that what remains takes no more than `room` of it.
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
    """What another engine makes differently: the construct of the template, its line, what happens instead.

    `fails` tells an engine that refuses the template from one that writes another prompt; of that one `written` is what
    stands where the prompts part, and `expected` what jinja2 has there.
    """

    construct: str
    line: int | None
    what: str
    fails: bool = True
    written: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Portability(JsonRecord):
    """Another template engine beside jinja2: of `renders` conversations it renders `same` byte for byte alike."""

    engine: str
    renders: int
    same: int
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class RuntimeSupport:
    """What one runtime takes: `template` is where the one it renders stands ("" for none), `parser` what it infers, in
    its own words (None where it finds no parser by itself), `right` whether that reads the calls the template renders
    (None where that cannot be told).

    `why_template` and `why_parser` say why it takes these, a clause each; empty where there is nothing to say.
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


@dataclass(frozen=True)
class Advice(JsonRecord):
    """What to do to call tools with one runtime: the flags, the setting or the line as it is typed; where it is not
    `supported`, `none: ` and why. `remark` is what else there is to do or to know, a clause; empty for nothing.
    """

    runtime: str
    text: str
    supported: bool = True
    remark: str = ""


def token_mark(name: str) -> str:
    """What stands in a prompt that is shown for a special token of which only the name is known."""
    return f"{{{{ {name} }}}}"


SampleSpanKind: TypeAlias = Literal[
    "frame", "system", "tools", "user", "reasoning", "call", "answer", "result", "generation"
]


@dataclass(frozen=True)
class SampleSpan(JsonRecord):
    """A stretch of the sample prompt and what it is; `frame` is what the template writes around everything else."""

    kind: SampleSpanKind
    text: str
    name: str = ""
    """The tool that is defined or called here; empty where it is about none or about several."""


@dataclass(frozen=True)
class SamplePrompt:
    """What the template made of one conversation: the prompt, or how it failed."""

    text: str
    error: TemplateFailure | None = None


@dataclass(frozen=True)
class Branch:
    """A condition of the template that a conversation made for it has taken, and what is then otherwise.

    `by` is what the condition looks at, `place` where that stood (`a tool's name`) or how much of it there was, `text`
    what was written there; `words` are toolfmt's own, with `{}` where an excerpt stands.
    """

    by: Literal["text", "whole-text", "name", "length", "number", "role", "clock"]
    line: int | None
    place: str
    text: str
    words: str
    excerpts: tuple[str, ...] = ()
    grave: bool = True
    """Whether it hides something, or nobody would expect it: a name, a length, a day."""
    parameter_left_out: bool = False
    """Whether all that it changes is that the template leaves out a parameter of this name."""

    def __post_init__(self) -> None:
        check_excerpts(self.words, self.excerpts)

    @property
    def effect(self) -> str:
        """What is otherwise, as a sentence goes on."""
        return filled(self.words, self.excerpts)


@dataclass(frozen=True)
class Sections:
    """The chapters of a report, each made by one module of this room; empty where there was nothing to look at.

    `details`, `definitions` and `safety` are answers by name, in the order of the report; `sample` is a whole
    conversation with tools as the template renders it, cut into pieces that join to the prompt.
    """

    details: dict[str, Answer] = field(default_factory=dict)
    definitions: dict[str, Answer] = field(default_factory=dict)
    variables: tuple[Variable, ...] = ()
    stability: Stability | None = None
    safety: dict[str, Answer] = field(default_factory=dict)
    tokens: Tokens | None = None
    portability: Portability | None = None
    response_starts: tuple[ResponseStart, ...] = ()
    runtime_support: tuple[RuntimeSupport, ...] = ()
    advice: tuple[Advice, ...] = ()
    sample: tuple[SampleSpan, ...] = ()
    branches: tuple[Branch, ...] = ()
    """What the findings on branches tell; no part of the JSON by itself."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "details": {name: answer.to_dict() for name, answer in self.details.items()},
            "definitions": {name: answer.to_dict() for name, answer in self.definitions.items()},
            "variables": [variable.to_dict() for variable in self.variables],
            "prefix": None if self.stability is None else self.stability.to_dict(),
            "safety": {name: answer.to_dict() for name, answer in self.safety.items()},
            "tokens": None if self.tokens is None else self.tokens.to_dict(),
            "portability": None if self.portability is None else self.portability.to_dict(),
            "response_starts": [start.to_dict() for start in self.response_starts],
            "runtime_support": [support.to_dict() for support in self.runtime_support],
            "advice": [advice.to_dict() for advice in self.advice],
            "sample": [piece.to_dict() for piece in self.sample],
        }


@dataclass(frozen=True)
class Report:
    """The whole answer about one model or template.

    `verdict` is made of all findings, whatever a caller wants to be told. `findings` are errors and warnings, `notes`
    what is only worth knowing; both have the same shape. `prompts` are what the template makes of some conversations,
    by what is in them, for comparing it with another.
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
    sections: Sections = field(default_factory=Sections)
    profile: TemplateProfile = field(default_factory=TemplateProfile)
    """What rendering needs; no part of the JSON but for what ends an answer and what the prompt has begun of it."""
    prompts: dict[str, SamplePrompt] = field(default_factory=dict)
    left_out: int = 0
    """How many findings and notes a caller did not want to be told; no part of the JSON."""

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
            "stop": list(self.profile.stop),
            "stop_of_calls": list(self.profile.stop_of_calls),
            "prefill": self.profile.prefill,
            "path": self.path,
            **self.sections.to_dict(),
        }
