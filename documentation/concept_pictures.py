"""The pictures of the documentation, made from what toolfmt does: `python -m documentation.concept_pictures` writes
them.

Each function returns the file of the same name in `docs/pictures`, as text. Calls come from `toolfmt.write`, events
from a parser, prompts from `render` and verdicts from the inspection, over `corpus/models`;
`tests/repository/test_advice.py` fails if a file is not what would be made now.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import toolfmt
from documentation.drawing import (
    CHARACTER_WIDTH,
    INK,
    KEY,
    LINE,
    MARGIN,
    MARKER,
    NAME,
    PANEL,
    QUIET,
    VALUE,
    WIDTH,
    Picture,
    Run,
    coloured,
    cut,
    lines,
)
from toolfmt.cli.measure.rates import wilson
from toolfmt.formats import FORMATS
from toolfmt.formats.engines.alternatives import Choice
from toolfmt.messages.events import Content, Event, ToolCallArguments, ToolCallEnd, ToolCallStart, merge

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
_CALL = ("get_weather", {"city": "Oslo"})
_CODE = int((WIDTH - 2 * MARGIN - 20) / CHARACTER_WIDTH)
_ROW = 20
_BLUE, _GREEN = "#9ec1f0", "#97d3a8"
"""Colors of bars, on which a dark line is visible."""

_ENGINES = (
    ("JSON object", "name and arguments in a JSON object", "json", ("JsonObject", "KeyedObject")),
    ("named JSON", "a name, a separator, a JSON object", "mistral", ("NamedJson",)),
    ("call expression", "the call written as code", "lfm2", ("CallExpression",)),
    ("tagged", "keys and raw values between tags", "glm4", ("Tagged", "NestedTags")),
    ("channels", "the whole response framed in messages", "gpt_oss", ("Channels",)),
)

_QUESTIONS = (
    (
        "Is the tool in the prompt?",
        "toolfmt render MODEL --request FILE --strategy template",
        "It never calls · It does not start",
    ),
    (
        "Does the model's raw output contain a call?",
        "the output, special tokens kept",
        "It never calls · It calls wrongly",
    ),
    (
        "Does the runtime return the call?",
        "tool_calls in its response, without streaming",
        "The call appears as text · Arguments · Reasoning",
    ),
    (
        "Does the runtime return the same call in a stream?",
        'the same request with "stream": true, temperature 0',
        "Streaming differs",
    ),
    (
        "Are the call and its result in the next prompt?",
        "toolfmt render MODEL --request FILE",
        "The result is ignored · The second turn",
    ),
)


def where_it_gets_lost() -> str:
    """The five questions of docs/tools_do_not_work.md, one below the other."""
    picture = Picture("Where a tool call gets lost: five questions, asked in order")
    for number, (question, how, section) in enumerate(_QUESTIONS, 1):
        top = picture.y
        picture.box(MARGIN, top, WIDTH - 2 * MARGIN, 46, edge="#afb8c1")
        picture.words(MARGIN + 12, top + 19, f"{number}  {question}", bold=True)
        picture.code(MARGIN + 12, top + 37, [(how, NAME)])
        picture.words(MARGIN + 76, top + 70, f"no →  {section}", ink=KEY)
        picture.arrow([(MARGIN + 24, top + 46), (MARGIN + 24, top + 84)])
        picture.words(MARGIN + 32, top + 70, "yes", ink=VALUE)
        picture.down(86)
    picture.words(MARGIN + 12, picture.y + 14, "It does not stop · It works sometimes · Responses are worse", ink=QUIET)
    picture.down(18)
    return picture.svg()


def format_anatomy() -> str:
    """One call of a format, every part in the color of its kind."""
    answer = "Let me see.\n" + toolfmt.write("glm4", [("get_weather", {"city": "Oslo", "days": 3})], tools=_tools())
    picture = Picture("A call in the format glm4: markers, the tool's name, keys and values")
    known = [("Let me see.", INK), ("get_weather", NAME), ("city", KEY), ("Oslo", VALUE), ("days", KEY), ("3", VALUE)]
    _code_panel(picture, coloured(answer, known, MARKER))
    picture.down(22)
    _legend(
        picture, [("text for the user", INK), ("markers", MARKER), ("name", NAME), ("keys", KEY), ("values", VALUE)]
    )
    return picture.svg()


def call_as_it_streams() -> str:
    """The chunks of an output as they arrive, and next to each the events that the parser emits."""
    answer = "Let me see.\n" + toolfmt.write("glm4", [("get_weather", {"city": "Oslo", "days": 3})], tools=_tools())
    picture = Picture("An output arrives in chunks on the left; on the right, the events emitted at that moment")
    picture.words(MARGIN, picture.y + 10, "arrives", ink=QUIET)
    picture.words(250, picture.y + 10, "emitted", ink=QUIET)
    picture.down(18)
    parser = toolfmt.Parser("glm4", tools=_tools())
    pieces = [answer[at : at + 14] for at in range(0, len(answer), 14)]
    fed = [(piece, parser.feed(piece)) for piece in pieces]
    for number, (piece, events) in enumerate([*fed, ("(the end)", parser.finish())]):
        shown = [_event(event) for event in merge(events)] or [[("–", QUIET)]]
        height = _ROW * len(shown)
        if number % 2 == 0:
            picture.box(MARGIN - 8, picture.y, WIDTH - 2 * MARGIN + 16, height)
        picture.code(MARGIN, picture.y + 14, [(cut(piece, 27), QUIET if piece == "(the end)" else INK)])
        for row, runs in enumerate(shown):
            picture.code(250, picture.y + 14 + _ROW * row, runs)
        picture.down(height)
    return picture.svg()


def five_engines() -> str:
    """The same call as each engine reads it, with the number of formats that use the engine."""
    picture = Picture("The same call in five formats, one of each engine")
    first = (format.engine.engines[0] if isinstance(format.engine, Choice) else format.engine for format in FORMATS)
    counted = Counter(_engine(type(engine).__name__) for engine in first)
    for engine, what, name, _ in _ENGINES:
        picture.words(MARGIN, picture.y + 12, engine, bold=True)
        picture.words(MARGIN + 128, picture.y + 12, f"{counted[engine]} formats, here {name}", ink=QUIET)
        picture.words(MARGIN, picture.y + 31, what[0].upper() + what[1:], ink=QUIET)
        picture.down(39)
        known = [("get_weather", NAME), ("city", KEY), ("Oslo", VALUE)]
        _code_panel(picture, coloured(toolfmt.write(name, [_CALL]), known, MARKER))
        picture.down(14)
    _legend(picture, [("markers", MARKER), ("name", NAME), ("keys", KEY), ("values", VALUE)])
    return picture.svg()


def prompt_of_a_template() -> str:
    """A rendered prompt: what came from the request in colors, the rest is the template's own text."""
    prompt = _model("json-frames").render(_messages(), tools=_tools()).text
    tool = prompt[prompt.index('{"type": "function"') : prompt.index("\n</tools>")]
    arguments = '{"city": "Oslo"}'
    known = [
        (tool, KEY), ("What is the weather in Oslo?", NAME), ("get_weather", VALUE), (arguments, VALUE),
        ("Rain, 7 degrees.", NAME),
    ]  # fmt: skip
    shown = [(cut(text, _CODE) if ink == KEY else text, ink) for text, ink in coloured(prompt, known, MARKER)]
    picture = Picture("A prompt: the request's tools, texts, call and result, in what the template writes around them")
    _code_panel(picture, shown)
    picture.down(22)
    _legend(picture, [("the template's", MARKER), ("tools", KEY), ("texts", NAME), ("the call", VALUE)])
    return picture.svg()


