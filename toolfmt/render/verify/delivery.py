"""Check on a finished prompt that it contains every text, call, argument and result of the request once, in order.

`toolfmt.render.attempts` calls it. The prompt of the sentinel request (`toolfmt.render.verify.sentinel_request`) shows
what the template does with the request. Aligning both prompts then verifies that they differ only in the texts. The
position of the leading system message is free, and so is the order of text, reasoning and calls within a turn. Missing
reasoning is reported but is not an error, because templates leave out earlier reasoning as their models were trained.
For an argument that is null or empty, only the key is checked. A template may keep or trim whitespace at the ends of a
string, as in transformers. Nothing here raises.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolfmt.formats.prompting.tool_descriptions import result_heading
from toolfmt.render.request.messages import Message, calls_of, first_turn, function_of
from toolfmt.render.verify.between_texts import around, count_word, differs, entries_of, lost_in, repeated_texts, truths
from toolfmt.render.verify.sentinel_request import (
    CutText,
    RequestSpan,
    SentinelRequest,
    aligned,
    in_order,
    spellings,
    words_in,
)
from toolfmt.render.verify.tool_coverage import changed_tools, unnamed_tools

_JUDGED = ("text", "argument", "call")
_SWITCH = re.compile(r"(?<![\w<])/\w+")
_LONGEST_SPELLING = 6


@dataclass(frozen=True)
class Span:
    """Where a string of the request is in the prompt: from `begin` to `end` (exclusive).

    `message` is the index of its message and `role` that message's role; -1 and "" for a tool definition.
    """

    begin: int
    end: int
    message: int
    role: str = ""


@dataclass(frozen=True)
class Delivery:
    """What a prompt contains of its request. `missing`, `misplaced` and `repeated` are descriptions, the message first.

    `spans` are the positions of the texts that were found.
    """

    missing: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    reasoning_left_out: bool = False
    system_moved: bool = False
    tools_shown: frozenset[str] = frozenset()
    """The tools whose descriptions are in the prompt."""
    switch_taken_out: bool = False
    """Whether the template removed a switch such as `/no_think` from a string."""
    tools_repeated: bool = False
    """Whether a description is there twice."""
    tools_changed: tuple[str, ...] = ()
    """Tools that the template leaves out or writes differently in this prompt, depending on a string."""
    written_differently: bool = False
    """Whether the template writes other words around these texts than around others."""
    spans: tuple[Span, ...] = ()

    @property
    def whole(self) -> bool:
        return not (self.missing or self.misplaced)

    @property
    def lost(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.missing, *self.misplaced)))


def delivered(
    request: Sequence[Message], twin: SentinelRequest, given: Sequence[Message], twin_prompt: str
) -> Delivery:
    """Return what the sentinel prompt contains of the request. `given` are the messages passed to the template."""
    words = words_in(twin_prompt, twin)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    count: dict[int, int] = {}
    for begin, end, number in words:
        first.setdefault(number, begin)
        last[number] = end
        count[number] = count.get(number, 0) + 1
    word_order = _words_of(given, twin)
    expected = Counter(word_order)
    checked = [(number, piece) for number, piece in enumerate(twin.pieces) if piece.kind in _JUDGED]
    missing = [
        _label(request, piece)
        for number, piece in checked
        if count.get(number, 0) < (expected[number] if piece.kind == "call" else 1)
    ]
    repeated = [
        _label(request, piece) for number, piece in checked if piece.kind != "call" and count.get(number, 0) > 1
    ]
    left_out = any(piece.kind == "reasoning" and n not in first for n, piece in enumerate(twin.pieces))
    order = _Order(request, twin, first, last)
    missing += order.calls_missing(twin_prompt)
    described = {number: piece.name for number, piece in enumerate(twin.pieces) if piece.kind == "definition"}
    return Delivery(
        missing=_once(missing),
        misplaced=_once(order.misplaced(word_order)),
        repeated=_once(repeated),
        reasoning_left_out=left_out,
        system_moved=order.system_moved,
        tools_shown=frozenset(name for number, name in described.items() if number in first),
        tools_repeated=any(count.get(number, 0) > 1 for number in described),
        tools_changed=unnamed_tools(twin, twin_prompt),
    )


def proved(
    request: Sequence[Message], twin: SentinelRequest, twin_prompt: str | None, given: Sequence[Message], prompt: str
) -> Delivery:
    """Return what the prompt itself contains. The sentinel prompt, if it rendered, is already known to be complete."""
    spans = None if twin_prompt is None else aligned(prompt, twin_prompt, twin)
    if spans is not None:
        changed, switched = _changed_inside(prompt, twin, spans)
        taken_out, switches = _taken_out(prompt, twin, spans)
        labels = _once(
            [*(_label(request, piece) for piece in taken_out)]
            + [label for text in changed for label in _changed_marks(request, prompt, twin, text, spans)]
        )
        shown = _spans(request, ((begin, end, twin.pieces[number]) for begin, end, number in spans))
        return Delivery(missing=labels, switch_taken_out=switched or switches, spans=shown)
    if twin_prompt is not None:
        return _compared_with_twin(request, twin, twin_prompt, prompt)
    pieces = [twin.pieces[number] for number in dict.fromkeys(_words_of(given, twin))]
    found, missing = in_order(prompt, [piece for piece in pieces if piece.kind in _JUDGED])
    labels = _once(_label(request, piece) for piece in missing)
    return Delivery(missing=labels, spans=_spans(request, found))


def _compared_with_twin(request: Sequence[Message], twin: SentinelRequest, twin_prompt: str, prompt: str) -> Delivery:
    """Return what a prompt contains that does not align with its sentinel prompt: the template depends on the texts."""
    shown = around(prompt, twin_prompt, twin, _JUDGED)
    labels = [_label(request, piece) for piece in shown.missing]
    other = [gap for gap in shown.gaps if differs(gap)]
    labels += [lost for gap in other for lost in lost_in(gap, request)]
    again = [piece for gap in other for piece in repeated_texts(gap)]
    return Delivery(
        missing=_once(labels),
        repeated=_once(_label(request, piece) for piece in again),
        spans=_spans(request, shown.places),
        tools_changed=changed_tools(twin, twin_prompt, prompt, shown.missing),
        written_differently=not labels and not all(gap.next_to_reasoning for gap in other),
    )


def _changed_inside(
    prompt: str, twin: SentinelRequest, spans: Sequence[tuple[int, int, int]]
) -> tuple[list[CutText], bool]:
    """Return the texts whose tested strings the template changes, and whether it removes switches (`/no_think`)
    only.
    """
    begins = {number: begin for begin, _, number in spans}
    ends = {number: end for _, end, number in spans}
    changed, switched = [], False
    for text in twin.cut_texts:
        if text.first not in begins or text.last not in ends:
            continue
        # An escaped text may be several times as long.
        begin = max(0, begins[text.first] - _LONGEST_SPELLING * len(text.before))
        shown = prompt[begin : ends[text.last] + _LONGEST_SPELLING * len(text.after)]
        if any(written in shown for written in spellings(text.whole)):
            continue
        if "".join(_SWITCH.sub("", text.whole).split()) in "".join(_SWITCH.sub("", shown).split()):
            switched = True
        else:
            changed.append(text)
    return changed, switched


def _changed_marks(
    request: Sequence[Message], prompt: str, twin: SentinelRequest, text: CutText, spans: Sequence[tuple[int, int, int]]
) -> list[str]:
    """Return the tested strings of the text that are missing next to its words, or the text if none is missing."""
    label = _label(request, twin.pieces[text.first])
    begins = {number: begin for begin, _, number in spans}
    ends = {number: end for _, end, number in spans}
    start = max(0, begins[text.first] - _LONGEST_SPELLING * len(text.before))
    end = ends[text.last] + _LONGEST_SPELLING * len(text.after)
    removed = []
    for mark, number in text.marks:
        gap_start = ends.get(number - 1, start) if number > text.first else start
        gap_end = begins.get(number, end) if number <= text.last else end
        if not any(written in prompt[gap_start:gap_end] for written in spellings(mark)):
            removed.append(json.dumps(mark, ensure_ascii=False))
    return [label.replace("its text", f"{mark} in its text") for mark in removed] or [f"{label} (changed inside)"]


def _taken_out(
    prompt: str, twin: SentinelRequest, spans: Sequence[tuple[int, int, int]]
) -> tuple[list[RequestSpan], bool]:
    """Return the texts that consist only of tested strings and are missing, and whether switches were removed.

    Texts that consist only of switches are not returned.
    """
    taken_out, switched = [], False
    for text in twin.mark_texts:
        of_messages = [(begin, end, number) for begin, end, number in spans if twin.pieces[number].message >= 0]
        begin = max((end for _, end, number in of_messages if number < text.next_word), default=0)
        end = min((begin for begin, _, number in of_messages if number >= text.next_word), default=len(prompt))
        window = prompt[begin:end] if begin <= end else prompt
        if any(written in window for written in spellings(text.text)):
            continue
        if _SWITCH.sub("", text.text).strip():
            taken_out.append(RequestSpan("text", text.message, text.text))
        else:
            switched = True
    return taken_out, switched


def _spans(request: Sequence[Message], found: Iterable[tuple[int, int, RequestSpan]]) -> tuple[Span, ...]:
    spans, named = [], set()
    for begin, end, piece in found:
        if piece in named:
            continue  # the header of a result may repeat the name of the call
        if piece.kind == "call":
            named.add(piece)
        role = request[piece.message]["role"] if piece.message >= 0 else ""
        spans.append(Span(begin, end, piece.message, role))
    return tuple(spans)


class _Order:
    """Where the words of the sentinel request are in its prompt, by message."""

    def __init__(
        self, request: Sequence[Message], twin: SentinelRequest, first: Mapping[int, int], last: Mapping[int, int]
    ) -> None:
        self._request, self._twin, self._first, self._last = request, twin, first, last
        self._pieces = twin.pieces
        leading = first_turn(request)
        self._of_message: dict[int, list[int]] = {}
        for number, piece in enumerate(twin.pieces):
            if piece.kind in _JUDGED and number in first:
                self._of_message.setdefault(piece.message, []).append(number)
        self._named_by_words = {(piece.message, piece.call) for piece in twin.pieces if piece.kind == "call"}
        self._blocks = list(_blocks(request, leading))
        self._leading = [[message] for message in range(leading)]
        numbers = [[n for message in block for n in self._of_message.get(message, ())] for block in self._blocks]
        ends = [max((last[n] for n in block), default=0) for block in numbers]
        begins = [min((first[n] for n in block), default=None) for block in numbers]
        self._ends_before = list(itertools.accumulate(ends, max, initial=0))
        """The maximum end of what is before each block; the block's own end is last."""
        self._begins_after: list[int | None] = [None]
        for begin in reversed(begins):
            before = self._begins_after[-1]
            self._begins_after.append(before if begin is None else begin if before is None else min(begin, before))
        self._begins_after.reverse()

    def misplaced(self, word_order: Sequence[int]) -> Iterator[str]:
        """Yield what is in the wrong order. `word_order` is the order in which the template got the words."""
        place = {number: at for at, number in enumerate(word_order)}
        yield from self._out_of_order(self._leading)
        yield from self._out_of_order(self._blocks)
        for block in self._blocks:
            yield from self._misplaced_in(block, place)

    @property
    def system_moved(self) -> bool:
        """Return whether the leading instructions appear after another part of the conversation."""
        ends = [self._last[number] for message in self._leading for number in self._of_message.get(message[0], ())]
        begin = self._begins_after[0]
        return begin is not None and max(ends, default=0) > begin

    def _out_of_order(self, blocks: Sequence[Sequence[int]]) -> Iterator[str]:
        reached = 0
        for block in blocks:
            numbers = [number for message in block for number in self._of_message.get(message, ())]
            if not numbers:
                continue
            if min(self._first[number] for number in numbers) < reached:
                early = min(numbers, key=lambda number: self._first[number])
                yield f"{_label(self._request, self._pieces[early])} (before what comes ahead of it)"
            reached = max(reached, *(self._last[number] for number in numbers))

    def _misplaced_in(self, block: Sequence[int], place: Mapping[int, int]) -> Iterator[str]:
        """Check the order in a turn and its results: texts before results, calls and results each in order."""
        turn = self._of_message.get(block[0], [])
        results = [number for message in block[1:] for number in self._of_message.get(message, ())]
        if not results:
            return
        begin = min(self._first[number] for number in results)
        for number in turn:
            if self._pieces[number].kind == "text" and self._last[number] > begin:
                yield f"{_label(self._request, self._pieces[number])} (after a result that answers it)"
        order = sorted((number for number in results if number in place), key=place.__getitem__)
        if sorted(order, key=lambda number: self._first[number]) != order:
            yield f"messages[{block[1]}] (tool): its text (in another order than the results)"
        answered = {
            str(self._request[message].get("tool_call_id")): self._of_message[message]
            for message in block[1:]
            if self._of_message.get(message)
        }
        for position, call in enumerate(calls_of(self._request[block[0]])):
            own = [self._last[number] for number in turn if self._pieces[number].call == position]
            answer = answered.get(str(call.get("id")))
            if own and answer and max(own) > min(self._first[number] for number in answer):
                yield f"messages[{block[0]}] (assistant): its call of {function_of(call)['name']} (after its result)"

    def calls_missing(self, prompt: str) -> Iterator[str]:
        """Yield calls whose name, or the name of an argument, is not in the text of their turn."""
        for at, block in enumerate(self._blocks):
            calls = calls_of(self._request[block[0]])
            if not calls:
                continue
            window = prompt[self._ends_before[at] : self._begins_after[at + 1]]
            named = (call for at, call in enumerate(calls) if (block[0], at) not in self._named_by_words)
            for name, times in Counter(str(function_of(call)["name"]) for call in named).items():
                # If results are user messages, the text before them does not count as a call.
                if count_word(name, window.replace(result_heading(name), "")) < times:
                    yield f"messages[{block[0]}] (assistant): its call of {name}"
            arguments = [entry for call in calls for entry in entries_of(call)]
            for key in dict.fromkeys(key for key, _ in arguments):
                if key and not count_word(key, window):
                    yield f"messages[{block[0]}] (assistant): the argument {key}"
            for key, value in arguments:
                if isinstance(value, bool) and not any(count_word(word, window) for word in truths(value)):
                    yield f"messages[{block[0]}] (assistant): the argument {key}"


