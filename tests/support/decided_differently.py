"""Shared cases with a deliberately different result here: case → the reason. The design and its guarantees decide."""

_PROSE = "what follows the start marker cannot begin a call, so it is content (guarantee 10: prose stays prose)"
_TAIL = "a partial marker at the end of an output is content: no tail is lost (guarantee 3)"
_CLOSER = "an end marker without a call is text, and no text disappears (guarantee 3)"
_WRAPPED = "arguments are emitted as written; an argument named `properties` is not unwrapped silently"
_BRACES = (
    "`{{` does not begin a JSON object: the start marker is content (guarantee 10), for any number of closing braces"
)

_SAME_MARKERS = (
    "the same text as a case that separates reasoning, which is switched off there; here it is always separated"
)
_FENCE = "a mode of that runtime (JSON only) removes the fence; a parser keeps content verbatim (guarantee 3)"
_REJECTED = "what is not a call is rejected with its reason; that runtime drops it silently"
_WORDS = "a word without quotes is a literal; without a schema nothing shows that it is a string"
_ONE_BRACKET = "`[TOOL_CALLX]` is not a marker: it is content (guarantee 10)"
_RECIPIENT = "a message addressed to a tool is a call, whatever its channel and without the namespace too"

INFERRED_DIFFERENTLY = {
    "superset kept": "the template's own signature is stronger than the model type (DESIGN, section 3)",
    "protocol is authoritative": "the template's own signature is stronger than the model type (DESIGN, section 3)",
}
"""Inference cases, by their note, with a different result."""

DECIDED_DIFFERENTLY = {
    "lcpp-026": _SAME_MARKERS,
    "lcpp-031": _FENCE,
    "lcpp-047": _SAME_MARKERS,
    "lcpp-049": "a call is announced when its arguments begin, because an id may come before them",
    "lcpp-331": "tags inside a value that may be an object are that object",
    "lcpp-402": _FENCE,
    "lcpp-419": _SAME_MARKERS,
    "lcpp-432": "an earlier message of the same output belongs to the prompt; what continues is the last one",
    "swift-062": _REJECTED,
    "swift-063": _REJECTED,
    "swift-064": _REJECTED,
    "swift-065": _REJECTED,
    "swift-066": _REJECTED,
    "swift-067": _REJECTED,
    "swift-068": "the call is whole, and what follows is content; that runtime rejects both",
    "swift-075": _WORDS,
    "swift-078": "an object with bare words is read as one, with tolerances; that runtime keeps its text",
    "swift-080": _WORDS,
    "swift-137": _ONE_BRACKET,
    "swift-138": _ONE_BRACKET,
    "swift-148": _RECIPIENT,
    "swift-150": _RECIPIENT,
    "swift-151": "both messages are calls; that runtime stops at the first `<|call|>`, as a stop string does",
    "swift-153": "`<|end|>` for `<|call|>`: the message is whole",
    "swift-154": "the message's body is whole; its end marker is a stop token, which runtimes strip",
    "swift-155": "a fence around the arguments is tolerated",
    "lcpp-036": "the same input as lcpp-037, reasoning switched off there; here reasoning is always separated",
    "swift-001": _PROSE,
    "swift-004": _PROSE,
    "swift-012": "a JSON parser with the markers of another format; toolfmt's lfm2 reads this text",
    "swift-032": _WRAPPED,
    "swift-048": _WRAPPED,
    "swift-049": "the call is complete and only the list's bracket is missing: tolerance `missing_closer`",
    "swift-110": _BRACES,
    "swift-111": _BRACES,
    "swift-112": _BRACES,
    "swift-123": _TAIL,
    "swift-124": _PROSE,
    "swift-129": _PROSE,
    "swift-134": _CLOSER,
    "swift-136": _TAIL,
    "swift-139": _PROSE,
    "swift-144": "a call without a frame counts where an output or a line begins, not after prose on the same line",
}

_EARLY_CLOSER = "an end marker at the very beginning of an output closes what the prompt opened; that runtime shows it"
_REPEATED = "an argument given twice with different values is `invalid_arguments`; that runtime takes the last value"
_ONE_BUILD = (
    "one build's mistakes are repaired there: `<user>` for the frame, a call nested in itself, other names for tools"
)
_SHOWN = "reasoning is dropped or shown by request there; here it is always separated"
_STRAY = "a name with a token of the frame inside is not a name; that runtime removes the token"
_RESULTS = "markers of tool results, which only a prompt contains, are text like any other (guarantee 3)"
_AFTER_CALLS = "text after calls is content (guarantee 3); that runtime drops it"
_NAMELESS = "a call without a name is not a call"
_ESCAPES = "escapes of a Python string are read as Python reads them; that runtime keeps the backslashes"
_TAGLESS = "values without their tags are rejected; that runtime guesses them"
_NAMES = "names are word characters and `.:/$@+-`; with spaces or quotes the text is prose"
_NO_BOOLEAN = "a text that is not a boolean does not become one"
_STRING = "a string stays a string: `null` is that text if the schema has type string"
_NOT_ITS_TYPE = "a value that is not of its type is `invalid_arguments`; that runtime makes it a string"

