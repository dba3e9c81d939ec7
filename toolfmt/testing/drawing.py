"""Generate test input for a parser from a `random.Random`: tools, schemas, values, calls, outputs, damage.

The fuzzer passes a seed, hypothesis its own `Random` to shrink the result, a coverage-guided fuzzer one of bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any, Literal, TypeAlias

from toolfmt.errors import CannotWrite
from toolfmt.formats import get, write
from toolfmt.testing import corpus, damaging, prose_pieces
from toolfmt.testing.invariants import Expected
from toolfmt.testing.material import call_markers, markers

Kind: TypeAlias = Literal["calls", "cut", "damaged", "prose", "joined", "corpus", "soup"]

TOOL_NAMES = ("get_weather", "search", "send-mail", "now", "write_file", "lookup2")
KEYS = ("city", "query", "path", "n", "limit", "ratio", "flag", "where", "tags", "note", "unit", "name", "type", "a_b")
ODD_KEYS = ("größe", "a b", 'q"k', "x-y", "", "a:b")
"""Keys of objects in values."""
WORDS = (
    "Oslo", "the", "weather", "is", "fine", "naïve", "天気", "Привет", "🙂", "e.g.", "it's", "50 %", "so", "x = 1",
    "a < b", "C:\\new", "I'd", "3.5", "one,", "two;", "&lt;", "#1", "(yes)", "well:",
)  # fmt: skip
PLAIN = ("Let me see.", "I will look that up", "Sure, one moment!", "The weather, then.", "Done. What else?", "好的。")
ODD_STRINGS = (
    "", " ", "12", "3.50", "null", "None", "true", "{}", "[1, 2]", '{"a": "b"}', '"', "'", "\\", "\\n", "a\nb", "\n",
    " edge", "edge ", "\tx", 'say "hi"', "it's 'so'", "`code`", "}", "]", ")", "},{", '"}', "')", "f(x)", "a, b=2",
    "<b>", "</b>", "&amp;", "é", "\u2028", "\u00a0", "👩‍👩‍👧",
    "if (a) { b(); }\nreturn [c];", "line\r\nline", "${x}", "%s",
    "https://a.b/c?d=e&f", "<!-- x -->", "-- ]]> --", "/* } */", "0x1F", "1e5", "007", "-", "$", "|", "a|b",
)  # fmt: skip
NUMBERS = (0, 1, -1, 7, 42, 2**31, 2**53 + 1, -(2**40))
FRACTIONS = (0.5, -0.25, 3.14159, 1e-7, 2.5e10, 100.0)
CHARACTERS = tuple("{}[]()<>\"'`:;,.=|/\\_- \n\t0aé\0")
_MOST_CALLS = 3


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts of an output with calls. Leaving out a part makes a smaller output."""

    format: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    tools: tuple[dict[str, Any], ...] | None
    before: str = ""
    after: str = ""
    reasoning: str = ""
    variant: str = ""

    @property
    def expected(self) -> Expected:
        frames = get(self.format).reasoning
        return Expected(self.calls, self.before, self.after, self.reasoning, frames, usual=not self.variant)

    def text(self) -> str:
        """Return the output. Raises `CannotWrite`."""
        known = get(self.format)
        tools = None if self.tools is None else list(self.tools)
        written = write(known.with_variant(self.variant) if self.variant else known, self.calls, tools)
        before, after = self.before, self.after
        if not written.lstrip().startswith(
            known.openers or "\0"
        ):  # without markers around them, calls need separate lines
            before, after = before and before + "\n", after and "\n" + after
        thought = ""
        if self.reasoning:
            opener, closer = known.reasoning[0]
            thought = f"{opener}{self.reasoning}{closer}" + ("\n" if not before else "")
        return thought + before + written + after


@dataclass(frozen=True, slots=True)
class GeneratedOutput:
    """A generated model output.

    Attributes:
        kind: `calls` (exactly the calls and text of `recipe`), `cut` (the start of that: no other call), `prose` (no
            call), `joined` (no value contains two), `corpus` (`expected`), else only the invariants of every text.
        format: The name of the format.
        text: The output.
        tools: The tool definitions.
        expected: The expected result, if known.
        recipe: The parts of a written output.
        last: The text that must be content if the kind is `prose`.
    """

    kind: Kind
    format: str
    text: str
    tools: list[Any] | None
    expected: Expected | None = None
    recipe: Recipe | None = None
    last: str = ""


