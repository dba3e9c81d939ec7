"""Measure the time and memory that `toolfmt inspect` needs to report templates that hang or exhaust memory.

    python -m benchmarks.attacks [NAME …]

One worker with the limits of `toolfmt inspect` inspects each attack, then an honest template. Escapes from jinja2's
sandbox are not included. Prints the seconds until the report, the worker's peak memory and the limit that was hit; at
the end, the peak memory of this process.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
from pathlib import Path

from toolfmt.model.jobs import shared_worker
from toolfmt.model.model import Model
from toolfmt.templates import ModelFiles, TemplateSource

HONEST = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"

ATTACKS: dict[str, str] = {
    "power in a dead branch": "{% if false %}{{ 9 ** (9 ** 9) }}{% endif %}",
    "power": "{{ 9 ** (9 ** 9) }}",
    "power of powers": "{% set x = namespace(v=3) %}{% for i in range(40) %}{% set x.v = x.v * x.v %}{% endfor %}",
    "repeated text": "{{ 'a' * 10 ** 10 }}",
    "repeated text in a dead branch": "{% if false %}{{ 'a' * 10 ** 10 }}{% endif %}",
    "repeated text, some at a time": "{% set x = 'a' * 9999999 %}{% for i in range(1000) %}{{ x }}{% endfor %}",
    "repeated list": "{{ ([0] * 9999999) | length }}{{ [[0] * 9999999, [0] * 9999999, [0] * 9999999] * 3333333 }}",
    "ljust": "{{ 'a'.ljust(10 ** 9) | length }}{{ 'a'.ljust(10 ** 10) }}",
    "center": "{{ 'a'.center(10 ** 10) }}",
    "center, the filter": "{{ 'a' | center(10 ** 10) }}",
    "indent": "{{ ('a\\n' * 100000) | indent(10 ** 6) }}",
    "a width": "{{ '%1000000000d' % 1 }}{{ '%10000000000d' % 1 }}",
    "a width of format": "{{ '{:1000000000}'.format(1) | length }}{{ '{:10000000000}'.format(1) }}",
    "a width of the filter format": "{{ '%10000000000d' | format(1) }}",
    "tojson with indent": "{{ [[[[[[[[0]]]]]]]] | tojson(indent=10 ** 10) }}",
    "replace": "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
    "join": "{{ ('a' * 1000000) | join('b' * 1000000) }}",
    "doubling": "{% set x = namespace(v='a') %}{% for i in range(60) %}{% set x.v = x.v + x.v %}{% endfor %}",
    "doubling lists": "{% set x = namespace(v=[0]) %}{% for i in range(60) %}{% set x.v = x.v + x.v %}{% endfor %}",
    "nested ranges": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "nested ranges that write": (
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ 'aaaaaaaaaaaaaaaaaaaa' }}{% endfor %}{% endfor %}"
    ),
    "forking macros": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "endless recursion": "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    "lipsum": "{{ lipsum(n=10 ** 9) }}",
    "200,000 expressions": "{{1}}" * 200_000,
    "a long sum": "{{" + "+".join(["x"] * 400_000) + "}}",
    "a deep expression": "{{" + "(" * 50_000 + "1" + ")" * 50_000 + "}}",
    "deep blocks": "{% if x %}" * 20_000 + "{% endif %}" * 20_000,
    "deep lists": "{{" + "[" * 50_000 + "]" * 50_000 + "}}",
    "a source of 2 MB": "{# " + "a" * 2_000_000 + " #}",
    "a batch": "{{ range(99999) | batch(10 ** 9, 0) | list }}",
    "a slice": "{{ range(99999) | slice(10 ** 9) | list | length }}",
    "one long word": HONEST.replace("{% endfor %}", "{{ ('a' * 900) * 400 }}{% endfor %}"),
    "one long word at the end": HONEST + "{{ ('a' * 900) * 400 }}",
    "one long mark at the end": HONEST + "{{ ('<' * 900) * 400 }}",
    "one long mark beside a call": (
        "{% for message in messages %}<|{{ message.role }}|>{{ message.content or '' }}"
        "{{ '<' * 60000 if message.role == 'assistant' }}"
        "{% for call in message.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}{% endfor %}"
    ),
    "sorting": "{% for a in range(99999) %}{{ range(99999) | sort(reverse=true) | length }}{% endfor %}",
    "many large numbers": "{% for i in range(99999) %}{{ (9 ** 300000) % 7 }}{% endfor %}",
    "a slow clock": "{% for i in range(99999) %}{{ strftime_now('%Y' * 99999) | length }}{% endfor %}",
    "nested lists": (
        "{% set x = namespace(v=[]) %}{% for i in range(99999) %}{% set x.v = [x.v] %}{% endfor %}" * 60 + HONEST
    ),
    "many lines": "\n" * 900_000 + "{{ [1] * 9999999 }}",
    "only under another engine": "{% if cycler is not defined %}{{ 'a' * 10 ** 10 }}{% endif %}" + HONEST,
    "only with a variable": "{% if enable_thinking %}{{ 'a'.ljust(10 ** 10) }}{% endif %}" + HONEST,
    "only in a long conversation": "{% if messages | length > 3 %}{{ 'a'.ljust(10 ** 10) }}{% endif %}" + HONEST,
    "only with a large schema": (
        "{% for tool in tools or [] %}{% if tool.function.parameters.properties | length > 3 %}"
        "{{ 'a'.ljust(10 ** 10) }}{% endif %}{% endfor %}" + HONEST
    ),
    "only with tools": "{% if tools %}{{ 'a'.ljust(10 ** 10) }}{% endif %}" + HONEST,
    "only with a generation prompt": HONEST
    + "{% if add_generation_prompt %}"
    + "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}",
}
"""By name; the kinds are those that FIELD's list of classes names, most in more than one form."""


def files(source: str) -> ModelFiles:
    return ModelFiles(Path("attack"), None, {}, {}, {}, (TemplateSource(source, "chat_template.jinja"),), {})


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("names", nargs="*")
    chosen = arguments.parse_args().names or list(ATTACKS)
    shared_worker().start()
    print("seconds  worker's peak  attack: result")
    for name in chosen:
        begin = time.perf_counter()
        peak = _Peak()
        report = Model(files(ATTACKS[name])).inspect()
        seconds = time.perf_counter() - begin
        found = [finding for finding in report.findings if finding.code == "TF007"]
        message = found[0].message if found else f"no limit hit: {[finding.code for finding in report.findings]}"
        print(f"{seconds:7.2f} {peak.stop() >> 20:8} MB     {name}: {message}", flush=True)
        after = Model(files(HONEST)).inspect()
        assert after.capabilities["system"].answer == "yes", name
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


class _Peak:
    """The peak memory of the shared worker, sampled every few milliseconds (Linux)."""

    def __init__(self) -> None:
        self._most, self._stop = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            process = shared_worker()._process
            if process is not None:
                self._most = max(self._most, _resident(process.pid))

    def stop(self) -> int:
        self._stop.set()
        self._thread.join()
        return self._most


def _resident(pid: int) -> int:
    try:
        sizes = Path(f"/proc/{pid}/statm").read_text("ascii").split()
    except (OSError, IndexError):
        return 0
    return int(sizes[1]) * resource.getpagesize() if len(sizes) > 1 else 0


if __name__ == "__main__":
    main()
