"""Python loads this first in every process of a tested server: each attempt to leave this machine is written down.

The file that FOOTNOTE_TEST_CONNECTIONS names gets a line for each host that was looked up or connected to.
"""

import os
import sys

_LOCAL = {"127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "", None}
_FILE = os.environ.get("FOOTNOTE_TEST_CONNECTIONS")


def _watch(event, args):
    if event == "socket.connect":
        address = args[1]
        host = address[0] if isinstance(address, tuple) else None  # a path is a socket of this machine
    elif event == "socket.getaddrinfo":
        host = args[0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host not in _LOCAL:
        with open(_FILE, "a", encoding="utf-8") as file:
            file.write(f"{event} {host}\n")


if _FILE:
    sys.addaudithook(_watch)
