"""The signs of a call that is written as code, as its reader needs them: told apart from one another, or refused.

`CallExpression` writes its parameters as they stand, blanks and all. Reading takes blanks as they come, so a sign is
known by what is left without them; what stands without quotes (names, keys, numbers, words) ends where one begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolfmt.formats.engines.frame import NAME
from toolfmt.formats.values.value_reader import BetweenMarks, Notation, ending_at_first, without, without_characters

_IN_NAMES = re.compile(r"[\w.:/$@+-]")
_IN_VALUES = re.compile(r"[\w.+-]")
"""What numbers and words are made of."""
_WORD = re.compile(r"\w")
_BLANKS = " \t\r\n"
_BEHIND_STRINGS = (")", "]", "}")
_OTHER_BRACKETS = {"{": "{("}
"""What models write for a family's bracket, it among them."""
_CLOSING = {"(": ")", "{": "}"}
_OTHER_ASSIGNS = {"=": ("=",), ":": (":", "=")}


@dataclass(frozen=True)
class CallSigns:
    """The signs without their blanks; `bracket`, `assign` and `separator` are empty where blanks are all there is."""

    bracket: str
    closing: str
    assign: str
    separator: str
    key_lead: str
    pair_closer: str
    blank_bracket: bool
    """Whether blanks may stand before the bracket."""
    notation: Notation
    name: re.Pattern[str]
    """What a name is made of."""

    @property
    def brackets(self) -> tuple[str, ...]:
        """The brackets that are read."""
        return tuple(_OTHER_BRACKETS.get(self.bracket, "")) or (self.bracket,)

    @property
    def assigns(self) -> tuple[str, ...]:
        """The signs behind a key that are read."""
        return _OTHER_ASSIGNS.get(self.assign, (self.assign,))

    def closes(self, bracket: str) -> str:
        """What closes a bracket that has been read."""
        return self.closing if bracket == self.bracket else _CLOSING[bracket]


def call_signs(
    brackets: tuple[str, str],
    assign: str,
    separator: str,
    key_lead: str,
    pair_closer: str,
    notation: Notation | BetweenMarks,
    closer: str,
) -> CallSigns:
    """The signs of these parameters of a `CallExpression`. Raises `ValueError`, which names the parameter, where they
    cannot be told apart from one another or from what stands between them."""
    _check(brackets, assign, separator, key_lead, pair_closer)
    opening, closing, behind = brackets[0], brackets[1].strip(), pair_closer or separator + key_lead
    spelt = notation
    if isinstance(spelt, BetweenMarks):
        read = dict.fromkeys((closing, *(_CLOSING[other] for other in _OTHER_BRACKETS.get(opening, ""))))
        spelt = spelt.within(*(end + closer for end in read), control=(closer,)) if closer else spelt.within()
    signs = {"separator": separator.strip(), "key_lead": key_lead.strip(), "pair_closer": pair_closer.strip()}
    for parameter, sign in signs.items():
        if sign and sign[0] in spelt.openers.first:
            raise ValueError(f"{parameter}: {sign!r:.80} starts like a string")
    if pair_closer or separator.strip() != "," or closing[0] not in _BEHIND_STRINGS:
        spelt = ending_at_first(spelt)
    ends_value = {*("" if pair_closer else closing[0]), behind.strip()[:1], *(_BLANKS if behind[0] in _BLANKS else "")}
    ends_key = set(_BLANKS if assign[0] in _BLANKS else assign[0])
    return CallSigns(
        bracket=opening.strip(),
        closing=closing,
        assign=assign.strip(),
        separator=separator.strip(),
        key_lead=key_lead.strip(),
        pair_closer=pair_closer.strip(),
        blank_bracket=opening[0] in _BLANKS,
        notation=without_characters(spelt, {sign for sign in ends_value if not _IN_VALUES.fullmatch(sign)}, ends_key),
        name=NAME if opening.strip() else without(NAME, {closing[0]}),
    )


def _check(brackets: tuple[str, str], assign: str, separator: str, key_lead: str, pair_closer: str) -> None:
    """What cannot be told apart, by the parameter to blame."""
    opening, closing = brackets
    if not opening or _IN_NAMES.match(opening):
        raise ValueError(f"brackets: the end of a name cannot be recognized before {opening!r:.80}")
    if not closing.strip() or (_IN_VALUES.match(closing)) or _WORD.match(closing.strip()):
        raise ValueError(f"brackets: the end of the arguments cannot be recognized before {closing!r:.80}")
    if not assign or _WORD.match(assign):
        raise ValueError(f"assign: the end of a key cannot be recognized before {assign!r:.80}")
    behind = separator + key_lead
    if not pair_closer and (not behind or _IN_VALUES.match(behind)):
        raise ValueError(f"separator: the end of a value cannot be recognized before {behind!r:.80}")
    if pair_closer and (not pair_closer.strip() or _IN_VALUES.match(pair_closer) or _WORD.match(pair_closer.strip())):
        raise ValueError(f"pair_closer: the end of a value cannot be recognized before {pair_closer!r:.80}")
    between = (separator.strip(), key_lead.strip())
    if any(sign and (sign.startswith(closing.strip()) or closing.strip().startswith(sign)) for sign in between):
        parameter = "separator" if between[0] else "key_lead"
        raise ValueError(f"{parameter}: {behind!r:.80} cannot be distinguished from the end of the arguments")
