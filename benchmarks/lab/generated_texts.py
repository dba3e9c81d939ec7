"""Check guarantees 1 to 5 and 11, the time and the memory of the parsers with millions of generated texts.

    python benchmarks/lab/generated_texts.py [FORMAT …] [--texts 65000] [--seed 0] [--seconds S] [--processes N]
    python benchmarks/lab/generated_texts.py --memory [FORMAT …]

A text consists of elements: prose; calls of any format whole, truncated, spliced with another, nested, in a fence, in
reasoning or between backticks; markers of any format alone, doubled and by the hundred; invalid JSON, extreme numbers,
control characters, halves of surrogate pairs, and long runs. Then a few positions are damaged. Tools, schemas,
strictness and prefix are random too. The generator shares nothing with the tests; `tests/support/guarantees.py`
contains the checks. Text number N of a seed is the same in every run.

Every text is parsed whole and at random cuts, every third (unless it is long) character by character, and every eighth
with `parse`. No parse may raise. One in a hundred is long, and its CPU time is measured, fed at once and in chunks of
four: more than 25 µs per character is a failure. Failing texts are minimized and printed. The exit status is 1 if there
is one.

`--memory` feeds a parser 50 MB of content, and other parsers calls with 10,000 distinct keys (in one parser, and in one
parser per set of tools). It prints how much the second half added to the memory that tracemalloc measures; more than
256 KB is a failure.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import random
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from guarantees import check_arguments, check_shape, check_tiling, cut, dropped, events_of

import toolfmt
from toolfmt.errors import CannotWrite
from toolfmt.formats import FORMATS, Parser, ToolCallFormat, get, write
from toolfmt.messages.events import Event, ToolCallEnd, ToolCallRejected
from toolfmt.messages.message import Message

SLOWEST = 25.0
"""µs of CPU a character."""
LONG = 3000
"""Characters from which a text's time is measured, and it is not fed a character at a time."""
FLAT = 256 * 1024

WORDS = (
    "the call", "weather", "Oslo", "tool_call", "function", "arguments", "name", "a", "I", "and then", "it's",
    "don't", "naïve", "天気は", "Привет", "مرحبا", "🙂", "👩‍👩‍👧", "e.g.", "3.5", "x = 1", "f(x)", "[1, 2]", "{a: b}",
    "a < b > c", "</b>", "null", "True", "undefined", "C:\\temp\\new", "50 %", "&lt;b&gt;", "http://a.b/c?d=[e]",
    "**", "# Title", "- item",
)  # fmt: skip
CONTROL = (
    "\0", "\x01", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\u200b", "\u202e", "\ud83d", "\ude42",
    "\udcff", "\r", "\r\n", "\v", "\f", "\xa0", "\u3000", "e\u0301", "\ufffd", "\U0010ffff",
)  # fmt: skip
CHARACTERS = tuple("{}[]()<>\"'`:;,.=|/\\_-+*#@!?&%$~^ \n\t0aZ")
JSON_BITS = (
    '{"name": "get_weather", "arguments": {"city": "Oslo"}}', '{"name": "f"', '"arguments": {',
    '{"arguments": {"a": 1}, ', '"parameters": ', '{"a": [1, 2', '{"a": "b\\', '"\\u12', '"\\ud83d', "[[[[", "}}}}",
    '{"a": 1 2}', '{"a" "b"}', "{,}", '{"a": 1,}', "{'a': None}", "{a: 1}", '{"a": NaN}', '{"a": 1e999}', "-", "1.",
    ".5", "0x1F", "1_000", "007", "--1", '{"a": 1}{"b": 2}', '{"name": null, "arguments": null}',
    '{"name": 1, "arguments": []}', '{"": ""}', "[]", "{}", "{{", '"arguments": "{\\"a\\": 1}"', '{"tool_calls": [',
    '"type": "function", "function": {', "```json\n", "```", "'''",
)  # fmt: skip
NAMES = ("get_weather", "f", "g.h", "search-web", "now", "a_b_c", "функция", "get weather", "")
KEYS = ("city", "s", "n", "days", "o", "l", "größe", "a-b", "a b", "name", "arguments", "type", "")
TOOL_NAMES = ("get_weather", "f", "g.h", "search-web", "now")
PREFIXES = (
    "<think>\n", "<think>", "<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n",
    "<think>\n\n</think>\n\n", "<|start|>assistant", "<|start|>assistant<|channel|>analysis<|message|>", "[/INST]",
    "assistant\n\nIt is ", "<tool_call>", "\n",
)  # fmt: skip


