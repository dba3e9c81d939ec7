"""Create a new format in a clone: its module, its list entry, and its case files, as far as a template determines them.

`prepare` analyzes the template. It returns what to write, or that nothing is needed because a known format parses the
calls. The template runs in a process with limits unless it is trusted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.cli.scaffolding.case_files import CASE_REQUESTS, CaseRequest, calls_alone, case_files
from toolfmt.cli.scaffolding.clone import FORMATS, Clone, FilePlan
from toolfmt.cli.scaffolding.format_module import Knowledge, module_text
from toolfmt.cli.scaffolding.names import check_format_name
from toolfmt.errors import LimitHit, ToolfmtError
from toolfmt.formats import ToolCallFormat, for_model_type, get
from toolfmt.formats.known import module_of
from toolfmt.formats.parse import parse
from toolfmt.formats.serialization.format_data import from_text
from toolfmt.inspect.format.nearest_format import nearest_sibling
from toolfmt.inspect.report.report import DerivedFormat
from toolfmt.inspect.shown_turns import ShownTurns, show_turns
from toolfmt.model.jobs import SHOW, shared_worker
from toolfmt.templates import ModelFiles, load_files

_LIST = f"{FORMATS}/__init__.py"


@dataclass(frozen=True)
class Prepared:
    """What to write, and notes for the user, each a sentence without a full stop."""

    plan: FilePlan
    lines: tuple[str, ...]


@dataclass(frozen=True)
class NotNeeded:
    """A known format already parses these calls. `lines` names it and what may be missing in it."""

    lines: tuple[str, ...]


def prepare(name: str, place: str, clone: Clone, *, trusted: bool = False) -> Prepared | NotNeeded:
    """Return what `toolfmt dev new-format NAME --from MODEL` writes into the clone.

    Raises `ToolfmtError` for an invalid name, for a model whose template cannot be rendered, and if something already
    exists.
    """
    modules = clone.modules(_LIST)
    check_format_name(name, modules)
    clone.check(FilePlan(_files(name, "", {}), _LIST, name))  # before the template is analyzed
    files = load_files(place)
    shown = _shown(files, place, trusted)
    if shown.derivation.known:
        return NotNeeded(_known(get(shown.derivation.known), shown, files))
    texts = shown.texts or (None,) * len(CASE_REQUESTS)
    sibling = nearest_sibling(texts[0], CASE_REQUESTS[0].calls, list(CASE_REQUESTS[0].turn.tools))
    return _prepared(name, files, shown, texts, sibling)


def _shown(files: ModelFiles, place: str, trusted: bool) -> ShownTurns:
    turns = [request.turn for request in CASE_REQUESTS]
    try:
        shown = show_turns(files, turns) if trusted else shared_worker().run(SHOW, files, turns)
    except LimitHit as hit:
        raise ToolfmtError(f"{place}: the template hit a limit ({hit.limit}): {hit.engine_message}") from None
    if shown.failure:
        raise ToolfmtError(f"{place}: {shown.failure}; a format can be derived only from a template that renders")
    return shown


def _known(format: ToolCallFormat, shown: ShownTurns, files: ModelFiles) -> tuple[str, ...]:
    """Return what to do if a known format parses the calls."""
    module = f"{FORMATS}/{module_of(format)}.py"
    lines = [f"{format.name} already parses these calls, so nothing is written; {module} defines it"]
    if not shown.as_known:
        lines.append("the format writes these calls differently than the template: add this form to its `variants`")
    listed = (format, *_formats_of(files))
    if new := [one for one in files.model_types if not any(one in known.model_types for known in listed)]:
        lines.append(f"the format does not list the model type {', '.join(new)}: add it to its `model_types`")
    lines.append(f"to add an output of this model as a test case, write it into a file in corpus/{format.name}")
    return tuple(lines)


def _formats_of(files: ModelFiles) -> list[ToolCallFormat]:
    return [known for one in files.model_types if (known := for_model_type(one)) is not None]


def _prepared(
    name: str, files: ModelFiles, shown: ShownTurns, texts: Sequence[str | None], sibling: ToolCallFormat
) -> Prepared:
    derived = shown.derivation.derived
    made = sibling if derived is None else from_text(derived.text, "a derived format")
    unread: list[str] = []
    if derived is not None:
        texts, unread = _read_back(made, texts)
    template = files.template(True) or files.template(False)
    knowledge = Knowledge(
        name=name,
        made=made,
        sibling=sibling.name,
        why_not=shown.derivation.why_not,
        rendered=texts[0] or "",
        template="" if template is None else template.text,
        model_types=files.model_types,
    )
    new = _files(name, module_text(knowledge), case_files(texts, sibling.name))
    lines = [_made(derived, shown), f"nearest known format: {sibling.name} (corpus/{sibling.name})", *unread]
    return Prepared(FilePlan(new, _LIST, name), tuple(lines))


def _made(derived: DerivedFormat | None, shown: ShownTurns) -> str:
    if derived is None:
        return f"no format can be derived, so you have to write the engine: {shown.derivation.why_not}"
    return "; ".join([f"derived ({derived.kind}), {derived.proof}", *derived.limits])


def _files(name: str, module: str, cases: dict[str, str]) -> dict[str, str]:
    return {
        f"{FORMATS}/{name}.py": module,
        **{
            f"corpus/{name}/{file}": text
            for file, text in (cases or case_files((None,) * len(CASE_REQUESTS), "")).items()
        },
    }


def _read_back(format: ToolCallFormat, texts: Sequence[str | None]) -> tuple[list[str | None], list[str]]:
    """Return the texts that the derived format parses back exactly, and notes on the others.

    The notes list what the template loses or the format cannot represent; such cases cannot pass.
    """
    kept: list[str | None] = []
    left_out = []
    for request, text in zip(CASE_REQUESTS, texts, strict=True):
        read = text is None or _reads(format, request, text, calls_alone(request, texts))
        kept.append(text if read else None)
        if not read:
            left_out.append(f"left out: {request.topic}, {request.title}; it does not come back as it went in")
    return kept, left_out


def _reads(format: ToolCallFormat, request: CaseRequest, text: str, alone: str | None) -> bool:
    message = parse(text, format, tools=list(request.turn.tools) if request.declared else None, strict=True)
    calls = [(call.name, _exact(json.loads(call.arguments))) for call in message.tool_calls]
    went_in = [(name, _exact(dict(arguments))) for name, arguments in request.calls]
    other_parts = (message.content or "", message.reasoning or "")
    return (
        not message.rejected
        and calls == went_in
        and other_parts == (request.content_in(text, alone), request.reasoning_in(text))
    )


def _exact(value: Any) -> str:
    """Return JSON text, which distinguishes 1 from true and 1.0, unlike Python's equality."""
    return json.dumps(value, sort_keys=True)
