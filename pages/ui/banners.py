"""What is missing or not well, said once on top: a model that isn't there, data that is damaged, and what to do."""

from __future__ import annotations

import streamlit as st

from pages.ui.literal import literal
from pages.ui.session import get_services
from pages.ui.texts import counted, t


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


def draw_upkeep_banner() -> None:
    """What the look at the start found and couldn't mend by itself."""
    left = get_services().maintenance.left
    if left:
        st.warning(literal(counted("upkeep.left", len(left), first=left[0].message)))
