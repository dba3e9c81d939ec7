"""Measure how many mutations of the parser the fuzzer catches, and how fast.

    python benchmarks/fuzz_mutants.py [--seconds 30] [--seed 0] [--only N …]

Each mutation changes one place in a copy of `toolfmt.formats`, like a typical mistake: an inverted condition, an
off-by-one bound, a missing call. The copy is a separate package, `broken_N`, so that the original code generates and
checks the outputs. The fuzzer tests the copy's parser in a separate process, with outputs of the formats that use the
changed code, until the first failure or for the given number of seconds. Each row shows a mutation, the number of
outputs, the time (including the start of a process) and the guarantee that broke. The copy without a mutation is tested
first, and must pass. The last line shows the totals. The exit status is 1 if a mutation was not caught, or if its code
is no longer in its module.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from toolfmt.testing.fuzzing import Fuzz
from toolfmt.testing.targets import InProcessTarget

PACKAGE = Path(__file__).parent.parent / "toolfmt"
_OWN = re.compile(r"\btoolfmt(?=\.formats\b)")


class Mutation(NamedTuple):
    """A change of one place in the code, and the formats that use that code."""

    what: str
    module: str
    """The path of the module in `toolfmt/formats`, without `.py`."""
    old: str
    """The code to replace. It must occur once in the module."""
    new: str
    formats: tuple[str, ...]


ALL = ("json", "glm4", "lfm2", "kimi_k2", "qwen3_5", "gpt_oss")
MUTATIONS = (
    Mutation("a partial marker at a chunk's end is not held back", "scanner/literals",
             "found.end() == len(text) and self._extendable.get(literal, True):\n            literal = \"\"",
             "found.end() == len(text) and self._extendable.get(literal, True):\n            return None", ALL),
    Mutation("a marker that may be longer is taken at once", "scanner/literals",
             "if not closed and found.end() == len(text) and self._extendable.get(found.group(), True):\n"
             "            return \"\"\n        return found.group()",
             "return found.group()", ALL),
    Mutation("the fast path passes over a whole literal", "scanner/literals",
             "whole = found.end() < len(found.string) or found.group() in self.literals", "whole = False", ALL),
    Mutation("the fast path forgets what is held back", "parser/fast_path",
             "    if at < len(text):\n        scan.text, text = text[at:], text[:at]",
             "    if at < len(text):\n        scan.text, text = text[at + 1 :], text[:at]", ALL),
    Mutation("the fast path counts one too many", "parser/fast_path", "scan.offset = start + at",
             "scan.offset = start + at + 1", ALL),
    Mutation("a partial escape is not held back", "scanner/spans",
             'if at == len(text) or (text[at] == "\\\\" and not closed and _JSON_PARTIAL.match(text, at)):',
             "if at == len(text):", ("json", "kimi_k2", "llama3")),
    Mutation("an escaped quote ends a JSON string", "scanner/spans", r'(?:\\(?:["\\/bfnrt]|', r'(?:\\(?:[\\/bfnrt]|',
             ("json", "kimi_k2", "llama3")),
    Mutation("raw values are not escaped", "scanner/spans", "return escaped(said), at, ended", "return said, at, ended",
             ("glm4", "qwen3_5", "minimax_m2")),
    Mutation("a streamed raw value is not escaped", "scanner/spans", "        self.encode = escaped\n",
             "        self.encode = None\n", ("glm4", "qwen3_5", "minimax_m2")),
    Mutation("single-quoted strings keep their double quotes", "scanner/spans",
             "None if quote[0] == '\"' else _double_quotes_escaped", "None", ("lfm2", "pythonic")),
    Mutation("any end marker ends a raw value, and its call", "engines/raw_value",
             "token = yield from follows(scan, *tags.following)\n        if token:\n            if self.unclear",
             "token = (yield from follows(scan, *tags.following)) or tags.ends[0]\n"
             "        if token:\n            if self.unclear", ("glm4", "qwen3_5")),
    Mutation("a word is not looked at for its type", "engines/raw_value",
             "return self.held(types) if first in '{[\"' else self.word(types)", "return self.streamed()",
             ("glm4", "qwen3_5")),
    Mutation("a held-back value is a string for any schema", "engines/raw_value",
             "self.calls.arguments(self._typed(whole, types) or f'\"{escaped(whole)}\"')",
             "self.calls.arguments(f'\"{escaped(whole)}\"')", ("glm4", "qwen3_5")),
    Mutation("the types of the schema are ignored", "engines/call_builder",
             "        if self._schemas is None:\n            return None\n"
             "        key = (self._name",
             "        if self._schemas is not None:\n            return None\n        key = (self._name",
             ("glm4", "qwen3_5", "seed_oss")),
    Mutation("a union with string reads anything", "values/schema_types",
             "if whole is None or not _allowed(whole[0], types - STRING):", "if whole is None:",
             ("glm4", "qwen3_5", "minimax_m2")),
    Mutation("numbers in a list lose their comma", "values/value_reader", 'sink.arguments(f"{spaces},{after}")',
             'sink.arguments(f"{spaces}{after}")', ("json", "lfm2")),
    Mutation("True is a string", "values/value_reader", "        return notation.words[word]\n",
             "        return f'\"{word}\"'\n", ("lfm2", "pythonic")),
    Mutation("nesting is closed one too early", "values/value_reader", "    while stack:\n        spaces",
             "    while len(stack) > 1:\n        spaces", ("json", "lfm2")),
    Mutation("keys are not escaped", "values/value_reader",
             "sink.arguments(quoted(key))", "sink.arguments(f'\"{key.strip()}\"')",
             ("json",)),
    Mutation("indexes begin at 1", "engines/call_builder", "        self.index = -1\n        self._tolerated",
             "        self.index = 0\n        self._tolerated", ALL),
    Mutation("the index does not move on", "engines/call_builder",
             "        self.index += 1\n        self._begin, self.committed_before",
             "        self.index += self.index < 0\n        self._begin, self.committed_before", ALL),
    Mutation("a truncated call is emitted as ended", "engines/call_builder",
             "        self._complete = False\n        self.mark_rejected(reason, expected, at)\n",
             "        self._complete = True\n", ALL),
    Mutation("spans begin one too late", "engines/call_builder",
             "span = (max(self._begin, 0)", "span = (max(self._begin, 0) + 1",
             ALL),
    Mutation("undeclared tools are called", "engines/call_builder",
             "elif self._schemas is not None and name not in self._schemas:",
             "elif False:", ALL),
    Mutation("arguments are flushed twice", "engines/call_builder",
             "            self._fragments = []\n\n    def _finish",
             "            pass\n\n    def _finish", ALL),
    Mutation("a quotation is a call", "parser/driver", 'quoted = found == "`"', "quoted = False", ALL),
    Mutation("content before a start marker is dropped", "parser/driver",
             "            self._emit(Content, before, here - len(before))\n", "", ALL),
    Mutation("a fence does not hold back calls", "parser/driver", "            if self.fence:\n",
             "            if False:\n", ("lfm2", "llama3", "pythonic")),
    Mutation("whitespace before content is dropped", "parser/driver",
             "            self._emit(Content, spaces, begin)\n            self._emit(Content, opener, here)\n",
             "            self._emit(Content, opener, here)\n", ALL),
    Mutation("what follows a call is dropped", "parser/driver",
             "        self.beside_call, self.name_at_start = True, False\n        return goes_on",
             "        self.beside_call, self.name_at_start = True, False\n        return False", ALL),
    Mutation("an attempt is not looked for", "parser/recovery",
             "        if not calls.declared:\n            return False",
             "        if True:\n            return False", ALL),
    Mutation("parsing continues after the next call", "parser/recovery",
             "        if found in inner.openers:\n            scan.rewind(scan.position - len(found))\n",
             "        if found in inner.openers:\n", ("glm4", "kimi_k2", "qwen3_5", "minimax_m2")),
    Mutation("a header's name keeps a space", "engines/named_json", "= yield from self._header(scan, calls)\n",
             "= yield from self._header(scan, calls)\n        name += ' '\n",
             ("kimi_k2", "deepseek_v31", "mistral")),
    Mutation("no comma between arguments", "engines/tagged", "{'' if first else ', '}{quoted(key)}",
             "{'' if first else ' '}{quoted(key)}", ("glm4", "qwen3_5")),
    Mutation("lists are no deeper than three", "values/value_reader", "if len(stack) > DEEPEST:", "if len(stack) > 3:",
             ("json", "llama3")),
    Mutation("what is held back at the end is dropped", "parser/parser",
             "scan.closed, scan.cut = True, cut\n        return self._driver.go_on()",
             "scan.closed, scan.cut = True, cut\n        self._driver.go_on()\n        return []", ALL),
    Mutation("a key's colon may be an equals sign", "values/value_reader",
             'expect(":", key=key)', 'expect(":", "=", key=key)', ("json", "kimi_k2")),
    Mutation("the text after a string's end is not checked", "scanner/spans",
             "                if ends:\n                    return said, at + len",
             "                if True:\n                    return said, at + len", ("lfm2", "pythonic")),
)  # fmt: skip

CONTROL = Mutation("nothing", "scanner/literals", "import re", "import re", ALL)


def broken_copy(folder: Path, number: int, mutation: Mutation) -> str:
    """Write `broken_N`, a copy of the parser with a mutation, and return the name of the module with its factories.

    Raises `LookupError` if the code to replace does not occur exactly once.
    """
    name = f"broken_{number}"
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    shutil.copytree(PACKAGE / "formats", package / "formats", ignore=shutil.ignore_patterns("__pycache__"))
    changed = package / "formats" / f"{mutation.module}.py"
    text = changed.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        raise LookupError(f"{text.count(mutation.old)} places in {mutation.module}.py, not one")
    changed.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    for module in package.rglob("*.py"):
        module.write_text(_OWN.sub(name, module.read_text(encoding="utf-8")), encoding="utf-8")
    factories = [f"def {format}(tools=None): return Parser({format!r}, tools=tools)" for format in mutation.formats]
    lines = [f"from {name}.formats import Parser", *factories]
    (package / "parsers.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{name}.parsers"


def caught(module: str, mutation: Mutation, seconds: float, seed: int) -> tuple[str, int, float]:
    """Return the guarantee that broke (empty if none did), the number of outputs of all formats, and the time in
    seconds."""
    outputs, started = 0, time.monotonic()
    for format in mutation.formats:
        with InProcessTarget(f"{module}:{format}", timeout=5) as target:
            search = Fuzz(target, (format,), seed)
            for _ in search.run(seconds / len(mutation.formats)):
                if search.defects:
                    break
            outputs += search.outputs
            if search.defects:
                defect = next(iter(search.defects.values()))
                return f"{format}: {defect.invariant}: {defect.kind}", outputs, time.monotonic() - started
    return "", outputs, time.monotonic() - started


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how many mutations of the parser the fuzzer catches.")
    parser.add_argument("--seconds", type=float, default=30.0, help="maximum for one mutation, over all its formats")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*", help="run only these mutations, by number")
    given = parser.parse_args()
    chosen = [(at, one) for at, one in enumerate(MUTATIONS, 1) if not given.only or at in given.only]
    missed, outputs = 0, []
    with tempfile.TemporaryDirectory(prefix="toolfmt-broken-") as folder:
        sys.path.insert(0, folder)
        if how := caught(broken_copy(Path(folder), 0, CONTROL), CONTROL, given.seconds, given.seed)[0]:
            raise SystemExit(f"the unchanged copy has a failure, so that the result means nothing: {how}")
        for number, mutation in chosen:
            try:
                module = broken_copy(Path(folder), number, mutation)
            except LookupError as changed:
                print(f"{number:>2}  {mutation.what:<48}  not tested, the code has changed: {changed}", flush=True)
                missed += 1
                continue
            how, tested, took = caught(module, mutation, given.seconds, given.seed)
            missed += not how
            outputs += [tested] if how else []
            print(
                f"{number:>2}  {mutation.what:<48}  {tested:>6} outputs  {took:>6.1f} s  {how or 'NOT CAUGHT'}",
                flush=True,
            )
    median = sorted(outputs)[len(outputs) // 2] if outputs else 0
    print(f"{len(chosen) - missed} of {len(chosen)} caught; the median one with {median} outputs")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
