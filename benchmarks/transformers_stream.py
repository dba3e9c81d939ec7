"""transformers generating tool calls: what its own parser and streamer make of them, and toolfmt, on the same tokens.

    python -m benchmarks.transformers_stream

Needs torch, mlx and mlx-lm beside transformers (5.23): mlx trains tiny models here, a minute in all, each to one answer
by heart; torch runs them through `generate`. Three answers a family: a plain call; one whose string holds the closer;
one that is cut in a value. transformers reads with the template that it serves such models with, or, where it has none,
with the one that toolfmt writes; toolfmt reads while the tokens come (`for_transformers.stream`). Then for a call
with a value without blanks, how many tokens had been generated when the first argument was told, and in how many pieces
the arguments came: by toolfmt's streamer, and by a parser over transformers' own `TextIteratorStreamer`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from toolfmt import write
from toolfmt.formats import Parser
from toolfmt.integrations.transformers import response_template, stream
from toolfmt.messages.events import Event, ToolCallArguments, ToolCallEnd
from toolfmt.messages.message import Message

END = "<|im_end|>"
TEMPLATE = (
    "{%- for tool in tools %}{{- tool | tojson + '\\n' }}{%- endfor %}"
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "run",
            "description": "Run it.",
            "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
        },
    }
]
MESSAGES = [{"role": "user", "content": "Go."}]
FAMILIES = {
    "json": ("qwen3", "</tool_call>", ("<tool_call>", "</tool_call>")),
    "qwen3_5": ("qwen3_5", "</tool_call>", ("<tool_call>", "</tool_call>")),
    "glm4": (
        "",
        "</tool_call>",
        ("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    ),
    "gemma4": ("gemma4", "", ("<|tool_call>", "<tool_call|>", '<|"|>')),
}
"""By format: the model type that transformers serves with a template of its own, what closes a call, its tokens."""


class Trained:
    """A tiny model that says one answer, in transformers."""

    def __init__(self, directory: Path, answer: str, tokens: tuple[str, ...]) -> None:
        build = importlib.import_module("tiny_models").build
        transformers: Any = importlib.import_module("transformers")
        build(
            directory,
            template=TEMPLATE,
            messages=MESSAGES,
            tools=TOOLS,
            answer=answer,
            end=END,
            special=tokens,
            steps=900,
        )
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
        self.model = transformers.AutoModelForCausalLM.from_pretrained(str(directory))
        asked = {"tools": TOOLS, "add_generation_prompt": True, "tokenize": False}
        self.prompt: str = self.tokenizer.apply_chat_template(MESSAGES, **asked)

    def events(self, format: str, **options: Any) -> Iterator[Event]:
        parser = Parser(format, tools=TOOLS, stop=[END])
        return stream(self.model, self.tokenizer, self.prompt, parser=parser, do_sample=False, **options)

    def text(self, **options: Any) -> str:
        """What `generate` returns, as text with its control tokens."""
        ids = self.tokenizer(self.prompt, return_tensors="pt", add_special_tokens=False)
        out = self.model.generate(**ids, do_sample=False, **options)[0, ids["input_ids"].shape[1] :]
        return str(self.tokenizer.decode(out, skip_special_tokens=False))


def by_transformers(trained: Trained, template: dict[str, Any], text: str) -> list[Any] | str:
    """The calls that `tokenizer.parse_response` finds, or the error that it raises."""
    try:
        said = trained.tokenizer.parse_response(text, template, prefix=trained.prompt, tools=TOOLS)
    except Exception as error:  # noqa: BLE001  # an error on what a model wrote is the finding
        return type(error).__name__
    return [(call["function"]["name"], call["function"]["arguments"]) for call in said.get("tool_calls", [])]


def by_toolfmt(events: list[Event]) -> list[Any]:
    calls = Message.from_events(events).tool_calls
    return [(call.name, json.loads(call.arguments)) for call in calls]


def template_of(format: str, model_type: str) -> tuple[str, dict[str, Any]]:
    served: Any = importlib.import_module("transformers.cli.serving.utils")._RESPONSE_TEMPLATE_FALLBACKS
    found = next((template for types, template in served.items() if model_type in types), None)
    return ("its own", found) if found else ("toolfmt's", response_template(format, stop=[END]))


def told(events: Iterator[Event], generated: list[int]) -> tuple[int, int]:
    """How many tokens there were at the first argument, and in how many pieces the arguments came."""
    first, pieces = 0, 0
    for event in events:
        if isinstance(event, ToolCallArguments) and event.delta:
            first = first or len(generated)
            pieces += 1
        assert pieces or not isinstance(event, ToolCallEnd)
    return first, pieces


class Counting:
    """A stopping criterion that counts tokens, and leaves the reader time to read what there is of the last one."""

    def __init__(self) -> None:
        self.generated: list[int] = []

    def __call__(self, ids: Any, scores: Any, **_: Any) -> bool:
        self.generated.append(int(ids[0, -1]))
        threading.Event().wait(0.002)
        return False


def own_streamer(trained: Trained, format: str, counting: Counting, most: int) -> Iterator[Event]:
    """The same parser over transformers' own streamer."""
    transformers: Any = importlib.import_module("transformers")
    streamer = transformers.TextIteratorStreamer(trained.tokenizer, skip_prompt=True, skip_special_tokens=False)
    ids = trained.tokenizer(trained.prompt, return_tensors="pt", add_special_tokens=False)
    options = {"streamer": streamer, "do_sample": False, "stopping_criteria": [counting], "max_new_tokens": most}
    threading.Thread(target=trained.model.generate, kwargs={**ids, **options}, daemon=True).start()
    parser = Parser(format, tools=TOOLS, stop=[END])
    for text in streamer:
        yield from parser.feed(text)
    yield from parser.finish()


