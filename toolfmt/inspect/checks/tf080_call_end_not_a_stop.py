"""The template ends a call with a token that does not stop the model, by what the model's files name.

Some models end a turn with calls otherwise than an answer in words: with the token that begins the result
(`<|observation|>` of GLM, `<|tool_response>` of Gemma 4), or with the one that closes the calls (`<|tools_suffix|>` of
Apertus). Where the end-of-sequence tokens do not name it, the model goes on behind its call: it invents the result, and
answers by it.

What to do: name it as a stop string in each request, as the report's line "stop at" does, or add its id to
`eos_token_id` of generation_config.json and config.json.

Example: a GLM-4.5 whose generation_config.json was written anew with `<|endoftext|>` alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.stop_tokens import eos_place, eos_texts, token_of
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    files = facts.files
    if facts.renders is None:
        return
    by_id = eos_texts(files, facts.tokenizer)
    named = {text for text in by_id.values() if text} or {files.special_tokens.get("eos_token", "")} - {""}
    # An id that no file knows may be that of any token.
    if not named or None in by_id.values():
        return
    for mark in facts.profile.stop_of_calls:
        if mark not in named and token_of(files, facts.tokenizer, mark):
            place = eos_place(files) if by_id else "tokenizer_config.json"
            yield Diagnostic(
                f"A call ends with {mark}, but {place} stops the model at {listed(sorted(named))} only: it goes on "
                "behind its call, and invents the result.",
                f"Give {json.dumps(mark, ensure_ascii=False)} as a stop string in each request, or add its id to "
                "eos_token_id in generation_config.json and config.json.",
            )
