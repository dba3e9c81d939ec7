"""A template's renders of conversations made for its conditions, and how the conditions came out in each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from toolfmt.errors import LimitHit, TemplateError
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.sections.branches.conversations import BranchConversation, Manner, talk
from toolfmt.templates.analysis.conditions import Condition

KINDS = ("whole", "loop", "short", "parts", "plain")
"""A conversation to its second question; one that ends with a result; a lone question, one of two parts, and one
without tools."""


@dataclass(frozen=True)
class BranchRender:
    """A prompt, and how the conditions came out while it was made (as in `Watch.seen`)."""

    prompt: str | TemplateError
    seen: frozenset[int]

    @property
    def refused_at(self) -> int | None:
        """The line on which the template threw, where it did."""
        return self.prompt.line if isinstance(self.prompt, TemplateError) else None

    @property
    def text(self) -> str:
        """The prompt; empty where the template threw."""
        return self.prompt if isinstance(self.prompt, str) else ""


class Taking:
    """`manner` is how conversations are written for the template; `usual` the prompts in the usual words, by kind, of
    the conversations that the template takes.
    """

    def __init__(self, renders: Renders, manner: Manner) -> None:
        self.renders = renders
        self.manner = manner
        self.watch = renders.template.watch
        self.aims: dict[str, frozenset[int]] = {}
        """By a text that was put together to make conditions true: the numbers of these."""
        self.watch.compared.clear()  # room for the values of these conversations
        if renders.words is not None:
            self.watch.usual = renders.words.usual
        kinds = KINDS if manner.tools else KINDS[:-1]
        made = {kind: self.make(talk(manner, kind)) for kind in kinds}
        self.usual = {kind: one for kind, one in made.items() if isinstance(one.prompt, str)}

    def make(self, given: BranchConversation, now: datetime | None = None) -> BranchRender:
        """The prompt of a conversation, for an answer to it; what takes too much is told as an error, and ends
        nothing: this conversation is longer than any other probe.
        """

        return BranchRender(*self.watch.during(lambda: self.prompt(given, now)))

    def prompt(self, given: BranchConversation, now: datetime | None = None) -> str | TemplateError:
        """Return the prompt of a conversation, or the error if it fails or hits a limit."""
        try:
            return self.renders.fresh(given.messages, given.tools, now=now, generation=True)
        except LimitHit as hit:
            return TemplateError(str(hit), hit.line, "not-rendered", hit.own_words)

    def apart(self, given: BranchConversation) -> BranchRender:
        """The prompt of a conversation that counts as no test of a condition: no single text is responsible for it."""
        return self.watch.apart(lambda: self.make(given))

    def differing(self, one: BranchRender, other: BranchRender) -> list[Condition]:
        """The conditions that came out otherwise in one of the prompts than in the other, those first that were asked
        in both: what is asked in one only mostly follows from another.
        """
        numbers = {way // 2 for way in one.seen ^ other.seen}
        both = {way // 2 for way in one.seen} & {way // 2 for way in other.seen}
        found = [condition for condition in self.watch.conditions if condition.number in numbers]
        return sorted(found, key=lambda condition: (condition.number not in both, condition.line))
