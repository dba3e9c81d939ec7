"""Keys as tags: `<city>Paris</city>`, all inside the tag of the call."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.formats.engines.nested_tags import NestedTags
from toolfmt.inspect.format.derive.engine_drafts import EngineCandidate, made
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.rendered_calls import KEYS, NAMES, VALUES, Rendered
from toolfmt.inspect.format.derive.surroundings import Surroundings
from toolfmt.inspect.format.derive.text_cuts import cut
from toolfmt.inspect.format.derive.turn_ends import saying_nothing

_CLOSING = re.compile(r"\s*(</[^<>\s]{1,60}>)")
_NO_TAGS = "keys are not in two tags around their values"


def nested_tags(rendered: Rendered, around: Surroundings) -> Iterator[EngineCandidate]:
    """Yield drafts.

    Raise `NotDerivable` if keys are not in a start and an end tag, or if values could contain the same tags.
    """
    if rendered.two_arguments is None:
        raise NotDerivable("two arguments are not written")
    pieces = cut(rendered.two_arguments.text, (NAMES[0], *KEYS[:2], *VALUES[:2]))
    if pieces[1::2] != [NAMES[0], KEYS[0], VALUES[0], KEYS[0], KEYS[1], VALUES[1], KEYS[1]]:
        raise NotDerivable(_NO_TAGS)
    before, head, opened, closing, between, *_, after = pieces[0::2]
    prefix = closing[:-2]
    opens = prefix + "<"
    if opened == ">" and closing == "</" and head.endswith(opens):
        raise NotDerivable(
            "the tags of arguments contain only their names, so a value with a tag looks like the next argument",
            near=3,
        )
    if opened != ">" or not closing.endswith("</") or not prefix.strip():
        raise NotDerivable(
            "what closes a value repeats its key, and a derived format has one end marker for all values", near=3
        )
    if not head.endswith(opens) or not between.startswith(">"):
        raise NotDerivable("the tags of keys differ", near=2)
    call_begin = before.rfind(opens)
    end = _CLOSING.match(after.removeprefix(">").lstrip().removeprefix(prefix))
    if call_begin < 0 or end is None:
        raise NotDerivable("no tag surrounds tags that are keys", near=2)
    opener = around.lead(before, None)[: call_begin - len(before)].strip()
    after_call = after.removeprefix(">").lstrip().removeprefix(prefix)[end.end() :]
    closes = saying_nothing(after_call.lstrip())
    call_opener = before[call_begin + len(prefix) :]
    engine = made(
        NestedTags,
        sign=prefix,
        opener=opener,
        closer=_with_prefix(after_call, prefix) if opener else "",
        unframed_openers=() if opener else (prefix + call_opener,),
        call_opener=call_opener,
        name_closer=head[: -len(opens)].strip(),
        call_closer=end[1],
    )
    yield EngineCandidate("nested tags", engine, () if opener else closes)


def _with_prefix(after: str, prefix: str) -> str:
    """Return the end tag of the frame, with the prefix before it."""
    text = after.lstrip()
    closing = _CLOSING.match(text.removeprefix(prefix))
    return (prefix if text.startswith(prefix) else "") + closing[1] if closing else ""
