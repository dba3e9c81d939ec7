"""Check that a request renders to the same text in many processes.

The processes differ in hash seed, time zone and day. The keys of messages, calls and definitions are shuffled. The
order of arguments and of `parameters` is significant, so it is shuffled only with `sort_properties=True`. `now` is
fixed, except in one row that shows how many templates print the day.

`python -m benchmarks.delivery --determinism N` calls `report`; each process is this module with a seed:

    python -m benchmarks.one_text SEED < NAMES-AND-SOURCES
"""

from __future__ import annotations

import copy
import datetime as datetime_module
import hashlib
import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import toolfmt.model.model
from benchmarks.conversations import TOOLS, conversations
from benchmarks.real_templates import Template
from benchmarks.template_models import NOW, model_of
from toolfmt.errors import ToolfmtError

CONVERSATIONS = (
    "system, question",
    "two exchanges",
    "reasoning and text next to a call",
    "typed arguments",
    "two calls",
)
ORDERED = frozenset({"arguments", "parameters"})
"""Under these keys order counts."""
MOST = 12
ZONES = ("UTC", "Asia/Tokyo", "America/New_York", "Pacific/Apia", "Europe/Berlin")


def shuffled(value: Any, chance: random.Random, *, all_of_it: bool = False) -> Any:
    """The value with the keys of its dictionaries in another order; tools keep theirs."""
    if isinstance(value, list):
        return [shuffled(one, chance, all_of_it=all_of_it) for one in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    chance.shuffle(keys)
    kept = () if all_of_it else ORDERED
    return {key: value[key] if key in kept else shuffled(value[key], chance, all_of_it=all_of_it) for key in keys}


def child(seed: int) -> None:
    """Renders standard input, and writes the digest of each prompt."""
    chance = random.Random(seed)

    class Today(datetime_module.datetime):
        @classmethod
        def now(cls, tz: datetime_module.tzinfo | None = None) -> Today:
            return cls(*NOW.timetuple()[:6]) + datetime_module.timedelta(days=40 * seed, hours=seed)

    toolfmt.model.model.datetime = Today  # type: ignore[attr-defined]  # a day of another date
    digests: dict[str, str] = {}
    for name, source in json.load(sys.stdin):
        model = model_of(source)

        def text(messages: Any, tools: Any, render: Callable[..., Any] = model.render, **more: Any) -> str:
            try:
                return str(render(messages, tools, **more).text)
            except ToolfmtError as error:
                return str(error)

        made = conversations()
        for conversation in CONVERSATIONS:
            for tools in (None, TOOLS):
                messages, given = shuffled(made[conversation][0], chance), shuffled(copy.deepcopy(tools), chance)
                key = f"{name} / {conversation} / {'tools' if tools else 'no tools'}"
                digests[f"{key} / now fixed"] = digest(text(messages, given, now=NOW))
                digests[f"{key} / now left out"] = digest(text(messages, given))
                if tools:
                    mixed = shuffled(copy.deepcopy(tools), chance, all_of_it=True)
                    digests[f"{key} / properties sorted"] = digest(text(messages, mixed, now=NOW, sort_properties=True))
    json.dump(digests, sys.stdout)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def spread(templates: Sequence[Template], most: int) -> Sequence[Template]:
    """So many of them, evenly."""
    return templates[:: max(1, len(templates) // most)][:most]


def report(templates: Sequence[Template], processes: int, at_once: int) -> int:
    """Prints how many texts each request had; returns 1 if a request with a fixed time had more than one."""
    with_clock = [template for template in templates if "strftime_now" in template.source]
    others = [template for template in templates if template not in with_clock]
    some = [*spread(with_clock, MOST // 3), *spread(others, MOST - MOST // 3)]
    given = json.dumps([(template.name, template.source) for template in some])

    def run(seed: int) -> dict[str, str]:
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "TZ": ZONES[seed % len(ZONES)]}
        command = [sys.executable, "-m", "benchmarks.one_text", str(seed)]
        done = subprocess.run(command, input=given, capture_output=True, text=True, env=environment, check=True)
        return dict(json.loads(done.stdout))

    texts: dict[str, set[str]] = defaultdict(set)
    with ThreadPoolExecutor(at_once) as pool:
        for digests in pool.map(run, range(processes)):
            for key, found in digests.items():
                texts[key].add(found)
    print(f"{processes} processes, {len(some)} templates, {len(texts)} requests; texts per request:")
    failed = 0
    for kind in ("now fixed", "properties sorted", "now left out"):
        requests = {key: found for key, found in texts.items() if key.endswith(kind)}
        several = {key: len(found) for key, found in requests.items() if len(found) > 1}
        if requests:
            print(f"  {kind:20}{len(requests):5} requests, {len(several)} with more than one text")
            print("".join(f"      {key}: {number}\n" for key, number in list(several.items())[:6]), end="")
        failed += len(several) if kind != "now left out" else 0
    return 1 if failed else 0


if __name__ == "__main__":
    child(int(sys.argv[1]))
