"""What Footnote knows: add documents, watch them come in, look into one, remove it."""

import streamlit as st

from core.errors import NotFoundError
from pages.ui.banners import draw_model_banner, draw_upkeep_banner
from pages.ui.boundary import notify
from pages.ui.deleted import draw_deleted, draw_undo
from pages.ui.document_detail import close_document, draw_document
from pages.ui.jobs import draw_jobs
from pages.ui.library_list import draw_add, draw_list
from pages.ui.session import get_services
from pages.ui.texts import t

KEEP_DONE_S = 600


def opened():
    """The document of the address, or None."""
    wanted = st.query_params.get("document", "")
    if not wanted.isascii() or not wanted.isdecimal():
        return None
    try:
        return get_services().library.document(int(wanted))
    except NotFoundError:
        notify(t("error.no_document"))
        close_document()
        st.rerun()


document = opened()
if document:
    draw_document(document)
else:
    st.title(t("library.title"), anchor=False)
    draw_undo()
    draw_upkeep_banner()
    draw_model_banner(chat=False)
    draw_add()
    draw_jobs(keep_done_s=KEEP_DONE_S)
    draw_list()
    draw_deleted()
