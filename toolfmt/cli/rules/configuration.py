"""Configuration files: `toolfmt.toml`, or the table `[tool.toolfmt]` of `pyproject.toml`.

`find_configuration` searches the current directory and its parents; the first file with a configuration is used. In the
directory of an inspected model it is skipped: whoever published the model could hide its problems there. A file that
the user names is always used. `Configuration.for_model` returns the options for one model. Invalid content raises
`ToolfmtError` in one line, which names the file, the key and what is accepted.
"""

from __future__ import annotations

import difflib
import fnmatch
import glob
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TypeVar, get_args

from toolfmt.cli.group import runtime_names
from toolfmt.cli.rules.exit_status import FailOn, Required, severity_of
from toolfmt.cli.rules.selection import SEVERITIES, selected
from toolfmt.errors import ToolfmtError
from toolfmt.model.batch import place_key

_T = TypeVar("_T")
_FILE, _PROJECT = "toolfmt.toml", "pyproject.toml"
KEYS = ("runtimes", "select", "ignore", "fail-on", "require")
MODELS = "models"


@dataclass(frozen=True)
class Options:
    """The options of a configuration or a command line; None if not set.

    `ignore` has the codes of accepted findings, each with the reason or an empty string.
    """

    runtimes: tuple[str, ...] | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[tuple[str, str], ...] = ()
    fail_on: FailOn | None = None
    require: Required | None = None

    def updated(self, other: Options) -> Options:
        """Return these options with those that `other` sets. What both ignore adds up."""
        return Options(
            self.runtimes if other.runtimes is None else other.runtimes,
            self.select if other.select is None else other.select,
            (*other.ignore, *self.ignore),
            other.fail_on or self.fail_on,
            other.require or self.require,
        )


NO_OPTIONS = Options()


@dataclass(frozen=True)
class Configuration:
    """A configuration: options for all models, and additional ones for those that match a pattern.

    Patterns are relative to the directory of the file. Without a `file`, there is no configuration.
    """

    file: Path | None = None
    options: Options = NO_OPTIONS
    models: tuple[tuple[str, Options], ...] = ()

    @property
    def name(self) -> str:
        """The path of the file, relative to the current directory if possible; empty without a file."""
        if self.file is None:
            return ""
        try:
            return PurePath(os.path.relpath(self.file)).as_posix()
        except ValueError:  # on another drive
            return self.file.as_posix()

    def for_model(self, place: str) -> Options:
        """Return the options for a path or a repository id. If several patterns match, later ones win."""
        options = self.options
        for pattern, own in self.models:
            if self._matches(pattern, place):
                options = options.updated(own)
        return options

    def _matches(self, pattern: str, place: str) -> bool:
        """Return whether a pattern matches the path, a directory above it, or the repository id."""
        if not os.path.lexists(place):
            return fnmatch.fnmatchcase(place, pattern)
        base = "" if self.file is None else glob.escape(str(self.file.parent))
        whole = os.path.normcase(os.path.normpath(os.path.join(base, pattern)))
        path = PurePath(place_key(place))
        return any(fnmatch.fnmatchcase(str(one), whole) for one in (path, *path.parents))


def configuration_of(
    file: str | None, isolated: bool, places: Sequence[str], complain: Callable[[str], object]
) -> Configuration:
    """Return the configuration in the file if one is named, none if `isolated`, else the one that is found.

    `places` are the models and the folders that the user named. `complain` gets a line about what is used or not.
    """
    if file is not None and isolated:
        raise ToolfmtError("--isolated uses no configuration; leave --config out")
    if file is not None:
        return read_configuration(file)
    if isolated:
        return Configuration()
    found = find_configuration(places, complain)
    if found.file is not None:
        complain(f"options of {found.name} apply; --isolated leaves them out")
    here = Path.cwd().resolve()
    for place in dict.fromkeys(map(os.path.realpath, filter(os.path.isdir, places))):
        other = Path(place, _FILE)
        if other.is_file() and other.parent not in (here, *here.parents):
            complain(f"{Configuration(other).name} is not used: only the current directory and those above it count")
    return found


