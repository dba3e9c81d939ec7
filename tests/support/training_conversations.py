"""Ten conversations, and a check of which parts of their rendering are marked as written by the model.

The check uses no format, no template and no code of toolfmt: it searches for texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolfmt.training import TrainingText


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


WEATHER = tool(
    "get_weather", "Get the forecast of a town.", city={"type": "string", "description": "Its English spelling."},
    days={"type": "integer"},
)  # fmt: skip
TOOLS = [
    WEATHER,
    tool("write_note", "Keep lines for later.", text={"type": "string"}),
    tool("get_time", "Read clocks."),
]


def call(city: str, number: int, **more: Any) -> dict[str, Any]:
    return call_of("get_weather", number, city=city, **more)


def call_of(name: str, number: int, **arguments: Any) -> dict[str, Any]:
    return {"id": f"call{number:05}", "type": "function", "function": {"name": name, "arguments": arguments}}


def result(text: str, number: int, name: str = "get_weather") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call{number:05}", "name": name, "content": text}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str, *calls: dict[str, Any], reasoning: str = "") -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    return (
        message | ({"reasoning_content": reasoning} if reasoning else {}) | ({"tool_calls": [*calls]} if calls else {})
    )


SYSTEM = {"role": "system", "content": "Be quick."}
PLAIN: list[Any] = [
    user("Is it raining in Oslo?"), answer("Yes, it rains there."), user("And in Bergen?"), answer("It is foggy.")
]  # fmt: skip
ONE_CALL: list[Any] = [
    SYSTEM, PLAIN[0], answer("", call("Oslo (north)", 1, days=3)), result("Rain, 7 degrees.", 1), *PLAIN[1:]
]  # fmt: skip
SEVERAL: list[Any] = [
    *ONE_CALL[:4],
    answer("Yes, it rains there.", reasoning="The result says rain."),
    user("And in Bergen and Rome?"),
    answer("Let me look.", call("Bergen", 2), call("Rome", 3), reasoning="Two towns now."),
    result("Fog all day.", 2),
    result("Sun, 24 degrees.", 3),
    answer("Fog in one, sun in the other."),
]
LONG_ANSWERS: list[Any] = [
    {"role": "system", "content": "Explain in detail.\n\nUse **Markdown**."},
    user("How does iteration look?"),
    answer('Like this:\n\n```lua\nfor x in [1, 2]:\n    print({x: "a"})\n```\n\nShort, no?'),
    user("Terser?"),
    answer("- `[show(y) for y in rows]`\n- **never** hoist; cost < 5 & > 3"),
    user("Thanks!"),
    answer("Gern geschehen 🙂 – à bientôt"),
]
PARALLEL: list[Any] = [
    user("Compare three places."),
    answer("", call("Lima", 1, days=1), call("Cairo", 2), call("Kyoto", 3, days=2)),
    result("Fog all day.", 1),
    result("Sun, 24 degrees.", 2),
    result('{"gusts": [3, 4], "hot": 1}', 3),
    answer("Grey, bright, wet."),
]
TEXT_BEFORE: list[Any] = [
    SYSTEM, PLAIN[0], answer("Let me look.", call("Turku", 1)), result("Rain, 7 degrees.", 1), answer("It pours.")
]  # fmt: skip
NOTE = (
    '# Quoting\n\n"double", \'mauve\', `tick`, C:\\rural\\fresh\n\t<b>ochre</b> {"amber": [1, {}]} {{ lilac }} {% if %}'
    + "\n"
    + "A long line with many words, café & 日本. " * 8
)
LONG_ARGUMENT: list[Any] = [
    user("Save it."), answer("", call_of("write_note", 1, text=NOTE)), result("Stored.", 1, "write_note"),
    answer("Done."),
]  # fmt: skip
NO_ARGUMENTS: list[Any] = [
    user("Which hour?"), answer("", call_of("get_time", 1)), result("12:30", 1, "get_time"), answer("Half past noon.")
]  # fmt: skip
TWO_TURNS: list[Any] = [
    SYSTEM, PLAIN[0], answer("", call("Narvik", 1)), result("Rain, 7 degrees.", 1), answer("It pours."),
    user("And tomorrow?"), answer("", call("Narvik", 2, days=2)), result("Hail.", 2), answer("Ice falls."),
]  # fmt: skip
REASONING: list[Any] = [
    user("Coat today?"), answer("", call("Vaasa", 1), reasoning="Nothing known yet.\nAsk."), result("Snow.", 1),
    answer("Wear one.", reasoning="White flakes mean cold."),
]  # fmt: skip
CONVERSATIONS: dict[str, list[Any]] = {
    "plain": PLAIN,
    "one call": ONE_CALL,
    "several calls": SEVERAL,
    "long answers": LONG_ANSWERS,
    "parallel calls": PARALLEL,
    "text before a call": TEXT_BEFORE,
    "long argument": LONG_ARGUMENT,
    "no arguments": NO_ARGUMENTS,
    "two turns with calls": TWO_TURNS,
    "reasoning": REASONING,
}


def tools_for(title: str) -> list[Any] | None:
    """The tools of a conversation."""
    return None if title in ("plain", "long answers") else TOOLS


def violations(found: TrainingText, messages: Sequence[Any], tools: Sequence[Any] | None) -> Iterator[str]:
    """Yield each text of others that is sampled, and each text of a trained message that is not."""
    sampled = [span for span in found.spans if span.kind == "sampled"]
    inside = {number: "" for number, message in enumerate(messages) if message["role"] == "assistant"}
    for span in sampled:
        inside[span.message] += found.text[span.begin : span.end] + "\n"
    untrained = {problem.message for problem in found.problems if not problem.trained}
    yield from (f"messages[{at}] is sampled and not trained" for at in untrained if inside[at])
    yield from (f"messages[{at}] is not sampled" for at, text in inside.items() if not text and at not in untrained)
    ends = [0, *(span.end for span in sampled)]
    begins = [*(span.begin for span in sampled), len(found.text)]
    outside = "\n".join(found.text[end:begin] for end, begin in zip(ends, begins, strict=True))
    written = {at: _written(messages[at]) for at in inside}
    foreign = [message["content"] for message in messages if message["role"] != "assistant"]
    foreign += [tool["function"]["description"] for tool in tools or ()]
    for at, text in ((at, text) for at, text in inside.items() if text):
        own = [*written[at], str(messages[at].get("reasoning_content", ""))]
        others = [*foreign, *(other for number in written if number != at for other in written[number])]
        names = [one["function"]["name"] for one in messages[at].get("tool_calls", ())]
        yield from (f"{part!r} is sampled in messages[{at}]" for part in _only_in(others, own) if part in text)
        yield from (f"{part!r} is not sampled in messages[{at}]" for part in _parts(written[at]) if part not in text)
        outer = _only_in(own, [*others, *names])
        yield from (f"{part!r} of messages[{at}] is outside" for part in outer if part in outside)
        if (content := messages[at]["content"]) not in text:
            yield f"{content!r} is not in {text!r}"
    stops = {*(found.prompt.stop if found.prompt else ())} - {"Result of"}  # the latter is not a token
    without_stop = {problem.message for problem in found.problems if problem.kind == "no-stop"}
    for one, other in pairwise(sampled):
        if other.begin < one.end:
            yield f"overlapping: {one}, {other}"
    for span in sampled:
        text, after = found.text[span.begin : span.end], found.text[span.end :]
        if not text.endswith(span.closing) or (not span.closing and span.message not in without_stop):
            yield f"no stop string at the end: {text!r}"
        after = after if span.closing else after.lstrip()
        yield from (f"{stop!r} follows {text!r}" for stop in stops if after.startswith(stop))
        yield from (f"{stop!r} is in {text!r}" for stop in stops if stop in text.removesuffix(span.closing))
        if re.match(r"\W*(?:assistant|model|bot)\b", text, re.IGNORECASE):
            yield f"a header is sampled: {text!r}"


def _written(message: Mapping[str, Any]) -> list[str]:
    """The content, and the names and arguments of the calls."""
    functions = [one["function"] for one in message.get("tool_calls", ())]
    return [str(message["content"]), *_texts([(one["name"], one["arguments"]) for one in functions])]


def _texts(value: object) -> Iterator[str]:
    """The texts in a value, without keys."""
    if isinstance(value, Mapping):
        yield from _texts([*value.values()])
    elif isinstance(value, (list, tuple)):
        yield from (text for one in value for text in _texts(one))
    else:
        yield str(value)


def _parts(texts: Sequence[str]) -> list[str]:
    """The parts of texts between characters that a format may escape."""
    return [part.strip() for text in texts for part in re.findall(r"[A-Za-z0-9_ ,.]+", text) if part.strip()]


def _only_in(texts: Sequence[str], others: Sequence[str]) -> list[str]:
    """The parts of these texts that are in none of the others."""
    return [part for part in _parts(texts) if len(part) > 3 and not any(part in other for other in others)]
