"""The main job once with the real default models: drop, ask, sources, answer."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from screen import add_and_wait, answers, ask, open_page, wait_for_end
from server import Server

pytestmark = [pytest.mark.browser, pytest.mark.real_model, pytest.mark.timeout(300)]

TEXT = b"""The Harbour Hotel. Guests can cancel until 48 hours before arrival. After that a fee of 25 euros applies.
Breakfast is served from seven to ten. The pool is closed in winter."""


def test_ask_the_real_default_model(tmp_path, page):
    server = Server(tmp_path, FOOTNOTE_CHAT_MODEL="", FOOTNOTE_EMBEDDING_MODEL="").start()
    try:
        open_page(page, server.url)
        add_and_wait(page, ("hotel.txt", TEXT))
        ask(page, "Which fee applies when a guest cancels late?")
        answer = answers(page).last
        expect(answer.locator("summary.line")).to_contain_text("hotel.txt")
        wait_for_end(page, timeout=180_000)
        expect(answer.locator(".text")).to_contain_text("25")
        expect(answer.locator(".footer")).to_contain_text("tokens/s")
    finally:
        server.stop()
    assert server.attempts() == []
