"""Inspecting places: what is given on a command line becomes places, and each place a report or the reason why not.

`toolfmt inspect` and `toolfmt diff` look at places through an `Inspector`. A place is what `toolfmt.load` takes.
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
"""Workers without `jobs`."""
_AHEAD = 4
"""Places a worker that are looked at while one before them takes its time; the reports wait in memory."""


NOT_INSPECTED = "not inspected"
"""The label of a path without a report: its files cannot be read, or the machine cannot run its template."""


@dataclass(frozen=True)
class InspectionOutcome:
    """The report on one path, or one line with the reason why it was not inspected."""

    place: str
    report: Report | None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON behind its `path`, the place as it was asked about; where there is none its `error`."""
        if self.report is None:
            return {"path": self.place, "error": self.reason}
        path = {"path": self.place}
        return path | self.report.to_dict() | path

    @property
    def short_reason(self) -> str:
        """The reason without the name of the place, for a row that begins with the name."""
        return self.reason.removeprefix(self.place).lstrip("/:\\, ")

    def in_brief(self) -> InspectionOutcome:
        """The same without evidence, chapters and prompts: what is kept of one of thousands."""
        if self.report is None:
            return self
        capabilities = {name: Answer(answer.answer) for name, answer in self.report.capabilities.items()}
        findings, notes = (
            tuple(replace(finding, message="", line=None, fix="") for finding in told)
            for told in (self.report.findings, self.report.notes)
        )
        brief = replace(
            self.report,
            capabilities=capabilities,
            format=replace(self.report.format, evidence=()),
            findings=findings,
            notes=notes,
            runtimes={},
            sections=Sections(),
            profile=TemplateProfile(),
            prompts={},
        )
        return replace(self, report=brief)


@dataclass(frozen=True)
class Inspector:
    """Inspects places with these options; the templates of those that are not `trusted` in processes with limits."""

    options: InspectionOptions = NO_OPTIONS
    trusted: bool = False
    limits: Limits | None = None

    def report(self, place: str) -> Report:
        """The report on one place; raises `ToolfmtError` where it cannot be read."""
        if not self.trusted:
            with suppress(WorkerUnavailable):  # the job raises it again, with the name of the model
                self.worker.start()  # it gets ready while the files are read
        return self._report(place, self.worker)

    @cached_property
    def worker(self) -> Worker:
        """The worker for models that are inspected one after another; it starts with the first job."""
        return shared_worker() if self.limits is None else new_worker(self.limits)

    def comparable(self, place: str) -> Report:
        """The report on one place, to be compared with another; raises `ToolfmtError` where its template does not
        compile, too: nothing that it does can be compared.
        """
        report = self.report(place)
        unusable = broken(load_files(place), report.profile)
        if unusable is not None:
            raise unusable
        return report

    def looked_at(
        self, places: Sequence[str], jobs: int | None = None, *, in_order: bool = True
    ) -> Iterator[InspectionOutcome]:
        """What becomes of each place; so many `jobs` are done side by side, or as many as the machine has processors.

        In their order each is handed out as soon as those before it have been, and only a few wait for that; else as
        soon as it is done."""
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
        asked: deque[Future[InspectionOutcome]] = deque()

        def done() -> InspectionOutcome:
            """The next that is handed out; waits for it."""
            if not in_order:
                first = next(iter(wait(asked, return_when=FIRST_COMPLETED).done))
                asked.remove(first)
                return first.result()
            return asked.popleft().result()

        try:
            for place in places:
                asked.append(pool.submit(look, place))
                if len(asked) == _AHEAD * number:
                    yield done()
            while asked:
                yield done()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in made:
                worker.stop()

    def _report(self, place: str, worker: Worker) -> Report:
        model = Model(load_files(place), trusted=self.trusted, worker=worker)
        asked = self.options
        try:
            return model.inspect(tools=asked.tools, context=asked.context, probe_seed=asked.probe_seed)
        except WorkerUnavailable as error:
            raise WorkerUnavailable(f"{place}: {error}") from None


def place_key(place: str) -> str:
    """What an earlier report on a place is found by, however its path is spelled."""
    return os.path.normcase(os.path.abspath(place)) if place else ""


def expanded(given: Iterable[str]) -> tuple[list[str], bool]:
    """The places that are given, each once, and whether they are told as several.

    A folder is replaced by the models in it and below it (several, even if it is one), a repository's folder in the hub
    cache by its snapshot, and a file of a model directory by that model alone.
    """
    places: dict[str, None] = {}
    folders = False
    for place in given:
        meant = os.fspath(model_place(place)) if os.path.lexists(place) else place
        inside = [] if os.path.isfile(place) else [str(path) for path in model_places(meant)]
        folders = folders or bool(inside)
        places |= dict.fromkeys(inside or [meant])
    return list(places), folders or len(places) > 1
