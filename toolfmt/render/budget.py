"""What of the context a prompt takes, and where it is too long which tools and turns would help. Nothing is cut.

`budget` is given the finished text, a way to count tokens (`counter` makes one) and a way to render the request without
some of it: what a part costs is what the prompt has fewer without it. Nothing is rendered where the prompt fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from toolfmt._util.text_lists import listed
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.probe.token_costs import difference, enough
from toolfmt.inspect.probe.tokenizer_file import find_tokenizer
from toolfmt.messages.tools import kind_of
from toolfmt.render.request.messages import Message
from toolfmt.render.token_ids import check_tokenizer, encoded
from toolfmt.templates import ModelFiles


class RenderWithout(Protocol):
    """The prompt of the request without the tools of these names and the messages of these positions; None where the
    template refuses that."""

    def __call__(self, *, tools: Sequence[str], messages: Sequence[int]) -> str | None: ...


@dataclass(frozen=True)
class ToolTokens:
    """What a tool's definition takes of the prompt."""

    name: str
    tokens: int


@dataclass(frozen=True)
class TurnTokens:
    """What a turn takes: the user's message at `begin` of the messages, and those behind it before `end`."""

    begin: int
    end: int
    tokens: int


@dataclass(frozen=True)
class Budget:
    """The tokens of a prompt beside the `context`: those `used`, and those `left` or `over`.

    Where it is over, `tools` are the dearest, so many that without them the prompt fits, and `turns` the oldest, so
    many that without them it does; all there are where they do not suffice: the last turn stays. What it is over still
    without the tools, without the turns and without both stands in `over_without_…`.
    """

    context: int
    used: int
    left: int
    over: int
    tools: tuple[ToolTokens, ...] = ()
    turns: tuple[TurnTokens, ...] = ()
    over_without_tools: int = 0
    over_without_turns: int = 0
    over_without_both: int = 0

    @property
    def sentence(self) -> str:
        """All of it for a person, in a sentence."""
        used = f"the prompt has {self.used:,} tokens of {self.context:,}"
        if not self.over:
            return f"{used}: {self.left:,} left"
        told = f"{used}: {self.over:,} too many"
        ways = [(self.tools, self.over_without_tools, self._tools), (self.turns, self.over_without_turns, self._turns)]
        enough_alone = [words for _, still, words in ways if not still]
        if enough_alone:
            return f"{told}; it fits without {' or without '.join(enough_alone)}"
        both = " and ".join(words for parts, _, words in ways if parts)
        if not both:
            return f"{told}; no tool and no earlier turn can be left out"
        still = self.over_without_both
        return f"{told}; without {both} " + (f"{still:,} are too many still" if still else "it fits")

    @property
    def _tools(self) -> str:
        named = listed(f"{tool.name} ({tool.tokens:,})" for tool in self.tools)
        return f"the {'tools' if len(self.tools) > 1 else 'tool'} {named}"

    @property
    def _turns(self) -> str:
        if not self.turns:
            return ""
        first, last = self.turns[0].begin, self.turns[-1].end - 1
        which = f"messages[{first}]" + (f" to messages[{last}]" if last > first else "")
        return f"{which} ({sum(turn.tokens for turn in self.turns):,})"


def counter(files: ModelFiles, tokenizer: Any = None) -> Callable[[str], int]:
    """How many tokens a text has: by the tokenizer where one is given (of transformers, of `tokenizers`, or with
    `encode(text, add_special_tokens=False)`), else by the model's tokenizer.json, which is read with the first text.

    Raises `ToolfmtError` where there is neither, and for what is no tokenizer; the function that it returns, where the
    file cannot be read.
    """
    if tokenizer is not None:
        check_tokenizer(tokenizer)
        return lambda text: len(encoded(tokenizer, text)[0])
    found = find_tokenizer(files.home)
    if found is None:
        raise ToolfmtError(
            f"{files.directory}: there is no tokenizer.json, which is needed to count tokens; pass a tokenizer"
        )
    return found.count


def budget(
    text: str,
    context: int,
    count: Callable[[str], int],
    tools: Sequence[str],
    messages: Sequence[Message],
    render_without: RenderWithout,
) -> Budget:
    """The budget of a finished prompt.

    Takes its text, the tokens that the context holds, the names of its tools and its canonical messages, and how to
    render it without some of them. Raises `ToolfmtError` where the context is not a number above zero.
    """
    if isinstance(context, bool) or not isinstance(context, int) or context < 1:
        given = f"{context:,}" if isinstance(context, int) and not isinstance(context, bool) else kind_of(context)
        raise ToolfmtError(f"the context is a number of tokens above zero, not {given}")
    used = count(text)
    over = used - context
    if over <= 0:
        return Budget(context, used, -over, 0)

    def saved(*, tools: Sequence[str] = (), messages: Sequence[int] = ()) -> int | None:
        rest = render_without(tools=tools, messages=messages)
        return None if rest is None else difference(count, text, rest)

    dearest, over_without_tools = _dearest(tools, over, saved)
    oldest, over_without_turns = _oldest(_turns(messages), over, saved)
    both = min(over_without_tools, over_without_turns)
    if both and dearest and oldest:
        all_of_them = saved(tools=[tool.name for tool in dearest], messages=_positions(oldest))
        both = both if all_of_them is None else max(0, over - all_of_them)
    return Budget(context, used, 0, over, dearest, oldest, over_without_tools, over_without_turns, both)


class _Saved(Protocol):
    """How many tokens fewer the prompt has without these; None where the template refuses that."""

    def __call__(self, *, tools: Sequence[str] = (), messages: Sequence[int] = ()) -> int | None: ...


def _dearest(tools: Sequence[str], over: int, saved: _Saved) -> tuple[tuple[ToolTokens, ...], int]:
    """The dearest tools without which the prompt fits, and how much it is over still without them."""
    each = [(name, saved(tools=[name])) for name in tools]
    costs = [ToolTokens(name, tokens) for name, tokens in each if tokens is not None and tokens > 0]
    costs.sort(key=lambda cost: -cost.tokens)
    # What several take together is only nearly the sum of what each takes.
    size = len(enough(costs, over))
    while True:
        without = saved(tools=[cost.name for cost in costs[:size]]) if size else 0
        still = over if without is None else max(0, over - without)
        if not still or size == len(costs):
            return tuple(costs[:size]), still
        size += 1


def _oldest(turns: Iterator[range], over: int, saved: _Saved) -> tuple[tuple[TurnTokens, ...], int]:
    """The oldest turns without which the prompt fits, and how much it is over still without them.

    A turn without which the template refuses what is left is told with the next one.
    """
    found: list[TurnTokens] = []
    before, begin = 0, None
    for turn in turns:
        begin = turn.start if begin is None else begin
        without = saved(messages=[*_positions(found), *range(begin, turn.stop)])
        if without is None:
            continue
        found.append(TurnTokens(begin, turn.stop, without - before))
        before, begin = without, None
        if without >= over:
            break
    return tuple(found), max(0, over - before)


def _turns(messages: Sequence[Mapping[str, Any]]) -> Iterator[range]:
    """The turns but for the last: each from a user's message up to the next one."""
    begins = [at for at, message in enumerate(messages) if message["role"] == "user"]
    return (range(begin, end) for begin, end in pairwise(begins))


def _positions(turns: Sequence[TurnTokens]) -> list[int]:
    return [at for turn in turns for at in range(turn.begin, turn.end)]
