"""Compare two models by what they do, not by the text of their templates: data only, from two reports.

`compare` takes the reports (with their prompts) and returns a `Comparison`; nothing here inspects, renders or prints.
Lines of a template are not compared, and neither are excerpts of prompts, except for the effects of variables.

Differences are in two groups. *Behavior* is what a template renders for a request. *Settings* are the contents of the
other files and how runtimes use them: the declared parser, whether tokens are counted, what to set in vLLM. Another
package of the same model (such as a GGUF file) has other settings, but the same behavior.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from toolfmt._util.shell import argument
from toolfmt.inspect.checks import ALL_OUTCOMES
from toolfmt.inspect.probe.conversations import PLACEHOLDERS
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.report.json_record import JsonRecord
from toolfmt.inspect.report.report import CAPABILITIES, Answer, Finding, Report, SamplePrompt, token_mark
from toolfmt.inspect.report.verdicts import Advice
from toolfmt.inspect.runtimes.parser_line import python_text
from toolfmt.inspect.runtimes.template_choice import RUNTIMES
from toolfmt.inspect.sections.definitions.parts import PARTS as DEFINITION_PARTS
from toolfmt.inspect.sections.safety import SAFETY
from toolfmt.inspect.sections.turns import DETAILS

SCHEMA = "toolfmt.comparison/2"

CHAPTERS = ("capabilities", "details", "definitions", "safety")
"""Sections that are compared answer by answer."""
PARTS = (
    *CHAPTERS,
    *("template", "format", "strategy", "stop", "prefill", "reasoning", "variables", "prefix", "tokens"),
    *("portability", "runtime_support", "runtimes"),
)
"""The starts of the names of changes."""
_BELOW: dict[str, tuple[str, ...]] = {
    "capabilities": CAPABILITIES,
    "details": DETAILS,
    "definitions": DEFINITION_PARTS,
    "safety": SAFETY,
    "tokens": ("total", "preamble", "tools", "markers"),
    "portability": ("minijinja", "llama.cpp"),
    "runtime_support": RUNTIMES,
    "runtimes": RUNTIMES,
}
"""The possible names below some of them, whether or not a model has them."""
_SETTINGS = ("stop", "details.stop", "tokens", "runtime_support", "runtimes")
"""What the files next to the template decide, including everything below these names.

