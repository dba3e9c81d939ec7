"""A description with quotes, a backslash and a newline in it, and what a template makes of that: readable or broken.

The chapter on tool definitions puts `QUOTED` in and asks `how_quoted` about the prompt. A template that writes JSON has
to escape; one that writes prose or tags need not; one that puts the text between quotes, or behind `//`, as it is,
writes something that ends too early.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from toolfmt.inspect.report.wording import excerpt

_BEGIN, _END = "Qz1says", "Qz2done"
QUOTED = f"{_BEGIN} \"one\" or 'two' \\ three\n{_END}"
"""A text with both quotes, a backslash and a newline."""
NON_ASCII = "Osnabrück 東京"

_RAW = QUOTED.removesuffix(_END)
_JSON = json.dumps(_RAW)[1:-1]
_TWICE = json.dumps(_JSON)[1:-1]
_PYTHON = repr(_RAW)[1:-1]
_LONGEST = 200
# A quote behind one of these opens the string of a notation; in prose it stands behind a word.
_STRING_OPENS = re.compile(r"""[:=(\[{,]\s{0,3}["']\Z""")
_COMMENT = "//"
# What a text becomes that is joined to one marked `safe`: jinja2 then escapes it, whatever the environment says.
_ENTITIES = ("&#34;", "&quot;")


@dataclass(frozen=True)
class Quoting:
    """What became of the text, in words that follow a description of where; whether that is broken; the stretch; and
    whether Python escaped it.
    """

    what: str
    broken: bool
    stretch: str = ""
    by_python: bool = False


def how_quoted(prompt: str) -> Quoting:
    """What the first description `QUOTED` in the prompt came out as."""
    begin = prompt.find(_BEGIN)
    end = prompt.find(_END, begin, begin + _LONGEST) if begin >= 0 else -1
    if end < 0:
        return Quoting("the text is cut", True, excerpt(prompt, begin, begin + len(QUOTED), 80) if begin >= 0 else "")
    text, stretch = prompt[begin:end], excerpt(prompt, begin - 20, end + len(_END) + 2, 80)
    for form, name in ((_JSON, "escaped as in JSON"), (_TWICE, "escaped twice"), (_PYTHON, "escaped as in Python")):
        if text == form:
            return Quoting(f"quotes and newlines are {name}", False, stretch, by_python=form == _PYTHON)
    if any(entity in text for entity in _ENTITIES):
        return Quoting("quotes are written as HTML entities", True, stretch)
    if _in_string(prompt, begin) and '"one"' in text:
        return Quoting("a quote ends the string that contains it", True, stretch)
    line = prompt[prompt.rfind("\n", 0, begin) + 1 : begin].strip()
    # The line that follows may have been given a comment sign of its own.
    if (line.startswith(_COMMENT) or line.endswith(_COMMENT)) and "\n" in text:
        if _COMMENT not in text.rpartition("\n")[2]:
            return Quoting("a newline ends the comment that contains it", True, stretch)
    if text == _RAW:
        return Quoting("quotes and newlines are unchanged", False, stretch)
    return Quoting("quotes and newlines are written another way", False, stretch)


def _in_string(prompt: str, begin: int) -> bool:
    """Whether what begins here stands directly behind the quote that opens a string."""
    return _STRING_OPENS.search(prompt[max(0, begin - 5) : begin]) is not None
