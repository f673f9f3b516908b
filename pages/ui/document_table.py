"""The documents as a table whose first column opens one. Built from text nodes, so a file name is only ever text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import streamlit as st

from core.records import DocumentRecord
from core.text.file_names import told_apart
from pages.ui.boundary import guarded
from pages.ui.literal import visible
from pages.ui.texts import t

_FOLDER = Path(__file__).parent
_COLUMNS = (  # key of its title, kind: "number" is set right, "extra" goes on a narrow screen
    ("name", ""),
    ("collection", "extra"),
    ("type", "extra"),
    ("pages", "number extra"),
    ("segments", "number extra"),
    ("state", "extra"),
    ("added", ""),
)


@cache
def _component():
    return st.components.v2.component(
        "footnote.table",
        html='<div class="table"></div>',
        css=(_FOLDER / "table.css").read_text(encoding="utf-8"),
        js=(_FOLDER / "table.js").read_text(encoding="utf-8"),
    )


def draw_document_table(documents: Sequence[DocumentRecord], *, on_open: Callable[[int], None]) -> None:
    key = "document_table"

    @guarded
    def opened() -> None:
        chosen = (st.session_state.get(key) or {}).get("open")
        if chosen is not None:
            on_open(int(chosen))

    columns = [{"title": t(f"column.{name}"), "kind": kind} for name, kind in _COLUMNS]
    names = told_apart([(document.name, document.source) for document in documents])
    rows = [
        {"id": document.id, "cells": _cells(document, name), "note": _note(document)}
        for document, name in zip(documents, names, strict=True)
    ]
    _component()(key=key, data=[{"columns": columns, "rows": rows}], on_open_change=opened)


def _cells(document: DocumentRecord, name: str) -> list[str]:
    return [
        visible(name),
        visible(document.collection),
        document.type,
        "" if document.pages is None else f"{document.pages:,}",
        f"{document.segments:,}",
        t(f"state.{document.state}"),
        f"{document.added.astimezone():%Y-%m-%d %H:%M}",
    ]


def _note(document: DocumentRecord) -> str:
    return f"⚠\ufe0e {len(document.warnings)}" if document.warnings else ""
