"""Inspect a template for training: whether masks can be verified, and what `{% generation %}` marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from toolfmt.errors import BadModelDirectory, LimitHit, TemplateError, ToolfmtError
from toolfmt.inspect.report.json_record import JsonRecord
from toolfmt.inspect.report.report import Severity
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.render.backend import InProcessBackend
from toolfmt.render.prompt import render
from toolfmt.templates import ChatTemplate, ModelFiles, TemplateSource
from toolfmt.templates.engine.chat_template import FROZEN_NOW
from toolfmt.training.conversations import CONVERSATIONS, TrainingConversation
from toolfmt.training.generation_tags import Rendering, has_tags, marked_spans, with_tags, without_tags
from toolfmt.training.rendering import training_text
from toolfmt.training.spans import ProblemKind
from toolfmt.training.training_text import TrainingText

Tags: TypeAlias = Literal["none", "right", "wrong", "unknown"]
"""What `{% generation %}` marks; unknown if no conversation shows it."""

_TURNS = "Train a sample for each question: `toolfmt training --train turns`."
_LEAVE_OUT = "Leave such messages out of the dataset, or change the template."
_KINDS: dict[ProblemKind, tuple[Severity, str, str]] = {
    "not-rendered": ("error", "The template leaves out {count}", _LEAVE_OUT),
    "no-prompt": ("error", "No prompt can be rendered for {count}", _LEAVE_OUT),
    "not-found": ("error", "Other messages are rendered inside {count}", _LEAVE_OUT),
    "not-verified": ("error", "{count} parse as another message", _LEAVE_OUT),
    "no-stop": (
        "warning",
        "No stop string is rendered after {count}, so training does not teach when to stop",
        "Write the model's stop string after each response in the template.",
    ),
    "not-a-prefix": ("warning", "The text before {count} differs from the prompt at generation time", _TURNS),
    "prefill-missing": (
        "warning",
        "The generation prompt has text that is not rendered before {count}",
        "Render prompts with the same setting of thinking as in the dataset, for example `enable_thinking`.",
    ),
    "tolerated": ("warning", "Strict parsers reject calls in {count}", "Change how the template renders calls."),
    "reasoning-dropped": ("note", "The template drops the reasoning of {count}", _TURNS),
}
"""The findings by their names: severity, message and fix."""
_NEVER_RENDERED = "Leave reasoning out of the dataset, or write it into the content."
_WRITE = "`--fix --output DIR` writes a copy with tags around exactly the responses."
_NOWHERE = "`toolfmt training` needs no tags. No place for right tags was found in this template."
_SHOWN = 40


@dataclass(frozen=True)
class TrainingFinding(JsonRecord):
    """A problem for training: its name, what goes wrong, and the fix."""

    name: str
    severity: Severity
    message: str
    fix: str


@dataclass(frozen=True)
class TrainingReport(JsonRecord):
    """Whether masks of a model's template can be verified.

    Attributes:
        responses: The number of responses in the conversations that were rendered.
        verified: How many of them are trained, and exactly the message.
        generation_tags: Whether `{% generation %}` marks exactly the responses.
        findings: The problems, the worst first.
        tagged_source: The template with right tags; None if it has these already, or if they cannot be placed.
    """

    responses: int
    verified: int
    generation_tags: Tags
    findings: tuple[TrainingFinding, ...]
    tagged_source: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class _Rendered:
    conversation: TrainingConversation
    text: TrainingText


def inspect_training(files: ModelFiles, profile: TemplateProfile) -> TrainingReport:
    """Return the report on the template that is used with tools. It runs in this process.

    Raises `LimitHit`, `BadModelDirectory` if there is no template, and the first error if no conversation can be
    rendered.
    """
    rendered: list[_Rendered] = []
    failed: list[tuple[TrainingConversation, ToolfmtError]] = []
    for one in CONVERSATIONS:
        try:
            rendered.append(_rendered(files, profile, one))
        except (LimitHit, BadModelDirectory):
            raise
        except ToolfmtError as error:
            failed.append((one, error))
    if not rendered:
        raise failed[0][1]
    responses = sum(message["role"] == "assistant" for one in rendered for message in one.conversation.messages)
    untrained = {(id(one), problem.message) for one in rendered for problem in one.text.problems if not problem.trained}
    tags, tag_findings, tagged = _tags(files, rendered)
    findings = [*_failures(failed), *_findings(rendered, responses), *tag_findings]
    findings.sort(key=lambda finding: get_args(Severity).index(finding.severity))
    return TrainingReport(responses, responses - len(untrained), tags, tuple(findings), tagged)


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
            f"{some} cannot be rendered. First, one with {one.name}: {error}",
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
        evidence = f"First, in a conversation with {first.conversation.name}: {problem.detail}."
        if kind == "reasoning-dropped" and count == sum(map(_reasoning, rendered)):
            fix = _NEVER_RENDERED
        what = message.format(count=f"{count} of {responses} responses")
        yield TrainingFinding(kind, severity, f"{what}. {evidence}", fix)


def _reasoning(one: _Rendered) -> int:
    """Return the number of responses with reasoning."""
    return sum("reasoning_content" in message for message in one.conversation.messages)


# --- generation tags


def _tags(files: ModelFiles, rendered: Sequence[_Rendered]) -> tuple[Tags, list[TrainingFinding], str | None]:
    """Return what the tags mark, findings about them, and the template with right tags if it has none."""
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
    tagged = with_tags(bare, spans, rendering)
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
    """Return the finding for tags that mark other text than the responses. Text that is missing is worse."""
    missing = extra = ""
    for one, wrong, right in zip(used, marked, spans, strict=True):
        inside, wanted = (frozenset(at for begin, end in of for at in range(begin, end)) for of in (wrong, right))
        missing = missing or _first(one.text.text, wanted - inside)
        extra = extra or _first(one.text.text, inside - wanted)
    parts = [f"mark {extra}, which the model does not write"] * bool(extra)
    parts += [f"do not mark {missing}, which it writes"] * bool(missing)
    message = f"The `{{% generation %}}` tags {' and '.join(parts)}."
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
    """Return a function that renders what the template got for these conversations with another source."""

    def rendering(text: str) -> list[str]:
        template = ChatTemplate(text, files.special_tokens, origin=source.origin)
        prompts = [one.text.prompt for one in used]
        return [
            template.render(prompt.messages, tools=prompt.template_tools, now=FROZEN_NOW, **prompt.variables)
            for prompt in prompts
            if prompt is not None
        ]

    return rendering
