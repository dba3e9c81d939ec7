"""The process of a target: `python -m toolfmt.testing.worker SPEC` parses outputs for `targets.InProcessTarget`.

A request is a line of JSON with `tools` and `ways` (each a list of chunks). The reply is a line with the result of each
way, or the violated invariant. What the target prints goes to standard error, and its standard input is empty. The
first line is the factory's description of itself, or why it does not exist.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any

from toolfmt.formats import Parser, names
from toolfmt.formats.serialization.files import SUFFIX, named_format
from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.outcome import MakeParser, as_data, raised, read

_PEERS = "toolfmt.testing.peers.for_"
_MOST_SHOWN = 2_000
"""Maximum length of an error: it may list all names of a module's factories."""


def loaded(spec: str) -> MakeParser:
    """Return the factory of `module:name`, or the parser of a format of toolfmt. Raises what importing raises."""
    if spec in names() or spec.endswith(SUFFIX):
        format = named_format(spec)
        return lambda tools: Parser(format, tools=tools)
    module, _, name = spec.partition(":")
    found: Any = import_module(module)
    if module.startswith(_PEERS) and name not in found.factories():  # other names of such a module are not factories
        raise AttributeError(f"{module} has no factory {name!r}; it has {', '.join(found.factories())}")
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{spec} cannot be called")
    made: MakeParser = found
    return made


def _way_out(spec: str, error: BaseException) -> str:
    """Return what to do if a factory cannot be loaded. Empty if the error already states it."""
    module = spec.partition(":")[0]
    if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
        return "; Python searches this folder and PYTHONPATH for modules"
    if module.startswith(_PEERS):
        return ""
    if module in sys.modules:  # a module that fails during its import is removed again
        return f"; give {module}:NAME, a function that takes tools and returns a parser"
    return f"; python -c 'import {module}' shows where"


def _reply(make_parser: MakeParser, request: dict[str, Any]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for pieces in request["ways"]:
        try:
            outcome = read(make_parser, pieces, request["tools"])
        except InvariantViolation as broken:
            results.append(_violation_data(broken))
            continue
        except BaseException as error:  # noqa: BLE001  this process is never interrupted: any exception is the parser's
            results.append(_violation_data(raised(error)))
            continue
        results.append(as_data(outcome))
        if not outcome.streams:
            break
    return results


def _violation_data(broken: InvariantViolation) -> dict[str, Any]:
    return {"invariant": broken.invariant, "kind": broken.kind, "message": broken.message, "unusable": broken.unusable}


def _about(make_parser: MakeParser) -> dict[str, Any]:
    """Return a factory's description of itself. Raises `TypeError`."""
    formats, variants = getattr(make_parser, "formats", ()), getattr(make_parser, "variants", {})
    formats = [formats] if isinstance(formats, str) else formats
    if not isinstance(formats, (list, tuple)) or not all(isinstance(name, str) for name in formats):
        raise TypeError(f"its formats are {formats!r}, not a list of names of formats")
    if not isinstance(variants, dict) or not all(isinstance(ways, (list, tuple)) for ways in variants.values()):
        raise TypeError(f"its variants are {variants!r}, not lists of ways of writing by the names of formats")
    version = str(getattr(make_parser, "version", ""))
    return {
        "formats": list(formats),
        "variants": {name: list(ways) for name, ways in variants.items()},
        "version": version,
    }


def main(spec: str) -> None:
    """Serve until standard input ends."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    here = os.getpid()

    def send(value: Any) -> None:
        replies.write(json.dumps(value) + "\n")
        replies.flush()

    try:
        make_parser = loaded(spec)
        about = _about(make_parser)
    except BaseException as error:  # noqa: BLE001  any error of the module is reported, without a traceback
        failed = " ".join(f"{type(error).__name__}: {error}".split())
        send({"failed": failed[:_MOST_SHOWN], "way_out": _way_out(spec, error)})
        return
    send(about)
    for line in requests:
        reply = _reply(make_parser, json.loads(line))
        if os.getpid() != here:
            os._exit(
                0
            )  # a parser that forks also returns here in the child, whose output would be taken for the next reply
        send(reply)


if __name__ == "__main__":
    main(sys.argv[1])
