"""A model as one object: inspected, rendered for, and its answers parsed.

`load` is the way in. A `Model` reads its files once, is probed once and inspected once, each when that is first needed
(and inspected anew for tools or a context size); nothing it hands out changes afterwards. Everything raised for bad
input is a `ToolfmtError` of one line, but for an argument of the wrong type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from toolfmt.errors import LimitHit, TemplateError, ToolfmtError
from toolfmt.formats import Call, Parser, ToolCallFormat, write
from toolfmt.formats.prose import result_heading
from toolfmt.inspect.facts import NO_OPTIONS, InspectionOptions
from toolfmt.inspect.inspection import inspect_files, inspect_stopped
from toolfmt.inspect.probe.added_tokens import ids_in_config
from toolfmt.inspect.profiling import profile_files, profile_stopped, whole_profile
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.messages.tools import canonical_tools
from toolfmt.model.jobs import INSPECT, PROFILE, WorkerBackend, shared_worker, tokenizer_of
from toolfmt.model.sandbox.pool import Worker
from toolfmt.render.backend import InProcessBackend, RenderBackend, StrategyChoice
from toolfmt.render.compiled_template import spoken_format
from toolfmt.render.prompt import Prompt, broken, render
from toolfmt.render.request.saved_profile import restored, saved
from toolfmt.templates import ModelFiles, load_files

if TYPE_CHECKING:
    from toolfmt.grammars.grammar import Dialect, Grammar


def load(path: str | Path, *, trusted: bool = False, profile: str | None = None) -> Model:
    """The model at a path: a model directory, a .gguf file, a template's .jinja file, or a repository id (`org/name`,
    `org/name@revision`) of the Hugging Face hub, from the hub cache or fetched.

    A path that exists is never taken for a repository id. Raises `BadModelDirectory` where there is no model or a file
    of it cannot be read, with what was tried and the way out. The template of a model that is not `trusted` is
    probed, inspected and rendered in a process with limits on time and memory.

    `profile` is what `Model.saved_profile` gave for the same files: with it prompts are rendered without probing the
    templates again. Raises `BadProfile` for one of other files, or of another version of toolfmt.
    """
    files = load_files(path)
    return Model(files, trusted=trusted, profile=None if profile is None else restored(files, profile))


class Model:
    """A model. `files` is what was read of it, `files.directory` the path it was loaded by; the templates of `trusted`
    models run in this process, others in `worker` (the one that this process shares, unless another is given).
    """

    def __init__(
        self,
        files: ModelFiles,
        *,
        trusted: bool = False,
        worker: Worker | None = None,
        profile: TemplateProfile | None = None,
    ) -> None:
        self.files = files
        self._trusted = trusted
        self._worker = worker
        self._profile = profile
        self._inspected: Report | None = None

    def inspect(self, *, tools: object = None, context: int | None = None, probe_seed: int | None = None) -> Report:
        """The report: capabilities, format, strategy, findings, each with its evidence.

        `tools` are the definitions whose cost in tokens is counted (toolfmt's examples where there are none), `context`
        the number of tokens that they have to fit into, `probe_seed` a number from which the words of the probes are
        drawn (a template that knows the usual ones has another report then). Raises `BadTools`, `WorkerUnavailable` if
        the machine cannot run a template that is not trusted, and `ToolfmtError` if toolfmt fails in the worker. Errors
        of the template are findings; they are never raised.
        """
        if tools is not None or context is not None or probe_seed is not None:
            return self._inspect(
                InspectionOptions(None if tools is None else canonical_tools(tools), context, probe_seed)
            )
        if self._inspected is None:
            self._inspected = self._inspect(NO_OPTIONS)
        return self._inspected

    @property
    def broken(self) -> TemplateError | None:
        """Why the template in force does not compile; None where it does, or where there is none."""
        return broken(self.files, self.profile)

    def render(
        self,
        messages: object,
        tools: object = None,
        strategy: StrategyChoice = "auto",
        *,
        now: datetime | None = None,
        **options: Any,
    ) -> Prompt:
        """The prompt for these messages.

        Takes what `toolfmt.render.prompt.render` takes, and raises what it raises; and `LimitHit` where the template of
        a model that is not trusted takes more than it may. A template that asks the clock is
        shown the present time unless `now` names another; keywords that `render` does not know (`enable_thinking`, …)
        are variables that the template reads; any other is refused.
        """
        tools = list(tools) if isinstance(tools, Iterator) else tools
        messages = list(messages) if isinstance(messages, (list, tuple)) else messages
        given = {"now": now or datetime.now(), **self._with_markers(options)}
        prompt = render(self.files, self.profile, messages, tools, strategy, making=self._making, **given)
        return replace(prompt, render_again=lambda **more: self.render(messages, tools, strategy, **{**given, **more}))

    def _with_markers(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options with the markers that are to be neutralized, which are read once a model."""
        return {"markers": self._markers, **options} if options.get("neutralize") else options

    @cached_property
    def _markers(self) -> tuple[str, ...]:
        return tuple(self._making.markers())

    def counter(self, tokenizer: Any = None) -> Callable[[str], int]:
        """How many tokens a text has: by this tokenizer, or without one by the model's own, which runs where its
        template does. Raises `ToolfmtError` where there is neither, and for what is no tokenizer.
        """
        return self._making.counter(tokenizer)

    @cached_property
    def _making(self) -> RenderBackend:
        """Where the template runs."""
        if self._trusted:
            return InProcessBackend(self.files, self.profile)
        return WorkerBackend(self.files, self.profile, self._asked)

    def write(self, calls: Sequence[Call], tools: object = None) -> str:
        """The text in which this model would make these calls, in the variant that its template renders.

        Takes what `toolfmt.write` takes behind the format; raises `CannotWrite`, `BadTools`, and `ToolfmtError` where
        the model's format is not known.
        """
        self._known()
        return write(spoken_format(self.profile), calls, tools)

    def parser(
        self,
        *,
        tools: object = None,
        prefix: str | None = None,
        strict: bool = False,
        stop: Iterable[str] | None = None,
        reasoning: Literal["events", "text"] = "events",
    ) -> Parser:
        """A parser for an answer of this model.

        Takes what `toolfmt.Parser` takes; `prefix` is what the generation prompt of the template begins, and `stop`
        what this model's answers end at (but for what calls are written with; where tools are told in words, with the
        heading of a result that the model invents), unless others are given. Raises
        `ToolfmtError` where the model's format is not known. A parser for one prompt in particular is
        `Prompt.parser()`.
        """
        known = self._known()
        begun = self.profile.prefill if prefix is None else prefix
        tools = list(tools) if isinstance(tools, Iterator) else tools
        ends = [mark for mark in self.profile.stop if not known.in_calls(mark)] if stop is None else stop
        if stop is None and tools and self.profile.strategy == "prompt":
            ends = [*ends, *(result_heading(tool["function"]["name"]) for tool in canonical_tools(tools))]
        return Parser(known, tools=tools, prefix=begun, strict=strict, stop=ends, reasoning=reasoning)

    def grammar(
        self,
        tools: object,
        *,
        dialect: Dialect = "llguidance",
        choice: str = "auto",
        parallel: bool = True,
        prefix: str | None = None,
    ) -> Grammar:
        """The grammar of this model's answers with these tools, in the variant that its template renders.

        Takes what `toolfmt.grammar` takes behind the format; `prefix` is what the generation prompt of the template
        begins, unless another is given. The markers that are one token of the model's tokenizer are named by their ids.
        Raises what `toolfmt.grammar` raises, and `ToolfmtError` where the model's format is not known, or its tokenizer
        cannot be read.
        """
        from toolfmt.grammars.grammar import grammar

        self._known()
        tokens = ids_in_config(self.files.tokenizer_config)
        tokenizer = tokenizer_of(self.files)
        if tokenizer is not None and not (tokens and tokenizer.problem):
            tokens |= tokenizer.marker_ids
        begun = self.profile.prefill if prefix is None else prefix
        known = spoken_format(self.profile)
        return grammar(known, tools, dialect=dialect, choice=choice, parallel=parallel, tokens=tokens, prefix=begun)

    def saved_profile(self) -> str:
        """The profile as text (JSON), to be kept beside the model and given to `load` as `profile`.

        Raises `BadProfile` where the template hit a limit, which it may not do another time.
        """
        return saved(self.files, self.profile)

    def _known(self) -> ToolCallFormat:
        """The model's format; raises where it is not known."""
        known = self.profile.tool_call_format
        if known is None:
            raise ToolfmtError(
                f"{self.files.directory}: the tool-call format of this model is not known "
                f"({self.profile.why_no_format}); name one of `toolfmt formats` instead"
            )
        return known

    @cached_property
    def profile(self) -> TemplateProfile:
        """What rendering needs to know of the model's templates: what was given, else what the report holds where there
        is one, else what probing them shows.
        """
        return self._profile or whole_profile(self.files, self._profiled)

    def _profiled(self, files: ModelFiles) -> TemplateProfile:
        """The profile of one template; a chapter of the report may hit a limit where it does not."""
        report = self._inspected if files is self.files else None
        if report is not None and (report.profile.failure is None or not report.profile.failure.limit):
            return report.profile
        if self._trusted:
            return profile_files(files)
        try:
            return self._asked().run(PROFILE, files, tokenizer_of(files))
        except LimitHit as hit:
            return profile_stopped(files, hit)

    def _asked(self) -> Worker:
        return self._worker or shared_worker()

    def _inspect(self, options: InspectionOptions) -> Report:
        if self._trusted:
            return inspect_files(self.files, options)
        try:
            return self._asked().run(INSPECT, self.files, options, tokenizer_of(self.files))
        except LimitHit as hit:
            return inspect_stopped(self.files, options, hit)
