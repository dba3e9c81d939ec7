r"""Convert the automata of `stops` to regular expressions, for a grammar format whose complements are slow.

llguidance checks each token of a vocabulary unless it finds that all tokens of a class are allowed. It never finds that
in an expression with a complement. In `(a|b)*c`, and in alternatives of which one is such a repetition, it does, if the
class's characters are among `a|b` (derivre/src/relevance.rs, `is_contained_in_prefixes`, with llguidance 1.9). So the
start state of a string becomes the repetition. Where a marker is partly matched, a redundant branch is added: any
number of characters that end no marker, and then the end marker.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from toolfmt.grammars.stops import END, State, TooLarge, free_states, text_states

MOST_STATES, LONGEST = 400, 12_000
"""Maximum number of states of an automaton, and of characters of an expression."""
_META = re.compile(r"[\\.+*?()|\[\]{}^$#&\-~/]")


def closed_text(closer: str, never: Iterable[str]) -> str | None:
    """Return an expression for any text without `never`, followed by its first end marker. None if it is too large."""
    return _expression(lambda: text_states(closer, never, limit=MOST_STATES), closer)


def open_text(without: Iterable[str], not_first: str = "") -> str | None:
    """Return an expression for any text without `without` that does not begin with a character of `not_first`.

    Return None if it is too large, or if `without` is empty.
    """
    without = [text for text in without if text]
    return _expression(lambda: free_states(without, not_first), "") if without else None


def literally(text: str) -> str:
    """Return a string as part of an expression, also inside a character class."""
    escaped = _META.sub(lambda found: "\\" + found.group(), text)
    return re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\x{ord(found.group()):02X}", escaped)


def _expression(make: Callable[[], Sequence[State]], closer: str) -> str | None:
    """Return the expression with the redundant branches, without them if it is too large, or None."""
    try:
        states = make()
    except TooLarge:
        return None
    for with_branches in (True, False) if len(states) <= MOST_STATES else ():
        try:
            return _written(states, closer, with_branches)
        except TooLarge:
            pass
    return None


def _written(states: Sequence[State], closer: str, with_branches: bool) -> str:
    """Return the expression by eliminating states, those deepest in a marker first."""
    ways = [_ways(state) for state in states]
    home = states[0].other or 0
    harmless: set[int] = set()
    branch = ""
    if with_branches:
        ending = _ending(states[1:] if home else states)
        harmless, branch = _harmless(states, closer, ending), f"[^{_class(ending)}]*{literally(closer)}"
    for at in harmless - {0, home}:
        ways[at].setdefault(END, []).append(branch)
    for gone in [at for at in reversed(range(len(states))) if at not in (0, home)]:
        _take_out(ways, gone)
    loop = _repeated(ways[home].pop(home, []))
    text = _any([loop + _any(ways[home].pop(END)), *([branch] if home in harmless else [])])
    if home:  # a string with another beginning returns to the start state after its first character, or ends
        text = _any([_any(ways[0].pop(home)) + text, *ways[0].pop(END, [])])
    if len(text) > LONGEST:
        raise TooLarge
    return text


def _ways(state: State) -> dict[int, list[str]]:
    """Return where a state leads, and with which characters."""
    ways: dict[int, list[str]] = {}
    by_target: dict[int, str] = {}
    for character, to in state.moves:
        by_target[to] = by_target.get(to, "") + character
    for to, characters in by_target.items():
        ways[to] = [literally(characters) if len(characters) == 1 else f"[{_class(characters)}]"]
    if state.other is not None:
        named = _class("".join(character for character, _ in state.moves) + state.rejected)
        ways.setdefault(state.other, []).append(f"[^{named}]" if named else r"(?s:.)")
    if state.ends:
        ways.setdefault(END, []).append("")
    return ways


def _take_out(ways: list[dict[int, list[str]]], gone: int) -> None:
    """Connect all states that lead to this state with the states that it leads to."""
    leaving = ways[gone]
    loop = _repeated(leaving.pop(gone, []))
    ways[gone] = {}
    for other in ways:
        if (before := other.pop(gone, None)) is not None:
            for to, after in leaving.items():
                reached = _any(before) + loop + _any(after)
                if len(reached) > LONGEST:
                    raise TooLarge
                other.setdefault(to, []).append(reached)


def _harmless(states: Sequence[State], closer: str, ending: str) -> set[int]:
    """Return the states in which any characters that end no marker may follow, and then the end marker."""
    harmful = {at for at, state in enumerate(states) if state.other is None or _after(states, at, closer) != END}
    grown = True
    while grown:
        more = {
            at
            for at, state in enumerate(states)
            if at not in harmful
            and (
                state.other in harmful
                or any(to in harmful and character not in ending for character, to in state.moves)
            )
        }
        harmful |= more
        grown = bool(more)
    return set(range(len(states))) - harmful


def _ending(states: Sequence[State]) -> str:
    """Return the characters that end a marker in some state."""
    ended = {character for state in states for character, to in state.moves if to == END}
    return "".join(sorted(ended.union(*(state.rejected for state in states))))


def _after(states: Sequence[State], at: int, text: str) -> int | None:
    """Return where a string leads. The end has no transitions; the empty string leads to it if it is allowed."""
    place: int | None = at
    for character in text:
        if place is None or place == END:
            return None
        state = states[place]
        place = None if character in state.rejected else dict(state.moves).get(character, state.other)
    return END if not text and states[at].ends else place


def _any(expressions: Sequence[str]) -> str:
    return expressions[0] if len(expressions) == 1 else f"({'|'.join(expressions)})"


def _repeated(expressions: Sequence[str]) -> str:
    return f"({'|'.join(expressions)})*" if expressions else ""


def _class(characters: str) -> str:
    return "".join(map(literally, sorted(set(characters))))