# --- the generator


@dataclass(frozen=True)
class Text:
    """A text, the format that reads it, and how."""

    format: str
    text: str
    options: dict[str, Any]
    number: int

    @property
    def long(self) -> bool:
        return self.number % 100 == 99


def drawn(format: str, seed: int, number: int) -> Text:
    """Text number so-and-so of a format."""
    chance = random.Random(f"{seed}/{format}/{number}")
    if number % 100 == 99:
        text = _long(chance, format)
    else:
        count = chance.choice((1, 1, 2, 2, 3, 3, 4, 5, 8))
        text = "".join(_element(chance, format) for _ in range(count))
        for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 4))):
            text = _damaged(chance, text, format)
    options: dict[str, Any] = {}
    if chance.random() < 0.6:
        options["tools"] = _tools(chance)
    if chance.random() < 0.3:
        options["strict"] = True
    if chance.random() < 0.15:
        options["prefix"] = chance.choice(PREFIXES)
    return Text(format, text, options, number)


def _element(chance: random.Random, format: str) -> str:
    other = format if chance.random() < 0.75 else chance.choice(ALL)
    kind = chance.randrange(20)
    if kind < 5:
        return _around(chance, _call(chance, other))
    if kind < 7:
        return _truncated(chance, _call(chance, other))
    if kind < 9:
        return _spliced(chance, _call(chance, format), _call(chance, other))
    if kind < 10:
        return _nested(chance, format, other)
    if kind < 12:
        return _prose(chance)
    if kind < 14:
        return chance.choice(("", " ", "\n", "`")) + chance.choice(_marks(other)) + chance.choice(("", " ", "\n", "`"))
    if kind < 15:
        return "".join(chance.choice(_marks(other)) for _ in range(chance.randint(2, 6)))
    if kind < 17:
        return chance.choice(JSON_BITS)
    if kind < 18:
        return "".join(chance.choice(CHARACTERS) for _ in range(chance.randint(1, 12)))
    if kind < 19:
        return chance.choice(CONTROL)
    return _run(chance, other, chance.choice((20, 60, 200)))


def _around(chance: random.Random, call: str) -> str:
    """A call alone, or in a possible context."""
    return chance.choice(
        (
            "{}", "{}", "{}", "{}", "{}\n", "\n{}", " {}", "Let me see.\n{}\nDone.", "See `{}` there.", "```\n{}\n```",
            "```json\n{}\n```", "<think>{}</think>", "<think>hm {}", "<think>\nhm\n</think>\n\n{}", '"{}"', "> {}",
            "- {}", "{}{}", "{}\n{}", "{}, {}", "{};{}",
        )
    ).replace("{}", call)  # fmt: skip


def _truncated(chance: random.Random, call: str) -> str:
    at = chance.randint(0, len(call))
    return call[:at] if chance.random() < 0.7 else call[at:]


def _spliced(chance: random.Random, one: str, other: str) -> str:
    return one[: chance.randint(0, len(one))] + other[chance.randint(0, len(other)) :]


def _nested(chance: random.Random, format: str, other: str) -> str:
    """A call inserted into another one, in a value or anywhere."""
    outer, inner = _call(chance, format), _call(chance, other)
    at = outer.find("Oslo")
    at = at if at >= 0 and chance.random() < 0.7 else chance.randint(0, len(outer))
    return outer[:at] + inner + outer[at:]


