"""Restrict a process before it runs untrusted templates: lifetime, network, files, memory, CPU time.

`worker.py` calls each function once, except `limit_processor`. Restrictions that the system does not offer are skipped
silently: Linux has all of them, macOS has no memory limit and no network isolation, Windows has none. After
`open_no_more`, no descriptor can be opened (so no network connection either). Therefore all imports happen before it.

This is the second layer after jinja2's sandbox. Code that escapes that sandbox can still do what needs no descriptor:
delete, rename or change the mode of the user's files, and signal the user's processes, or trace them if the system
allows it.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from contextlib import suppress

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
"""Linux namespaces (`sched.h`): inside a user namespace, a process may create an isolated network."""


def end_with_parent(lifeline: int) -> None:
    """End this process when its parent ends, in any way. `lifeline` is a pipe that the parent holds open.

    On Linux the system does it, in the middle of any code; on other systems, a thread does. (`PR_SET_PDEATHSIG` of
    Linux is not suitable: it depends on the thread that started the process, which may end long before its process.)
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
            os._exit(1)  # the parent has already ended
    else:
        threading.Thread(target=_wait_for_the_end, args=[lifeline], daemon=True).start()


def _wait_for_the_end(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(1)


def leave_network() -> bool:
    """Move into a network without any connection. Return whether the system allowed it.

    The process must have only one thread: with several, it cannot enter a user namespace.
    """
    if sys.platform != "linux":
        return False
    import ctypes

    system = ctypes.CDLL(None)
    return any(system.unshare(kinds) == 0 for kinds in (_NEW_USER | _NEW_NET, _NEW_NET))


def open_no_more() -> None:
    """Prevent opening anything else: files, connections or pipes, by any system call.

    The limit is on the number of a descriptor. It is 0, so that numbers of closed descriptors cannot be reused either.
    Open descriptors stay open.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def limit_memory(beyond: int) -> bool:
    """Let the address space grow by at most this many bytes, and disable core dumps.

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
    """Limit the CPU time to this many more seconds, after which the system ends the process.

    It may run up to one second longer, because the system counts whole seconds.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        spent = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(spent.ru_utime + spent.ru_stime) + seconds, hard))
