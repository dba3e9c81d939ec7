"""The tags of keys in a tagged call, and what models get wrong in them: a marker that is doubled or missing, or an
element for the name.

The tagged engine reads each key here, up to where its value starts. A damaged tag is repaired only if its key is
declared and the value after it is certain. Otherwise the tag is malformed as it is written. No repair changes a key
or a value.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.frame import MIN_CONTROL_TOKEN, follows, read_name
from toolfmt.formats.engines.raw_value import RawValue
from toolfmt.formats.engines.tag_attributes import NOT_STRING, PLAIN
from toolfmt.formats.engines.tags import PART, Given, Tags
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import LONGEST_WORD, Incomplete, Malformed, Reading, Scan
from toolfmt.formats.values.schema_types import STRING, Types
from toolfmt.messages.rejections import named, shown

_KEY = re.compile(r"[\w.$-]*")
_QUOTES = ("'", '"')
_MOST_HELD = 400
"""Maximum number of characters up to the end marker of a value after a missing marker."""


def read_key(
    scan: Scan,
    calls: CallBuilder,
    tags: Tags,
    type_tag: tuple[str, ...],
    name: str,
    given: Given,
    *,
    begin: int,
    none: str,
) -> Reading[tuple[str, Types, str, str]]:
    """Read a key, which starts at `begin`, up to where its value starts.

    Return it, the types in its tag, what is wrong with the tag, and the text of the tag. A plain key of an undeclared
    tool must not contain a space (`none`): that is prose.
    """
    form, quote = tags.header, tags.header.quote
    try:
        wanted = tags.ends_of_key.adding(none) if none and not quote else tags.ends_of_key
        header, closed = yield from scan.within(wanted, closer=tags.key_closer)
        if closed != tags.key_closer or "<" in header:
            key = header.partition("<")[0]
            scan.rewind(scan.position - len(closed) - len(header) + len(key))
            raise Malformed(expected=f"{shown(tags.key_closer)} after the key {named(key)}")
        text = header.strip()
        if (text.count(quote) % 2 == 0 if quote else text[:1] in _QUOTES) and _is_open(text, tags):
            text = (yield from _whole_header(scan, calls, tags, name, header)).strip()
        key, stated = form.read(text)
        if type_tag and (yield from follows(scan, type_tag[0])):
            word, _ = yield from scan.within(literals(type_tag[1]))
            stated = {"string": STRING, "any": None}.get(word.strip(), NOT_STRING)
        if tags.value_opener:
            yield from scan.skip_spaces()
            yield from scan.expect(tags.value_opener)
        return key, stated, form.tolerance(text), text
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
        given.damaged = True
    return key, None, "", key


def check_end_of_tag(scan: Scan, calls: CallBuilder, tags: Tags, key: str, text: str) -> Reading[None]:
    """Raise `Malformed` if the end of the tag of a key is misplaced: the rest of the key, or the attribute that is not
    in the text of the tag, follows."""
    attribute = tags.attribute
    misplaced = (
        bool(attribute)
        and attribute not in text
        and bool((yield from scan.literal(literals(attribute, attribute.lstrip()))))
    )
    if not tags.header.quote and calls.declares(key) is False:
        here = scan.position
        rest = yield from scan.take_while(_KEY, LONGEST_WORD)
        misplaced = calls.declares(key + rest) is True and bool((yield from scan.literal(literals(tags.key_closer))))
        scan.rewind(here)
    if misplaced:
        raise Malformed(expected=f"{shown(tags.key_closer)} at the end of the tag")


def _is_open(header: str, tags: Tags) -> bool:
    """Whether a quote in a tag is not closed where the tag seems to end."""
    quote = tags.header.quote
    if quote:
        return header.count(quote) % 2 == 0
    return header[:1] in _QUOTES and (len(header) == 1 or header[-1] != header[0])


def _whole_header(scan: Scan, calls: CallBuilder, tags: Tags, name: str, header: str) -> Reading[str]:
    """Read on to the end of a tag in which a quoted key or attribute contains the marker that ends tags.

    Return the whole text of the tag; `header`, and read nothing, if it has only lost a quote. Raise `Malformed` if
    neither or both readings have a declared key, or if the quote follows the tag.
    """
    here, whole = scan.position, header
    if not tags.header.quote and calls.declares(header.strip(), name):
        return header
    try:
        while _is_open(whole.strip(), tags) and len(whole) <= LONGEST_WORD:
            rest, closed = yield from scan.within(literals(tags.key_closer), closer=tags.key_closer)
            whole += closed + rest
    except (Malformed, Incomplete):
        whole = ""
    short, long = (_plain(tags.header.read(text.strip())[0]) for text in (header, whole))
    found = "<" not in whole and not _is_open(whole.strip(), tags) and calls.declares(long, name) is True
    if found and (long == short or not calls.declares(short, name)):
        calls.record_tolerance("damaged_attribute")
        return whole
    scan.rewind(here)
    if found or not tags.header.quote or (yield from scan.peek()) == tags.header.quote:
        raise Malformed(expected=f"{shown(tags.header.quote or header.strip()[0])} after the key {named(short)}")
    return header


def _plain(key: str) -> str:
    """Return a key without the quotes around it."""
    return key[1:-1] if key[:1] in _QUOTES and len(key) > 1 and key[-1] == key[0] else key


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
    if not (opened and closers) and not (yield from _value_ends(scan, tags, opened=opened)):
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


def _value_ends(scan: Scan, tags: Tags, *, opened: bool) -> Reading[bool]:
    """Whether a value certainly starts here: text up to its end marker, with no other marker in it, and then the next
    argument or the end of the call. Unless its start marker was read (`opened`), it must not begin with what may be a
    part of it. Nothing is read."""
    here = scan.position
    marks = (tags.value_opener, tags.key_opener, tags.key_closer, tags.name_opener, *tags.ends, *tags.openers)
    wanted = literals(tags.value_closer, *filter(None, marks))
    found = yield from scan.find_near(wanted, _MOST_HELD)
    value = scan.read_between(here, scan.position - len(found))
    ends = found == tags.value_closer and bool(value) and bool((yield from follows(scan, *tags.following)))
    scan.rewind(here)
    return ends and (opened or not _begins_damaged(value, tags.value_opener))


def _begins_damaged(value: str, marker: str) -> bool:
    """Whether a value begins with what may be a damaged marker: its first or last character, or a part of it."""
    begin = value.lstrip()[: len(marker) + 1]
    parts = (marker[-2:], *(marker[at : at + PART] for at in range(len(marker) - PART + 1)))
    return begin[:1] in (marker[:1], marker[-1:]) or any(part in begin for part in parts if part)


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
    if not found or not ((yield from _value_starts(scan, tags)) or (yield from _value_ends(scan, tags, opened=False))):
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


# --- names in elements of their own: <function><name>NAME</name><parameter><name>KEY</name><value>VALUE</value>…

_NAME, _END_OF_NAME, _VALUE, _END_OF_VALUE = "<name>", "</name>", "<value>", "</value>"


@lru_cache(maxsize=64)
def _element_tags(tags: Tags) -> Tags:
    """Return the tags of an argument whose key and value are elements."""
    return replace(
        tags,
        key_opener=_NAME,
        key_closer=_END_OF_NAME,
        value_opener=_VALUE,
        value_closer=_END_OF_VALUE,
        name_opener="",
        name_closer="",
        call_closer=tags.value_closer.strip(),
        other_value_closers=(),
        other_call_closers=(),
        closers=tags.ends,
        skipped=(),
        header=PLAIN,
        _stops={},
    )


def element_opener(tags: Tags) -> str:
    """Return the start tag of an argument whose key is an element; empty if it is a marker of the format."""
    return "" if tags.value_opener else tags.plain_opener


def element_starts(scan: Scan, tags: Tags) -> Reading[str]:
    """Consume the start tag of an argument whose key is an element, and return it. Return "" if there is none."""
    opener, here = element_opener(tags), scan.position
    found = (yield from follows(scan, opener)) if opener else ""
    after = scan.position
    found = found and (yield from follows(scan, _NAME)) and found
    scan.rewind(after if found else here)
    return found


def read_element_name(scan: Scan, calls: CallBuilder, tags: Tags) -> Reading[str]:
    """Read the name of a tool that is the text of an element in place of its tag. Return "" if there is none.

    The element ends after the name, or contains the whole call.
    """
    opener = tags.name_opener.partition("=")[0].partition(" ")[0] + ">"
    if not calls.declared or not tags.name_closer or not tags.call_closer or opener == tags.name_opener:
        return ""
    if not (yield from follows(scan, opener)):
        return ""
    closer = _END_OF_NAME if (yield from follows(scan, _NAME)) else tags.call_closer
    yield from scan.skip_spaces()
    calls.name_at = scan.position
    name = yield from read_name(scan)
    return name if name and (yield from follows(scan, closer)) else ""


def read_element(scan: Scan, calls: CallBuilder, tags: Tags, own_line: bool) -> Reading[tuple[str, RawValue]]:
    """Read the key of an argument, which is an element, after the argument's start tag, up to where its value starts.

    Return the key and the reader of the value. `own_line` is whether a line break belongs to the tags of a value.
    """
    elements = _element_tags(tags)
    yield from scan.skip_spaces()
    yield from scan.expect(_NAME)
    yield from scan.skip_spaces()
    begin = scan.position
    key = yield from scan.word(_KEY)
    if calls.declares(key) is not True:
        raise Malformed(expected="a declared parameter", at=begin)
    yield from scan.skip_spaces()
    yield from scan.expect(_END_OF_NAME)
    yield from scan.skip_spaces()
    yield from scan.expect(_VALUE)
    line = (yield from scan.literal(literals("\n", "\r\n"))) if own_line else ""
    closers = tuple(dict.fromkeys((line + _END_OF_VALUE, _END_OF_VALUE)))
    value = RawValue(scan, calls, elements, closers, Given())
    value.own_line = bool(line)
    return key, value
