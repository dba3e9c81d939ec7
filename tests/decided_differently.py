"""Shared cases that come out otherwise here, on purpose: case → the reason. The design and its laws decide."""

_PROSE = "what follows the opener cannot begin a call, so the opener is content (law 10: prose stays prose)"
_TAIL = "a partial marker at the end of an answer is content: no tail is lost (law 3)"
_CLOSER = "a closer without a call is text, and no text disappears (law 3)"
_WRAPPED = "arguments are told as they were written; an argument called `properties` is not unwrapped silently"
_BRACES = "`{{` begins no JSON object: the opener is content (law 10), whatever the number of closing braces"

_SAME_MARKERS = "the same text as a case with reasoning told apart, switched off there; here it always is"
_FENCE = "a mode of that runtime (JSON only) takes the fence away; a parser keeps content verbatim (law 3)"
_REJECTED = "what is not a call is rejected with its reason; that runtime says nothing"
_WORDS = "a word without quotes is the literal that it is; without a schema nothing says that it is a string"
_ONE_BRACKET = "`[TOOL_CALLX]` is no marker: it is content (law 10)"
_RECIPIENT = "a message addressed to a tool is a call, whatever its channel and without the namespace too"

INFERRED_DIFFERENTLY = {
    "superset kept": "the template's own signature is stronger than the model type (DESIGN, room 3)",
    "protocol is authoritative": "the template's own signature is stronger than the model type (DESIGN, room 3)",
}
"""Inference cases, by their note, that come out otherwise."""

DECIDED_DIFFERENTLY = {
    "lcpp-026": _SAME_MARKERS,
    "lcpp-031": _FENCE,
    "lcpp-047": _SAME_MARKERS,
    "lcpp-049": "a call is announced when its arguments begin, since an id may stand before them",
    "lcpp-331": "tags inside a value that may be an object are that object",
    "lcpp-402": _FENCE,
    "lcpp-419": _SAME_MARKERS,
    "lcpp-432": "an earlier message of the same answer belongs to the prompt; what continues is the last one",
    "swift-062": _REJECTED,
    "swift-063": _REJECTED,
    "swift-064": _REJECTED,
    "swift-066": _REJECTED,
    "swift-067": _REJECTED,
    "swift-068": "the call is whole, and what follows is content; that runtime refuses both",
    "swift-075": _WORDS,
    "swift-078": "an object with bare words is read as one, each noted; that runtime keeps its text",
    "swift-080": _WORDS,
    "swift-137": _ONE_BRACKET,
    "swift-138": _ONE_BRACKET,
    "swift-148": _RECIPIENT,
    "swift-150": _RECIPIENT,
    "swift-151": "both messages are calls; that runtime stops at the first `<|call|>`, as a stop string does",
    "swift-153": "`<|end|>` for `<|call|>`: the message is whole",
    "swift-154": "the message's body is whole; its closer is a stop token, which runtimes strip",
    "swift-155": "a fence around the arguments is read and noted",
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
