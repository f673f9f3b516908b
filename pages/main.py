"""Page config and navigation: the script that the server runs for every visit."""

from pathlib import Path

import streamlit as st

from pages.ui.boundary import boundary, show_notices
from pages.ui.own_requests import is_opened
from pages.ui.sidebar import draw_sidebar
from pages.ui.texts import t

VIEWS, UI = Path(__file__).parent / "views", Path(__file__).parent / "ui"
PAGES = {
    "chat": st.Page(VIEWS / "chat.py", title=t("nav.chat"), default=True),
    "library": st.Page(VIEWS / "library.py", title=t("nav.library"), url_path="library"),
    "settings": st.Page(VIEWS / "settings.py", title=t("nav.settings"), url_path="settings"),
}

page = st.navigation(list(PAGES.values()), position="hidden")
wide = page == PAGES["library"]
st.set_page_config(
    page_title=f"{page.title} · {t('app.name')}",
    page_icon=UI / "icon.svg",
    layout="wide" if wide else "centered",
)
st.html(UI / "style.css")
current = st.query_params.get("chat") if page == PAGES["chat"] else None
draw_sidebar(PAGES, page, current)
if is_opened():
    st.warning(t("warning.opened"))
show_notices()
with boundary():
    page.run()
