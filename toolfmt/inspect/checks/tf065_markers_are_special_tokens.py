"""The markers of calls are special tokens, which many programs drop when they turn tokens into text.

The model writes a call, the program decodes it with `skip_special_tokens=True`, and what marked the call is gone: it
arrives as plain words, and no parser finds it. The same happens to reasoning whose markers are special tokens; that
alone is a note.

What to do: decode with special tokens kept. In transformers, `decode(..., skip_special_tokens=False)`; in vLLM,
`SamplingParams(skip_special_tokens=False)` or `"skip_special_tokens": false` in the request (its default is true, and
only some of its tool parsers change it); in SGLang the same key (its chat endpoint sets it where a request has tools);
in llama.cpp, `--special`; mlx-lm drops nothing. Whoever publishes the model can set `"special": false` for these
tokens in tokenizer.json and tokenizer_config.json: they stay single tokens and are kept in the text.

Example: `<|tool_call>` and `<tool_call|>`, listed with `"special": true` under `added_tokens` in tokenizer.json.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, MarkerKind, Severity

SEVERITY: Severity = "warning"
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    calls, reasoning = _special(facts, "call"), _special(facts, "reasoning")
    if calls:
        yield Diagnostic(
            f"{_are(calls)} in calls: a program that drops special tokens loses the calls.",
            "Decode with skip_special_tokens=False (transformers, vLLM, SGLang; llama.cpp: --special).",
            facts.capabilities["tool_calls"].line,
        )
    if reasoning:
        yield Diagnostic(
            f"{_are(reasoning)} around reasoning: a program that drops special tokens mixes reasoning and answer.",
            "Decode with skip_special_tokens=False (transformers, vLLM, SGLang; llama.cpp: --special).",
            facts.capabilities["reasoning"].line,
        )


def _special(facts: Facts, kind: MarkerKind) -> list[str]:
    markers = facts.sections.tokens.markers if facts.sections.tokens else ()
    return [marker.marker for marker in markers if marker.kind == kind and marker.special]


def _are(markers: list[str]) -> str:
    named = listed(marker.replace("\n", "\\n") for marker in markers)
    return f"{named} {'is a special token' if len(markers) == 1 else 'are special tokens'}"
