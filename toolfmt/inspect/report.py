"""What an inspection says: data only, made by `toolfmt.inspect.inspection`, read by printers and by the renderer.

`Report.to_dict()` is the JSON of the command line, exactly; what only the renderer needs (`rendering`) is not part of
it. Nothing in here decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from toolfmt.inspect.conversations import Shape

SCHEMA = "toolfmt.report/1"

Verdict: TypeAlias = Literal["yes", "no", "error"]
Outcome: TypeAlias = Literal["", "threw", "dropped", "double-encoded", "python", "none-printed", "not-read-back"]
Source: TypeAlias = Literal["declared", "verified", "signature", "model-type", "default"]
Confidence: TypeAlias = Literal["declared", "verified", "signature", "model-type", "default", "none"]
Strategy: TypeAlias = Literal["template", "prose"]

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
class Answer:
    """Whether the template can do something, what showed it, and the line of the template where that can be told.

    `error` is a template that threw; the evidence is then its message. `how` is one word for the checks of findings.
    """

    answer: Verdict
    evidence: str
    line: int | None = None
    how: Outcome = ""

    def to_dict(self) -> dict[str, Any]:
        where = "" if self.line is None or f"line {self.line}:" in self.evidence else f" (line {self.line})"
        return {"answer": self.answer, "evidence": self.evidence + where}


@dataclass(frozen=True)
class Evidence:
    """What one source says about the format; `format` is None where it names one that nobody knows, or several."""

    source: Source
    format: str | None
    detail: str

    def to_dict(self) -> dict[str, Any]:
        return {"source": self.source, "format": self.format, "detail": self.detail}


@dataclass(frozen=True)
class FormatDecision:
    """The format, how sure that is, and every source's evidence, strongest first."""

    name: str | None
    confidence: Confidence
    evidence: tuple[Evidence, ...] = ()
    variant: str = ""
    """The spelling of the format that the template renders calls in; empty for the format's own."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "confidence": self.confidence,
            "evidence": [evidence.to_dict() for evidence in self.evidence],
        }


@dataclass(frozen=True)
class Finding:
    """Something that will go wrong: its code and name, one sentence what, the line where, one sentence what to do."""

    code: str
    name: str
    message: str
    line: int | None
    fix: str

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "name": self.name, "message": self.message, "line": self.line, "fix": self.fix}


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


@dataclass(frozen=True)
class Rendering:
    """What the renderer needs to know of the template, as the probes found it.

    `arguments_form` is the form of a call's arguments that comes out right, `shape` the whole shape of the turn that
    does (None where no call is rendered); `parallel` whether one turn may hold several calls. `reasoning` is what
    stands around a turn's reasoning, `stop` what stands behind a finished answer, `prefill` what of the answer the
    generation prompt already holds.
    """

    arguments_form: Literal["object", "string"] = "object"
    shape: Shape | None = None
    parallel: bool = False
    reasoning: tuple[str, str] | None = None
    stop: tuple[str, ...] = ()
    prefill: str = ""


@dataclass(frozen=True)
class Report:
    """The whole answer about one model directory or template."""

    path: str
    model_type: str | None
    template: TemplateInfo | None
    capabilities: dict[str, Answer]
    format: FormatDecision
    strategy: Strategy
    runtimes: dict[str, str]
    findings: tuple[Finding, ...]
    rendering: Rendering = field(default_factory=Rendering)

    @property
    def arguments_form(self) -> Literal["object", "string"]:
        return self.rendering.arguments_form

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "model_type": self.model_type,
            "template": None if self.template is None else self.template.to_dict(),
            "capabilities": {name: self.capabilities[name].to_dict() for name in CAPABILITIES},
            "format": self.format.to_dict(),
            "strategy": self.strategy,
            "runtimes": dict(self.runtimes),
            "findings": [finding.to_dict() for finding in self.findings],
        }
