"""The choices above a chat: which documents, what memory keeps, and what can be done with the chat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.records import ConversationRecord, DocumentRecord
from core.services.memory_cost import MemoryCost
from pages.ui.boundary import guarded
from pages.ui.chat_state import NEW, set_option, view
from pages.ui.literal import literal, shortened
from pages.ui.session import get_services
from pages.ui.texts import counted, t

_MOST_CHOICES = 500


def draw_top(chat: ConversationRecord | None) -> None:
    options = chat.options if chat else view().options
    suffix = chat.id if chat else NEW  # each chat has its own widgets, with its own values
    with st.container(horizontal=True, gap="small", key="top"):
        with st.popover(literal(scope_label(options)), icon=":material/folder_open:", key=f"scope_{suffix}"):
            _draw_scope(options, suffix)
        with st.popover(t("memory.label"), icon=":material/history:", key=f"memory_{suffix}"):
            _draw_memory(chat, options, suffix)
        if chat:
            with st.popover(t("menu.label"), icon=":material/more_horiz:", key=f"menu_{suffix}"):
                _draw_menu(chat)


def scope_label(options: Mapping[str, Any]) -> str:
    chosen = options.get("document_ids") or ()
    if chosen:
        return counted("documents", len(chosen))
    return shortened(options.get("collection") or t("scope.all"), 30)


def _draw_scope(options: Mapping[str, Any], suffix: str) -> None:
    kinds = ["all", "collection", "chosen"]
    kind = "chosen" if options.get("document_ids") else "collection" if options.get("collection") else "all"
    library = get_services().library
    collections = [collection.name for collection in library.collections()]
    kind_key, collection_key, chosen_key = (f"scope_{part}_{suffix}" for part in ("kind", "collection", "chosen"))

    @guarded
    def keep() -> None:
        chosen = st.session_state[kind_key]
        collection = st.session_state.get(collection_key) or (collections[0] if collections else None)
        set_option("collection", collection if chosen == "collection" else None)
        documents = st.session_state.get(chosen_key) or ()
        set_option("document_ids", [document for document in documents] if chosen == "chosen" else [])

    chosen = st.radio(
        t("scope.ask"),
        kinds,
        index=kinds.index(st.session_state.get(kind_key, kind)),
        format_func=lambda name: t(f"scope.{name}"),
        key=kind_key,
        on_change=keep,
    )
    if chosen == "collection" and collections:
        current = options.get("collection")
        st.selectbox(
            t("scope.which_collection"),
            collections,
            index=collections.index(current) if current in collections else 0,
            key=collection_key,
            on_change=keep,
        )
    if chosen == "chosen":
        names = document_names(library.documents(limit=_MOST_CHOICES))
        st.multiselect(
            t("scope.which_documents"),
            list(names),
            default=[id for id in options.get("document_ids") or () if id in names],
            format_func=lambda id: names.get(id, str(id)),
            key=chosen_key,
            on_change=keep,
        )


def document_names(documents: list[DocumentRecord]) -> dict[int, str]:
    """By id; two documents of one name are told apart by collection, then by number."""
    by_name = Counter(document.name for document in documents)
    by_place = Counter((document.name, document.collection) for document in documents)
    names = {}
    for document in documents:
        name = document.name
        if by_name[document.name] > 1:
            name += f" · {document.collection}"
        if by_place[document.name, document.collection] > 1:
            name += f" · {document.added.astimezone():%Y-%m-%d %H:%M} · {document.id}"
        names[document.id] = name
    return names


def _draw_memory(chat: ConversationRecord | None, options: Mapping[str, Any], suffix: str) -> None:
    services = get_services()
    key = f"memory_kind_{suffix}"
    kept = options.get("store_retrieved_content", services.settings.store_retrieved_content)
    captions = None
    if chat:
        cost = services.chat.memory_cost(chat.id)
        captions = memory_captions(cost)

    @guarded
    def keep() -> None:
        set_option("store_retrieved_content", st.session_state[key])

    st.radio(
        t("memory.ask"),
        [False, True],
        index=int(bool(kept)),
        format_func=lambda augmented: t("memory.augmented" if augmented else "memory.original"),
        captions=captions,
        key=key,
        on_change=keep,
    )
    st.caption(t("memory.note"))


def memory_captions(cost: MemoryCost) -> list[str]:
    """What each kind of memory costs in tokens, and in seconds once the machine's speed is known."""
    lines = []
    for now, later, most, now_s, later_s in (
        (
            cost.now_original,
            cost.after_ten_original,
            cost.most_original,
            cost.now_original_s,
            cost.after_ten_original_s,
        ),
        (
            cost.now_augmented,
            cost.after_ten_augmented,
            cost.most_augmented,
            cost.now_augmented_s,
            cost.after_ten_augmented_s,
        ),
    ):
        line = t("memory.cost", now=f"{now:,}", later=f"{later:,}", most=f"{most:,}", messages=cost.messages)
        if now_s is not None and later_s is not None:
            line += t("memory.cost_seconds", now=f"{now_s:.0f}", later=f"{later_s:.0f}")
        lines.append(line)
    return lines


def _draw_menu(chat: ConversationRecord) -> None:
    service = get_services().chat
    key = f"title_{chat.id}"

    @guarded
    def rename() -> None:
        name = " ".join(st.session_state[key].split())
        if name:
            service.rename(chat.id, name)

    st.text_input(t("menu.rename"), value=chat.title, key=key, max_chars=200, on_change=rename)
    st.download_button(
        t("menu.export"),
        data=lambda: service.export_markdown(chat.id),
        file_name=f"{_file_name(chat.title)}.md",
        mime="text/markdown",
        on_click="ignore",
        icon=":material/download:",
        key=f"export_{chat.id}",
    )
    _draw_delete(chat)


def _file_name(title: str) -> str:
    kept = "".join(c if c.isalnum() or c in " -_" else " " for c in title)
    return shortened(kept, 60).rstrip("… ") or "chat"


def _draw_delete(chat: ConversationRecord) -> None:
    asking = f"delete_chat_{chat.id}"

    def set_asking(value: bool) -> None:
        st.session_state[asking] = value

    @guarded
    def delete() -> None:
        get_services().chat.delete(chat.id)
        st.session_state.pop(asking, None)
        st.query_params["chat"] = NEW

    if not st.session_state.get(asking):
        label = t("menu.delete")
        st.button(label, key=f"{asking}_ask", on_click=set_asking, args=(True,), icon=":material/delete:")
        return
    count = len(get_services().chat.messages(chat.id))
    title = shortened(chat.title or t("chats.untitled"), 80)
    st.warning(literal(t("menu.delete_ask", title=title, count=count)))
    with st.container(horizontal=True):
        st.button(t("menu.delete_yes"), key=f"{asking}_yes", on_click=delete, type="primary")
        st.button(t("menu.delete_no"), key=f"{asking}_no", on_click=set_asking, args=(False,))
