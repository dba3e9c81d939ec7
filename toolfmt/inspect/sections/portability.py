"""The section on other template engines: render with minijinja and compare the prompts with those of jinja2.

Runtimes not written in Python cannot use jinja2. mistral.rs, text-generation-inference, SGLang's gateway and NVIDIA
Dynamo (all in Rust) use minijinja. llama.cpp has its own engine, which cannot be called from Python.

minijinja is set up here as in those four, as of 2026: Python's methods on strings, lists and objects (`pycompat`),
`raise_exception`, and `strftime_now`. Values are the engine's own, made from JSON, not Python objects with methods
that it does not know. If the four differ, the setting that suits templates best is used: `trim_blocks` and
`lstrip_blocks` (mistral.rs, Dynamo), JSON formatted as in transformers (all four format it differently), and the tags
`{% generation %}` and `{% endgeneration %}` removed if written exactly so (mistral.rs, Dynamo). The remaining
differences come from the template. The version is the installed one; runtimes pin their own, mostly older versions.

The template's code runs in this process. The engine limits steps (`fuel`) but not memory. A template that behaves
differently under this engine can use all memory, as it can under jinja2.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

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
from toolfmt.templates import FROZEN_NOW, ChatTemplate
from toolfmt.templates.engine.environment import clock, environment

if TYPE_CHECKING:
    from minijinja import Environment, TemplateError

ENGINE = "minijinja"

# None of 1,176 real templates needs 50,000 steps for these conversations, or nests deeper than 58 (November 2026).
_FUEL = 200_000
# The engine is recursive and a stack overflow ends the process: with 8 MB at some 5,000 to 20,000 levels.
_DEEPEST = 250

_LONGEST_TAG = 60
_SHORTEST_SHARED, _LONGEST_SHARED = 16, 40
_QUOTED_BEFORE = 12
_TAG = "{% generation %}"
_END_TAG = "{% endgeneration %}"

_Request: TypeAlias = tuple[Sequence[Message], Sequence[Message] | None, bool]
"""Messages, tools, and whether to add the generation prompt."""


def portability(facts: Facts) -> Portability | None:
    """Return the section; None without a template or the engine, or if the template nests too deeply to try safely."""
    renders = facts.renders
    if renders is None or renders.template.nesting > _DEEPEST:
        return None
    engine = _environment()
    if engine is None:
        return None
    tried, seen = 0, list[Difference]()
    for request in _conversations(facts.shape):
        messages, tools, generation = request
        generation = generation or renders.always_generation
        request = renders.named(messages), tools, generation
        prompt = renders.render(messages, tools, generation=generation)
        if not isinstance(prompt, str):
            continue
        try:
            found = _compare(engine, renders, request, prompt)
        except _OutOfFuel:
            continue
        tried += 1
        seen += [found] if found else []
    tags = list(_generation_tags(renders.template))
    return Portability(ENGINE, tried, tried - len(seen), (*tags, *_differences(seen, tried)))


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
    yield conversation(shape, PARALLEL), TOOLS if shape.tools else None, False
    yield conversation(shape, EVERY_TYPE), ALL_TOOLS if shape.tools else None, False


# --- the engine


class _OutOfFuel(Exception):
    """The engine hit the step limit set here, which is not an error of the template."""


def _environment(filters: Mapping[str, Callable[..., Any]] = MappingProxyType({})) -> Environment | None:
    """Return the engine with these filters replacing its own, or None if it is not installed."""
    try:
        from minijinja import Environment
    except ImportError:
        return None
    jinja2 = environment()
    return Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        pycompat=True,
        fuel=_FUEL,
        filters={"tojson": jinja2.filters["tojson"], **filters},
        globals={"raise_exception": jinja2.globals["raise_exception"], "strftime_now": clock(FROZEN_NOW)},
        auto_escape_callback=lambda name: False,
    )


def _compare(engine: Environment, renders: Renders, request: _Request, prompt: str) -> Difference | None:
    """Return how the engine renders one conversation differently, or None if the prompts are equal."""
    import minijinja

    template = renders.template
    try:
        other = _rendered(engine, renders, request)
    except minijinja.TemplateError as error:
        if error.kind == "OutOfFuel":
            raise _OutOfFuel from None
        return _failure(error, template, _before(request))
    except Exception as error:  # noqa: BLE001 - `raise_exception` of the template surfaces as it was raised
        message = str(error)
        return Difference("raise_exception", template.line_of(re.escape(message[:_LONGEST_TAG])), quote(message))
    return None if other == prompt else _other_prompt(renders, request, prompt, other)


def _rendered(engine: Environment, renders: Renders, request: _Request) -> str:
    template = renders.template
    tokens = {**renders.tokens, **template.special_tokens}
    read = {name: text for name, text in tokens.items() if name in template.variables}
    source = _before(request) + _without_generation_tags(template.source)
    return engine.render_str(source, ENGINE, documents=None, **read)


def _before(request: _Request) -> str:
    """Return the values as `set` statements: one line before the template.

    The engine drops its newline as after any tag.
    """
    values = (f"{{% set {name} = {_literal(value)} %}}" for name, value in _values(request).items())
    return "".join(values) + "\n"


def _values(request: _Request) -> dict[str, Any]:
    """Return the variables of the template, as they were passed to jinja2."""
    messages, tools, generation = request
    # Under both names, as in transformers.
    named = [
        {"thinking": message["reasoning_content"], **message} if "reasoning_content" in message else message
        for message in messages
    ]
    return {"messages": named, "tools": tools, "add_generation_prompt": generation}


def _literal(value: Any) -> str:
    """Return the value as a literal of the engine: JSON, except for null."""
    match value:
        case None:
            return "none"
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)}: {_literal(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_literal, value)) + "]"
        case _:
            return json.dumps(value)


# --- the tags that only transformers knows


def _without_generation_tags(source: str) -> str:
    cut = _TAG in source and _END_TAG in source
    return source.replace(_TAG, "").replace(_END_TAG, "") if cut else source


def _generation_tags(template: ChatTemplate) -> Iterator[Difference]:
    """Yield the difference for tags that were removed: not every runtime removes them."""
    if _without_generation_tags(template.code) != template.code:
        what = (
            "the engine does not support it; mistral.rs and Dynamo remove it first, other runtimes reject the template"
        )
        yield Difference(_TAG, template.line_of(re.escape(_TAG)), what)


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


def _failure(error: TemplateError, template: ChatTemplate, before: str) -> Difference:
    line = None if error.line is None else error.line - before.count("\n")
    what = (error.detail or error.message).splitlines()[0]
    return Difference(_construct(error, template, before), line, quote(what))


_NAMED = (
    (r"unknown statement (\w+)", "{{% {} %}}"),
    (r"filter (\w+) is unknown", "the filter {}"),
    (r"test (\w+) is unknown", "the test {}"),
    (r"has no method named (\w+)", "the method .{}()"),
    (r"^(\w+) is unknown", "the function {}()"),
)
"""The engine's errors for unknown constructs, and their names in the report."""


