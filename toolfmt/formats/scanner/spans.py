"""Spans of text that stream: content, raw values, and the inside of strings in each syntax.

Each class is a `Span` of the scanner. `may_end` finds what could end it; if it finds nothing, a chunk is inside. `read`
continues to the end, or to where it is not certain yet. Spans of arguments return JSON: the inside of a JSON string.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Protocol

from toolfmt.formats.scanner.literals import Literals, MayEnd, literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD
from toolfmt.formats.scanner.scanner import BACK, Malformed
from toolfmt.messages.rejections import end_marker


class ToleranceRecorder(Protocol):
    """Receives the tolerances of a span."""

    def tolerates(self, name: str) -> bool:
        """Whether a tolerance may be applied. If not, it rejects the call: what is valid must be emitted first."""

    def record_tolerance(self, name: str, at: int | None = None) -> None:
        """Note a tolerance, applied at this offset; None for the position of the scanner."""

    def before(self, text: str, at: int, most: int = BACK) -> str:
        """Return up to `most` characters before an index of the text that the span was given."""


MISSING_CLOSER = "missing_value_closer"
UNESCAPED = "unescaped_quote"
"""The tolerance with which the end of a string is a guess."""
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def escaped(text: str) -> str:
    """Return the text as the inside of a JSON string."""
    return encode_basestring(text)[1:-1]


def quoted(text: str) -> str:
    """Return the text as a JSON string. A lone surrogate, which UTF-8 cannot encode, is escaped."""
    return encode_basestring_ascii(text) if LONE_SURROGATE.search(text) else encode_basestring(text)


class Plain:
    """Text up to the first of some literals, emitted unchanged. `found` is the literal that ended it."""

    __slots__ = ("before", "beginning", "encode", "found", "literals", "may_end", "trigger")

    def __init__(self, literals: Literals) -> None:
        self.literals = literals
        self.beginning: Callable[[re.Match[str]], int | None] | None = literals.beginning
        self.may_end = literals.may_end
        self.trigger, self.before = literals.trigger, literals.before
        self.encode: Callable[[str], str] | None = None
        self.found = ""

    def read(self, text: str, at: int, closed: bool) -> tuple[str, int, bool]:
        found = self.literals.search(text, at, closed)
        if found is None:
            return text[at:], len(text), False
        end, self.found = found
        return text[at:end], end + len(self.found), bool(self.found)


class Raw(Plain):
    """As `Plain`, emitted as the inside of a JSON string."""

    __slots__ = ()

    def __init__(self, literals: Literals) -> None:
        super().__init__(literals)
        self.encode = escaped

    def read(self, text: str, at: int, closed: bool) -> tuple[str, int, bool]:
        said, at, ended = super().read(text, at, closed)
        return escaped(said), at, ended


_AFTER_STRING = re.compile(r"[ \t\r\n]{0,4096}(?:[,)\]}:]|\Z)")


def _may_end(text: str, at: int, closed: bool) -> bool | None:
    """Whether a string may end before `at`, given what follows; None if that has not arrived yet."""
    after = _AFTER_STRING.match(text, at)
    if after is None and len(text) - at > 4096 and not text[at : at + 4096].strip(" \t\r\n"):
        return True
    if after is not None and after.end() == len(text) and not after.group().strip() and not closed:
        return None
    return after is not None


_ASSIGNS = re.compile("[:=]")
_BEGINS_CALL = re.compile(r"\s*[\w.:/$@+-]+\s*[{(][^)}]*")
_MARK_AHEAD = 128


class Marked(Raw):
    """The inside of a verbatim string up to the marker that also started it.

    A marker after which no string may end starts another string: this one has lost its end. The string may contain
    control tokens or the start of a call, and pairs of its marker after them: it ends at the first marker that is not
    one of a pair and that the next key or the end of the call follows. If there is none near, the string has lost its
    marker. `closing` ends a call; then the string has ended before it, unless it may contain another argument.
    """

    __slots__ = ("_closing", "_goes_on", "_mark", "_notes", "_opener")

    def __init__(
        self, mark: str, closing: tuple[str, ...], control: tuple[str, ...], opener: str, notes: ToleranceRecorder
    ) -> None:
        super().__init__(literals(mark, *closing, *control))
        self._mark, self._closing, self._opener, self._notes = mark, closing, opener, notes
        self._goes_on = _after_marked(control)

    def read(self, text: str, at: int, closed: bool) -> tuple[str, int, bool]:
        said, end, ended = super().read(text, at, closed)
        if not ended:
            return said, end, False
        begin = end - len(self.found)
        if self.found == self._mark:
            may_end = _may_end(text, end, closed)
            if may_end is None:
                return said, begin, False
            if may_end:
                return said, end, True
        in_string = self.found != self._mark or self._in_quoted_call(text, begin)
        own = self._own_end(text, begin, closed) if in_string else 0
        if own is None:
            return said, begin, False
        if own:
            return said + escaped(text[begin : own - len(self._mark)]), own, True
        if said:
            return said, begin, False  # emit what is valid before the error
        value = self._notes.before(text, begin, sys.maxsize).rpartition(self._mark)[2]
        partial = any(sign in value[-len(self._mark) :] for sign in self._mark if not sign.isalnum())
        if self.found not in self._closing or partial or _ASSIGNS.search(value):
            # It is a control token, or part of a mark precedes it, or the text may contain the key of another argument.
            after = "',' or a closing bracket after " if self.found == self._mark else ""
            wrong = Malformed(expected=after + end_marker(self._mark))
            wrong.undecided = in_string and closed and len(text) - begin < MAX_LOOKAHEAD
            raise wrong
        self._notes.record_tolerance(MISSING_CLOSER)
        return "", begin, True

    def _in_quoted_call(self, text: str, at: int) -> bool:
        """Whether a marker is in the arguments of a call that the string contains."""
        before = self._notes.before(text, at, MAX_LOOKAHEAD).rpartition(self._mark)[2]
        _, opener, call = before.rpartition(self._opener) if self._opener else ("", "", "")
        return bool(opener and _BEGINS_CALL.fullmatch(call))

    def _own_end(self, text: str, begin: int, closed: bool) -> int | None:
        """Return the end of the marker that ends the string after a token at `begin`, which is in the string.

        Return 0 if there is none near, and None if more text may show that.
        """
        at, paired = begin, False
        while (at := text.find(self._mark, at, begin + MAX_LOOKAHEAD + len(self._mark))) >= 0:
            at += len(self._mark)
            if not paired and self._goes_on(text, at):
                return at
            if not paired and not closed and len(text) - at < _MARK_AHEAD:
                return None
            paired = not paired
        return 0 if closed or len(text) - begin >= MAX_LOOKAHEAD + len(self._mark) else None


@cache
def _after_marked(control: tuple[str, ...]) -> Callable[[str, int], re.Match[str] | None]:
    """Return a function that matches the next key, or the end of the call, after a marker."""
    brackets = r"(?:[ \t\r\n]{0,16}[\])}]){0,8}"
    key = r",[ \t\r\n]{0,16}[\w .$@/+-]{1,64}[:=]"
    ends = "|".join(map(re.escape, control)) or r"\Z"
    return re.compile(rf"{brackets}[ \t\r\n]{{0,16}}(?:{key}|{ends})").match


class PlainMarked(Raw):
    """The inside of a string up to the marker that also started it, whatever follows."""

    __slots__ = ()

    def __init__(self, mark: str, notes: ToleranceRecorder) -> None:
        super().__init__(literals(mark))


_JSON_PLAIN = re.compile(r'[^"\\\x00-\x1f]*+(?>(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*)')
_JSON_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_JSON_PARTIAL = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")


class JsonString:
    """The inside of a JSON string after its opening quote. What JSON forbids is escaped, with a tolerance."""

    __slots__ = ("_notes", "before", "beginning", "encode", "may_end", "trigger")

    def __init__(self, notes: ToleranceRecorder) -> None:
        self._notes = notes
        self.may_end: MayEnd = _JSON_SPECIAL.search
        self.trigger = self.before = ""
        self.beginning: Callable[[re.Match[str]], int | None] | None = None
        self.encode: Callable[[str], str] | None = None

    def read(self, text: str, at: int, closed: bool) -> tuple[str, int, bool]:
        said = ""
        while True:
            plain = _JSON_PLAIN.match(text, at)
            assert plain is not None
            said += plain.group()
            at = plain.end()
            if at == len(text) or (text[at] == "\\" and not closed and _JSON_PARTIAL.match(text, at)):
                return said, at, False
            if text[at] == '"':
                return said, at + 1, True
            tolerance = "invalid_escape" if text[at] == "\\" else "raw_newline"
            if said and not self._notes.tolerates(tolerance):
                return said, at, False  # emit what is valid before what is rejected
            self._notes.record_tolerance(tolerance)
            if text[at] == "\\":
                quote = text[at + 1 : at + 2] == "'"
                said += "'" if quote else "\\\\"
                at += 2 if quote else 1
            else:
                said += escaped(text[at])
                at += 1


_CODE_SIMPLE = {
    quote: re.compile(rf"[^{quote}\\\x00-\x1f]*+(?>(?:\\[\\'\"nrtbf][^{quote}\\\x00-\x1f]*+)*)") for quote in "'\""
}
_CODE_SPECIAL = {quote: re.compile(r"[\\\x00-\x1f" + quote + "]") for quote in "'\""}
_CODE_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|[0-7]{1,3}|\r\n|[^xuUN0-7])", re.DOTALL
)
"""The escapes of Python. A backslash before another letter stays one. (`\\N{…}` would need all character names.)"""
_CODE_PARTIAL = re.compile(r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-7]{1,2}|\r)?\Z")
_CODE_AHEAD = 128
_CODE_GOES_ON = re.compile(
    r"[ \t\r\n]{0,64}(?:,[ \t\r\n]{0,16}[^\W\d][\w.-]{0,40}[ \t\r\n]{0,4}=(?=[^=])|\)[ \t\r\n]{0,64}(?:\]|<|`)|[\]}])"
)
_ARGUMENT_BEGINS = re.compile(r"(?<![=!<>:+*/%|&^~-])=[ \t\r\n]*\Z")
_ITEM_BEGINS = re.compile(r"[=,:\[{][ \t\r\n]*\Z")
_CODE_QUOTATION = re.compile(r"(?:\A|[^\w])(?:[fFrRbBuU]{1,2})?\Z")
_APOSTROPHE = re.compile(r"[^\W\d_]'[^\W\d_A-Z]\Z|[A-Z]'[A-Z]\Z|(?:\A|\W)\w?[^\W\d_]'[^\W\d_]\Z")
_CODE_JOINS = re.compile(r"[ \t\r\n]{1,64}['\"]")
_CODE_NAMED = {"a": "\a", "v": "\v", "\n": "", "\r": "", "\r\n": ""}


class CodeString:
    """The inside of a Python string after its opening quote, emitted as JSON.

    A quote ends the string only if what follows can follow a string. Any other quote was not escaped (the LFM2.5
    template writes values between single quotes and escapes nothing): a tolerance. A quote where another string would
    start shows that this string has lost its closing quote, so its end is unknown.
    """

    __slots__ = ("_notes", "_quote", "_simple", "_unescaped", "before", "beginning", "encode", "may_end", "trigger")

    def __init__(self, quote: str, notes: ToleranceRecorder) -> None:
        self._quote = quote
        self._simple = _CODE_SIMPLE[quote[0]]
        self._notes = notes
        self._unescaped = False
        self.may_end: MayEnd = _CODE_SPECIAL[quote[0]].search
        self.trigger = self.before = ""
        self.beginning: Callable[[re.Match[str]], int | None] | None = None
        self.encode: Callable[[str], str] | None = None if quote[0] == '"' else _double_quotes_escaped

    def read(self, text: str, at: int, closed: bool) -> tuple[str, int, bool]:
        said, unescaped = "", self._unescaped
        while True:
            found = self._simple.match(text, at)
            assert found is not None
            plain = found.group()
            said += plain if self.encode is None and "\\'" not in plain else _rewritten(plain)
            at = found.end()
            if at == len(text) or (text[at] == "\\" and not closed and _CODE_PARTIAL.match(text, at)):
                break
            if text[at] == "\\":
                escape = _CODE_ESCAPE.match(text, at)
                if escape is None:
                    if said and not self._notes.tolerates("invalid_escape"):
                        break
                    self._notes.record_tolerance("invalid_escape")
                said += "\\\\" if escape is None else _unescaped(escape.group()[1:])
                at = at + 1 if escape is None else escape.end()
            elif text[at] == self._quote[0]:
                ends = self._ends(text, at, closed, unescaped)
                if ends is None:
                    break
                if ends:
                    return said, at + len(self._quote), True
                if self._lost(text, at):
                    if said:
                        break
                    raise Malformed(expected="the end of the string")
                if len(self._quote) == 1:
                    if said and not self._notes.tolerates(UNESCAPED):
                        break
                    self._notes.record_tolerance(UNESCAPED)
                    unescaped = True
                said += escaped(text[at])
                at += 1
            elif len(self._quote) == 1:
                if said and not self._notes.tolerates("raw_newline"):
                    break
                self._notes.record_tolerance("raw_newline")
                said += escaped(text[at])
                at += 1
            else:
                said += escaped(text[at])
                at += 1
        if unescaped:
            self._unescaped = True  # set only here: a `read` that ends the string may be repeated, with the same result
        return said, at, False

    def _ends(self, text: str, at: int, closed: bool, unescaped: bool) -> bool | None:
        """Whether the quote at `at` ends the string; None if that is not clear yet."""
        if not text.startswith(self._quote, at):
            return None if not closed and self._quote.startswith(text[at:]) else False
        return self._may_end(text, at + len(self._quote), closed, unescaped)

    def _may_end(self, text: str, at: int, closed: bool, unescaped: bool) -> bool | None:
        ends = _may_end(text, at, closed)
        return ends if ends is not False or unescaped else _CODE_JOINS.match(text, at) is not None

    def _lost(self, text: str, at: int) -> bool:
        """Whether a quote that does not end the string starts another one."""
        after = text[at + len(self._quote) : at + len(self._quote) + 1]
        if len(self._quote) > 1:
            return text.startswith(self._quote, at) and after != self._quote[0]
        before = self._notes.before(text, at)
        between_words = (after.isalnum() or after == "_") and not _CODE_QUOTATION.search(before)
        if between_words and not (self._quote == "'" and _APOSTROPHE.search(before[-3:] + "'" + after)):
            return True  # a quotation cannot start or end there
        return bool(self._begins.search(before))

    _begins = _ITEM_BEGINS


class ArgumentString(CodeString):
    """A Python string that is an argument.

    After a quote that was not escaped, a quote ends the string only if the next argument or the end of the calls
    follows: code that was not escaped must not become a call.
    """

    __slots__ = ()

    def _may_end(self, text: str, at: int, closed: bool, unescaped: bool) -> bool | None:
        if not unescaped:
            return super()._may_end(text, at, closed, unescaped)
        if _CODE_GOES_ON.match(text, at):
            return True
        return None if not closed and len(text) - at < _CODE_AHEAD else False

    _begins = _ARGUMENT_BEGINS


class PlainCodeString(CodeString):
    """A Python string that ends at the first quote that is not escaped, whatever follows."""

    __slots__ = ()

    def _may_end(self, text: str, at: int, closed: bool, unescaped: bool) -> bool | None:
        return True


def _double_quotes_escaped(text: str) -> str:
    return text.replace('"', '\\"')


def _rewritten(text: str) -> str:
    """Return a part of a string without its quote and without rare escapes as the inside of a JSON string."""
    # Between escaped backslashes, each backslash starts an escape of a quote or of a letter.
    return "\\\\".join(map(_requoted, text.split("\\\\")))


def _requoted(text: str) -> str:
    return _double_quotes_escaped(text.replace('\\"', '"')).replace("\\'", "'")


def _unescaped(escape: str) -> str:
    if escape[0] in "xU":
        return quoted(chr(int(escape[1:], 16)))[1:-1]
    if escape[0] == "u":
        return "\\" + escape
    if escape[0] in "01234567":
        return escaped(chr(int(escape, 8)))
    return escaped(_CODE_NAMED.get(escape, "\\" + escape))
