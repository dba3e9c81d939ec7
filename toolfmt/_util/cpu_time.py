"""Wait for another process. CPU time counts, not the time on the clock, so load never ends a job."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress

_STEP = 0.2
"""Seconds between two readings of the CPU time."""


def cpu_seconds(pid: int) -> float | None:
    """Return the seconds of CPU time of all threads of a running process, or None if the system does not show them.

    Only Linux has `/proc/PID/stat`.
    """
    if sys.platform != "linux":
        return None
    with suppress(OSError, ValueError):
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()  # a program's name may contain spaces and parentheses
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None


def ends_in_time(pid: int, ended: Callable[[float], bool], idle: float, busy: float = math.inf) -> bool:
    """Wait until `ended` returns true. Return False if the process uses no CPU time for `idle` seconds before that, or
    more than `busy` seconds of CPU time.

    `ended(seconds)` waits for at most `seconds`. Only these waits count as idle time: a suspended machine or a stopped
    process group ends no job. If the CPU time cannot be read, all time counts as idle.
    """
    waited = min(_STEP, idle)
    if ended(waited):  # fast path: most jobs end here
        return True
    start = used = cpu_seconds(pid)
    while waited < idle:
        step = min(_STEP, idle - waited)
        if ended(step):
            return True
        now = cpu_seconds(pid)
        if now is not None and start is not None and now - start > busy:
            return False
        waited = 0.0 if now != used else waited + step
        used = now
    return ended(0.0)
