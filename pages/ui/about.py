"""What this installation is: versions, licences, folders, models."""

from __future__ import annotations

import platform
import sqlite3
from importlib import metadata
from pathlib import Path

import streamlit as st

from core.chat_models.tuning import Tuning
from core.services.models import ModelState
from pages.ui.literal import escaped
from pages.ui.session import get_services
from pages.ui.texts import counted, t

_LIBRARIES = ("streamlit", "llama-cpp-python", "faiss-cpu", "torch", "sentence-transformers", "pymupdf", "sqlalchemy")


def draw_about() -> None:
    services = get_services()
    st.subheader(t("about.title"), anchor=False)
    rows = [
        (t("about.chat_model"), _state(services.models.chat_state())),
        (t("about.embedding_model"), _state(services.models.embedding_state())),
        (t("about.data"), str(Path(services.settings.data).absolute())),
        (t("about.models"), str(Path(services.settings.models).absolute())),
        (t("about.version"), versions()),
        (t("about.licences"), licences()),
    ]
    if tuning := services.chat.model_speed():
        rows.insert(1, (t("about.chat_speed"), speed(tuning)))
    cells = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in rows)
    st.html(f'<dl class="fn-about">{cells}</dl>')
    st.caption(f"{t('about.local')} {t('about.agpl')}")


def _state(model: ModelState) -> str:
    words = t("model.state_loading" if model.state == "loading" else f"model.{model.state}")
    return " · ".join(filter(None, (model.name, words, model.message)))


def speed(tuning: Tuning) -> str:
    """ "reads 92, writes 28 tokens a second with 2 threads"; with both numbers where reading takes another"""
    read, write = tuning.read_threads, tuning.write_threads
    threads = counted("threads", read) if read == write else t("about.two_threads", read=read, write=write)
    return t("about.speed", reads=round(tuning.reads_per_s), writes=round(tuning.writes_per_s), threads=threads)


def versions() -> str:
    own = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    return ", ".join(own + [f"{name} {version}" for name in _LIBRARIES if (version := _version(name))])


def licences() -> str:
    return ", ".join(f"{name}: {licence}" for name in _LIBRARIES if (licence := _licence(name)))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _licence(name: str) -> str:
    try:
        known = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    said = known.get("License-Expression") or known.get("License") or ""
    return said.strip().splitlines()[0] if said.strip() else ""
