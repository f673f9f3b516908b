"""The pages in AppTest, over the real services with the models that ship for tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.records import MESSAGE_ENDED
from pages.ui.session import HOLDER

MAIN = Path(__file__).resolve().parents[2] / "pages" / "main.py"
WAIT_S = 30


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The data folder of this test; the process's services are made for it at the first visit, and closed after."""
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FOOTNOTE_CHAT_MODEL", "echo")
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "hashing")
    HOLDER.close()
    yield tmp_path / "data"
    HOLDER.close()


@pytest.fixture
def services(environment):
    return HOLDER.get()


@pytest.fixture
def visit() -> Callable[..., AppTest]:
    """A new session that opens a page by its address: visit("library", document="3")."""

    def open_page(page: str = "chat", **query: str) -> AppTest:
        session = AppTest.from_file(MAIN, default_timeout=WAIT_S)
        for name, value in query.items():
            session.query_params[name] = value
        if page != "chat":
            # The pages are known after a first run; a deep link then runs on the wanted one.
            session.run()
            session.switch_page(f"views/{page}.py")
        return session.run()

    return open_page


@pytest.fixture
def add(services):
    """Adds a document and waits until it is searchable; gives its record."""

    def add_document(name: str, text: str, **options):
        job = services.library.add_bytes(name, text.encode(), **options)
        ended = wait_until(lambda: next((j for j in services.library.jobs() if j.id == job.id and _ended(j)), None))
        assert ended.state == "done", ended.reason
        return services.library.document(ended.result["document_id"])

    return add_document


def _ended(job) -> bool:
    return job.state in ("done", "failed", "stopped", "needs_password")


def wait_until(found: Callable):
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.02)
    raise AssertionError("it didn't happen in time")


@pytest.fixture
def answered(services):
    """Waits until every answer of a chat has ended; gives its messages."""

    def wait(chat: str):
        def ended():
            messages = services.chat.messages(chat)
            return messages if all(m.state in MESSAGE_ENDED for m in messages if m.role == "assistant") else None

        return wait_until(ended)

    return wait
