"""A round trip that nobody tuned: random calls, written, set into random prose, cut at random, read back.

    python benchmarks/round_trips.py [FORMAT …] [--calls 2000] [--seed 0]

For every format, hypothesis draws turns of one to three calls: tools with random names and random schemas, and
arguments that fit them. In half of the turns the reader and the writer are given the tools. A turn is equal if every
call comes back with its name and its arguments, no digit, blank or type changed, the keys in the order in which the
format writes them, and if the prose around it comes back as content; blanks alone beside a call belong to the frame.

A call that the writer refuses, by name, is counted as refused and not read; so is a turn of calls that cannot stand
together. Names of more than letters, digits, `_` and `-` are drawn only where the format can carry them. The first
failure of a format is made smaller as long as it still fails, and shown. The exit status is 1 if any turn failed. The
same seed draws the same turns.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import hypothesis
from hypothesis import strategies as st

from toolfmt.errors import CannotWrite
from toolfmt.formats import FORMATS, Parser, ToolCallFormat, get, write
from toolfmt.messages.events import Content, Event, ToolCallArguments, ToolCallEnd, ToolCallStart

BLANKS = " \t\r\n"
BYTES = 8192
"""As many as hypothesis takes for one draw."""
Schema: TypeAlias = dict[str, Any]
Call: TypeAlias = tuple[str, dict[str, Any]]
Shape: TypeAlias = tuple[Schema, st.SearchStrategy[Any]]
"""A JSON Schema and the values that fit it."""

WORDS = (
    "the", "weather", "in", "Oslo", "is", "fine", "I", "call", "a", "tool", "function", "now", "name", "arguments",
    "Straße", "天気", "naïve", "🙂", "1.", "42", "(see below)", "it's", '"quoted"', "`code`", "x < y", "a > b",
    "**bold**", "- item", "f(x)", "{x}", "[1]", "a=b", "50 %", "C:\\temp", "&amp;", "<b>", "</b>", "e.g.", "//", "#",
)  # fmt: skip
GLUE = (" ", " ", " ", " ", "\n", "\n\n", ", ", ". ", ": ", "; ", "", "\t", "\r\n")
CODE = (
    "def f(x):", "    return {'a': [x, \"y\"], **z}", 'print(f"{x!r}\\n")', "if (a < b && c > d) { e(); }",
    "x = 'it''s'", 'x = "it\'s"',
    "<div class=\"a\">{{ b }}</div>", "SELECT * FROM t WHERE a = 'b';", "# }]) \"\"\" '''", "s = \"\\\\\" + '\\'' ",
    "f(a='b', c=[1, 2])", '{"name": "f", "arguments": {"a": "}"}}', "```python", "```", "```json\n{}\n```",
    "\\u0041\\x41", "echo \"$A\" | sed 's/a/b/' > c", "call:f{a:1}", "<![CDATA[x]]>", "a,b;c\td",
    "http://a.b/c?d=e&f=%20#g", "\\", "\\\\n",
)  # fmt: skip
LITERALS = (
    "1", "-0", "007", "1.0", "1e5", "0x1F", "true", "True", "false", "null", "None", "NaN", "Infinity", "{}", "[]",
    "[1]", '{"a": 1}', "{'a': None}", '"x"', "'x'", '"', "'", "", " ", "\n", "{", "}", "[", "]", "(", ")", ",", ":",
    "=", "<", ">",
)  # fmt: skip
RESERVED = (
    "function", "functions.f", "call", "name", "all", "final", "json", "user", "assistant", "self", "f:0", "print",
)  # fmt: skip


# --- what is drawn


def marks(format: ToolCallFormat) -> tuple[str, ...]:
    """The literals that mean something in the format where they stand in prose, blanks around them left out."""
    engine = format.engine
    found = (
        *format.openers, *engine.start_only_openers, *format.closers, *engine.inner.openers, *engine.inner.closers,
        *format.ignored_markers, *format.ignored_at_start, *(mark for pair in format.reasoning for mark in pair),
    )  # fmt: skip
    return tuple(sorted({mark.strip() for mark in found} - {""}))


@cache
def pieces_of(name: str) -> tuple[str, ...]:
    """What strings are made of that want to be taken for the format: its marks, its tags, and a whole call."""
    format = get(name)
    written = write(format, [("f", {"s": "x", "n": 1}), ("g", {})])
    tags = re.findall(r"<[^<>\n]*>|\[[A-Z_]+\]|[^\w\s]{2,}|[\w:]+[({]", written)
    return tuple(sorted({*marks(format), *format.unframed_openers, *tags, written}))


def all_pieces() -> tuple[str, ...]:
    return tuple(sorted({piece for format in FORMATS for piece in pieces_of(format.name)}))


def one_of(texts: Sequence[str]) -> st.SearchStrategy[str]:
    """As `sampled_from`, whose description of so many texts takes hypothesis longer than drawing one."""
    return st.integers(0, len(texts) - 1).map(lambda at: texts[at])


CHARACTERS = string.printable + "\0\x1b\x7f\x85\xa0éßİ½天気🙂｜▁\u2028\u200d\ufeff\ufffd"
ANY_TEXT = st.text(CHARACTERS, max_size=20) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
EDGES = st.text(BLANKS, max_size=3)
INTEGERS = st.integers() | st.integers(2**53 - 1, 10**40) | st.integers(-(10**40), -(2**53)) | st.integers(-9, 99)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=3).map(float)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.1, -0.0, 1.0, 1e22, 5e-324])
NUMBERS = INTEGERS | DECIMALS | FLOATS
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True)
ODD_KEYS = st.sampled_from(["größe", "名前", "@type", "$ref", "a-b", "a.b", "class", "name", "arguments", "item"])


def strings(format: ToolCallFormat) -> st.SearchStrategy[str]:
    """Strings of every kind; many want to be taken for something else."""
    own, others = one_of(pieces_of(format.name)), one_of(all_pieces())
    code = st.lists(one_of(CODE), min_size=1, max_size=3).map("\n".join)
    literals = one_of(LITERALS)
    mixed = st.lists(own | others | literals | code | ANY_TEXT, min_size=1, max_size=4).map("".join)
    edged = st.builds("".join, st.tuples(EDGES, ANY_TEXT | code | literals, EDGES))
    plain = st.lists(one_of(WORDS), max_size=5).map(" ".join)
    return st.one_of(plain, ANY_TEXT, literals, code, edged, own, mixed, mixed)


def anything(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Any JSON value."""
    plain = st.none() | st.booleans() | NUMBERS | texts
    inner = plain | st.lists(plain, max_size=3) | st.dictionaries(KEYS | texts, plain, max_size=3)
    return plain | inner | st.lists(inner, max_size=3) | st.dictionaries(KEYS | texts, inner, max_size=3)


