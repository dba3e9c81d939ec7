"""Formats that other packages bring: entry points of the group `toolfmt.formats`, asked once a process.

    [project.entry-points."toolfmt.formats"]
    mine = "my_package.formats:FORMAT"

An entry point names a `ToolCallFormat`, a list or tuple of them, or a function without arguments that returns one of
these. `registry.py` makes them known. A plug-in that is broken is left out with a warning, whatever it raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points

from toolfmt.errors import BrokenPlugIn
from toolfmt.formats.format import ToolCallFormat

GROUP = "toolfmt.formats"


def plugged_in(fault: Callable[[ToolCallFormat], str]) -> Iterator[ToolCallFormat]:
    """The formats of all plug-ins, in the order of their names; `fault` says why one cannot be made known, "" where it
    can, and is asked again after each."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            formats = _brought(point)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a package of others raises must not end this program
            _warn(point, " ".join(f"{type(error).__name__}: {error}".split())[:200])
            continue
        for format in formats:
            if why := fault(format):
                _warn(point, why)
            else:
                yield format


def _brought(point: EntryPoint) -> tuple[ToolCallFormat, ...]:
    """What an entry point brings; raises what loading it raises, and `TypeError` for anything but formats."""
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
