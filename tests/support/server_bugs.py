"""Bugs of servers, by name: each is switched on alone, and leads to the finding that explains it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from faulty_server import Body, Bug, Chunks, both, calls_of, each_call, each_message, restreamed

import toolfmt


def _written(calls: list[Body]) -> str:
    return toolfmt.write(
        "json", [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]
    )


def _left(choice: Body, kept: int) -> None:
    """Leave the calls after the first ones in the content, as the model wrote them."""
    message = choice["message"]
    calls = message.get("tool_calls") or []
    if len(calls) > kept:
        message["content"] = (message.get("content") or "") + _written(calls[kept:])
        del calls[kept:]
        choice["finish_reason"] = "tool_calls" if calls else "stop"


def _each_whole_call(change: Callable[[Body], object]) -> Callable[[Body], object]:
    def whole(choice: Body) -> None:
        for call in choice["message"].get("tool_calls") or ():
            change(call)

    return whole


def _arguments(call: Body, value: Any) -> None:
    if "arguments" in call["function"]:
        call["function"]["arguments"] = value


def _in_every_chunk(key: str) -> Callable[[Chunks], Chunks]:
    """Repeat the id or the name of a call in each of its chunks."""

    def stream(chunks: Chunks) -> Chunks:
        first: dict[int, Any] = {}
        for chunk in chunks:
            for call in calls_of(chunk):
                place = call if key == "id" else call["function"]
                place[key] = first.setdefault(call["index"], place.get(key))
        return chunks

    return stream


def _name_split(chunks: Chunks) -> Chunks:
    """Send the second half of a name with the first fragment of the arguments."""
    rest = ""
    for chunk in chunks:
        for call in calls_of(chunk):
            function = call["function"]
            if "name" in function:
                function["name"], rest = function["name"][:5], function["name"][5:]
            elif rest:
                function["name"], rest = rest, ""
    return chunks


def _repeated_at_the_end(chunks: Chunks) -> Chunks:
    """Send the whole arguments again before the finish reason."""
    texts: dict[int, str] = {}
    for chunk in chunks:
        for call in calls_of(chunk):
            texts[call["index"]] = texts.get(call["index"], "") + call["function"]["arguments"]
    again = [
        {
            **chunks[0],
            "choices": [{"index": 0, "delta": {"tool_calls": [{"index": at, "function": {"arguments": one}}]}}],
        }
        for at, one in texts.items()
    ]
    return [*chunks[:-1], *again, chunks[-1]]


def _each_twice(chunks: Chunks) -> Chunks:
    twice = [[chunk, chunk] if any("id" not in call for call in calls_of(chunk)) else [chunk] for chunk in chunks]
    return [chunk for pair in twice for chunk in pair]


def _stopped(choice: Body) -> None:
    if choice["finish_reason"] == "tool_calls":
        choice["finish_reason"] = "stop"


def _finish_stop(chunks: Chunks) -> Chunks:
    for chunk in chunks:
        for choice in chunk["choices"]:
            _stopped(choice)
    return chunks


def _marker(choice: Body) -> None:
    if choice["message"].get("tool_calls"):
        choice["message"]["content"] = "</tool_call>"


def _cut_at_brace(choice: Body) -> None:
    """End a call at the first brace that closes more than were opened, or that is inside of a string."""
    for call in choice["message"].get("tool_calls") or ():
        text = call["function"]["arguments"]
        depth = 0
        for at, char in enumerate(text):
            depth += {"{": 1, "}": -1}.get(char, 0)
            if depth == 0 and at + 1 < len(text):
                call["function"]["arguments"] = text[: at + 1]
                choice["message"]["content"] = text[at + 1 :]
                break


def _value_cut(choice: Body) -> None:
    """End a string at a brace, and repair the JSON."""
    for call in choice["message"].get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        if isinstance(arguments.get("text"), str):
            call["function"]["arguments"] = json.dumps({"text": arguments["text"].split("}")[0]})


def _with_reasoning(choice: Body) -> None:
    message = choice["message"]
    if reasoning := message.pop("reasoning_content", ""):
        message["content"] = f"<think>{reasoning}</think>{message.get('content') or ''}"


def _lost_in_reasoning(choice: Body) -> None:
    message = choice["message"]
    if message.get("reasoning_content") and message.get("tool_calls"):
        message["reasoning_content"] += _written(message["tool_calls"])
        message["tool_calls"], message["content"] = [], ""
        choice["finish_reason"] = "stop"


def _results_dropped(body: Body) -> Body:
    """Pass only the question to the template, as one that renders no results does."""
    messages = [message for message in body["messages"] if message["role"] == "user"]
    return {**body, "messages": messages}


def _choice_ignored(body: Body) -> Body:
    return {key: value for key, value in body.items() if key != "tools"} if "tool_choice" in body else body


def _cut_as_whole(choice: Body) -> None:
    """Present what there is of a call as a whole call."""
    if choice["finish_reason"] == "length":
        function = {"name": "save_note", "arguments": '{"text": "word word'}
        choice["message"]["tool_calls"] = [{"id": "call_9", "type": "function", "function": function}]
        choice["message"]["content"] = None
        choice["finish_reason"] = "tool_calls"


def _call_lost(choice: Body) -> None:
    """Drop a call that has a tag, as parsers do that stop at the first end marker."""
    message = choice["message"]
    if "</tool_call>" in json.dumps(message.get("tool_calls") or []):
        message["tool_calls"] = []


def _nested_lost(choice: Body) -> None:
    message = choice["message"]
    if "book_room" in json.dumps(message.get("tool_calls") or []):
        message["tool_calls"] = []


def _no_tools(body: Body) -> Body:
    return {key: value for key, value in body.items() if key != "tools"}


def _fewer_words(choice: Body) -> None:
    message = choice["message"]
    message["content"] = (message["content"] or "").replace("White", "Whit")


def _other_city(choice: Body) -> None:
    for call in choice["message"].get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        if "city" in arguments:
            call["function"]["arguments"] = json.dumps({**arguments, "city": arguments["city"][:2]})


def _numbers_as_strings(choice: Body) -> None:
    for call in choice["message"].get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        if "days" in arguments:
            call["function"]["arguments"] = json.dumps({**arguments, "days": str(arguments["days"])})


def _without_last(chunks: Chunks) -> Chunks:
    return chunks[:-1]


def _double_encoded(call: Body) -> None:
    call["function"]["arguments"] = json.dumps(call["function"]["arguments"])


def _wrong_name(call: Body) -> None:
    call["function"]["name"] = f"functions.{call['function']['name']}:0"


def _without_done(data: bytes) -> bytes:
    return data.replace(b"data: [DONE]\n\n", b"")


BUGS: Mapping[str, tuple[Bug, str]] = {
    "calls left in content": (both(lambda choice: _left(choice, 0)), "call-left-in-content"),
    "calls left in content of streams only": (Bug(stream=restreamed(lambda choice: _left(choice, 0))),
                                              "call-left-in-content"),
    "the second call left in content": (both(lambda choice: _left(choice, 1)), "call-left-in-content"),
    "arguments repeated at the end": (Bug(stream=_repeated_at_the_end), "arguments-repeated"),
    "each fragment sent twice": (Bug(stream=_each_twice), "arguments-repeated"),
    "no arguments in streams": (Bug(stream=each_call(lambda call: _arguments(call, ""))), "arguments-missing"),
    "empty objects in streams": (
        Bug(stream=restreamed(_each_whole_call(lambda call: _arguments(call, "{}")))), "arguments-missing"
    ),
    "no arguments at all": (both(_each_whole_call(lambda call: _arguments(call, ""))), "arguments-missing"),
    "the id in every chunk": (Bug(stream=_in_every_chunk("id")), "id-repeated"),
    "no id": (Bug(stream=each_call(lambda call: call.pop("id", None))), "id-missing"),
    "the same id for all calls": (both(_each_whole_call(lambda call: call.update(id="call_1"))), "id-not-unique"),
    "no index": (Bug(stream=each_call(lambda call: call.pop("index"))), "index-missing"),
    "the index is always 0": (Bug(stream=each_call(lambda call: call.update(index=0))), "index-wrong"),
    "the index counts from 1": (Bug(stream=each_call(lambda call: call.update(index=call["index"] + 1))),
                                "index-wrong"),
    "no type": (Bug(stream=each_call(lambda call: call.pop("type", None))), "type-missing"),
    "the name in every chunk": (Bug(stream=_in_every_chunk("name")), "name-repeated"),
    "the name split": (Bug(stream=_name_split), "name-repeated"),
    "no name": (both(_each_whole_call(lambda call: call["function"].update(name=""))), "name-missing"),
    "a name with other text": (both(_each_whole_call(_wrong_name)), "name-wrong"),
    "finish_reason stop": (Bug(whole=_stopped, stream=_finish_stop), "finish-reason"),
    "finish_reason stop in streams": (Bug(stream=_finish_stop), "finish-reason"),
    "a marker next to the call": (both(_marker), "marker-in-content"),
    "the stream has other text": (Bug(stream=restreamed(_fewer_words)), "stream-differs"),
    "the stream has other arguments": (Bug(stream=restreamed(_other_city)), "stream-differs"),
    "arguments as an object": (
        both(_each_whole_call(lambda call: _arguments(call, json.loads(call["function"]["arguments"])))),
        "arguments-not-string",
    ),
    "arguments encoded twice": (both(_each_whole_call(_double_encoded)), "arguments-double-encoded"),
    "a brace in a string ends the call": (both(_cut_at_brace), "value-cut"),
    "a brace in a string ends the value": (both(_value_cut), "value-cut"),
    "a call with a marker in a value lost": (both(_call_lost), "value-cut"),
    "a call with nested values lost": (both(_nested_lost), "call-lost"),
    "reasoning left in content": (both(_with_reasoning), "reasoning-in-content"),
    "a call inside of reasoning lost": (both(_lost_in_reasoning), "call-in-reasoning"),
    "results dropped": (Bug(request=_results_dropped), "result-dropped"),
    "tool_choice ignored": (Bug(request=_choice_ignored), "tool-choice-ignored"),
    "a cut call presented as whole": (Bug(whole=_cut_as_whole), "cut-call-reported"),
    "no [DONE]": (Bug(raw=_without_done), "done-missing"),
    "no finish reason": (Bug(stream=_without_last), "stream-broken"),
    "tools dropped": (Bug(request=_no_tools), "tools-dropped"),
    "content is a list": (
        both(each_message(lambda message: message.update(content=[{"type": "text", "text": ""}]))),
        "content-not-string",
    ),
    "numbers as strings": (both(_numbers_as_strings), "other-type"),
}  # fmt: skip