def _prose(chance: random.Random) -> str:
    glue = chance.choice((" ", " ", " ", "\n", ", ", "\n\n"))
    return glue.join(chance.choice(WORDS) for _ in range(chance.randint(1, 12))) + chance.choice(("", ".", "\n", " "))


def _run(chance: random.Random, format: str, times: int) -> str:
    piece = chance.choice((*CHARACTERS, *_marks(format), *JSON_BITS, *CONTROL, "9", "ab "))
    return piece * times


def _damaged(chance: random.Random, text: str, format: str) -> str:
    if not text:
        return text
    at = chance.randrange(len(text))
    length = chance.choice((0, 1, 1, 1, 2, 3, 8, 20))
    kind = chance.randrange(5)
    if kind == 0:  # lost
        return text[:at] + text[at + max(1, length) :]
    if kind == 1:  # doubled
        return text[: at + length] + text[at:]
    if kind == 2:  # moved
        other = chance.randrange(len(text))
        piece = text[at : at + max(1, length)]
        rest = text[:at] + text[at + len(piece) :]
        return rest[:other] + piece + rest[other:]
    if kind == 3:  # something else in between
        return text[:at] + chance.choice((*CHARACTERS, *CONTROL, *_marks(format), *JSON_BITS)) + text[at:]
    return text[:at] + chance.choice((*CHARACTERS, *CONTROL)) + text[at + max(1, length) :]


def _long(chance: random.Random, format: str) -> str:
    """A few thousand characters and more: something repeated, or a value that is long, in or without a frame."""
    length = chance.choice((LONG, 2 * LONG, 4 * LONG, 8 * LONG))
    kind = chance.randrange(6)
    if kind == 0:
        unit = _element(chance, format) or "x"
    elif kind == 1:
        unit = chance.choice(_marks(format))
    elif kind == 2:
        unit = _prose(chance) + chance.choice(("", chance.choice(_marks(format))))
    elif kind == 3:
        return _element(chance, format) + _run(chance, format, length)[: 8 * LONG] + _element(chance, format)
    elif kind == 4:
        call, unit = _call(chance, format), "".join(_element(chance, format) for _ in range(2)) or "x"
        at = call.find("Oslo")
        at = at if at >= 0 else chance.randint(0, len(call))
        return call[:at] + unit * (length // len(unit) + 1) + call[at:]
    else:
        unit = _truncated(chance, _call(chance, format)) or "x"
    before = _truncated(chance, _call(chance, format)) if chance.random() < 0.5 else ""
    return before + unit * (length // len(unit) + 1)


def _value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(14 if depth < 3 else 10)
    if kind < 3:
        return chance.choice(
            ("Oslo", "Oslo\nBergen", "", " ", "null", "12", "{}", "a\"b'c", "\\", "\\n", "</x>", "Oslo, NO")
        )
    if kind < 5:
        return "Oslo " + _prose(chance)
    if kind < 6:
        return "Oslo " + "".join(chance.choice((*CHARACTERS, *WORDS)) for _ in range(chance.randint(1, 20)))
    if kind < 8:
        return chance.choice((0, 1, -1, 7, 2**53, -(2**70), 0.5, -0.0, 1e22, 1e-7, 3))
    if kind < 9:
        return chance.choice((True, False))
    if kind < 10:
        return None
    if kind < 12:
        return [_value(chance, depth + 1) for _ in range(chance.randint(0, 3))]
    return {chance.choice(KEYS[:8]): _value(chance, depth + 1) for _ in range(chance.randint(0, 3))}


@cache
def _calls(format: str) -> tuple[str, ...]:
    """Written calls of a format: turns of one to three, in random variants."""
    chance = random.Random(f"calls of {format}")
    known = get(format)
    found: list[str] = []
    while len(found) < 60:
        turn = [
            (chance.choice(NAMES[:6]), {chance.choice(KEYS[:6]): _value(chance) for _ in range(chance.randint(0, 4))})
            for _ in range(chance.choice((1, 1, 1, 2, 3)))
        ]
        try:
            found.append(write(known, turn))
        except CannotWrite:
            continue
    return tuple(found)


def _call(chance: random.Random, format: str) -> str:
    return chance.choice(_calls(format))


@cache
def _marks(format: str) -> tuple[str, ...]:
    """The literals of a format, its words and its tags with the words in them."""
    known, calls = get(format), _calls(format)
    tags = {piece for call in calls[:20] for piece in _tags(call)}
    pairs = [mark for pair in (*known.reasoning, *known.content_markers) for mark in pair]
    own = (
        *known.openers,
        *known.closers,
        *known.unframed_openers,
        *known.ignored_markers,
        *known.engine.start_only_openers,
        *pairs,
    )
    return tuple(sorted({mark for mark in (*own, *tags) if mark}))


def _tags(call: str) -> Iterator[str]:
    for begin, end in (("<", ">"), ("[", "]")):
        at = call.find(begin)
        while at >= 0:
            stop = call.find(end, at)
            if 0 < stop - at < 60:
                yield call[at : stop + 1]
            at = call.find(begin, at + 1)


def _tools(chance: random.Random) -> list[Any]:
    if chance.random() < 0.1:
        return []
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {
                    "type": "object",
                    "properties": {key: _schema(chance) for key in chance.sample(KEYS[:8], chance.randint(0, 6))},
                    "$defs": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/b"}, "c": [{"type": "string"}]},
                },
            },
        }
        for name in chance.sample(TOOL_NAMES, chance.randint(1, len(TOOL_NAMES)))
    ]


