"""The engine that a declared template's shape is one of, with its markers; refused by name where it is none.

Whether the engine reads what the template reads is not known here: `reader.py` tries it.
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
    Declared,
    delimiters,
    function_of,
    pieces_of,
    refused,
)
from toolfmt.formats.response_template.regex import Pattern
from toolfmt.formats.values.value_reader import BetweenMarks
from toolfmt.formats.values.value_writers import MarkedValues


def engine_of(declared: Declared) -> Engine:
    before, behind = _markers(declared.opener, "tool_calls open with")
    closers = _markers(declared.closer or (), "tool_calls close with")[0]
    if not before:
        raise refused("a call starts with just its name")
    if declared.content == "xml-inline":
        return _tagged(declared, before, behind, closers)
    if declared.content != "json":
        raise refused(f"the content of its tool_calls is {declared.content!r:.80}, which is not supported")
    if len(before) > 1 or len(closers) > 1 or (behind and len(behind) > 1):
        raise refused("its calls are between several markers with whitespace between them")
    opener, closer = before[0], "".join(closers)
    marks = delimiters(declared.content_args)
    if marks and behind is not None:
        lead = re.search(r"[\w:]*\Z", opener)
        return CallExpression(
            opener=opener.removesuffix(lead[0] if lead else ""),
            closer=closer,
            lead=lead[0] if lead else "",
            brackets=("{", "}"),
            assign=":",
            separator=",",
            notation=BetweenMarks(marks[0][0]),
            written=MarkedValues(marks[0][0]),
        )
    if marks or declared.content_args.get("unquoted_keys") is True:
        raise refused("its JSON has a syntax of its own")
    if behind is not None:
        return NamedJson(call_opener=opener, separator="".join(behind), call_closer=closer)
    name, arguments = _keys(declared)
    if name[:-1] != arguments[:-1]:
        raise refused("name and arguments of a call are in different objects")
    if len(name) > 2:
        raise refused("name and arguments of a call are nested more than one object deep")
    enclosing = ("[", "]") if declared.each else ()
    wrapper = name[0] if len(name) > 1 else ""
    return JsonObject(
        opener=opener,
        closer=closer,
        enclosing=enclosing,
        separator=", " if declared.each else "\n",
        name_key=name[-1],
        arguments_key=arguments[-1],
        wrapper=wrapper,
    )


def _tagged(declared: Declared, before: list[str], behind: list[str] | None, closers: list[str]) -> Engine:
    if behind is None:
        raise refused("its calls have tags, but no name")
    key_opener, between, value_closer, line = _tag(declared.tag or ())
    opener = "".join(before[:-1])
    name_opener, name_closer = before[-1], "".join(behind)
    tag = re.match(r"<([^<>\s/=]+)", name_opener)
    if not name_closer:
        opener, name_opener = name_opener, ""
    elif len(closers) == 1 and opener and tag:  # tags that hold nothing to be read need not be closed in the template
        closers = [f"</{tag[1]}>", *closers]
    attributes = {
        side: QUOTED if mark.endswith('"') else PLAIN for side, mark in (("name", name_opener), ("key", key_opener))
    }
    return Tagged(
        opener=opener,
        closer="".join(closers[1:] if name_opener else closers),
        name_opener=name_opener,
        name_closer=name_closer.removeprefix('"') if attributes["name"] is QUOTED else name_closer,
        name_header=attributes["name"],
        call_closer=closers[0] if name_opener and closers else "",
        key_opener=key_opener,
        key_closer=between[0].removeprefix('"') if attributes["key"] is QUOTED else between[0],
        key_header=attributes["key"],
        value_opener="".join(between[1:]),
        value_closer=value_closer,
        value_newline="\n" if line else "",
    )


def _tag(pattern: Pattern) -> tuple[str, list[str], str, bool]:
    """What opens a key, what stands between it and the value, what closes that, and whether blanks are around it."""
    pieces = list(pieces_of(pattern, "tags contain"))
    key, value = (
        next((at for at, piece in enumerate(pieces) if piece == f"\0{name}"), -1) for name in ("key", "value")
    )
    opener, between, closer = pieces[: max(key, 0)], pieces[key + 1 : max(value, 0)], pieces[value + 1 :]
    blank = "" in (between[-1:] + closer[:1])
    texts = [[text for text in part if text] for part in (opener, between, closer)]
    if not 0 < key < value or len(texts[0]) != 1 or not texts[1] or len(texts[1]) > 2 or len(texts[2]) != 1:
        raise refused("the tags of its calls are not a key and a value with markers around each")
    whole = texts[1]
    if len(whole) == 1 and "><" in whole[0]:
        whole = [whole[0].partition("><")[0] + ">", "<" + whole[0].partition("><")[2]]
    return texts[0][0], whole, texts[2][0], blank


def _markers(pattern: Pattern, what: str) -> tuple[list[str], list[str] | None]:
    """The literals of a pattern, blanks between them left out: before the tool's name and behind it (None where no name
    is in it)."""
    pieces = [piece for piece in pieces_of(pattern, what, "close" in what) if piece]
    names = [at for at, piece in enumerate(pieces) if piece.startswith("\0")]
    if not names:
        return pieces, None
    if "close" in what:
        raise refused("the end marker of its tool_calls has a named group, as transformers 5.24 allows")
    if len(names) > 1 or pieces[names[0]] != "\0name":
        raise refused("the start marker of its tool_calls captures something other than a name")
    return pieces[: names[0]], pieces[names[0] + 1 :]


def _keys(declared: Declared) -> tuple[list[str], list[str]]:
    """The keys that lead to name and arguments in the JSON of a call."""
    transform = declared.transform
    whole = transform.get("function") if isinstance(transform, Mapping) else None
    if transform is None or isinstance(whole, str):
        path = [] if whole is None else _path(declared, whole)
        if path is not None:
            return [*path, "name"], [*path, "arguments"]
    name, arguments = (_path(declared, function_of(transform).get(key)) for key in ("name", "arguments"))
    if not name or not arguments:
        raise refused("its transform does not specify where the JSON has the name and arguments of a call")
    return name, arguments


def _path(declared: Declared, placed: Any) -> list[str] | None:
    """The keys in a call's JSON that a transform's placeholder names; None where it names something else."""
    found = PLACEHOLDER.fullmatch(placed) if isinstance(placed, str) else None
    if found is None:
        return None
    root, *keys = found[1].split(".")
    return [root, *keys] if declared.each else keys if root == CONTENT else None
