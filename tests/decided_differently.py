"""Shared cases that come out otherwise here, on purpose: case → the reason. The design and its laws decide."""

_PROSE = "what follows the opener cannot begin a call, so the opener is content (law 10: prose stays prose)"
_TAIL = "a partial marker at the end of an answer is content: no tail is lost (law 3)"
_CLOSER = "a closer without a call is text, and no text disappears (law 3)"
_WRAPPED = "arguments are told as they were written; an argument called `properties` is not unwrapped silently"
_BRACES = "`{{` begins no JSON object: the opener is content (law 10), whatever the number of closing braces"

DECIDED_DIFFERENTLY = {
    "lcpp-036": "the same input as lcpp-037, reasoning switched off there; here reasoning is always told apart",
    "swift-001": _PROSE,
    "swift-004": _PROSE,
    "swift-012": "a JSON parser given the markers of another format; toolfmt's lfm2 reads this text",
    "swift-032": _WRAPPED,
    "swift-048": _WRAPPED,
    "swift-049": "the call is complete and only the list's bracket is missing: it stands, noted as `missing_closer`",
    "swift-110": _BRACES,
    "swift-111": _BRACES,
    "swift-112": _BRACES,
    "swift-123": _TAIL,
    "swift-124": _PROSE,
    "swift-126": _CLOSER,
    "swift-129": _PROSE,
    "swift-134": _CLOSER,
    "swift-136": _TAIL,
    "swift-139": _PROSE,
    "swift-144": "a call without a frame counts where an answer or a line begins, not after prose on the same line",
}