def shapes(format: ToolCallFormat) -> st.SearchStrategy[Shape]:
    """Schemas of parameters, each with the values that fit it."""
    texts = strings(format)
    free = anything(texts)
    simple: list[Shape] = [
        ({"type": "string"}, texts),
        ({"type": "integer"}, INTEGERS),
        ({"type": "number"}, NUMBERS),
        ({"type": "boolean"}, st.booleans()),
        ({"type": "string", "description": "a text", "minLength": 0}, texts),
        ({"type": ["string", "null"]}, st.none() | texts),
        ({"type": ["integer", "string"]}, INTEGERS | texts),
        ({"type": "array"}, st.lists(free, max_size=3)),
        ({"type": "object"}, st.dictionaries(KEYS | texts, free, max_size=3)),
        ({"type": "null"}, st.none()),
        ({}, free),
    ]
    choices = st.lists(texts | INTEGERS | st.booleans() | st.none(), min_size=1, max_size=4)
    enums = choices.map(lambda listed: ({"enum": listed}, st.sampled_from(listed)))
    words = st.lists(texts, min_size=1, max_size=3)
    closed = words.map(lambda listed: ({"type": "string", "enum": listed}, st.sampled_from(listed)))

    def nested(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
        unions = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(
            inner.map(_listed),
            inner.map(_mapped),
            inner.map(_nullable),
            st.dictionaries(KEYS | ODD_KEYS, inner, max_size=3).map(_object),
            st.tuples(st.sampled_from(["anyOf", "oneOf"]), unions).map(_union),
        )

    flat = st.sampled_from(simple) | enums | closed
    often = st.sampled_from([shape for shape in simple if shape[1] is texts])
    return st.one_of(flat, often, often, often, often, nested(flat | nested(flat)))


def _listed(item: Shape) -> Shape:
    return {"type": "array", "items": item[0]}, st.lists(item[1], max_size=3)


def _mapped(value: Shape) -> Shape:
    return {"type": "object", "additionalProperties": value[0]}, st.dictionaries(KEYS, value[1], max_size=3)


def _nullable(shape: Shape) -> Shape:
    schema, values = shape
    allowed = schema | {"nullable": True} if "type" in schema else {"anyOf": [schema, {"type": "null"}]}
    return allowed, st.none() | values


def _object(members: Mapping[str, Shape]) -> Shape:
    properties = {key: schema for key, (schema, _) in members.items()}
    values = st.fixed_dictionaries({}, optional={key: values for key, (_, values) in members.items()})
    return {"type": "object", "properties": properties, "required": []}, values


def _union(parts: tuple[str, list[Shape]]) -> Shape:
    key, of = parts
    return {key: [schema for schema, _ in of]}, st.one_of([values for _, values in of])


Tool: TypeAlias = tuple[Schema, str, dict[str, st.SearchStrategy[Any]]]
"""A tool's definition, its name, and the values of its parameters."""


@dataclass(frozen=True)
class Turn:
    """Calls in prose, and where the text is cut."""

    calls: tuple[Call, ...]
    tools: tuple[Any, ...] | None
    before: str
    after: str
    cuts: tuple[float, ...] | None
    """Where, as shares of the text; None for one character at a time."""


@cache
def carries(format: str, name: str) -> bool:
    try:
        write(format, [(name, {})])
    except CannotWrite:
        return False
    return True


def names(format: ToolCallFormat) -> st.SearchStrategy[str]:
    """Names as the OpenAI interface allows them, and others that the format can carry."""
    usual = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_-]{0,20}", fullmatch=True)
    usual = usual.map(lambda name: name.rstrip("-") or "f")
    odd = st.from_regex(r"[\w][\w.:/$@+-]{0,12}", fullmatch=True) | st.sampled_from(RESERVED) | ANY_TEXT
    return usual | usual | odd.map(lambda name: name if carries(format.name, name) else "get_weather")


