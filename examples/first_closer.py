"""A tool-call parser as one writes it in an afternoon: the first `</tool_call>` ends a call, wherever it stands.

    toolfmt dev fuzz examples.first_closer:parser

It reads whole answers: a callable that takes the text and returns a message in OpenAI's shape. What `toolfmt dev fuzz`
finds in it stands in docs/fuzzing.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def parser(tools: list[Any] | None = None) -> Callable[[str], dict[str, Any]]:
    """A parser for one answer."""

    def read(text: str) -> dict[str, Any]:
        calls = [{"function": json.loads(body)} for body in _CALL.findall(text)]
        return {"content": _CALL.sub("", text).strip() or None, "tool_calls": calls}

    return read


parser.formats = ("json",)  # type: ignore[attr-defined]  # what a factory may say of itself
parser.version = "1.0"  # type: ignore[attr-defined]  # what a factory may say of itself
