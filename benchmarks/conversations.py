"""Conversations for `delivery`, in which every text, argument and result is a unique word.

A word that must appear exactly once begins with `Zx` (a number in an argument: with 7043 or 7044), the key of a nested
argument with `Kx`, and a description in a tool definition with `Dx`. No template contains any of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]
Conversation: TypeAlias = list[Message]

ONCE = r"Zx\d\d[a-z]+|704[34]\d\d(?:\.\d+)?"
KEY = r"Kx\d\d[a-z]+"
DESCRIBED = r"Dx\d\d[a-z]+"

NOTE, TIME = "send_qnote", "tell_qtime"
"""The names of the two tools."""

TOOLS: list[Message] = [
    {
        "type": "function",
        "function": {
            "name": NOTE,
            "description": "Dx01note",
            "parameters": {
                "type": "object",
                "properties": {
                    "to": {"type": "string", "description": "Dx02to"},
                    "subject": {"type": "string", "description": "Dx03subject"},
                    "body": {"type": "string", "description": "Dx04body"},
                    "copies": {"type": "integer", "description": "Dx05copies"},
                    "urgent": {"type": "boolean", "description": "Dx06urgent"},
                    "after": {"type": "number", "description": "Dx07after"},
                    "options": {"type": "object", "description": "Dx08options"},
                },
                "required": ["to", "body"],
            },
        },
    },
    {
        "type": "function",
        "function": {"name": TIME, "description": "Dx09time", "parameters": {"type": "object", "properties": {}}},
    },
]
TOOL_DESCRIPTIONS = ("Dx01note", "Dx09time")
PARAMETER_DESCRIPTIONS = tuple(
    property["description"] for property in TOOLS[0]["function"]["parameters"]["properties"].values()
)
"""In the caller's order."""

ID = "call_{:024}"
"""An id as OpenAI makes them: `call_` and 24 characters."""


class Words:
    """Words that can be distinguished: each call returns another."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, kind: str = "word") -> str:
        self.count += 1
        return f"Zx{self.count:02}{kind}"

    def number(self) -> int:
        self.count += 1
        return 704300 + self.count


def system(text: Any) -> Message:
    return {"role": "system", "content": text}


def developer(text: Any) -> Message:
    return {"role": "developer", "content": text}


def user(text: Any) -> Message:
    return {"role": "user", "content": text}


def answer(text: Any, **more: Any) -> Message:
    return {"role": "assistant", "content": text, **more}


def call(words: Words, number: int = 1, *, name: str = NOTE, arguments: Any = None, as_text: bool = False) -> Message:
    """A call whose arguments are words by default."""
    if arguments is None:
        arguments = {"to": words("to"), "subject": words("subject")} if name == NOTE else {}
    if as_text:
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {"id": ID.format(number), "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: Message, **more: Any) -> Message:
    """An assistant's turn with calls; its content is absent by default."""
    return {"role": "assistant", **more, "tool_calls": list(calls)}


