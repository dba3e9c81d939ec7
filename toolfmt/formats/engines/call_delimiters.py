"""The delimiters of a call that is written as code, as the parser needs them. Ambiguous delimiters are rejected.

`CallExpression` writes its parameters verbatim, including whitespace. The parser accepts any whitespace, so it compares
delimiters without it. Text without quotes (names, keys, numbers, words) ends where a delimiter starts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolfmt.formats.engines.frame import NAME
from toolfmt.formats.values.syntaxes import BetweenMarks, Notation, ending_at_first, without, without_characters

_IN_NAMES = re.compile(r"[\w.:/$@+-]")
_IN_VALUES = re.compile(r"[\w.+-]")
"""A character of numbers and words."""
_WORD = re.compile(r"\w")
_WHITESPACE = " \t\r\n"
_AFTER_STRINGS = (")", "]", "}")
_OTHER_BRACKETS = {"{": "{("}
"""The brackets that models write in place of a family's bracket, including that one."""
_CLOSING = {"(": ")", "{": "}"}
_OTHER_ASSIGNS = {"=": ("=",), ":": (":", "=")}


@dataclass(frozen=True)
class CallDelimiters:
    """The delimiters without whitespace. A delimiter that consists of whitespace is empty."""

    bracket: str
    closing: str
    assign: str
    separator: str
    key_lead: str
    pair_closer: str
    space_before_bracket: bool
    """Whether whitespace may precede the bracket."""
    notation: Notation
    name: re.Pattern[str]
    """Matches a name."""

    @property
    def brackets(self) -> tuple[str, ...]:
        """The opening brackets that the parser accepts."""
        return tuple(_OTHER_BRACKETS.get(self.bracket, "")) or (self.bracket,)

    @property
    def assigns(self) -> tuple[str, ...]:
        """The delimiters after a key that the parser accepts."""
        return _OTHER_ASSIGNS.get(self.assign, (self.assign,))

    def closes(self, bracket: str) -> str:
        """Return the closing bracket for an opening bracket of `brackets`."""
        return self.closing if bracket == self.bracket else _CLOSING[bracket]


def call_delimiters(
    brackets: tuple[str, str],
    assign: str,
    separator: str,
    key_lead: str,
    pair_closer: str,
    notation: Notation | BetweenMarks,
    closer: str,
    opener: str,
) -> CallDelimiters:
    """Return the delimiters for these parameters of a `CallExpression`.

    Raises `ValueError`, which names the parameter, if they cannot be distinguished from each other or from the text
    between them.
    """
    _check(brackets, assign, separator, key_lead, pair_closer)
    opening, closing, after_value = brackets[0], brackets[1].strip(), pair_closer or separator + key_lead
    syntax = notation
    if isinstance(syntax, BetweenMarks):
        accepted = dict.fromkeys((closing, *(_CLOSING[other] for other in _OTHER_BRACKETS.get(opening, ""))))
        ends = (end + closer for end in accepted)
        syntax = syntax.within(*ends, control=(closer,), opener=opener) if closer else syntax.within()
    delimiters = {"separator": separator.strip(), "key_lead": key_lead.strip(), "pair_closer": pair_closer.strip()}
    for parameter, delimiter in delimiters.items():
        if delimiter and delimiter[0] in syntax.openers.first:
            raise ValueError(f"{parameter}: {delimiter!r:.80} starts like a string")
    if pair_closer or separator.strip() != "," or closing[0] not in _AFTER_STRINGS:
        syntax = ending_at_first(syntax)
    spaces_end_value = after_value[0] in _WHITESPACE
    ends_value = {
        *("" if pair_closer else closing[0]),
        after_value.strip()[:1],
        *(_WHITESPACE if spaces_end_value else ""),
    }
    ends_key = set(_WHITESPACE if assign[0] in _WHITESPACE else assign[0])
    return CallDelimiters(
        bracket=opening.strip(),
        closing=closing,
        assign=assign.strip(),
        separator=separator.strip(),
        key_lead=key_lead.strip(),
        pair_closer=pair_closer.strip(),
        space_before_bracket=opening[0] in _WHITESPACE,
        notation=without_characters(syntax, {end for end in ends_value if not _IN_VALUES.fullmatch(end)}, ends_key),
        name=NAME if opening.strip() else without(NAME, {closing[0]}),
    )


def _check(brackets: tuple[str, str], assign: str, separator: str, key_lead: str, pair_closer: str) -> None:
    """Raise `ValueError`, which names the parameter, if the end of a part cannot be recognized."""
    opening, closing = brackets
    if not opening or _IN_NAMES.match(opening):
        raise ValueError(f"brackets: the end of a name cannot be recognized before {opening!r:.80}")
    if not closing.strip() or (_IN_VALUES.match(closing)) or _WORD.match(closing.strip()):
        raise ValueError(f"brackets: the end of the arguments cannot be recognized before {closing!r:.80}")
    if not assign or _WORD.match(assign):
        raise ValueError(f"assign: the end of a key cannot be recognized before {assign!r:.80}")
    next_pair = separator + key_lead
    if not pair_closer and (not next_pair or _IN_VALUES.match(next_pair)):
        raise ValueError(f"separator: the end of a value cannot be recognized before {next_pair!r:.80}")
    if pair_closer and (not pair_closer.strip() or _IN_VALUES.match(pair_closer) or _WORD.match(pair_closer.strip())):
        raise ValueError(f"pair_closer: the end of a value cannot be recognized before {pair_closer!r:.80}")
    between = (separator.strip(), key_lead.strip())
    if any(part and (part.startswith(closing.strip()) or closing.strip().startswith(part)) for part in between):
        parameter = "separator" if between[0] else "key_lead"
        raise ValueError(f"{parameter}: {next_pair!r:.80} cannot be distinguished from the end of the arguments")
