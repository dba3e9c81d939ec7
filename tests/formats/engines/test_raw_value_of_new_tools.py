"""Tools that were not seen before: nothing is compiled for them, and the ends of damaged tags are still known."""

from __future__ import annotations

import random
import re
from typing import Any

import depth
import pytest

from toolfmt.formats import Parser, formats, get, write
from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.raw_value import _APART, RawValue
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.engines.tags import _OF_EACH_TYPE, Given, Tags
from toolfmt.formats.scanner.scanner import Scan


def tools(*keys: str) -> list[dict[str, Any]]:
    properties = {key: {"type": "string"} for key in keys}
    return [{"name": "plant", "parameters": {"type": "object", "properties": properties}}]


def reading(name: str, text: str, *keys: str) -> list[Any]:
    parser = Parser(name, tools=tools(*keys))
    return [*parser.feed(text[:20]), *parser.feed(text[20:]), *parser.finish()]


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", [format.name for format in formats()])
def test_no_expression_is_compiled_for_new_tools(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = write(name, [("plant", {"first_key": "a fern"})], tools=tools("first_key"))
    reading(name, text, "first_key", "second_key")
    compiled: list[str] = []
    compile = re.compile

    def counted(pattern: Any, flags: int = 0) -> Any:
        compiled.append(pattern)
        return compile(pattern, flags)

    monkeypatch.setattr(re, "compile", counted)
    reading(name, text, "first_key", *(f"new_key_{number}" for number in range(30)))
    assert compiled == []


def tags_of(name: str) -> Tags:
    engine = get(name).engine
    engines = engine.engines if isinstance(engine, Choice) else (engine,)
    return next(one.tags for one in engines if isinstance(one, Tagged))


def doubted(tags: Tags, value: str, keys: tuple[str, ...]) -> set[str]:
    """Return the keys whose tag's end is in a value that has ended."""
    scan = Scan(value, closed=True)
    scan.keep(0)
    schema = {"type": "object", "properties": {key: {} for key in keys}}
    calls = CallBuilder(scan, {"plant": schema}, None)
    calls._name = "plant"
    reader = RawValue(scan, calls, tags, (tags.value_closer,), Given())
    scan.skip(len(value))
    reader._look_back(len(value))
    return reader.given.doubted


def by_expression(tags: Tags, value: str, keys: tuple[str, ...]) -> set[str]:
    """Return the same with one expression over all tags: simpler, but slow for many keys."""
    whole = {tags.header.write(key, of, 0) + tags.key_closer: key for key in keys for of in _OF_EACH_TYPE}
    sign, token = tags.key_opener[-1], tags.key_closer[0] == "<"
    ends = {tag: key for tag, key in whole.items() if len(key) > 2} | {sign + tag: key for tag, key in whole.items()}
    found = set()
    for match in re.finditer("|".join(map(re.escape, ends)), value):
        begin, signed = match.start(), match.group()[0] == sign
        own = value.endswith(tags.key_opener, 0, begin + signed)
        if not own and (signed or token or value[begin - 1 : begin] not in _APART):
            found.add(ends[match.group()])
    return found


@pytest.mark.parametrize("name", ["xml_function", "minimax_m2", "deepseek_dsml", "kimi_k3", "qwen3_5"])
def test_ends_of_damaged_tags_are_found_as_by_an_expression(name: str) -> None:
    tags, draw = tags_of(name), random.Random(name)
    keys = ("plant", "ant", "an", "a", "plant_ant", "x&y", "litres")
    written = [tags.header.write(key, of, 0) for key in keys for of in _OF_EACH_TYPE]
    pieces = [*keys, *written, tags.key_opener, tags.key_closer, tags.key_opener[-1], "<", "/", " ", "\n", "-", "b"]
    pieces += [part + tags.key_closer for part in written] * 2
    hits, number = 0, depth.examples(3000)
    for _ in range(number):
        value = "".join(draw.choices(pieces, k=draw.randint(1, 6)))
        expected = by_expression(tags, value, keys)
        assert doubted(tags, value, keys) == expected, value
        hits += bool(expected)
    assert hits > number / 6


def test_a_tag_of_another_family_in_a_value_is_still_known() -> None:
    """The argument with a tag in a different syntax is then missing, so the call is rejected."""
    properties = {key: {"type": "string"} for key in ("plant", "litres")}
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    value = 'fern\n<parameter name="litres">2'
    text = f"<tool_call>\n<function=water>\n<parameter=plant>\n{value}\n</parameter>\n</function>\n</tool_call>"
    parser = Parser("xml_function", tools=[{"name": "water", "parameters": schema}])
    events = [event for character in text for event in parser.feed(character)] + parser.finish()
    assert [type(event).__name__ for event in events][-1] == "ToolCallRejected"


def test_declared_keys_are_prepared_once_a_call_and_only_if_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = []
    whole = Tags.written_keys

    def counted(tags: Tags, declared: Any) -> Any:
        prepared.append(len([*declared]))
        return whole(tags, declared)

    monkeypatch.setattr(Tags, "written_keys", counted)
    call = [("plant", {"first": "<b>" * 200, "second": "<i>" * 200})]
    text = write("xml_function", call, tools=tools("first", "second"))
    prepared.clear()
    reading("xml_function", text, "first", "second", *(f"key_{number}" for number in range(1000)))
    assert prepared == [1002]
    plain = write("xml_function", [("plant", {"first": "a fern"})], tools=tools("first"))
    prepared.clear()
    reading("xml_function", plain, "first")
    parser = Parser("xml_function")
    parser.feed(text)
    parser.finish()
    assert prepared == []
