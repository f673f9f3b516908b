"""Names for whoever holds a lease, from which another process can tell whether the holder is gone."""

from __future__ import annotations

import itertools
import os
import socket

import psutil

_number = itertools.count(1)


def owner_name() -> str:
    """Who holds a lease: "host:pid:start:number"; a process id alone is used again by the next process."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid()):.0f}:{next(_number)}"


def is_dead(owner: str) -> bool:
    """Whether the process behind an owner's name has ended for certain: it ran on this computer, and doesn't now."""
    try:
        host, pid, started, _ = owner.rsplit(":", 3)
        if host != socket.gethostname():
            return False
        return abs(_started(int(pid)) - float(started)) > 2
    except ValueError:
        return False
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False


def _started(pid: int) -> float:
    return psutil.Process(pid).create_time()
