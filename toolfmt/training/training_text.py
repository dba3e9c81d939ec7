"""A rendered conversation with the parts that the model writes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from toolfmt.render.prompt import Prompt
from toolfmt.training.spans import Problem, TrainingSpan
from toolfmt.training.tokens import TrainingTokens, tokenized


@dataclass(frozen=True)
class TrainingText:
    """A rendered conversation, and who writes what in it.

    Attributes:
        text: The conversation as the template renders it, without a generation prompt.
        spans: The parts with a known origin, in order. Everything between them comes from the template.
        problems: Which messages are not trained and why, and where generation differs from this text.
        prompt: The rendering.
    """

    text: str
    spans: tuple[TrainingSpan, ...]
    problems: tuple[Problem, ...] = ()
    prompt: Prompt | None = field(default=None, repr=False, compare=False)

    def tokenize(self, tokenizer: Any, *, max_length: int | None = None) -> TrainingTokens:
        """Return the token ids with masks and labels.

        Texts of users, results and definitions give no control tokens, whatever they contain. A token with characters
        of the model and of the template is not trained, and is listed in `across`.

        Args:
            tokenizer: A fast tokenizer of transformers, or one of tokenizers.
            max_length: The maximum number of tokens. Later ones are left out.

        Raises:
            ToolfmtError: The tokenizer does not report offsets, or a control token cannot be prevented.
        """
        return tokenized(self.text, self.spans, tokenizer, max_length)

    def to_dict(self) -> dict[str, Any]:
        """Return text, spans and problems as JSON data."""
        spans, problems = (list(map(asdict, parts)) for parts in (self.spans, self.problems))
        return {"text": self.text, "spans": spans, "problems": problems}