@st.composite
def definitions(draw: st.DrawFn, names: st.SearchStrategy[str], shapes: st.SearchStrategy[Shape]) -> Tool:
    """A tool, not all of whose parameters are declared."""
    name = draw(names)
    parameters = draw(
        st.dictionaries(KEYS | KEYS | KEYS | ODD_KEYS, shapes, min_size=draw(st.integers(0, 3)), max_size=4)
    )
    function: Schema = {"name": name, "description": "Does something."}
    if draw(st.integers(0, 7)):
        told = draw(st.booleans())
        declared = {key: schema for key, (schema, _) in parameters.items() if schema or told}
        function["parameters"] = {"type": "object", "properties": declared}
    tool = {"type": "function", "function": function} if draw(st.booleans()) else function
    return tool, name, {key: values for key, (_, values) in parameters.items()}


@st.composite
def turns(draw: st.DrawFn, tool: st.SearchStrategy[Tool], prose: st.SearchStrategy[str]) -> Turn:
    """A turn of one to three calls."""
    listed = draw(st.lists(tool, min_size=1, max_size=3, unique_by=lambda defined: defined[1]))
    calls = []
    for _ in range(draw(st.integers(1, 3))):
        _, name, parameters = draw(st.sampled_from(listed))
        keys = draw(st.permutations(list(parameters)))
        keys = keys[: draw(st.integers(0, len(keys)))] if draw(st.booleans()) else keys
        calls.append((name, {key: draw(parameters[key]) for key in keys}))
    tools = tuple(definition for definition, _, _ in listed) if draw(st.booleans()) else None
    cuts = draw(st.none() | st.lists(st.floats(0, 1), max_size=12).map(tuple))
    return Turn(tuple(calls), tools, draw(prose), draw(prose), cuts)


def prose() -> st.SearchStrategy[str]:
    """Words, whatever stands between words, beginnings of marks, and marks of other formats."""
    begun = one_of([mark for mark in all_pieces() if len(mark) > 1 and "\n" not in mark])
    begun = st.tuples(begun, st.floats(0, 1)).map(lambda cut: cut[0][: int(len(cut[0]) * cut[1])])
    word = one_of(WORDS) | one_of(WORDS) | st.text(string.printable, max_size=5) | ANY_TEXT | begun
    return st.lists(st.tuples(word, one_of(GLUE)).map("".join), max_size=8).map("".join)


