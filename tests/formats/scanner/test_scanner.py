"""The scanner: the shortcuts of its literals agree with the search; reading again and reading ahead."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfmt.formats.parser.fast_path import pass_over_joined
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.lookahead import LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import PendingSpan, Reading, Scan
from toolfmt.formats.scanner.spans import JsonString
from toolfmt.formats.values.value_reader import Buffered

SETS = (
    ("</parameter>", "\n</parameter>", "<parameter=", "\n<function="),
    ("</arg_value>", "<arg_key>"),
    ("<|end|>", "<", "\n<|"),
    ("[/TOOL]", "<tool>"),
    ("}", "<|call|>"),
    ("\n", "\r\n"),
    ("ab", "ba"),
)


def test_the_first_character_of_literals_is_their_common_one() -> None:
    assert [(literals(*given).trigger, literals(*given).before) for given in SETS] == [
        ("<", "\n"), ("<", ""), ("<", "\n"), ("", ""), ("", ""), ("\n", "\r"), ("a", "b"),
    ]  # fmt: skip


@given(st.sampled_from(SETS), st.text("<>/\n\r[|}abparmetrfunctio=", min_size=1, max_size=12))
def test_a_text_without_the_first_character_is_never_suspicious(given: tuple[str, ...], text: str) -> None:
    finder = literals(*given)
    if finder.trigger and finder.trigger not in text and text[-1] not in finder.before:
        assert finder.may_end(text) is None


@given(st.sampled_from(SETS), st.text("<>/\n\r[|}abparmetrfunctio=", min_size=1, max_size=12))
def test_what_may_begin_a_literal_is_no_more_than_that(given: tuple[str, ...], text: str) -> None:
    """If the shortcut has a result, the search finds the same position, and no literal there."""
    finder = literals(*given)
    found = finder.may_end(text)
    begins = None if found is None else finder.beginning(found)
    searched = finder.search(text, 0, False)
    assert (found is None) == (searched is None)
    if begins is not None:
        assert searched == (begins, "")
    elif searched is not None:
        assert searched[1] or text[searched[0] :] in given


def test_a_literal_that_another_begins_with_waits() -> None:
    finder = literals("<", "<|end|>")
    assert finder.search("a<", 0, False) == (1, "")
    assert finder.match("<", 0, False) == ""
    assert finder.match("<", 0, True) == "<"
    assert finder.match("<b", 0, False) == "<"
    assert finder.beginning(found) is None if (found := finder.may_end("a<")) is not None else False


@given(st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=8), st.data())
def test_a_stretch_is_read_again_wherever_it_begins(pieces: list[str], data: st.DataObject) -> None:
    """Near the mark and far from it: reading back returns the original text, and resetting restores the position."""
    scan = Scan()
    scan.keep(0)
    for piece in pieces:
        scan.append(piece)
        scan.at = len(scan.text)
        scan.compact()
    whole = "".join(pieces)
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, len(whole)))
    assert scan.read_between(begin, end) == whole[begin:end]
    scan.rewind(begin)
    assert (scan.position, scan.text[scan.at :]) == (begin, whole[begin:])
    assert scan.read_between(0, begin) == whole[:begin]


def test_a_whole_text_is_kept() -> None:
    scan = Scan("abc", closed=True)
    scan.at = 3
    assert scan.kept_between(1, 3) == "bc"


def test_what_is_no_longer_needed_is_forgotten() -> None:
    scan = Scan()
    scan.keep(0)
    for piece in ("ab", "cd", "ef"):
        scan.append(piece)
        scan.at = len(scan.text)
        scan.compact()
    scan.forget_before(5)
    assert scan.mark == 4
    assert scan.kept_between(4, 6) == "ef"
    scan.forget_before(1)
    assert scan.mark == 4
    scan.forget_before(6)
    assert scan.mark == 6


def in_a_string_read_ahead_twice(scan: Scan, most: int) -> Reading[tuple[str, str]]:
    """The inside of a string, read ahead in what is read ahead; and what is read after that."""

    def string(view: Scan) -> Reading[str]:
        gathered = Buffered(view)
        yield from gathered.stream(JsonString(gathered))
        return gathered.text

    def twice(view: Scan) -> Reading[tuple[str, str]]:
        text = yield from look_ahead(view, string, most)
        return text, (yield from view.until(literals('"')))[0]

    return look_ahead(scan, twice)


class Counted(str):
    """A string that counts how often it is compared with the beginning of another one."""

    compared = 0

    def startswith(self, *arguments: Any) -> bool:
        Counted.compared += 1
        return super().startswith(*arguments)


def test_many_literals_are_prepared_in_linear_time() -> None:
    for number in (100, 1000):  # such as the names of the tools of a request
        Counted.compared = 0
        Literals(tuple(Counted(f"tool_{at}(") for at in range(number)))
        assert Counted.compared <= number


def woken(scan: Scan, reading: Reading[tuple[str, str]], chunk: str) -> PendingSpan:
    """The condition that the parser waits for after a chunk, as the driver resumes it."""
    scan.append(chunk)
    waiting = next(reading)
    scan.compact()
    assert waiting is not None
    return waiting


def test_what_is_passed_over_while_it_is_read_ahead_twice_is_unread_twice() -> None:
    scan = Scan()
    scan.keep(0)
    reading = in_a_string_read_ahead_twice(scan, 100)
    for chunk in ("one ", "two ", "three"):
        waiting = woken(scan, reading, chunk)
    for chunk in (" four", " five"):
        assert pass_over_joined(waiting, chunk) == []
    scan.append('"')
    with pytest.raises(StopIteration) as done:
        next(reading)
    assert done.value.value == ("one two three four five", "one two three four five")
    assert (scan.position, scan.text) == (0, 'one two three four five"')


def test_nothing_is_passed_over_beyond_what_may_be_read_ahead() -> None:
    scan = Scan()
    scan.keep(0)
    reading = in_a_string_read_ahead_twice(scan, 10)
    waiting = woken(scan, reading, "four")
    assert pass_over_joined(waiting, "sixsix") is None
    assert pass_over_joined(waiting, "fives") == []
    with pytest.raises(LookaheadExceeded):
        woken(scan, reading, "x")