def result(content: Any, number: int = 1, **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": ID.format(number), **more, "content": content}


def exchange(words: Words, number: int = 1, **more: Any) -> Conversation:
    """A question, its call, the result."""
    return [user(words("user")), calling(call(words, number), **more), result(words("result"), number)]


def _one_call(**more: Any) -> Callable[[Words], Conversation]:
    return lambda words: exchange(words, **more)


def _text_with_call(words: Words) -> Conversation:
    return exchange(words, content=words("beside"))


def _reasoning_with_call(words: Words) -> Conversation:
    return exchange(words, content="", reasoning_content=words("thought"))


def _parsed(**more: str) -> Callable[[Words], Conversation]:
    """What `Message.to_dict` of a parser gives, put back as it is."""

    def made(words: Words) -> Conversation:
        turn = calling(call(words, as_text=True), content=None, reasoning_content=None, rejected=[])
        turn |= {key: words(kind) for key, kind in more.items()}
        last = answer(words("answer"), reasoning_content=None, tool_calls=[], rejected=[])
        return [user(words("user")), turn, result(words("result")), last, user(words("user"))]

    return made


def _both_with_call(words: Words) -> Conversation:
    return exchange(words, content=words("beside"), reasoning_content=words("thought"))


def _two_calls(*order: int, text: bool = False) -> Callable[[Words], Conversation]:
    """Two calls of one tool in a turn; the results in this order."""

    def made(words: Words) -> Conversation:
        content = words("beside") if text else ""
        messages = [user(words("user")), calling(call(words, 1), call(words, 2), content=content)]
        return [*messages, *(result(words("result"), number) for number in order)]

    return made


def _two_tools(words: Words) -> Conversation:
    calls = [call(words, 1), call(words, 2, name=TIME)]
    messages = [user(words("user")), calling(*calls, content="")]
    return [*messages, result(words("result"), 1), result(words("result"), 2)]


def _arguments_as_text(words: Words) -> Conversation:
    calls = calling(call(words, as_text=True), content="")
    return [user(words("user")), calls, result(words("result"))]


def _typed(as_text: bool) -> Callable[[Words], Conversation]:
    def made(words: Words) -> Conversation:
        arguments = {
            "to": words("to"),
            "copies": words.number(),
            "urgent": True,
            "after": 704401.5,
            "options": {"Kx50yes": True, "Kx51none": None, "Kx52deep": {"Kx53list": [words("item"), words("item")]}},
        }
        turn = calling(call(words, arguments=arguments, as_text=as_text), content="")
        return [user(words("user")), turn, result(words("result"))]

    return made


def _without_arguments(as_text: bool) -> Callable[[Words], Conversation]:
    def made(words: Words) -> Conversation:
        turn = calling(call(words, name=TIME, as_text=as_text), content="")
        return [user(words("user")), turn, result(words("result"))]

    return made


def _without_ids(words: Words) -> Conversation:
    made = call(words)
    del made["id"]
    return [user(words("user")), calling(made, content=""), {"role": "tool", "content": words("result")}]


def _named_results(words: Words) -> Conversation:
    return [*exchange(words, content="")[:2], result(words("result"), name=NOTE)]


def _results_by_name(words: Words) -> Conversation:
    made = call(words)
    del made["id"]
    tool_message = {"role": "tool", "name": NOTE, "content": words("result")}
    return [user(words("user")), calling(made, content=""), tool_message]


def _after_a_result(words: Words) -> Conversation:
    return [*exchange(words, content=""), user(words("user"))]


def _answered(words: Words) -> Conversation:
    return [*exchange(words, content=""), answer(words("answer"))]


def _two_exchanges(words: Words) -> Conversation:
    first = [system(words("system")), *exchange(words, 1, content=""), answer(words("answer"))]
    return [*first, *exchange(words, 2, content=""), answer(words("answer")), user(words("user"))]


def _two_steps(words: Words) -> Conversation:
    first = [system(words("system")), *exchange(words, 1, content="")]
    return [*first, calling(call(words, 2), content=""), result(words("result"), 2)]


def _reasoning_in_steps(words: Words) -> Conversation:
    steps: Conversation = [user(words("user"))]
    for number in (1, 2):
        steps.append(calling(call(words, number), content="", reasoning_content=words("thought")))
        steps.append(result(words("result"), number))
    return steps


def _reasoning_earlier(words: Words) -> Conversation:
    first = [user(words("user")), answer(words("answer"), reasoning_content=words("thought"))]
    return [*first, user(words("user"))]


def _reasoning_in_content(words: Words) -> Conversation:
    content = f"<think>\n{words('thought')}\n</think>\n\n{words('answer')}"
    return [user(words("user")), answer(content), user(words("user"))]


def _two_assistants(words: Words) -> Conversation:
    return [user(words("user")), answer(words("answer")), answer(words("answer")), user(words("user"))]


def _later(message: Callable[[Any], Message], *, last: bool = False) -> Callable[[Words], Conversation]:
    """A message of another role between a response and the next question, or after the last question."""

    def made(words: Words) -> Conversation:
        first = [system(words("system")), user(words("user")), answer(words("answer"))]
        rest = [message(words("later")), user(words("user"))]
        return [*first, *(reversed(rest) if last else rest)]

    return made


def _system_after_result(words: Words) -> Conversation:
    return [system(words("system")), *exchange(words, content=""), system(words("later"))]


def _system_mid_exchange_answered(words: Words) -> Conversation:
    return [*_system_after_result(words), user(words("user"))]


def _parts(words: Words) -> Conversation:
    def parts(*kinds: str) -> list[Message]:
        return [{"type": "text", "text": words(kind)} for kind in kinds]

    return [
        system(parts("system")),
        user(parts("user", "user")),
        answer(parts("answer")),
        user(parts("user")),
    ]


def _result_parts(words: Words) -> Conversation:
    parts = [{"type": "text", "text": words("result")}, {"type": "text", "text": words("result")}]
    return [*exchange(words, content="")[:2], result(parts)]


def _markup(words: Words) -> Conversation:
    question = f"{words('user')} </think> {words('user')} <tool_call> {words('user')} {{% x %}} {words('user')}"
    return [user(question), answer(words("answer")), user(f"<think> {words('user')} [TOOL_CALLS] {words('user')}")]


def _markup_in_arguments(words: Words) -> Conversation:
    value = f'{words("to")} "quoted" \\ {words("to")} it\'s\n<b> & {words("to")}'
    turn = calling(call(words, arguments={"to": value, "body": words("body")}), content="")
    return [user(words("user")), turn, result(f'{{"{words("result")}": "<|x|> \\"{words("result")}\\""}}')]


def _whitespace(words: Words) -> Conversation:
    return [
        system(f"  {words('system')} \n"),
        user(f"\n {words('user')}\n\n  {words('user')}é中🙂 \"q\" 'a' \\n {words('user')} \n"),
        answer(f" {words('answer')}\n\n"),
        user(f"\t{words('user')} "),
    ]


def _many_turns(words: Words) -> Conversation:
    turns: Conversation = []
    for _ in range(3):
        turns += [user(words("user")), answer(words("answer"))]
    return [*turns, user(words("user"))]


MADE: Mapping[str, Callable[[Words], Conversation]] = {
    "question": lambda words: [user(words("user"))],
    "system, question": lambda words: [system(words("system")), user(words("user"))],
    "developer, question": lambda words: [developer(words("developer")), user(words("user"))],
    "system, developer, question": lambda words: [
        system(words("system")),
        developer(words("developer")),
        user(words("user")),
    ],
    "two systems": lambda words: [system(words("system")), system(words("system")), user(words("user"))],
    "system later": _later(system),
    "system last": _later(system, last=True),
    "developer later": _later(developer),
    "developer last": _later(developer, last=True),
    "system behind a result": _system_after_result,
    "system behind a result, question": _system_mid_exchange_answered,
    "two users": lambda words: [user(words("user")), user(words("user"))],
    "two assistants": _two_assistants,
    "several turns": _many_turns,
    "call, content null": _one_call(content=None),
    "call, content empty": _one_call(content=""),
    "call, content absent": _one_call(),
    "text next to a call": _text_with_call,
    "reasoning next to a call": _reasoning_with_call,
    "reasoning and text next to a call": _both_with_call,
    "reasoning as `thinking`": lambda words: exchange(words, content="", thinking=words("thought")),
    "reasoning as `reasoning`": lambda words: exchange(words, content="", reasoning=words("thought")),
    "a parser's message": _parsed(),
    "a parser's message with reasoning": _parsed(reasoning_content="thought"),
    "a parser's message with text": _parsed(reasoning_content="thought", content="beside"),
    "two calls": _two_calls(1, 2),
    "two calls, results out of order": _two_calls(2, 1),
    "two calls, one answered": _two_calls(1),
    "two calls, text beside": _two_calls(1, 2, text=True),
    "two tools called": _two_tools,
    "arguments as text": _arguments_as_text,
    "typed arguments": _typed(False),
    "typed arguments as text": _typed(True),
    "no arguments": _without_arguments(False),
    "no arguments, as text": _without_arguments(True),
    "no ids": _without_ids,
    "results named": _named_results,
    "results by name alone": _results_by_name,
    "question behind a result": _after_a_result,
    "answer last": lambda words: [user(words("user")), answer(words("answer"))],
    "answer to a result last": _answered,
    "call last": lambda words: exchange(words, content="")[:2],
    "two exchanges": _two_exchanges,
    "two calls in two steps": _two_steps,
    "reasoning in two steps": _reasoning_in_steps,
    "reasoning earlier": _reasoning_earlier,
    "reasoning in the content": _reasoning_in_content,
    "assistant first": lambda words: [answer(words("answer")), user(words("user"))],
    "system, assistant first": lambda words: [system(words("system")), answer(words("answer")), user(words("user"))],
    "system only": lambda words: [system(words("system"))],
    "empty user text": lambda words: [system(words("system")), user("")],
    "content as parts": _parts,
    "result as parts": _result_parts,
    "markup in texts": _markup,
    "markup in arguments": _markup_in_arguments,
    "blanks and quotes": _whitespace,
}
"""How each conversation is made, by name."""


def _anthropic(words: Words) -> tuple[Conversation, Conversation]:
    """Parts of text, thinking, calls and results, as Anthropic's Messages have them."""
    expected = [
        *exchange(words, content=words("beside"), reasoning_content=words("thought")),
        user(words("user")),
    ]
    turn, tool_message = expected[1], expected[2]
    function = turn["tool_calls"][0]["function"]
    parts = [
        {"type": "thinking", "thinking": turn["reasoning_content"], "signature": "x"},
        {"type": "text", "text": turn["content"]},
        {"type": "tool_use", "id": ID.format(1), "name": function["name"], "input": function["arguments"]},
    ]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": ID.format(1),
            "content": [{"type": "text", "text": tool_message["content"]}],
        },
        {"type": "text", "text": expected[3]["content"]},
    ]
    return [expected[0], {"role": "assistant", "content": parts}, user(results)], expected


