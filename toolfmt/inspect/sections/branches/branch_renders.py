"""Renders of conversations that target a template's conditions, and the outcomes of the conditions in each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from toolfmt.errors import LimitHit, TemplateError
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.sections.branches.conversations import BranchConversation, Manner, talk
from toolfmt.templates.analysis.conditions import Condition

KINDS = ("whole", "loop", "short", "parts", "plain")
"""The kinds of conversations.

Up to a second question, up to a result, a single question, a question of two parts, and a question without tools.
"""


@dataclass(frozen=True)
class BranchRender:
    """A prompt and the outcomes of the conditions while it was rendered (as in `Watch.seen`)."""

    prompt: str | TemplateError
    seen: frozenset[int]

    @property
    def raised_at(self) -> int | None:
        """The line on which the template raised, if it did."""
        return self.prompt.line if isinstance(self.prompt, TemplateError) else None

    @property
    def text(self) -> str:
        """The prompt, or an empty string if the template raised."""
        return self.prompt if isinstance(self.prompt, str) else ""


class Taking:
    """Renders conversations for a template and records their outcomes.

    `manner` is the form of conversations that the template accepts. `usual` has the prompts with the usual words, by
    kind, for the kinds that the template accepts.
    """

    def __init__(self, renders: Renders, manner: Manner) -> None:
        self.renders = renders
        self.manner = manner
        self.watch = renders.template.watch
        self.aims: dict[str, frozenset[int]] = {}
        """For each string that was composed to make conditions true: the numbers of these conditions."""
        self.watch.compared.clear()  # drop recorded values: only those of these conversations count
        if renders.words is not None:
            self.watch.usual = renders.words.usual
        kinds = KINDS if manner.tools else KINDS[:-1]
        made = {kind: self.make(talk(manner, kind)) for kind in kinds}
        self.usual = {kind: one for kind, one in made.items() if isinstance(one.prompt, str)}

    def make(self, given: BranchConversation, now: datetime | None = None) -> BranchRender:
        """Return the render of a conversation with the generation prompt.

        A limit that is hit is returned as an error and does not end the inspection: these conversations are longer
        than those of other probes.
        """

        return BranchRender(*self.watch.during(lambda: self.prompt(given, now)))

    def prompt(self, given: BranchConversation, now: datetime | None = None) -> str | TemplateError:
        """Return the prompt of a conversation, or the error if it fails or hits a limit."""
        try:
            return self.renders.fresh(given.messages, given.tools, now=now, generation=True)
        except LimitHit as hit:
            return TemplateError(str(hit), hit.line, "not-rendered", hit.engine_message)

    def apart(self, given: BranchConversation) -> BranchRender:
        """Return the render of a conversation without counting it as a test of a condition."""
        return self.watch.apart(lambda: self.make(given))

    def differing(self, one: BranchRender, other: BranchRender) -> list[Condition]:
        """Return the conditions with different outcomes in the two renders.

        Conditions that were evaluated in both come first; the others mostly depend on them.
        """
        numbers = {way // 2 for way in one.seen ^ other.seen}
        both = {way // 2 for way in one.seen} & {way // 2 for way in other.seen}
        found = [condition for condition in self.watch.conditions if condition.number in numbers]
        return sorted(found, key=lambda condition: (condition.number not in both, condition.line))
