"""The model's files do not name the token that ends a response or a call.

What it checks: the end-of-sequence tokens in the model's files, against the tokens with which the template ends a
response and a call.

- `stop-token-unknown`: the files name an id that the tokenizer does not have. Often the ids were copied from another
  model, or tokens were lost when the vocabulary was changed.
- `response-end-not-a-stop`: the template ends a response with a token that does not stop the model. Often `eos_token`
  is that of the base model, a conversion rewrote a configuration, or the template is that of another model.
- `call-end-not-a-stop`: the template ends a call with such a token. Some models end a turn with calls differently: with
  the token that starts the result (`<|observation|>` of GLM, `<|tool_response>` of Gemma 4), or with the end marker of
  the calls (`<|tools_suffix|>` of Apertus).
- `stop-token-not-trained`: the token that ends a response is outside `{% generation %}`. Loss masks made from this
  block do not train the model to stop.

Why it matters: the model continues after the end of its response. It then invents the next turn, or after a call the
result.

Affected runtimes: every runtime that stops at the end-of-sequence tokens in the model's files.

Example:

    "eos_token": "<|endoftext|>"

with a template that ends turns with `<|im_end|>`.

Fix: correct `eos_token` in tokenizer_config.json and `eos_token_id` in generation_config.json and config.json. If the
model does not have the token, use the model's own template. For calls, you can instead send the token as a stop string
in each request, as the report's row `stop strings` shows.

    "eos_token": "<|im_end|>"
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import REPLY, TOOLS, reply
from toolfmt.inspect.probe.eos_tokens import eos_place, eos_texts, token_of
from toolfmt.inspect.probe.turn_markers import answer_end
from toolfmt.inspect.report.turn_shape import TurnShape

OUTCOMES = {
    "stop-token-unknown": FindingOutcome("warning", "setting", replaces="TF069 stop-token-unknown", about_files=True),
    "response-end-not-a-stop": FindingOutcome("warning", "setting", replaces="TF072 answer-end-not-a-stop"),
    "call-end-not-a-stop": FindingOutcome("warning", "setting", replaces="TF080 call-end-not-a-stop"),
    "stop-token-not-trained": FindingOutcome("note"),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _unknown(facts)
    yield from _response_end(facts)
    yield from _call_end(facts)
    marked = facts.detail("generation_marked")
    if marked.outcome in ("misplaced", "dropped", "threw"):
        yield Diagnostic(
            f"{marked.evidence[0].upper()}{marked.evidence[1:]}.",
            "Move `{% endgeneration %}` after the stop token in a template for training.",
            marked.line,
            outcome="stop-token-not-trained",
        )


def _unknown(facts: Facts) -> Iterator[Diagnostic]:
    if facts.tokenizer is None or facts.tokenizer.problem:
        return
    unknown = [number for number, text in eos_texts(facts.files, facts.tokenizer).items() if text is None]
    if unknown:
        ids = ", ".join(map(str, unknown))
        yield Diagnostic(
            f"{eos_place(facts.files)} ends responses at the token {ids}, which the tokenizer does not define.",
            "Correct eos_token_id in generation_config.json and config.json.",
            outcome="stop-token-unknown",
        )


def _response_end(facts: Facts) -> Iterator[Diagnostic]:
    files, renders = facts.files, facts.renders
    if renders is None or facts.probed is None:
        return
    end, eos_token = answer_end(renders, facts.probed.shape), files.special_tokens.get("eos_token", "")
    by_id = eos_texts(files, facts.tokenizer)
    known = token_of(files, facts.tokenizer, end)
    named = {text for text in by_id.values() if text} or {eos_token} - {""}
    if not end or not named or known is None or end in named or end in set(renders.tokens.values()):
        return
    what = f"The template ends a response with {end}"
    stops = listed(sorted(named | ({eos_token} - {""})))
    if not known:
        message = f"{what}, which is not a token of this model; its files define {stops}."
        fix = "Use the template of the original model: this one was written for a model with other tokens."
    elif end == eos_token:
        file = eos_place(files)
        message = f"{what}, but eos_token_id in {file} names {listed(sorted(named))}: transformers does not stop there."
        fix = f"Add the id of {end} to eos_token_id in generation_config.json and config.json."
    else:
        message = f"{what}, but the model's files stop at {stops}: the output continues after the end."
        fix = (
            f"Make {end} the eos_token in tokenizer_config.json, and add its id to eos_token_id in "
            "generation_config.json and config.json; or use the template of the original model."
        )
    messages = reply(facts.probed.shape or TurnShape())
    end_offset = renders.text(messages, TOOLS).find(end, renders.text(messages, TOOLS).rfind(REPLY))
    yield Diagnostic(
        message,
        fix,
        renders.line_at(messages, TOOLS, end_offset) if end_offset >= 0 else None,
        outcome="response-end-not-a-stop",
    )


def _call_end(facts: Facts) -> Iterator[Diagnostic]:
    files = facts.files
    if facts.renders is None:
        return
    by_id = eos_texts(files, facts.tokenizer)
    named = {text for text in by_id.values() if text} or {files.special_tokens.get("eos_token", "")} - {""}
    # An id without a known token may be that of any token.
    if not named or None in by_id.values():
        return
    for mark in facts.profile.stop_of_calls:
        if mark not in named and token_of(files, facts.tokenizer, mark):
            place = eos_place(files) if by_id else "tokenizer_config.json"
            yield Diagnostic(
                f"A call ends with {mark}, but {place} stops the model only at {listed(sorted(named))}: it "
                "continues after its call and invents the result.",
                f"Send {json.dumps(mark, ensure_ascii=False)} as a stop string in each request, or add its id to "
                "eos_token_id in generation_config.json and config.json.",
                outcome="call-end-not-a-stop",
            )
