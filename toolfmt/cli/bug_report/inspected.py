"""An inspection as a report tells it: what toolfmt saw and decided, without the model's name and its template's words.

What stands here is chosen member by member; whatever a report gains later is left out until somebody has looked at it.
What a template or a file says is masked or left out, but for names that toolfmt knows beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from toolfmt.cli.bug_report.masking import Masking, words_of
from toolfmt.cli.bug_report.scrubbing import scrubbed
from toolfmt.formats.known import KNOWN
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.tolerances import TOLERANCES
from toolfmt.inspect.report.report import (
    SCHEMA,
    Answer,
    Finding,
    FormatDecision,
    Report,
    Sections,
    TemplateFailure,
    TemplateInfo,
)
from toolfmt.templates.files.model_files import (
    CONFIG,
    GENERATION,
    GGUF_TEMPLATE,
    JINJA,
    PROCESSOR,
    TOKENIZER,
    TOKENS,
    ModelFiles,
)

_FILES = (JINJA, TOKENIZER, CONFIG, GENERATION, TOKENS, PROCESSOR, "tokenizer.json", "processor_config.json")
_TEMPLATES = ("default", "tool_use", "rag")
_VARIABLES = words_of(
    "messages tools documents add_generation_prompt enable_thinking thinking bos_token eos_token pad_token unk_token "
    "tools_in_user_message builtin_tools custom_tools date_string system_message reasoning_effort tool_choice "
    "model_identity strftime_now raise_exception builtins add_vision_id controls citations"
)
_INSPECT = Path(__file__).parents[2] / "inspect"
_FORMATS = {name for known in KNOWN for name in (known.name, *known.aliases)}
_MODEL_TYPES = {name for known in KNOWN for name in known.model_types}
_PARSERS = {
    name
    for known in KNOWN
    for parser in known.runtime_parsers.values()
    for name in (parser.names if isinstance(parser, RuntimeParser) else (parser,))
}
_ENGINE_WORDS = words_of(
    "TypeError UndefinedError TemplateRuntimeError TemplateSyntaxError SecurityError ValueError KeyError IndexError "
    "RecursionError AttributeError OverflowError ZeroDivisionError TemplateNotFound TemplateAssertionError is "
    "undefined has no attribute object can only concatenate str not to NoneType must be unsupported operand type s "
    "for and argument of iterable Object Undefined JSON serializable maximum recursion depth exceeded No filter test "
    "named found dict list int bool float Encountered unknown tag expected token got unexpected end template"
)


@cache
def _own_words() -> frozenset[str]:
    """The words that the inspection itself is written in."""
    return frozenset[str]().union(*(words_of(file.read_text("utf-8")) for file in _INSPECT.rglob("*.py")))


class Told:
    """An inspection, told with the template's words or without them."""

    def __init__(self, *, with_template: bool) -> None:
        self._with_template = with_template
        self._masking = Masking(words=_ENGINE_WORDS)
        self._sentences = Masking(words=_own_words())

    def files(self, files: ModelFiles) -> dict[str, Any]:
        """What the model's place holds."""
        there = {name for name in _FILES if files.home.is_dir() and (files.home / name).exists()}
        return {
            "kind": files.kind,
            "files": sorted(there),
            "templates": [self._template(one.origin, one.name, one.sha256) for one in files.templates],
            "problems": len(files.problems),
        }

    def report(self, report: Report) -> dict[str, Any]:
        """The inspection."""
        told = report.sections
        return {
            "schema": SCHEMA,
            "verdict": report.verdict.tools,
            "model_type": self._known(report.model_type, _MODEL_TYPES),
            "template": None if report.template is None else self._info(report.template),
            "capabilities": self._answers(report.capabilities),
            "format": self._format(report.format),
            "strategy": report.strategy,
            "findings": [_finding(one) for one in report.findings],
            "notes": [_finding(one) for one in report.notes],
            "stop": list(map(self.text, report.profile.stop)),
            "stop_of_calls": list(map(self.text, report.profile.stop_of_calls)),
            "prefill": self.text(report.profile.prefill),
            "details": self._answers(told.details),
            "definitions": self._answers(told.definitions),
            "safety": self._answers(told.safety),
            **self._chapters(told),
        }

    def text(self, text: str) -> str:
        """What a template or a file says: masked, unless the template is told too, then without names and places."""
        return scrubbed(text) if self._with_template else self._masking.masked(text)

    def _known(self, text: str | None, known: Iterable[str]) -> str | None:
        return text if text is None or text in known else self.text(text)

    def _template(self, origin: str, name: str, sha256: str) -> dict[str, Any]:
        return {
            "origin": self._known(origin, (*_FILES, GGUF_TEMPLATE)),
            "name": self._known(name, _TEMPLATES),
            "sha256": sha256,
        }

    def _info(self, info: TemplateInfo) -> dict[str, Any]:
        variables = [self._known(name, _VARIABLES) for name in info.variables]
        return {**self._template(info.origin, info.name, info.sha256), "variables": variables}

    def _answers(self, answers: Mapping[str, Answer]) -> dict[str, Any]:
        return {name: self._answer(answer) for name, answer in answers.items()}

    def _answer(self, answer: Answer) -> dict[str, Any]:
        """The answer with toolfmt's own words, in which `{}` stands for what the template says; a name in them that is
        the template's is masked."""
        told: dict[str, Any] = {"answer": answer.answer}
        if answer.words:
            told["words"] = scrubbed(answer.words) if self._with_template else self._sentences.masked(answer.words)
        if answer.outcome:
            told["outcome"] = answer.outcome
        if answer.line is not None:
            told["line"] = answer.line
        if answer.error is not None:
            told["error"] = self._thrown(answer.error)
        if self._with_template and answer.excerpts:
            told["excerpts"] = list(map(scrubbed, answer.excerpts))
        return told

    def _thrown(self, error: TemplateFailure) -> dict[str, str]:
        words = "" if error.kind == "refused" and not self._with_template else self.text(error.own_words)
        return {"kind": error.kind, "own_words": words}

    def _format(self, decision: FormatDecision) -> dict[str, Any]:
        derived = decision.derived
        return {
            "name": self._known(decision.name, {*_FORMATS, "derived"}),
            "variant": self.text(decision.variant) if decision.name not in _FORMATS else decision.variant,
            "confidence": decision.confidence,
            "evidence": [
                {
                    "source": one.source,
                    "format": self._known(one.format, {*_FORMATS, "derived"}),
                    "faults": list(map(scrubbed, one.faults)) if self._with_template else len(one.faults),
                    "tolerated": [name for name in one.tolerated if name in TOLERANCES],
                }
                for one in decision.evidence
            ],
            "derived": derived and {"call_sets": derived.call_sets, "answers": derived.answers},
        }

    def _chapters(self, told: Sections) -> dict[str, Any]:
        tokens, portability, stability = told.tokens, told.portability, told.stability
        return {
            "variables": [
                {
                    "name": self._known(one.name, _VARIABLES),
                    "line": one.line,
                    "effects": [effect.kind for effect in one.effects],
                    "takes_tools": bool(one.takes_tools),
                }
                for one in told.variables
            ],
            "prefix": stability
            and [
                {"kept": turn.kept, "length": turn.length, "line": turn.line, "cause": turn.cause}
                for turn in stability.turns
            ],
            "tokens": tokens
            and {
                "markers": [
                    {"marker": self.text(one.marker), "tokens": len(one.tokens), "special": one.special}
                    for one in tokens.markers
                ],
                "preamble": tokens.preamble,
                "total": tokens.total,
            },
            "portability": portability
            and {
                "engine": portability.engine,
                "renders": portability.renders,
                "same": portability.same,
                "differences": [{"line": one.line, "fails": one.fails} for one in portability.differences],
            },
            "runtime_support": [
                {
                    "runtime": one.runtime,
                    "template": bool(one.template),
                    "parser": self._known(one.parser, _PARSERS),
                    "right": one.right,
                }
                for one in told.runtime_support
            ],
            "sample": ", ".join(f"{piece.kind} {len(piece.text)}" for piece in told.sample),
        }


def _finding(finding: Finding) -> dict[str, Any]:
    """Which finding and where; its sentence may quote the template, and is in the page of its code."""
    return {"code": finding.code, "name": finding.name, "line": finding.line, "severity": finding.severity}
