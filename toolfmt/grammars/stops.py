"""Build automata for text up to a marker, for grammar formats that cannot express "any text without this".

`text_states` is the automaton of a string followed by an end marker, `free_states` that of a string that may end
anywhere. A state defines where each relevant character leads, and where all others lead. The text ends at the first end
marker. What the text must not contain may overlap the end marker: a partly matched end marker continues even if a
forbidden text ends inside it, but then nothing else is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

END = -1
"""Where the last character of the end marker leads."""


@dataclass(frozen=True)
class State:
    """A state; the first one is the start of a string.

    - `moves`: a character and the state it leads to.
    - `rejected`: the characters that are not allowed.
    - `other`: where all others lead, None if they are not allowed.
    - `ends`: the text may end here, without an end marker.
    """

    moves: tuple[tuple[str, int], ...]
    rejected: str
    other: int | None
    ends: bool = False


class TooLarge(Exception):
    """The automaton has more states than allowed."""


@dataclass(frozen=True)
class _Place:
    """A position in a string.

    It has the possible beginnings of forbidden texts, the matched lengths of the end marker (each with whether it may
    end the text), the number of characters (if it matters), and whether the text may continue.
    """

    forbidden: str = ""
    partial: frozenset[tuple[int, bool]] = frozenset()
    count: int = 0
    goes_on: bool = True


class _Machine:
    def __init__(self, closer: str, never: Iterable[str], least: int, most: int | None) -> None:
        self._closer, self._least, self._most = closer, least, most
        self._never = tuple(dict.fromkeys(text for text in never if text))
        self._prefixes = {text[:length] for text in self._never for length in range(len(text))} | {""}
        self._cap = least if most is None else most + 1
        self.characters = "".join(sorted({character for text in (closer, *self._never) for character in text}))

    def step(self, place: _Place, character: str | None) -> _Place | int | None:
        """Return the position after the character, the end, or None if it is not allowed.

        The character None is any one that is in no marker.
        """
        partial = self._partial(place, character)
        for length, valid in partial:
            if length == len(self._closer):
                return END if valid else None
        forbidden, found = self._forbidden(place.forbidden, character)
        count = min(place.count + 1, self._cap)
        if place.goes_on and not found and (self._most is None or count <= self._most):
            return _Place(forbidden, partial, count)
        valid_only = any(valid for _, valid in partial)
        return _Place("", partial, 0, goes_on=False) if valid_only else None

    def ends(self, place: _Place) -> bool:
        return not self._closer and place.count >= self._least

    def _partial(self, place: _Place, character: str | None) -> frozenset[tuple[int, bool]]:
        if not self._closer:
            return frozenset()
        candidates = place.partial | ({(0, place.count >= self._least)} if place.goes_on else set())
        return frozenset((length + 1, valid) for length, valid in candidates if self._closer[length] == character)

    def _forbidden(self, before: str, character: str | None) -> tuple[str, bool]:
        if character is None:
            return "", False
        text = before + character
        if any(text.endswith(never) for never in self._never):
            return "", True
        while text not in self._prefixes:
            text = text[1:]
        return text, False


def text_states(
    closer: str, never: Iterable[str] = (), least: int = 0, most: int | None = None, *, limit: int | None = None
) -> list[State]:
    """Return the automaton of a string of `least` to `most` characters without `never`, and its first end marker.

    Raises `TooLarge` if it has more than `limit` states.
    """
    return _states(_Machine(closer, never, least, most), "", limit)


def free_states(without: Iterable[str] = (), not_first: str = "") -> list[State]:
    """Return the automaton of any text, also empty, without `without`, that does not begin with one of `not_first`."""
    return _states(_Machine("", without, 0, None), not_first, None)


def _states(machine: _Machine, not_first: str, limit: int | None) -> list[State]:
    # the start state differs from an equal later one if it has forbidden characters of its own
    places: list[_Place] = [_Place(count=0)]
    numbers: dict[_Place, int] = {} if not_first else {places[0]: 0}
    states: list[State] = []
    for at, place in enumerate(places):  # grows during the loop
        targets = [_number(machine.step(place, None), numbers, places)]
        alphabet: Sequence[str] = sorted({*machine.characters, *(not_first if at == 0 else "")})
        for character in alphabet:
            barred = at == 0 and character in not_first
            targets.append(None if barred else _number(machine.step(place, character), numbers, places))
        if limit is not None and len(places) > limit:
            raise TooLarge
        other, known = targets[0], list(zip(alphabet, targets[1:], strict=True))
        moves = tuple((character, to) for character, to in known if to is not None and to != other)
        rejected = "".join(character for character, to in known if to is None and other is not None)
        states.append(State(moves, rejected, other, machine.ends(place)))
    return _without_dead_ends(states)


def _without_dead_ends(states: list[State]) -> list[State]:
    """Return the states without moves to dead ends (an end marker that begins too early can cause one)."""
    alive = {at for at, state in enumerate(states) if state.ends or any(to == END for _, to in state.moves)}
    grown = True
    while grown:
        before = len(alive)
        alive |= {
            at for at, state in enumerate(states) if not alive.isdisjoint({to for _, to in state.moves} | {state.other})
        }
        grown = len(alive) > before
    if len(alive) == len(states):
        return states
    kept = alive | {END}
    return [
        State(
            tuple((character, to) for character, to in state.moves if to in kept),
            state.rejected + "".join(character for character, to in state.moves if to not in kept),
            state.other if state.other in kept else None,
            state.ends,
        )
        for state in states
    ]


def _number(to: _Place | int | None, numbers: dict[_Place, int], places: list[_Place]) -> int | None:
    if not isinstance(to, _Place):
        return to
    if to not in numbers:
        numbers[to] = len(places)
        places.append(to)
    return numbers[to]
