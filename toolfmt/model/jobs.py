"""Jobs for the worker process: inspect or probe a model, make prompts, derive a format, show calls, verify a fix.

A `toolfmt.model.sandbox.pool.Worker` runs them, so templates of untrusted models run in its process. Each job checks
that the result is one that it can produce. Prompts are requested often. So the process keeps the data and the compiled
template of a model, and requests refer to them by a digest (`held`).
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, TypeVar

from toolfmt._util.typed_json import UnreadableJson
from toolfmt.errors import LimitHit, NotHeld, ToolfmtError
from toolfmt.formats.format import DERIVED
from toolfmt.formats.registry import has_variant
from toolfmt.formats.serialization.registration import other_formats_as_text, set_other_formats
from toolfmt.inspect.checks import ALL_OUTCOMES
from toolfmt.inspect.derive_model import DerivationResult, derive_files
from toolfmt.inspect.fix.verification import FixCheck, judged
from toolfmt.inspect.inspection import inspect_read
from toolfmt.inspect.probe.tokenizer_file import TokenizerFile, find_tokenizer
from toolfmt.inspect.profiling import profile_read
from toolfmt.inspect.report.report import CAPABILITIES, FormatDecision, Report
from toolfmt.inspect.report.template_profile import TemplateProfile, is_format
from toolfmt.inspect.shown_turns import ShownTurns, show_turns
from toolfmt.model.sandbox.pool import Job, Limits, Worker
from toolfmt.render.adapt.control_tokens import markers_read
from toolfmt.render.backend import RenderRequest, RenderResult, make, roles_of
from toolfmt.render.budget import counter
from toolfmt.render.request.opaque_objects import given_back, handed_over, numbered
from toolfmt.templates import ModelFiles
from toolfmt.templates.engine.environment import plain
from toolfmt.training.inspection import TrainingReport, inspect_training

_T = TypeVar("_T")
_MOST_HELD = 8
"""Maximum number of models, and of tokenizers, that a process keeps."""
_CODECS = (
    *("utf_7", "utf_8_sig", "utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be"),
    *("ascii", "latin_1", "cp437", "cp1252", "punycode", "raw_unicode_escape", "unicode_escape"),
)
"""Encodings that a template may use."""
_LATER = (
    "_strptime",
    *(f"encodings.{name}" for name in _CODECS),
    "jinja2.constants",
    "jinja2.debug",
    "logging",
    "minijinja._internal",
    "pprint",
    "textwrap",
    "tokenizers",
    "toolfmt.formats.serialization.preload",
    "toolfmt.inspect.sections.engines.preload",
    "urllib.parse",
)
"""Modules that jobs import lazily. A worker imports them at startup, because later it cannot open files."""


# --- in the worker process

_held: OrderedDict[str, Any] = OrderedDict()


def held(digest: str, given: Any) -> Any:
    """Return what this digest refers to, and store it first if `given` is not None. Raises `NotHeld`."""
    if given is not None:
        _held[digest] = given
        while len(_held) > _MOST_HELD:
            _held.popitem(last=False)
    try:
        _held.move_to_end(digest)
    except KeyError:
        raise NotHeld("the process does not hold this model") from None
    return _held[digest]


def made_of(
    digest: str, given: tuple[ModelFiles, TemplateProfile] | None, render_request: RenderRequest
) -> RenderResult:
    """Return the prompt of a request. Objects in what it was made of are replaced by numbers."""
    files, profile = held(digest, given)
    made = make(files, profile, render_request)
    return replace(made, messages=numbered(made.messages), tools=numbered(made.tools))


def roles_for(digest: str, given: tuple[ModelFiles, TemplateProfile] | None) -> tuple[str, ...]:
    return roles_of(*held(digest, given))


def training_report_of(files: ModelFiles, profile: TemplateProfile, keep_reasoning: bool) -> TrainingReport:
    return inspect_training(files, profile, keep_reasoning=keep_reasoning)


def tokens_in(digest: str, given: TokenizerFile | None, text: str) -> int:
    count: int = held(digest, given).count(text)
    return count


# --- checks of results


def _check_report(report: Report) -> None:
    named = set(report.capabilities) == set(CAPABILITIES)
    known = {finding.key for finding in (*report.findings, *report.notes, *report.ignored)} <= set(ALL_OUTCOMES)
    if not (named and known and _is_decided(report.format)):
        raise UnreadableJson("a report of something that is not there")
    _check_profile(report.profile)


def _check_profile(profile: TemplateProfile) -> None:
    if not profile.has_known_format:
        raise UnreadableJson("a profile with an unknown format")


def _check_made(made: RenderResult) -> None:
    last = len(made.text)
    if not all(0 <= span.begin <= span.end <= last and span.message >= -1 for span in made.spans):
        raise UnreadableJson("a prompt with a span outside of it")
    for given in (made.messages, made.tools or []):
        if not all(isinstance(one, dict) for one in given):
            raise UnreadableJson("a prompt with messages or tools that are not objects")
    if not all(isinstance(message.get("role"), str) for message in made.messages):
        raise UnreadableJson("a prompt of messages without a role")


def _check_nothing(answer: object) -> None:
    """Accept every value of the right type."""


def _check_verdict(verdict: FixCheck) -> None:
    if verdict.fixed < 0 or (verdict.holds and (verdict.why or not verdict.fixed)):
        raise UnreadableJson("a verdict that contradicts itself")


def _is_decided(decision: FormatDecision) -> bool:
    """Return whether the format that was decided for is registered or included in the result."""
    if decision.derived is not None:
        return is_format(decision.derived.text, decision.name)
    return decision.name is None or has_variant(decision.name, decision.variant)


def _check_derivation(made: DerivationResult) -> None:
    if made.derived is not None and not is_format(made.derived.text, DERIVED):
        raise UnreadableJson("a derived format that is none")
    if (made.derived is None) != bool(made.why_not):
        raise UnreadableJson("a derivation that contradicts itself")


def _check_shown(shown: ShownTurns) -> None:
    _check_derivation(shown.derivation)


def _check_training(report: TrainingReport) -> None:
    if not 0 <= report.verified <= report.responses:
        raise UnreadableJson("a report on training that contradicts itself")


INSPECT = Job(inspect_read, Report, _check_report)
PROFILE = Job(profile_read, TemplateProfile, _check_profile)
MAKE = Job(made_of, RenderResult, _check_made)
ROLES = Job(roles_for, tuple[str, ...], _check_nothing)
MARKERS = Job(markers_read, tuple[str, ...], _check_nothing)
COUNT = Job(tokens_in, int, _check_nothing)
DERIVE = Job(derive_files, DerivationResult, _check_derivation)
SHOW = Job(show_turns, ShownTurns, _check_shown)
JUDGE = Job(judged, FixCheck, _check_verdict)
TRAIN = Job(training_report_of, TrainingReport, _check_training)


# --- in this process


class WorkerBackend:
    """A model whose template runs in a worker process with limits. Implements `toolfmt.render.backend.RenderBackend`.

    Takes the model's files, its profile, and a function that returns the worker. Methods raise the same errors as in
    this process, and `LimitHit` if the template exceeds a limit.
    """

    def __init__(self, files: ModelFiles, profile: TemplateProfile, worker: Callable[[], Worker]) -> None:
        self._model = files, profile
        self._worker = worker
        self._roles: tuple[str, ...] | None = None

    def roles(self) -> Sequence[str]:
        if self._roles is None:
            self._roles = self._run_on_model(ROLES)
        return self._roles

    def markers(self) -> Sequence[str]:
        return self._worker().run(MARKERS, *self._model, tokenizer_of(self._model[0]))

    def counter(self, tokenizer: Any) -> Callable[[str], int]:
        files, _ = self._model
        if tokenizer is not None or (read := tokenizer_of(files)) is None:
            return counter(files, tokenizer)
        digest = read.digest
        return lambda text: _run_holding(self._worker(), COUNT, digest, read, text)

    def make(self, render_request: RenderRequest) -> RenderResult:
        objects: list[Any] = []
        messages, tools = handed_over([render_request.messages, render_request.tools], objects)
        variables = plain(render_request.variables)
        made = self._run_on_model(MAKE, replace(render_request, messages=messages, tools=tools, variables=variables))
        if not objects:
            return made
        return replace(made, messages=given_back(made.messages, objects), tools=given_back(made.tools, objects))

    def _run_on_model(self, job: Job[_T], *given: Any) -> _T:
        return _run_holding(self._worker(), job, self._digest, self._model, *given)

    @cached_property
    def _digest(self) -> str:
        try:
            return hashlib.sha256(pickle.dumps(self._model)).hexdigest()
        except RecursionError:
            raise ToolfmtError("something in the model's files is nested too deep for any use; leave it out") from None


def _run_holding(worker: Worker, job: Job[_T], digest: str, kept: object, *given: Any) -> _T:
    """Run the job on the data with this digest. Send the data if the process does not have it."""
    try:
        return worker.run(job, digest, None, *given)
    except NotHeld:
        pass
    try:
        return worker.run(job, digest, kept, *given)
    except NotHeld:
        raise LimitHit("the process that runs the template loses its state", "crash") from None


def tokenizer_of(files: ModelFiles) -> TokenizerFile | None:
    """Return the model's parsed tokenizer.json for a process that cannot open files. Raises `BadModelDirectory`."""
    found = find_tokenizer(files.home)
    return None if found is None else found.loaded()


class _KnowingWorker(Worker):
    """A worker that knows the same formats as this process.

    Each job sends the formats, so changes of the registry after the process started take effect.
    """

    def run(self, job: Job[_T], *given: Any) -> _T:
        return super().run(replace(job, function=_knowing), other_formats_as_text(), job.function, *given)


def _knowing(formats: tuple[tuple[str, str], ...], function: Callable[..., _T], *given: Any) -> _T:
    set_other_formats(formats)
    return function(*given)


def new_worker(limits: Limits | None = None) -> Worker:
    """Return a worker for these jobs."""
    return _KnowingWorker((INSPECT, PROFILE, MAKE, JUDGE, DERIVE, SHOW, TRAIN), limits or Limits(), _LATER)


def shared_worker() -> Worker:
    """Return the process-wide shared worker."""
    return _worker_of(os.getpid())


@cache
def _worker_of(process: int) -> Worker:
    """Return the worker of the process with this id: a forked process gets its own."""
    worker = new_worker()
    atexit.register(worker.close)
    return worker
