"""Keys as tags: `<city>Paris</city>`, all in the tag of the call."""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.formats.nested_tags import NestedTags
from toolfmt.inspect.derivation.cutting import cut
from toolfmt.inspect.derivation.drafts import Draft
from toolfmt.inspect.derivation.refusals import Refused
from toolfmt.inspect.derivation.seen import KEYS, NAMES, VALUES, Rendered
from toolfmt.inspect.derivation.surroundings import Surroundings


def nested_tags(rendered: Rendered, around: Surroundings) -> Iterator[Draft]:
    """Raises `Refused` where keys do not stand in an opening and a closing tag."""
    if rendered.two_arguments is None:
        raise Refused("two arguments are not written")
    pieces = cut(rendered.two_arguments.text, (NAMES[0], *KEYS[:2], *VALUES[:2]))
    if pieces[1::2] != [NAMES[0], KEYS[0], VALUES[0], KEYS[0], KEYS[1], VALUES[1], KEYS[1]]:
        raise Refused("keys do not stand in two tags around their values")
    before, _, opened, closing, *_, after = pieces[0::2]
    if opened != ">" or not closing.endswith("</"):
        raise Refused("keys do not stand in two tags around their values")
    sign = closing[:-2]
    invoke = f'{sign}<invoke name="'
    if not before.endswith(invoke):
        raise Refused("the call around tags that are its keys is written in no way that is read", near=2)
    if not sign.strip():
        raise Refused("no sign stands before tags that are keys: a value may hold the same tags", near=2)
    opener = around.lead(before, None)[: -len(invoke)].strip()
    closer = after.split(f"{sign}</invoke>", 1)[-1].strip().split("\n")[0]
    yield Draft("nested tags", NestedTags(sign=sign, opener=opener, closer=closer))
