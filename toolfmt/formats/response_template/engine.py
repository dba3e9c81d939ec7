"""Create the engine for a declared template, with the template's markers. Unsupported templates raise an error.

Whether the engine parses what the template parses is not known here. `reader.py` checks it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.engines.tag_attributes import PLAIN, QUOTED
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.response_template.declaration import (
    CONTENT,
    PLACEHOLDER,
    Declaration,
    function_of,
    pieces_of,
    string_delimiters,
    unsupported,
)
from toolfmt.formats.response_template.regex import Pattern
from toolfmt.formats.values.syntaxes import BetweenMarks
from toolfmt.formats.values.value_writers import MarkedValues


def engine_of(declared: Declaration) -> Engine:
    """Return the engine that a template describes.

    Raises `NoResponseTemplate` if there is none, and `ValueError` if the engine does not accept the markers.
    """
    before, after = _markers(declared.start, "tool_calls open with")
    ends = _markers(declared.end or (), "tool_calls close with")[0]
    if not before:
        raise unsupported("a call starts with just its name")
    if declared.content == "xml-inline":
        return _tagged(declared, before, after, ends)
    if declared.content != "json":
        raise unsupported(f"the content of its tool_calls is {declared.content!r:.80}, which is not supported")
    if len(before) > 1 or len(ends) > 1 or (after and len(after) > 1):
        raise unsupported("its calls are between several markers with whitespace between them")
    start, end = before[0], "".join(ends)
    marks = string_delimiters(declared.content_args)
    if marks and after is not None:
        lead = re.search(r"[\w:]*\Z", start)
        return CallExpression(
            opener=start.removesuffix(lead[0] if lead else ""),
            closer=end,
            lead=lead[0] if lead else "",
            brackets=("{", "}"),
            assign=":",
            separator=",",
            notation=BetweenMarks(marks[0][0]),
            written=MarkedValues(marks[0][0]),
        )
    if marks or declared.content_args.get("unquoted_keys") is True:
        raise unsupported("its JSON has a syntax of its own")
    if after is not None:
        return NamedJson(call_opener=start, separator="".join(after), call_closer=end)
    name, arguments = _keys(declared)
    if name[:-1] != arguments[:-1]:
        raise unsupported("name and arguments of a call are in different objects")
    if len(name) > 2:
        raise unsupported("name and arguments of a call are nested more than one object deep")
    enclosing = ("[", "]") if declared.transform_each else ()
    wrapper = name[0] if len(name) > 1 else ""
    return JsonObject(
        opener=start,
        closer=end,
        enclosing=enclosing,
        separator=", " if declared.transform_each else "\n",
        name_key=name[-1],
        arguments_key=arguments[-1],
        wrapper=wrapper,
    )


def _tagged(declared: Declaration, before: list[str], after: list[str] | None, ends: list[str]) -> Engine:
    """Return an engine for calls with tags. `before` and `after` are the literals around the name."""
    if after is None:
        raise unsupported("its calls have tags, but no name")
    key_start, between, value_end, has_whitespace = _tag(declared.tag_pattern or ())
    start = "".join(before[:-1])
    name_start, name_end = before[-1], "".join(after)
    tag = re.match(r"<([^<>\s/=]+)", name_start)
    if not name_end:
        start, name_start = name_start, ""
    elif len(ends) == 1 and start and tag:  # templates may omit a call's end tag inside of the frame
        ends = [f"</{tag[1]}>", *ends]
    attributes = {
        side: QUOTED if mark.endswith('"') else PLAIN for side, mark in (("name", name_start), ("key", key_start))
    }
    return Tagged(
        opener=start,
        closer="".join(ends[1:] if name_start else ends),
        name_opener=name_start,
        name_closer=name_end.removeprefix('"') if attributes["name"] is QUOTED else name_end,
        name_header=attributes["name"],
        call_closer=ends[0] if name_start and ends else "",
        key_opener=key_start,
        key_closer=between[0].removeprefix('"') if attributes["key"] is QUOTED else between[0],
        key_header=attributes["key"],
        value_opener="".join(between[1:]),
        value_closer=value_end,
        value_newline="\n" if has_whitespace else "",
    )


def _tag(pattern: Pattern) -> tuple[str, list[str], str, bool]:
    """Return the parts of a tag pattern.

    These are the text before a key, the texts between key and value, the text after the value, and whether whitespace
    is allowed around the value. The value's end marker is the text after it.
    """
    pieces = list(pieces_of(pattern, "tags contain"))
    key, value = (
        next((at for at, piece in enumerate(pieces) if piece == f"\0{name}"), -1) for name in ("key", "value")
    )
    start, between, end = pieces[: max(key, 0)], pieces[key + 1 : max(value, 0)], pieces[value + 1 :]
    has_whitespace = "" in (between[-1:] + end[:1])
    texts = [[text for text in part if text] for part in (start, between, end)]
    if not 0 < key < value or len(texts[0]) != 1 or not texts[1] or len(texts[1]) > 2 or len(texts[2]) != 1:
        raise unsupported("the tags of its calls are not a key and a value with markers around each")
    whole = texts[1]
    if len(whole) == 1 and "><" in whole[0]:
        whole = [whole[0].partition("><")[0] + ">", "<" + whole[0].partition("><")[2]]
    return texts[0][0], whole, texts[2][0], has_whitespace


def _markers(pattern: Pattern, what: str) -> tuple[list[str], list[str] | None]:
    """Return the literals of a pattern before the tool's name and after it, without whitespace between them.

    The second list is None if the pattern contains no name.
    """
    pieces = [piece for piece in pieces_of(pattern, what, "close" in what) if piece]
    names = [at for at, piece in enumerate(pieces) if piece.startswith("\0")]
    if not names:
        return pieces, None
    if "close" in what:
        raise unsupported("the end marker of its tool_calls has a named group, as transformers 5.24 allows")
    if len(names) > 1 or pieces[names[0]] != "\0name":
        raise unsupported("the start marker of its tool_calls captures something other than a name")
    return pieces[: names[0]], pieces[names[0] + 1 :]


def _keys(declared: Declaration) -> tuple[list[str], list[str]]:
    """Return the keys that lead to name and arguments in the JSON of a call."""
    transform = declared.transform
    whole = transform.get("function") if isinstance(transform, Mapping) else None
    if transform is None or isinstance(whole, str):
        path = [] if whole is None else _path(declared, whole)
        if path is not None:
            return [*path, "name"], [*path, "arguments"]
    name, arguments = (_path(declared, function_of(transform).get(key)) for key in ("name", "arguments"))
    if not name or not arguments:
        raise unsupported("its transform does not specify where the JSON has the name and arguments of a call")
    return name, arguments


def _path(declared: Declaration, placeholder: Any) -> list[str] | None:
    """Return the keys in a call's JSON that the placeholder of a transform names. None if it names something else."""
    found = PLACEHOLDER.fullmatch(placeholder) if isinstance(placeholder, str) else None
    if found is None:
        return None
    root, *keys = found[1].split(".")
    return [root, *keys] if declared.transform_each else keys if root == CONTENT else None
