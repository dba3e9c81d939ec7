"""Inspect many models: expand the paths of a command line, and return a report or an error for each.

`toolfmt inspect` and `toolfmt diff` use an `Inspector`. A path is anything that `toolfmt.load` takes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from queue import SimpleQueue
from typing import Any

from toolfmt.errors import ToolfmtError, WorkerUnavailable
from toolfmt.inspect.facts import NO_OPTIONS, InspectionOptions
from toolfmt.inspect.report.report import Answer, Report, Sections
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.model.jobs import new_worker, shared_worker
from toolfmt.model.model import Model
from toolfmt.model.sandbox.pool import Limits, Worker
from toolfmt.render.prompt import broken
from toolfmt.templates import NoTemplateHere, load_files, model_place, model_places

_MOST_WORKERS = 8
"""Maximum number of workers if `jobs` is not given."""
_AHEAD = 4
"""Paths per worker that are inspected ahead of a slow one; their reports are kept in memory."""


NOT_INSPECTED = "not inspected"
"""The label of a path without a report: its files cannot be read, or the machine cannot run its template."""


@dataclass(frozen=True)
class InspectionOutcome:
    """The report on one path, or one line with the reason why it was not inspected."""

    place: str
    report: Report | None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON after its `path` as given. Without a report, the JSON has an `error`."""
        if self.report is None:
            return {"path": self.place, "error": self.reason}
        path = {"path": self.place}
        return path | self.report.to_dict() | path

    @property
    def short_reason(self) -> str:
        """The reason without the name of the path, for a row that begins with the name."""
        return self.reason.removeprefix(self.place).lstrip("/:\\, ")

    def in_brief(self) -> InspectionOutcome:
        """The outcome without evidence, sections and prompts, to keep thousands of them in memory."""
        if self.report is None:
            return self
        capabilities = {name: Answer(answer.answer) for name, answer in self.report.capabilities.items()}
        findings, notes, ignored = (
            tuple(replace(finding, message="", line=None, fix="", runtimes=()) for finding in group)
            for group in (self.report.findings, self.report.notes, self.report.ignored)
        )
        brief = replace(
            self.report,
            verdict=replace(self.report.verdict, runtimes={}),
            capabilities=capabilities,
            format=replace(self.report.format, evidence=()),
            findings=findings,
            notes=notes,
            ignored=ignored,
            runtimes={},
            sections=Sections(),
            profile=TemplateProfile(),
            prompts={},
        )
        return replace(self, report=brief)


@dataclass(frozen=True)
class Inspector:
    """Inspects paths with these options. Templates of models that are not `trusted` run in worker processes."""

    options: InspectionOptions = NO_OPTIONS
    trusted: bool = False
    limits: Limits | None = None

    def report(self, place: str) -> Report:
        """Return the report on a path. Raises `ToolfmtError` if it cannot be read."""
        if not self.trusted:
            with suppress(WorkerUnavailable):  # the job raises it again, with the name of the model
                self.worker.start()  # it starts up while the files are read
        return self._report(place, self.worker)

    @cached_property
    def worker(self) -> Worker:
        """The worker for models that are inspected one after another. It starts with the first job."""
        return shared_worker() if self.limits is None else new_worker(self.limits)

    def comparable(self, place: str) -> Report:
        """Return the report on a path for a comparison.

        Raises `ToolfmtError` if the path cannot be read or its template does not compile.
        """
        report = self.report(place)
        unusable = broken(load_files(place), report.profile)
        if unusable is not None:
            raise unusable
        return report

    def looked_at(
        self, places: Sequence[str], jobs: int | None = None, *, in_order: bool = True
    ) -> Iterator[InspectionOutcome]:
        """Yield the outcome for each path, inspecting `jobs` paths at a time.

        `jobs` is by default the number of processors, up to a maximum. With `in_order`, outcomes come in the order of
        `places`, and only a few wait in memory. Without it, each comes as soon as it is ready.
        """
        workers: SimpleQueue[Worker] = SimpleQueue()
        number = max(1, min(len(places), jobs or min(os.cpu_count() or 1, _MOST_WORKERS)))
        made = [new_worker(self.limits) for _ in range(number)]
        for worker in made:
            workers.put(worker)

        def look(place: str) -> InspectionOutcome:
            worker = workers.get()
            try:
                return InspectionOutcome(place, self._report(place, worker))
            except ToolfmtError as error:
                reason = error.in_table if isinstance(error, NoTemplateHere) else str(error)
                return InspectionOutcome(place, None, " ".join(reason.split()))
            finally:
                workers.put(worker)

        pool = ThreadPoolExecutor(number)
        pending: deque[Future[InspectionOutcome]] = deque()

        def done() -> InspectionOutcome:
            """Wait for the next outcome and return it."""
            if not in_order:
                first = next(iter(wait(pending, return_when=FIRST_COMPLETED).done))
                pending.remove(first)
                return first.result()
            return pending.popleft().result()

        try:
            for place in places:
                pending.append(pool.submit(look, place))
                if len(pending) == _AHEAD * number:
                    yield done()
            while pending:
                yield done()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in made:
                worker.stop()

    def _report(self, place: str, worker: Worker) -> Report:
        model = Model(load_files(place), trusted=self.trusted, worker=worker)
        options = self.options
        try:
            return model.inspect(tools=options.tools, context=options.context, probe_seed=options.probe_seed)
        except WorkerUnavailable as error:
            raise WorkerUnavailable(f"{place}: {error}") from None


def place_key(place: str) -> str:
    """Return a key that identifies a path, however it is written, to find an earlier report on it."""
    return os.path.normcase(os.path.abspath(place)) if place else ""


def expanded(given: Iterable[str]) -> tuple[list[str], bool]:
    """Return the paths to inspect, each once, and whether they count as several.

    A folder is replaced by the models in it and below it, which count as several even if there is only one. A
    repository's folder in the hub cache is replaced by its snapshot, and a file of a model directory by that model.
    """
    places: dict[str, None] = {}
    folders = False
    for place in given:
        resolved = os.fspath(model_place(place)) if os.path.lexists(place) else place
        inside = [] if os.path.isfile(place) else [str(path) for path in model_places(resolved)]
        folders = folders or bool(inside)
        places |= dict.fromkeys(inside or [resolved])
    return list(places), folders or len(places) > 1