They decide the token costs of tools only if the template is the same.
"""
_FROM_FILES = ("declared", "model-type")
"""Confidence levels of a format that come from the files next to the template."""
_TAIL_LENGTH = 20
"""Number of characters after the name of a special token that locate its end in another prompt."""
_LINE = re.compile(r"\blines? \d+(?:, \d+)*(?: and \d+)?")
_TOKEN = re.compile(r"\S{1,200}")
_BEFORE, _AFTER = 40, 80
"""Number of characters shown before the first difference of two prompts, and from it on."""


@dataclass(frozen=True)
class ReportChange(JsonRecord):
    """One difference: its name (`capabilities.system`), and both values."""

    what: str
    a: Any
    b: Any


@dataclass(frozen=True)
class PromptChange(JsonRecord):
    """Two prompts of one conversation that differ from the character `at` on.

    `before` is the end of their common part, `a` and `b` are the different continuations, or the error if a template
    raised.
    """

    conversation: str
    at: int
    before: str
    a: str
    b: str
    a_threw: bool = False
    b_threw: bool = False


@dataclass(frozen=True)
class Differences(JsonRecord):
    """One group of differences.

    `went` are findings that only `a` has, `came` those that only `b` has.
    """

    changes: tuple[ReportChange, ...] = ()
    removed: tuple[Finding, ...] = ()
    added: tuple[Finding, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.removed or self.added)

    def to_dict(self) -> dict[str, Any]:
        return {
            "changes": [change.to_dict() for change in self.changes],
            "findings": {
                "removed": [finding.to_dict() for finding in self.removed],
                "added": [finding.to_dict() for finding in self.added],
            },
        }


@dataclass(frozen=True)
class Comparison:
    """How the model at `b` behaves differently from the one at `a`, and which settings differ.

    `same_text` is whether both templates have the same text; None if one model has no template. `same_prompts` are the
    conversations with equal prompts, `prompts` the others. `left_out` is the number of differences that the caller
    excluded.
    """

    a: str
    b: str
    same_text: bool | None
    behavior: Differences
    settings: Differences
    same_prompts: tuple[str, ...]
    prompts: tuple[PromptChange, ...]
    left_out: int = 0
    ignored: tuple[Finding, ...] = ()
    """The findings that only one of them has, and that its template or a configuration ignores. They do not count."""
    names: tuple[str, ...] = ()
    """The names of all possible changes between two such models; not in the JSON."""

    @property
    def differs(self) -> bool:
        """Whether the behavior differs; settings do not count."""
        return bool(self.behavior or self.prompts)

    def to_dict(self) -> dict[str, Any]:
        prompts = {"same": list(self.same_prompts), "differ": [change.to_dict() for change in self.prompts]}
        return {
            "schema": SCHEMA,
            "a": self.a,
            "b": self.b,
            "differs": self.differs,
            "same_text": self.same_text,
            "behavior": {**self.behavior.to_dict(), "prompts": prompts},
            "settings": {"differ": bool(self.settings), **self.settings.to_dict()},
            "left_out": self.left_out,
            "ignored": [finding.to_dict() for finding in self.ignored],
        }


def compare(a: Report, b: Report) -> Comparison:
    """Return how `b` behaves differently from `a`, and which settings differ."""
    same_text = None if a.template is None or b.template is None else a.template.sha256 == b.template.sha256
    changes, only = tuple(_changes(a, b)), _findings(a, b)
    went, came = (tuple(one for one in those if not one.ignored_by) for those in only)
    behavior, settings = (
        Differences(
            tuple(change for change in changes if _is_setting(change, same_text) == files),
            *(tuple(one for one in those if (group_of(one) == "settings") == files) for those in (went, came)),
        )
        for files in (False, True)
    )
    pairs = {name: _as_known(a.prompts[name], b.prompts[name]) for name in a.prompts if name in b.prompts}
    return Comparison(
        a=a.path,
        b=b.path,
        same_text=same_text,
        behavior=behavior,
        settings=settings,
        same_prompts=tuple(name for name, (one, other) in pairs.items() if one == other),
        prompts=tuple(_prompt_change(name, *pair) for name, pair in pairs.items() if pair[0] != pair[1]),
        ignored=tuple(one for those in only for one in those if one.ignored_by),
        names=_names(a, b),
    )


def group_of(finding: Finding) -> str:
    """Return the group of a finding that only one model has: `settings` if it is about the files, else `behavior`."""
    return "settings" if ALL_OUTCOMES[finding.key].about_files else "behavior"


def _names(a: Report, b: Report) -> tuple[str, ...]:
    """Return what is compared for any two models, and what these two also have, such as their variables."""
    always = [*PARTS, *(f"{part}.{name}" for part, names in _BELOW.items() for name in names)]
    return tuple(dict.fromkeys((*always, *_values(a), *_values(b))))


def _is_setting(change: ReportChange, same_text: bool | None) -> bool:
    """Return whether the files next to the template cause the change.

    With the same template, they cause differences in token costs. They also decide the confidence of a format if they
    declare it.
    """
    if change.what == "format.confidence":
        return change.a in _FROM_FILES or change.b in _FROM_FILES
    if change.what in ("format", "format.variant"):
        return same_text is True
    if change.what.startswith("tokens.") and not change.what.startswith("tokens.markers."):
        return same_text is True
    return is_below(change.what, _SETTINGS)


def is_below(what: str, names: Iterable[str]) -> bool:
    """Return whether the name is one of these, or below one: `capabilities.system` is below `capabilities`."""
    return any(what == name or what.startswith(f"{name}.") for name in names)


# --- the compared values


def _changes(a: Report, b: Report) -> Iterator[ReportChange]:
    for chapter in CHAPTERS:
        yield from _changed_answers(chapter, *(_answers(report, chapter) for report in (a, b)))
    values_a, values_b = _values(a), _values(b)
    # A section that only one of them has is a single change: here `tokens`, and the advice on a runtime.
    reported_once = ("tokens.",) * (values_a["tokens"] != values_b["tokens"])
    for what in dict.fromkeys((*values_a, *values_b)):
        one, other = values_a.get(what), values_b.get(what)
        alone = what.startswith("runtime_support.") and None in (one, other)
        if one != other and not alone and not what.startswith(reported_once):
            yield ReportChange(what, one, other)


def _answers(report: Report, chapter: str) -> Mapping[str, Answer]:
    answers: Mapping[str, Answer] = (
        report.capabilities if chapter == "capabilities" else getattr(report.sections, chapter)
    )
    return answers


def _changed_answers(chapter: str, a: Mapping[str, Answer], b: Mapping[str, Answer]) -> Iterator[ReportChange]:
    """Yield the answers that differ, with both values; excerpts of prompts are ignored.

    If only one of the two has the section, that is a single change: the other shows no tools at all.
    """
    if bool(a) != bool(b):
        yield ReportChange(chapter, *(f"{len(answers)} answers" if answers else None for answers in (a, b)))
        return
    for name in dict.fromkeys((*a, *b)):
        one, other = (answers.get(name) for answers in (a, b))
        if _without_excerpts(one) != _without_excerpts(other):
            yield ReportChange(f"{chapter}.{name}", _evidence(one), _evidence(other))


def _without_excerpts(answer: Answer | None) -> tuple[str, ...] | None:
    """Return the answer without its excerpts and lines: the answer itself, its outcome and words, and the error."""
    if answer is None:
        return None
    failed = () if answer.error is None else (answer.error.kind, answer.error.explanation)
    return answer.answer, answer.outcome, _LINE.sub("line", answer.words), *failed


def _evidence(answer: Answer | None) -> dict[str, Any] | None:
    return None if answer is None else {"answer": answer.answer, "evidence": answer.evidence}


def _values(report: Report) -> dict[str, Any]:
    """Return everything else in a report that is behavior, by name, as JSON without the template's lines."""
    values: dict[str, Any] = {"template": report.template is not None}
    values |= {"format": report.format.name, "format.confidence": report.format.confidence}
    values["format.variant"] = report.format.variant or None
    values |= {"strategy": report.strategy, "stop": list(report.profile.stop), "prefill": report.profile.prefill}
    values["reasoning"] = None if report.profile.reasoning is None else list(report.profile.reasoning)
    values["variables"] = [] if report.template is None else list(report.template.variables)
    values |= {
        f"variables.{variable.name}": {"default": variable.default, "effect": variable.effect}
        for variable in report.sections.variables
    }
    return values | _costs(report) | _runtimes(report)


