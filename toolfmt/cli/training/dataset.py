"""Render the conversations of a dataset for training, in several processes, for `toolfmt training`.

A line of the dataset is a JSON object with the keys of a request: `messages`, and optionally `tools` and
`chat_template_kwargs`. `messages` and `tools` may also be JSON text, because a column of a Parquet file gives all its
objects the same keys.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, Literal, TypeAlias

from toolfmt.cli.input import json_of
from toolfmt.cli.request import SETTINGS, RequestInput, request_input
from toolfmt.errors import ToolfmtError, WorkerUnavailable
from toolfmt.inspect.probe.tokenizer_file import TokenizerFile
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.model.model import Model
from toolfmt.render.request.messages import checked_with_own_roles
from toolfmt.templates import ModelFiles
from toolfmt.training import TrainingText, TrainingTokens

Train: TypeAlias = Literal["all", "last", "turns"]
"""Which messages of the model are trained; with `turns`, there is one sample per user message."""
Line: TypeAlias = tuple[int, dict[str, Any]]
"""The number of a line, and its object."""

_SOURCE = "the line"
"""The name of the request in errors. It is removed, because errors are reported with the number of the line."""
_BATCH_SIZE = 16
"""The number of lines that a process gets at a time."""
_AHEAD = 4
"""Maximum number of batches per process that are rendered while the oldest one is unfinished."""


@dataclass(frozen=True)
class Sample:
    """A rendered conversation, and its tokens if there is a tokenizer."""

    text: TrainingText
    tokens: TrainingTokens | None

    @property
    def is_trained(self) -> bool:
        """Whether anything in it is trained."""
        if self.tokens is not None:
            return any(self.tokens.assistant_masks)
        return any(span.kind == "sampled" for span in self.text.spans)

    @property
    def end(self) -> int:
        """The offset in the text after the last token."""
        if self.tokens is None:
            return len(self.text.text)
        return max((end for _, end in self.tokens.offsets), default=0)

    def row(self, line: int) -> dict[str, Any]:
        """Return the sample as a row of the output: its tokens, or else its text and spans."""
        text = self.text.to_dict()
        if self.tokens is None:
            return {"line": line, **text}
        masks = {"assistant_masks": self.tokens.assistant_masks, "labels": self.tokens.labels}
        return {"line": line, "input_ids": self.tokens.input_ids, **masks, "problems": text["problems"]}


@dataclass(frozen=True)
class Rendered:
    """The samples of a line, or the reason why it is skipped, and lines about keys that do not affect the prompt."""

    line: int
    samples: tuple[Sample, ...] = ()
    error: str = ""
    not_passed_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetRenderer:
    """Renders lines of a dataset. Each process gets a copy.

    `tools` are those of lines without tools.
    """

    files: ModelFiles
    profile: TemplateProfile
    trusted: bool
    tokenizer: TokenizerFile | None
    tools: Sequence[Any] | None = None
    train: Train = "all"
    train_reasoning: bool = True
    max_length: int | None = None
    now: datetime = field(default_factory=datetime.now)

    def rendered(self, lines: Iterable[Line], processes: int) -> Iterator[Rendered]:
        """Yield the samples of each line, in order, with a limited number of lines rendered ahead."""
        remaining = iter(lines)
        first = list(islice(remaining, _BATCH_SIZE))
        if processes == 1 or len(first) < _BATCH_SIZE:
            yield from self._in_process(chain(first, remaining))
            return
        pool = ProcessPoolExecutor(processes, get_context("spawn"), _start, (self,))
        waiting: deque[Future[list[Rendered]]] = deque([pool.submit(_render, first)])
        try:
            while waiting:
                while len(waiting) < _AHEAD * processes and (batch := list(islice(remaining, _BATCH_SIZE))):
                    waiting.append(pool.submit(_render, batch))
                yield from waiting.popleft().result()
        except BrokenProcessPool:
            raise ToolfmtError(
                "a worker process died, possibly because memory ran out; use fewer with --jobs"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _in_process(self, lines: Iterable[Line]) -> Iterator[Rendered]:
        model = self.model()
        for line in lines:
            yield self.render(model, line)

    def model(self) -> Model:
        return Model(self.files, trusted=self.trusted, profile=self.profile)

    def render(self, model: Model, line: Line) -> Rendered:
        """Return the samples of a line. Raises `WorkerUnavailable`."""
        number, record = line
        try:
            request = _request(record)
            ignored = (line for variable, line in request.not_passed_on if variable not in request.options)
            return Rendered(number, tuple(self._samples(model, request)), "", tuple(map(_without_source, ignored)))
        except WorkerUnavailable:
            raise
        except ToolfmtError as error:
            return Rendered(number, error=_without_source(str(error)))

    def _samples(self, model: Model, request: RequestInput) -> Iterator[Sample]:
        options = {name: value for name, value in request.options.items() if name not in SETTINGS}
        tools = self.tools if request.tools is None else request.tools
        for messages, train in self._parts(request.messages):
            text = model.render_training(
                messages, tools, train=train, train_reasoning=self.train_reasoning, now=self.now, **options
            )
            text = replace(text, prompt=None)
            tokens = None
            if self.tokenizer is not None:
                tokens = text.tokenize(self.tokenizer.tokenizer, max_length=self.max_length)
            yield Sample(text, tokens)

    def _parts(self, given: Any) -> Iterator[tuple[Any, Literal["all", "last"]]]:
        """Yield the messages of each sample, and which of them are trained."""
        if self.train != "turns":
            yield given, self.train
            return
        messages = checked_with_own_roles(given)
        questions = [number for number, message in enumerate(messages) if message["role"] == "user"]
        for end in (*questions[1:], len(messages)):
            yield messages[:end], "last"


def _request(record: Mapping[str, Any]) -> RequestInput:
    parsed = {key: _parsed(key, record[key]) for key in ("messages", "tools") if key in record}
    return request_input({**record, **parsed}, _SOURCE)


def _without_source(line: str) -> str:
    return line.removeprefix(f"{_SOURCE}: ")


def _parsed(key: str, value: Any) -> Any:
    """Return messages or tools, which may be JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json_of(value.encode("utf-8", "surrogatepass"))
    except ToolfmtError as error:
        raise ToolfmtError(f'"{key}": {error}') from None


# --- in the processes

_here: list[tuple[DatasetRenderer, Model]] = []
"""The renderer and the model of this process, if it belongs to a pool."""


def _start(renderer: DatasetRenderer) -> None:
    """Prepare this process. It ignores interrupts, because the main process ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _here.append((renderer, renderer.model()))


def _end_with_parent() -> None:
    """Wait until the main process has ended. If it is killed, it cannot end this process, which would wait forever."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _render(lines: list[Line]) -> list[Rendered]:
    ((renderer, model),) = _here
    return [renderer.render(model, line) for line in lines]
