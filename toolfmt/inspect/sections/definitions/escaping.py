"""How a template renders a description with quotes, a backslash and a newline: intact or broken.

The section on tool definitions renders `QUOTED` and passes the prompt to `how_quoted`. A template that writes JSON has
to escape the text. One that writes plain text or tags need not. Text copied verbatim between quotes or after `//` ends
the string or comment too early.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from toolfmt.inspect.report.wording import excerpt

_BEGIN, _END = "Qz1says", "Qz2done"
QUOTED = f"{_BEGIN} \"one\" or 'two' \\ three\n{_END}"
"""A string with both quotes, a backslash and a newline."""
NON_ASCII = "Osnabrück 東京"

_RAW = QUOTED.removesuffix(_END)
_JSON = json.dumps(_RAW)[1:-1]
_TWICE = json.dumps(_JSON)[1:-1]
_PYTHON = repr(_RAW)[1:-1]
_LONGEST = 200
# After one of these, a quote starts a string literal; in plain text it follows a word.
_STRING_OPENS = re.compile(r"""[:=(\[{,]\s{0,3}["']\Z""")
_COMMENT = "//"
# A string joined to one marked `safe` is escaped by jinja2, even if autoescaping is off.
_ENTITIES = ("&#34;", "&quot;")


@dataclass(frozen=True)
class Quoting:
    """How the text was rendered. `what` is a phrase that follows a description of where.

    `broken` is whether the result is broken, `stretch` the excerpt, `by_python` whether Python escaped it.
    """

    what: str
    broken: bool
    stretch: str = ""
    by_python: bool = False


def how_quoted(prompt: str) -> Quoting:
    """Return how the first `QUOTED` in the prompt was rendered."""
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
    # The next line may have a comment marker of its own.
    if (line.startswith(_COMMENT) or line.endswith(_COMMENT)) and "\n" in text:
        if _COMMENT not in text.rpartition("\n")[2]:
            return Quoting("a newline ends the comment that contains it", True, stretch)
    if text == _RAW:
        return Quoting("quotes and newlines are unchanged", False, stretch)
    return Quoting("quotes and newlines are written another way", False, stretch)


def _in_string(prompt: str, begin: int) -> bool:
    """Return whether this offset directly follows a quote that starts a string."""
    return _STRING_OPENS.search(prompt[max(0, begin - 5) : begin]) is not None
