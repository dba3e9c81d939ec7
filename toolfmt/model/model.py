"""The model as one object: inspect it, render prompts for it, and parse its output.

`load` is the entry point. A `Model` reads its files once and is probed and inspected once, on first use. It is
inspected again for other tools or another context size. Returned objects never change afterwards. All invalid input
raises a `ToolfmtError` with a one-line message, except arguments of the wrong type.
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
from toolfmt.formats.parser.argument_check import Validate
from toolfmt.formats.prompting.tool_descriptions import result_heading
from toolfmt.formats.tolerances import Tolerate
from toolfmt.inspect.facts import NO_OPTIONS, InspectionOptions
from toolfmt.inspect.inspection import inspect_files, inspect_stopped
from toolfmt.inspect.probe.added_tokens import ids_in_config
from toolfmt.inspect.profiling import profile_files, profile_stopped, whole_profile
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.messages.tools import canonical_tools
from toolfmt.model.jobs import INSPECT, PROFILE, TRAIN, WorkerBackend, shared_worker, tokenizer_of
from toolfmt.model.sandbox.pool import Worker
from toolfmt.render.backend import InProcessBackend, RenderBackend, StrategyChoice
from toolfmt.render.compiled_template import taught_format
from toolfmt.render.prompt import Prompt, broken, render
from toolfmt.render.request.saved_profile import restored, saved
from toolfmt.templates import ModelFiles, load_files
from toolfmt.training.inspection import TrainingReport, inspect_training

if TYPE_CHECKING:
    from toolfmt.grammars.grammar import Grammar, GrammarSyntax
    from toolfmt.training import TrainingText
    from toolfmt.training.rendering import Train


def load(path: str | Path, *, trusted: bool = False, profile: str | None = None) -> Model:
    """Return the model at a path.

    The template of a model that is not `trusted` is probed, inspected and rendered in a process with limits on time and
    memory.

    Args:
        path: A model directory, a .gguf file, a .jinja template file, or a repository id (`org/name`,
            `org/name@revision`) of the Hugging Face hub. A repository is read from the hub cache or downloaded. A path
            that exists never counts as a repository id.
        trusted: Run the template in this process, without limits.
        profile: What `Model.saved_profile` returned for the same files. Prompts are then rendered without probing the
            templates again.

    Raises:
        BadModelDirectory: No model is found, or one of its files cannot be read. The message lists what was tried.
        BadProfile: `profile` is for other files or another toolfmt version.
    """
    files = load_files(path)
    return Model(files, trusted=trusted, profile=None if profile is None else restored(files, profile))


class Model:
    """A model: inspect it, render prompts for it, and parse its output. `load` creates one.

    Args:
        files: The files read from the model.
        trusted: Run the templates in this process.
        worker: The worker process for templates that are not trusted. The default is the process-wide shared worker.
        profile: The profile of the templates, if it is already known.

    Attributes:
        files (ModelFiles): The files read from the model. `files.directory` is the path it was loaded from.
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
        """Return the report: capabilities, format, strategy, and findings, each with its evidence.

        Errors of the template are findings and are never raised.

        Args:
            tools: The definitions whose tokens are counted. The default is examples.
            context: The number of tokens that they must fit into.
            probe_seed: A number that selects the words of the probes. Use another seed to detect templates that
                special-case the probe words.

        Raises:
            BadTools: The tool definitions are not valid.
            WorkerUnavailable: The machine cannot run an untrusted template.
            ToolfmtError: toolfmt fails in the worker.
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
        """The compile error of the template in use.

        None if it compiles, or if the model has no template.
        """
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
        """Return the prompt for these messages. It contains every text, call, argument, result and tool once, in order.

        Args:
            messages: The conversation, a list of chat messages.
            tools: Tool definitions in any supported form. With an empty list, the prompt is the same as with None, but
                `Prompt.parser()` rejects every call; with None, it accepts any name.
            strategy: How the tools are passed: through the template (`template`) or described in the system prompt
                (`prompt`). With `auto`, the profile of the template decides.
            now: The current time for a template that reads the clock. The default is the time of the call.
            **options: The options below. Other keywords (`enable_thinking`, …) are variables that the template reads.

        Keyword Args:
            add_generation_prompt (bool): End the prompt with the start of a response. The default is True.
            continue_final_message (bool): Keep the last assistant message open. The parser starts in it.
            lossy (bool): Instead of raising, list in `Prompt.lost` what the template loses whichever adaptations are
                tried.
            neutralize (bool): Insert a dot after the first character of each marker in user texts, results and
                definitions, so that it does not become a control token.
            markers (Sequence[str] | None): The strings to neutralize. The default is to read them from the model's
                files.
            sort_tools (bool): Sort the definitions, if their source has no stable order.
            sort_properties (bool): Sort the parameters of a definition, for the same reason.
            narrow (Callable | None): A function that takes the tools and the messages, and returns the tools that this
                prompt shows. The parser still knows all tools.
            context (int | None): A number of tokens. `Prompt.budget` then shows how many are used.
            tokenizer (Any): The tokenizer that counts them. The default is the model's own.

        Raises:
            BadMessages: The messages are not valid.
            BadTools: The tool definitions are not valid.
            BadModelDirectory: The model has no template.
            TemplateError: The template raises or fails.
            LimitHit: An untrusted template exceeds a limit.
            NotDelivered: The template loses something, whichever adaptations are tried.
            ToolfmtError: A variable that the template does not read, a context without a tokenizer, or the strategy
                `template` for a template that drops the tools.
        """
        tools = list(tools) if isinstance(tools, Iterator) else tools
        messages = list(messages) if isinstance(messages, (list, tuple)) else messages
        given = {"now": now or datetime.now(), **self._with_markers(options)}
        prompt = render(self.files, self.profile, messages, tools, strategy, making=self._making, **given)
        return replace(prompt, render_again=lambda **more: self.render(messages, tools, strategy, **{**given, **more}))

    def _with_markers(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options with the markers to neutralize, which are read once per model."""
        return {"markers": self._markers, **options} if options.get("neutralize") else options

    @cached_property
    def _markers(self) -> tuple[str, ...]:
        return tuple(self._making.markers())

    def render_training(
        self,
        messages: object,
        tools: object = None,
        *,
        train: Train = "all",
        train_reasoning: bool = True,
        strict: bool = False,
        now: datetime | None = None,
        **options: Any,
    ) -> TrainingText:
        """Return the whole conversation, and which parts of it the model writes.

        A response begins where the prompt for it ends, and includes the stop string. Its text must parse as exactly the
        message; otherwise it is not trained, and `problems` contains the reason.

        Args:
            messages: The conversation, as for `render`.
            tools: Tool definitions, as for `render`.
            train: Which messages of the model to train: `all`, the `last` ones (after the last user message), both
                without messages of `weight` 0, or one flag for each message.
            train_reasoning: Whether the reasoning in them is trained, too.
            strict: Raise if one of them cannot be verified.
            now: As for `render`.
            **options: Options and variables of `render`.

        Raises:
            BadMessages: The messages are not valid, or there is not one flag for each.
            ToolfmtError: With `strict`, a message cannot be verified. Otherwise what `render` raises.
        """
        from toolfmt.training.rendering import training_text

        tools = list(tools) if isinstance(tools, Iterator) else tools
        given = {"now": now or datetime.now(), **options}
        return training_text(
            lambda some, **more: self.render(some, tools, **given, **more),
            messages,
            train=train,
            train_reasoning=train_reasoning,
            strict=strict,
        )

    def inspect_training(self, *, keep_reasoning: bool = False) -> TrainingReport:
        """Return whether loss masks of the template can be verified, and what `{% generation %}` marks in it.

        Args:
            keep_reasoning: Report on the template after a change that keeps the reasoning of earlier turns.

        Raises:
            BadModelDirectory: The model has no template.
            TemplateError: The template does not compile, or fails for every conversation.
            ToolfmtError: No such change is found. Otherwise what `render` raises.
        """
        if (broken := self.broken) is not None:
            raise broken
        if self._trusted:
            return inspect_training(self.files, self.profile, keep_reasoning=keep_reasoning)
        return self._current_worker().run(TRAIN, self.files, self.profile, keep_reasoning)

    def counter(self, tokenizer: Any = None) -> Callable[[str], int]:
        """Return a function that counts the tokens of a string.

        The model's own tokenizer runs where its template does.

        Args:
            tokenizer: The tokenizer to use. The default is the model's own.

        Raises:
            ToolfmtError: There is no tokenizer, or `tokenizer` is not one.
        """
        return self._making.counter(tokenizer)

    @cached_property
    def _making(self) -> RenderBackend:
        """The backend that runs the template."""
        if self._trusted:
            return InProcessBackend(self.files, self.profile)
        return WorkerBackend(self.files, self.profile, self._current_worker)

    def write(self, calls: Sequence[Call], tools: object = None) -> str:
        """Return these calls as this model would write them, in the variant that its template renders.

        Args:
            calls: Pairs of a tool's name and its arguments.
            tools: Tool definitions, as for `toolfmt.write`.

        Raises:
            CannotWrite: The format cannot represent a call.
            BadTools: The tool definitions are not valid.
            ToolfmtError: The model's format is unknown.
        """
        self._known()
        return write(taught_format(self.profile), calls, tools)

    def parser(
        self,
        *,
        tools: object = None,
        prefix: str | None = None,
        strict: bool = False,
        tolerate: Tolerate = "all",
        validate: Validate | None = None,
        stop: Iterable[str] | None = None,
        reasoning: Literal["events", "text"] = "events",
    ) -> Parser:
        """Return a parser for this model's output. For the parser of one prompt, use `Prompt.parser()`.

        Args:
            tools: Tool definitions, as for `toolfmt.Parser`.
            prefix: The tail of the prompt. The default is the prefill of the template's generation prompt.
            strict: As for `toolfmt.Parser`.
            tolerate: As for `toolfmt.Parser`.
            validate: As for `toolfmt.Parser`.
            stop: The strings at which the output ends. The default is the model's stop strings, except those that are
                part of a call's syntax. If the tools are described in the system prompt, the text `Result of` and the
                name of each tool are added, so that the model cannot invent a tool result.
            reasoning: As for `toolfmt.Parser`.

        Raises:
            ToolfmtError: The model's format is unknown.
        """
        known = self._known()
        output_prefix = self.profile.prefill if prefix is None else prefix
        tools = list(tools) if isinstance(tools, Iterator) else tools
        ends = [mark for mark in self.profile.stop if not known.in_calls(mark)] if stop is None else stop
        if stop is None and tools and self.profile.strategy == "prompt":
            ends = [*ends, *(result_heading(tool["function"]["name"]) for tool in canonical_tools(tools))]
        options: dict[str, Any] = {"strict": strict, "tolerate": tolerate, "validate": validate, "reasoning": reasoning}
        return Parser(known, tools=tools, prefix=output_prefix, stop=ends, **options)

    def grammar(
        self,
        tools: object,
        *,
        syntax: GrammarSyntax = "llguidance",
        choice: str = "auto",
        parallel: bool = True,
        prefix: str | None = None,
    ) -> Grammar:
        """Return the grammar of this model's output with these tools, in the variant that its template renders.

        Markers that are one token of the model's tokenizer are referenced by their ids.

        Args:
            tools: Tool definitions, as for `toolfmt.grammar`.
            syntax: The grammar format of the engine.
            choice: As for `toolfmt.grammar`: `auto`, `required`, or the name of the tool to call.
            parallel: Allow several calls.
            prefix: The tail of the prompt. The default is the prefill of the template's generation prompt.

        Raises:
            CannotConstrain: No grammar exists for a tool or an argument.
            BadTools: The tool definitions are not valid.
            ToolfmtError: The model's format is unknown, or its tokenizer cannot be read.
        """
        from toolfmt.grammars.grammar import grammar

        self._known()
        tokens = ids_in_config(self.files.tokenizer_config)
        tokenizer = tokenizer_of(self.files)
        if tokenizer is not None and not (tokens and tokenizer.problem):
            tokens |= tokenizer.marker_ids
        output_prefix = self.profile.prefill if prefix is None else prefix
        known = taught_format(self.profile)
        return grammar(
            known, tools, syntax=syntax, choice=choice, parallel=parallel, tokens=tokens, prefix=output_prefix
        )

    def saved_profile(self) -> str:
        """Return the profile as text (JSON), to store next to the model and to pass to `load` as `profile`.

        Raises:
            BadProfile: The template hit a limit, so the result may not be reproducible.
        """
        return saved(self.files, self.profile)

    def _known(self) -> ToolCallFormat:
        """Return the model's format. Raises `ToolfmtError` if it is unknown."""
        known = self.profile.tool_call_format
        if known is None:
            raise ToolfmtError(
                f"{self.files.directory}: the tool-call format of this model is not known "
                f"({self.profile.why_no_format}); name one of `toolfmt formats` instead"
            )
        return known

    @cached_property
    def profile(self) -> TemplateProfile:
        """What rendering needs to know about the templates.

        The saved profile if there is one, else the profile of the report, else the result of a new probe.
        """
        return self._profile or whole_profile(self.files, self._profiled)

    def _profiled(self, files: ModelFiles) -> TemplateProfile:
        """Return the profile of one template. A section of the report may hit a limit even if this does not."""
        report = self._inspected if files is self.files else None
        if report is not None and (report.profile.failure is None or not report.profile.failure.limit):
            return report.profile
        if self._trusted:
            return profile_files(files)
        try:
            return self._current_worker().run(PROFILE, files, tokenizer_of(files))
        except LimitHit as hit:
            return profile_stopped(files, hit)

    def _current_worker(self) -> Worker:
        return self._worker or shared_worker()

    def _inspect(self, options: InspectionOptions) -> Report:
        if self._trusted:
            return inspect_files(self.files, options)
        try:
            return self._current_worker().run(INSPECT, self.files, options, tokenizer_of(self.files))
        except LimitHit as hit:
            return inspect_stopped(self.files, options, hit)