def four_verdicts() -> str:
    """The result of the inspection for four models of the corpus, and what render then does."""
    picture = Picture("The four verdicts, each with an example")
    for name in ("json-frames", "double-encoded", "no-tools-no-system", "broken"):
        model = _model(name)
        verdict = model.inspect().verdict.tools
        top = picture.y
        picture.box(MARGIN, top, WIDTH - 2 * MARGIN, 66)
        picture.words(MARGIN + 12, top + 21, verdict, bold=True, size=15)
        picture.words(MARGIN + 100, top + 21, _MEANS[verdict])
        picture.code(MARGIN + 100, top + 41, [(f"corpus/models/{name}", QUIET)])
        if verdict != "broken":
            prompt = model.render(_messages(), tools=_tools())
            done = f"strategy {prompt.strategy}, " + (", ".join(prompt.adaptations) or "nothing adapted")
            picture.code(MARGIN + 100, top + 58, [(cut(done, 52), VALUE)])
        else:
            picture.code(MARGIN + 100, top + 58, [("nothing can be rendered", KEY)])
        picture.down(76)
    picture.down(-10)
    return picture.svg()


_MEANS = {
    "native": "tools work through the template as it is",
    "adapted": "through the template, with what render adapts",
    "prompt-only": "the template shows no tools: they are described in prose",
    "broken": "an error: tool calling is not reliable",
}


