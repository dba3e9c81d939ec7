"""`toolfmt training`: check the options, render a dataset for training, write rows and a page, print statistics."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from toolfmt.cli.input import JsonLines, counted, name_models_below, naming, read_json, shown
from toolfmt.cli.output import check_printable, complain, is_terminal, print_text, print_to_stderr, terminal
from toolfmt.cli.output_files import check_file, write_whole
from toolfmt.cli.printing.progress import Progress
from toolfmt.cli.printing.training import summary_text
from toolfmt.cli.training.dataset import DatasetRenderer, Rendered, Train
from toolfmt.cli.training.rows import check_output, is_standard_output, writing
from toolfmt.cli.training.summary import TrainingSummary
from toolfmt.errors import BadTools, ToolfmtError
from toolfmt.inspect.probe.tokenizer_file import NAME, TokenizerFile, find_tokenizer
from toolfmt.model.model import Model, load
from toolfmt.training.inspection import unknown_format

_MOST_PROCESSES = 8
"""Maximum number of processes if `jobs` is not given."""


@dataclass(frozen=True)
class RenderingDataset:
    """The options, one field each. None if not given."""

    place: str
    dataset: str
    tools_file: str | None
    tokenizer_place: str | None
    output: str | None
    html: str | None
    train: Train
    no_reasoning: bool
    max_length: int | None
    jobs: int | None
    trusted: bool

    def status(self) -> int:
        """Render the dataset, print statistics, and return the exit status: 2 if lines were skipped."""
        self._check()
        model = load(self.place, trusted=self.trusted)
        name_models_below(self.place, complain)
        tokenizer = self._tokenizer(model)
        if self.max_length is not None and tokenizer is None:
            raise click.UsageError("--max-length needs a tokenizer; give --tokenizer DIR")
        for line in _warnings(model, tokenizer):
            complain(f"{self.place}: {line}")
        renderer = DatasetRenderer(
            model.files,
            model.profile,
            self.trusted,
            tokenizer,
            self._tools(),
            self.train,
            not self.no_reasoning,
            self.max_length,
        )
        lines, summary = JsonLines(self.dataset, complain), TrainingSummary(tokenizer is not None)
        ignored: set[str] = set()
        with writing(self.output, tokens=tokenizer is not None) as rows:
            for one in self._rendered(renderer, lines):
                if one.error:
                    lines.skip(one.line, one.error)
                    continue
                for line in (line for line in one.not_passed_on if line not in ignored):
                    complain(f"{lines.name}:{one.line}: {line}")
                ignored.update(one.not_passed_on)
                summary.add(one)
                for sample in one.samples:
                    if sample.is_trained:
                        rows.add(sample.row(one.line))
            lines.report_rest()
            if not summary.conversations:
                raise ToolfmtError(f"{lines.name}: no conversation could be rendered; nothing is written")
        self._print(summary, lines)
        return 2 if lines.skipped else 0

    def _rendered(self, renderer: DatasetRenderer, lines: JsonLines) -> Iterator[Rendered]:
        printing = self.output is not None and is_standard_output(self.output) and is_terminal()
        watched = sys.stderr is not None and sys.stderr.isatty() and not printing
        with Progress("rendering", lines.size(), watched) as progress:
            yield from renderer.rendered(
                lines.objects(progress.update), self.jobs or min(os.cpu_count() or 1, _MOST_PROCESSES)
            )

    def _print(self, summary: TrainingSummary, lines: JsonLines) -> None:
        if self.html is not None:
            from toolfmt.cli.printing.training_page import training_page

            write_whole(self.html, training_page(summary, Path(lines.name).name, lines.skipped), "html")
        if self.output is not None and is_standard_output(self.output):
            print_to_stderr(summary_text(summary, lines.skipped, terminal()[0], False).rstrip("\n"))
        else:
            print_text(summary_text(summary, lines.skipped, *terminal()))

    def _check(self) -> None:
        if self.dataset == "-" == self.tools_file:
            raise click.UsageError("only one of --dataset and --tools can be standard input")
        if self.dataset.endswith(".parquet"):
            raise ToolfmtError(f"{self.dataset}: a dataset is a file of JSON lines; convert it (`Dataset.to_json`)")
        check_printable()  # do not render for hours if nothing can be printed
        if self.output is not None:
            check_output(self.output)
        if self.html is not None:
            check_file(self.html, "html")

    def _tools(self) -> list[dict[str, Any]] | None:
        if self.tools_file is None:
            return None
        with naming(self.tools_file, BadTools):
            return counted(read_json(self.tools_file), shown(self.tools_file), complain)

    def _tokenizer(self, model: Model) -> TokenizerFile | None:
        """Return the tokenizer that is named, or that of the model. Raises `ToolfmtError` if it cannot be used."""
        if self.tokenizer_place is None:
            tokenizer = find_tokenizer(model.files.home)
        else:
            path = Path(self.tokenizer_place)
            tokenizer = TokenizerFile(path / NAME if path.is_dir() else path)
        if tokenizer is not None and tokenizer.loaded().problem:
            where = self.tokenizer_place or model.files.home
            raise ToolfmtError(f"{where}: {tokenizer.problem}; give the directory of another one with --tokenizer")
        return tokenizer


def _warnings(model: Model, tokenizer: TokenizerFile | None) -> Iterator[str]:
    """Yield what is wrong with the model for all lines."""
    profile = model.profile
    if unknown_format(profile):
        yield f"its tool-call format is not known ({profile.why_no_format}); calls are not trained"
    for stop in profile.stop if tokenizer is not None else ():
        if tokenizer is not None and (count := tokenizer.count(stop)) > 1:
            yield f"the stop string {stop} is {count} tokens; add it to {NAME} as a special token before training"
