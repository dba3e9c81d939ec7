"""The tag of a key in a tagged call, and what models get wrong in it: a marker that is doubled or missing.

The tagged engine reads each key here, up to where its value starts. A damaged tag is repaired only if its key is
declared and the value after it is certain; otherwise the error of the undamaged reading stands. No repair changes a key
or a value.
"""

from __future__ import annotations

import re

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.frame import MIN_CONTROL_TOKEN, follows
from toolfmt.formats.engines.raw_value import Tags
from toolfmt.formats.engines.tag_attributes import NOT_STRING
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import Malformed, Reading, Scan
from toolfmt.formats.values.schema_types import STRING, Types
from toolfmt.messages.rejections import named, shown

_KEY = re.compile(r"[\w.$-]*")
_MOST_HELD = 400
"""Maximum number of characters up to the end marker of a value after a missing marker."""


def read_key(
    scan: Scan, calls: CallBuilder, tags: Tags, type_tag: tuple[str, ...], name: str, none: str
) -> Reading[tuple[str, Types, str]]:
    """Read a key up to where its value starts. Return it, the types in its tag, and what is wrong with the tag.

    A plain key of an undeclared tool must not contain a space (`none`): that is prose.
    """
    begin = scan.position
    try:
        return (yield from _well_formed_key(scan, tags, type_tag, none))
    except Malformed:
        error = scan.position
        scan.rewind(begin)
        try:
            key = yield from _repaired_key(scan, calls, tags, name)
        except Malformed:
            key = ""
        if not key:
            scan.rewind(error)
            raise
    return key, None, ""


def _well_formed_key(scan: Scan, tags: Tags, type_tag: tuple[str, ...], none: str) -> Reading[tuple[str, Types, str]]:
    none = "" if tags.header.quote else none
    wanted = literals(*filter(None, (tags.key_closer, *tags.ends, none)))
    header, closed = yield from scan.within(wanted, closer=tags.key_closer)
    if closed != tags.key_closer or "<" in header:
        key = header.partition("<")[0]
        scan.rewind(scan.position - len(closed) - len(header) + len(key))
        raise Malformed(expected=f"{shown(tags.key_closer)} after the key {named(key)}")
    key, stated = tags.header.read(header.strip())
    if type_tag and (yield from follows(scan, type_tag[0])):
        word, _ = yield from scan.within(literals(type_tag[1]))
        stated = {"string": STRING, "any": None}.get(word.strip(), NOT_STRING)
    if tags.value_opener:
        yield from scan.skip_spaces()
        yield from scan.expect(tags.value_opener)
    return key, stated, tags.header.tolerance(header.strip())


def _repaired_key(scan: Scan, calls: CallBuilder, tags: Tags, name: str) -> Reading[str]:
    """Read a key with doubled or missing markers between whole tags. Return "" if it is not certain to be one."""
    if not whole_tags(tags):
        return ""
    doubled = False
    while (yield from follows(scan, tags.key_opener)):
        doubled = True
    yield from scan.skip_spaces()
    key = yield from scan.word(_KEY)
    if calls.declares(key, name) is not True:
        return ""
    closers = 0
    while closers < 2 and (yield from follows(scan, tags.key_closer)):
        closers += 1
        if not tags.value_opener:  # a second one may belong to the value
            break
    opened = yield from _value_starts(scan, tags)
    if not closers and not (tags.value_opener and opened):
        return ""
    if not (opened and closers) and not (yield from _value_ends(scan, tags)):
        return ""
    for found, tolerance in (
        (doubled, "repeated_opener"),
        (closers == 0, "missing_closer"),
        (closers > 1, "repeated_closer"),
        (not opened, "missing_opener"),
    ):
        if found:
            calls.record_tolerance(tolerance)
    return key


def _value_starts(scan: Scan, tags: Tags) -> Reading[bool]:
    """Consume the start marker of a value, and return whether it was there or the format has none."""
    if tags.value_opener:
        yield from scan.skip_spaces()
        try:
            yield from scan.expect(tags.value_opener)
        except Malformed:
            return False
    return True


def _value_ends(scan: Scan, tags: Tags) -> Reading[bool]:
    """Whether a value certainly starts here: text up to its end marker, with no other marker in it, and then the next
    argument or the end of the call. Nothing is read."""
    here = scan.position
    marks = (tags.value_opener, tags.key_opener, tags.key_closer, tags.name_opener, *tags.ends, *tags.openers)
    wanted = literals(tags.value_closer, *filter(None, marks))
    found = yield from scan.find_near(wanted, _MOST_HELD)
    empty = scan.position - len(found) == here
    ends = found == tags.value_closer and not empty and bool((yield from follows(scan, *tags.following)))
    scan.rewind(here)
    return ends


def whole_tags(tags: Tags) -> bool:
    """Whether a key is alone between two markers, which ordinary text and values do not contain."""
    return not tags.header.quote and min(len(tags.key_opener), len(tags.key_closer)) >= MIN_CONTROL_TOKEN


def lost_key_opener(scan: Scan, calls: CallBuilder, tags: Tags, name: str) -> Reading[str]:
    """Look for a key without its start marker after the name of a tool. Models write the two in a row, with or without
    whitespace between them, or repeat the start marker of the frame there.

    Return the name of the tool; then the position is that of the key. Return "" and read nothing if there is no key.
    Raise `Malformed` if it is not certain where the name ends, or which tool and key the model meant.
    """
    if not whole_tags(tags):
        return ""
    here = scan.position
    doubled = yield from follows(scan, *tags.openers)
    yield from scan.skip_spaces()
    begin = scan.position
    key = yield from scan.word(_KEY)
    found = yield from follows(scan, tags.key_closer)
    if not found or not ((yield from _value_starts(scan, tags)) or (yield from _value_ends(scan, tags))):
        scan.rewind(here)
        return ""
    if not key and not doubled and calls.is_known(name) is False:
        ends = [at for at in range(1, len(name)) if calls.is_declared(name[:at])]
        ends = [at for at in ends if calls.declares(name[at:], name[:at])]
        if len(ends) == 1:
            begin, name, key = calls.name_at + ends[0], name[: ends[0]], name[ends[0] :]
    if calls.is_known(name) is False:
        calls.start(name)
    if not calls.declares(key, name):
        calls.commit()
        raise Malformed(expected=shown(tags.key_opener), at=begin)
    scan.rewind(begin)
    if doubled:
        calls.record_tolerance("repeated_opener")
    calls.record_tolerance("missing_opener")
    return name
