"""The format that a model declares: its `response_template`, as transformers reads answers with it.

A template names regions and the regular expressions that open and close them (`docs/source/en/chat_response_parsing.md`
of transformers 5.23). None of that runs here. What it says of calls is tried on the calls that the formats write: the
format whose calls it reads is meant, and reads answers as it always does (arguments as they come, closers in strings,
what was cut is rejected). Where it means none of them, its markers make a format of an engine that is there, which is
taken if the template reads what that writes. Anything else is refused by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from toolfmt.errors import CannotWrite, NoResponseTemplate
from toolfmt.formats.call_expression import CallExpression, as_marked, between_marks
from toolfmt.formats.format import Call, Engine, ToolCallFormat
from toolfmt.formats.json_object import JsonObject
from toolfmt.formats.named_json import NamedJson
from toolfmt.formats.patterns import (
    End,
    Group,
    Look,
    Matcher,
    Pattern,
    Run,
    Steps,
    Text,
    Unreadable,
    literal,
    read_pattern,
)
from toolfmt.formats.registry import default_format, formats, get
from toolfmt.formats.tagged import PLAIN, QUOTED, Tagged
from toolfmt.formats.typed import STRING, Types
from toolfmt.formats.writing import write

_REASONING = ("reasoning_content", "thinking", "reasoning")
_CALLS, _CONTENT = "tool_calls", "content"
_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "note": {"type": "string"}}}
_TOOLS = [{"type": "function", "function": {"name": name, "parameters": _PARAMETERS}} for name in ("get_it", "put")]
_ONE: tuple[Call, ...] = (("get_it", {"city": "Oslo", "note": "two words"}),)
_TWO: tuple[Call, ...] = (("get_it", {"city": "Oslo"}), ("put", {"note": "two words"}))
_PLACEHOLDER = re.compile(r"\{(\w+(?:\.\w+)*)\}")
_LONGEST = 400
"""Characters of a marker that is told to be one."""
_MOST_MARKERS = 50


@dataclass(frozen=True)
class Declared:
    """What a template says: how calls are opened, closed and read, and the markers of the other fields."""

    opener: Pattern
    closer: Pattern | None
    content: str
    content_args: Mapping[str, Any]
    tag: Pattern | None
    transform: Any
    each: bool
    reasoning: tuple[tuple[str, str], ...]
    content_markers: tuple[tuple[str, str], ...]
    """What stands around the part for the user, where something opens that."""
    silent: tuple[str, ...]
    """What ends an answer or a call."""
    anchors: tuple[str, ...]


def from_response_template(template: object) -> ToolCallFormat:
    """The format that a `response_template` declares.

    Takes what stands under that key in `tokenizer_config.json` (`tokenizer.response_template`). Returns the format that
    is meant, with the template's own reasoning markers, headers and markers around content, or one called `declared`.
    Raises `NoResponseTemplate` for what is no template and for one that declares what no engine reads.
    """
    declared = read_declaration(template)
    meant = formats_meant(declared)
    return _with_markers(meant[0] if meant else _derived(declared), declared)


def formats_declared(template: object) -> tuple[ToolCallFormat, ...]:
    """The formats that a `response_template` can mean, the likeliest first; none where it is refused."""
    try:
        meant = formats_meant(read_declaration(template))
    except NoResponseTemplate:
        return ()
    return tuple(get(name) for name in dict.fromkeys(format.name for format in meant))


def read_declaration(template: object) -> Declared:
    """A template taken apart; raises `NoResponseTemplate`."""
    fields = template.get("fields") if isinstance(template, Mapping) else None
    if (
        not isinstance(template, Mapping)
        or not isinstance(fields, Mapping)
        or not isinstance(fields.get(_CALLS), Mapping)
    ):
        raise _refused("it is no object whose fields hold one for tool_calls")
    if template.get("version", 1) != 1:
        raise _refused("its version is not 1, which is the only one there is")
    others = [name for name in fields if name not in (_CALLS, _CONTENT, *_REASONING)]
    if others:
        raise _refused(f"its field {others[0]!r:.80} is neither content, reasoning nor calls")
    calls = fields[_CALLS]
    kind, arguments = calls.get("content", "text"), calls.get("content_args", {})
    tag = arguments.get("tag_pattern") if isinstance(arguments, Mapping) else None
    opener = _anchor(calls, "open")
    if opener is None:
        raise _refused("nothing opens its tool_calls")
    pairs = [pair for name in _REASONING if isinstance(fields.get(name), Mapping) for pair in _pairs(fields[name])]
    content = fields.get(_CONTENT)
    content = content if isinstance(content, Mapping) else {}
    framed = tuple(_pairs(content))
    ends = [] if framed else _plain(content, "close")
    return Declared(
        opener=opener,
        closer=_anchor(calls, "close"),
        content=kind if isinstance(kind, str) else "",
        content_args=arguments if isinstance(arguments, Mapping) else {},
        tag=_pattern(tag) if isinstance(tag, str) else None,
        transform=calls.get("transform"),
        each=calls.get("transform_each") is True,
        reasoning=tuple(pairs),
        content_markers=framed,
        silent=tuple(filter(None, map(str.strip, (*ends, *_plain(calls, "close"))))),
        anchors=tuple(_texts({"open": template.get("start_anchor")}, "open")),
    )


def formats_meant(declared: Declared) -> tuple[ToolCallFormat, ...]:
    """The formats whose calls the template reads, each in every variant in which it writes them so; those that its
    words fit best come first."""
    steps = Steps()
    meant = [
        (_distance(declared, format, texts[1]), at, format)
        for at, (format, *texts) in enumerate(_written())
        if all(_reads(declared, text, calls, steps) for text, calls in zip(texts, (_ONE, _TWO), strict=True))
    ]
    return tuple(format for _, _, format in sorted(meant, key=lambda one: one[:2]))


@cache
def _written() -> tuple[tuple[ToolCallFormat, str, str], ...]:
    """Every format in every variant, and how it writes one call and two."""
    variants = (
        format.with_variant(name) if name else format for format in formats() for name in ("", *format.variants)
    )
    return tuple((format, format.writer.write(_ONE, _text), format.writer.write(_TWO, _text)) for format in variants)


def _text(name: str, *path: str) -> Types:
    return STRING


def _distance(declared: Declared, format: ToolCallFormat, written: str) -> tuple[int, int, bool, bool, bool]:
    """What tells formats apart whose calls a template reads alike: markers that the format does not write, reasoning
    that it does not know, then that it knows more; then which one is the commoner one."""
    strange = sum(text.strip() not in written for text in _literals((*declared.opener, *(declared.closer or ()))))
    unknown = sum(pair not in format.reasoning for pair in declared.reasoning)
    more = set(declared.reasoning) != set(format.reasoning)
    return strange, unknown, more, format.name != default_format().name, bool(format.variant)


def _literals(pattern: Pattern) -> Iterator[str]:
    """The texts in a pattern, those that may be missing included."""
    for node in pattern:
        if isinstance(node, Text):
            yield node.text
        elif isinstance(node, Group):
            for option in node.options:
                yield from _literals(option)


def _with_markers(format: ToolCallFormat, declared: Declared) -> ToolCallFormat:
    """The format with what the template says of the other fields, where the format does not say so itself."""
    known = {(opener.strip(), closer.strip()) for opener, closer in format.reasoning}
    strange = (pair for pair in declared.reasoning if (pair[0].strip(), pair[1].strip()) not in known)
    reasoning = (*format.reasoning, *dict.fromkeys(strange))
    taken = {*format.openers, *(mark for pair in reasoning for mark in pair)}
    silent = (mark for mark in declared.silent if mark not in taken and not format.in_calls(mark))
    ignored = tuple(dict.fromkeys((*format.ignored_markers, *silent)))
    framing = (pair for pair in declared.content_markers if pair[0].strip() not in ignored)
    content = tuple(dict.fromkeys((*format.content_markers, *framing)))
    headers = tuple(dict.fromkeys((*format.headers, *map(re.escape, declared.anchors))))
    told = (format.reasoning, format.ignored_markers, format.content_markers, format.headers)
    if (reasoning, ignored, content, headers) == told:
        return format
    return replace(format, reasoning=reasoning, ignored_markers=ignored, content_markers=content, headers=headers)


# --- what a template reads of a text


def _reads(declared: Declared, text: str, calls: Sequence[Call], steps: Steps) -> bool:
    try:
        return list(_calls_in(declared, text, steps)) == list(calls)
    except ValueError:  # what it takes for JSON is none
        return False
    except Unreadable as error:
        raise _refused(f"it holds {error}") from None
    except RecursionError:
        raise _refused("its transform is nested too deeply") from None


def _calls_in(declared: Declared, text: str, steps: Steps) -> Iterator[tuple[Any, Any]]:
    """The calls that the template finds in a text; raises `ValueError` for content that is not what it says."""
    matcher, at = Matcher(text, steps), 0
    while (opened := matcher.search(declared.opener, at)) is not None:
        closed = None if declared.closer is None else matcher.search(declared.closer, opened.end)
        value = _content(declared, steps, text[opened.end : len(text) if closed is None else closed.begin])
        groups = opened.groups if closed is None else {**opened.groups, **closed.groups}
        for one in value if declared.each and isinstance(value, list) else [value]:
            scope = {**groups, **one} if declared.each and isinstance(one, dict) else {**groups, _CONTENT: value}
            function = _function(one if declared.transform is None else _placed(declared.transform, scope))
            yield function.get("name"), function.get("arguments")
        if closed is None or closed.end <= opened.begin:
            return
        at = closed.end


def _content(declared: Declared, steps: Steps, body: str) -> Any:
    if declared.content == "json":
        strings: list[str] = []

        def taken(found: re.Match[str]) -> str:
            strings.append(found[1])
            return f"\1{len(strings) - 1}\2"

        for opener, closer in _delimiters(declared.content_args):
            body = re.sub(re.escape(opener) + "(.*?)" + re.escape(closer), taken, body, flags=re.DOTALL)
        if declared.content_args.get("unquoted_keys") is True:
            body = re.sub(r"(?<=[{,])(\w+):", r'"\1":', body)
        return json.loads(re.sub("\1(\\d+)\2", lambda found: json.dumps(strings[int(found[1])]), body))
    if declared.content != "xml-inline" or declared.tag is None:
        raise _refused(f"the content of its tool_calls is {declared.content!r:.80}")
    matcher, at, values = Matcher(body, steps), 0, {}
    while (found := matcher.search(declared.tag, at)) is not None and found.end > at:
        values[found.groups.get("key", "")] = found.groups.get("value", "")
        at = found.end
    return values


def _delimiters(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    given = arguments.get("string_delims")
    pairs = [tuple(pair) for pair in given if isinstance(pair, list)] if isinstance(given, list) else []
    return [
        (pair[0], pair[1]) for pair in pairs if len(pair) == 2 and all(isinstance(mark, str) and mark for mark in pair)
    ]


def _placed(transform: Any, scope: Mapping[str, Any]) -> Any:
    if isinstance(transform, Mapping):
        return {key: _placed(inner, scope) for key, inner in transform.items()}
    found = _PLACEHOLDER.fullmatch(transform) if isinstance(transform, str) else None
    if found is None:
        return transform
    value: Any = scope
    for key in found[1].split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _function(call: Any) -> Mapping[str, Any]:
    function = call.get("function", call) if isinstance(call, Mapping) else None
    return function if isinstance(function, Mapping) else {}


# --- a format of its own


def _derived(declared: Declared) -> ToolCallFormat:
    """A format of an engine that is there, with the template's markers, which reads what the template reads."""
    engine = _engine(declared)
    page = "What a model's `response_template` declares, read by the engine that its shape is one of."
    format = ToolCallFormat(
        name="declared", engine=engine, page=page, instructions="Call a tool as shown here.", source=(), reasoning=()
    )
    try:
        texts = [(write(format, calls, _TOOLS), calls) for calls in (_ONE, _TWO)]
    except CannotWrite as error:
        raise _refused(f"what it says makes no format: {error}") from None
    steps = Steps()
    if not all(_reads(declared, text, calls, steps) for text, calls in texts):
        raise _refused("no engine writes calls as it reads them")
    return format


