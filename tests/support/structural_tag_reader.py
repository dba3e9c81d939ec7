"""A small reader of XGrammar's structural tags that decides whether one accepts a text.

It reads the formats that toolfmt writes, and raises KeyError for any other. XGrammar itself judges in
`tests/grammars/test_structural_tag.py` if it is installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gbnf_reader import Gbnf, Tokens


class StructuralTag:
    """A structural tag, read."""

    def __init__(self, text: str) -> None:
        tag = json.loads(text)
        assert tag.keys() == {"type", "format"} and tag["type"] == "structural_tag"
        self._format: dict[str, Any] = tag["format"]
        self._grammars: dict[str, Gbnf] = {}

    def accepts(self, text: str, tokens: Tokens | None = None) -> bool:
        """Whether a text is allowed, some parts of which may be one token."""
        return len(text) in self._ends(self._format, text, 0, tokens or {})

    def _ends(self, format: Mapping[str, Any], text: str, at: int, tokens: Tokens) -> set[int]:
        """Where a text of the format that begins there may end."""
        match format["type"]:
            case "const_string":
                return {at + len(format["value"])} if text.startswith(format["value"], at) else set()
            case "token":
                id, length = tokens.get(at, (None, 0))
                return {at + length} if id == format["token"] else set()
            case "any_text":
                marks = [mark for mark in format["excludes"] if mark in text[at:]]
                first = min((text.find(mark, at) + len(mark) for mark in marks), default=len(text) + 1)
                return set(range(at, first))
            case "regex":
                return {end for end in range(at, len(text) + 1) if re.fullmatch(format["pattern"], text[at:end])}
            case "grammar":
                grammar = self._grammars.setdefault(format["grammar"], Gbnf(format["grammar"]))
                return grammar.ends(text, at, tokens)
            case "optional":
                return {at} | self._ends(format["content"], text, at, tokens)
            case "or":
                return {end for part in format["elements"] for end in self._ends(part, text, at, tokens)}
            case "sequence":
                begins = {at}
                for part in format["elements"]:
                    begins = {end for begin in begins for end in self._ends(part, text, begin, tokens)}
                return begins
        raise KeyError(format["type"])
