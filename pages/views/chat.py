"""Ask, and see where the answer came from."""

import streamlit as st

from core.records import JOB_ENDED
from pages.ui.banners import draw_model_banner, draw_upkeep_banner
from pages.ui.chat_state import open_chat, submit, view
from pages.ui.chat_thread import draw_thread, is_busy, stop_answers
from pages.ui.chat_top import draw_top
from pages.ui.jobs import draw_jobs
from pages.ui.literal import escaped
from pages.ui.session import get_services
from pages.ui.texts import counted, t
from pages.ui.uploads import batch, upload_area


def draw_empty(document_count: int) -> None:
    st.html(
        f'<div class="fn-lead">{escaped(t("empty.title"))}</div><div class="fn-text">{escaped(t("empty.text"))}</div>'
    )
    if document_count:
        st.caption(t("empty.ready", documents=counted("documents", document_count)))
    else:
        st.html(f'<div class="fn-text">{escaped(t("empty.add"))}</div>')
    upload_area()


def draw_bottom(chat_id: str | None, busy: bool) -> None:
    with st.bottom, st.container(horizontal=True, vertical_alignment="bottom", wrap=False):
        st.chat_input(
            t("ask.busy") if busy else t("ask.placeholder"),
            key="ask",
            accept_file="multiple",
            max_upload_size=services.settings.max_file_mb,
            disabled=busy,
            on_submit=submit,
        )
        if busy:
            st.button(t("ask.stop"), key="stop", icon=":material/stop:", on_click=stop_answers, args=(chat_id,))


services = get_services()
chat = open_chat()
messages = services.chat.messages(chat.id) if chat else []
view().seen = messages[-1].id if messages else 0
documents = sum(collection.documents for collection in services.library.collections())

draw_top(chat)
draw_model_banner()
draw_upkeep_banner()
if messages:
    draw_thread(chat.id, messages)
else:
    draw_empty(documents)
jobs = services.library.jobs(batch=batch())
running = sum(job.state not in JOB_ENDED for job in jobs)
draw_jobs(batch=batch(), keep_done_s=15 if messages else 60)
if running and not is_busy(messages):
    st.caption(counted("hint", running))
elif messages and not documents and not running:
    st.caption(t("hint.no_documents"))
draw_bottom(chat.id if chat else None, is_busy(messages))
