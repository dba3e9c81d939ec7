"""What a process gives up before it runs templates of strangers: a life of its own, the network, files, memory, time.

`worker.py` calls it, each function once but for `limit_processor`. What the system does not offer is left out without a
word: Linux has all of it, macOS no limit on memory and no network of one's own, Windows none. No descriptor can be
opened after `open_no_more` (which also keeps the network away), so that whatever is imported is imported before.

This is the second wall, behind the sandbox of jinja2. What needs no descriptor stays possible to code that breaks that
one: to delete, rename or change the mode of the user's files, and to send signals to the user's processes, or to trace
them where the system allows that.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from contextlib import suppress

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
"""Namespaces of Linux (`sched.h`): in one of users, a process may make itself a network that leads nowhere."""


def end_with_parent(lifeline: int) -> None:
    """End this process when the one that started it ends, however that ends: `lifeline` is a pipe that it holds open.

    On Linux the system does it, in the midst of whatever runs here; a thread elsewhere. (What Linux has for this,
    `PR_SET_PDEATHSIG`, goes by the thread that started the process, which may end long before its process.)
    """
    if sys.platform == "linux":
        import fcntl
        import select
        import signal

        signal.signal(signal.SIGIO, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:
            os._exit(1)  # it has ended already
    else:
        threading.Thread(target=_wait_for_the_end, args=[lifeline], daemon=True).start()


def _wait_for_the_end(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(1)


def leave_network() -> bool:
    """Move into a network without any connection; whether that was allowed.

    For a process of one thread: one of several may not enter a namespace of users.
    """
    if sys.platform != "linux":
        return False
    import ctypes

    system = ctypes.CDLL(None)
    return any(system.unshare(kinds) == 0 for kinds in (_NEW_USER | _NEW_NET, _NEW_NET))


def open_no_more() -> None:
    """Let nothing be opened any more: no file, no connection, no pipe, however it is asked for.

    The limit is on the number that a descriptor gets, so that it is 0: one is not opened in the place of one that was
    closed either. What is open stays open.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def limit_memory(beyond: int) -> bool:
    """Let the address space grow by so many bytes, and nothing of the memory be written to a file at a crash.

    Return False if this process has inherited a lower limit.
    """
    with suppress(ImportError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("/proc/self/statm", encoding="ascii") as sizes:
            now = int(sizes.read().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard != resource.RLIM_INFINITY and hard < now + beyond:
            return False
        resource.setrlimit(resource.RLIMIT_AS, (now + beyond, now + beyond))
    return True


def limit_processor(seconds: int) -> None:
    """Let the processor run for so many seconds more, and up to one second beyond, as the system counts in whole ones;
    then the system ends the process."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        spent = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(spent.ru_utime + spent.ru_stime) + seconds, hard))
