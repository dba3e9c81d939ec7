"""Parse recorded outputs of real models and print how many known calls are read exactly.

    python benchmarks/recorded_answers.py [--sample 20] [--seed 0] [--only WORDS] [--file real|recorded] [--id ID]

Needs the folder `shared` next to the checkout. For `real.jsonl`, it prints the outputs with known calls by format, and
the outcome of those that are not read exactly (`content`: no call was detected; `rejected, …`; `fewer calls`; `other
calls`; `other arguments`). It also counts the outputs for questions without a fitting tool that make a call or have one
rejected, and tolerances. For `recorded.jsonl`, which has no expectations, it prints calls, rejections, and outputs that
name a declared tool but end as content only. A random sample of conspicuous outputs is printed whole, for review by
hand: missed calls, and calls read from outputs with unknown calls. `--only` prints those whose outcome or format
contains WORDS.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from recorded_cases import calls_of, cases, read, went

from toolfmt.formats import Parser
from toolfmt.messages.events import ToolCallEnd


def tolerated(case: Any) -> tuple[str, ...]:
    parser = Parser(case["format"], tools=case["tools"], prefix=case.get("prefix", ""))
    events = [*parser.feed(case["output"]), *parser.finish()]
    return tuple(sorted({name for event in events if isinstance(event, ToolCallEnd) for name in event.tolerated}))


def outcome(case: Any) -> str:
    """The outcome of an output without expectations."""
    message = read(case)
    if message.tool_calls:
        return "calls, one rejected" if message.rejected else "calls"
    if message.rejected:
        return "rejected, " + message.rejected[0].reason
    names = {tool.get("function", tool).get("name") for tool in case["tools"] or ()}
    return "names a tool" if any(name and name in case["output"] for name in names) else "prose"


def table(title: str, rows: list[tuple[str, str]]) -> None:
    """Outcomes by format."""
    print(f"\n{title}: {len(rows):,}")
    outcomes = [name for name, _ in Counter(kind for _, kind in rows).most_common()]
    for format in [*sorted({format for format, _ in rows}), "all"]:
        found = Counter(kind for name, kind in rows if format in (name, "all"))
        counts = ", ".join(f"{kind} {found[kind]}" for kind in outcomes if found[kind])
        print(f"  {format:16} {sum(found.values()):5}  {counts}")


def shown(case: Any, kind: str) -> str:
    message = read(case)
    tools = [
        f"{tool['function']['name']}({', '.join(tool['function'].get('parameters', {}).get('properties', {}))})"
        for tool in case["tools"] or ()
        if "function" in tool
    ]
    lines = [f"--- {case['id']}  {case['format']}  {case['model']}  {case.get('kind', '')}: {kind}"]
    lines.append(f"    tools     {'; '.join(tools)[:400]}")
    lines += [f"    | {line}" for line in case["output"][:2000].splitlines()]
    if case.get("calls") is not None:
        lines.append(f"    known     {json.dumps(case['calls'], ensure_ascii=False)}")
    lines.append(f"    calls     {json.dumps(calls_of(message), ensure_ascii=False)}")
    if tolerated(case):
        lines.append(f"    tolerated {', '.join(tolerated(case))}")
    lines += [f"    rejected  {rejected.reason} {rejected.name} {rejected.raw!r}" for rejected in message.rejected]
    lines.append(f"    content   {message.content!r}")
    return "\n".join(lines)


def classes(file: str) -> Iterator[tuple[Any, str]]:
    for case in cases(f"{file}.jsonl"):
        known = case.get("calls") is not None
        yield case, went(case, read(case)) if known else outcome(case)


def main() -> int:
    arguments = argparse.ArgumentParser(description="Parse recorded outputs of real models")
    arguments.add_argument("--sample", type=int, default=20, metavar="N", help="print N conspicuous outputs")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--only", default="", metavar="WORDS", help="only these outcomes or formats")
    arguments.add_argument("--file", choices=["real", "recorded"], help="only this file")
    arguments.add_argument("--id", action="append", default=[], help="print this output; repeatable")
    options = arguments.parse_args()
    if not cases("real.jsonl"):
        print("the folder `shared` next to the checkout is missing")
        return 2
    files = [options.file] if options.file else ["real", "recorded"]
    found = {file: list(classes(file)) for file in files}
    if options.id:
        print(
            "\n\n".join(shown(case, kind) for rows in found.values() for case, kind in rows if case["id"] in options.id)
        )
        return 0
    for file, rows in found.items():
        known = [(case["format"], kind) for case, kind in rows if case.get("calls") is not None]
        if known:
            table("outputs with known calls", known)
            count = sum(kind == "read" for _, kind in known)
            print(f"  read exactly: {count} of {len(known)} ({count / len(known):.1%})")
        relevance = [(case["format"], kind) for case, kind in rows if case.get("kind") == "relevance"]
        if relevance:
            table("outputs without a fitting tool", relevance)
        others = [(case, kind) for case, kind in rows if case.get("calls") is None and case.get("kind") != "relevance"]
        table(f"other outputs of {file}.jsonl", [(case["format"], kind) for case, kind in others])
        table("tolerances of outputs with calls", [(name, "answers") for case, _ in rows for name in tolerated(case)])
    odd = [(case, kind) for rows in found.values() for case, kind in rows if kind not in ("read", "prose")]
    odd = [(case, kind) for case, kind in odd if kind != "calls" or tolerated(case) or case.get("kind") == "relevance"]
    odd = [(case, kind) for case, kind in odd if options.only in f"{kind} {case['format']} {case.get('kind', '')}"]
    drawn = random.Random(options.seed).sample(odd, min(options.sample, len(odd)))
    print(f"\n{len(odd):,} conspicuous outputs, {len(drawn)} of them:\n")
    print("\n\n".join(shown(case, kind) for case, kind in drawn))
    return 0


if __name__ == "__main__":
    sys.exit(main())
