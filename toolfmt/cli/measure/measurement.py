"""Ask the questions, in parallel or one by one, and count the results.

`outcomes` yields the outcome of each question. A `Measurement` counts them and is valid at any time, so an interrupted
run keeps what was measured. Nothing here prints.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any

from toolfmt.cli.measure.plan import Cell, MeasurementPlan, Question
from toolfmt.cli.measure.rates import LEVEL, Rate
from toolfmt.cli.measure.scoring import Judgement, judge
from toolfmt.cli.measure.subject import NotAnswered, NotReached, Subject

RATES = tuple(field.name for field in fields(Judgement))
"""The names of the rates, in the order of the table."""
_GIVEN_UP_AFTER = 3
"""Number of failed requests after which a cell without any response is given up."""


@dataclass(frozen=True)
class QuestionOutcome:
    """The outcome of a question: a judgement, or why there is none (empty if it was not asked)."""

    question: Question
    judgement: Judgement | None = None
    cut: bool = False
    failure: str = ""


@dataclass
class Tally:
    """The counts of a cell.

    `failures` are the failed requests by reason. `skipped` are those that were given up. `cut` are the responses that
    reached the token limit.
    """

    rates: dict[str, Rate] = field(default_factory=lambda: {name: Rate() for name in RATES})
    responses: int = 0
    cut: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    skipped: int = 0

    def add(self, outcome: QuestionOutcome) -> None:
        if outcome.judgement is None:
            self.skipped += not outcome.failure
            self.failures.update([outcome.failure] if outcome.failure else [])
            return
        self.responses += 1
        self.cut += outcome.cut
        for name, happened in asdict(outcome.judgement).items():
            self.rates[name].add(happened)

    def to_dict(self) -> dict[str, Any]:
        rates = {name: rate.to_dict() for name, rate in self.rates.items()}
        lost = {"failures": dict(self.failures), "skipped": self.skipped}
        return {"responses": self.responses, "cut": self.cut, **lost, "rates": rates}


@dataclass
class Measurement:
    """The results of a plan with a subject. `settings` are those of the requests, for display."""

    name: str
    plan: MeasurementPlan
    settings: dict[str, Any] = field(default_factory=dict)
    tallies: dict[Cell, Tally] = field(init=False)
    completed: int = 0

    def __post_init__(self) -> None:
        self.tallies = {cell: Tally() for cell in self.plan.cells()}

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The number of questions in the plan."""
        return tuple(self.plan.questions())

    @property
    def whole(self) -> bool:
        """Whether every question has been asked or given up."""
        return self.completed == len(self.questions)

    @property
    def answers(self) -> int:
        return sum(tally.responses for tally in self.tallies.values())

    @property
    def failed(self) -> bool:
        """Whether a request failed."""
        return any(tally.failures for tally in self.tallies.values())

    @property
    def failures(self) -> Counter[str]:
        """Why requests failed, over all cells."""
        return sum((tally.failures for tally in self.tallies.values()), Counter())

    def add(self, outcome: QuestionOutcome) -> None:
        self.completed += 1
        self.tallies[outcome.question.cell].add(outcome)

    def to_dict(self) -> dict[str, Any]:
        cells = [{**asdict(cell), **tally.to_dict()} for cell, tally in self.tallies.items()]
        return {
            "schema": 1,
            "name": self.name,
            "settings": self.settings,
            "scenarios": [scenario.name for scenario in self.plan.scenarios],
            "runs": self.plan.runs,
            "questions": {"all": len(self.questions), "completed": self.completed},
            "interval": {"method": "wilson", "level": LEVEL},
            "cells": cells,
        }


def outcomes(
    subject: Subject, questions: Iterable[Question], *, seed: int = 0, parallel: int = 1
) -> Iterator[QuestionOutcome]:
    """Yield the outcome of each question when it is known. Up to `parallel` are asked at a time.

    The seed of a request is `seed` plus the number of its run. A cell whose first requests all fail is given up. Raises
    `NotReached` if the subject cannot be reached, and `ToolfmtError` if arguments cannot be judged. Other failures are
    part of the outcomes.
    """
    runner = _QuestionRunner(subject, seed)
    yield from map(runner.ask, questions) if parallel == 1 else _side_by_side(runner.ask, questions, parallel)


class _QuestionRunner:
    """Asks one question, and remembers which cells respond."""

    def __init__(self, subject: Subject, seed: int) -> None:
        self._subject, self._seed = subject, seed
        self._answering: set[Cell] = set()
        self._in_vain: Counter[Cell] = Counter()

    def ask(self, question: Question) -> QuestionOutcome:
        cell = question.cell
        if cell not in self._answering and self._in_vain[cell] >= _GIVEN_UP_AFTER:
            return QuestionOutcome(question)
        try:
            answer = self._subject.ask(question, self._seed + question.run)
        except NotAnswered as why:
            if isinstance(why, NotReached) and not self._answering:
                raise
            self._in_vain[cell] += 1
            return QuestionOutcome(question, failure=str(why))
        self._answering.add(cell)
        return QuestionOutcome(question, judge(question, answer), answer.cut)


def _side_by_side(
    ask: Callable[[Question], QuestionOutcome], questions: Iterable[Question], workers: int
) -> Iterator[QuestionOutcome]:
    """Ask in daemon threads, so that an interrupt does not wait for pending responses."""
    waiting: queue.SimpleQueue[Question] = queue.SimpleQueue()
    done: queue.SimpleQueue[QuestionOutcome | BaseException] = queue.SimpleQueue()
    count = 0
    for question in questions:
        waiting.put(question)
        count += 1
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                done.put(ask(waiting.get_nowait()))
            except queue.Empty:
                return
            except BaseException as error:  # noqa: BLE001  raised again where the outcomes are read
                done.put(error)
                return

    for _ in range(min(workers, count)):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in range(count):
            outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        stopped.set()
