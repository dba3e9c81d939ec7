"""Tools without a description, without parameters or without `function`, several tools, and special characters."""

from __future__ import annotations

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import excerpt
from toolfmt.inspect.sections.definitions.escaping import NON_ASCII, QUOTED, how_quoted
from toolfmt.inspect.sections.definitions.probe import (
    ABOUT,
    KEY,
    KEY_ABOUT,
    NAME,
    DefinitionProbe,
    described_tool,
    text_parameter,
)

_NO_TEXT = "no description is in the prompt, so none can break it"
_THREE = ("ask_zqone", "ask_zqtwo", "ask_zqthree")


def no_descriptions(template: DefinitionProbe, plain: str) -> Answer:
    """A parameter, and a tool, without a description."""
    tool = described_tool({KEY: {"type": "string"}})
    mute = {"type": "function", "function": {"name": NAME, "parameters": tool["function"]["parameters"]}}
    for given, what in ((tool, "a parameter"), (mute, "a tool")):
        prompt = template.show([given])
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"{what} without a description")
        if NAME not in prompt or (KEY in plain and KEY not in prompt):
            return Answer("no", f"{what} without a description is not in the prompt")
    return Answer("yes", "tools and parameters without a description are shown")


def no_parameters(template: DefinitionProbe, plain: str) -> Answer:
    """A tool without parameters: with an empty schema, and without any."""
    bare = described_tool({}, ())
    without = {"type": "function", "function": {"name": NAME, "description": ABOUT}}
    for tool, how in ((bare, "without properties"), (without, "without the key `parameters`")):
        prompt = template.show([tool])
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"a tool {how}")
        if NAME not in prompt:
            return Answer("no", f"a tool {how} is not in the prompt")
    return Answer("yes", "such a tool is shown")


def several(template: DefinitionProbe, plain: str) -> Answer:
    about = [f"{ABOUT}{number}" for number in range(3)]
    tools = [
        described_tool({KEY: text_parameter()}, name=name, about=text) for name, text in zip(_THREE, about, strict=True)
    ]
    prompt = template.show(tools)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    shown = about if ABOUT in plain else list(_THREE)
    counts = [prompt.count(word) for word in shown]
    offsets = [prompt.find(word) for word in shown]
    if 0 in counts:
        return Answer("no", f"of three tools {3 - counts.count(0)} are in the prompt")
    if offsets != sorted(offsets):
        return Answer("no", "three tools appear in another order")
    alone = plain.count(ABOUT if ABOUT in plain else NAME)
    if max(counts) > alone:
        return Answer("no", f"of three tools one appears {max(counts)} times, alone {alone}")
    return Answer("yes", f"three tools appear in order, each {'once' if alone == 1 else f'{alone} times'}")


def without_wrapper(template: DefinitionProbe, plain: str) -> Answer:
    """A definition without the `function` wrapper: without `type`, and as in OpenAI's Responses API."""
    function = described_tool({KEY: text_parameter()})["function"]
    for tool, how in ((function, ""), ({"type": "function", **function}, ", but with `type`,")):
        prompt = template.show([tool])
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"a definition without `function` around it{how} is rejected" if how else "")
        lost = [word for word in (NAME, ABOUT, KEY) if word in plain and word not in prompt]
        if lost:
            typed = not how and isinstance(template.show([{"type": "function", **function}]), TemplateError)
            also = "; with `type` it is rejected" if typed else ""
            return Answer("no", f"a definition without `function` around it{how} is dropped, or parts of it are{also}")
    return Answer("yes", "a definition without `function` around it is shown as well")


def non_ascii(template: DefinitionProbe, plain: str) -> Answer:
    prompt = template.show([described_tool({KEY: text_parameter() | {"description": NON_ASCII}}, about=NON_ASCII)])
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    if NON_ASCII in prompt:
        return Answer("yes", "it appears as it is", excerpts=(NON_ASCII,))
    at = prompt.find("\\u")
    if at >= 0:
        return Answer("no", "it is escaped", excerpts=(excerpt(prompt, at - 10, at + 30),))
    shown = ABOUT in plain or KEY_ABOUT in plain
    return Answer("no", "it is not in the prompt") if shown else Answer("yes", _NO_TEXT)


def quoting(template: DefinitionProbe, plain: str) -> Answer:
    """Quotes, a backslash and a newline, in the description of the tool and of its parameter."""
    first: Answer | None = None
    for word, what in ((ABOUT, "a tool's description"), (KEY_ABOUT, "a parameter's description")):
        if word not in plain:
            continue
        about, inner = (QUOTED, KEY_ABOUT) if word == ABOUT else (ABOUT, QUOTED)
        prompt = template.show([described_tool({KEY: {"type": "string", "description": inner}}, about=about)])
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"in {what}")
        how = how_quoted(prompt)
        if how.broken:
            return Answer("no", f"in {what} {how.what}", excerpts=(how.stretch,))
        first = first or Answer("yes", how.what, outcome="python" if how.by_python else "")
    return first or Answer("yes", _NO_TEXT)
