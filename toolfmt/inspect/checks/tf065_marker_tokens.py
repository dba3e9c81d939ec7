"""The markers of calls or reasoning are special tokens, or are not tokens although they should be.

What it checks: how `tokenizer.json` tokenizes the markers of calls and reasoning, and whether they are special tokens.

- `markers-are-special-tokens`: the model writes a call, the program decodes it with `skip_special_tokens=True`, and the
  markers are lost. A parser then does not find the call. If only reasoning markers are lost, reasoning is mixed into
  the response.
- `marker-not-a-token`: the model's own files declare the marker as a token, or its counterpart is a token, but
  tokenizer.json splits it into pieces. It happens when a conversion loses tokens, or when only one of two markers was
  added to the tokenizer.

Why it matters: calls are lost, or reasoning appears in the response. A model that learned a marker as one token neither
recognizes nor writes it in pieces.

Affected runtimes: transformers, vLLM, SGLang and llama.cpp, with different defaults (see the fix). mlx-lm does not drop
special tokens.

Example:

    "added_tokens": [{"content": "<|tool_call>", "special": true}, {"content": "<tool_call|>", "special": true}]

Fix: keep special tokens when you decode.

- transformers: `decode(..., skip_special_tokens=False)`.
- vLLM: `SamplingParams(skip_special_tokens=False)`, or `"skip_special_tokens": false` in the request. Its default is
  true, and only some of its tool parsers change it.
- SGLang: the same key. Its chat endpoint sets it if a request has tools.
- llama.cpp: `--special`.

If you publish the model, you can set `"special": false` for these tokens in tokenizer.json and tokenizer_config.json.
They stay single tokens and are kept in the text. If a marker is in pieces, compare tokenizer.json with that of the
original model.

    "added_tokens": [{"content": "<|tool_call>", "special": false}, {"content": "<tool_call|>", "special": false}]
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import MarkerKind
from toolfmt.inspect.runtimes.template_choice import LLAMA_CPP, TRANSFORMERS, VLLM
from toolfmt.templates import ModelFiles

_DROPPING = (TRANSFORMERS, VLLM, LLAMA_CPP)
"""The runtimes that drop special tokens by default; SGLang does not if a request has tools."""

OUTCOMES = {
    "markers-are-special-tokens": FindingOutcome(
        "warning", "setting", replaces="TF065 markers-are-special-tokens", about_files=True
    ),
    "marker-not-a-token": FindingOutcome("note", replaces="TF066 marker-not-a-token", about_files=True),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _special_tokens(facts)
    yield from _not_a_token(facts)


def _special_tokens(facts: Facts) -> Iterator[Diagnostic]:
    calls, reasoning = _special(facts, "call"), _special(facts, "reasoning")
    if calls:
        yield Diagnostic(
            f"{_are(calls)} in calls: a program that drops special tokens loses the calls.",
            "Decode with skip_special_tokens=False (transformers, vLLM, SGLang; llama.cpp: --special).",
            facts.capabilities["tool_calls"].line,
            runtimes=_DROPPING,
            outcome="markers-are-special-tokens",
        )
    if reasoning:
        yield Diagnostic(
            f"{_are(reasoning)} around reasoning: a program that drops special tokens mixes reasoning and response.",
            "Decode with skip_special_tokens=False (transformers, vLLM, SGLang; llama.cpp: --special).",
            facts.capabilities["reasoning"].line,
            runtimes=_DROPPING,
            outcome="markers-are-special-tokens",
        )


def _special(facts: Facts, kind: MarkerKind) -> list[str]:
    markers = facts.sections.tokens.markers if facts.sections.tokens else ()
    return [marker.marker for marker in markers if marker.kind == kind and marker.special]


def _are(markers: list[str]) -> str:
    named = listed(marker.replace("\n", "\\n") for marker in markers)
    return f"{named} {'is a special token' if len(markers) == 1 else 'are special tokens'}"


def _not_a_token(facts: Facts) -> Iterator[Diagnostic]:
    if facts.sections.tokens is None:
        return
    markers = facts.sections.tokens.markers
    declared = _declared(facts.files)
    whole = {marker.marker for marker in markers if len(marker.tokens) == 1}
    for marker in markers:
        if marker.marker in whole:
            continue
        other = _counterpart(marker.marker)
        if marker.marker in declared:
            evidence = "tokenizer_config.json lists it as a token"
        elif other in whole:
            evidence = f"{other} is one token"
        else:
            continue
        pieces = " ".join(piece.replace("\n", "\\n") for piece in marker.tokens)
        yield Diagnostic(
            f"tokenizer.json cuts {marker.marker} into {len(marker.tokens)} tokens ({pieces}), though {evidence}.",
            "Compare tokenizer.json with that of the original model.",
            outcome="marker-not-a-token",
        )


def _declared(files: ModelFiles) -> set[str]:
    """Return the tokens that tokenizer_config.json lists."""
    more = files.tokenizer_config.get("additional_special_tokens")
    others = [text for text in more if isinstance(text, str)] if isinstance(more, list) else []
    return {*(files.added_tokens or {}).values(), *others, *files.special_tokens.values()}


def _counterpart(marker: str) -> str:
    """Return the end marker of a start marker, and vice versa: `<a>` and `</a>`, `[A]` and `[/A]`."""
    bracket, rest = marker[:1], marker[1:]
    return bracket + (rest[1:] if rest.startswith("/") else f"/{rest}")