def drawn(format: ToolCallFormat, seed: int, calls: int) -> Iterator[Turn]:
    """Turns with so many calls in all.

    Hypothesis draws them from random bytes: left to itself it varies what it has drawn, and most turns are alike.
    """
    tool = definitions(names(format), shapes(format))
    kept: list[Turn] = []

    @hypothesis.settings(database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(turns(tool, prose()))
    def keep(turn: Turn) -> None:
        kept.append(turn)

    generator = random.Random(f"{seed} {format.name}")
    while calls > 0:
        keep.hypothesis.fuzz_one_input(generator.randbytes(BYTES))  # type: ignore[attr-defined]  # given adds it
        for turn in kept:
            yield replace(turn, calls=turn.calls[:calls])
            calls -= len(turn.calls)
        kept.clear()


# --- what is done with it


def carried(format: ToolCallFormat, turn: Turn) -> tuple[Call, ...]:
    """The calls that the format can carry: each alone, and then all together, or none."""

    def written(calls: Sequence[Call]) -> bool:
        try:
            write(format, calls, turn.tools)
        except CannotWrite:
            return False
        return True

    each = tuple(call for call in turn.calls if written([call]))
    return each if each and written(each) else ()


def embedded(format: ToolCallFormat, turn: Turn) -> tuple[str, str, str]:
    """The prose before the calls, the calls, and the prose behind them.

    Where no opener begins the calls they begin a line, or the answer, as the format has it. Prose that means something
    in the format is thinned out to words.
    """
    text = write(format, turn.calls, turn.tools)
    before, after = turn.before, turn.after
    if means_something(format, before, text, after):
        before, after = (re.sub(r"[^\w\s]|_", "", part) for part in (before, after))
        if means_something(format, before, text, after):
            before, after = "Well.\n", "\nDone."
    if not text.lstrip(BLANKS).startswith(format.openers or "\0"):
        bare = text.startswith(format.unframed_openers or "\0")
        before = before + "\n" if bare and before.strip(BLANKS) else ""
        after = "\n" + after  # what follows right behind decides what the calls are
    return before, text, after


def means_something(format: ToolCallFormat, before: str, text: str, after: str) -> bool:
    """Whether prose holds a mark of the format, or makes one together with the calls; or begins a call without one."""
    whole, own = before + text + after, marks(format)
    if any(whole.count(mark) != text.count(mark) for mark in own):
        return True
    if any(mark in text and whole.find(mark) != len(before) + text.find(mark) for mark in own):
        return True
    lines = [line.lstrip(BLANKS) for part in (before, after) for line in part.split("\n")]
    return any(line.startswith(format.unframed_openers or "\0") and re.search(r"name|\(", line) for line in lines)


def in_pieces(text: str, cuts: Iterable[float] | None) -> list[str]:
    if cuts is None:
        return list(text)
    ends = sorted({int(cut * len(text)) for cut in cuts} | {0, len(text)})
    return [text[begin:end] for begin, end in pairwise(ends)]


@cache
def sorts_keys(name: str) -> bool:
    """Whether the format writes the arguments in an order of its own."""
    text = write(name, [("f", {"zzz": 1, "aaa": 2})])
    return text.index("aaa") < text.index("zzz")


def exact(arguments: str, sorted_keys: bool) -> Any:
    """JSON, with everything told apart that JSON tells apart: types, digits, the order of keys."""
    return json.loads(
        arguments,
        parse_int=lambda digits: ("integer", digits),
        parse_float=lambda digits: ("number", Decimal(digits), digits[:1] == "-"),
        object_pairs_hook=lambda pairs: {
            "object": sorted(pairs, key=lambda pair: str(pair[0])) if sorted_keys else pairs
        },
    )


def failure(format: ToolCallFormat, turn: Turn) -> str:
    """What went wrong with calls that the format can carry; empty if nothing did."""
    before, text, after = embedded(format, turn)
    parser = Parser(format, tools=turn.tools)
    events: list[Event] = []
    try:
        for piece in in_pieces(before + text + after, turn.cuts):
            events += parser.feed(piece)
        events += parser.finish()
    except Exception as error:  # noqa: BLE001  whatever is raised is a failure to be shown
        return f"raised {error!r}"
    contents, read = [""], list[list[str]]()
    for event in events:
        if isinstance(event, Content):
            contents[-1] += event.text
        elif isinstance(event, ToolCallStart):
            contents.append("")
            read.append([event.name, ""])
        elif isinstance(event, ToolCallArguments):
            read[-1][1] += event.delta
        elif not isinstance(event, ToolCallEnd):
            return f"said {event.to_dict()}"
    if [name for name, _ in read] != [name for name, _ in turn.calls]:
        return f"read calls of {[name for name, _ in read]}, content {contents}"
    for (_, said), (_, arguments) in zip(read, turn.calls, strict=True):
        try:
            same = exact(said, sorts_keys(format.name)) == exact(json.dumps(arguments), sorts_keys(format.name))
        except ValueError:
            same = False
        if not same:
            return f"read the arguments {said}"
    expected = [before, *[""] * (len(read) - 1), after]
    for said, part in zip(contents, expected, strict=True):
        if said != part and (part.strip(BLANKS) or said):
            return f"read the content {contents}, not {expected}"
    return ""


# --- the smallest failure


def smaller(value: Any) -> Iterator[Any]:
    """Simpler values, the simplest first."""
    if isinstance(value, str):
        sizes = [size for size in (len(value) // 2, len(value) // 4, 4, 1) if 0 < size <= len(value)]
        yield from (value[:at] + value[at + size :] for size in sizes for at in range(0, len(value), size))
    elif isinstance(value, dict):
        yield from ({k: v for k, v in value.items() if k != key} for key in value)
        yield from (value | {key: less} for key in value for less in smaller(value[key]))
    elif isinstance(value, (list, tuple)):
        kind = type(value)
        yield from (kind([*value[:at], *value[at + 1 :]]) for at in range(len(value)))
        for at, item in enumerate(value):
            yield from (kind([*value[:at], less, *value[at + 1 :]]) for less in smaller(item))
    elif value not in (None, True, False, 1):
        yield 1


def smaller_turns(turn: Turn) -> Iterator[Turn]:
    if turn.tools is not None:
        yield replace(turn, tools=None)
    if turn.cuts is None or turn.cuts:
        yield replace(turn, cuts=())
    if turn.cuts:
        yield from (replace(turn, cuts=less) for less in smaller(turn.cuts) if 1 not in less)
    yield from (replace(turn, before=less) for less in smaller(turn.before))
    yield from (replace(turn, after=less) for less in smaller(turn.after))
    if len(turn.calls) > 1:
        yield from (replace(turn, calls=turn.calls[:at] + turn.calls[at + 1 :]) for at in range(len(turn.calls)))
    for at, (name, arguments) in enumerate(turn.calls):
        for less in smaller(arguments):
            yield replace(turn, calls=(*turn.calls[:at], (name, less), *turn.calls[at + 1 :]))


def smallest(fails: Callable[[Turn], str], turn: Turn, most: int = 5000) -> Turn:
    """The turn made simpler while it fails; gives up making it simpler after so many trials."""
    left = iter(range(most))
    while True:
        for less in smaller_turns(turn):
            if next(left, None) is None:
                return turn
            if fails(less):
                turn = less
                break
        else:
            return turn


def shown(format: ToolCallFormat, turn: Turn) -> str:
    def fails(less: Turn) -> str:
        return failure(format, less) if less.calls and carried(format, less) == less.calls else ""

    turn = smallest(fails, turn)
    fed = in_pieces("".join(embedded(format, turn)), turn.cuts)
    tools = f", tools {json.dumps(turn.tools, ensure_ascii=False)}" if turn.tools is not None else ""
    return f"fed {fed!r}{tools}: {failure(format, turn)}"


# --- the table


@dataclass
class Row:
    """What became of the calls of one format."""

    calls: int = 0
    equal: int = 0
    refused: int = 0
    first: str = ""

    @property
    def failed(self) -> int:
        return self.calls - self.equal - self.refused


def measure(format: ToolCallFormat, seed: int, calls: int) -> Row:
    row = Row()
    for turn in drawn(format, seed, calls):
        row.calls += len(turn.calls)
        kept = replace(turn, calls=carried(format, turn))
        row.refused += len(turn.calls) - len(kept.calls)
        if not kept.calls:
            continue
        if not failure(format, kept):
            row.equal += len(kept.calls)
        elif not row.first:
            row.first = shown(format, kept)
    return row


def main() -> int:
    arguments = argparse.ArgumentParser(description="Random calls, written, embedded, cut and read back")
    arguments.add_argument("formats", nargs="*", metavar="FORMAT", help="all formats, if none is named")
    arguments.add_argument("--calls", type=int, default=2000, help="so many for each format")
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    total = Row()
    print(f"{'format':18}{'calls':>7}{'equal':>8}{'failed':>8}{'refused':>9}{'share':>8}")
    for format in map(get, options.formats) if options.formats else FORMATS:
        row = measure(format, options.seed, options.calls)
        print(line(format.name, row), f"  {row.first}" if row.first else "", sep="", flush=True)
        total.calls, total.equal, total.refused = (
            total.calls + row.calls, total.equal + row.equal, total.refused + row.refused
        )  # fmt: skip
    print(line("all", total))
    return 1 if total.failed else 0


def line(name: str, row: Row) -> str:
    share = row.refused / row.calls if row.calls else 0
    return f"{name:18}{row.calls:7}{row.equal:8}{row.failed:8}{row.refused:9}{share:8.1%}"


if __name__ == "__main__":
    sys.exit(main())
