"""The chapter on tokens: how the tokenizer cuts the markers, and what the tools cost.

`tokens` returns None where there is no tokenizer.json or none that can be read. Counted is what stands in the prompt
beside a plain question: with all tools, less without any; for one tool, with all of them less without it. Where the
template shows no tools, the prose that describes them is counted instead. Of the context, tools may take a quarter:
what is left has to hold the conversation, the results of the calls and the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from toolfmt.formats import default_format, prose, write
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS, Message, tool_definition, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.token_costs import difference, enough
from toolfmt.inspect.probe.tokenizer_file import TokenizerFailure, TokenizerFile
from toolfmt.inspect.report.report import MarkerKind, MarkerTokens, Tokens, ToolCost
from toolfmt.messages.tools import canonical_tools

SHARE_OF_CONTEXT = 4
"""Tools may take one part in so many of the context."""

_Shown: TypeAlias = Callable[[Sequence[Message]], str | None]
"""The text with these tools in it; None where the template refuses them."""


EXAMPLES: tuple[Message, ...] = (
    tool_definition(
        "get_weather",
        "Get the current weather at a place.",
        {
            "city": {"type": "string", "description": "The city, for example Oslo."},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "The unit of temperature."},
        },
        ["city"],
    ),
    tool_definition(
        "search_web",
        "Search the web and return the titles and addresses of the best pages.",
        {
            "query": {"type": "string", "description": "What to search for."},
            "limit": {"type": "integer", "description": "How many pages to return at most."},
        },
        ["query"],
    ),
    tool_definition(
        "send_mail",
        "Send a mail to one or several people.",
        {
            "to": {"type": "array", "items": {"type": "string"}, "description": "The addresses to send it to."},
            "subject": {"type": "string", "description": "The subject line."},
            "body": {"type": "string", "description": "The text of the mail."},
        },
        ["to", "body"],
    ),
)
"""Three ordinary tools, counted where the caller gives none."""


def tokens(facts: Facts) -> Tokens | None:
    """The chapter; raises `BadTools` where the caller's tools are none."""
    tokenizer = facts.tokenizer
    if tokenizer is None or tokenizer.problem:
        return None
    given = facts.options.tools is not None
    wanted = canonical_tools(facts.options.tools if given else EXAMPLES)
    context = facts.options.context
    room = None if context is None else context // SHARE_OF_CONTEXT
    try:
        markers = tuple(_markers(facts, tokenizer))
        total, costs = _costs(facts, tokenizer, wanted)
    except TokenizerFailure:
        return None
    return Tokens(
        markers=markers,
        preamble=total - sum(cost.tokens for cost in costs),
        tools=costs,
        total=total,
        given=given,
        context=context,
        room=room,
        leave_out=tuple(cost.name for cost in enough(costs, total - room)) if given and room is not None else (),
    )


# --- markers


def _markers(facts: Facts, tokenizer: TokenizerFile) -> Iterator[MarkerTokens]:
    """What marks calls, reasoning and the end of an answer, each once."""
    seen = set()
    for kind, marker in _by_kind(facts, tokenizer):
        if marker and marker not in seen:
            seen.add(marker)
            yield MarkerTokens(marker, tokenizer.pieces(marker), bool(tokenizer.special(marker)), kind)


def _by_kind(facts: Facts, tokenizer: TokenizerFile) -> Iterator[tuple[MarkerKind, str]]:
    format, profile = facts.decided.format, facts.profile
    call, markers = facts.decided.rendered, list[str]()
    if format is not None:
        call = call or write(format, SINGLE, TOOLS)
        engine = format.engine
        written = (
            *engine.openers,
            *engine.start_only_openers,
            *engine.inner.openers,
            *engine.inner.closers,
            *engine.closers,
        )
        # A bracket alone closes a frame too, but is part of every other text.
        markers = [marker.strip() for marker in written if marker in call and len(marker.strip()) > 1]
    # Whatever else of a call is a special token, such as Gemma's quotation mark.
    others = [token for token in tokenizer.special(call) if not any(token in marker for marker in markers)]
    yield from (("call", marker) for marker in (*markers, *others))
    pairs = [] if profile.reasoning is None else [profile.reasoning]
    if format is not None:
        pairs += [pair for pair in format.reasoning if pair[0] in profile.prefill]
    yield from (("reasoning", marker.strip()) for pair in pairs for marker in pair)
    yield from (("stop", marker) for marker in profile.stop)


# --- costs


def _costs(facts: Facts, tokenizer: TokenizerFile, tools: Sequence[Message]) -> tuple[int, tuple[ToolCost, ...]]:
    """What all tools cost, and each, the dearest first; nothing where the template refuses them."""
    for shown in _ways(facts):
        whole, without = shown(tools), shown([])
        if whole is not None and without is not None and whole != without:
            costs = sorted(_each(tokenizer, shown, tools), key=lambda cost: -cost.tokens)
            return difference(tokenizer.count, whole, without), tuple(costs)
    return 0, ()


def _each(tokenizer: TokenizerFile, shown: _Shown, tools: Sequence[Message]) -> Iterator[ToolCost]:
    """What the text is shorter without each of the tools."""
    # Alone, a tool would pay for the preamble too: it is weighed beside another one.
    company = [tool for tool in EXAMPLES if _name(tool) != _name(tools[0])][:1] if len(tools) == 1 else []
    weighed = shown([*tools, *company])
    for position, tool in enumerate(tools):
        rest = shown([*tools[:position], *tools[position + 1 :], *company])
        if weighed is not None and rest is not None:
            yield ToolCost(_name(tool), difference(tokenizer.count, weighed, rest))


def _ways(facts: Facts) -> Iterator[_Shown]:
    """How the tools can stand in a prompt: by the template, some of which want a system message, or in prose."""
    renders = facts.renders
    if renders is None or not facts.shows_tools:
        decided = facts.decided
        format = decided.format.with_variant(decided.decision.variant) if decided.format else default_format()
        yield lambda tools: prose(format, tools)
        return
    for system in (False, True):
        # Rendered without being kept: the prompts of a hundred tools are megabytes that nobody asks for again.
        yield lambda tools, system=system: _text(renders.anew(), tools, system)  # type: ignore[misc]


def _text(renders: Renders, tools: Sequence[Message], system: bool) -> str | None:
    prompt = renders.render(user(system=system), list(tools) or None, generation=True)
    return prompt if isinstance(prompt, str) else None


def _name(tool: Message) -> str:
    name: str = tool["function"]["name"]
    return name
