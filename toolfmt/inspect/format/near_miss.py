"""Find the format that a template's calls nearly match, and the difference.

Used only if no format reads the call. Every format's own writer writes the call, so no format is named here. The
nearest format is the one with the most text in common. The first difference is reported.
"""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolfmt.formats import ToolCallFormat, default_format, formats, write
from toolfmt.inspect.format.read_back import read
from toolfmt.inspect.probe.conversations import ALL_TOOLS, SINGLE, TOOL, call_id
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Region
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import shortened

# A call with one misspelled marker, a missing brace or extra whitespace is this similar; another format is not.
_NEAR = 0.8
_LONGEST = 2000
_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST_QUOTE = 40
_SIMILAR = 0.75
"""Similarity above which a marker is a misspelling of another one."""
_WORD = re.compile(r"\w\w")
_PIECES = re.compile(r"""</?[^<>\s]{1,60}>|[^\s"'{}\[\](),:<>]+|\s+|.""")
"""The units of a reported difference: whole markers and words, whitespace, single characters."""
_BACKSLASHES = "but with a backslash and the letter n for each line end"


@dataclass(frozen=True)
class Nearest:
    """The format, the difference as a clause after "It is what FORMAT writes", and its offset in the calls.

    `slight`: whether it looks like a mistake in delimiters, whitespace or letters of a marker. Whole markers of its
    own indicate another syntax.
    """

    format: ToolCallFormat
    differs: str
    offset: int
    slight: bool


def nearest(region: Region, shape: TurnShape, likely: Sequence[ToolCallFormat]) -> Nearest | None:
    """Return the format that the single call in this region nearly matches, or None.

    `likely` are the formats that other evidence suggests, the most likely first: they decide between equally near
    ones.
    """
    text = region.text
    if len(text) > _LONGEST:
        return None
    compared = tuple({format.name: format for format in (*likely, default_format(), *formats())}.values())
    for unescaped, how in ((html.unescape(text), "but escaped for HTML"), (_unescaped(text), _BACKSLASHES)):
        reads = None if unescaped == text else _reader(compared, replace(region, text=unescaped))
        if reads is not None:
            return Nearest(reads, how, common_prefix(text, unescaped), slight=True)
    rendered = text.strip()
    likenesses = [(_likeness(rendered, own), own, format) for format, own in _written(compared, shape)]
    most, own, format = max(likenesses, key=lambda one: one[0])
    if most < _NEAR or own == rendered:
        return None
    found = _first_difference(own, rendered)
    differs, offset = f"but {found.as_exception}", found.offset
    return Nearest(format, differs, len(text) - len(text.lstrip()) + offset, _slightly(own, rendered))


def difference(region: Region, shape: TurnShape, format: ToolCallFormat) -> tuple[str, int] | None:
    """Return the first difference of the single call in this region from what the format writes, or None.

    A clause after "the template", and the offset in the region.
    """
    text = region.text
    rendered = text.strip()
    written = [own for _, own in _written((format,), shape)]
    own = max(written, key=lambda one: common_prefix(rendered, one))
    if own in rendered or len(text) > _LONGEST:
        return None
    found = _first_difference(own, rendered)
    return found.of_template, len(text) - len(text.lstrip()) + found.offset


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace('\\"', '"')


def _reader(formats: Sequence[ToolCallFormat], region: Region) -> ToolCallFormat | None:
    """Return the first format that reads the call of this region."""
    expected = tuple((name, dict(arguments)) for name, arguments in SINGLE)
    return next((format for format in formats if read(format, region, ALL_TOOLS).calls == expected), None)


def _written(formats: Sequence[ToolCallFormat], shape: TurnShape) -> Iterator[tuple[ToolCallFormat, str]]:
    """Yield the call as each format writes it, with the id that the template received."""
    given = call_id(shape, TOOL, 0)
    for format in formats:
        own = format.call_id.format(name=TOOL, number=0)
        for variant in ("", *format.variants):
            text = write(format.with_variant(variant), SINGLE, ALL_TOOLS).strip()
            yield format, text.replace(own, given) if own and given else text


def _likeness(one: str, other: str) -> float:
    """Return the similarity of two strings (1 is equal), ignoring whitespace, in which mistakes are common."""
    was, is_now = ([token for token in _TOKENS.findall(text) if not token.isspace()] for text in (one, other))
    return difflib.SequenceMatcher(None, was, is_now, autojunk=False).ratio()


def _slightly(own: str, rendered: str) -> bool:
    """Return whether the strings differ like a misspelling."""
    was, is_now = _PIECES.findall(own), _PIECES.findall(rendered)
    for kind, begin, end, first, last in difflib.SequenceMatcher(None, was, is_now, autojunk=False).get_opcodes():
        removed, added = "".join(was[begin:end]).strip(), "".join(is_now[first:last]).strip()
        if kind == "equal" or not removed + added:
            continue
        if not removed or not added:
            if _WORD.search(removed + added):
                return False
        elif difflib.SequenceMatcher(None, removed, added, autojunk=False).ratio() < _SIMILAR:
            return False
    return True


@dataclass(frozen=True)
class _Difference:
    """What only the format writes (`removed`), what only the template writes (`added`), and the text before it."""

    removed: str
    added: str
    before: str
    others: bool

    @property
    def offset(self) -> int:
        return len(self.before)

    @property
    def as_exception(self) -> str:
        """A clause after "what FORMAT writes, but"."""
        if self.removed and self.added:
            return f"with {_quote(self.added)} instead of {_quote(self.removed)}{self._more}"
        what = f"without {_quote(self.removed)}" if self.removed else f"with {_quote(self.added)}"
        return f"{what} {self._where}{self._more}"

    @property
    def of_template(self) -> str:
        """A clause after "the template"."""
        if self.removed and self.added:
            return f"writes {_quote(self.added)} where the format requires {_quote(self.removed)}{self._more}"
        if self.removed:
            return f"omits {_quote(self.removed)} {self._where}{self._more}"
        return f"writes {_quote(self.added)} {self._where}, where the format has nothing{self._more}"

    @property
    def _where(self) -> str:
        return f"after {_quote(self.before[-20:])}" if self.before else "at the beginning"

    @property
    def _more(self) -> str:
        return " (among other differences)" if self.others else ""


def _first_difference(own: str, rendered: str) -> _Difference:
    """Return the first difference, if possible not only in whitespace."""
    was, is_now = _PIECES.findall(own), _PIECES.findall(rendered)
    matcher = difflib.SequenceMatcher(None, was, is_now, autojunk=False)
    differences = [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]
    visible = (one for one in differences if "".join((*was[one[0] : one[1]], *is_now[one[2] : one[3]])).strip())
    begin, end, first, last = next(visible, differences[0])
    removed, added, before = ("".join(pieces) for pieces in (was[begin:end], is_now[first:last], is_now[:first]))
    return _Difference(removed, added, before, len(differences) > 1)


def _quote(text: str) -> str:
    """Return the text in quotes, with newlines escaped."""
    return "'" + shortened(text, _LONGEST_QUOTE).replace("\n", "\\n") + "'"
