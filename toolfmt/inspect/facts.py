"""Everything that is known about a model before findings are created: the input of the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from toolfmt.errors import TemplateError
from toolfmt.inspect.format.decision import FormatResolution
from toolfmt.inspect.probe.capabilities import Probed
from toolfmt.inspect.probe.conversations import TOOLS, USER, Message, user
from toolfmt.inspect.probe.needed_variables import needed_variables
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.tokenizer_file import TokenizerFile
from toolfmt.inspect.probe.turns.turn_probe import TurnProbe
from toolfmt.inspect.report.report import Answer, Sections, token_mark
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.templates import ChatTemplate, ModelFiles, TemplateSource


@dataclass(frozen=True)
class InspectionOptions:
    """What the caller requests besides the model itself.

    `tools` are the tools whose cost is counted (None for examples), `context` the context size in tokens that they
    have to fit into, `probe_seed` the seed of the sentinels (None for the default ones).
    """

    tools: Sequence[Message] | None = None
    context: int | None = None
    probe_seed: int | None = None


NO_OPTIONS = InspectionOptions()
_NOT_PROBED = Answer("no", "not asked")


@dataclass(frozen=True)
class IgnoreProblem:
    """A comment for toolfmt in the template that ignores nothing: its line, the code in it, and why.

    `protected` is a finding that a template cannot ignore, `unreadable` a comment without codes.
    """

    line: int
    code: str
    kind: Literal["unused", "unknown", "protected", "unreadable", "too many"]
    hint: str = ""


@dataclass(frozen=True)
class Facts:
    """The facts. Without a template, or with one that is `broken`, `renders` and `probed` are None."""

    files: ModelFiles
    """The files read from the model, or the single template."""
    template: TemplateSource | None
    """The probed template: the one used with tools, else the one without."""
    broken: TemplateError | None
    renders: Renders | None
    probed: Probed | None
    capabilities: dict[str, Answer]
    decided: FormatResolution
    needed_tokens: tuple[str, ...] = ()
    """Special tokens that the template needs and that nothing next to it defines."""
    missing_tokens: tuple[str, ...] = ()
    """Special tokens that the template needs and the model does not define; probes use substitutes."""
    unnamed_tokens: tuple[str, ...] = ()
    """Special tokens that the template prints if they are passed, and that the model's files do not define."""
    tokenizer: TokenizerFile | None = None
    """The model's tokenizer.json, or None."""
    options: InspectionOptions = field(default_factory=InspectionOptions)
    answers: dict[str, Answer] = field(default_factory=dict)
    """The answers about turns that the profile needs, by name."""
    profile: TemplateProfile = field(default_factory=TemplateProfile)
    """The profile for the renderer."""
    sections: Sections = field(default_factory=Sections)
    """The sections of the report; empty while they are being created."""
    ignore_problems: tuple[IgnoreProblem, ...] = ()
    """Known only after all other findings."""

    @property
    def marked(self) -> Renders | None:
        """Renders for display: unknown special tokens appear as their names in braces, not as substitutes."""
        if self.renders is None:
            return None
        return self.renders.given({name: token_mark(name) for name in self.renders.tokens})

    @cached_property
    def parsed(self) -> ChatTemplate | None:
        """The template for static analysis; None without one, or if it cannot be parsed."""
        if self.renders is not None or self.template is None:
            return None if self.renders is None else self.renders.template
        try:
            return ChatTemplate(self.template.text, origin=self.template.origin)
        except TemplateError:
            return None

    @property
    def shape(self) -> TurnShape | None:
        """The shape of a turn with a call that renders best; None if no call is rendered."""
        if self.decided.read_back is not None:
            return self.decided.read_back.shape
        return None if self.probed is None else self.probed.shape

    @property
    def headers(self) -> tuple[str, ...]:
        """Regular expressions for assistant headers that only the format knows."""
        return self.decided.format.headers if self.decided.format is not None else ()

    @property
    def renders_calls(self) -> bool:
        return self.shape is not None

    @property
    def shows_tools(self) -> bool:
        return self.yes("tools")

    @property
    def turn_probe(self) -> TurnProbe | None:
        """The probe for turns; None without a template that renders."""
        if self.renders is None or self.probed is None:
            return None
        return TurnProbe(self.renders, self.shape, parallel=self.probed.parallel, reasoning=self.yes("reasoning"))

    @property
    def question_form(self) -> Literal["text", "parts", "nothing"]:
        """The form in which a question's text reaches the prompt; `text` if the template rejects every question."""
        renders = self.renders
        if renders is None:
            return "text"
        if renders.content_as_parts:
            return "parts"
        made = [prompt for prompt in self._question_prompts if isinstance(prompt, str)]
        return "text" if not made or any(USER in prompt for prompt in made) else "nothing"

    @property
    def rejects_questions(self) -> bool:
        """Whether the template raises on a plain question in every form."""
        return bool(self._question_prompts) and not any(isinstance(prompt, str) for prompt in self._question_prompts)

    @property
    def rejects_tools(self) -> bool:
        """Whether it raises if tools are sent, but not on a plain question."""
        raises = self.renders is not None and self.capabilities["tools"].answer == "error"
        return raises and not self.rejects_questions

    @property
    def takes_longer_requests(self) -> bool:
        """Whether it raises on a plain question, but not if tools, a system message or its variables are sent too."""
        first, *others = self._question_prompts or [""]
        accepted = any(isinstance(prompt, str) for prompt in others) or bool(self.needed_variables)
        return isinstance(first, TemplateError) and accepted

    @property
    def takes_prose(self) -> bool:
        """Whether tools can be described in the system prompt: the template accepts a question without tools."""
        return self.renders is None or any(isinstance(prompt, str) for prompt in self._question_prompts[::2])

    @property
    def needed_variables(self) -> Mapping[str, str | list[str]]:
        """The custom variables without which it raises on every plain question, each with a value that is enough."""
        return needed_variables(self.renders) if self.renders is not None and self.rejects_questions else {}

    def generation_prompt_with(self, variables: dict[str, bool]) -> str:
        """Return what the generation prompt writes after the question with these values of the template's variables."""
        renders = None if self.renders is None else self.renders.given(variables)
        prompt = "" if renders is None else renders.render(user(), TOOLS, generation=True)
        return prompt.rpartition(USER)[2] if isinstance(prompt, str) else ""

    @property
    def _question_prompts(self) -> list[str | TemplateError]:
        """The prompts of a plain question, with and without a system message and tools."""
        if self.renders is None:
            return []
        ways = [(system, tools) for system in (False, True) for tools in (None, TOOLS)]
        return [self.renders.render(user(system=system), tools) for system, tools in ways]

    def detail(self, name: str) -> Answer:
        """Return a detail by its name; a plain `no` if it was not tested."""
        return self.sections.details.get(name, _NOT_PROBED)

    def yes(self, capability: str) -> bool:
        return self.capabilities[capability].answer == "yes"