def _engine(declared: Declared) -> Engine:
    before, behind = _markers(declared.opener, "tool_calls open with")
    closers = _markers(declared.closer or (), "tool_calls close with")[0]
    if not before:
        raise _refused("nothing but a name opens a call")
    if declared.content == "xml-inline":
        return _tagged(declared, before, behind, closers)
    if declared.content != "json":
        raise _refused(f"the content of its tool_calls is {declared.content!r:.80}")
    if len(before) > 1 or len(closers) > 1 or (behind and len(behind) > 1):
        raise _refused("its calls stand between several markers, with blanks between them")
    opener, closer = before[0], "".join(closers)
    marks = _delimiters(declared.content_args)
    if marks and behind is not None:
        lead = re.search(r"[\w:]*\Z", opener)
        return CallExpression(
            opener=opener.removesuffix(lead[0] if lead else ""),
            closer=closer,
            lead=lead[0] if lead else "",
            brackets=("{", "}"),
            assign=":",
            separator=",",
            notation=between_marks(marks[0][0], closer),
            written=partial(as_marked, mark=marks[0][0], null="null"),
        )
    if marks or declared.content_args.get("unquoted_keys") is True:
        raise _refused("its JSON has a notation of its own")
    if behind is not None:
        return NamedJson(call_opener=opener, separator="".join(behind), call_closer=closer)
    name, arguments = _keys(declared)
    if name[:-1] != arguments[:-1] or len(name) > 2:
        raise _refused("name and arguments of a call stand in different objects")
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
        written=partial(_wrapped, wrapper, name[-1], arguments[-1]) if wrapper else None,
    )


