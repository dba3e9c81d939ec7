"""What parts of a prompt cost in tokens: what it has fewer of without them.

The chapter on tokens and the budget of a prompt count so. Nothing here knows tokenizers; `count` says how many tokens a
text has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from toolfmt.inspect.probe.differences import common_ends

# Farther from the place where two prompts differ than this, they are cut alike.
_NEIGHBOURHOOD = 100


class _Cost(Protocol):
    @property
    def tokens(self) -> int: ...


_C = TypeVar("_C", bound=_Cost)


def difference(count: Callable[[str], int], more: str, less: str) -> int:
    """How many tokens one text has more than another; only where they differ, and a little around, is anything cut."""
    begin, end = (max(0, same - _NEIGHBOURHOOD) for same in common_ends(more, less))
    return count(more[begin : len(more) - end]) - count(less[begin : len(less) - end])


def enough(costs: Sequence[_C], too_many: int) -> tuple[_C, ...]:
    """The first of the costs that together are so many tokens, so that without them the rest fits; all where all are
    fewer. With the dearest first, the fewest parts are lost.
    """
    taken = 0
    while too_many > 0 and taken < len(costs):
        too_many -= costs[taken].tokens
        taken += 1
    return tuple(costs[:taken])
