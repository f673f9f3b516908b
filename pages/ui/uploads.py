"""Files from the browser to the library: the drop area, and those attached to a question."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.errors import FootnoteError
from core.records import DEFAULT_COLLECTION
from pages.ui.boundary import guarded, notify, sentence
from pages.ui.session import get_services
from pages.ui.texts import t

_FOLDER = Path(__file__).parent


@cache
def _component():
    return st.components.v2.component(
        "footnote.upload",
        html='<div class="upload"><label><span class="ask"></span><span class="formats"></span>'
        '<span class="sending" role="status"></span><input type="file" multiple></label></div>',
        css=(_FOLDER / "upload.css").read_text(encoding="utf-8"),
        js=(_FOLDER / "upload.js").read_text(encoding="utf-8"),
    )


def upload_area(*, collection: str = DEFAULT_COLLECTION, on_conflict: str = "keep_both") -> None:
    """A drop area for many files. They go to the route of `upload_route.py`; the page hears when they are there."""
    limit = get_services().settings.max_file_mb
    data = {
        "collection": collection,
        "conflict": on_conflict,
        "batch": batch(),
        "limit": limit * 1_000_000,
        "labels": {
            "ask": t("upload.ask"),
            "formats": t("upload.formats", limit=limit),
            "sending": t("upload.sending", name="{name}", share="{share}"),
            "more": t("upload.more", count="{count}"),
            "lost": t("upload.lost", name="{name}"),
            "large": t("error.too_large", name="{name}", limit=limit),
        },
    }

    @guarded
    def added() -> None:
        for refused in ((st.session_state.get("upload") or {}).get("added") or {}).get("refused", ()):
            notify(str(refused), "error")

    _component()(key="upload", data=[data], on_added_change=added)


def hand_over(files: Iterable[UploadedFile], *, collection: str) -> list[int]:
    """Files attached to a question; gives their jobs. One that is refused is named, and the others go on."""
    jobs = []
    for file in files:
        try:
            jobs.append(get_services().library.add_bytes(file.name, file, collection=collection, batch=batch()).id)
        except FootnoteError as error:
            notify(sentence(error), "error")
    return jobs


def batch() -> str:
    """The name of what this session has added, for its own progress."""
    return st.session_state.setdefault("batch", f"web-{secrets.token_hex(8)}")
