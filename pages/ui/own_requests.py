"""Whether a request comes from this app's own pages, and the gate that lets no other in.

The server listens on this machine only, but any page of the web that is open in the same browser can try to reach it:
from its own origin, or from a name of its own that it points at this machine.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import config

from pages.ui.texts import t

_LOCAL = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::\d{1,5})?")
_POLICY_VIOLATION = 1008


class OwnRequestsOnly:
    """ASGI middleware: requests and websockets of foreign origins or names are refused before anything reads them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or _is_own(Headers(scope=scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await PlainTextResponse(t("error.foreign_request"), status_code=403)(scope, receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})


def is_own(request: Request) -> bool:
    """The host is this machine by name, not a foreign name pointed at it; the origin, if told, is the same host."""
    return _is_own(request.headers)


def own_hosts() -> tuple[str, ...]:
    """Whoever opens the app to a network names its address in the server's settings."""
    named = (config.get_option("server.address"), config.get_option("browser.serverAddress"))
    return (*_LOCAL, *(str(name).lower() for name in named if name))


def is_opened() -> bool:
    """Whether the server was told to listen to more than this machine; by which names it's reached is unknown then."""
    return str(config.get_option("server.address") or "").lower() not in _LOCAL


def _is_own(headers: Headers) -> bool:
    hosts = headers.getlist("host")
    found = _HOST.fullmatch(hosts[0].lower()) if len(hosts) == 1 else None
    if found is None or not (is_opened() or (found["six"] or found["name"]) in own_hosts()):
        return False
    same = (f"http://{hosts[0].lower()}", f"https://{hosts[0].lower()}")
    return all(origin.lower() in same for origin in headers.getlist("origin"))