def _blocks(request: Sequence[Message], leading: int) -> Iterator[list[int]]:
    """Yield the indexes of the messages after the leading ones: each alone, results together with their turn."""
    block: list[int] = []
    for position in range(leading, len(request)):
        message = request[position]
        if message["role"] == "tool" and block and calls_of(request[block[0]]):
            block.append(position)
            continue
        if block:
            yield block
        block = [position]
    if block:
        yield block


def _words_of(given: Sequence[Message], twin: SentinelRequest) -> list[int]:
    """Return the words of messages in the order of their occurrence."""
    contents = (
        part for message in given for part in (message.get("content"), *(_shown(call) for call in calls_of(message)))
    )
    return [number for part in contents for number in _numbers_in(str(part), twin)]


def _shown(call: Message) -> str:
    function = function_of(call)
    return f"{function.get('name')} {function.get('arguments')}"


def _numbers_in(text: str, twin: SentinelRequest) -> list[int]:
    return [number for _, _, number in words_in(text, twin)]


_WHAT = {
    "text": "its text",
    "reasoning": "its reasoning",
    "call": "its call of {}",
    "definition": "{}",
}


def _label(request: Sequence[Message], piece: RequestSpan) -> str:
    """Return a description of the text, its message first."""
    tool, _, key = piece.name.partition(": ")
    what = f"the argument {key} of {tool}" if key else f"an argument of {tool}"
    if piece.kind != "argument":
        what = _WHAT[piece.kind].format(piece.name)
    return f"messages[{piece.message}] ({request[piece.message]['role']}): {what}" if piece.message >= 0 else what


def _once(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(labels))
