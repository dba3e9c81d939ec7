"""The verdict on each runtime agrees with what the runtime's own code does, for the models of the corpus.

`python -m benchmarks.runtime_agreement` does this for real templates.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.runtime_agreement import (
    ALL_TOOLS,
    CONVERSATIONS,
    MODELS,
    TOOLS,
    Outcome,
    Row,
    Subject,
    missing,
    outcome,
    row_of,
    subjects,
)
from benchmarks.runtime_requests import RENDERERS, absence
from toolfmt.inspect.runtimes.template_choice import MLX_LM, TRANSFORMERS

ALL = json.dumps(TOOLS)
CALL = '{"name": "find_harbor", "arguments": {"quay": "Kestrel"}}'
PROMPT = f"{ALL}\nuser: Where is the lighthouse?\nmodel: {CALL}\ntool: It is foggy.\n"


@pytest.mark.parametrize(
    ("prompt", "what"),
    [
        (PROMPT, ""),
        (PROMPT.replace("Kestrel", "K\\u0065strel"), ""),
        (PROMPT.replace(ALL, ""), "of the tools: nearest quillon, sandbar, berths"),
        (PROMPT.replace("tugboats", ""), "of the tools: tugboats"),
        (PROMPT.replace("lighthouse", ""), "Where is the lighthouse?"),
        (PROMPT.replace("foggy", ""), "It is foggy."),
        (PROMPT.replace("Kestrel", ""), "Kestrel"),
        (f"{CALL}{PROMPT.replace(CALL, '')}", "Kestrel, which comes too early"),
        (PROMPT.replace(CALL, CALL.replace("find_harbor", "harbor")), "the name find_harbor in the call"),
        (PROMPT.replace(CALL, CALL.replace('"quay"', '"place"')), "the argument quay"),
        (PROMPT.replace('{"quay": "Kestrel"}', json.dumps('{"quay": "Kestrel"}')), "encoded twice"),
        (PROMPT.replace("model: ", "model: None"), "without the word None or null"),
        (PROMPT.replace("model: ", "model: Nonetheless "), ""),
        (PROMPT.replace("model: ", "model: null "), "without the word None or null"),
    ],
)
def test_what_has_to_arrive_in_a_prompt(prompt: str, what: str) -> None:
    found = missing(CONVERSATIONS["result"], prompt)
    assert (what in found) if what else not found


def test_tools_that_do_not_arrive_at_all() -> None:
    assert missing(CONVERSATIONS["question"], "user: Where is the lighthouse?") == ALL_TOOLS


@pytest.mark.parametrize("runtime", RENDERERS)
@pytest.mark.parametrize("name", MODELS)
def test_the_verdict_agrees_with_the_runtime(name: str, runtime: str) -> None:
    if why := absence(runtime):
        pytest.skip(why)
    subject = next(one for one in subjects([]) if one.name == name)
    row = row_of(subject, runtime)
    assert not row.disagreement
    assert not row.unexplained


def test_outcomes_of_a_template_that_needs_objects() -> None:
    """mlx-lm's server parses the arguments, a program that uses transformers passes them as they are."""
    subject = next(one for one in subjects([]) if one.name == "double-encoded")
    needed = {runtime: absence(runtime) for runtime in (TRANSFORMERS, MLX_LM)}
    if any(needed.values()):
        pytest.skip(" ".join(needed.values()))
    raw = outcome(subject, TRANSFORMERS)
    assert (raw.word, raw.adapted) == ("fails", "works")
    assert "encoded twice" in raw.reason
    assert outcome(subject, MLX_LM).word == "works"


def test_outcome_of_a_template_without_tools() -> None:
    if why := absence(TRANSFORMERS):
        pytest.skip(why)
    subject = Subject("plain", "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}")
    assert outcome(subject, TRANSFORMERS).word == "tools as text"


def row(claim: str, codes: tuple[str, ...] = (), **found: Any) -> Row:
    return Row("template", TRANSFORMERS, claim, "", codes, Outcome(**found), ())


@pytest.mark.parametrize(
    ("row", "agrees"),
    [
        (row("works", word="works"), True),
        (row("works with", word="works"), True),
        (row("fails", word="works"), False),
        (row("tools as text", word="works"), False),
        (row("works", word="tools as text"), False),
        (row("unknown", word="fails"), True),
        (row("works", word="own encoder"), True),
        (row("works with", ("TF014",), word="fails", reason="they are encoded twice"), True),
        (row("works with", ("TF017",), word="fails", reason="they are encoded twice"), False),
        (row("works with", (), word="fails", reason="they are encoded twice"), False),
        (row("works with", ("TF014",), word="fails", reason="they are encoded twice", adapted="fails"), False),
    ],
)
def test_a_claim_agrees_with_an_outcome(row: Row, agrees: bool) -> None:
    assert (not row.disagreement) is agrees
