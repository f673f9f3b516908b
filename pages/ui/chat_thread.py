"""The messages of a chat. Settled ones are drawn once; those being written are polled, 0.25 s while one runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import streamlit as st

from core.errors import NotFoundError
from core.records import MESSAGE_ENDED, MessageRecord
from pages.ui.answer import draw_answer
from pages.ui.boundary import boundary, guarded
from pages.ui.literal import as_sentence, escaped
from pages.ui.session import get_services
from pages.ui.texts import t

FAST_S, SLOW_S = 0.25, 3.0


def is_busy(messages: Sequence[MessageRecord]) -> bool:
    return any(message.role == "assistant" and message.state not in MESSAGE_ENDED for message in messages)


def draw_thread(chat: str, messages: Sequence[MessageRecord]) -> None:
    """Everything before the first unfinished answer (or the last one) stands still; the rest is live."""
    answers = [i for i, message in enumerate(messages) if message.role == "assistant"]
    unfinished = [i for i in answers if messages[i].state not in MESSAGE_ENDED]
    live = unfinished[0] if unfinished else answers[-1] if answers else len(messages)
    gone = deleted_since(messages[:live])
    for message in messages[:live]:
        _draw_message(message, last=False, gone=gone)
    if unfinished:
        st.fragment(_draw_growing, run_every=FAST_S)(_print(messages[live:]))
    else:
        st.fragment(_draw_resting, run_every=SLOW_S)(chat, live, _print(messages))


def _print(messages: Sequence[MessageRecord]) -> list[tuple[int, bool]]:
    """What asks for drawing the whole page again: a message more or less, an answer that has ended."""
    return [(message.id, message.state in MESSAGE_ENDED) for message in messages]


def _draw_growing(shown: list[tuple[int, bool]]) -> None:
    """Reads only the messages that it draws: a long chat doesn't slow its newest answer down."""
    with boundary():
        try:
            messages = [get_services().chat.message(id) for id, _ in shown]
        except NotFoundError:
            messages = []
        _draw_unless_changed(messages, 0, shown)


def _draw_resting(chat: str, live: int, shown: list[tuple[int, bool]]) -> None:
    """Nothing runs: looks now and then whether another tab has asked."""
    with boundary():
        try:
            messages = get_services().chat.messages(chat)
        except NotFoundError:
            messages = []
        _draw_unless_changed(messages, live, shown)


def _draw_unless_changed(messages: Sequence[MessageRecord], live: int, shown: list[tuple[int, bool]]) -> None:
    if _print(messages) != shown:
        st.rerun()
    gone = deleted_since(messages[live:])
    for message in messages[live:]:
        _draw_message(message, last=message is messages[-1], gone=gone)


def deleted_since(messages: Sequence[MessageRecord]) -> set[int]:
    """Ids of documents that were sources of these answers and aren't there any more."""
    used = {source.document_id for message in messages for source in message.sources if source.document_id is not None}
    return {document_id for document_id in used if not _is_there(document_id)}


def _is_there(document_id: int) -> bool:
    try:
        get_services().library.document(document_id)
    except NotFoundError:
        return False
    return True


def awaited_files(message: MessageRecord) -> int:
    """How many files are still to be indexed before this question is answered."""
    wanted = set(message.record.get("after_jobs") or ()) if message.state == "waiting" else set()
    return len(wanted & {job.id for job in get_services().library.jobs(active_only=True)}) if wanted else 0


def _draw_message(message: MessageRecord, *, last: bool, gone: Collection[int]) -> None:
    if message.role == "user":
        st.html(f'<div class="fn-question">{escaped(message.text)}</div>')
        return
    with st.container(key=f"message_{message.id}", gap="xsmall"):
        draw_answer(message, on_again=again if last else None, awaited=awaited_files(message), gone=gone)
        said = note(message)
        if said:
            st.html(f'<div class="fn-note">{escaped(said)}</div>')
        if last and message.state in MESSAGE_ENDED:
            _draw_way_on(message)


def note(message: MessageRecord) -> str:
    """How an answer ended, where it isn't simply complete."""
    if message.state in ("stopped", "cut", "failed", "interrupted"):
        return as_sentence(message.reason) or t(f"state.{message.state}")
    if message.state == "complete" and not message.text.strip():
        return t("state.empty")
    return ""


def _draw_way_on(message: MessageRecord) -> None:
    if message.state == "cut":
        label, act = t("state.continue"), continue_answer
    elif message.state != "complete" or not message.text.strip():
        label, act = t("state.retry"), again
    else:
        return
    st.button(label, key=f"way_on_{message.id}", on_click=act, args=(message.id,))


@guarded
def again(message_id: int) -> None:
    get_services().chat.regenerate(message_id)


@guarded
def continue_answer(message_id: int) -> None:
    get_services().chat.continue_answer(message_id)


@guarded
def stop_answers(chat: str) -> None:
    """Stop what runs and what waits in this chat."""
    service = get_services().chat
    for message in service.messages(chat):
        if message.role == "assistant" and message.state not in MESSAGE_ENDED:
            service.stop(message.id)
