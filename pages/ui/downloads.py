"""Original files, handed out as downloads only: an uploaded page or picture never runs in this app's origin."""

from __future__ import annotations

from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from core.errors import FootnoteError, NotFoundError
from pages.ui.session import get_services

# A page of the web whose name was pointed at this machine sends its own name here.
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1", "[::1]")


def download_route() -> Route:
    return Route("/download/{document_id:int}", _download, methods=["GET"])


async def _download(request: Request) -> Response:
    if request.url.hostname not in _own_hosts():
        return PlainTextResponse("unknown host", status_code=403)
    try:
        name, data = await run_in_threadpool(_original, request.path_params["document_id"])
    except NotFoundError as error:
        return PlainTextResponse(str(error), status_code=404)
    except FootnoteError as error:
        return PlainTextResponse(str(error), status_code=500)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "no-store",
    }
    return Response(data, media_type="application/octet-stream", headers=headers)


def _original(document_id: int) -> tuple[str, bytes]:
    return get_services().library.original(document_id)


def _own_hosts() -> tuple[str, ...]:
    """Whoever opens the app to a network names its address in the settings of the server."""
    from streamlit import config

    return (*_OWN_HOSTS, str(config.get_option("server.address") or ""))
