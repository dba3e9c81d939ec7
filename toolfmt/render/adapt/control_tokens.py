"""Neutralize markers in untrusted text with a visible, reversible change, so that they do not become control tokens.

Rendering calls `neutralized_request` with the model's `markers_of`. A middle dot is inserted after the first character
of each marker (`<·|im_end|>`). Markers are searched in the text without its dots, so a marker that already has dots
gets one more. Therefore `restored` returns every original text exactly, and no marker remains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from toolfmt.errors import BadMessages, BadTools
from toolfmt.formats.parser.tokens.added_tokens import is_marker
from toolfmt.inspect.probe.added_tokens import markers_in_config
from toolfmt.inspect.probe.tokenizer_file import TokenizerFile, find_tokenizer
from toolfmt.inspect.probe.turn_markers import MARK
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.render.request.messages import Message
from toolfmt.render.verify.sentinel_request import marks_reasoning, split_text
from toolfmt.templates import ModelFiles

MARKERS_NEUTRALIZED = "markers-neutralized"
"""Markers in untrusted text were changed, so that they do not become control tokens."""

ASSISTANT_MARKERS_NEUTRALIZED = "assistant-markers-neutralized"
"""Markers in an assistant text were changed, because the template cuts the text at them."""

_OWN_ROLES = ("system", "developer", "assistant")
"""Roles whose text the caller or the model wrote."""
_NAMES_OF_A_RESULT = ("name", "tool_call_id")
"""These must stay equal to those of the call."""
_DOTS = "·‧∙⋅"


def markers_of(files: ModelFiles, profile: TemplateProfile) -> tuple[str, ...]:
    """Return the markers of a model, the longest first.

    These are the special and added tokens in tokenizer.json and tokenizer_config.json, and the turn markers of its
    templates. Reading a large tokenizer.json takes a second, so call this once per model.

    Raises `ToolfmtError` if the file cannot be read and no other source has the tokens.
    """
    return markers_read(files, profile, find_tokenizer(files.home))


def markers_read(files: ModelFiles, profile: TemplateProfile, tokenizer: TokenizerFile | None) -> tuple[str, ...]:
    """Return the markers of a model like `markers_of`, with an already read tokenizer. Opens no file."""
    configured = list(markers_in_config(files.tokenizer_config))
    found = [text for text in files.special_tokens.values() if is_marker(text, special=True)]
    if tokenizer is not None and not (configured and tokenizer.problem):
        found += tokenizer.markers
    found += [*configured, *profile.markers]
    if profile.without_tools is not None:
        found += profile.without_tools.markers
    return tuple(sorted(dict.fromkeys(text.strip() for text in found), key=lambda text: (-len(text), text)))


def neutralized(text: str, markers: Sequence[str]) -> str:
    """Return the text with a dot after the first character of each marker, which must have at least two."""
    return neutralized_parts([text], markers)[0]


def restored(text: str, markers: Sequence[str]) -> str:
    """Undo `neutralized` with the same markers. A string that was not neutralized loses matching dots."""
    seeker = _seeker(tuple(markers))
    dotted = [offset for offset in seeker.places(text) if text[offset : offset + 1] == seeker.separator]
    return "".join(text[begin:end] for begin, end in zip([0, *(at + 1 for at in dotted)], [*dotted, None], strict=True))


def neutralized_parts(texts: Sequence[str], markers: Sequence[str]) -> list[str]:
    """Neutralize texts that may be adjacent in a prompt: a marker may begin in one and end in the next.

    The joined result is equal to the joined text, neutralized.
    """
    seeker = _seeker(tuple(markers))
    places = iter([*seeker.places("".join(texts)), -1])
    place = next(places)
    changed = []
    for end, text in zip(accumulate(map(len, texts)), texts, strict=True):
        begin, made, last = end - len(text), [], 0
        while begin < place <= end:
            made.append(text[last : place - begin])
            last, place = place - begin, next(places)
        changed.append(seeker.separator.join([*made, text[last:]]))
    return changed


def neutralized_request(
    messages: Sequence[Message], tools: Sequence[Message] | None, markers: Sequence[str]
) -> tuple[list[Message], list[Message] | None, list[str]]:
    """Neutralize untrusted texts in checked messages and canonical tools.

    Return the messages, the tools, and the adaptation's name if anything changed. Untrusted are all roles except
    system, developer and assistant, and every text in a tool definition.

    Raises `BadTools` if a tool name or a schema key contains a marker. Raises `BadMessages` if a result's name or id
    does. Names cannot be changed, because they must match.
    """
    changed = [_message(message, f"messages[{at}]", markers) for at, message in enumerate(messages)]
    defined = None if tools is None else [_tool(tool, f"tools[{at}]", markers) for at, tool in enumerate(tools)]
    same = changed == list(messages) and (tools is None or defined == list(tools))
    return changed, defined, [] if same else [MARKERS_NEUTRALIZED]


def neutralized_assistant(message: Message, tested: Collection[str], prefill: str) -> Message:
    """Return an assistant message with a dot in each marker that the template searches for (`tested`).

    Reasoning at the beginning of the content keeps its markers (`toolfmt.render.verify.sentinel_request.split_text`).
    """

    def changed(text: str) -> str:
        runs, after = split_text(text, "assistant", tested, prefill)
        marks = [run for run in runs[after + 1 - after % 2 :: 2] if MARK.fullmatch(run) or marks_reasoning(run)]
        return "".join(runs[:after]) + neutralized("".join(runs[after:]), marks)

    content = message.get("content")
    if message["role"] != "assistant" or not content:
        return message
    if isinstance(content, str):
        return {**message, "content": changed(content)}
    parts = [part if (text := _text_of(part)) is None else {**part, "text": changed(text)} for part in content]
    return {**message, "content": parts}


def beginnings(text: str, markers: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Return (offset after the first character, end) of each marker in the text.

    Overlapping and nested markers are included, and each of several that begin at the same offset.
    """
    return _seeker(tuple(markers)).whole(text)


