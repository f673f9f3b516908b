"""Which chat this is, and asking in it.

The address holds the chat (`?chat=…`), so a reload or another tab shows the same one. A new chat gets its row with its
first question. One turn is asked once: its key is made from what the person saw when they asked (the chat, its last
message) and what they typed, so Enter pressed twice, or two tabs with the same view, give the same turn.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core.errors import NotFoundError
from core.records import DEFAULT_COLLECTION, MESSAGE_ENDED, ConversationRecord, MessageRecord
from pages.ui.boundary import guarded, notify
from pages.ui.session import get_services
from pages.ui.texts import t
from pages.ui.uploads import hand_over

NEW = "new"
_STALE_S = 1.0


@dataclass
class View:
    """What this session has on its screen. `chat` None: a chat without a first question."""

    chat: str | None = None
    seen: int = 0  # id of the last message that was drawn
    options: dict[str, Any] = field(default_factory=dict)  # chosen before the first question
    born: float = 0.0  # when this view's chat got its row


def view() -> View:
    return st.session_state.setdefault("view", View())


def open_chat() -> ConversationRecord | None:
    """The chat of the address, None for a new one. An address of a deleted chat says so and becomes a new one."""
    shown, wanted = view(), st.query_params.get("chat", NEW)
    if wanted == NEW and shown.chat and time.monotonic() - shown.born < _STALE_S:
        wanted = shown.chat  # the browser sent this before it heard of the new chat's address
    if wanted == NEW:
        if shown.chat:
            st.session_state.view = View()
        return None
    try:
        chat = get_services().chat.conversation(wanted)
    except NotFoundError:
        notify(t("error.no_chat"))
        st.query_params["chat"] = NEW
        st.session_state.view = View()
        return None
    if shown.chat != chat.id:
        st.session_state.view = View(chat=chat.id)
    return chat


@guarded
def submit() -> None:
    """Callback of the chat box: attached files go to the library, the text becomes a turn."""
    value = st.session_state.get("ask")
    if value is None:
        return
    chat = _chat_to_ask_in(value.text.strip())
    options = get_services().chat.conversation(chat).options if chat else view().options
    jobs = hand_over(value.files or (), collection=options.get("collection") or DEFAULT_COLLECTION)
    if chat and value.text.strip():
        ask(chat, value.text, after_jobs=jobs)


def _chat_to_ask_in(text: str) -> str | None:
    shown = view()
    if shown.chat is None and text:
        shown.chat = get_services().chat.create(dict(shown.options)).id
        shown.born = time.monotonic()
    if shown.chat:
        st.query_params["chat"] = shown.chat
    return shown.chat


def ask(chat: str, text: str, *, after_jobs: Sequence[int] = ()) -> None:
    """after_jobs  files that came with the question: the answer waits for them"""
    service = get_services().chat
    if _is_being_answered(service.messages(chat), text):
        return
    key = hashlib.sha256(f"{chat}\0{view().seen}\0{text}".encode("utf-8", "replace")).hexdigest()[:32]
    service.ask(chat, text, request_key=key, after_jobs=after_jobs)


def _is_being_answered(messages: list[MessageRecord], text: str) -> bool:
    return len(messages) > 1 and messages[-1].state not in MESSAGE_ENDED and messages[-2].text == text


def set_option(name: str, value: Any) -> None:
    shown = view()
    if shown.chat:
        get_services().chat.set_options(shown.chat, **{name: value})
    else:
        shown.options[name] = value