def cuts_do_not_matter() -> str:
    """One output cut in three ways, and the merged events, which are the same."""
    answer = "Oslo: " + toolfmt.write("json", [("f", {"text": "a } b"})])
    ways = [[answer], _pieces(answer, 9), list(answer)]
    picture = Picture("One output, cut in three ways, gives the same events")
    results = []
    for pieces, label in zip(
        ways, ("in one piece", "nine characters at a time", "one character at a time"), strict=True
    ):
        picture.words(MARGIN, picture.y + 12, label, ink=QUIET)
        picture.down(18)
        for row in lines(_striped(pieces), _CODE + 2):
            picture.code(MARGIN, picture.y + 14, row)
            picture.down(_ROW - 2)
        picture.down(8)
        parser = toolfmt.Parser("json")
        results.append(merge([event for piece in pieces for event in parser.feed(piece)] + parser.finish()))
    if any(result != results[0] for result in results):
        raise AssertionError("guarantee 1 does not hold")
    picture.arrow([(WIDTH / 2, picture.y - 4), (WIDTH / 2, picture.y + 18)])
    picture.down(24)
    top = picture.y
    picture.box(MARGIN - 8, top, WIDTH - 2 * MARGIN + 16, _ROW * len(results[0]) + 6)
    for event in results[0]:
        picture.code(MARGIN, picture.y + 16, _event(event))
        picture.down(_ROW)
    picture.down(6)
    return picture.svg()


def small_model() -> str:
    """How often a model of 135 million parameters calls a tool, with and without a grammar, from
    `benchmarks/small_model.json`, the output of `toolfmt measure --json` (docs/measuring.md has the command)."""
    cells = json.loads((ROOT / "benchmarks" / "small_model.json").read_text(encoding="utf-8"))["cells"]
    picture = Picture("SmolLM2-135M-Instruct: calls with and without a grammar of toolfmt")
    picture.words(MARGIN, picture.y + 14, "SmolLM2-135M-Instruct, 14 questions that need a tool", bold=True)
    picture.down(34)
    for grammar, label in (
        ("none", "no grammar"),
        ("required", "grammar: a call is required"),
        ("named", "grammar: a call of the named tool"),
    ):
        rates = [one["rates"] for one in cells if one["grammar"] == grammar and one["wording"] != "no-tool"]
        asked = sum(rate["called"]["of"] for rate in rates)
        picture.words(MARGIN, picture.y + 12, label, size=13, ink=QUIET)
        picture.down(18)
        for name, shown, ink in (("called", "called a tool", _BLUE), ("right_tool", "called the right tool", _GREEN)):
            _bar(picture, shown, sum(rate[name]["count"] for rate in rates), asked, ink)
        picture.down(12)
    picture.words(MARGIN, picture.y + 10, "The lines are 95 % confidence intervals.", size=12, ink=QUIET)
    picture.down(10)
    return picture.svg()


