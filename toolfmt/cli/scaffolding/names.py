"""Check the name of a new format or finding: it becomes a module, a folder and a command-line word.

Each rejection is a `ToolfmtError` that suggests a fix.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Collection

from toolfmt.errors import ToolfmtError, UnknownFormat
from toolfmt.formats import get
from toolfmt.formats.format import DERIVED

LONGEST = 40
_FORMAT = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_FINDING = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_OF_WINDOWS = frozenset({"aux", "con", "nul", "prn", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
"""Names that files on Windows must not have, with any extension."""
_TAKEN = {
    DERIVED: "what every derived format is called",
    "models": "the folder of model directories in corpus/",
}


def check_format_name(name: str, modules: Collection[str]) -> None:
    """Raise `ToolfmtError` for an invalid name. `modules` are those of the formats in the clone."""
    shown = _shown(name)
    if not _FORMAT.fullmatch(name) or len(name) > LONGEST:
        raise ToolfmtError(
            f"{shown} is not a valid format name: use lower-case letters, digits and single underscores, start with "
            f"a letter, use at most {LONGEST} characters{_suggestion(name, '_')}"
        )
    if keyword.iskeyword(name):
        raise ToolfmtError(
            f"{shown} is a Python keyword and cannot name a module; choose another name, for example {name}_calls"
        )
    if name in sys.stdlib_module_names:
        raise ToolfmtError(
            f"{shown} is a module of Python's standard library, and programs run in the folder of {name}.py would "
            f"import that file instead; choose another name, for example {name}_calls"
        )
    if name in _OF_WINDOWS:
        raise ToolfmtError(f"{shown} cannot name a file on Windows; choose another name, for example {name}_calls")
    if name in _TAKEN:
        raise ToolfmtError(f"{shown} is {_TAKEN[name]}; choose another name")
    if name in modules:
        raise ToolfmtError(f"{shown} is a module of toolfmt/formats/known already; choose another name")
    try:
        known = get(name)
    except UnknownFormat:
        return
    alias = "" if known.name == name else f", an alias of {known.name} or a variant of its name"
    raise ToolfmtError(
        f"{shown} names a known format{alias}; `toolfmt formats {known.name}` shows it, choose another name"
    )


def check_finding_name(name: str, names: Collection[str]) -> None:
    """Raise `ToolfmtError` for an invalid name. `names` are those of the findings in the clone."""
    shown = _shown(name)
    if not _FINDING.fullmatch(name) or len(name) > LONGEST:
        raise ToolfmtError(
            f"{shown} is not a valid finding name: use lower-case letters, digits and single hyphens, start with "
            f"a letter, use at most {LONGEST} characters{_suggestion(name, '-')}"
        )
    if name in names:
        raise ToolfmtError(f"{shown} is a finding already; `toolfmt explain {name}` is its page, choose another name")


def _suggestion(name: str, separator: str) -> str:
    """Return the name that was probably intended."""
    plain = re.sub(r"[^a-z0-9]+", separator, name.lower()).strip(separator)[:LONGEST].strip(separator)
    return f"; perhaps {plain}" if plain and plain[0].isalpha() and plain != name else ""


def _shown(name: str) -> str:
    return repr(name) if len(name) <= 2 * LONGEST else f"{name[: 2 * LONGEST]!r}…"
