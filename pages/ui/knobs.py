"""The form of all settings, drawn from their description: one widget a knob, saved when it's changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from core.errors import ConfigError
from core.services.preferences import Knob
from pages.ui.boundary import guarded
from pages.ui.literal import literal
from pages.ui.session import get_services
from pages.ui.texts import counted, setting_label, t

_GROUPS = ("Models", "Retrieval", "Memory", "Documents", "Interface")


def draw_knobs() -> None:
    knobs = get_services().preferences.describe()
    pending = sum(knob.needs_restart for knob in knobs)
    if pending:
        st.info(counted("pending", pending))
    search = st.text_input(
        t("settings.search"), key="settings_search", placeholder=t("settings.search"), label_visibility="collapsed"
    )
    found = matching(knobs, search)
    if not found:
        st.caption(t("settings.none"))
    ordered = sorted(found, key=lambda knob: _GROUPS.index(knob.group) if knob.group in _GROUPS else len(_GROUPS))
    for group, of_group in groupby(ordered, key=lambda knob: knob.group):
        st.subheader(group, anchor=False)
        for knob in of_group:
            draw_knob(knob)


def matching(knobs: Sequence[Knob], search: str) -> list[Knob]:
    """Those that hold every word of the search in their name, group or help."""
    words = search.casefold().split()
    texts = ((knob, f"{title(knob)} {knob.name} {knob.group} {knob.help}".casefold()) for knob in knobs)
    return [knob for knob, text in texts if all(word in text for word in words)]


def title(knob: Knob) -> str:
    """As people call it."""
    return setting_label(knob.name)


def draw_knob(knob: Knob) -> None:
    # A reset gives the widget a new identity: what it shows is what is saved, not what it remembers.
    key = f"knob_{knob.name}_{st.session_state.get(f'reset_{knob.name}', 0)}"

    def anew() -> None:
        st.session_state[f"reset_{knob.name}"] = st.session_state.get(f"reset_{knob.name}", 0) + 1

    @guarded
    def keep() -> None:
        try:
            get_services().preferences.save(knob.name, st.session_state[key])
        except ConfigError:
            anew()  # what was refused doesn't stay on the screen as if it were kept
            raise

    @guarded
    def reset() -> None:
        get_services().preferences.reset(knob.name)
        anew()

    with st.container(key=f"setting_{knob.name}", gap="xxsmall"):
        _draw_widget(knob, key, keep)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(literal(_note(knob)), width="stretch")
            if (knob.unusable or str(knob.saved) != str(knob.default)) and not knob.from_environment:
                st.button(t("settings.reset"), key=f"reset_button_{knob.name}", on_click=reset, type="tertiary")


def _draw_widget(knob: Knob, key: str, keep) -> None:
    label, help = literal(title(knob)), None
    shared = {"key": key, "on_change": keep, "disabled": knob.from_environment, "help": help}
    if knob.type is bool:
        st.toggle(label, value=bool(knob.saved), **shared)
    elif knob.choices:
        at = knob.choices.index(knob.saved) if knob.saved in knob.choices else 0
        st.selectbox(label, knob.choices, index=at, **shared)
    elif knob.type in (int, float):
        step = 1 if knob.type is int else 0.05
        limits = (None if limit is None else knob.type(limit) for limit in (knob.minimum, knob.maximum))
        low, high = limits
        st.number_input(label, value=knob.type(knob.saved), min_value=low, max_value=high, step=step, **shared)
    elif knob.suggestions:
        known = tuple(dict.fromkeys((*knob.suggestions, str(knob.saved))))
        st.selectbox(label, known, index=known.index(str(knob.saved)), accept_new_options=True, **shared)
    else:
        st.text_input(label, value=str(knob.saved), **shared)


def _note(knob: Knob) -> str:
    if isinstance(knob.default, bool):
        default = t("settings.on" if knob.default else "settings.off")
    else:
        default = t("settings.empty") if knob.default in ("", None) else str(knob.default)
    parts = [knob.help, t("settings.default", default=default)]
    if knob.minimum is not None and knob.maximum is not None:
        parts.append(t("settings.range", low=f"{knob.minimum:g}", high=f"{knob.maximum:g}"))
    elif knob.minimum is not None:
        parts.append(t("settings.at_least", low=f"{knob.minimum:g}"))
    if knob.unusable:
        parts.append(knob.unusable)
    if knob.from_environment:
        parts.append(t("settings.environment", name=knob.environment_name))
    elif knob.needs_restart:
        parts.append(t("settings.restart"))
    return " · ".join(part.rstrip(".") for part in parts)