def _wrapped(wrapper: str, name_key: str, arguments_key: str, name: str, arguments: Mapping[str, Any], at: int) -> str:
    """The object of a call whose name and arguments stand in another one."""
    return json.dumps({wrapper: {name_key: name, arguments_key: dict(arguments)}}, ensure_ascii=False)


def _tagged(declared: Declared, before: list[str], behind: list[str] | None, closers: list[str]) -> Engine:
    if behind is None:
        raise _refused("its calls have tags, but no name")
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
    pieces = list(_pieces(pattern, "a tag is"))
    key, value = (
        next((at for at, piece in enumerate(pieces) if piece == f"\0{name}"), -1) for name in ("key", "value")
    )
    opener, between, closer = pieces[: max(key, 0)], pieces[key + 1 : max(value, 0)], pieces[value + 1 :]
    blank = "" in (between[-1:] + closer[:1])
    texts = [[text for text in part if text] for part in (opener, between, closer)]
    if not 0 < key < value or len(texts[0]) != 1 or not texts[1] or len(texts[1]) > 2 or len(texts[2]) != 1:
        raise _refused("a tag of its calls is not a key and a value with a marker around each")
    whole = texts[1]
    if len(whole) == 1 and "><" in whole[0]:
        whole = [whole[0].partition("><")[0] + ">", "<" + whole[0].partition("><")[2]]
    return texts[0][0], whole, texts[2][0], blank


