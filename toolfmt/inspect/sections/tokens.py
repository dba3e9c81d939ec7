"""The tokens section: how the tokenizer splits the markers, and what the tools cost.

`tokens` returns None without a readable tokenizer.json. The cost of all tools is the difference between the prompt of
a plain question with and without them. The cost of one tool is the difference between all tools and all but this one.
If the template shows no tools, the text that describes them in the system prompt is counted instead. Tools may take a
quarter of the context: the rest is needed for the conversation, the results of the calls and the response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from toolfmt.formats import default_format, prose, write
from toolfmt.formats.parser.tokens.added_tokens import added_tokens
from toolfmt.formats.parser.tokens.token_markers import token_markers
from toolfmt.formats.parser.tokens.vocabulary import Vocabulary
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS, Message, tool_definition, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.token_costs import difference, enough
from toolfmt.inspect.probe.tokenizer_file import TokenizerFailure, TokenizerFile
from toolfmt.inspect.report.report import MarkerKind, MarkerTokens, Tokens, ToolCost
from toolfmt.messages.tools import canonical_tools

SHARE_OF_CONTEXT = 4
"""Tools may take this fraction (1/N) of the context."""

_Shown: TypeAlias = Callable[[Sequence[Message]], str | None]
"""The text with these tools in it, or None if the template rejects them."""


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
"""Three ordinary tools, counted if the caller passes none."""


def tokens(facts: Facts) -> Tokens | None:
    """Return the section. Raise `BadTools` if the caller's tools are invalid."""
    tokenizer = facts.tokenizer
    if tokenizer is None or tokenizer.problem:
        return None
    given = facts.options.tools is not None
    tools = canonical_tools(facts.options.tools if given else EXAMPLES)
    context = facts.options.context
    room = None if context is None else context // SHARE_OF_CONTEXT
    try:
        markers = tuple(_markers(facts, tokenizer))
        total, costs = _costs(facts, tokenizer, tools)
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
    """Yield the markers of calls, reasoning and the end of a response, each once."""
    format, stop = facts.decided.format or default_format(), frozenset(facts.profile.stop)
    tokens = token_markers(format, stop, Vocabulary(added_tokens(tokenizer.tokenizer), 0)).texts
    seen = set()
    for kind, marker in _by_kind(facts, tokenizer):
        if marker and marker not in seen:
            seen.add(marker)
            only_as_token = any(token in marker for token in tokens)
            special = bool(tokenizer.special(marker))
            yield MarkerTokens(marker, tokenizer.pieces(marker), special, kind, only_as_token)


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
        # A single bracket may be an end marker too, but is part of any other text.
        markers = [marker.strip() for marker in written if marker in call and len(marker.strip()) > 1]
    # Other special tokens of a call, such as Gemma's quotation mark.
    others = [token for token in tokenizer.special(call) if not any(token in marker for marker in markers)]
    yield from (("call", marker) for marker in (*markers, *others))
    pairs = [] if profile.reasoning is None else [profile.reasoning]
    if format is not None:
        pairs += [pair for pair in format.reasoning if pair[0] in profile.prefill]
    yield from (("reasoning", marker.strip()) for pair in pairs for marker in pair)
    yield from (("stop", marker) for marker in profile.stop)


# --- costs


def _costs(facts: Facts, tokenizer: TokenizerFile, tools: Sequence[Message]) -> tuple[int, tuple[ToolCost, ...]]:
    """Return the cost of all tools and of each one, in descending order; 0 and empty if the template rejects them."""
    for shown in _ways(facts):
        whole, without = shown(tools), shown([])
        if whole is not None and without is not None and whole != without:
            costs = sorted(_each(tokenizer, shown, tools), key=lambda cost: -cost.tokens)
            return difference(tokenizer.count, whole, without), tuple(costs)
    return 0, ()


def _each(tokenizer: TokenizerFile, shown: _Shown, tools: Sequence[Message]) -> Iterator[ToolCost]:
    """Yield the cost of each tool: the difference to the text without it."""
    # A single tool would include the cost of the preamble: compare it with another tool present.
    company = [tool for tool in EXAMPLES if _name(tool) != _name(tools[0])][:1] if len(tools) == 1 else []
    weighed = shown([*tools, *company])
    for position, tool in enumerate(tools):
        rest = shown([*tools[:position], *tools[position + 1 :], *company])
        if weighed is not None and rest is not None:
            yield ToolCost(_name(tool), difference(tokenizer.count, weighed, rest))


def _ways(facts: Facts) -> Iterator[_Shown]:
    """Yield the ways to show tools: by the template, by the template with a system message, or described as text."""
    renders = facts.renders
    if renders is None or not facts.shows_tools:
        decided = facts.decided
        format = decided.format.with_variant(decided.decision.variant) if decided.format else default_format()
        yield lambda tools: prose(format, tools)
        return
    for system in (False, True):
        # Do not cache these renders: the prompts of a hundred tools are megabytes, used only once.
        yield lambda tools, system=system: _text(renders.anew(), tools, system)  # type: ignore[misc]


def _text(renders: Renders, tools: Sequence[Message], system: bool) -> str | None:
    prompt = renders.render(user(system=system), list(tools) or None, generation=True)
    return prompt if isinstance(prompt, str) else None


def _name(tool: Message) -> str:
    name: str = tool["function"]["name"]
    return name