def _schema(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(16)
    if kind < 5:
        return {"type": "string"}
    if kind < 9:
        return {"type": chance.choice(("integer", "number", "boolean", "object", "array", "null"))}
    if kind < 10:
        return {"type": chance.sample(("string", "null", "integer", "object", "array"), 2)}
    if kind < 11:
        return {"enum": chance.choice((["Oslo", "Bergen"], [1, 2], ["1", None], []))}
    if kind < 12 and depth < 2:
        return {chance.choice(("anyOf", "oneOf", "allOf")): [_schema(chance, depth + 1) for _ in range(2)]}
    if kind < 13 and depth < 2:
        return {"type": "array", "items": _schema(chance, depth + 1)}
    if kind < 14 and depth < 2:
        return {"type": "object", "properties": {key: _schema(chance, depth + 1) for key in KEYS[:3]}}
    references = ("#/$defs/a", "#/$defs/b", "#/$defs/c/0", "#/$defs/c/" + "9" * 5000, "#/nowhere", "#", "x.json#/a", 7)
    return chance.choice(({}, True, False, None, "string", {"$ref": chance.choice(references)}, {"type": "strange"}))


# --- the checks


@dataclass
class Found:
    """The results of a number of texts."""

    texts: int = 0
    characters: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    failures: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        self.texts += other.texts
        self.characters += other.characters
        self.outcomes += other.outcomes
        self.slowest = max(self.slowest, other.slowest)
        self.failures += other.failures


def failure(made: Text, places: list[int], found: Found | None = None) -> str:
    """The guarantee that the text breaks; if empty, none, and the results are counted."""
    try:
        whole = events_of(made.format, [made.text], **made.options)
    except Exception as error:  # noqa: BLE001  that is what is looked for
        return f"raised {type(error).__name__}"
    try:
        by_characters = len(made.text) < LONG and made.number % 3 == 0
        in_pieces = [cut(made.text, places), *([list(made.text)] if by_characters else [])]
        if any(events_of(made.format, pieces, **made.options) != whole for pieces in in_pieces):
            return "guarantee 1"
    except Exception as error:  # noqa: BLE001  that is what is looked for
        return f"raised {type(error).__name__} in pieces"
    checks: tuple[tuple[str, Callable[[], None]], ...] = (
        ("guarantee 4", lambda: check_shape(whole)),
        ("guarantee 5", lambda: check_arguments(whole)),
        ("guarantee 3", lambda: check_tiling(made.text, whole, dropped(get(made.format)))),
        ("guarantee 11", lambda: same_message(made, whole) if made.number % 8 == 0 else None),
    )
    for invariant, check in checks:
        try:
            check()
        except (AssertionError, ValueError) as error:
            return invariant if isinstance(error, AssertionError) else f"{invariant}, {type(error).__name__}"
    if found is not None:
        found.outcomes[outcome(whole)] += 1
    return ""


def same_message(made: Text, whole: list[Event]) -> None:
    message = toolfmt.parse(made.text, made.format, **made.options)
    parser = Parser(made.format, **made.options)
    parser.feed(made.text)
    parser.finish()
    call_id = get(made.format).call_id
    assert message.to_dict() == Message.from_events([*parser.continued, *whole], (), call_id).to_dict()


def per_character(made: Text, size: int) -> float:
    """µs of CPU per character, fed in chunks of this size; measured again if it is too much: other processes may be
    running.
    """
    pieces = [made.text[at : at + size] for at in range(0, len(made.text), size)]
    best = float("inf")
    for _ in range(3):
        parser = Parser(made.format, **made.options)
        begin = time.process_time()
        for piece in pieces:
            parser.feed(piece)
        parser.finish()
        best = min(best, (time.process_time() - begin) / len(made.text) * 1e6)
        if best <= SLOWEST:
            break
    return best


def looked_at(task: tuple[str, int, int, int]) -> Found:
    """A range of the texts of a format."""
    format, seed, first, last = task
    found = Found()
    for number in range(first, last):
        made = drawn(format, seed, number)
        found.texts += 1
        found.characters += len(made.text)
        places = [random.Random(number).randrange(len(made.text) + 1) for _ in range(number % 7)]
        what = failure(made, places, found)
        if what:
            found.failures.append(shown(made, what, places))
        elif made.long:
            for size in (len(made.text), 4):
                spent = per_character(made, size)
                found.slowest = max(found.slowest, (spent, f"{format}, pieces of {size}: {made.text[:100]!r}…"))
                if spent > SLOWEST:
                    what = f"{spent:.0f} µs per character in pieces of {size}, {len(made.text)} characters"
                    found.failures.append(f"{format}: {what}\n    {made.options}\n    {made.text[:600]!r}")
    return found


def outcome(events: list[Event]) -> str:
    ended = sum(isinstance(event, ToolCallEnd) for event in events)
    rejected = sum(isinstance(event, ToolCallRejected) for event in events)
    return ("calls" if ended else "") + (" and " if ended and rejected else "") + (
        "rejected" if rejected else ""
    ) or "text"


def shown(made: Text, what: str, places: list[int]) -> str:
    """The text made smaller while it fails in the same way."""

    def fails(less: Text) -> bool:
        return failure(less, places) == what

    left, text = 1500, made.text
    size = max(1, len(text) // 2)
    while left > 0:
        smaller = None
        for at in range(0, len(text), size):
            left -= 1
            less = text[:at] + text[at + size :]
            if left > 0 and fails(replace(made, text=less)):
                smaller = less
                break
        if smaller is not None:
            text = smaller
        elif size == 1:
            break
        else:
            size = max(1, size // 2)
    options = dict(made.options)
    for key in list(options):
        fewer = {name: value for name, value in options.items() if name != key}
        if fails(replace(made, text=text, options=fewer)):
            options = fewer
    return f"{made.format}: {what}\n    {json.dumps(options)[:1200]}\n    {text[:2000]!r}"


# --- memory


def memory(format: ToolCallFormat) -> list[str]:
    """What grows although it should not."""
    found = []
    for what, halves in (
        ("50 MB of content", _content),
        ("10,000 keys in one parser", _keys),
        ("10,000 tools", _parsers),
    ):
        if format.engine.start_only_openers and what.endswith("parser"):
            continue  # a second call needs its message's header, which the writer gives calls of one turn only
        tracemalloc.start()
        sizes = []
        for _ in halves(format):
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        print(f"  {format.name:18}{what:28}{(sizes[1] - sizes[0]) / 1024:10.1f} KB more", flush=True)
        if sizes[1] - sizes[0] > FLAT:
            found.append(f"{format.name}: {what}: {sizes[1] - sizes[0]:,} bytes more")
    return found


def _content(format: ToolCallFormat) -> Iterator[None]:
    parser = Parser(format)
    chunk = ("The weather in Oslo is fine today, and it will stay so (they say); 5 < 6 and a [link]. " * 800)[: 1 << 16]
    for _ in range(2):
        for _ in range((50 << 20) // len(chunk) // 2):
            parser.feed(chunk)
        yield


def _keys(format: ToolCallFormat) -> Iterator[None]:
    parser, text = Parser(format), write(format, [("f", {"KEY": "x"})]) + "\n"
    for half in range(2):
        for number in range(half * 5000, half * 5000 + 5000):
            parser.feed(text.replace("KEY", f"key_{number}"))
        yield


def _parsers(format: ToolCallFormat) -> Iterator[None]:
    text = write(format, [("NAME", {"KEY": "x"})])
    for half in range(2):
        for number in range(half * 5000, half * 5000 + 5000):
            name, key = f"tool_{number}", f"key_{number}"
            tools = [{"name": name, "parameters": {"type": "object", "properties": {key: {"type": "string"}}}}]
            toolfmt.parse(text.replace("NAME", name).replace("KEY", key), format, tools=tools)
        yield


# --- the run


ALL = tuple(format.name for format in FORMATS)
STRETCH = 200


def main() -> int:
    arguments = argparse.ArgumentParser(description="Parse generated texts and check the guarantees")
    arguments.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all formats")
    arguments.add_argument("--texts", type=int, default=65_000, help="total number of texts")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--seconds", type=float, help="stop after this time")
    arguments.add_argument("--processes", type=int, default=1)
    arguments.add_argument("--show", type=int, default=40, metavar="N", help="print at most N failures")
    arguments.add_argument("--memory", action="store_true", help="measure memory instead")
    options = arguments.parse_args()
    names = options.formats or ALL
    if options.memory:
        grown = [line for name in names for line in memory(get(name))]
        print("\n".join(grown) or "no memory growth")
        return 1 if grown else 0
    each = -(-options.texts // len(names))
    tasks = (
        (name, options.seed, first, min(first + STRETCH, each)) for first in range(0, each, STRETCH) for name in names
    )
    found, begin, kinds = Found(), time.monotonic(), Counter[str]()
    with multiprocessing.Pool(options.processes) as pool:
        results = pool.imap_unordered(looked_at, tasks) if options.processes > 1 else map(looked_at, tasks)
        for part in results:
            for text in part.failures:
                kind = text.split("\n")[0]
                kinds[kind] += 1
                if kinds[kind] <= 2 and len(kinds) <= options.show:
                    print(text, flush=True)
            found.add(part)
            if options.seconds and time.monotonic() - begin > options.seconds:
                break
    print(f"{found.texts:,} texts, {found.characters:,} characters, {len(found.failures):,} failures", end="; ")
    print(", ".join(f"{kind} {count:,}" for kind, count in found.outcomes.most_common()))
    print(f"slowest: {found.slowest[0]:.1f} µs per character, {found.slowest[1]}")
    for kind, count in kinds.most_common(options.show):
        print(f"{count:7,} {kind}")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
