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


def download_route() -> Route:
    return Route("/download/{document_id:int}", _download, methods=["GET"])


async def _download(request: Request) -> Response:
    if not is_own(request):
        return PlainTextResponse(t("error.foreign_request"), status_code=403)
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