_BY_REASON = {
    _EARLY_CLOSER: (
        "ollama-qwen35:TestQwen35ParserThinkingDisabledWithCloseTagTreatsAsContent",
        "ollama-cogito:TestCogitoParser-cogitoparser-empty-thinking-content",
        "ollama-nemotron3nano:TestNemotron3NanoParser-nemotron3nanoparser-thinking-disabled-but-model-outputs-think-close-anyway",
    ),
    _REPEATED: (
        "ollama-glm46:TestGLM46ToolCallParsing-glm46toolcallparsing-order-preservation-with-identical-key-names-but-different-positions",
    ),
    _ONE_BUILD: (
        "ollama-laguna:TestLagunaParserNormalizesCommonToolAliases",
        "ollama-laguna:TestLagunaParserUserTaggedToolAlias",
        "ollama-laguna:TestLagunaParserUserTaggedToolAliasWithLeadingContent",
        "ollama-laguna:TestLagunaParserUserTaggedJSONToolCallWithLeadingContent",
    ),
    _SHOWN: (
        "ollama-laguna:TestLagunaParserThinkingDefaultsOff",
        "ollama-laguna:TestLagunaParserThinkingDefaultsOffWhenToolsPresent",
        "ollama-laguna:TestLagunaParserThinkingExplicitlyDisabled",
        "ollama-glimmer:TestGlimmerParserSuppressesThinking",
        "ollama-gemma4:TestGemma4Parser-gemma4parser-thinking-disabled-channel-tags-as-content",
    ),
    _STRAY: ("ollama-glimmer:StrayMessageTagInInvokeName",),
    _RESULTS: (
        "ollama-cogito:TestCogitoParser-cogitoparser-tool-output-parsing",
        "ollama-deepseek3:TestDeepSeekParser-deepseekparser-tool-output",
        "ollama-deepseek3:TestDeepSeekParser-deepseekparser-multiple-tool-outputs",
        "ollama-deepseek3:TestDeepSeekParser-deepseekparser-tool-output-with-unicode",
        "ollama-deepseek3:TestDeepSeekParser-deepseekparser-mixed-content-with-special-chars",
        "ollama-deepseek3:TestDeepSeekParser-deepseekparser-empty-tool-output",
        "ollama-deepseek3:TestDeepSeekParser_Streaming-deepseekparser-streaming-streaming-tool-output",
        "ollama-deepseek3:TestDeepSeekParser_Streaming-deepseekparser-streaming-streaming-multiple-tool-outputs",
        "ollama-deepseek3:TestDeepSeekParser_EdgeCases-deepseekparser-edgecases-tool-output-with-newlines",
    ),
    _PROSE: ("ollama-deepseek3:TestDeepSeekParser_EdgeCases-deepseekparser-edgecases-malformed-tool-call-missing-sep",),
    _TAIL: (
        "ollama-deepseek3:TestDeepSeekParser_EdgeCases-deepseekparser-edgecases-partial-think-tag-at-end-with-thinking",
    ),
    _AFTER_CALLS: ("ollama-deepseek3:TestDeepSeekParser_EdgeCases-deepseekparser-edgecases-consecutive-tool-calls",),
    _NAMELESS: (
        "ollama-deepseek3:TestDeepSeek3Parser_parseToolCallContent-deepseek3parser-parsetoolcallcontent-empty-tool-name",
    ),
    _ESCAPES: (
        "ollama-lfm2:TestLFM2Parser_parseToolCallsContent-lfm2parser-parsetoolcallscontent-escaped-quote-in-value",
        "ollama-lfm2:TestLFM2Parser_parseToolCallsContent-lfm2parser-parsetoolcallscontent-newline-in-string-arg",
    ),
    _TAGLESS: (
        "ollama-glm46:TestGLM46ToolCallParsing-glm46toolcallparsing-special-chars-in-arg-key-names",
        "ollama-glm46:TestGLM46ToolCallParsing-glm46toolcallparsing-unopened-arg-value-after-arg-key",
        "ollama-glm46:TestGLM46ToolCallParsing-glm46toolcallparsing-mixed-unopened-and-valid-arg-values",
    ),
    _NAMES: (
        "ollama-qwen3coder:TestQwenToolParser-qwentoolparser-names-with-spaces",
        "ollama-qwen3coder:TestQwenToolParser-qwentoolparser-names-with-quotes",
    ),
    _NO_BOOLEAN: (
        "ollama-qwen3coder:TestQwenToolCallValueParsing-qwentoolcallvalueparsing-invalid-boolean-falls-back-to-false",
    ),
    _STRING: (
        "ollama-qwen3coder:TestQwenToolCallValueParsing-qwentoolcallvalueparsing-null-value-lowercase",
        "ollama-qwen3coder:TestQwenToolCallValueParsing-qwentoolcallvalueparsing-null-value-case-insensitive",
    ),
    _NOT_ITS_TYPE: (
        "ollama-qwen3coder:TestQwenToolCallValueParsing-qwentoolcallvalueparsing-invalid-json-array-falls-back-to-string",
        "ollama-qwen3coder:TestQwenToolCallValueParsing-qwentoolcallvalueparsing-invalid-json-object-falls-back-to-string",
    ),
}
SERVER_DECIDED_DIFFERENTLY = {case: reason for reason, listed in _BY_REASON.items() for case in listed}
"""The cases of a server's parsers with a deliberately different result: case → the reason."""
