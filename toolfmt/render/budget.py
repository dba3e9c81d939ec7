"""Count how much of the context a prompt uses, and which tools or turns to remove if it is too long. Nothing is cut.

`budget` takes the finished text, a function that counts tokens (`counter` makes one), and a function that renders the
request without some parts. The cost of a part is the difference in tokens. If the prompt fits, nothing is rendered.
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
    """Renders the request without these tools and message positions. Returns None if the template rejects that."""

    def __call__(self, *, tools: Sequence[str], messages: Sequence[int]) -> str | None: ...


@dataclass(frozen=True)
class ToolTokens:
    """How many tokens a tool's definition uses in the prompt."""

    name: str
    tokens: int


@dataclass(frozen=True)
class TurnTokens:
    """How many tokens a turn uses: the messages from index `begin`, a user message, to `end` (exclusive)."""

    begin: int
    end: int
    tokens: int


@dataclass(frozen=True)
class Budget:
    """The tokens of a prompt compared to the `context`: `used`, and either `left` or `over`.

    If the prompt is too long, `tools` are the most expensive tools and `turns` the oldest turns: as many as must be
    removed to make it fit. If that is not enough, all are listed; the last turn always stays. `over_without_…` is the
    number of tokens still over without the tools, without the turns, and without both.
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
        """Everything in one sentence, for display."""
        used = f"the prompt has {self.used:,} tokens of {self.context:,}"
        if not self.over:
            return f"{used}: {self.left:,} left"
        text = f"{used}: {self.over:,} too many"
        ways = [(self.tools, self.over_without_tools, self._tools), (self.turns, self.over_without_turns, self._turns)]
        enough_alone = [words for _, still, words in ways if not still]
        if enough_alone:
            return f"{text}; it fits without {' or without '.join(enough_alone)}"
        both = " and ".join(words for parts, _, words in ways if parts)
        if not both:
            return f"{text}; no tool and no earlier turn can be left out"
        still = self.over_without_both
        return f"{text}; without {both} " + (f"{still:,} are too many still" if still else "it fits")

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
    """Return a function that counts the tokens of a string.

    It uses `tokenizer` if given: one of transformers or `tokenizers`, or an object with `encode(text,
    add_special_tokens=False)`. Else it uses the model's tokenizer.json, which is read on the first call.

    Raises `ToolfmtError` if neither exists or `tokenizer` is not a tokenizer. The returned function raises it if the
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
    """Return the budget of a finished prompt.

    Takes its text, the context size in tokens, the names of its tools, its canonical messages, and a function that
    renders it without some of them. Raises `ToolfmtError` if the context is not a number above zero.
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
    """Return how many tokens the prompt saves without these parts, or None if the template rejects that."""

    def __call__(self, *, tools: Sequence[str] = (), messages: Sequence[int] = ()) -> int | None: ...


def _dearest(tools: Sequence[str], over: int, saved: _Saved) -> tuple[tuple[ToolTokens, ...], int]:
    """Return the most expensive tools to remove so that the prompt fits, and how much it is still over."""
    each = [(name, saved(tools=[name])) for name in tools]
    costs = [ToolTokens(name, tokens) for name, tokens in each if tokens is not None and tokens > 0]
    costs.sort(key=lambda cost: -cost.tokens)
    # The cost of several tools is only approximately the sum of their costs.
    size = len(enough(costs, over))
    while True:
        without = saved(tools=[cost.name for cost in costs[:size]]) if size else 0
        still = over if without is None else max(0, over - without)
        if not still or size == len(costs):
            return tuple(costs[:size]), still
        size += 1


def _oldest(turns: Iterator[range], over: int, saved: _Saved) -> tuple[tuple[TurnTokens, ...], int]:
    """Return the oldest turns to remove so that the prompt fits, and how much it is still over.

    If the template rejects the rest without a turn, that turn is merged with the next one.
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
    """Return the turns except the last. Each begins at a user message and ends at the next one."""
    begins = [at for at, message in enumerate(messages) if message["role"] == "user"]
    return (range(begin, end) for begin, end in pairwise(begins))


def _positions(turns: Sequence[TurnTokens]) -> list[int]:
    return [at for turn in turns for at in range(turn.begin, turn.end)]
