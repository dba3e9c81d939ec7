"""Copies of a reading in progress.

A generator cannot be copied, so a copy reads again what is open: the call, or the last text that is not yet decided.
What has been said, and everything else that the answer is in the midst of, it takes over.
"""

from __future__ import annotations

from dataclasses import replace

from toolfmt.formats.parser.driver import Answer
from toolfmt.formats.scanner.scanner import Scan
from toolfmt.messages.events import Event


def copy_of(answer: Answer) -> Answer:
    """Another answer that has read the same: what one is fed, the other does not see. Costs at most what the open call
    is long."""
    answer.catch_up()
    calls, scan = answer.calls, answer.scan
    head, start, text = _open_text(answer)
    twin = object.__new__(Answer)
    twin.__dict__.update(answer.__dict__)
    twin.scan = Scan(offset=start - len(head or ""))
    twin.calls = calls.copy(twin.scan)
    twin.events = twin.calls.events
    twin.drafts = answer.drafts.copy(twin.scan, twin.calls)
    said: list[Event] = []
    if scan.closed:  # nothing is read any more
        twin.reading, twin.waiting = iter(()), None
    else:
        in_call = answer.state == "call"
        said = _read_again(twin, in_call and calls.committed_before, head, text)
        said = said if in_call and head is None and not calls.has_emitted else []
    if said:  # what is read in one go is decided sooner, and the original has told nothing of it
        twin.events[:] = [*map(replace, answer.events), *said]
    else:
        twin.scan.adopt(scan)
        twin.calls.adopt(calls)
        twin.drafts = answer.drafts.copy(twin.scan, twin.calls)
    if twin.calls.counts_length:
        twin.waiting = None
    twin.continued, twin.fed = list(answer.continued), True
    twin.tell_first()
    return twin


def _open_text(answer: Answer) -> tuple[str | None, int, str]:
    """What opened the frame of the open call, if that is not its first; where what is open begins; and its text."""
    calls, scan = answer.calls, answer.scan
    head = calls.head if answer.state == "call" else None
    if scan.mark is None:
        return head, scan.offset, scan.text
    start = scan.mark if head is None else calls.readable_from
    text = scan.kept_between(start, scan.position) + scan.text[scan.at :]
    if head and text.lstrip().startswith(head):
        head = None  # each call has its own
    return head, start, text


def _read_again(twin: Answer, committed: bool, head: str | None, text: str) -> list[Event]:
    """The reading of what is open, from its beginning, and what that says: most often it has been said."""
    twin.continued, twin.text, twin.parts, twin.fed = [], None, [], False
    if twin.state == "call":
        twin.state = "answer"
    twin.reading = twin.read()
    twin.waiting = next(twin.reading)
    twin.calls.committed = committed
    twin.within = None if head is None else twin.scan.position + len(head)
    twin.scan.append((head or "") + text)
    return twin.go_on()
