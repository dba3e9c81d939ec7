"""Adapt a conversation to a template, as the template's profile or an earlier prompt requires.

`toolfmt.render.attempts` calls `adapt`. The prompt lists the adaptations by these stable names:

    calls-as-content               calls written into the content by the format's own writer
    results-as-user-messages       tool results written into user messages; adjacent ones are joined
    parallel-calls-split           a turn with several calls split into several turns, each followed by its result
    arguments-parsed               arguments passed as an object instead of a JSON string
    arguments-dumped               arguments passed as a JSON string instead of an object
    arguments-wrapped              arguments that are not a JSON object passed as `{"raw_arguments": "THE TEXT"}`
    arguments-added                empty arguments passed for a call that has none, or ""
    calls-unwrapped                name and arguments passed without the `function` object around them
    content-null-to-empty          `content` null or missing passed as ""
    content-empty-to-null          `content: ""` next to a call passed as null
    default-system-prompt-replaced tools described in the system message replace the template's default system prompt
    system-in-first-user-message   the system message at the beginning of the first user message
    results-named                  the tool's name added to its result, for a template that reads it there
    results-in-order               results sorted like their calls, for a template that matches them by order
    results-as-parts               a result's text passed as a list of parts
    reasoning-renamed              reasoning under the only key that the template reads it from
    reasoning-as-part              reasoning passed as a content part of the type thinking
    documents-as-text              documents in a result passed as text parts
    content-parts-joined           a list of parts passed as their text
    empty-calls-left-out           `tool_calls` null or `[]` removed, for a template that rejects or misreads them
    content-filled                 a full stop as content, for a template that requires text next to a call and drops it
    ids-as-functions               call ids `functions.NAME:N`, for a template that takes the tool's name from the id
    ids-shortened                  call ids of nine letters and digits, for a template that rejects any other

Tried only if the template rejects the conversation or loses part of it (`toolfmt.render.adapt.remedies`), together with
some of those above:

    developer-as-system            messages of the role developer get the role system
    system-messages-joined         adjacent system messages joined into one
    later-system-in-user-message   a later system message at the beginning of the next user message, or as a new one
    content-as-parts               contents passed as lists of one part
    roles-joined                   adjacent user messages, or adjacent assistant messages, joined into one
    text-as-reasoning              the text next to a call passed as reasoning
    text-before-call               the text next to a call as an assistant message of its own, before the call
    reasoning-in-content           reasoning at the beginning of the content, between <think> and </think>
    empty-reasoning-added          empty reasoning added to assistant messages, for a template that requires it
    empty-question-added           an empty user message before an assistant message that begins the conversation
    empty-user-message-between         an empty user message after a tool result, between two assistant texts
    empty-answer-added             an empty assistant message between a result and the user message right after it
    assistant-markers-neutralized  a dot in markers in an assistant text (`<·/think>`), for a template that cuts there;
                                   tried last

Applied if the template rejects a tool definition or does not show every part of it
(`toolfmt.render.adapt.tool_adaptations`), each one that helps, in this order:

    parameters-added               an object without properties as parameters, for a template that fails without them
    descriptions-added             empty descriptions of the tool or its parameters, for a template that fails without
    refs-inlined                   each `$ref` replaced by its target, unless the target refers to itself
    nullable-types-rewritten       a type that may be null replaced by the type, with "May be null." in its description
    parameters-in-description      the parameters that the template does not show completely listed in the description
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolfmt.errors import CannotWrite
from toolfmt.formats import ToolCallFormat, write
from toolfmt.formats.prompting.tool_descriptions import result_heading
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.render.adapt.remedies import (
    CALLS_AS_CONTENT,
    CALLS_WITH_TEXT_AS_CONTENT,
    CONTENT_AS_PARTS,
    PARALLEL_SPLIT,
    RESULTS_AS_USER,
    SYSTEM_IN_USER,
    applied,
    counted,
    ids_shortened,
    results_named,
    text_with_calls,
    tools_answered,
)
from toolfmt.render.request.messages import (
    RAW_ARGUMENTS,
    Message,
    arguments_of,
    calls_of,
    flattened,
    function_of,
    is_object,
    joined,
    objects_as_text,
    reasoning_of,
    without_reasoning,
)

ARGUMENTS_WRAPPED = "arguments-wrapped"


def adapt(
    messages: Sequence[Message],
    profile: TemplateProfile,
    *,
    format: ToolCallFormat,
    calls_in_words: bool = False,
    results_in_words: bool = False,
    system_text: str = "",
    tools: Sequence[Message] | None = None,
    plan: frozenset[str] = frozenset(),
) -> tuple[list[Message], list[str]]:
    """Return the messages to pass to the template, and the names of the adaptations.

    `messages` are checked. `profile` is the profile of the template that renders them. With `calls_in_words`, calls are
    written into the content in `format`; the schemas of `tools` then give the types of values. With `results_in_words`,
    results become user messages. `system_text` is added to the system message. `plan` names remedies to apply in
    addition to what the profile requires. Raises `CannotWrite` if the format cannot represent a call.
    """
    done: dict[str, None] = {}
    adapted, applied_before = applied(list(messages), plan, "before")
    done |= dict.fromkeys(applied_before)
    if profile.reasoning_parts:
        adapted = [_reasoning_as_part(message, done) for message in adapted]
    if not profile.empty_calls:
        adapted = [_without_empty_calls(message, done) for message in adapted]
    calls_in_words = calls_in_words or CALLS_AS_CONTENT in plan
    results_in_words = results_in_words or RESULTS_AS_USER in plan or not renders_results(profile)
    if calls_in_words or results_in_words or profile.results_in_order:
        adapted = _results_in_order(adapted, done)
    answered = {id(message): name for message, name in zip(adapted, tools_answered(adapted), strict=True)}
    if calls_in_words and not results_in_words:  # the message loses its call here, and with it the call's name and id
        adapted = _numbered(_results_fitted(adapted, profile, done), profile, done)
    if calls_in_words or CALLS_WITH_TEXT_AS_CONTENT in plan:
        adapted = _calls_as_content(adapted, format, tools, done, only_with_text=not calls_in_words)
    if not calls_in_words:
        adapted = [_fitted(message, profile, done) for message in adapted]
        if not profile.takes_parallel_calls or PARALLEL_SPLIT in plan:
            adapted = list(_split(adapted, done))
    if results_in_words:
        adapted = _results_as_user(adapted, answered, done)
    elif not calls_in_words:
        adapted = _numbered(_results_fitted(adapted, profile, done), profile, done)
    adapted = _with_system_text(adapted, system_text)
    if not profile.takes_system or SYSTEM_IN_USER in plan:
        adapted = _system_in_user(adapted, done)
    adapted, applied_after = applied(adapted, plan, "after")
    done |= dict.fromkeys(applied_after)
    if CONTENT_AS_PARTS in plan and not profile.result_parts:
        adapted = [_as_text(message) if message["role"] == "tool" else message for message in adapted]
    if not profile.parts and CONTENT_AS_PARTS not in plan:
        adapted = [message if message["role"] == "tool" else _parts_joined(message, done) for message in adapted]
    if profile.reasoning_name:
        adapted = [_reasoning_renamed(message, profile.reasoning_name, done) for message in adapted]
    return [_without_nulls(message) for message in adapted], list(done)


def _without_nulls(message: Message) -> Message:
    """Return the message as transformers passes it to a template: without keys whose value is null."""
    return {key: value for key, value in message.items() if value is not None} if None in message.values() else message


def writes_calls(profile: TemplateProfile) -> bool:
    """Return whether the template renders calls in some form, with adaptations if necessary."""
    shape = profile.shape
    return shape is not None and (shape.content not in ("text", "parts") or not profile.text_with_call)


def renders_results(profile: TemplateProfile) -> bool:
    """Return whether the template renders results in some form, with adaptations if necessary."""
    return profile.takes_results or profile.results == "parts"


# --- calls and results as text


def _calls_as_content(
    messages: list[Message],
    format: ToolCallFormat,
    tools: Sequence[Message] | None,
    done: dict[str, None],
    *,
    only_with_text: bool,
) -> list[Message]:
    adapted = []
    for at, message in enumerate(messages):
        calls = calls_of(message)
        if calls and (text_with_calls(message) or not only_with_text):
            done[CALLS_AS_CONTENT] = None
            message = {key: value for key, value in message.items() if key != "tool_calls"}
            written = _written(calls, format, tools, f"messages[{at}].tool_calls", done)
            message["content"] = joined(message.get("content"), written, "\n")
        adapted.append(message)
    return adapted


def _written(
    calls: list[Message], format: ToolCallFormat, tools: Sequence[Message] | None, where: str, done: dict[str, None]
) -> str:
    pairs = [(function_of(call)["name"], _as_object(call, done)) for call in calls]
    declared = None
    if tools is not None:
        # A call in the history may use a tool that is not offered any more.
        known = {tool["function"]["name"] for tool in tools}
        gone = dict.fromkeys(name for name, _ in pairs if name not in known)
        declared = [*tools, *({"type": "function", "function": {"name": name}} for name in gone)]
    try:
        return write(format, pairs, declared)
    except CannotWrite as error:
        raise CannotWrite(f"{where}: {error}") from None


def _results_as_user(
    messages: list[Message], answered: Mapping[int, str | None], done: dict[str, None]
) -> list[Message]:
    """Return the messages with results as user messages. `answered` maps the identity of each result to its tool."""
    adapted: list[Message] = []
    after_result = False
    for message in messages:
        is_result = message["role"] == "tool"
        if is_result:
            done[RESULTS_AS_USER] = None
            name = answered.get(id(message))
            heading = result_heading(name) if name else "Result:"
            message = {"role": "user", "content": joined(heading, flattened(message.get("content")), "\n")}
        if after_result and message["role"] == "user":
            adapted[-1] = {**adapted[-1], "content": joined(adapted[-1]["content"], message.get("content"), "\n\n")}
        else:
            adapted.append(message)
        after_result = is_result
    return adapted


# --- results and ids in the form the template renders


def _results_in_order(messages: list[Message], done: dict[str, None]) -> list[Message]:
    """Return the messages with each turn's results in the order of its calls, if every result names one."""
    ordered = list(messages)
    for at, turn in enumerate(messages):
        places = {str(call.get("id")): place for place, call in enumerate(calls_of(turn))}
        end = at + 1
        while end < len(messages) and messages[end]["role"] == "tool":
            end += 1
        results = messages[at + 1 : end]
        if len(places) < 2 or not all(str(result.get("tool_call_id")) in places for result in results):
            continue
        ordered[at + 1 : end] = sorted(results, key=lambda result: places[str(result["tool_call_id"])])
        if ordered[at + 1 : end] != results:
            done["results-in-order"] = None
    return ordered


