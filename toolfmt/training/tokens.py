"""Token ids of a rendered conversation, with masks of what the model writes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.errors import ToolfmtError
from toolfmt.render.token_ids import OF_OTHERS, token_ids_and_offsets
from toolfmt.training.spans import TrainingSpan

IGNORED = -100
"""The label of a token that is not trained, as in PyTorch's cross entropy and in TRL."""


@dataclass(frozen=True)
class TrainingTokens:
    """A conversation as token ids.

    Attributes:
        input_ids: The token ids, without additions at either end.
        assistant_masks: 1 for each token that the model writes, otherwise 0.
        message_indices: The index of the message that each token belongs to, -1 for tool definitions and the
            template's own text.
        across: The positions in `input_ids` of tokens that contain characters of the model and of the template. They
            are not trained.
        offsets: The begin and end of each token in the text.
    """

    input_ids: list[int]
    assistant_masks: list[int]
    message_indices: list[int]
    across: list[int]
    offsets: list[tuple[int, int]]

    @property
    def labels(self) -> list[int]:
        """The token ids, with -100 for those that are not trained."""
        return [id if mask else IGNORED for id, mask in zip(self.input_ids, self.assistant_masks, strict=True)]


def tokenized(text: str, spans: Sequence[TrainingSpan], tokenizer: Any, max_length: int | None) -> TrainingTokens:
    """Return the tokens of the text. `TrainingText.tokenize` describes arguments and errors."""
    if max_length is not None and max_length < 0:
        raise ToolfmtError(f"max_length is {max_length}; give a number of tokens")
    others = [(span.begin, span.end) for span in spans if span.role in OF_OTHERS]
    ids, offsets = token_ids_and_offsets(text, others, tokenizer)
    if offsets is None:
        raise ToolfmtError("this tokenizer does not report offsets; use a fast tokenizer of transformers")
    masks, indices, across = [], [], []
    ordered = sorted(spans, key=lambda span: span.begin)
    first = 0
    for number, (begin, end) in enumerate(offsets[:max_length]):
        while first < len(ordered) and ordered[first].end <= begin:
            first += 1
        after = bisect_left(ordered, end, lo=first, key=lambda span: span.begin)
        touched = ordered[first:after]
        sampled = [span for span in touched if span.kind == "sampled"]
        inside = any(span.begin <= begin and end <= span.end for span in sampled)
        if sampled and not inside:
            across.append(number)
        masks.append(int(inside))
        indices.append(touched[-1].message if touched else -1)
    return TrainingTokens(ids[:max_length], masks, indices, across, offsets[:max_length])
