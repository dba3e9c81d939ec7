"""The model's files contain something that can run code, or a token that is a whole sentence.

What it checks: the source of the template, and the configuration files. The branch does not have to run during the
inspection.

- `outside-sandbox`: the template names attributes that lead to Python's internals (`__class__`, `__globals__`), or uses
  the filter `attr`. Or it uses `lipsum`, `cycler` or `joiner` without calling it, calls a function that runs code
  (`eval`, `popen`), or loads another template (`{% include %}`).
- `remote-code`: a configuration names Python files of the repository, which transformers, vLLM and SGLang execute if
  remote code is trusted.
- `sentence-token`: an added token of the tokenizer is a whole sentence. The model may have been trained to react to it.

Why it matters: a chat template is a program that a stranger wrote. A runtime that renders it without a sandbox runs any
code that the template leads to.

Affected runtimes: runtimes that render without a sandbox, such as llama-cpp-python before 0.2.72. toolfmt and
transformers render in jinja2's sandbox. `remote-code` affects transformers, vLLM and SGLang.

Example:

    {{ ''.__class__.__mro__[1].__subclasses__() }}

Fix: read the line or the files. Do not load the model in a runtime without a sandbox until you have read them.

References: CVE-2024-34359.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolfmt._util.text_lists import listed_first
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.turn_markers import PROSE
from toolfmt.inspect.report.wording import quote

OUTCOMES = {
    "outside-sandbox": FindingOutcome("warning", "template"),
    "remote-code": FindingOutcome("note", about_files=True),
    "sentence-token": FindingOutcome("note", about_files=True),
}
PROTECTED = True

_MOST_SHOWN, _LONGEST = 4, 80
_LONGEST_TOKEN = 2_000


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _internals(facts)
    yield from _remote_code(facts)
    yield from _sentence_tokens(facts)


def _internals(facts: Facts) -> Iterator[Diagnostic]:
    found = () if facts.parsed is None else facts.parsed.internals
    if found:
        shown = [f"{quote(what, _LONGEST)} (line {line})" for what, line in found]
        yield Diagnostic(
            f"The template contains code that could run outside a sandbox: {listed_first(shown, _MOST_SHOWN)}.",
            "Remove the expression, or use the template of the original model. Render only in a sandbox.",
            found[0][1],
            outcome="outside-sandbox",
        )


def _remote_code(facts: Facts) -> Iterator[Diagnostic]:
    files = facts.files
    for name, config in (("config.json", files.config), ("tokenizer_config.json", files.tokenizer_config)):
        modules = list(dict.fromkeys(_python_files(config)))
        if modules:
            shown = listed_first([quote(module, _LONGEST) for module in modules], _MOST_SHOWN)
            yield Diagnostic(
                f"{name} names Python files that a runtime with trust_remote_code executes: {shown}.",
                "Read these files before you pass trust_remote_code.",
                outcome="remote-code",
            )


def _python_files(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files in `auto_map` (`"AutoModel": "modeling_x.Model"`), with the repository if it is another."""
    named = config.get("auto_map")
    for value in named.values() if isinstance(named, Mapping) else ():
        for reference in value if isinstance(value, list) else [value]:
            if isinstance(reference, str) and "." in reference:
                repository, separator, name = reference.rpartition("--")
                yield f"{repository}{separator}{name.rpartition('.')[0]}.py"


def _sentence_tokens(facts: Facts) -> Iterator[Diagnostic]:
    added = facts.files.tokenizer_config.get("added_tokens_decoder")
    tokens = added.values() if isinstance(added, Mapping) else ()
    texts = [
        token["content"] for token in tokens if isinstance(token, Mapping) and isinstance(token.get("content"), str)
    ]
    found = [text for text in texts if PROSE.search(text[:_LONGEST_TOKEN])]
    if found:
        shown = listed_first([f"'{quote(text, _LONGEST)}'" for text in found], _MOST_SHOWN)
        yield Diagnostic(
            f"tokenizer_config.json adds tokens whose text is a sentence: {shown}.",
            "Ask the publisher of the model what these tokens are for.",
            outcome="sentence-token",
        )
