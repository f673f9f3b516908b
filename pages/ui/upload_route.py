"""Where the drop area sends files: one request a file, streamed to disk, then handed to the library.

Streamlit's own uploader keeps every file of a drop in memory; here it is one piece at a time. One request is one
hand-over, so no rerun of a page can add a file twice.
"""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import IO

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from core.errors import DocumentError, FootnoteError, StorageError
from core.records import DEFAULT_COLLECTION
from pages.ui.boundary import sentence
from pages.ui.own_requests import is_own
from pages.ui.session import get_services
from pages.ui.texts import t


def upload_route() -> Route:
    """PUT /upload?name=…&collection=…&conflict=…&batch=… with the file as the body: {"job": id} or {"error": …}."""
    return Route("/upload", _upload, methods=["PUT"])


async def _upload(request: Request) -> Response:
    # A page of another origin can't set this header without asking first, and is never allowed to.
    if not is_own(request) or request.headers.get("x-footnote") != "upload":
        return JSONResponse({"error": t("error.foreign_request")}, status_code=403)
    try:
        services = await run_in_threadpool(get_services)
        folder = Path(services.settings.data)
        with tempfile.TemporaryFile(dir=folder if folder.is_dir() else None) as kept:
            await _receive(request, kept, services.settings.max_file_mb)
            return JSONResponse({"job": await run_in_threadpool(_hand_over, request, kept)})
    except ClientDisconnect:
        return Response(status_code=499)
    except FootnoteError as error:
        return JSONResponse({"error": str(error)}, status_code=400)
    except Exception as error:  # noqa: BLE001
        return JSONResponse({"error": sentence(error)}, status_code=500)


async def _receive(request: Request, kept: IO[bytes], limit_mb: int) -> None:
    size, limit = 0, limit_mb * 1_000_000
    try:
        async for piece in request.stream():
            size += len(piece)
            if size > limit:
                name = request.query_params.get("name", "")
                raise DocumentError(t("error.too_large", name=name, limit=limit_mb), file_name=name)
            await run_in_threadpool(kept.write, piece)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageError(t("error.disk_full")) from error
        raise
    kept.seek(0)


def _hand_over(request: Request, kept: IO[bytes]) -> int:
    asked = request.query_params
    job = get_services().library.add_bytes(
        asked.get("name") or t("source.untitled"),
        kept,
        collection=asked.get("collection") or DEFAULT_COLLECTION,
        on_conflict="replace" if asked.get("conflict") == "replace" else "keep_both",
        batch=asked.get("batch", ""),
    )
    return job.id
