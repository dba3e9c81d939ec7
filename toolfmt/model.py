"""A model directory as one object: inspected, rendered for, and its answers parsed.

`load` is the way in. A `Model` reads its files once and is inspected once, when that is first needed; nothing it hands
out changes afterwards. Everything raised for bad input is a `ToolfmtError` of one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from toolfmt.errors import TemplateError, ToolfmtError
from toolfmt.formats import Call, Parser, write
from toolfmt.inspect.facts import Options
from toolfmt.inspect.inspection import inspect_files
from toolfmt.inspect.report import Report
from toolfmt.prompt import Prompt, Wanted, compiled, render, spoken_format
from toolfmt.templates import ModelFiles, load_files
from toolfmt.tools import canonical_tools


def load(path: str | Path) -> Model:
    """The model in a directory; raises `BadModelDirectory` where there is none or a file of it cannot be read."""
    return Model(load_files(path))


class Model:
    """A model directory. `files` is what was read of it."""

    def __init__(self, files: ModelFiles) -> None:
        self.files = files

    def inspect(self, *, tools: object = None, context: int | None = None) -> Report:
        """The report: capabilities, format, strategy, findings, each with its evidence.

        `tools` are tool definitions whose cost in tokens is counted in place of examples, `context` the context size
        in tokens that they have to fit into. Raises `BadTools`; whatever the template is or does, it does not raise.
        """
        if tools is None and context is None:
            return self._report
        given = None if tools is None else canonical_tools(tools)
        return inspect_files(self.files, Options(given, context))

    @property
    def broken(self) -> TemplateError | None:
        """Why the template in force does not parse; None where it does, or where there is none."""
        source = self.files.template(True) or self.files.template(False)
        if source is not None:
            try:
                compiled(self.files, source)
            except TemplateError as error:
                return error
        return None

    def render(
        self,
        messages: object,
        tools: object = None,
        strategy: Wanted = "auto",
        *,
        now: datetime | None = None,
        add_generation_prompt: bool = True,
        **variables: Any,
    ) -> Prompt:
        """The prompt for these messages.

        Takes what `toolfmt.prompt.render` takes, and raises what it raises. A template that asks the clock is shown the
        present time unless `now` names another; other keywords (`enable_thinking`, …) are variables of the template.
        """
        return render(
            self.files,
            self._report,
            messages,
            tools,
            strategy,
            report_without_tools=self._report_without_tools,
            now=now or datetime.now(),
            add_generation_prompt=add_generation_prompt,
            **variables,
        )

    def write(self, calls: Sequence[Call], tools: object = None) -> str:
        """The text in which this model would make these calls, spelt as its template spells them.

        Takes what `toolfmt.write` takes behind the format; raises `CannotWrite`, `BadTools`, and `ToolfmtError` where
        the model's format is not known.
        """
        self._known()
        return write(spoken_format(self._report), calls, tools)

    def parser(self, *, tools: object = None, prefix: str | None = None, strict: bool = False) -> Parser:
        """A parser for an answer of this model.

        Takes what `toolfmt.Parser` takes; `prefix` is what the generation prompt of the template begins unless another
        is given. Raises `ToolfmtError` where the model's format is not known. A parser for one prompt in particular is
        `Prompt.parser()`.
        """
        begun = self._report.rendering.prefill if prefix is None else prefix
        return Parser(self._known(), tools=tools, prefix=begun, strict=strict)

    def _known(self) -> str:
        """The name of the model's format; raises where it is not known."""
        decision = self._report.format
        if decision.name is None:
            why = next((evidence.detail for evidence in decision.evidence), "nothing tells it")
            raise ToolfmtError(
                f"{self.files.directory}: the tool-call format of this model is not known ({why}); "
                "name one of `toolfmt formats` instead"
            )
        return decision.name

    @cached_property
    def _report(self) -> Report:
        return inspect_files(self.files)

    @cached_property
    def _report_without_tools(self) -> Report:
        """The report on the template in force where no tools are given."""
        source = self.files.template(False)
        if source is None or source == self.files.template(True):
            return self._report
        return inspect_files(replace(self.files, templates=(replace(source, name="default"),)))
