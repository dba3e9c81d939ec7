"""What `toolfmt training` counts, and the conversations that its page shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolfmt.cli.training.dataset import Rendered, Sample
from toolfmt.training import Problem, ProblemKind

_MOST_SHOWN = 50
"""Maximum number of samples on the page, whether they have problems or not."""
_MOST_OF_A_KIND = 5
"""Maximum number of further samples on the page for each kind of problem."""


@dataclass
class ProblemCount:
    """How many messages have a kind of problem, and the first one with its line."""

    line: int
    first: Problem
    messages: int = 0
    conversations: int = 0

    def __str__(self) -> str:
        return f"line {self.line}, messages[{self.first.message}]: {self.first.detail}"


@dataclass
class TrainingSummary:
    """The counts of a run.

    `left_out` are the lines of samples with nothing to train. `messages` counts the messages selected for training,
    `cut` those that the maximum length cuts, `across` the tokens with characters of both the model and the template.
    """

    has_tokens: bool
    conversations: int = 0
    samples: int = 0
    left_out: list[int] = field(default_factory=list)
    tokens: int = 0
    trained_tokens: int = 0
    across: int = 0
    messages: int = 0
    trained_messages: int = 0
    cut: int = 0
    problems: dict[ProblemKind, ProblemCount] = field(default_factory=dict)
    shown: list[tuple[int, Sample]] = field(default_factory=list)

    def add(self, one: Rendered) -> None:
        """Count the samples of a line."""
        self.conversations += 1
        for sample in one.samples:
            self._count(one.line, sample)

    def _count(self, line: int, sample: Sample) -> None:
        problems = sample.text.problems
        self.samples += 1
        if not sample.is_trained:
            self.left_out.append(line)
        if sample.tokens is not None:
            self.tokens += len(sample.tokens.input_ids)
            self.trained_tokens += sum(sample.tokens.assistant_masks)
            self.across += len(sample.tokens.across)
        sampled = {span.message for span in sample.text.spans if span.kind == "sampled"}
        cut = {span.message for span in sample.text.spans if span.kind == "sampled" and span.end > sample.end}
        untrained = {problem.message for problem in problems if not problem.trained}
        self.messages += len(sampled | untrained)
        self.trained_messages += len(sampled - cut)
        self.cut += len(cut)
        rare = False
        for kind in dict.fromkeys(problem.kind for problem in problems):
            of_kind = [problem for problem in problems if problem.kind == kind]
            count = self.problems.setdefault(kind, ProblemCount(line, of_kind[0]))
            count.messages += len({problem.message for problem in of_kind})
            count.conversations += 1
            rare = rare or count.conversations <= _MOST_OF_A_KIND
        if rare or self.samples <= _MOST_SHOWN:
            self.shown.append((line, sample))
