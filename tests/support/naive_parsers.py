"""Parsers as others write them, each with one bug: the fuzz kit is tested on them (`test_fuzzing.py`)."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from toolfmt.formats import Parser


class _DictParser:
    """Our own parser, whose events are emitted as dicts without offsets."""

    def __init__(self, tools: Any) -> None:
        self._parser = Parser("json", tools=tools)

    def feed(self, text: str) -> list[dict[str, Any]]:
        return [_without_places(event.to_dict()) for event in self._parser.feed(text)]

    def finish(self) -> list[dict[str, Any]]:
        return [_without_places(event.to_dict()) for event in self._parser.finish()]


def _without_places(event: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key != "span"}


def sound(tools: Any = None) -> _DictParser:
    """No bug."""
    return _DictParser(tools)


class _Forgets(_DictParser):
    """Loses text that ends with the first character of a marker."""

    def feed(self, text: str) -> list[dict[str, Any]]:
        return super().feed(text[:-1] if text.endswith("<") else text)


def forgets(tools: Any = None) -> _DictParser:
    """Loses a character at the end of a chunk."""
    return _Forgets(tools)


class _Hangs(_DictParser):
    def feed(self, text: str) -> list[dict[str, Any]]:
        if "</tool_call>" in text:
            time.sleep(60)
        return super().feed(text)


def hangs(tools: Any = None) -> _DictParser:
    """Never returns after an end marker."""
    return _Hangs(tools)


class _Dies(_DictParser):
    def feed(self, text: str) -> list[dict[str, Any]]:
        if "</tool_call>" in text:
            os._exit(3)
        return super().feed(text)


def dies(tools: Any = None) -> _DictParser:
    """Kills the process."""
    return _Dies(tools)


def no_parser(tools: Any = None) -> list[Any]:
    """Implements neither of the two interfaces."""
    return []


def without_tools() -> _DictParser:
    """Accepts no arguments, although the tools are passed to a factory."""
    return _DictParser(None)


def raises(tools: Any = None) -> _DictParser:
    """Makes none."""
    raise KeyError("a vocabulary")


def raises_with_tools(tools: Any = None) -> _DictParser:
    """Makes one only for a request without tools."""
    if tools:
        raise KeyError("a schema")
    return _DictParser(None)


def no_message(tools: Any = None) -> Any:
    """Reads whole outputs, and returns a string."""
    return lambda text: text


def no_events(tools: Any = None) -> Any:
    """Streams, and returns strings."""
    return type("Texts", (), {"feed": lambda self, text: [text], "finish": lambda self: []})()


def blind(tools: Any = None) -> Any:
    """Sees no call at all."""
    return lambda text: {"content": text}


def forks(tools: Any) -> Any:
    """A child that survives, holds every pipe of the process, and is reported in the content."""

    def read(text: str) -> dict[str, Any]:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        if text == "die":
            os._exit(3)
        return {"content": str(child), "tool_calls": []}

    return read


def twice(tools: Any) -> Any:
    """Two processes return from one call."""

    def read(text: str) -> dict[str, Any]:
        os.fork()
        return {"content": text, "tool_calls": []}

    return read


def reads_input(tools: Any) -> Any:
    return lambda text: {"content": text + sys.stdin.readline(), "tool_calls": []}


def floods(tools: Any) -> Any:
    return lambda text: {"content": text * 10**7, "tool_calls": []}


def raises_at_every_text(tools: Any = None) -> Any:
    """Makes a parser, which then raises."""
    return lambda text: {"content": text[-1:0:0]}


def interrupts(tools: Any) -> Any:
    def read(text: str) -> Any:
        raise KeyboardInterrupt

    return read


def misnames_formats(tools: Any) -> Any:
    return sound(tools)


misnames_formats.formats = 5  # type: ignore[attr-defined]  # as a user may write it
