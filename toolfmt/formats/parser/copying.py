"""Copies of a parser.

A generator cannot be copied. So a copy parses again what is undecided: the open call, or the last text that is held. It
takes over the events and all other state.
"""

from __future__ import annotations

from dataclasses import replace

from toolfmt.formats.parser.driver import Driver
from toolfmt.formats.scanner.scanner import Scan
from toolfmt.messages.events import Event


def copy_of(driver: Driver) -> Driver:
    """Return an independent driver in the same state. Costs at most as much as the open call is long."""
    driver.catch_up()
    calls, scan = driver.calls, driver.scan
    head, start, text = _open_text(driver)
    twin = object.__new__(Driver)
    twin.__dict__.update(driver.__dict__)
    twin.scan = Scan(offset=start - len(head or ""))
    twin.calls = calls.copy(twin.scan)
    twin.events = twin.calls.events
    twin.opened_blocks = driver.opened_blocks and driver.opened_blocks.copy(twin.scan, twin.calls)
    twin.drafts = driver.drafts.copy(twin.scan, twin.calls)
    twin.check = None
    again: list[Event] = []
    if scan.closed:  # nothing is parsed any more
        twin.reading, twin.waiting = iter(()), None
    else:
        in_call = driver.state == "call"
        again = _read_again(twin, in_call and calls.committed_before, head, text)
        again = again if in_call and head is None and not calls.has_emitted else []
    if again:  # in one piece, text may be decided earlier than in chunks: the original has not emitted these
        twin.events[:] = [*map(replace, driver.events), *again]
    else:
        twin.scan.adopt(scan)
        twin.calls.adopt(calls)
        twin.drafts = driver.drafts.copy(twin.scan, twin.calls)
        if twin.opened_blocks is not None:
            twin.opened_blocks.take_state(driver.blocks)
    if twin.calls.counts_length:
        twin.waiting = None
    elif twin.waiting is not None and twin.waiting.calls is twin.calls:
        twin.waiting = twin.calls.pending_span(twin.waiting.span)  # what is emitted depends on the state
    twin.continued, twin.fed = list(driver.continued), True
    twin.check = driver.check and driver.check.copy()
    twin.emit_first()
    return twin


def _open_text(driver: Driver) -> tuple[str | None, int, str]:
    """Return the head of the frame (None if its first call is open), the offset of the undecided text, and it."""
    calls, scan = driver.calls, driver.scan
    head = calls.head if driver.state == "call" else None
    if scan.mark is None:
        return head, scan.offset, scan.text
    start = scan.mark if head is None else calls.readable_from
    text = scan.kept_between(start, scan.position) + scan.text[scan.at :]
    return head, start, text


def _read_again(twin: Driver, committed: bool, head: str | None, text: str) -> list[Event]:
    """Parse the undecided text again, and return its events, most of which have been emitted."""
    twin.continued, twin.text, twin.parts, twin.fed, twin.waiting = [], None, [], False, None
    if twin.state in ("call", "example"):
        start = (head and twin.calls.opener) or twin.call_start
        known = start in twin.sought.calls and ((head or "") + text).lstrip().startswith(start)
        known = known and (head is not None or twin.call_in_content)
        twin.state, twin.again = ("content", start) if known else ("between", "")
    twin.reading = twin.read()
    twin.calls.committed = committed
    twin.within = None if head is None else twin.scan.position + len(head)
    twin.scan.append((head or "") + text)
    return twin.go_on()
