"""The library's two halves: adding documents, and the list of those that are there."""

from __future__ import annotations

import streamlit as st

from core.records import DEFAULT_COLLECTION
from pages.ui.boundary import guarded
from pages.ui.deleted import draw_delete_many
from pages.ui.document_detail import open_document
from pages.ui.document_table import draw_document_table
from pages.ui.session import get_services
from pages.ui.texts import counted, t
from pages.ui.uploads import upload_area

_PER_PAGE = 50
_POPOVER = "new_collection_popover"


def collection_names() -> list[str]:
    names = [collection.name for collection in get_services().library.collections()]
    return names if DEFAULT_COLLECTION in names else [DEFAULT_COLLECTION, *names]


def draw_add() -> None:
    names = collection_names()
    if st.session_state.get("add_collection") not in names:
        st.session_state.pop("add_collection", None)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        collection = st.selectbox(t("library.collection"), names, key="add_collection", width=220)
        conflict = st.radio(
            t("library.conflict"),
            ["keep_both", "replace"],
            format_func=lambda name: t(f"library.{name}"),
            horizontal=True,
            key="add_conflict",
        )
        with (
            # Tracked, so that it can be closed from here.
            st.popover(
                t("library.new_collection"), icon=":material/create_new_folder:", key=_POPOVER, on_change="rerun"
            ),
            st.form("new_collection_form", border=False),
        ):
            st.text_input(t("library.new_collection"), key="new_collection", max_chars=100)
            st.form_submit_button(t("library.add_collection"), on_click=_add_collection)
    upload_area(collection=collection, on_conflict=conflict)


@guarded
def _add_collection() -> None:
    name = st.session_state.get("new_collection", "").strip()
    if name:
        st.session_state.add_collection = get_services().library.add_collection(name).name
        st.session_state.new_collection = ""
        st.session_state[_POPOVER] = False


def draw_list() -> None:
    library = get_services().library
    collections = library.collections()
    if not sum(collection.documents for collection in collections):
        st.caption(t("library.none"))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input(
            t("library.search"),
            key="document_search",
            placeholder=t("library.search"),
            label_visibility="collapsed",
            bind="query-params",
        ).strip()
        names = [collection.name for collection in collections if collection.documents]
        chosen = None
        if len(names) > 1:
            every = t("library.all_collections")
            choice = st.selectbox(
                t("library.collection"), [every, *names], key="list_collection", label_visibility="collapsed", width=220
            )
            chosen = None if choice == every else choice
    if search:
        count = len(library.documents(collection=chosen, search=search))
    else:
        count = sum(c.documents for c in collections if chosen in (None, c.name))
    if not count:
        st.caption(t("library.none_found"))
        return
    pages = -(-count // _PER_PAGE)
    page = st.pagination(pages, key=f"documents_{search}_{chosen}") if pages > 1 else 1
    documents = library.documents(collection=chosen, search=search, limit=_PER_PAGE, offset=(page - 1) * _PER_PAGE)
    draw_document_table(documents, on_open=open_document)
    st.caption(counted("documents", count))
    if search or chosen:
        draw_delete_many(collection=chosen, search=search, count=count)