def _construct(error: TemplateError, template: ChatTemplate, before: str) -> str:
    """Return the failing part of the template: its name if the engine lacks it, else the tag that contains it."""
    for pattern, name in _NAMED:
        if found := re.search(pattern, error.detail or ""):
            return name.format(found[1])
    if error.range is None:
        return "the template"
    # The engine counts bytes.
    source = _without_generation_tags(template.source).encode()
    offset = error.range[0] - len(before.encode())
    opened = max(source.rfind(b"{%", 0, offset), source.rfind(b"{{", 0, offset))
    closing = [end for end in (source.find(b"%}", offset), source.find(b"}}", offset)) if end >= 0]
    if opened < 0 or not closing:
        return "the template"
    return quote(source[opened : min(closing) + 2].decode(errors="replace"), _LONGEST_TAG)


def _other_prompt(renders: Renders, request: _Request, prompt: str, other: str) -> Difference:
    template = renders.template
    offset = common_prefix(prompt, other)
    begin, end = max(0, offset - _QUOTED_BEFORE), offset + _LONGEST_SHARED
    wrong, right = other[begin:end], prompt[begin:end]
    # `quote` would strip whitespace at the ends, which often is the difference.
    what = " for ".join(json.dumps(text, ensure_ascii=False) for text in (wrong, right))
    cut = _without_generation_tags(template.code) != template.code
    if cut and "".join(other.split()) == "".join(prompt.split()):
        line = template.line_of(re.escape(_TAG))
        return Difference(_TAG, line, f"without it, whitespace differs: {what}", False, wrong, right)
    if responsible := _responsible_filter(renders, request, prompt):
        name, line = responsible
        return Difference(f"the filter {name}", line, what, False, wrong, right)
    line = _line_of_text(template, prompt, offset)
    written = "" if line is None else template.source.splitlines()[line - 1].strip()
    return Difference(quote(written, _LONGEST_TAG) or "a prompt", line, what, False, wrong, right)


def _responsible_filter(renders: Renders, request: _Request, prompt: str) -> tuple[str, int] | None:
    """Return the filter that causes the difference: with jinja2's version of it, the prompts are equal."""
    jinja2 = environment().filters
    for name, line in renders.template.filters.items():
        # A filter that takes jinja2's context or environment does not work in another engine.
        if name == "tojson" or name not in jinja2 or hasattr(jinja2[name], "jinja_pass_arg"):
            continue
        engine = _environment({name: jinja2[name]})
        try:
            if engine is not None and _rendered(engine, renders, request) == prompt:
                return name, line
        except Exception:  # noqa: BLE001 - a filter that fails in the other engine shows nothing
            continue
    return None


def _line_of_text(template: ChatTemplate, prompt: str, offset: int) -> int | None:
    """Return the line that writes the text around an offset of the prompt, if the source contains it exactly once."""
    for length in range(_LONGEST_SHARED, _SHORTEST_SHARED - 1, -1):
        for text in (prompt[max(0, offset - length) : offset], prompt[offset : offset + length]):
            if len(text) == length and template.source.count(text) == 1:
                return template.line_of(re.escape(text))
    return None
