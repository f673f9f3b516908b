"""One document: facts, warnings, its segments as they are, and what can be done with it."""

from __future__ import annotations

import streamlit as st

from core.records import DocumentRecord
from pages.ui.boundary import guarded, notify
from pages.ui.deleted import say_deleted, way_back
from pages.ui.literal import escaped, literal, shortened
from pages.ui.session import get_services
from pages.ui.texts import counted, t

_PER_PAGE = 10


def draw_document(document: DocumentRecord) -> None:
    st.button(t("document.back"), icon=":material/arrow_back:", on_click=close_document, type="tertiary")
    st.html(
        f'<div class="fn-name">{escaped(document.name)}</div><div class="fn-facts">{escaped(facts(document))}</div>'
    )
    if document.shared_with:
        st.caption(literal(t("document.shared", names=", ".join(document.shared_with))))
    if document.warnings:
        st.warning("  \n".join([t("document.warnings") + ":", *map(literal, document.warnings)]))
    _draw_actions(document)
    _draw_segments(document)


def open_document(document_id: int) -> None:
    st.query_params["document"] = str(document_id)


def close_document() -> None:
    st.query_params.pop("document", None)


def facts(document: DocumentRecord) -> str:
    line = t(
        "document.facts",
        collection=document.collection,
        type=document.type,
        size=file_size(document.size),
        characters=f"{document.characters:,}",
        added=f"{document.added.astimezone():%Y-%m-%d %H:%M}",
    )
    pages = [counted("pages", document.pages)] if document.pages else []
    return " · ".join([*pages, counted("segments", document.segments), line])


def file_size(size: int) -> str:
    """In steps of 1,000: 999 B, 1.2 kB, 3.4 MB."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _draw_actions(document: DocumentRecord) -> None:
    asking = f"delete_document_{document.id}"

    def set_asking(value: bool) -> None:
        st.session_state[asking] = value

    @guarded
    def reindex() -> None:
        get_services().library.reindex(document.id)
        notify(t("document.reindexing", name=document.name))

    @guarded
    def delete() -> None:
        st.session_state.pop(asking, None)
        gone = get_services().library.delete(document.id)
        close_document()
        say_deleted([gone])

    if st.session_state.get(asking):
        name, segments = shortened(document.name, 120), counted("segments", document.segments)
        question = t("document.delete_ask", name=name, segments=segments)
        st.warning(literal(f"{question} {way_back()}"))
        with st.container(horizontal=True):
            st.button(t("document.delete_yes"), key=f"{asking}_yes", on_click=delete, type="primary")
            st.button(t("document.delete_no"), key=f"{asking}_no", on_click=set_asking, args=(False,))
        return
    with st.container(horizontal=True, key="document_actions"):
        # A route of our own: attachment only, so an HTML or SVG file never runs in this app's origin.
        st.link_button(t("document.download"), f"/download/{document.id}", icon=":material/download:")
        st.button(t("document.reindex"), key=f"reindex_{document.id}", on_click=reindex, icon=":material/refresh:")
        st.button(
            t("document.delete"), key=f"{asking}_ask", on_click=set_asking, args=(True,), icon=":material/delete:"
        )


def _draw_segments(document: DocumentRecord) -> None:
    if not document.segments:
        return
    st.subheader(t("document.text"), anchor=False)
    pages = -(-document.segments // _PER_PAGE)
    page = st.pagination(pages, key=f"segments_{document.id}") if pages > 1 else 1
    # A long document has hundreds of thousands: only those that are shown are read.
    for record in get_services().library.segments(document.id, limit=_PER_PAGE, offset=(page - 1) * _PER_PAGE):
        known = record.segment.metadata
        where = [t("document.segment", index=(known.get_int("index") or 0) + 1)]
        if known.get_int("page"):
            where.append(t("place.page", page=known.get_int("page")))
        if known.get_string("heading_path"):
            where.append(known.get_string("heading_path"))
        st.html(
            f'<div class="fn-facts">{escaped(" · ".join(where))}</div>'
            f'<div class="fn-literal">{escaped(record.segment.text)}</div>'
        )