def _results_fitted(messages: list[Message], profile: TemplateProfile, done: dict[str, None]) -> list[Message]:
    """Return the messages with the tool names and the content form in results that the template needs."""
    if profile.results_named:
        named = results_named(messages)
        if named != messages:
            done["results-named"] = None
        messages = named
    return [_result_fitted(message, profile, done) if message["role"] == "tool" else message for message in messages]


def _result_fitted(message: Message, profile: TemplateProfile, done: dict[str, None]) -> Message:
    content = message.get("content")
    if profile.results == "parts" and isinstance(content, str):
        done["results-as-parts"] = None
        return {**message, "content": [{"type": "text", "text": content}]}
    if profile.results == "string" and not profile.result_parts:
        message = _parts_joined(message, done)
    elif isinstance(content, list) and not profile.result_documents:
        parts = objects_as_text(content)
        if parts != content:
            done["documents-as-text"] = None
            message = {**message, "content": parts}
    return message


def _parts_joined(message: Message, done: dict[str, None]) -> Message:
    """Return the message with its parts joined into one text, or the message itself if a part is not text."""
    content = message.get("content")
    text = flattened(content)
    if content == text or not isinstance(text, str):
        return message
    done["content-parts-joined"] = None
    return {**message, "content": text}


def _as_text(message: Message) -> Message:
    return {**message, "content": flattened(message.get("content"))}


