"""The ASGI app and its life: services start and stop here. `streamlit run app.py` serves it; pages are in `pages/`."""

import os

# Before torch, faiss or llama_cpp is imported: waiting threads give way, so a busy neighbour can't slow answers down.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import asyncio
import logging
from contextlib import asynccontextmanager

from starlette.middleware import Middleware
from streamlit.starlette import App

from core.errors import FootnoteError
from core.settings import unknown_variables
from pages.ui.boundary import on_script_error
from pages.ui.downloads import download_route
from pages.ui.own_requests import OwnRequestsOnly, is_opened
from pages.ui.session import HOLDER
from pages.ui.texts import t
from pages.ui.upload_route import upload_route

logger = logging.getLogger(__name__)


@asynccontextmanager
async def lifespan(_app):
    if is_opened():
        logger.warning("%s", t("warning.opened"))
    for sentence in unknown_variables(os.environ):
        logger.warning("%s", sentence)
    try:
        await asyncio.to_thread(HOLDER.get)
    except FootnoteError as error:
        # The app opens all the same: every page says what is wrong, and tries again.
        logger.error("services did not start: %s", error)
    yield
    await asyncio.to_thread(HOLDER.close)


app = App(
    "pages/main.py",
    lifespan=lifespan,
    routes=[download_route(), upload_route()],
    middleware=[Middleware(OwnRequestsOnly)],
    on_script_error=on_script_error,
)
