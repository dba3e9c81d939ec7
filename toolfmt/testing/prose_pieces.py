"""Text, code and documents that mention, quote, begin or resemble calls without containing one, for any format.

The invariant's test and `benchmarks/prose.py` share this. `pieces(format)` inserts a format's own markers into the
templates below, each in four contexts. `read` parses a piece followed by 3,000 characters of plain text.

Slots: `{open}` and `{close}` are markers of the format. `{to_name}` is a call up to its name, `{to_key}` up to its
first key, `{to_value}` up to the beginning of its first value, `{quoted_value}` the same on one line (of an undeclared
tool). `{half}` and `{whole}` are a call of a declared tool, on one line. Outside of quotes, a declared tool's call is
always an attempt to call. So these two only occur between backticks on one line, in the middle of a sentence. `{think}`
and `{unthink}` are the markers of a reasoning block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from toolfmt.formats import Parser, ToolCallFormat, get, write
from toolfmt.messages.events import Content, Reasoning, ToolCallEnd, ToolCallRejected

MOST = 400
"""Maximum number of characters that may be held back until the end of the output, or belong to a rejection."""
STRING = {"type": "string"}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
    for name, properties in (
        ("get_weather", {"city": STRING, "days": {"type": "integer"}}),
        ("search", {"query": STRING, "limit": {"type": "integer"}}),
        ("write_file", {"path": STRING, "content": STRING}),
        ("now", {}),
    )
]

SENTENCES = (
    # mentions
    "The model opens a call with {open} and closes it with {close}.",
    "Every call begins with {open}, right?",
    "{open} is the marker that opens a call.",
    "{open} and {close} frame a call; nothing else does.",
    "What does {open} mean? It opens a tool call, and {close} ends it.",
    "If you see {open} in the output, the server was started without a parser.",
    "Do not write {open} unless you want to call something.",
    "I printed {close} by mistake, sorry.",
    "The tokens are {open}, {close} and the end of the turn.",
    "Between {open} and {close} stands the call, and nothing else.",
    "Search the log for \"{open}\" to find the calls.",
    "Search the log for '{open}' to find the calls.",
    "The string {open}{close} is an empty frame, which no model should write.",
    "See {open} (the opener) and {close} (the closer).",
    "Wrote {open} … {close}, then stopped.",
    "In the old version it was {open} name, in the new one it is {open} something else.",
    "**{open}** opens, **{close}** closes.",
    "The regular expression is {open}(.*?){close}, with the dot matching newlines.",
    "The difference: {open} stands first, then a name, then the arguments.",
    # quotations
    "The marker `{open}` opens a call, and `{close}` closes it.",
    "It starts with `{open}` and then come the name and the arguments.",
    "For example `{whole}` asks for the weather in Oslo.",
    "You would write `{whole}`, and the runtime runs it.",
    "The answer `{half}` was cut off by the token limit.",
    "It begins like `{half}` and goes on with the rest of the value.",
    "Writing `{to_name}` starts the call, `{to_key}` its first argument.",
    "First comes `{to_name}`; then the arguments follow one by one.",
    "A prefix such as `{to_key}` is not yet a call.",
    "A prefix such as `{quoted_value}` is not yet a call either.",
    "Compare `{whole}` with `{half}`: the second one is not finished.",
    "Use `{open}NAME` before the arguments, and `{close}` behind them.",
    "The documentation says `{open}...{close}` without any more detail.",
    "The template prints `{open}` + name + arguments + `{close}` for each call.",
    "Reasoning stands between `{think}` and `{unthink}`, as the model's card says.",
    "A `{think}` that is never closed hides the answer.",
    # beginnings
    "starts with {to_name} and then the arguments come.",
    "The model wrote {to_name} and stopped there, which is a pity.",
    "It was cut behind {to_key} so that nobody knows what it wanted.",
    "You begin with {open} followed by the name, a separator and the arguments as an object.",
    "Then {open} the function, whatever its name is, and wait for the result.",
    "So: {open} first, please, and {close} last, and no prose between them.",
    "A call looks like {open} name(arguments) {close} in pseudo code.",
    "A call looks like {open} <name> <arguments> {close} in the paper.",
    "A call looks like {open} {{...}} {close} in the tests.",
    "A call looks like {open}… and so on.",
    # what resembles calls
    "The expression [get_weather(city='Oslo') == 'rain'] is true on most days.",
    "The comprehension [get_weather(city=c) for c in cities] asks for all of them.",
    "Unpacking [get_weather(city='Oslo'), *others] gives a longer list.",
    "See [get_weather(city='Oslo')](https://example.org/docs#get_weather) for the details.",
    "See [get_weather](https://example.org/docs) and [search][1] for the details.",
    "With get_weather(city='Oslo') you would get the forecast, and with now() the time of day.",
    "The signature is get_weather(city: str, days: int = 1) -> dict, as documented.",
    "Calling get_weather(city=None) raises an error, calling get_weather() does as well.",
    "Then x = get_weather(city='Oslo')[0] + 2 gives the temperature.",
    "An object such as {{\"name\": \"my-app\", \"version\": \"1.0.0\"}} goes into package.json.",
    "An object such as {{\"city\": \"Oslo\", \"days\": 3}} holds the arguments.",
    "The pair (name, arguments) is written as JSON, for instance {{\"a\": 1}}.",
    "A set {{1, 2, 3}} and a list [1, 2, 3] are different things in Python.",
    "call: the act of calling; function: that which is called; tool: what a function is to a model.",
    "Action: the model acts. Observation: the world answers. Thought: the model thinks.",
    "In Markdown, [TODO] and [x] mark tasks; [1] is a footnote.",
    "He said: \"search for it\", so I will search for it, now.",
    "Email me at ada@example.org or call +47 22 33 44 55 [office] (until 5 pm).",
    "The tags <b>, <i> and <function> differ; only the first two are HTML.",
    "The generic type Dict<String, List<Tool>> needs a closing bracket, and so does a < b > c.",
    "If (a < b && c > d) {{ return [a, b]; }} else {{ return {{}}; }} is valid in that language.",
    "Prices: coffee 3.50 | tea 2.80 | water free <|> all of them cold.",
)  # fmt: skip

BLOCKS = (
    "```xml\n<call>\n  <name>get_weather</name>\n  <city>Oslo</city>\n</call>\n```",
    "```xml\n<tools>\n  <tool name=\"get_weather\"/>\n</tools>\n```",
    "```html\n<div class=\"function\"><p>Hello, world</p></div>\n```",
    "```json\n{{\"name\": \"my-app\", \"version\": \"1.0.0\", \"dependencies\": {{\"left-pad\": \"^1.3.0\"}}}}\n```",
    "```json\n[{{\"name\": \"Ada\", \"age\": 36}}, {{\"name\": \"Alan\", \"age\": 41}}]\n```",
    "{{\"name\": \"my-app\", \"version\": \"1.0.0\", \"scripts\": {{\"test\": \"pytest\"}}}}",
    "[{{\"name\": \"Ada\", \"age\": 36}}, {{\"name\": \"Alan\", \"age\": 41}}]",
    "{{\"city\": \"Oslo\", \"forecast\": [{{\"day\": 1, \"sky\": \"clear\"}}, {{\"day\": 2, \"sky\": \"rain\"}}]}}",
    "{{\"type\": \"function\", \"function\": {{\"name\": \"get_weather\", \"description\": \"The weather\", "
    "\"parameters\": {{\"type\": \"object\", "
    "\"properties\": {{\"city\": {{\"type\": \"string\"}}}}, \"required\": [\"city\"]}}}}}}",
    "[{{\"type\": \"function\", \"function\": {{\"name\": \"get_weather\", \"parameters\": {{\"type\": \"object\", "
    "\"properties\": {{\"city\": {{\"type\": \"string\"}}}}}}}}}}]",
    "```json\n{{\"name\": \"get_weather\", \"description\": \"The weather\", \"parameters\": {{\"type\": \"object\", "
    "\"properties\": {{\"city\": {{\"type\": \"string\"}}}}, \"required\": [\"city\"]}}}}\n```",
    "{{\"name\": \"search\", \"parameters\": {{\"type\": \"object\", \"properties\": "
    "{{\"query\": {{\"type\": \"string\"}}}}}}}}",
    "```python\nfrom weather import get_weather\n\nfor city in [\"Oslo\", \"Bergen\"]:\n"
    "    print(city, get_weather(city=city))\n```",
    "```python\ndef get_weather(city: str, days: int = 1) -> dict:\n    \"\"\"The weather.\"\"\"\n    return {{}}\n```",
    "```python\nweather = [get_weather(city=c) for c in cities]\nassert weather[0][\"sky\"] == \"clear\"\n```",
    "```python\nimport weather\n\nget_weather(city=\"Oslo\")\n[get_weather(city=\"Bergen\")]\nprint(weather)\n```",
    "[get_weather(city=c) for c in (\"Oslo\", \"Bergen\")]",
    "[get_weather(city='Oslo') == 'rain']",
    "[get_weather(city='Oslo')][0] + 2",
    "[get_weather(city='Oslo')](https://example.org/weather)",
    "[get_weather]: https://example.org/weather \"The weather\"",
    "get_weather(city='Oslo') returns the forecast of one day, search(query='x') a list of pages.",
    "get_weather: asks for the weather in a city. Its arguments are city and days.",
    "get_weather\n===========\n\nAsks for the weather.",
    "function get_weather(city) {{\n  return fetch(`/weather?city=${{city}}`);\n}}",
    "```sh\ncurl -X POST https://example.org/v1/chat -d '{{\"tools\": [], \"messages\": []}}'\n```",
    "```jinja\n{{%- for call in message.tool_calls %}}\n{{{{ call.name }}}}\n{{%- endfor %}}\n```",
    "| marker | meaning |\n|---|---|\n| `{open}` | opens a call |\n| `{close}` | closes it |",
    "| opener | closer |\n|---|---|\n| {open} | {close} |",
    "> {open} opens a call.\n> {close} closes it.",
    "Markers:\n\n- {open}\n- {close}\n\nThese two frame a call.",
    "{open}\n\nThat line above is the marker, and nothing follows it.",
    "{close}\n\nThat line above is the closer, and nothing stands before it.",
    "```\n{open}\n```\n\nThis is what opens a call.",
    "# {open}\n\nOpens a call.\n\n# {close}\n\nCloses it.",
    "1. Write {open}.\n2. Write the name.\n3. Write {close}.",
    "Q: What is {open}?\nA: It opens a call.",
    "To call a tool, write {open}\nthen its name\nthen {close}.",
    "OPENER = '{open}'\nCLOSER = '{close}'\n",
)  # fmt: skip

ONLY_DECLARED = (
    "The model wrote {to_value} and stopped there, which is a pity.",
    "A text that goes like {to_value} is half a call of nothing.",
)
"""Without tools, these cannot be distinguished from a call with a long value."""

SURROUNDINGS = ("{}", "Sure, here is how it works. {}", "## Tool calls\n\n{}", "Let me explain:\n\n- {}")
BLOCK_SURROUNDINGS = ("{}", "Here it is:\n\n{}", "## Tool calls\n\nAs an example:\n{}", "Let me explain.\n\n\n{}\n")

_PLAIN = (
    "The river runs through the town and turns the wheels of three old mills, two of which still grind flour in the "
    "autumn. People come from the villages around to see them, and they stay for the market, where bread, cheese and "
    "apples are sold until the evening bell. It's said that the oldest mill was built by a widow (nobody remembers her "
    "name), who paid for it with 40 barrels of herring. Her children sold it; their children bought it back. "
)
_PARAGRAPHS = _PLAIN.replace("evening bell. ", "evening bell.\n\n").replace("bought it back. ", "bought it back.\n")
TAILS = ((_PLAIN * 10)[:3000], (_PARAGRAPHS * 10)[:3000])
"""3,000 characters in one line, and in paragraphs."""


@dataclass(frozen=True)
class ProseText:
    """A string that contains no call and ends in plain text."""

    text: str
    tail: str
    template: str
    only_declared: bool

    @property
    def whole(self) -> str:
        return self.text + (" " if self.tail is TAILS[0] and "\n" not in self.text else "\n\n") + self.tail


@cache
def pieces(format: str) -> tuple[ProseText, ...]:
    """Return about 400 pieces of a format."""
    return tuple(pieces_of(get(format)))


def pieces_of(format: ToolCallFormat) -> Iterator[ProseText]:
    """Yield the same for a format that may not be registered."""
    openers = [
        marker.strip() for marker in (*format.openers, *format.unframed_openers, *format.engine.start_only_openers)
    ] or [""]
    closers = [marker.strip() for marker in (*format.closers, *format.engine.inner.closers)] or ["the end"]
    undeclared = write(format, [("NAME", {"KEY": "VALUE"})])
    declared = on_one_line(write(format, [("get_weather", {"city": "Oslo"})], TOOLS))
    think, unthink = next(iter(format.reasoning), ("<think>", "</think>"))
    slots = {
        "to_name": undeclared[: undeclared.index("NAME") + 4].strip(),
        "to_key": undeclared[: undeclared.index("KEY") + 3].strip(),
        "to_value": undeclared[: undeclared.index("VALUE") + 5].strip(),
        "quoted_value": on_one_line(undeclared[: undeclared.index("VALUE") + 5]),
        "half": declared[: declared.index("Oslo") + 2],
        "whole": declared,
        "think": think.strip(),
        "unthink": unthink.strip(),
    }
    number = 0
    for templates, surroundings in ((SENTENCES + ONLY_DECLARED, SURROUNDINGS), (BLOCKS, BLOCK_SURROUNDINGS)):
        for template in templates:
            for around in surroundings:
                marks = {"open": openers[number % len(openers)], "close": closers[number % len(closers)]}
                text = around.format(template.format(**slots, **marks))
                yield ProseText(text, TAILS[(number + number // 4) % 2], template, template in ONLY_DECLARED)
                number += 1


def on_one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", "", text).strip()


def read(format: str | ToolCallFormat, piece: ProseText, **options: Any) -> tuple[int, int, bool]:
    """Return how many characters were held back or rejected, how many calls ended, and if the tail became reasoning."""
    parser = Parser(format, **options)
    text = piece.whole
    at_once = parser.feed(text)
    reached = rejected = calls = reasoned = 0
    for event in at_once:
        if isinstance(event, (Content, Reasoning)):
            reached = event.start + len(event.text)
        elif isinstance(event, (ToolCallEnd, ToolCallRejected)):
            reached = event.span[1]
    for event in [*at_once, *parser.finish()]:
        if isinstance(event, ToolCallRejected):
            rejected += len(event.raw)
        elif isinstance(event, ToolCallEnd):
            calls += 1
        elif isinstance(event, Reasoning):
            reasoned += len(event.text)
    return max(rejected, len(text) - reached), calls, reasoned > MOST
