"""What is missing, said once on top: a model that isn't there, and how to get it."""

from __future__ import annotations

import streamlit as st

from pages.ui.literal import literal
from pages.ui.session import get_services
from pages.ui.texts import t


def draw_model_banner(*, chat: bool = True) -> None:
    models = get_services().models
    if chat:
        state = models.chat_state()
        if state.state in ("missing", "failed"):
            st.warning(literal(t("model.chat_missing", message=state.message)))
        elif state.state == "loading":
            st.caption(t("model.loading"))
    state = models.embedding_state()
    if state.state in ("missing", "failed"):
        st.warning(literal(t("model.embedding_missing", message=state.message)))
