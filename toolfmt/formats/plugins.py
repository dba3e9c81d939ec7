"""Load formats from other packages: entry points of the group `toolfmt.formats`, loaded once per process.

    [project.entry-points."toolfmt.formats"]
    mine = "my_package.formats:FORMAT"

An entry point refers to a `ToolCallFormat`, a list or tuple of them, or a function without arguments that returns one
of these. `registry.py` adds them to the known formats. A broken plug-in is ignored with a warning, whatever it raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points

from toolfmt.errors import BrokenPlugIn
from toolfmt.formats.format import ToolCallFormat

GROUP = "toolfmt.formats"


def plugin_formats(conflict: Callable[[ToolCallFormat], str]) -> Iterator[ToolCallFormat]:
    """Yield the formats of all plug-ins, in the order of the entry points' names.

    Args:
        conflict: Returns why a format cannot be added, or an empty string. It is called for each format after the
            previous one was added.
    """
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            formats = _load(point)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - no exception of an external package may end this program
            _warn(point, " ".join(f"{type(error).__name__}: {error}".split())[:200])
            continue
        for format in formats:
            if why := conflict(format):
                _warn(point, why)
            else:
                yield format


def _load(point: EntryPoint) -> tuple[ToolCallFormat, ...]:
    """Return the formats of an entry point.

    Raises `TypeError` if it provides anything else, and every exception that loading it raises.
    """
    loaded = point.load()
    if callable(loaded):
        loaded = loaded()
    formats = (loaded,) if isinstance(loaded, ToolCallFormat) else loaded
    if not isinstance(formats, (list, tuple)):
        raise TypeError(
            f"it provides a value of type {type(formats).__name__}, not a ToolCallFormat or a tuple of them"
        )
    for format in formats:
        if not isinstance(format, ToolCallFormat):
            raise TypeError(f"one of its values is of type {type(format).__name__}, not a ToolCallFormat")
    return tuple(formats)


def _warn(point: EntryPoint, why: str) -> None:
    package = point.dist.name if point.dist is not None else "a package"
    warnings.warn(
        f"the plug-in {point.name!r} of {package} ({point.value}) is ignored: {why}; fix or uninstall {package}",
        BrokenPlugIn,
        stacklevel=2,
    )
