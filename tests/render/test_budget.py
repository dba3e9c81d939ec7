"""The context that a prompt uses, what would help if it is too long, and the tools of one turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_tokenizers import Plain, by_bytes

from toolfmt.errors import BadTools, ToolfmtError
from toolfmt.inspect.probe.token_costs import enough
from toolfmt.messages.tools import canonical_tools
from toolfmt.render.budget import Budget, ToolTokens, TurnTokens, budget, counter
from toolfmt.render.request.tool_selection import narrowed
from toolfmt.templates import load_files

TALK = [
    ("system", "be brief"),
    ("user", "a first question"),
    ("assistant", "calls"),
    ("tool", "a long result of it"),
    ("assistant", "so"),
    ("user", "another question"),
    ("assistant", "an answer"),
    ("user", "the last question"),
]
MESSAGES = [{"role": role, "content": content} for role, content in TALK]
TOOLS = {"short": "one", "long": "one two three four five", "middle": "one two three"}


def words(text: str) -> int:
    return len(text.split())


class Rendered:
    """A request with one word per token; it records the requested omissions."""

    def __init__(self, rejected: Sequence[Any] = (), kept: Sequence[str] = ()) -> None:
        self.rejected, self.kept = rejected, kept
        self.requests: list[tuple[list[str], list[int]]] = []

    def __call__(self, *, tools: Sequence[str] = (), messages: Sequence[int] = ()) -> str | None:
        self.requests.append((list(tools), list(messages)))
        if (list(tools), list(messages)) in self.rejected:
            return None
        shown = [description for name, description in TOOLS.items() if name not in tools or name in self.kept]
        preamble = ["tools :"] if shown else []
        turns = [f"{role} {content}" for at, (role, content) in enumerate(TALK) if at not in messages]
        return "\n".join([*preamble, *shown, *turns])


USED = 2 + 9 + 8 + 19
"""The preamble, the tools, the roles, their texts."""


def made(context: int, rendered: Rendered | None = None) -> Budget:
    rendered = rendered or Rendered()
    text = rendered()
    assert text is not None
    rendered.requests.clear()
    return budget(text, context, words, list(TOOLS), MESSAGES, rendered)


def test_a_prompt_that_fits_is_counted_and_nothing_is_rendered() -> None:
    rendered = Rendered()
    assert made(100, rendered) == Budget(context=100, used=USED, left=100 - USED, over=0)
    assert made(USED, rendered) == Budget(context=USED, used=USED, left=0, over=0)
    assert rendered.requests == []
    assert made(1_000).sentence == "the prompt has 38 tokens of 1,000: 962 left"


def test_as_many_of_the_largest_tools_and_oldest_turns_as_needed_are_listed() -> None:
    rendered = Rendered()
    result = made(USED - 6, rendered)
    # Each tool alone, then those that should suffice; of the turns no more than suffice.
    tools: list[tuple[list[str], list[int]]] = [(["short"], []), (["long"], []), (["middle"], [])]
    assert rendered.requests == [*tools, (["long", "middle"], []), ([], [1, 2, 3, 4])]
    assert (result.over, result.left) == (6, 0)
    assert result.tools == (ToolTokens("long", 5), ToolTokens("middle", 3))
    assert result.turns == (TurnTokens(1, 5, 14),)
    assert (result.over_without_tools, result.over_without_turns, result.over_without_both) == (0, 0, 0)
    expected = "it fits without the tools long (5) and middle (3) or without messages[1] to messages[4] (14)"
    assert result.sentence == f"the prompt has 38 tokens of 32: 6 too many; {expected}"


def test_one_tool_or_one_message_is_reported_in_the_singular() -> None:
    result = made(USED - 5)
    assert result.tools == (ToolTokens("long", 5),)
    assert "it fits without the tool long (5) or without messages[1] to" in result.sentence
    alone = Budget(10, 12, 0, 2, turns=(TurnTokens(1, 2, 2),), over_without_tools=2)
    assert alone.sentence == "the prompt has 12 tokens of 10: 2 too many; it fits without messages[1] (2)"


def test_where_the_tools_do_not_suffice_the_turns_do_and_the_other_way_round() -> None:
    result = made(USED - 16)
    # The last of the tools removes the preamble too.
    assert (len(result.tools), result.over_without_tools) == (3, 16 - 9 - 2)
    assert (result.turns, result.over_without_turns) == ((TurnTokens(1, 5, 14), TurnTokens(5, 7, 6)), 0)
    assert result.over_without_both == 0
    assert result.sentence.endswith("16 too many; it fits without messages[1] to messages[6] (20)")


def test_where_only_both_suffice_and_where_they_do_not() -> None:
    result = made(USED - 25)
    assert (result.over_without_tools, result.over_without_turns, result.over_without_both) == (14, 5, 0)
    assert result.sentence.endswith(
        "without the tools long (5), middle (3) and short (1) and messages[1] to messages[6] (20) it fits"
    )
    result = made(USED - 33)
    assert result.over_without_both == 33 - 11 - 20
    assert result.sentence.endswith("(20) 2 are too many still")


def test_one_more_tool_is_listed_if_the_estimate_was_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOOLS, "tiny", "one")

    class Shared(Rendered):
        """The most expensive tool replaces another that is left out: without both, one token less is saved."""

        def __call__(self, *, tools: Sequence[str] = (), messages: Sequence[int] = ()) -> str | None:
            text = super().__call__(tools=tools, messages=messages)
            return f"note {text}" if text and len(tools) > 1 else text

    result = made(USED + 1 - 8, Shared())
    assert ([tool.name for tool in result.tools], result.over_without_tools) == (["long", "middle", "short"], 0)


def test_a_tool_that_takes_no_tokens_is_not_listed() -> None:
    result = made(USED - 9, Rendered(kept=["middle"]))
    assert [tool.name for tool in result.tools] == ["long", "short"]
    assert result.over_without_tools == 3


def test_a_turn_that_the_template_needs_is_left_out_together_with_the_next() -> None:
    rejected = [([], [1, 2, 3, 4]), (["long"], [])]
    result = made(USED - 2, Rendered(rejected))
    assert result.turns == (TurnTokens(1, 7, 20),)
    assert result.tools == (ToolTokens("middle", 3),)


def test_turns_that_are_as_long_as_the_prompt_is_over_suffice() -> None:
    result = made(USED - 14)
    assert (result.turns, result.over_without_turns) == ((TurnTokens(1, 5, 14),), 0)
    text = Rendered()()
    assert text is not None
    without_tools = budget(text, USED - 14, words, [], MESSAGES, Rendered())
    assert (without_tools.tools, without_tools.over_without_tools, without_tools.over_without_both) == ((), 14, 0)


def test_the_sentence_states_that_nothing_can_be_left_out() -> None:
    result = budget("a b c", 2, words, [], MESSAGES[:2], Rendered())
    assert (result.tools, result.turns, result.over_without_both) == ((), (), 1)
    assert result.sentence == "the prompt has 3 tokens of 2: 1 too many; no tool and no earlier turn can be left out"


@pytest.mark.parametrize(("context", "description"), [(0, "0"), (-5, "-5"), (True, "true or false"), ("9", "a string")])
def test_an_invalid_context_length_is_rejected(context: Any, description: str) -> None:
    with pytest.raises(ToolfmtError, match=f"^the context is a number of tokens above zero, not {description}$"):
        made(context)


def test_enough_is_as_few_as_suffice_and_all_where_they_do_not() -> None:
    costs = [ToolTokens("a", 5), ToolTokens("b", 3), ToolTokens("c", 1)]
    sizes = [len(enough(costs, over)) for over in (-1, 0, 1, 5, 6, 8, 9, 10)]
    assert sizes == [0, 0, 1, 1, 2, 2, 3, 3]


# --- counting


def test_tokens_are_counted_by_the_models_own_tokenizer_or_by_one_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    text = "<|im_start|>the weather<|im_end|>"
    expected = len(by_bytes().encode(text, add_special_tokens=False).ids)
    with pytest.raises(ToolfmtError, match=r"there is no tokenizer\.json, .* count tokens; pass a tokenizer$"):
        counter(load_files(tmp_path))
    assert counter(load_files(tmp_path), by_bytes())(text) == expected
    assert counter(load_files(tmp_path), Plain(by_bytes()))(text) == expected
    by_bytes().save(str(tmp_path / "tokenizer.json"))
    assert counter(load_files(tmp_path))(text) == expected


# --- the tools of one turn

OFFERED = canonical_tools([{"name": name, "description": description_text} for name, description_text in TOOLS.items()])


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ([], []),
        (["middle", "short"], ["short", "middle"]),
        ([OFFERED[2], OFFERED[0]], ["short", "middle"]),
        ([{"description": TOOLS["long"], "name": "long"}, "long"], ["long"]),
        ((name for name in ("middle",)), ["middle"]),
        (list(TOOLS), list(TOOLS)),
    ],
)
def test_the_chosen_tools_keep_the_order_of_all(chosen: object, expected: list[str]) -> None:
    assert narrowed(OFFERED, chosen) == [tool for tool in OFFERED if tool["function"]["name"] in expected]


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        (None, "narrow must return a list of tools, not null; return [] for none"),
        ("short", "narrow must return a list of tools, not a string; return [] for none"),
        (OFFERED[0], "narrow must return a list of tools, not an object; return [] for none"),
        (["short", "other"], "narrow returned, at 1, the tool 'other', which is not among the tools"),
        ([{"name": "other"}], "narrow returned, at 0, the tool 'other', which is not among the tools"),
        ([{"name": "long"}], "narrow returned, at 0, another definition of the tool 'long'"),
        ([3], "narrow returned, at 0, no tool: a tool definition is an object, not a number"),
    ],
)
def test_an_invalid_choice_of_tools_is_rejected(chosen: object, why: str) -> None:
    with pytest.raises(BadTools) as raised:
        narrowed(OFFERED, chosen)
    assert str(raised.value).startswith(why)
    assert "\n" not in str(raised.value)
