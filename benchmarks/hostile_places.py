"""Run `toolfmt inspect` on paths and templates that are made to leak data or to hang.

    python -m benchmarks.hostile_places [WORD …]

`PLACES` are directories and files that lead elsewhere or never end. `ESCAPES` are templates that try to access what
they must not. `WAITING` are templates that only a certain message triggers. With the resource attacks of
`benchmarks.attacks`, there are about two hundred. A separate command inspects each. Its environment contains a secret,
and a file next to the path contains another. Prints the exit status, the seconds, the bytes of stdout and stderr, and
the message. The exit status is 1 if a command exceeded the time limit, printed a secret, or ended abnormally.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attacks import ATTACKS, HONEST

SECRET = "Wz7secret-of-somebody-else"
"""In the environment of the command, and in a file next to the path."""
LONGEST_SECONDS, MOST_BYTES = 60.0, 3_000_000
READ = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.json",
    "chat_template.jinja",
    "additional_chat_templates/tool_use.jinja",
    "tokenizer.json",
    "model.gguf",
)
TARGETS = ("secret", "/proc/self/environ", "/etc/passwd", "/proc/kmsg", "/dev/zero", "/dev/tty", "/", "itself")


def _linked(name: str, target: str) -> Callable[[Path], Path]:
    def make(home: Path) -> Path:
        place = _honest(home, name)
        own = {"secret": str(home / "secret"), "itself": Path(name).name}
        (place / name).symlink_to(own.get(target, target))
        return place

    return make


def _replaced(name: str, put: Callable[[Path], object]) -> Callable[[Path], Path]:
    def make(home: Path) -> Path:
        place = _honest(home, name)
        put(place / name)
        return place

    return make


def _honest(home: Path, without: str) -> Path:
    """A model directory that is intact except for one file, which must still be written."""
    place = home / "model"
    (place / without).parent.mkdir(parents=True)
    if not without.endswith((".jinja", ".gguf")):
        (place / "chat_template.jinja").write_text(HONEST, "utf-8")
    return place


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path.name)
    os.chdir(here)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20 << 30)


def _more_elsewhere(home: Path) -> Path:
    place = _honest(home, "chat_template.jinja")
    (home / "outside").mkdir()
    (home / "outside" / "default.jinja").symlink_to(home / "secret")
    (place / "additional_chat_templates").symlink_to(home / "outside")
    return place


def _two_links(home: Path) -> Path:
    place = _honest(home, "chat_template.jinja")
    (place / "step").symlink_to(home)
    (place / "chat_template.jinja").symlink_to("step/secret")
    return place


def _blobs(home: Path) -> Path:
    place = home / "models--org--name" / "snapshots" / ("0" * 40)
    place.mkdir(parents=True)
    (home / "models--org--name" / "blobs").mkdir()
    (home / "models--org--name" / "blobs" / "abc").symlink_to(home / "secret")
    (place / "chat_template.jinja").symlink_to("../../blobs/abc")
    return place


def _folder(home: Path) -> Path:
    place = home / "folder"
    place.mkdir()
    for name, target in (("a.jinja", "/proc/self/environ"), ("b.jinja", "/etc/passwd"), ("c.jinja", home / "secret")):
        (place / name).symlink_to(target)
    os.mkfifo(place / "d.jinja")
    (place / "e").symlink_to(place)
    return place


def _named(ending: str, target: str) -> Callable[[Path], Path]:
    def make(home: Path) -> Path:
        place = home / f"named{ending}"
        place.symlink_to(home / "secret" if target == "secret" else target)
        return place

    return make


def _written(name: str, text: str) -> Callable[[Path], Path]:
    return _replaced(name, lambda path: path.write_text(text, "utf-8"))


def _many(home: Path) -> Path:
    place = home / "many"
    place.mkdir()
    for number in range(500):
        (place / f"{number}.jinja").symlink_to("/proc/self/environ")
    return place


PLACES: dict[str, Callable[[Path], Path]] = {
    **{f"{name} is a link to {target}": _linked(name, target) for name in READ for target in TARGETS},
    **{f"{name} is a pipe": _replaced(name, os.mkfifo) for name in READ},
    **{f"{name} is a directory": _replaced(name, Path.mkdir) for name in READ},
    **{f"{name} is a socket": _replaced(name, _socket) for name in READ},
    **{f"{name} has 20 GB of nothing": _replaced(name, _sparse) for name in READ},
    "templates of a directory elsewhere": _more_elsewhere,
    "a link by way of another": _two_links,
    "a blob of the hub cache that is a link": _blobs,
    "a folder of links": _folder,
    "500 links": _many,
    "a template that is a link to a secret": _named(".jinja", "secret"),
    "a template that is a link to the environment": _named(".jinja", "/proc/self/environ"),
    "a template that is a link to a device": _named(".j2", "/dev/zero"),
    "a GGUF file that is a link to a secret": _named(".gguf", "secret"),
    "a GGUF file that is a link to the messages of the kernel": _named(".gguf", "/proc/kmsg"),
    "lists in lists": _written("config.json", '{"a":' + "[" * 900 + "]" * 900 + "}"),
    "lists in lists without end": _written("config.json", "[" * 1_000_000),
    "a long number": _written("config.json", '{"vocab_size": ' + "9" * 100_000 + "}"),
    "no number": _written("config.json", '{"eos_token_id": NaN, "model_type": Infinity}'),
    "long names": _written("config.json", json.dumps({"model_type": "m" * 1_000_000, "k" * 1_000_000: 1})),
    "a long token": _written("tokenizer_config.json", json.dumps({"eos_token": "\x1b[31m" * 200_000})),
    "a million objects": _written("config.json", '{"a": [' + "{}," * 2_000_000 + "{}]}"),
    "one long name in a template": _written("chat_template.jinja", HONEST + "{{ " + "v" * 500_000 + " }}"),
    "many names in a template": _written(
        "chat_template.jinja", HONEST + "".join(f"{{{{ v{number} }}}}" for number in range(20_000))
    ),
}

ESCAPES: dict[str, str] = {
    "the class of a text": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "the globals of lipsum": "{{ lipsum.__globals__['os'].environ }}",
    "the globals of cycler": "{{ cycler.__init__.__globals__.os.environ }}",
    "the globals of joiner": "{{ joiner.__init__.__globals__.os.popen('env').read() }}",
    "the globals of namespace": "{{ namespace.__init__.__globals__ }}",
    "the globals of raise_exception": "{{ raise_exception.__globals__ }}",
    "the globals of the clock": "{{ strftime_now.__globals__ }}{{ strftime_now.__closure__ }}",
    "the class of dict": "{{ dict.__class__.__init__.__globals__ }}",
    "by the filter attr": "{{ lipsum | attr('__globals__') }}{{ '' | attr('__class__') }}",
    "by the filter attr, in pieces": "{{ '' | attr('__cl' ~ 'ass__') | attr('__mro__') }}",
    "by map": "{{ [lipsum] | map(attribute='__globals__') | list }}",
    "by map and attr": "{{ [lipsum] | map('attr', '__globals__') | list }}",
    "by groupby": "{{ [lipsum] | groupby('__globals__') }}",
    "by sort": "{{ [lipsum, lipsum] | sort(attribute='__globals__.os.environ') }}",
    "by sum": "{{ [lipsum] | sum(attribute='__globals__.os.environ', start={}) }}",
    "by selectattr": "{{ [lipsum] | selectattr('__globals__.os.environ') | list }}",
    "by a format": "{{ '{0.__globals__[os].environ}'.format(lipsum) }}",
    "by a format of a mapping": "{{ '{a.__globals__}'.format_map({'a': lipsum}) }}",
    "by the filter format": "{{ '%s' | format(lipsum.__globals__) }}",
    "by a format that is kept": "{% set f = '{0.__globals__}'.format %}{{ f(lipsum) }}",
    "by a format in map": "{{ ['{0.__globals__}'] | map('format', lipsum) | list }}",
    "a generator's frame": "{{ (messages | map('upper')).gi_frame.f_globals }}",
    "a macro's function": "{% macro f() %}{% endmacro %}{{ f._func.__globals__ }}",
    "a loop's own": "{% for m in messages %}{{ loop.__init__.__globals__ }}{{ loop._recurse }}{% endfor %}",
    "the template itself": "{{ self._TemplateReference__context.environment.globals }}",
    "the context": "{{ self._TemplateReference__context.resolve('lipsum').__globals__ }}",
    "a method of a message": "{{ messages[0].get.__self__.__class__.__base__.__subclasses__() }}",
    "include": "{% include '/etc/passwd' %}",
    "include, the environment": "{% include '/proc/self/environ' ignore missing %}{% include '../secret' %}",
    "import": "{% import 'os' as os %}{{ os.environ }}",
    "from import": "{% from '/etc/passwd' import root %}{{ root }}",
    "extends": "{% extends '/proc/self/environ' %}",
    "names of other engines": "{{ environ }}{{ env('TOOLFMT_SECRET') }}{{ os.environ }}{{ open('/etc/passwd') }}",
    "debug": "{% debug %}",
    "the wire of an error": "{{ raise_exception(lipsum.__globals__) }}",
    "a class by subscript": "{{ messages['__class__'] }}{{ tools['__class__'].__init__.__globals__ }}",
    "a lookup by subscript": "{{ lipsum['__globals__']['os']['environ'] }}",
    "a code object": "{% macro f() %}{% endmacro %}{{ f._func.__code__.co_consts }}{{ f.caller.__code__ }}",
}
"""Ways out of the sandbox of jinja2 that have been written about, and some that have not."""

WAITING: dict[str, str] = {
    name: f"{{% if messages[-1].content | string | length > 5000 %}}{attack}{{% endif %}}" + HONEST
    for name, attack in ATTACKS.items()
    if len(attack) < 2_000 and "{% macro" not in attack
}
"""Templates that are honest until a message is long: no probe of the inspection triggers them, a prompt does."""


@dataclass(frozen=True)
class Outcome:
    """What became of a command: its status, seconds, and what it printed on both outputs."""

    status: int
    seconds: float
    printed: str

    def problems(self, allowed: tuple[int, ...]) -> list[str]:
        """What must not happen, described."""
        return [
            *(["a secret was printed"] if SECRET in self.printed or "root:x:" in self.printed else []),
            *(["it took too long"] if self.seconds > LONGEST_SECONDS else []),
            *(["it printed too much"] if len(self.printed) > MOST_BYTES else []),
            *([f"status {self.status}"] if self.status not in allowed else []),
            *(["a traceback"] if "Traceback (most recent" in self.printed else []),
        ]


def run(*arguments: str) -> Outcome:
    """One command of toolfmt in an environment that contains the secret."""
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "toolfmt", *arguments],
            env=os.environ | {"TOOLFMT_SECRET": SECRET},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST_SECONDS * 2,
        )
    except subprocess.TimeoutExpired:
        return Outcome(-1, LONGEST_SECONDS * 2, "")
    return Outcome(done.returncode, time.perf_counter() - begin, done.stdout.decode("utf-8", "replace"))


def with_secret(home: Path) -> Path:
    """The folder with a file next to the path that a report must not show: both a template and a JSON object."""
    (home / "secret").write_text(json.dumps({"model_type": SECRET, "chat_template": SECRET}), "utf-8")
    return home


def looked_at(kind: str, name: str, home: Path) -> Outcome:
    """The result of one of them, made in an empty folder."""
    with_secret(home)
    if kind == "place":
        return run("inspect", str(PLACES[name](home)), "--json")
    template = home / "template.jinja"
    template.write_text({"escape": ESCAPES, "waiting": WAITING, "cost": ATTACKS}[kind][name], "utf-8")
    if kind != "waiting":
        return run("inspect", str(template), "--json")
    messages = home / "messages.json"
    messages.write_text(json.dumps([{"role": "user", "content": "x" * 6_000}]), "utf-8")
    return run("render", str(template), "--messages", str(messages), "--lossy")


ALL = [
    *(("place", name) for name in PLACES),
    *(("escape", name) for name in ESCAPES),
    *(("waiting", name) for name in WAITING),
    *(("cost", name) for name in ATTACKS),
]
ALLOWED = {"place": (0, 1, 2), "escape": (1, 2), "waiting": (0, 2), "cost": (0, 1, 2)}


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("words", nargs="*", help="only those whose kind or name contains one of these")
    words = arguments.parse_args().words
    chosen = [(kind, name) for kind, name in ALL if not words or any(word in f"{kind} {name}" for word in words)]
    failed = longest = 0.0
    for kind, name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            outcome = looked_at(kind, name, Path(folder))
        problems = outcome.problems(ALLOWED[kind])
        failed += bool(problems)
        longest = max(longest, outcome.seconds)
        summary = "; ".join(problems) or _summary(outcome.printed)
        print(
            f"{outcome.status:2} {outcome.seconds:6.1f} s {len(outcome.printed):9,} {kind:8}{name}: {summary}",
            flush=True,
        )
    print(f"{len(chosen)} inspected, {failed:.0f} failed, the longest took {longest:.1f} s")
    return int(failed > 0)


def _summary(printed: str) -> str:
    """In short: the line of an error, or the findings that a report has."""
    try:
        report = json.loads(printed)
        return " ".join(finding["code"] for finding in report["findings"])
    except (ValueError, KeyError, TypeError):
        return printed.strip().splitlines()[-1][:100] if printed.strip() else ""


if __name__ == "__main__":
    sys.exit(main())