def _markers(pattern: Pattern, what: str) -> tuple[list[str], list[str] | None]:
    """The literals of a pattern, blanks between them left out: before the tool's name and behind it (None where no name
    is in it)."""
    pieces = [piece for piece in _pieces(pattern, what, "close" in what) if piece]
    names = [at for at, piece in enumerate(pieces) if piece.startswith("\0")]
    if not names:
        return pieces, None
    if len(names) > 1 or pieces[names[0]] != "\0name":
        raise _refused("what opens its tool_calls tells something else than a name")
    return pieces[: names[0]], pieces[names[0] + 1 :]


def _is_text(pattern: Pattern) -> bool:
    return len(pattern) == 1 and isinstance(pattern[0], Text)


def _pieces(pattern: Pattern, what: str, closing: bool = False) -> Iterator[str]:
    """The literals, an empty text for blanks, and `\\0` with its name for a group; raises for anything else."""
    for node in pattern:
        if isinstance(node, Text):
            yield node.text
        elif isinstance(node, Run) and node.of.match(" ") and not node.of.match("a"):
            yield ""
        elif isinstance(node, Group) and node.name:
            yield f"\0{node.name}"
        elif isinstance(node, Group) and () in node.options:
            yield ""  # what may be missing is not written
        elif isinstance(node, Group) and closing and all(map(_is_text, node.options)):
            yield node.options[0][0].text  # type: ignore[union-attr]  # just seen; the others say nothing, where they stand
        elif isinstance(node, Group) and len(node.options) == 1:
            yield from _pieces(node.options[0], what, closing)
        elif not isinstance(node, (Look, End)):
            raise _refused(f"its {what} more than literals, blanks and a name")


