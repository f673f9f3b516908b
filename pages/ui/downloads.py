"""Original files, handed out as downloads only: an uploaded page or picture never runs in this app's origin."""

from __future__ import annotations

from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from core.errors import FootnoteError, NotFoundError
from pages.ui.own_requests import is_own
from pages.ui.session import get_services
from pages.ui.texts import t

_LONGEST_ID = 20


def download_route() -> Route:
    return Route("/download/{document_id}", _download, methods=["GET"])


async def _download(request: Request) -> Response:
    if not is_own(request):
        return PlainTextResponse(t("error.foreign_request"), status_code=403)
    wanted = request.path_params["document_id"]
    if not (wanted.isascii() and wanted.isdecimal() and len(wanted) < _LONGEST_ID):
        return PlainTextResponse(t("error.no_document"), status_code=404)
    try:
        name, data = await run_in_threadpool(_original, int(wanted))
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
