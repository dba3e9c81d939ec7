"""Calls written as code: `f(k='v')`, `call:f{k:<q>v<q>}`, `(f :k "v")`, `<f k="v"/>`.

Strings are between quotes or markers, which distinguishes this syntax from tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.values.syntaxes import CODE, CODE_CALL, JSON, LITERAL, QUOTED_JSON, BetweenMarks, Notation
from toolfmt.formats.values.value_writers import (
    JsonValues,
    MarkedValues,
    PythonBesideJson,
    PythonValues,
    QuotedJsonValues,
    ReprValues,
    ValueWriter,
)
from toolfmt.inspect.format.derive.engine_drafts import EngineCandidate, made
from toolfmt.inspect.format.derive.frames import Frames, frames
from toolfmt.inspect.format.derive.raw_parts import RawParts, raw_parts
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.rendered_calls import KEYS, Rendered
from toolfmt.inspect.format.derive.surroundings import Surroundings
from toolfmt.inspect.format.derive.text_cuts import (
    common_end,
    common_start,
    holds_marker,
    leading_whitespace,
    markers,
    trailing_whitespace,
)
from toolfmt.inspect.format.derive.turn_ends import saying_nothing
from toolfmt.inspect.report.wording import quote

_CLOSES = {"(": ")", "{": "}", "[": "]"}
_QUOTES = ("'", '"')
_SHORT = 4
"""The end marker of the arguments is a bracket, or not much longer."""
_TRUE_FALSE_NULL = re.compile(r"\b(?:true|false|null|True|False|None)\b")
_LEAD = re.compile(r"[(\[{]?[\w:.]+[ \t]*")
_WORD = re.compile(r"\w")
_FENCE, _FENCE_LENGTH = re.compile(r"```\w{0,20}\Z"), 23
_AFTER_CALLS = re.compile(r"\s*\]?\s*(?:```)?\s*")
_UNQUOTED = "values have no quotes or end markers: a comma or a line break in one looks like the next argument"
_KIND = "calls as code"


@dataclass(frozen=True)
class _Delimiters:
    """The delimiters of a call, and what follows it."""

    bracket: str
    """The start marker of the arguments, with its whitespace."""
    closes: str
    assign: str
    separator: str
    key_lead: str
    pair_closer: str
    quote: str
    quoted_numbers: bool
    after: str
    between: str | None

    @property
    def plain(self) -> bool:
        """Whether the arguments are written as in a program."""
        return self.bracket.strip() in _CLOSES and self.separator.strip() == "," and not self.key_lead.strip()


def code_calls(rendered: Rendered, around: Surroundings) -> Iterator[EngineCandidate]:
    """Yield drafts. Raise `NotDerivable` if strings have no quotes, or the call has no end marker of its own."""
    parts = raw_parts(rendered)
    delimiters = _delimiters(parts)
    before = around.lead(parts.before, parts.with_text)
    shape = frames(before, delimiters.after, delimiters.between)
    for notation, written in _notations(delimiters, _words(rendered)):
        engine = made(
            CallExpression,
            notation=notation,
            written=written,
            brackets=(delimiters.bracket, delimiters.closes),
            assign=delimiters.assign,
            separator=delimiters.separator,
            key_lead=delimiters.key_lead,
            pair_closer=delimiters.pair_closer,
            key_order="alphabetical" if _sorted(rendered) else "given",
        )
        yield from _framed(engine, shape, before, delimiters)


def _sorted(rendered: Rendered) -> bool:
    """Return whether the template writes arguments in alphabetical order, regardless of their order in the call."""
    swapped = rendered.swapped
    return swapped is not None and swapped.text.find(KEYS[0]) < swapped.text.find(KEYS[1])


# --- the delimiters of a call


def _delimiters(parts: RawParts) -> _Delimiters:
    assign, quote_mark = _assign(parts)
    separator, after = parts.separator, parts.after
    if not separator.startswith(quote_mark) or not after.startswith(quote_mark):
        raise NotDerivable("what opens a string is not what closes it")
    separator, after = separator[len(quote_mark) :], after[len(quote_mark) :]
    between = parts.between[len(quote_mark) :] if parts.between is not None else None
    opens = parts.head.strip()
    of_call = opens in _CLOSES and (parts.none is None or parts.none.lstrip().startswith(opens))
    key_lead = "" if of_call else common_end(parts.head, separator).lstrip()
    bracket = parts.head[: len(parts.head) - len(key_lead)]
    if not bracket:  # what precedes every key also starts the arguments
        bracket, key_lead = parts.head, ""
    separator = separator[: len(separator) - len(key_lead)]
    if not separator + key_lead:
        raise NotDerivable("there is nothing between two arguments", near=3)
    pair_closer = _pair_closer(separator, after, bracket, parts.none)
    if pair_closer:
        separator, after = separator[len(pair_closer) :], after[len(pair_closer) :]
        between = between[len(pair_closer) :] if between is not None else None
        if (
            bracket.strip() and key_lead and separator and bracket.endswith(separator)
        ):  # the separator precedes every key
            bracket, key_lead, separator = bracket.removesuffix(separator), separator + key_lead, ""
    else:
        key_lead, separator = key_lead.strip(), separator or " "
    closes = _closes(bracket.strip(), after, between)
    if parts.none is not None and bracket.strip() and not parts.none.lstrip().startswith(bracket.strip()):
        raise NotDerivable(
            f"{quote(bracket.strip(), 40)} follows the name of a call with arguments, but not that of one without"
        )
    after = after.lstrip()[len(closes) :]
    between = between.lstrip()[len(closes) :] if between is not None else None
    plain = bracket.strip() in _CLOSES and separator.strip() == "," and not key_lead.strip()
    return _Delimiters(
        bracket=bracket.strip() if plain else bracket,
        closes=closes,
        assign=assign.strip() or assign,
        separator=separator,
        key_lead=key_lead,
        pair_closer=pair_closer,
        quote=quote_mark,
        quoted_numbers=parts.number_assign == parts.assign,
        after=after,
        between=between,
    )


def _pair_closer(separator: str, after: str, bracket: str, none: str | None) -> str:
    """Return the end marker of every argument: also after the last one, before what ends a call without arguments."""
    closer = separator.rstrip()
    if none is None or not closer or not after.startswith(closer):
        return ""
    opened = none.lstrip() if not bracket.strip() else none.lstrip().removeprefix(bracket.strip())
    return closer if after[len(closer) :].strip() == opened.strip() else ""


def _assign(parts: RawParts) -> tuple[str, str]:
    """Return the text between key and value, and the quote of strings, which numbers may lack."""
    assign, bare = parts.assign, parts.number_assign
    if assign == bare and assign[-1:] in _QUOTES and parts.separator.startswith(assign[-1]):
        return assign[:-1], assign[-1]
    if assign == bare and len(assign) > 1 and assign[0] in "=:" and parts.separator.startswith(assign[1:]):
        return assign[0], assign[1:]
    if bare == assign and (closer := common_start(parts.separator, parts.after).strip()):
        raise NotDerivable(f"values have no quotes and are closed by a marker: {quote(closer, 40)}")
    if not assign.startswith(bare) or assign == bare:
        raise NotDerivable(_UNQUOTED, near=2 if bare == assign else 1)
    return bare, assign[len(bare) :]


def _closes(bracket: str, after: str, between: str | None) -> str:
    """Return the end marker of the arguments."""
    closes = _CLOSES.get(bracket, "")
    if not closes:
        same = (common_start(after, between) if between is not None else after).strip()
        closes = same if same and len(same) < _SHORT and not re.search(r"\s", same) else ""
        closes = closes or next(iter(markers(same)), "")
    if (
        not closes
        or not after.lstrip().startswith(closes)
        or not (between is None or between.lstrip().startswith(closes))
    ):
        ends = ": they end only where the next call begins or all calls end" if between is not None else ""
        raise NotDerivable("nothing closes the arguments of a call" + ends)
    if _WORD.match(closes):
        raise NotDerivable(f"a plain word closes the arguments of a call, and a key may be the same: {closes}", near=1)
    return closes


def _words(rendered: Rendered) -> Literal["JSON", "Python", "both or none"]:
    """Return whose literals the template writes for true, false and null."""
    seen = rendered.words.text if rendered.words is not None else ""
    found = set(_TRUE_FALSE_NULL.findall(seen[seen.find(KEYS[0]) + 1 :])) if KEYS[0] in seen else set()
    python = {word for word in found if word[0].isupper()}
    if not found or 0 < len(python) < len(found):
        return "both or none"
    return "Python" if python else "JSON"


def _notations(delimiters: _Delimiters, words: str) -> list[tuple[Notation | BetweenMarks, ValueWriter]]:
    """Return how values may be read and written, the most likely first."""
    if delimiters.quote not in _QUOTES:
        marks = made(BetweenMarks, delimiters.quote)
        return [(marks, made(MarkedValues, delimiters.quote, null)) for null in ("None", "null")]
    if delimiters.quoted_numbers:
        return [(QUOTED_JSON, QuotedJsonValues())]
    if not delimiters.plain:
        source = [(CODE, ReprValues() if delimiters.quote == "'" else PythonValues())] if words == "Python" else []
        return [*source, (LITERAL, JsonValues())]
    writers: list[ValueWriter] = [PythonValues(), ReprValues(), JsonValues(), PythonBesideJson()]
    as_code: list[tuple[Notation | BetweenMarks, ValueWriter]] = [(CODE_CALL, writer) for writer in writers]
    if delimiters.quote == "'" or words == "Python":
        return as_code
    # JSON strings are not read as Python strings: in those, `\/` contains a backslash.
    return [(JSON if words == "JSON" else LITERAL, JsonValues()), *as_code]


# --- frames around calls


def _framed(engine: CallExpression, shape: Frames, before: str, delimiters: _Delimiters) -> Iterator[EngineCandidate]:
    each, outer = shape.each.strip(), shape.outer.strip()
    if len(each) == 1 and holds_marker(outer) and delimiters.between is not None:
        yield _led_in_frame(engine, shape)
    elif len(each) > 1:
        yield _framed_each(engine, shape, several=delimiters.between is not None)
    elif each:
        between = (delimiters.between or "").removesuffix(each) or " "
        yield EngineCandidate(
            _KIND, made(replace, engine, unframed_openers=(each,), lead=each, enclosing=("", ""), between=between)
        )
    else:
        yield _framed_once(engine, before, delimiters)


def _led_in_frame(engine: CallExpression, shape: Frames) -> EngineCandidate:
    """All calls in one frame, with a delimiter before the name of each: `(f :k "v")`."""
    closers = markers(shape.outer_close)
    framed = made(
        replace,
        engine,
        opener=shape.outer.strip(),
        closer=closers[0] if closers else "",
        lead=shape.each.strip(),
        enclosing=(trailing_whitespace(shape.outer), leading_whitespace(shape.outer_close)),
        between=shape.each_close + shape.between + leading_whitespace(shape.each) or " ",
    )
    return EngineCandidate(_KIND, framed, saying_nothing(shape.outer_close.lstrip()[len(framed.closer) :]))


def _framed_each(engine: CallExpression, shape: Frames, *, several: bool) -> EngineCandidate:
    """Each call in a frame of its own; the text between the frame's start marker and the name is the lead."""
    each, opener = shape.each.strip(), markers(shape.each)[0]
    whitespace = trailing_whitespace(shape.each)
    lead, closers = each[len(opener) :], markers(shape.each_close)
    if (lead and not _LEAD.fullmatch(lead)) or opener.count('"') % 2:
        opener, lead = each, ""
    elif lead and "\n" not in whitespace:
        lead += whitespace
    rest = () if several else tuple(closers[1:])
    ignored = (*rest, *markers(shape.outer), *markers(shape.outer_close))
    return EngineCandidate(
        _KIND, made(replace, engine, opener=opener, closer=closers[0] if closers else "", lead=lead), ignored
    )


def _framed_once(engine: CallExpression, before: str, delimiters: _Delimiters) -> EngineCandidate:
    """All calls in one frame, optionally in brackets or a code fence."""
    inner = before[_begin_of_calls(before) :]
    opener = before[: len(before) - len(inner)].strip()
    tail = _AFTER_CALLS.match(delimiters.after)
    after = tail[0] if tail else ""
    closers = markers(delimiters.after[len(after) :])
    framed = made(
        replace,
        engine,
        opener=opener,
        closer=closers[0] if opener and closers else "",
        unframed_openers=() if opener else (inner.strip(),),
        enclosing=(inner, after),
        between=delimiters.between or ", ",
    )
    return EngineCandidate(_KIND, framed, tuple(closers[1:] if opener else closers))


def _begin_of_calls(before: str) -> int:
    """Return the offset, in the text before the first call, of the bracket and the code fence around all calls.

    Leading whitespace is included.
    """
    text = before.rstrip()
    text = text.removesuffix("[").rstrip()
    fence = _FENCE.search(text[-_FENCE_LENGTH:])
    return len(text[: len(text) - len(fence[0])].rstrip() if fence else text)
