"""The template ends an answer with a token that does not stop the model, by what the model's files name.

The model writes what ended the answers that it learnt from. A runtime stops at the end-of-sequence tokens that the
files name, and drops that token; where they name another one, the answer goes on behind its end, into a next turn
that the model invents. It happens when `eos_token` is that of the base model, when a configuration is written anew by
a conversion, or when the template is that of another model, whose tokens this one does not have.

What to do: name the token in `eos_token` of tokenizer_config.json and its id in `eos_token_id` of
generation_config.json and config.json; where the token is none of this model, take the model's own template.

Example: a template that ends turns with `<|im_end|>` beside `"eos_token": "<|endoftext|>"`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import REPLY, TOOLS, reply
from toolfmt.inspect.probe.stop_tokens import eos_place, eos_texts, token_of
from toolfmt.inspect.probe.turn_markers import answer_end
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.turn_shape import TurnShape

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    files, renders = facts.files, facts.renders
    if renders is None or facts.probed is None:
        return
    end, eos_token = answer_end(renders, facts.probed.shape), files.special_tokens.get("eos_token", "")
    by_id = eos_texts(files, facts.tokenizer)
    known = token_of(files, facts.tokenizer, end)
    named = {text for text in by_id.values() if text} or {eos_token} - {""}
    if not end or not named or known is None or end in named or end in set(renders.tokens.values()):
        return
    what = f"The template ends an answer with {end}"
    stops = listed(sorted(named | ({eos_token} - {""})))
    if not known:
        message = f"{what}, which is no token of this model; its files name {stops}."
        fix = "Take the template of the original model: this one was written for a model with other tokens."
    elif end == eos_token:
        file = eos_place(files)
        message = f"{what}, but eos_token_id in {file} names {listed(sorted(named))}: transformers does not stop there."
        fix = f"Add the id of {end} to eos_token_id in generation_config.json and config.json."
    else:
        message = f"{what}, but what stops the model, by its files, is {stops}: the answer goes on behind its end."
        fix = (
            f"Make {end} the eos_token in tokenizer_config.json, and add its id to eos_token_id in "
            "generation_config.json and config.json; or take the template of the original model."
        )
    messages = reply(facts.probed.shape or TurnShape())
    end_offset = renders.text(messages, TOOLS).find(end, renders.text(messages, TOOLS).rfind(REPLY))
    yield Diagnostic(message, fix, renders.line_at(messages, TOOLS, end_offset) if end_offset >= 0 else None)
