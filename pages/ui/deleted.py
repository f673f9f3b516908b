"""Deleting, and the way back: the row that undoes a delete, and the list of what was deleted and isn't gone yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import streamlit as st

from core.errors import FootnoteError, NotFoundError
from core.records import DeletedDocument, DocumentRecord
from pages.ui.boundary import guarded, notify, sentence
from pages.ui.literal import escaped, literal, shortened
from pages.ui.session import get_services
from pages.ui.texts import counted, t

_UNDO = "just_deleted"  # (what was done, the ids)
_SHOWN = 50
_NAME_LENGTH = 120


def way_back() -> str:
    """What a question before a delete says of its undoing."""
    hours = round(get_services().library.undo_hours)
    return counted("delete.way_back", hours) if hours else t("delete.no_way_back")


def say_deleted(documents: Sequence[DocumentRecord | DeletedDocument]) -> None:
    """On the library's next page: what was deleted, with a button that undoes it."""
    one = len(documents) == 1
    name = shortened(documents[0].name, _NAME_LENGTH) if one else ""
    said = t("document.deleted", name=name) if one else _done(len(documents))
    if documents and get_services().library.undo_hours:
        st.session_state[_UNDO] = (said, [document.id for document in documents])
    else:
        notify(said)


def draw_undo() -> None:
    """Stays until it's used or dismissed, or something else is deleted."""
    if _UNDO not in st.session_state:
        return
    said, ids = st.session_state[_UNDO]

    @guarded
    def undo() -> None:
        st.session_state.pop(_UNDO, None)
        _bring_back(ids)

    with st.container(horizontal=True, vertical_alignment="center", border=True, key="undo_row"):
        st.markdown(literal(said))
        st.button(t("delete.undo"), key="undo", icon=":material/undo:", on_click=undo, type="primary")
        st.button(t("delete.dismiss"), key="undo_dismiss", on_click=_forget_undo, type="tertiary")


def draw_delete_many(*, collection: str | None, search: str, count: int) -> None:
    """Below a list that shows a part: delete what is listed, or the collection that is chosen."""
    library = get_services().library
    whole = collection is not None and not search

    @guarded
    def delete() -> None:
        if whole:
            delete_whole(collection)
            st.session_state.pop("list_collection", None)
        else:
            delete_each(library.documents(collection=collection, search=search))
            st.session_state.pop("document_search", None)

    documents = counted("documents", count)
    name = shortened(collection or "", _NAME_LENGTH)
    question = (
        t("delete.collection_ask", name=name, documents=documents)
        if whole
        else t("delete.these_ask", documents=documents)
    )
    label = t("delete.collection") if whole else t("delete.these")
    _draw_asking(f"delete_many_{collection}_{search}", label, f"{question} {way_back()}", delete)


def delete_whole(name: str) -> None:
    """Says what went with it, which may be more or less than the page had listed."""
    library = get_services().library
    before = {document.id for document in library.deleted()}
    count = library.delete_collection(name)
    if library.undo_hours:
        say_deleted([gone for gone in library.deleted() if gone.collection == name and gone.id not in before])
    else:
        notify(_done(count))


def delete_each(documents: Sequence[DocumentRecord]) -> None:
    """Each by itself: one that is gone already keeps no other, and where it breaks off, what is gone can be undone."""
    library = get_services().library
    gone = []
    try:
        for document in documents:
            with suppress(NotFoundError):
                gone.append(library.delete(document.id))
    finally:
        say_deleted(gone)


def _done(count: int) -> str:
    return t("delete.done", documents=counted("documents", count))


def draw_deleted() -> None:
    library = get_services().library
    found = library.deleted()
    if not found:
        return
    with st.expander(t("deleted.title", count=f"{len(found):,}"), key="deleted"):
        for document in found[:_SHOWN]:
            _draw_one(document)
        if len(found) > _SHOWN:
            st.caption(t("deleted.more", count=f"{len(found) - _SHOWN:,}"))
        if len(found) > 1:
            question = t("deleted.purge_all_ask", documents=counted("documents", len(found)))
            ids = [document.id for document in found]
            _draw_asking("purge_all", t("deleted.purge_all"), question, lambda: _purge(ids))


def time_left(deleted: datetime, hours: float, now: datetime) -> str:
    """ "24 hours left" (to the nearest hour), below an hour "5 minutes left" """
    left = deleted + timedelta(hours=hours) - now
    minutes = int(left.total_seconds() // 60)
    if minutes <= 0:
        return t("deleted.due")
    return counted("deleted.hours", round(minutes / 60)) if minutes >= 60 else counted("deleted.minutes", minutes)


def _draw_one(document: DeletedDocument) -> None:
    left = time_left(document.deleted, get_services().library.undo_hours, datetime.now(UTC))
    facts = t(
        "deleted.facts",
        collection=document.collection,
        segments=counted("segments", document.segments),
        left=left,
    )
    name = shortened(document.name, _NAME_LENGTH)

    @guarded
    def restore() -> None:
        _bring_back([document.id])

    with st.container(horizontal=True, vertical_alignment="center", key=f"deleted_{document.id}"):
        st.html(f'<div>{escaped(name)}</div><div class="fn-facts">{escaped(facts)}</div>')
        st.button(t("deleted.restore"), key=f"restore_{document.id}", on_click=restore)
        question = t("deleted.purge_ask", name=name)
        _draw_asking(f"purge_{document.id}", t("deleted.purge"), question, lambda: _purge([document.id]))


def _draw_asking(key: str, label: str, question: str, act: Callable[[], None]) -> None:
    """A button that asks before it acts."""
    asking = f"asking_{key}"

    def ask(value: bool) -> None:
        st.session_state[asking] = value

    @guarded
    def yes() -> None:
        st.session_state.pop(asking, None)
        act()

    if not st.session_state.get(asking):
        st.button(label, key=f"{key}_ask", on_click=ask, args=(True,), icon=":material/delete:", type="tertiary")
        return
    st.warning(literal(question))
    with st.container(horizontal=True):
        st.button(t("document.delete_yes"), key=f"{key}_yes", on_click=yes, type="primary")
        st.button(t("document.delete_no"), key=f"{key}_no", on_click=ask, args=(False,))


def _bring_back(ids: Sequence[int]) -> None:
    """Each by itself: one that can't come back doesn't keep the others away."""
    back = 0
    for document_id in ids:
        try:
            get_services().library.undelete(document_id)
            back += 1
        except FootnoteError as error:
            notify(sentence(error), "error")
    just = st.session_state.get(_UNDO)
    if just and set(ids) & set(just[1]):
        _forget_undo()
    if back:
        notify(counted("delete.back", back))


def _purge(ids: Sequence[int]) -> None:
    count = get_services().library.purge_deleted(ids)
    _forget_undo()
    notify(t("deleted.purged", documents=counted("documents", count)))


def _forget_undo() -> None:
    st.session_state.pop(_UNDO, None)