# --- tools, schemas, values, calls


def draw_schema(chance: Random, depth: int = 0) -> dict[str, Any]:
    """Return a JSON Schema of one parameter."""
    kind = chance.randrange(14 if depth < 2 else 9)
    if kind < 4:
        return {"type": "string"}
    if kind < 7:
        return {"type": ("integer", "number", "boolean")[kind - 4]}
    if kind < 8:
        return {"type": "string", "enum": ["celsius", "fahrenheit", "none"]}
    if kind < 9:
        return {"type": ["string", chance.choice(("null", "null", "integer"))]}
    if kind < 11:
        return {"type": "array", "items": draw_schema(chance, depth + 1)}
    if kind < 13:
        keys = chance.sample((*KEYS, *ODD_KEYS), chance.randint(1, 3))
        return {"type": "object", "properties": {key: draw_schema(chance, depth + 1) for key in keys}}
    return {"anyOf": [{"type": "object"}, {"type": "array"}]}


def draw_tools(chance: Random) -> list[Any]:
    """Return tool definitions in OpenAI's format, some with required parameters."""
    tools = []
    for name in chance.sample(TOOL_NAMES, chance.randint(1, 3)):
        keys = () if name == "now" else chance.sample(KEYS, chance.randint(0, 4))
        properties = {key: draw_schema(chance) for key in keys}
        parameters: dict[str, Any] = {"type": "object", "properties": properties}
        if keys:
            parameters["required"] = list(keys[: chance.randint(0, len(keys))])
        function = {"name": name, "description": f"What {name} does.", "parameters": parameters}
        tools.append({"type": "function", "function": function})
    return tools


def draw_value(chance: Random, schema: dict[str, Any], marks: Sequence[str] = ()) -> Any:
    """Return a value that matches the schema. Strings sometimes contain some of the `marks`."""
    kind = schema.get("type")
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if "anyOf" in schema:
        return draw_value(chance, chance.choice(({"type": "object", "properties": {"n": {"type": "integer"}}},
                                                 {"type": "array", "items": {"type": "string"}})), marks)  # fmt: skip
    if isinstance(kind, list):
        other = {"null": None, "integer": chance.choice(NUMBERS)}[kind[1]]
        return other if chance.randrange(3) == 0 else draw_string(chance, marks)
    if kind == "integer":
        return chance.choice(NUMBERS)
    if kind == "number":
        return chance.choice(FRACTIONS + NUMBERS[:4])
    if kind == "boolean":
        return chance.randrange(2) == 0
    if kind == "array":
        return [draw_value(chance, schema["items"], marks) for _ in range(chance.randint(0, 3))]
    if kind == "object":
        properties = schema.get("properties", {})
        return {key: draw_value(chance, properties[key], marks) for key in properties if chance.randrange(4)}
    return draw_string(chance, marks)


def draw_string(chance: Random, marks: Sequence[str] = ()) -> str:
    """Return a string: words, unusual characters, a marker of the format, or several of these."""
    kind = chance.randrange(10)
    if kind < 4:
        return " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 5)))
    if kind < 7 or not marks:
        return chance.choice(ODD_STRINGS)
    if kind < 9:
        return chance.choice(("", "a ", "see ", "\n")) + chance.choice(marks) + chance.choice(("", " b", "\n", "."))
    pieces = [chance.choice((*WORDS, *ODD_STRINGS, *marks)) for _ in range(chance.randint(2, 6))]
    return chance.choice(("", " ", "\n")).join(pieces)


def draw_calls(chance: Random, tools: Sequence[Any], marks: Sequence[str] = ()) -> list[tuple[str, dict[str, Any]]]:
    """Return one to three calls of these tools, with the required arguments and some of the others."""
    calls = []
    for _ in range(chance.choice((1, 1, 1, 2, 2, _MOST_CALLS))):
        function = chance.choice(tools)["function"]
        properties, required = function["parameters"]["properties"], function["parameters"].get("required", ())
        keys = [key for key in properties if key in required or chance.randrange(3)]
        calls.append((function["name"], {key: draw_value(chance, properties[key], marks) for key in keys}))
    return calls


