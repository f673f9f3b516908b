"""Every knob with its range and default, and what this installation is."""

import streamlit as st

from pages.ui.about import draw_about
from pages.ui.knobs import draw_knobs
from pages.ui.texts import t

st.title(t("settings.title"), anchor=False)
draw_knobs()
draw_about()
