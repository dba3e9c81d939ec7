"""The section on other template engines: render with each and compare the prompts with those of jinja2.

Runtimes not written in Python cannot use jinja2. mistral.rs, text-generation-inference, SGLang's gateway and NVIDIA
Dynamo (all in Rust) use minijinja. llama.cpp has its own engine. An engine that is not installed is left out.

The template's code runs in this process.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import (
    ALL_TOOLS,
    EVERY_TYPE,
    PARALLEL,
    REASONING,
    REPLY,
    SINGLE,
    TOOLS,
    Message,
    conversation,
    reply,
    user,
)
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Difference, Portability
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.engines.engine import LONGEST_TAG, Engine, EngineFailure, EngineRequest, NotTried
from toolfmt.inspect.sections.engines.llama_cpp_engine import llama_cpp_engine
from toolfmt.inspect.sections.engines.minijinja_engine import GENERATION, minijinja_engine, without_generation_tags
from toolfmt.templates import ChatTemplate
from toolfmt.templates.engine.environment import environment

# Engines are recursive and a stack overflow ends the process: with 8 MB, minijinja's at some 5,000 to 20,000 levels. No
# real template nests deeper than 58 (1,176 templates, November 2026).
_DEEPEST = 250
_LONGEST_SHARED = 40
_QUOTED_BEFORE = 12

_Request: TypeAlias = tuple[Sequence[Message], Sequence[Message] | None, bool]
"""Messages, tools, and whether to add the generation prompt."""


def portability(facts: Facts) -> tuple[Portability, ...]:
    """Return the section, an entry for each engine.

    Empty without a template, or if it nests too deeply to try safely.
    """
    renders = facts.renders
    if renders is None or renders.template.nesting > _DEEPEST:
        return ()
    engines: tuple[Engine | None, ...] = (minijinja_engine(), llama_cpp_engine())
    return tuple(_compared(engine, renders, facts.shape) for engine in engines if engine is not None)


def _compared(engine: Engine, renders: Renders, shape: TurnShape | None) -> Portability:
    tried, seen = 0, list[Difference]()
    now = engine.now if renders.template.uses_clock else None
    for messages, tools, generation in _conversations(shape):
        generation = generation or renders.always_generation
        prompt = renders.render(messages, tools, generation=generation, now=now)
        if not isinstance(prompt, str):
            continue
        try:
            found = _compare(engine, renders, (messages, tools, generation), prompt)
        except NotTried:
            continue
        tried += 1
        seen += [found] if found else []
    tags = _generation_tags(renders.template) if engine.removes_generation_tags else ()
    return Portability(engine.name, tried, tried - len(seen), (*tags, *_differences(seen, tried)))


def _conversations(shape: TurnShape | None) -> Iterator[_Request]:
    """Yield a few conversations, mostly those of the probes, whose prompts are cached."""
    yield user(), None, False
    yield user(system=True), None, False
    yield user(), TOOLS, False
    yield user(), TOOLS, True
    yield [*user(), {"role": "assistant", "reasoning_content": REASONING, "content": REPLY}], TOOLS, False
    if shape is None:
        yield reply(), None, False
        return
    yield conversation(replace(shape, follows="answer"), SINGLE), TOOLS if shape.tools else None, False
    yield conversation(replace(shape, content="null"), SINGLE), TOOLS if shape.tools else None, False
    yield conversation(shape, PARALLEL), TOOLS if shape.tools else None, False
    yield conversation(shape, EVERY_TYPE), ALL_TOOLS if shape.tools else None, False


def _compare(engine: Engine, renders: Renders, request: _Request, prompt: str) -> Difference | None:
    """Return how the engine renders one conversation differently, or None if the prompts are equal."""
    try:
        other = engine.render(_engine_request(renders, request))
    except EngineFailure as failure:
        return Difference(failure.construct, failure.line, failure.what)
    return None if other == prompt else _other_prompt(engine, renders, request, prompt, other)


def _engine_request(renders: Renders, request: _Request) -> EngineRequest:
    """Return the template and its variables as they were passed to jinja2."""
    messages, tools, generation = request
    # Under both names, as in transformers.
    named = [
        {"thinking": message["reasoning_content"], **message} if "reasoning_content" in message else message
        for message in renders.named(messages)
    ]
    template = renders.template
    tokens = {**renders.tokens, **template.special_tokens}
    read = {name: text for name, text in tokens.items() if name in template.variables}
    return EngineRequest(template, {"messages": named, "tools": tools, "add_generation_prompt": generation}, read)


def _generation_tags(template: ChatTemplate) -> Iterator[Difference]:
    """Yield the difference for tags that were removed: not every runtime removes them."""
    if without_generation_tags(template.code) != template.code:
        what = (
            "the engine does not support it; mistral.rs and Dynamo remove it first, other runtimes reject the template"
        )
        yield Difference(GENERATION, template.line_of(re.escape(GENERATION)), what)


# --- differences


def _differences(seen: Sequence[Difference], tried: int) -> list[Difference]:
    """Return each difference once, as first seen, with the number of conversations that show it."""
    times = Counter(map(_place, seen))
    first = {_place(one): one for one in reversed(seen)}
    return [
        replace(first[place], what=first[place].what + ("" if times[place] == tried else _often(times[place], tried)))
        for place in dict.fromkeys(map(_place, seen))
    ]


def _place(difference: Difference) -> tuple[str, int | None, bool]:
    return difference.construct, difference.line, difference.fails


def _often(times: int, tried: int) -> str:
    return f" (in {times} of {tried} conversations)"


def _other_prompt(engine: Engine, renders: Renders, request: _Request, prompt: str, other: str) -> Difference:
    template = renders.template
    offset = common_prefix(prompt, other)
    begin, end = max(0, offset - _QUOTED_BEFORE), offset + _LONGEST_SHARED
    wrong, right = other[begin:end], prompt[begin:end]
    # `quote` would strip whitespace at the ends, which often is the difference.
    what = " for ".join(json.dumps(text, ensure_ascii=False) for text in (wrong, right))
    cut = engine.removes_generation_tags and without_generation_tags(template.code) != template.code
    if cut and "".join(other.split()) == "".join(prompt.split()):
        line = template.line_of(re.escape(GENERATION))
        return Difference(GENERATION, line, f"without it, whitespace differs: {what}", False, wrong, right)
    if responsible := _responsible_filter(engine, renders, request, prompt):
        name, line = responsible
        return Difference(f"the filter {name}", line, what, False, wrong, right)
    line = _line_at(renders, request, offset)
    written = "" if line is None else template.source.splitlines()[line - 1].strip()
    return Difference(quote(written, LONGEST_TAG) or "a prompt", line, what, False, wrong, right)


def _responsible_filter(engine: Engine, renders: Renders, request: _Request, prompt: str) -> tuple[str, int] | None:
    """Return the filter that causes the difference: with jinja2's version of it, the prompts are equal."""
    jinja2 = environment().filters
    for name, line in renders.template.filters.items():
        # A filter that takes jinja2's context or environment does not work in another engine.
        if name == "tojson" or name not in jinja2 or hasattr(jinja2[name], "jinja_pass_arg"):
            continue
        changed = engine.with_filter(name, jinja2[name])
        with suppress(EngineFailure, NotTried):  # a filter that fails in the other engine shows nothing
            if changed is not None and changed.render(_engine_request(renders, request)) == prompt:
                return name, line
    return None


def _line_at(renders: Renders, request: _Request, offset: int) -> int | None:
    """Return the line that writes the text at an offset of the prompt; at its end, that before it."""
    messages, tools, generation = request
    lines = (renders.line_at(messages, tools, at, generation=generation, innermost=True) for at in (offset, offset - 1))
    return next((line for line in lines if line is not None), None)