def dot_for(markers: Sequence[str]) -> str:
    """Return the dot to insert into these markers."""
    return _seeker(tuple(markers)).separator


class _Seeker:
    """Finds where markers begin. `separator` is the dot, or a similar character if a marker contains the dot itself."""

    def __init__(self, markers: tuple[str, ...]) -> None:
        self.separator = next(dot for dot in _candidates() if not any(dot in marker for marker in markers))
        self._markers = frozenset(markers)
        self._lengths: dict[str, list[int]] = {}
        for first, length in sorted({(marker[0], len(marker)) for marker in markers if len(marker) > 1}):
            self._lengths.setdefault(first, []).append(length)
        self._firsts = re.compile(f"[{re.escape(''.join(self._lengths))}]" if self._lengths else r"(?!)")

    def places(self, text: str) -> list[int]:
        """Return the offset after the first character of each marker in the text without its dots."""
        bare = text.replace(self.separator, "")
        firsts = (match.start() for match in self._firsts.finditer(bare))
        found = [at for at in firsts if self._begins(bare, at)]
        if len(bare) == len(text):
            return [at + 1 for at in found]
        offsets = [at for at, character in enumerate(text) if character != self.separator]
        return [offsets[at] + 1 for at in found]

    def whole(self, text: str) -> Iterator[tuple[int, int]]:
        for match in self._firsts.finditer(text):
            at = match.start()
            ends = (at + length for length in self._lengths[text[at]])
            yield from ((at + 1, end) for end in ends if text[at:end] in self._markers)

    def _begins(self, bare: str, at: int) -> bool:
        return any(bare[at : at + length] in self._markers for length in self._lengths[bare[at]])


@lru_cache(maxsize=32)
def _seeker(markers: tuple[str, ...]) -> _Seeker:
    return _Seeker(markers)


def _candidates() -> Iterator[str]:
    yield from _DOTS
    yield from map(chr, range(0xE000, 0xF8FF))


def _message(message: Message, where: str, markers: Sequence[str]) -> Message:
    if message["role"] in _OWN_ROLES:
        return message
    changed: Message = {}
    for key, value in message.items():
        if message["role"] == "tool" and key in _NAMES_OF_A_RESULT and isinstance(value, str):
            if held := _held(value, markers):
                raise BadMessages(f'{where}: "{key}" holds the marker {held}, and a name is not changed; give another')
        elif key == "content" and isinstance(value, list):
            value = _parts(value, markers)
        else:
            value = _deep(value, markers, lambda name: neutralized(name, markers))
        changed[key] = value
    return changed


def _parts(parts: list[Any], markers: Sequence[str]) -> list[Any]:
    """Neutralize the parts of a content: adjacent texts as one text, everything else separately."""
    texts = [_text_of(part) for part in parts]
    changed = iter(neutralized_parts([text for text in texts if text is not None], markers))
    made = []
    for part, text in zip(parts, texts, strict=True):
        if not isinstance(part, Mapping):
            made.append(part if text is None else next(changed))
            continue
        whole = _deep(part, markers, lambda name: neutralized(name, markers))
        made.append(whole if text is None else {**whole, "text": next(changed)})
    return made


def _text_of(part: object) -> str | None:
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else None


def _tool(tool: Message, where: str, markers: Sequence[str]) -> Message:
    name = tool["function"]["name"]
    if held := _held(name, markers):
        raise BadTools(f"{where}: the tool's name holds the marker {held}, and a name is not changed; give another")

    def kept(key: str) -> str:
        if held := _held(key, markers):
            raise BadTools(f"{where} ({name}): a name in it holds the marker {held}, and is not changed; give another")
        return key

    changed: Message = _deep(tool, markers, kept)
    return changed


def _deep(value: Any, markers: Sequence[str], named: Callable[[str], str]) -> Any:
    """Return the value with every text in it neutralized and every key passed through `named`."""
    if isinstance(value, str):
        return neutralized(value, markers)
    if isinstance(value, Mapping):
        return {named(key) if isinstance(key, str) else key: _deep(item, markers, named) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_deep(item, markers, named) for item in value]
    return value


def _held(name: str, markers: Sequence[str]) -> str | None:
    """Return the first marker that a name contains, as error messages show it."""
    if neutralized(name, markers) == name:
        return None
    held = next((marker for marker in markers if len(marker) > 1 and marker in name), None)
    return None if held is None else repr(held)
