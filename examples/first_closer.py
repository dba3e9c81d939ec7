"""A naive tool-call parser: the first `</tool_call>` ends a call, wherever it is.

    toolfmt dev fuzz examples.first_closer:parser

It reads whole outputs: a callable that takes the text and returns an OpenAI message. docs/fuzzing.md shows what
`toolfmt dev fuzz` finds in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def parser(tools: list[Any] | None = None) -> Callable[[str], dict[str, Any]]:
    """A parser for one output."""

    def read(text: str) -> dict[str, Any]:
        calls = [{"function": json.loads(body)} for body in _CALL.findall(text)]
        return {"content": _CALL.sub("", text).strip() or None, "tool_calls": calls}

    return read


parser.formats = ("json",)  # type: ignore[attr-defined]  # what a factory may declare
parser.version = "1.0"  # type: ignore[attr-defined]  # what a factory may declare
