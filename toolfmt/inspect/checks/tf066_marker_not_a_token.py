"""A marker is no token of its own here, though the model's own files say that it is, or its counterpart is.

A model that learnt a marker as one token does not recognise it in pieces, and does not write it in pieces either. It
happens when tokens are lost in a conversion, or when only one of two markers was added to the tokenizer.

What to do: compare tokenizer.json with that of the original model; add the token where it was added in training.

Example: tokenizer_config.json lists `<tool_call>` as an added token, and tokenizer.json cuts it into `<`, `tool`, `_`,
`call` and `>`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity
from toolfmt.templates import ModelFiles

SEVERITY: Severity = "note"
ABOUT_FILES = True


def check(facts: Facts) -> Iterator[Diagnostic]:
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
        )


def _declared(files: ModelFiles) -> set[str]:
    """The tokens that tokenizer_config.json lists."""
    more = files.tokenizer_config.get("additional_special_tokens")
    others = [text for text in more if isinstance(text, str)] if isinstance(more, list) else []
    return {*(files.added_tokens or {}).values(), *others, *files.special_tokens.values()}


def _counterpart(marker: str) -> str:
    """The opener of a closer and the other way round: `<a>` and `</a>`, `[A]` and `[/A]`."""
    bracket, rest = marker[:1], marker[1:]
    return bracket + (rest[1:] if rest.startswith("/") else f"/{rest}")