_NINE = re.compile(r"[A-Za-z0-9]{9}")


def _numbered(messages: list[Message], profile: TemplateProfile, done: dict[str, None]) -> list[Message]:
    """Return the messages with ids in the form that the template needs, if an id is in another form."""
    calls = [call for turn in messages for call in calls_of(turn)]
    given = [str(call.get("id")) for call in calls]
    if profile.ids == "function":
        new_ids = [f"functions.{function_of(call)['name']}:{number}" for number, call in enumerate(calls)]
        if given == new_ids:
            return messages
        done["ids-as-functions"] = None
        return counted(messages, new_ids)
    if profile.ids == "nine" and not all(_NINE.fullmatch(id) for id in given):
        done["ids-shortened"] = None
        return ids_shortened(messages)
    return messages


def _reasoning_as_part(message: Message, done: dict[str, None]) -> Message:
    """Return the message with its reasoning as the first part of its content."""
    thought = reasoning_of(message)
    if message["role"] != "assistant" or not isinstance(thought, str) or not thought.strip():
        return message
    done["reasoning-as-part"] = None
    content = message.get("content")
    text = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
    return {**without_reasoning(message), "content": [{"type": "thinking", "thinking": thought}, *text]}


def _reasoning_renamed(message: Message, name: str, done: dict[str, None]) -> Message:
    """Return the message with its reasoning under this key only."""
    thought = reasoning_of(message)
    if message["role"] != "assistant" or thought is None or message.get(name):
        return message
    done["reasoning-renamed"] = None
    return {**without_reasoning(message), name: thought}


# --- calls in the form the template renders