def _costs(report: Report) -> dict[str, Any]:
    """Return what a prefix cache keeps, in whole percent, and what tools cost in tokens."""
    stability, tokens = report.sections.stability, report.sections.tokens
    values: dict[str, Any] = {"tokens": "not counted" if tokens is None else "counted with its tokenizer.json"}
    if stability is not None:
        values["prefix"] = round(stability.share, 2)
    if tokens is not None:
        values |= {"tokens.total": tokens.total, "tokens.preamble": tokens.preamble}
        values |= {f"tokens.tools.{tool.name}": tool.tokens for tool in tokens.tools}
        values |= {f"tokens.markers.{one.marker}": {"special": one.special} for one in tokens.markers}
    return values


_DETECTED: Mapping[bool | None, str] = {True: "correct", False: "wrong", None: "none"}


def _runtimes(report: Report) -> dict[str, Any]:
    """Return the results for other engines and runtimes."""
    values: dict[str, Any] = {
        f"portability.{one.engine}": {"renders": one.renders, "same": one.same} for one in report.sections.engines
    }
    values |= {
        f"runtime_support.{one.runtime}": {"automatic parser": _DETECTED[one.right]}
        for one in report.sections.runtime_support
    }
    return values | {f"runtimes.{one.runtime}": _placeless(one, report.path) for one in report.sections.advice}


def _placeless(advice: Advice, place: str) -> str:
    """Return the advice without the model's path, which always differs."""
    text = "; ".join(filter(None, (advice.text, advice.remark)))
    text = text.replace(f"load({python_text(place)})", 'load("DIR")')
    text = text.replace(f"toolfmt render {argument(place)} ", "toolfmt render DIR ")
    text = text.replace(f"--chat-template-file {argument(place)}", "--chat-template-file DIR")
    return text.replace(f" {place}/", " DIR/")


# --- findings and prompts


def _findings(a: Report, b: Report) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the findings and notes that only `a` has, and those that only `b` has, including ignored ones.

    A finding and outcome that both have equally often is left out: its sentences may quote other differences.
    """
    both = [(*report.findings, *report.notes, *report.ignored) for report in (a, b)]
    often = [Counter(finding.key for finding in findings) for findings in both]
    messages = [{(one.key, one.message) for one in findings} for findings in both]

    def left(mine: int, other: int) -> tuple[Finding, ...]:
        more = [one for one in both[mine] if often[mine][one.key] > often[other][one.key]]
        new = [one for one in more if (one.key, one.message) not in messages[other]]
        return tuple(new or more)

    return left(0, 1), left(1, 0)


def _as_known(a: SamplePrompt, b: SamplePrompt) -> tuple[SamplePrompt, SamplePrompt]:
    """Return both prompts; if only one has the name of a special token, take the token from the other."""
    for token in PLACEHOLDERS:
        a, b = _with_token_text(a, b, token), _with_token_text(b, a, token)
    return a, b


def _with_token_text(prompt: SamplePrompt, other: SamplePrompt, token: str) -> SamplePrompt:
    """Return the prompt with the name of this special token replaced by the other prompt's text at that position."""
    head, mark, tail = prompt.text.partition(token_mark(token))
    if not mark or not other.text.startswith(head) or token_mark(token) in other.text:
        return prompt
    after = tail[:_TAIL_LENGTH].partition("{{ ")[0]
    end = other.text.find(after, len(head)) if after else len(other.text)
    known = other.text[len(head) : end] if end >= 0 else ""
    return replace(prompt, text=prompt.text.replace(mark, known)) if _TOKEN.fullmatch(known) else prompt


def _prompt_change(name: str, a: SamplePrompt, b: SamplePrompt) -> PromptChange:
    if a.error or b.error:
        shown = [one.error.sentence if one.error else one.text[: 2 * _AFTER] for one in (a, b)]
        return PromptChange(name, 0, "", shown[0], shown[1], a.error is not None, b.error is not None)
    at = common_prefix(a.text, b.text)
    return PromptChange(name, at, a.text[max(0, at - _BEFORE) : at], a.text[at : at + _AFTER], b.text[at : at + _AFTER])
