"""Whether the reports tell the quirks that were noted of templates: QUIRKS.md in a folder of them, section by section.

    python -m benchmarks.quirks FOLDER [--workers N] [--trusted]

A section is a heading with a list of templates, by the stems of their files; those without a file in the folder are
left out. For each section with a test below: how many are listed, how many of them the report tells, and the names of
those that it does not tell.
"""

from __future__ import annotations

import json
import re

from benchmarks.inspecting_many import inspected, options
from benchmarks.report_figures import Report, Test, answer, told

_HEADING = re.compile(r"^### (.+?) \(\d+\)$")
_NAME = re.compile(r"`([^`]+)`(?: \([^)]*\))?(?=,|$)")


def finding(*codes: str, words: str = "") -> Test:
    return lambda report: any(told(report, code, words) for code in codes)


def capability(name: str, expected: str, outcome: str | None = None) -> Test:
    return lambda report: (
        answer(report, name) == expected and (outcome in (None, report["capabilities"][name]["outcome"]))
    )


def detail(name: str, expected: str) -> Test:
    return lambda report: report["details"].get(name, {}).get("answer") == expected


def anywhere(words: str) -> Test:
    return lambda report: words in json.dumps(report, ensure_ascii=False)


def either(*tests: Test) -> Test:
    return lambda report: any(test(report) for test in tests)


def both(*tests: Test) -> Test:
    return lambda report: all(test(report) for test in tests)


def rewritten(report: Report) -> bool:
    """A turn does not go on as the one before."""
    return any(turn["kept"] < turn["length"] for turn in (report["prefix"] or {}).get("turns", []))


PYTHON_VALUES = either(anywhere(" is printed, as Python writes it: "), capability("arguments_object", "no", "python"))
TESTS: dict[str, Test] = {
    "Filter that jinja2/transformers does not define": anywhere("No filter named"),
    "Mutates lists/dicts": finding("TF039"),
    "`tojson` of a generator": anywhere("generator is not JSON serializable"),
    "Uses `strftime_now`": finding("TF004"),
    "Raises on a system role": capability("system", "error"),
    "Silently drops the system message": capability("system", "no"),
    "Raises on a later system message": detail("system_later", "error"),
    "Raises on two user messages in a row": detail("users_in_a_row", "error"),
    "Fails even on a plain user message": finding("TF003"),
    "Accepts/handles tool messages but never shows": finding("TF011", "TF012"),
    "Shows tools only when the first message is": capability("tools", "yes", "beside-system"),
    "`tools=[]` is not the same as": finding("TF010"),
    "Raises with `tools` given": capability("tools", "error"),
    "Needs arguments as an object": capability("arguments_string", "error"),
    "String arguments accepted but lost or mangled": finding("TF016"),
    "Needs arguments as a JSON string": capability("arguments_object", "error"),
    "Dict arguments printed as Python repr": capability("arguments_object", "no", "python"),
    "Double-encodes string arguments": finding("TF014"),
    "Takes both forms with the same output": both(
        capability("arguments_object", "yes"), capability("arguments_string", "yes")
    ),
    "Gemma 4 revisions that splice a string raw": finding("TF016"),
    "Drops assistant tool calls entirely": finding("TF013"),
    "Renders tool calls only when `content` is null": finding("TF028"),
    "Drops the call when the message also has text": finding("TF030", words="call is dropped"),
    "Drops the text when the message has calls": finding("TF030", words="Text beside"),
    "Raises on `content: null`": capability("content_null", "error"),
    "Raises when `content` is absent": detail("content_absent", "error"),
    "Raises on two parallel calls": either(
        capability("parallel_tool_calls", "error"), detail("results_several", "error")
    ),
    "Silently drops the second parallel call": capability("parallel_tool_calls", "no"),
    "Tool-call ids must be 9": finding("TF029", words="are refused"),
    "Raises when a call has no id": detail("ids_none", "error"),
    "Prints the call id": capability("tool_call_ids", "yes"),
    "Function name is not printed": finding("TF029", words="cost the tool's name"),
    "Drops `role: tool` messages": capability("tool_results", "no"),
    "Raises on a tool response": capability("tool_results", "error"),
    "Booleans rendered as Python": PYTHON_VALUES,
    "null rendered as `None`": PYTHON_VALUES,
    "Nested objects rendered as Python repr": PYTHON_VALUES,
    "Calls or responses in history fail when": finding("TF032"),
    "`add_generation_prompt` ignored": finding("TF038"),
    "History is rewritten when the conversation grows": rewritten,
    "Assistant tool-call turn changes once": rewritten,
    "List-of-parts content printed as Python repr": finding("TF037"),
    "`developer` role rendered": detail("developer", "yes"),
}
"""What tells a quirk, by how its heading begins."""


def main() -> None:
    given = options(__doc__ or "").parse_args()
    for folder in given.folders:
        reports = {one.name: one.report for one in inspected([folder], given.workers, trusted=given.trusted)}
        for heading, names in quirks((folder / "QUIRKS.md").read_text(encoding="utf-8")).items():
            test = next((test for begin, test in TESTS.items() if heading.startswith(begin)), None)
            listed = {name: report for name in names if (report := reports.get(name)) is not None}
            if test is None or not listed:
                print(f"{len(listed):4}    -  {heading}")
                continue
            untold = [name for name, report in listed.items() if not test(report)]
            print(f"{len(listed):4} {len(listed) - len(untold):4}  {heading}")
            print(*(f"             not told: {name}" for name in untold), sep="\n", end="\n" if untold else "")


def quirks(text: str) -> dict[str, list[str]]:
    """The names listed under each heading."""
    found: dict[str, list[str]] = {}
    heading = None
    for line in text.splitlines():
        begun = _HEADING.match(line)
        if line.startswith("#"):
            heading = begun[1] if begun else None
        elif heading is not None and line.startswith("`"):
            found.setdefault(heading, []).extend(_NAME.findall(line))
    return found


if __name__ == "__main__":
    main()
