"""What runs in a process with limits: inspecting a model, probing it for its profile, rendering one prompt.

Everything here is handed to a `toolfmt.sandbox.pool.Worker`, whose process runs the templates of models that are not
trusted; each job checks that what comes back is something that it makes.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from toolfmt.formats.registry import has_variant
from toolfmt.inspect.checks import CHECKS, code
from toolfmt.inspect.inspection import inspect_read
from toolfmt.inspect.probe.tokenizer_file import TokenizerFile, find_tokenizer
from toolfmt.inspect.profiling import profile_files, profile_read, whole_profile
from toolfmt.inspect.report import CAPABILITIES, Report
from toolfmt.inspect.template_profile import TemplateProfile
from toolfmt.render.prompt import Prompt, StrategyChoice, render
from toolfmt.sandbox.pool import Job, Limits, Worker
from toolfmt.templates import ModelFiles
from toolfmt.typed_json import Unreadable


def render_files(
    files: ModelFiles, messages: Any, tools: Any, strategy: StrategyChoice, options: Mapping[str, Any]
) -> Prompt:
    """One prompt of a model that is probed first; a template that asks the clock is shown the present time unless the
    options name another."""
    now = {"now": datetime.now()}
    return render(files, whole_profile(files, profile_files), messages, tools, strategy, **{**now, **options})


def _check_report(report: Report) -> None:
    named = set(report.capabilities) == set(CAPABILITIES)
    known = {finding.code for finding in (*report.findings, *report.notes)} <= set(map(code, CHECKS))
    if not (named and known and _is_format(report.format.name, report.format.variant)):
        raise Unreadable("a report of something that is not there")
    _check_profile(report.profile)


def _check_profile(profile: TemplateProfile) -> None:
    if not profile.has_known_format:
        raise Unreadable("a profile with a format that is not there")


def _check_prompt(prompt: Prompt) -> None:
    if not _is_format(prompt.format, ""):
        raise Unreadable("a prompt in a format that is not there")


def _is_format(name: str | None, variant: str) -> bool:
    return name is None or has_variant(name, variant)


INSPECT = Job(inspect_read, Report, _check_report)
PROFILE = Job(profile_read, TemplateProfile, _check_profile)
RENDER = Job(render_files, Prompt, _check_prompt)


_LATER = (
    "encodings.unicode_escape",
    "jinja2.constants",
    "jinja2.debug",
    "logging",
    "minijinja._internal",
    "pprint",
    "textwrap",
    "tokenizers",
    "toolfmt.formats.known",
    "urllib.parse",
)
"""What jobs import when they need it; a worker cannot, as it opens nothing any more."""


def new_worker(limits: Limits | None = None) -> Worker:
    """A worker that is ready for these jobs."""
    return Worker((INSPECT, PROFILE, RENDER), limits or Limits(), _LATER)


def tokenizer_of(files: ModelFiles) -> TokenizerFile | None:
    """The model's tokenizer.json, read, for a process that opens no files; raises `BadModelDirectory`."""
    found = find_tokenizer(files.home)
    return None if found is None else found.loaded()


def shared_worker() -> Worker:
    """The worker that this process shares."""
    return _worker_of(os.getpid())


@cache
def _worker_of(process: int) -> Worker:
    """The worker of this process: a forked one gets its own."""
    worker = new_worker()
    atexit.register(worker.close)
    return worker
