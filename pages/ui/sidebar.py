"""The sidebar of every page: new chat, the chats by day, and the way to the other pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

import streamlit as st

from core.records import ConversationRecord
from pages.ui.boundary import boundary
from pages.ui.literal import escaped, literal, shortened
from pages.ui.session import get_services
from pages.ui.texts import t

if TYPE_CHECKING:
    from streamlit.navigation.page import StreamlitPage

_SHOWN_CHATS = 100
_TITLE_LENGTH = 60


def draw_sidebar(pages: dict[str, StreamlitPage], here: StreamlitPage, current: str | None) -> None:
    """`here` is the page that is shown, `current` the chat that is open."""
    with st.sidebar:
        st.html(f'<div class="fn-brand">{escaped(t("app.name"))}<sup>1</sup></div>')
        st.page_link(pages["chat"], label=t("chats.new"), icon=":material/add:", query_params={"chat": "new"})
        with boundary():
            _chats(pages, current)
        st.space("small")
        with st.container(key="current_page" if here == pages["library"] else None):
            _library_link(pages["library"])
        with st.container(key="current_page" if here == pages["settings"] else None):
            st.page_link(pages["settings"], label=t("nav.settings"), icon=":material/tune:")


def _chats(pages: dict[str, StreamlitPage], current: str | None) -> None:
    search = st.text_input(
        t("chats.search"), key="chat_search", placeholder=t("chats.search"), label_visibility="collapsed"
    )
    chats = get_services().chat.conversations(search.strip())[:_SHOWN_CHATS]
    with st.container(key="chats"):
        if not chats:
            st.caption(t("chats.none_found") if search.strip() else t("chats.none"))
        for day, of_day in by_day(chats, date.today()):
            st.html(f'<div class="fn-day">{escaped(day)}</div>')
            for chat in of_day:
                title = literal(shortened(chat.title or t("chats.untitled"), _TITLE_LENGTH))
                with st.container(key="current_chat" if chat.id == current else None):
                    st.page_link(pages["chat"], label=title, query_params={"chat": chat.id})


def by_day(chats: Iterable[ConversationRecord], today: date) -> Iterator[tuple[str, list[ConversationRecord]]]:
    """Newest first, in groups: Today, Yesterday, then each day by its date."""
    ordered = sorted(chats, key=lambda chat: chat.updated, reverse=True)
    for day, of_day in groupby(ordered, key=lambda chat: chat.updated.astimezone().date()):
        if day >= today:
            name = t("chats.today")
        else:
            name = t("chats.yesterday") if day == today - timedelta(days=1) else f"{day:%Y-%m-%d}"
        yield name, list(of_day)


def _library_link(page: StreamlitPage) -> None:
    def draw() -> None:
        with boundary():
            running = len(get_services().library.jobs(active_only=True))
            label = t("nav.library_running", count=running) if running else t("nav.library")
            st.page_link(page, label=label, icon=":material/menu_book:")

    st.fragment(draw, run_every=3)()
