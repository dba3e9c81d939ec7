"""Count what parts of a prompt cost in tokens: the difference to the prompt without them.

The tokens section and the prompt budget use this. The tokenizer is passed as `count`, which returns the number of
tokens of a string.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from toolfmt.inspect.probe.differences import common_ends

# Farther than this from a difference between two prompts, both have the same tokens.
_NEIGHBOURHOOD = 100


class _Cost(Protocol):
    @property
    def tokens(self) -> int: ...


_C = TypeVar("_C", bound=_Cost)


def difference(count: Callable[[str], int], more: str, less: str) -> int:
    """Return how many more tokens `more` has than `less`. Only the text around the difference is tokenized."""
    begin, end = (max(0, same - _NEIGHBOURHOOD) for same in common_ends(more, less))
    return count(more[begin : len(more) - end]) - count(less[begin : len(less) - end])


def enough(costs: Sequence[_C], too_many: int) -> tuple[_C, ...]:
    """Return the fewest leading costs that add up to `too_many` tokens, or all of them if that is not enough.

    Sort by descending cost to drop as few parts as possible.
    """
    taken = 0
    while too_many > 0 and taken < len(costs):
        too_many -= costs[taken].tokens
        taken += 1
    return tuple(costs[:taken])
