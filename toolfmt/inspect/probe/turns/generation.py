"""Where the response starts and ends: what the generation prompt adds, what it leaves open, what stops the model."""

from __future__ import annotations

import re
from functools import partial

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.conversations import REPLY, TOOLS, USER, reply, user
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import token_begin
from toolfmt.inspect.probe.turns.turn_probe import TurnProbe, no, yes
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.template_profile import TemplateProfile
from toolfmt.inspect.report.wording import quote
from toolfmt.templates import ChatTemplate

_GENERATION = re.compile(r"\{%([-+]?)\s*(end)?generation\s*([-+]?)%\}")
_MARKED = {"": "Gq1begin", "end": "Gq2end"}


def generation_prompt(probe: TurnProbe) -> Answer:
    """Return what `add_generation_prompt=True` adds after a question.

    The outcome is `misplaced` if the prompt always ends with it, `in-place` if the template renders a response
    directly after the question.
    """
    without = probe.prompt_as_requested(user())
    added = probe.prompt(user(), generation=True)
    line = probe.line(r"\badd_generation_prompt\b")
    if isinstance(added, TemplateError):
        return threw(added)
    if isinstance(without, TemplateError):
        return yes("the prompt ends with {}", line, quote(added.rpartition(USER)[2], 80))
    if added != without:
        what = added[token_begin(added, common_prefix(without, added)) :]
        begin = len(added) - len(what.lstrip())
        line = probe.line_at(user(), begin, generation=True) or line
        if not what.strip():
            left_out = without[common_prefix(without, added) :]
            first, second = (
                partial(probe.renders.fresh, user(), generation=generation) for generation in (False, True)
            )
            expected = probe.without_tools(user())
            line = probe.renders.deciding_line(first, second, lambda prompt: prompt == expected) or line
            return yes("after a question it only leaves out {}", line, quote(left_out, 80))
        words, excerpts = _after_result(probe, what)
        return yes(f"after a question it adds {{}}{words}", line, quote(what, 80), *excerpts)
    tail = added.rpartition(USER)[2]
    same = "after a question the prompt is the same with and without it"
    answered = probe.text(reply()).partition(REPLY)[0].rstrip() == without.rstrip()
    if answered and not tail.strip():
        return no(f"{same}: the template renders a response directly after it", "in-place", line)
    if answered or len(answer_prefix(tail)) < len(tail):
        line = probe.line_at(user(), len(added.rstrip()) - 1, generation=True) or line
        return no(f"{same}; it always ends with {{}}", "misplaced", line, quote(tail, 80))
    if not tail.strip():
        return no(f"{same}: nothing is added after the text", "", line)
    return no(f"{same}: nothing is added after {{}}", "", line, quote(tail, 80))


def _after_result(probe: TurnProbe, what: str) -> tuple[str, tuple[str, ...]]:
    """Return the generation prompt after a tool result if it is not `what`: a phrase and its excerpts."""
    if probe.results == "none":
        return "", ()
    history = probe.history()
    history = history if history[-1]["role"] == "tool" else history[:-1]
    tools = TOOLS if (probe.answered or probe.shape).tools else None
    renders = probe.renders.as_requested()
    without, added = (renders.render(history, tools, generation=generation) for generation in (False, True))
    if not isinstance(without, str) or not isinstance(added, str) or added.rstrip().endswith(what.strip()):
        return "", ()
    if added == without:
        return "; after a result it adds nothing", ()
    other = added[token_begin(added, common_prefix(without, added)) :]
    return "; after a result it adds {}", (quote(other, 80),)


def generation_open(profile: TemplateProfile, probe: TurnProbe) -> Answer:
    """Return what the generation prompt starts the response with; if nothing, what past responses have after it."""
    if not profile.prefill:
        prompt, answered = probe.prompt(user(), generation=True), probe.text(reply())
        follows = isinstance(prompt, str) and answered.startswith(prompt)
        left = answered[len(prompt) :].partition(REPLY)[0] if follows and isinstance(prompt, str) else ""
        if left.strip():
            # The text before a response may differ between the last message and the history.
            history = probe.text([*reply(), *user()])
            kept = history.startswith(f"{prompt}{left}")
            which = "earlier responses without calls start" if kept else "a response that is the last message starts"
            return no(f"the prompt contains no part of the response; {which} with {{}}", "", None, quote(left, 80))
        return no("the prompt contains no part of the response")
    return yes("the generation prompt starts the response with {}", None, quote(profile.prefill, 80))


def generation_marked(profile: TemplateProfile, probe: TurnProbe) -> Answer:
    """Return whether the region marked by `{% generation %}` includes the token that ends a response."""
    template = probe.renders.template
    source = _GENERATION.sub(_marking, template.code)
    ends = [stop for stop in profile.stop if stop not in profile.stop_of_calls]
    if source == template.code:
        return no("the template has no `{% generation %}`")
    try:
        marked = probe.renders.of(ChatTemplate(source, template.special_tokens)).text(reply())
    except TemplateError as error:
        return threw(error)
    inside = "".join(re.findall(f"{_MARKED['']}(.*?){_MARKED['end']}", marked, re.DOTALL))
    after = marked.rpartition(REPLY)[2]
    line = probe.line(r"generation\s*-?%}")
    if REPLY not in inside:
        return no("`{% generation %}` does not mark the response", "dropped", line)
    outside = next((end for end in ends if end in after and end not in inside), None)
    if outside is not None:
        return no("the stop token {} is outside `{% generation %}`", "misplaced", line, outside)
    return yes("`{% generation %}` marks the response and its stop token", line)


def _marking(tag: re.Match[str]) -> str:
    """Replace a tag with an expression that prints a sentinel."""
    before, end, after = tag.groups("")
    return f"{{{{{before} '{_MARKED[end]}' {after}}}}}"


def stop(
    profile: TemplateProfile, *, eos_token: str | None, after: str | None, follows: str, inside: str = ""
) -> Answer:
    """Return what ends a response, and whether this includes the end-of-sequence token.

    `after` is what the template writes after a response, None if it renders none. `follows` is the first marker
    before the next question, or empty. `inside` is the marker at the end of a response if outputs also contain it
    earlier.
    """
    ending = tuple(stop for stop in profile.stop if stop not in profile.stop_of_calls)
    if not ending and after is None:
        return no("unknown: no response with text is rendered, and no eos_token is defined")
    if inside and ending in ((), (eos_token,)):
        what = "a response ends with {}, which is not a stop string: it is also after the reasoning or inside a call"
        if eos_token:
            return no(f"{what}; only the eos_token, {{}}, ends a response", "inside", None, inside, eos_token)
        return no(f"unknown: no eos_token is defined; {what}", "inside", None, inside)
    if not ending:
        what = "unknown: no eos_token is defined, and the template writes no separate end marker after a response"
        return no(f"{what}; if the conversation continues, {{}} follows", "", None, follows) if follows else no(what)
    if eos_token and ending == (eos_token,) and after is None:
        return no(
            "no response with text is rendered; only the eos_token, {}, is known to end one",
            "",
            None,
            eos_token,
        )
    if eos_token and ending == (eos_token,) and eos_token not in (after or ""):
        what = "the template writes no marker after a response; only the eos_token, {}, ends one"
        return no(what, "", None, eos_token)
    named, token = ("the eos_token is {}", (eos_token,)) if eos_token else ("no eos_token is defined", ())
    return yes(f"a response without calls is complete at {{}}; {named}", None, listed(ending, "or"), *token)