def find_configuration(places: Iterable[str], complain: Callable[[str], object]) -> Configuration:
    """Return the configuration of the current directory or of the nearest directory above it that has one.

    `complain` gets a line about each file that is skipped because it is in the directory of one of the models.
    """
    homes = {os.path.realpath(_home(place)) for place in places if os.path.lexists(place)}
    here = Path(os.path.realpath(os.curdir))
    for directory in (here, *here.parents):
        in_model = not homes.isdisjoint(map(str, (directory, *directory.parents)))
        for file in (directory / _FILE, directory / _PROJECT):
            if not file.is_file():
                continue
            found = Configuration(file)
            if in_model:
                if file.name == _FILE or _has_options(file):
                    why = "it is in the directory of the model, whose publisher may have written it"
                    complain(f"{found.name} is not used: {why}; if it is yours, pass --config {found.name}")
                continue
            table = _table(file)
            if table is not None:
                return _configuration(file, table)
    return Configuration()


def _has_options(file: Path) -> bool:
    """Return whether a file that is not used has a table for toolfmt; not if it cannot be read."""
    try:
        return _table(file) is not None
    except ToolfmtError:
        return False


def _home(place: str) -> str:
    return place if os.path.isdir(place) else os.path.dirname(os.path.abspath(place))


def read_configuration(name: str) -> Configuration:
    """Return the configuration in this file. Raises `ToolfmtError` if it cannot be read or has none."""
    file = Path(os.path.abspath(name))
    table = _table(file)
    if table is None:
        raise ToolfmtError(f"{name}: has no table [tool.toolfmt]; add it, or name another file")
    return _configuration(file, table)


def _table(file: Path) -> Mapping[str, Any] | None:
    """Return the options in a file as TOML data; None if a `pyproject.toml` has none."""
    name = Configuration(file).name
    try:
        written = file.read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ToolfmtError(f"{name}: cannot be read ({why}); name a readable file") from None
    try:
        data = tomllib.loads(written.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ToolfmtError(f"{name}: not UTF-8; save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ToolfmtError(f"{name}: not valid TOML ({error})") from None
    if file.name != _PROJECT:
        return data
    tool = data.get("tool")
    table = tool.get("toolfmt") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ToolfmtError(f"{name}: tool.toolfmt must be a table")
    return table


def _configuration(file: Path, table: Mapping[str, Any]) -> Configuration:
    name = Configuration(file).name
    models = table.get(MODELS, {})
    if not isinstance(models, dict) or not all(isinstance(own, dict) for own in models.values()):
        raise ToolfmtError(f'{name}: models must have a table for each path or pattern, as in [models."org/name"]')
    return Configuration(
        file,
        _options(table, f"{name}: ", (*KEYS, MODELS)),
        tuple((pattern, _options(own, f"{name}: models.{pattern!r}: ")) for pattern, own in models.items()),
    )


def _options(table: Mapping[str, Any], where: str, keys: Sequence[str] = KEYS) -> Options:
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ToolfmtError(f"{where}unknown key {key[:40]!r}; {hint}accepted are {', '.join(keys)}")
    return Options(
        _checked(table, "runtimes", where, lambda value: runtime_names(_strings(value))),
        _checked(table, "select", where, _selectors),
        _checked(table, "ignore", where, _ignored) or (),
        _checked(table, "fail-on", where, _fail_on),
        _checked(table, "require", where, _required),
    )


def _checked(table: Mapping[str, Any], key: str, where: str, read: Callable[[Any], _T]) -> _T | None:
    """Return the value of a key as `read` returns it, or None without one. Errors name the file and the key."""
    if key not in table:
        return None
    try:
        return read(table[key])
    except ToolfmtError as error:
        raise ToolfmtError(f"{where}{key}: {error}") from None


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one.strip() for one in value):
        raise ToolfmtError("must be a list of strings, with at least one")
    return tuple(value)


def _selectors(value: Any) -> tuple[str, ...]:
    codes = _strings(value)
    selected(codes)  # raises for unknown ones
    return codes


def _ignored(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        return tuple((code, "") for code in _selectors(value))
    if not all(isinstance(reason, str) for reason in value.values()):
        raise ToolfmtError('must be a list of codes, or a table with a reason for each, as in CODE = "the reason"')
    return tuple((code, value[code]) for code in _selectors(list(value)))


def _fail_on(value: Any) -> FailOn:
    return severity_of(_one_of(value, (*SEVERITIES, "never")))


def _required(value: Any) -> Required:
    _one_of(value, get_args(Required))
    return "tools"


def _one_of(value: Any, accepted: Sequence[str]) -> str:
    if value not in accepted:
        raise ToolfmtError(f"{str(value)[:40]!r} is not one of {', '.join(accepted)}")
    return str(value)
