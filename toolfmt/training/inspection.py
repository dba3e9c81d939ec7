"""Inspect a template for training: whether loss masks can be verified, and what `{% generation %}` marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from toolfmt.errors import BadModelDirectory, LimitHit, TemplateError, ToolfmtError
from toolfmt.inspect.fix.fix_template import with_template
from toolfmt.inspect.report.json_record import JsonRecord
from toolfmt.inspect.report.report import Severity
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.render.backend import InProcessBackend
from toolfmt.render.prompt import render
from toolfmt.templates import ChatTemplate, ModelFiles, TemplateSource
from toolfmt.templates.engine.chat_template import FROZEN_NOW
from toolfmt.training.conversations import CONVERSATIONS, TrainingConversation
from toolfmt.training.generation_tags import Rendering, has_tags, marked_spans, with_tags, without_tags
from toolfmt.training.kept_reasoning import with_kept_reasoning
from toolfmt.training.rendering import training_text
from toolfmt.training.spans import ProblemKind
from toolfmt.training.training_text import TrainingText

Tags: TypeAlias = Literal["none", "right", "wrong", "unknown"]
"""What `{% generation %}` marks; unknown if no conversation shows it."""

_TURNS = "Train one sample per user message: `toolfmt training --train turns`. Or try `--fix --keep-reasoning`."
_LEAVE_OUT = "Leave such messages out of the dataset, or change the template."
_KINDS: dict[ProblemKind, tuple[Severity, str, str]] = {
    "not-rendered": ("error", "The template leaves out {count}", _LEAVE_OUT),
    "no-prompt": ("error", "No prompt can be rendered for {count}", _LEAVE_OUT),
    "not-found": ("error", "Other messages are rendered inside {count}", _LEAVE_OUT),
    "not-verified": ("error", "{count} parse as a different message", _LEAVE_OUT),
    "no-stop": (
        "warning",
        "No stop string follows {count}, so the model does not learn to stop",
        "In the template, write the model's stop string after each response.",
    ),
    "not-a-prefix": ("warning", "The text before {count} differs from the prompt at generation time", _TURNS),
    "prefill-missing": (
        "warning",
        "The generation prompt has text that is not rendered before {count}",
        "Render prompts with the same thinking option as the dataset, for example `enable_thinking`.",
    ),
    "tolerated": ("warning", "Strict parsers reject calls in {count}", "Change how the template renders calls."),
    "reasoning-dropped": ("note", "The template drops the reasoning of {count}", _TURNS),
}
"""The findings by their names: severity, message and fix."""
_NEVER_RENDERED = "Leave reasoning out of the dataset, or write it into the content."
_WRITE = "Write a copy with tags around exactly the responses: `--fix --output DIR`."
_NOWHERE = "Use `toolfmt training`, which needs no tags. No tags were found that mark exactly the responses."
_SHOWN = 40
_OF_REASONING: tuple[ProblemKind, ...] = ("not-a-prefix", "reasoning-dropped")
"""The problems of a template that drops the reasoning of earlier turns."""


@dataclass(frozen=True)
class TrainingFinding(JsonRecord):
    """A problem for training: its name, what goes wrong, and the fix."""

    name: str
    severity: Severity
    message: str
    fix: str


@dataclass(frozen=True)
class TrainingReport(JsonRecord):
    """Whether loss masks of a model's template can be verified.

    Attributes:
        responses: The number of responses in the conversations that were rendered.
        verified: How many of them are trained, because their text parses as exactly the message.
        generation_tags: Whether `{% generation %}` marks exactly the responses.
        findings: The problems, the worst first.
        tagged_source: The template with correct tags; None if it already has them, or if none can be placed.
        kept_source: The template that keeps reasoning, which this report is about, if that was requested.
    """

    responses: int
    verified: int
    generation_tags: Tags
    findings: tuple[TrainingFinding, ...]
    tagged_source: str | None = field(default=None, repr=False)
    kept_source: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class _Rendered:
    conversation: TrainingConversation
    text: TrainingText


def inspect_training(files: ModelFiles, profile: TemplateProfile, *, keep_reasoning: bool = False) -> TrainingReport:
    """Return the report on the template that is used with tools. It runs in this process.

    With `keep_reasoning`, the report is on the template after the change that keeps the reasoning of earlier turns.

    Raises `LimitHit`, `BadModelDirectory` if there is no template, the first error if no conversation can be rendered,
    and `ToolfmtError` if no such change is found.
    """
    kept = None
    if keep_reasoning:
        kept = _with_kept_reasoning(files, profile)
        files = with_template(files, _source(files), kept)
    rendered, failed = _all_rendered(files, profile)
    if not rendered:
        raise failed[0][1]
    responses = sum(message["role"] == "assistant" for one in rendered for message in one.conversation.messages)
    untrained = {(id(one), problem.message) for one in rendered for problem in one.text.problems if not problem.trained}
    tags, tag_findings, tagged = _tags(files, rendered)
    findings = [*_format(profile), *_failures(failed), *_findings(rendered, responses), *tag_findings]
    findings.sort(key=lambda finding: get_args(Severity).index(finding.severity))
    return TrainingReport(responses, responses - len(untrained), tags, tuple(findings), tagged, kept)


def unknown_format(profile: TemplateProfile) -> bool:
    """Return whether the template renders tools, and calls in a format that is not known."""
    return profile.strategy == "template" and profile.tool_call_format is None


def _format(profile: TemplateProfile) -> Iterator[TrainingFinding]:
    if unknown_format(profile):
        yield TrainingFinding(
            "format-unknown",
            "error",
            f"The tool-call format is not known, so calls cannot be verified: {profile.why_no_format}.",
            "Change how the template writes calls. `toolfmt inspect` shows which other ways there are.",
        )


def _all_rendered(
    files: ModelFiles, profile: TemplateProfile
) -> tuple[list[_Rendered], list[tuple[TrainingConversation, ToolfmtError]]]:
    """Return the conversations that can be rendered, and the others with their errors."""
    rendered: list[_Rendered] = []
    failed: list[tuple[TrainingConversation, ToolfmtError]] = []
    for one in CONVERSATIONS:
        try:
            rendered.append(_rendered(files, profile, one))
        except (LimitHit, BadModelDirectory):
            raise
        except ToolfmtError as error:
            failed.append((one, error))
    return rendered, failed


def _rendered(files: ModelFiles, profile: TemplateProfile, one: TrainingConversation) -> _Rendered:
    backend, tools = InProcessBackend(files, profile), list(one.tools) or None
    text = training_text(
        lambda messages, **more: render(files, profile, messages, tools, making=backend, now=FROZEN_NOW, **more),
        one.messages,
    )
    return _Rendered(one, text)


def _failures(failed: Sequence[tuple[TrainingConversation, ToolfmtError]]) -> Iterator[TrainingFinding]:
    if failed:
        one, error = failed[0]
        some = f"{len(failed)} of {len(CONVERSATIONS)} conversations"
        yield TrainingFinding(
            "conversation-fails",
            "warning",
            f"{some} cannot be rendered. Example, with {one.name}: {error}",
            "Leave such conversations out of the dataset, or change the template.",
        )


def _findings(rendered: Sequence[_Rendered], responses: int) -> Iterator[TrainingFinding]:
    """Yield a finding for each kind of problem, with the first one as evidence."""
    for kind, (severity, message, fix) in _KINDS.items():
        found = [(one, problem) for one in rendered for problem in one.text.problems if problem.kind == kind]
        if not found:
            continue
        count = len({(id(one), problem.message) for one, problem in found})
        first, problem = found[0]
        evidence = f"Example, from a conversation with {first.conversation.name}: {problem.detail}."
        if kind == "reasoning-dropped" and count == sum(map(_reasoning, rendered)):
            fix = _NEVER_RENDERED
        what = message.format(count=f"{count} of {responses} responses")
        yield TrainingFinding(kind, severity, f"{what}. {evidence}", fix)


def _reasoning(one: _Rendered) -> int:
    """Return the number of responses with reasoning."""
    return sum("reasoning_content" in message for message in one.conversation.messages)


# --- reasoning of earlier turns


def _source(files: ModelFiles) -> TemplateSource:
    """Return the template that is used with tools. Raises `BadModelDirectory`."""
    source = files.template(True)
    if source is None:
        raise BadModelDirectory(f"{files.directory}: no chat template; add chat_template.jinja")
    return source


def _with_kept_reasoning(files: ModelFiles, profile: TemplateProfile) -> str:
    """Return the template with a change that keeps reasoning. Raises `ToolfmtError`.

    The change is acceptable if what has no reasoning is rendered as before, and no other kind of problem increases.
    """
    source = _source(files)
    before, _ = _all_rendered(files, profile)
    plain = [one.text.text for one in before if not _reasoning(one)]
    others = _count(before, _OF_REASONING, inside=False)

    def problems(text: str) -> int | None:
        try:
            after, _ = _all_rendered(with_template(files, source, text), profile)
        except TemplateError as error:
            if isinstance(error, LimitHit):
                raise
            return None
        same = len(after) == len(before) and [one.text.text for one in after if not _reasoning(one)] == plain
        if not same or _count(after, _OF_REASONING, inside=False) > others:
            return None
        return _count(after, _OF_REASONING, inside=True)

    kept = with_kept_reasoning(source.text, problems)
    if kept is None:
        raise ToolfmtError(f"{files.directory}: no condition of the template was found whose change keeps reasoning")
    return kept


def _count(rendered: Sequence[_Rendered], kinds: Sequence[ProblemKind], *, inside: bool) -> int:
    """Return the number of problems of these kinds, or of all others."""
    return sum((problem.kind in kinds) == inside for one in rendered for problem in one.text.problems)


# --- generation tags


def _tags(files: ModelFiles, rendered: Sequence[_Rendered]) -> tuple[Tags, list[TrainingFinding], str | None]:
    """Return what the tags mark, findings about them, and the template with correct tags if it has none."""
    source = files.template(True)
    if source is None:
        return "unknown", [], None
    bare = without_tags(source.text)
    plain = [one for one in rendered if _is_plain(files, source, bare, one)]
    used = [one for one in plain if all(at.trained for at in one.text.problems)]
    others = [one for one in plain if one not in used]
    if not used:
        return "unknown", [], None
    spans = [[(span.begin, span.end) for span in one.text.spans if span.kind == "sampled"] for one in used]
    rendering = _raw(files, source, used)
    state: Tags = "none"
    if has_tags(source.text):
        marked = marked_spans(source.text, rendering)
        if marked == spans:
            return "right", [], None
        state = "wrong"
    texts = [[(span.begin, span.end) for span in one.text.spans if span.kind == "template"] for one in used]
    tagged = with_tags(bare, spans, texts, rendering)
    if tagged is not None and not _marks_no_part(tagged, others, _raw(files, source, others)):
        tagged = None
    fix = _WRITE if tagged is not None else _NOWHERE
    if state == "none":
        message = "The template has no `{% generation %}` tags. `return_assistant_tokens_mask` of transformers and "
        message += "`assistant_only_loss` of TRL need them."
        return state, [TrainingFinding("generation-tags-missing", "note", message, fix)], tagged
    return state, [_wrong(used, marked, spans, fix)], tagged


def _marks_no_part(tagged: str, others: Sequence[_Rendered], rendering: Rendering) -> bool:
    """Return whether the tags mark all of a response or nothing, in conversations with responses that are not verified.

    Where these begin and end is not known exactly, but tags that mark only a part of the text are wrong.
    """
    for one, marked in zip(others, marked_spans(tagged, rendering), strict=True):
        inside = {at for begin, end in marked for at in range(begin, end)}
        spans, length = one.text.spans, len(one.text.text)
        for span in spans:
            following = min((other.begin for other in spans if other.begin >= span.end), default=length)
            is_whole = inside.issuperset(range(span.begin, span.end))
            is_marked = span.kind == "sampled" or not inside.isdisjoint(range(span.begin, following))
            if span.role == "assistant" and span.kind != "prefilled" and is_marked and not is_whole:
                return False
    return True


def _wrong(
    used: Sequence[_Rendered],
    marked: Sequence[Sequence[tuple[int, int]]],
    spans: Sequence[Sequence[tuple[int, int]]],
    fix: str,
) -> TrainingFinding:
    """Return the finding for wrong tags: an error if they leave out text of a response, otherwise a warning."""
    missing = extra = ""
    for one, wrong, right in zip(used, marked, spans, strict=True):
        inside, wanted = (frozenset(at for begin, end in of for at in range(begin, end)) for of in (wrong, right))
        missing = missing or _first(one.text.text, wanted - inside)
        extra = extra or _first(one.text.text, inside - wanted)
    parts = [f"mark {extra}, which the model does not write"] * bool(extra)
    parts += [f"do not mark {missing}, which the model writes"] * bool(missing)
    message = f"The `{{% generation %}}` tags {', and '.join(parts)}."
    return TrainingFinding("generation-tags-wrong", "error" if missing else "warning", message, fix)


def _first(text: str, offsets: frozenset[int]) -> str:
    """Return the first run of these offsets as a quoted text, empty if there is none."""
    if not offsets:
        return ""
    begin = end = min(offsets)
    while end in offsets:
        end += 1
    run = text[begin:end]
    return repr(run if len(run) <= _SHOWN else f"{run[:_SHOWN]}…")


def _is_plain(files: ModelFiles, source: TemplateSource, bare: str, one: _Rendered) -> bool:
    """Return whether this template alone renders the conversation's text, also without its tags."""
    try:
        return list(_raw(files, source, [one])(bare)) == [one.text.text]
    except LimitHit:
        raise
    except TemplateError:
        return False


def _raw(files: ModelFiles, source: TemplateSource, used: Sequence[_Rendered]) -> Callable[[str], list[str]]:
    """Return a function that renders these conversations with a given template source, from the same input."""

    def rendering(text: str) -> list[str]:
        template = ChatTemplate(text, files.special_tokens, origin=source.origin)
        prompts = [one.text.prompt for one in used]
        return [
            template.render(prompt.messages, tools=prompt.template_tools, now=FROZEN_NOW, **prompt.variables)
            for prompt in prompts
            if prompt is not None
        ]

    return rendering