def _function_call(words: Words) -> tuple[Conversation, Conversation]:
    """The older form of Chat Completions: one `function_call`, and the role `function`."""
    expected = [user(words("user")), calling(call(words, as_text=True), content=None), result(words("result"))]
    older = expected[1]["tool_calls"][0]["function"]
    function_message = {"role": "function", "name": NOTE, "content": expected[2]["content"]}
    return [expected[0], {"role": "assistant", "content": None, "function_call": older}, function_message], expected


def _responses(words: Words) -> tuple[Conversation, Conversation]:
    """Items of the Responses API."""
    turn = calling(call(words, as_text=True), content=None, reasoning_content=words("thought"))
    expected = [user(words("user")), turn, result(words("result"))]
    function = turn["tool_calls"][0]["function"]
    items: Conversation = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": expected[0]["content"]}]},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": turn["reasoning_content"]}],
        },
        {
            "type": "function_call",
            "call_id": ID.format(1),
            "name": function["name"],
            "arguments": function["arguments"],
        },
        {"type": "function_call_output", "call_id": ID.format(1), "output": expected[2]["content"]},
    ]
    return items, expected


READ: Mapping[str, Callable[[Words], tuple[Conversation, Conversation]]] = {
    "Anthropic's parts": _anthropic,
    "`function_call`": _function_call,
    "Responses items": _responses,
}
"""How messages in other formats are made, with their equivalents in Chat Completions."""


def conversations() -> dict[str, tuple[Conversation, Conversation]]:
    """Fresh copies of all of them: as passed, and as intended."""
    own = {name: made(Words()) for name, made in MADE.items()}
    return {
        **{name: (messages, messages) for name, messages in own.items()},
        **{name: made(Words()) for name, made in READ.items()},
    }
