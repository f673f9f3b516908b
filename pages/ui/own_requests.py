"""Whether a request comes from this app's own pages.

The server listens on this machine only, but any page of the web that is open in the same browser can try to reach it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request
from streamlit import config

_LOCAL = ("localhost", "127.0.0.1", "::1")


def is_own(request: Request) -> bool:
    """The host is this machine by name, not a foreign name pointed at it; the origin, if told, is the same host."""
    host, origin = request.url.hostname, request.headers.get("origin")
    return host in own_hosts() and (origin is None or urlsplit(origin).netloc == request.headers.get("host"))


def own_hosts() -> tuple[str, ...]:
    """Whoever opens the app to a network names its address in the server's settings."""
    named = (config.get_option("server.address"), config.get_option("browser.serverAddress"))
    return (*_LOCAL, *(str(name) for name in named if name))