def _without_empty_calls(message: Message, done: dict[str, None]) -> Message:
    if "tool_calls" not in message or calls_of(message):
        return message
    done["empty-calls-left-out"] = None
    return {key: value for key, value in message.items() if key != "tool_calls"}


def _split(messages: list[Message], done: dict[str, None]) -> Iterator[Message]:
    """Split turns with several calls into turns with one. Text and reasoning stay with the first call."""
    at = 0
    while at < len(messages):
        message = messages[at]
        calls = calls_of(message)
        at += 1
        if len(calls) < 2:
            yield message
            continue
        done[PARALLEL_SPLIT] = None
        results = []
        while at < len(messages) and messages[at]["role"] == "tool":
            results.append(messages[at])
            at += 1
        ids = [str(call.get("id")) for call in calls]
        known = [str(result.get("tool_call_id")) for result in results if str(result.get("tool_call_id")) in ids]
        if known != sorted(known, key=ids.index):
            done["results-in-order"] = None
        for position, call in enumerate(calls):
            yield {**message, "tool_calls": [call]} if position == 0 else _bare_turn(message, call)
            result = next((result for result in results if result.get("tool_call_id") == call.get("id")), None)
            if result is not None:
                results.remove(result)
                yield result
        yield from results


def _bare_turn(message: Message, call: Message) -> Message:
    content = {"content": "" if message["content"] is not None else None} if "content" in message else {}
    return {"role": message["role"], **content, "tool_calls": [call]}


def _fitted(message: Message, profile: TemplateProfile, done: dict[str, None]) -> Message:
    calls = calls_of(message)
    shape = profile.shape
    if not calls or shape is None:
        return message
    fitted = {**message, "tool_calls": [_fitted_call(call, profile, shape, done) for call in calls]}
    _fit_content(fitted, profile, shape, done)
    return fitted


def _fitted_call(call: Message, profile: TemplateProfile, shape: TurnShape, done: dict[str, None]) -> Message:
    function = dict(function_of(call))
    given = function.get("arguments")
    form = "object" if isinstance(given, Mapping) else "string"
    if not given and not isinstance(given, Mapping):
        done["arguments-added"] = None
        function["arguments"] = {} if profile.arguments_form == "object" else "{}"
    elif form != profile.arguments_form and not _takes(profile, form):
        if form == "string":
            if is_object(call):
                done["arguments-parsed"] = None
            function["arguments"] = _as_object(call, done)
        else:
            done["arguments-dumped"] = None
            function["arguments"] = json.dumps(given, ensure_ascii=False)
    if shape.wrapped:
        return {**call, "function": function} if "function" in call else _wrapped(function)
    if "function" in call:
        done["calls-unwrapped"] = None
        return {key: value for key, value in call.items() if key != "function"} | function
    return function


def _as_object(call: Message, done: dict[str, None]) -> dict[str, Any]:
    """Return the arguments as an object. Text that is not a JSON object (a truncated call) becomes its only value."""
    if is_object(call):
        return arguments_of(call, "")
    done[ARGUMENTS_WRAPPED] = None
    return {RAW_ARGUMENTS: function_of(call)["arguments"]}


def _takes(profile: TemplateProfile, arguments_form: str) -> bool:
    return profile.takes_arguments_object if arguments_form == "object" else profile.takes_arguments_string


def _wrapped(function: dict[str, Any]) -> Message:
    outer: Message = {key: function.pop(key) for key in ("id", "type") if key in function}
    return {**outer, "type": "function", "function": function}


def _fit_content(turn: Message, profile: TemplateProfile, shape: TurnShape, done: dict[str, None]) -> None:
    content = turn.get("content")
    if not content and shape.content in ("text", "parts"):
        if not profile.text_with_call:
            done["content-filled"] = None
            turn["content"] = "."
        return
    if content == "" and not profile.takes_content_empty:
        if profile.takes_content_null:
            done["content-empty-to-null"] = None
            turn["content"] = None


# --- the system message


def _with_system_text(messages: list[Message], text: str) -> list[Message]:
    if not text:
        return messages
    if messages[0]["role"] == "system":
        return [{**messages[0], "content": joined(messages[0].get("content"), text, "\n\n")}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def _system_in_user(messages: list[Message], done: dict[str, None]) -> list[Message]:
    if messages[0]["role"] != "system":
        return messages
    done[SYSTEM_IN_USER] = None
    text, rest = messages[0].get("content"), messages[1:]
    for at, message in enumerate(rest):
        if message["role"] == "user":
            return [*rest[:at], {**message, "content": joined(text, message.get("content"), "\n\n")}, *rest[at + 1 :]]
        if message["role"] == "assistant":
            break
    return [{"role": "user", "content": text}, *rest]