# --- outputs


def draw_recipe(chance: Random, format: str, *, variants: Sequence[str] = ("",)) -> Recipe:
    """Return calls in a format, with text and reasoning around them if the format allows it."""
    known = get(format)
    tools = draw_tools(chance)
    calls = draw_calls(chance, tools, markers(format))
    only_first = known.name_at_start == "usual" or bool(known.engine.start_only_openers)
    recipe = Recipe(
        format,
        tuple(calls),
        tuple(tools),
        before="" if only_first or chance.randrange(3) else chance.choice(PLAIN),
        after="" if only_first or chance.randrange(4) else chance.choice(PLAIN),
        reasoning="" if only_first or not known.reasoning or chance.randrange(4) else chance.choice(PLAIN),
        variant=chance.choice(variants) if len(variants) > 1 else variants[0],
    )
    return _writable(recipe)


def _writable(recipe: Recipe) -> Recipe:
    """Return the recipe without the calls or arguments that its format cannot represent."""
    while True:
        try:
            recipe.text()
        except CannotWrite:
            if len(recipe.calls) > 1:
                recipe = replace(recipe, calls=recipe.calls[1:])
                continue
            ((name, arguments),) = recipe.calls
            if not arguments:
                return replace(recipe, calls=(("now", {}),), tools=(*(recipe.tools or ()), *_NOW), variant="")
            recipe = replace(recipe, calls=((name, dict(list(arguments.items())[1:])),))
        else:
            return recipe