def _keys(declared: Declared) -> tuple[list[str], list[str]]:
    """The keys that lead to name and arguments in the JSON of a call."""
    function = _function(declared.transform) or {}
    if declared.transform is None or (_function_text := _transformed(declared.transform)) == "{content}":
        return ["name"], ["arguments"]
    if isinstance(_function_text, str):
        found = _PLACEHOLDER.fullmatch(_function_text)
        if found:
            path = found[1].split(".")[0 if declared.each else 1 :]
            return [*path, "name"], [*path, "arguments"]
    found_keys = []
    for what in ("name", "arguments"):
        found = _PLACEHOLDER.fullmatch(str(function.get(what, "")))
        path = found[1].split(".") if found else []
        if path and not declared.each:
            path = path[1:] if path[0] == _CONTENT else []
        if not path:
            raise _refused(f"its transform does not say where the {what} of a call stands in its JSON")
        found_keys.append(path)
    return found_keys[0], found_keys[1]


def _transformed(transform: Any) -> Any:
    return transform.get("function") if isinstance(transform, Mapping) else None


# --- reading the template itself


def _anchor(field: Mapping[str, Any], side: str) -> Pattern | None:
    """What opens or closes a field: its literals, or its pattern; None where it has neither."""
    texts = _texts(field, side)
    if texts:
        return literal(texts)
    given = field.get(f"{side}_pattern")
    return _pattern(given) if isinstance(given, str) else None


def _pattern(source: str) -> Pattern:
    try:
        return read_pattern(source)
    except Unreadable as error:
        raise _refused(f"it holds {error}") from None


def _texts(field: Mapping[str, Any], side: str) -> list[str]:
    """The literals on one side of a field."""
    given = field.get(side)
    texts = given if isinstance(given, list) else [given]
    return [text for text in texts[:_MOST_MARKERS] if isinstance(text, str) and 0 < len(text) <= _LONGEST]


def _plain(field: Mapping[str, Any], side: str) -> list[str]:
    """The literals on one side of a field, or those that its pattern may be."""
    return _texts(field, side) or _alternatives(field.get(f"{side}_pattern"))


def _pairs(field: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The markers of a reasoning field; where they are no plain texts they are left to the format."""
    yield from ((opener, closer) for opener in _plain(field, "open") for closer in _plain(field, "close"))


def _alternatives(source: Any) -> list[str]:
    """The literals that a pattern may be, blanks around them left out; none where it is more than that."""
    if not isinstance(source, str):
        return []
    try:
        pattern = read_pattern(source)
    except Unreadable:
        return []
    whole = tuple(node for node in pattern if not (isinstance(node, Run) and node.of.fullmatch(" ")))
    options = whole[0].options if len(whole) == 1 and isinstance(whole[0], Group) else (whole,)
    found = []
    for option in options:
        try:
            texts = [piece for piece in _pieces(option, "") if piece]
        except NoResponseTemplate:
            continue
        found += texts if len(texts) == 1 and not texts[0].startswith("\0") and len(texts[0]) <= _LONGEST else []
    return found[:_MOST_MARKERS]


def _refused(why: str) -> NoResponseTemplate:
    return NoResponseTemplate(f"the response_template declares no format that is read here: {why}")
