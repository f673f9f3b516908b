"""Files from the browser to the library, each handed over once.

The hand-over happens in the widget's callback, which runs once for each change, never on a rerun. Afterwards the widget
gets a new key: it is empty again, and its copy of the files is freed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.errors import FootnoteError
from core.records import DEFAULT_COLLECTION
from pages.ui.boundary import guarded, notify, sentence
from pages.ui.session import get_services
from pages.ui.texts import t


def upload_area(name: str, *, collection: str = DEFAULT_COLLECTION, on_conflict: str = "keep_both") -> None:
    """A drop area for many files. `name` tells two areas apart."""
    limit = get_services().settings.max_file_mb
    round_key = f"upload_round_{name}"
    key = f"upload_{name}_{st.session_state.setdefault(round_key, 0)}"

    @guarded
    def take() -> None:
        hand_over(st.session_state.get(key) or (), collection=collection, on_conflict=on_conflict)
        st.session_state[round_key] += 1

    st.file_uploader(
        t("library.drop"),
        accept_multiple_files=True,
        key=key,
        on_change=take,
        max_upload_size=limit,
    )
    st.caption(t("empty.formats"))


def hand_over(files: Iterable[UploadedFile], *, collection: str, on_conflict: str = "keep_both") -> None:
    """Each file becomes a job; one that is refused is named, and the others go on."""
    taken: set[str] = st.session_state.setdefault("taken_files", set())
    for file in files:
        if file.file_id in taken:
            continue
        taken.add(file.file_id)
        try:
            get_services().library.add_bytes(
                file.name, file, collection=collection, on_conflict=on_conflict, batch=batch()
            )
        except FootnoteError as error:
            notify(sentence(error), "error")


def batch() -> str:
    """The name of what this session has added, for its own progress."""
    return st.session_state.setdefault("batch", f"web-{secrets.token_hex(8)}")