def _bar(picture: Picture, label: str, count: int, of: int, ink: str) -> None:
    """A bar of a share, with its confidence interval."""
    left, width = MARGIN + 150, WIDTH - 2 * MARGIN - 150 - 70
    low, high = wilson(count, of)
    picture.words(MARGIN + 12, picture.y + 12, label, size=12)
    picture.box(left, picture.y, width, 16)
    if count:
        picture.box(left, picture.y, width * count / of, 16, fill=ink)
    picture.span(left + width * low, left + width * high, picture.y + 8)
    picture.words(left + width + 10, picture.y + 12, f"{count} of {of}", size=13)
    picture.down(22)


PICTURES: dict[str, Callable[[], str]] = {
    "where_it_gets_lost": where_it_gets_lost,
    "format_anatomy": format_anatomy,
    "call_as_it_streams": call_as_it_streams,
    "five_engines": five_engines,
    "prompt_of_a_template": prompt_of_a_template,
    "four_verdicts": four_verdicts,
    "cuts_do_not_matter": cuts_do_not_matter,
    "small_model": small_model,
}


def _model(name: str) -> toolfmt.Model:
    return toolfmt.load(ROOT / "corpus" / "models" / name)


def _messages() -> list[dict[str, object]]:
    messages: list[dict[str, object]] = json.loads((ROOT / "examples" / "messages.json").read_text(encoding="utf-8"))
    return messages


def _tools() -> list[dict[str, object]]:
    tools: list[dict[str, object]] = json.loads((ROOT / "examples" / "tools.json").read_text(encoding="utf-8"))
    return tools


def _engine(kind: str) -> str:
    return next(engine for engine, _, _, kinds in _ENGINES if kind in kinds)


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _striped(pieces: Sequence[str]) -> list[Run]:
    """The chunks in two alternating colors, so that the cuts are visible."""
    return [(piece.replace("\n", "⏎"), (NAME, KEY)[number % 2]) for number, piece in enumerate(pieces)]


def _event(event: Event) -> list[Run]:
    """An event in short: its kind and its content."""
    if isinstance(event, Content):
        return [("content    ", QUIET), (json.dumps(event.text), INK)]
    if isinstance(event, ToolCallStart):
        return [(f"call {event.index}     ", QUIET), (event.name, NAME)]
    if isinstance(event, ToolCallArguments):
        return [("arguments  ", QUIET), (event.delta, VALUE)]
    if isinstance(event, ToolCallEnd):
        return [(f"end {event.index}", QUIET)]
    return [(type(event).__name__, KEY)]


def _code_panel(picture: Picture, runs: Iterable[Run]) -> None:
    rows = lines(runs, _CODE)
    picture.box(MARGIN, picture.y, WIDTH - 2 * MARGIN, _ROW * len(rows) + 10, fill=PANEL)
    for number, row in enumerate(rows):
        picture.code(MARGIN + 10, picture.y + 19 + _ROW * number, row)
    picture.down(_ROW * len(rows) + 10)


def _legend(picture: Picture, entries: Iterable[Run]) -> None:
    x: float = MARGIN
    for text, ink in entries:
        picture.box(x, picture.y - 2, 10, 10, fill=ink, edge=LINE)
        picture.words(x + 16, picture.y + 8, text, size=13, ink=ink)
        x += 34 + 6.8 * len(text)
    picture.down(10)


def main() -> None:
    """Writes every picture."""
    FOLDER.mkdir(exist_ok=True)
    for name, made in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(made(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
