"""The browser tests: a real server, a real Chromium, the models that ship for tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))
from server import Server

ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
WAIT_MS = 15_000
expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium_path, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for a module."""
    running = Server(tmp_path_factory.mktemp("server")).start()
    yield running
    running.stop()
    assert running.attempts() == []  # g10
    assert "ScriptRunContext" not in running.text()  # f07: no worker thread touches a session
    assert "Traceback" not in running.text()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, Server):
                report.sections.append(("output of the server", value.text()[-8000:]))
            if isinstance(value, Page) and not value.is_closed():
                picture = Path(item.config.rootpath) / ".pytest_cache" / "pictures" / f"{item.name}.png"
                picture.parent.mkdir(parents=True, exist_ok=True)
                value.screenshot(path=picture)
                report.sections.append(("picture of the page", str(picture)))
    return report


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile. g10: whatever a page asks for is on this machine; no dialog ever opens."""
    made = browser.new_context(viewport={"width": 1280, "height": 860})
    made.set_default_timeout(WAIT_MS)
    made.grant_permissions(["clipboard-read", "clipboard-write"])
    foreign: list[str] = []
    dialogs: list[str] = []

    def watch(page: Page) -> None:
        page.on("request", lambda request: _note_foreign(request.url, foreign))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))

    made.on("page", watch)
    yield made
    made.close()
    assert foreign == []
    assert dialogs == []


def _note_foreign(url: str, foreign: list[str]) -> None:
    if not url.startswith(("http://127.0.0.1:", "blob:", "data:")):
        foreign.append(url)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()