def main() -> None:
    print(f"{'format':10}{'answer':22}{'template':12}{'toolfmt':10}{'transformers'}")
    with tempfile.TemporaryDirectory() as place:
        for format, (model_type, closer, tokens) in FAMILIES.items():
            values = {"plain": "print('hello')", "closer in a value": f'print("{{{closer}}}")' if closer else "x}"}
            for what, value in values.items():
                trained = Trained(Path(place, format, what), write(format, [("run", {"code": value})], TOOLS), tokens)
                who, template = template_of(format, model_type)
                wanted = [("run", {"code": value})]
                length = len(trained.tokenizer.encode(trained.text(max_new_tokens=300), add_special_tokens=False))
                report(trained, format, what, who, template, wanted, 300)
                if what == "plain":
                    report(trained, format, "cut in its value", who, template, [], length // 2)
        value = hashlib.sha512(b"").hexdigest()
        trained = Trained(Path(place, "long"), write("json", [("run", {"code": value})], TOOLS), FAMILIES["json"][2])
        length = len(trained.tokenizer.encode(trained.text(max_new_tokens=900), add_special_tokens=False))
        for who in ("toolfmt's streamer", "transformers' own"):
            counting = Counting()
            options: dict[str, Any] = {"max_new_tokens": length, "stopping_criteria": [counting]}
            ours = who.startswith("toolfmt")
            events = trained.events("json", **options) if ours else own_streamer(trained, "json", counting, length)
            first, pieces = told(events, counting.generated)
            print(f"{who}: first argument at token {first} of {length}, arguments in {pieces} pieces")


def report(
    trained: Trained, format: str, what: str, who: str, template: dict[str, Any], wanted: list[Any], most: int
) -> None:
    ours = by_toolfmt(list(trained.events(format, max_new_tokens=most)))
    theirs = by_transformers(trained, template, trained.text(max_new_tokens=most))
    said = "right" if theirs == wanted else f"wrong: {str(theirs)[:70]}"
    print(f"{format:10}{what:22}{who:12}{'right' if ours == wanted else f'wrong: {ours}':10}{said}")


if __name__ == "__main__":
    main()