_NOW = ({"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},)


def written(recipe: Recipe) -> GeneratedOutput:
    """Return the output of a recipe. Raises `CannotWrite`."""
    tools = None if recipe.tools is None else list(recipe.tools)
    return GeneratedOutput("calls", recipe.format, recipe.text(), tools, recipe.expected, recipe)


def draw_answer(chance: Random, format: str, *, variants: Sequence[str] = ("",)) -> GeneratedOutput:
    """Return an output of any kind in a format. `variants` are the variants to use; "" is the format's own."""
    kind = chance.randrange(20)
    if kind < 8:
        return written(draw_recipe(chance, format, variants=variants))
    if kind < 11:
        return cut_at(draw_recipe(chance, format), chance.random())
    if kind < 13:
        return draw_prose(chance, format)
    if kind < 14:
        return chance.choice(_damages(format))
    if kind < 15:
        return chance.choice(corpus_outputs(format) or _damages(format))
    if kind < 19:
        return draw_damaged(chance, format)
    pieces = (*markers(format), *markers(format), *WORDS, *CHARACTERS, *ODD_STRINGS)
    soup = "".join(chance.choice(pieces) for _ in range(chance.randint(1, 20)))
    return GeneratedOutput("soup", format, soup, draw_tools(chance))


def cut_at(recipe: Recipe, part: float) -> GeneratedOutput:
    """Return the beginning of a written output, up to this length."""
    whole = written(recipe)
    return replace(whole, kind="cut", text=whole.text[: int(part * len(whole.text))])


def draw_prose(chance: Random, format: str) -> GeneratedOutput:
    """Return text that mentions, quotes or resembles calls of the format, followed by a sentence."""
    piece = chance.choice(prose_pieces.pieces(format))
    return prose_answer(format, piece)


def prose_answer(format: str, piece: prose_pieces.ProseText) -> GeneratedOutput:
    tail = piece.tail[:1200].rsplit(". ", 1)[0] + "."
    last = tail.rsplit(". ", 1)[1]
    glue = "\n\n" if "\n" in piece.text else " "
    return GeneratedOutput("prose", format, piece.text + glue + tail, prose_pieces.TOOLS, last=last)


def draw_damaged(chance: Random, format: str) -> GeneratedOutput:
    """Return a written output or one of the corpus with one to three damages, mostly at its markers."""
    cases = corpus_outputs(format)
    of_corpus = cases and chance.randrange(3) == 0
    whole = chance.choice(cases) if of_corpus else written(draw_recipe(chance, format))
    text = whole.text
    for _ in range(chance.randint(1, 3)):
        text = draw_damage(chance, text, format)
    return GeneratedOutput("damaged", format, text, whole.tools)


def draw_damage(chance: Random, text: str, format: str) -> str:
    """Return the text with one damage: text removed, duplicated, replaced or inserted, preferably at a marker."""
    places = marker_places(text, format)
    if places and chance.randrange(3):
        begin, end = chance.choice(places)
    else:
        begin = chance.randint(0, len(text))
        end = min(len(text), begin + chance.choice((0, 1, 1, 2, 6)))
    kind = chance.randrange(6)
    if kind == 0:  # lost
        return text[:begin] + text[end:]
    if kind == 1:  # doubled
        return text[:end] + text[begin:]
    if kind == 2:  # half of it lost
        return text[: (begin + end) // 2] + text[end:]
    if kind == 3:  # replaced by another marker
        return text[:begin] + chance.choice(markers(format)) + text[end:]
    if kind == 4:  # something inserted
        at = chance.choice((begin, end, (begin + end) // 2))
        return text[:at] + chance.choice((*CHARACTERS, *ODD_STRINGS, *markers(format))) + text[at:]
    return text[:begin] + chance.choice(CHARACTERS) + text[begin + 1 :]


def marker_places(text: str, format: str) -> list[tuple[int, int]]:
    """Return the ranges of the format's markers in a string."""
    places = set()
    for marker in markers(format):
        at = text.find(marker) if marker else -1
        while at >= 0:
            places.add((at, at + len(marker)))
            at = text.find(marker, at + 1)
    return sorted(places)


def draw_pieces(chance: Random, text: str, format: str) -> list[str]:
    """Return a way to split a string: into characters, small pieces, in and around its markers, or anywhere."""
    kind = chance.randrange(5)
    if kind == 0 and len(text) <= 400:
        return list(text)
    if kind == 1:
        size = chance.randint(2, 7)
        return [text[at : at + size] for at in range(0, len(text), size)] or [""]
    if kind == 2:
        ends = {chance.randint(0, len(text)) for _ in range(chance.randint(1, 5))}
    else:
        ends = set()
        for begin, end in marker_places(text, format):
            if chance.randrange(3):
                ends.add(chance.randint(begin, end))
    borders = [0, *sorted(ends - {0, len(text)}), len(text)]
    return [text[begin:end] for begin, end in pairwise(borders)]


@cache
def _damages(format: str) -> tuple[GeneratedOutput, ...]:
    """Return two calls that lost text between two values."""
    runs = (2, 5, 9, 16, 24)
    return tuple(
        GeneratedOutput("joined", format, damage.text, damaging.TOOLS) for damage in damaging.damages(format, runs)
    )


@cache
def corpus_outputs(format: str) -> tuple[GeneratedOutput, ...]:
    """Return the corpus cases that apply to any parser of the format: complete calls without tolerances."""
    found = []
    for case in corpus.cases(format):
        if not case.clean or case.prefix or case.strict or case.tools is None:
            continue
        calls = tuple((call.name or "", json.loads(call.arguments or "null")) for call in case.calls)
        found.append(GeneratedOutput("corpus", format, case.text, case.tools, Expected(calls, texts=False)))
    return tuple(found)


def marks_covered(answer: GeneratedOutput, pieces: Sequence[str]) -> set[tuple[str, str]]:
    """Return what an output covers of the format's markers: `in calls`, `in strings`, or `cut` by a chunk's end."""
    found = set()
    strings = json.dumps(answer.recipe.calls, ensure_ascii=False) if answer.recipe else ""
    borders, at = [], 0
    for piece in pieces[:-1]:
        at += len(piece)
        borders.append(at)
    for marker in call_markers(answer.format):
        at = answer.text.find(marker)
        if at >= 0:
            found.add((marker, "in calls"))
        if marker in strings:
            found.add((marker, "in strings"))
        while at >= 0:
            if any(at < border < at + len(marker) for border in borders):
                found.add((marker, "cut"))
                break
            at = answer.text.find(marker, at + 1)
    return found


__all__ = [
    "GeneratedOutput",
    "Recipe",
    "corpus_outputs",
    "cut_at",
    "draw_answer",
    "draw_calls",
    "draw_damage",
    "draw_damaged",
    "draw_pieces",
    "draw_prose",
    "draw_recipe",
    "draw_schema",
    "draw_string",
    "draw_tools",
    "draw_value",
    "marks_covered",
    "written",
]
