"""The server itself: where it listens, that it calls nobody, and that a restart or a kill loses nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest
from playwright.sync_api import expect
from screen import add, add_and_wait, answers, ask, open_page, stop_button, wait_for_end
from server import GUARD, Server

pytestmark = pytest.mark.browser


def test_g08_it_listens_on_this_machine_only(server):
    process = psutil.Process(server.process.pid)
    family = [process, *process.children(recursive=True)]
    listening = {c.laddr.ip for p in family for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


def test_the_guard_of_g10_would_notice(tmp_path):
    """Each server of these tests runs under it and is asked at its end; here it is shown to see what it must."""
    written = tmp_path / "connections.txt"
    code = "import socket; s = socket.socket(); s.setblocking(False); s.connect_ex(('192.0.2.1', 9))"
    environment = os.environ | {"PYTHONPATH": str(GUARD), "FOOTNOTE_TEST_CONNECTIONS": str(written)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert written.read_text() == "socket.connect 192.0.2.1\n"


def test_restart_and_kill_keep_everything(tmp_path, page):
    server = Server(tmp_path).start()
    try:
        open_page(page, server.url)
        add_and_wait(page, ("policy.txt", b"Guests can cancel until 48 hours before arrival."))
        ask(page, "Until when can guests cancel?")
        wait_for_end(page)
        chat = page.url.split("?")[1]
        server.stop()

        server.start()
        page.goto(f"{server.url}/?{chat}")
        expect(answers(page).last.locator(".text")).to_contain_text("48 hours")
        ask(page, "And what does it cost to cancel?")
        expect(answers(page)).to_have_count(2)
        expect(stop_button(page)).to_be_visible()
        server.kill()

        server.start()
        page.goto(f"{server.url}/?{chat}")
        expect(page.locator(".fn-question")).to_have_count(2)
        # Nobody works on it any more: it is marked, or another process went on with it. Nothing hangs.
        expect(stop_button(page)).to_have_count(0, timeout=60_000)
        page.goto(f"{server.url}/library")
        expect(page.locator(".table button")).to_have_text(["policy.txt"])
    finally:
        server.stop()
    assert server.attempts() == []


def test_ask_while_another_file_is_still_being_indexed(server, page):
    open_page(page, server.url)
    add_and_wait(page, ("quick.txt", b"The gate code is 9917."))
    long = "\n\n".join(f"Paragraph {n} about the number {n * 7} and other things." for n in range(20_000))
    add(page, ("long.txt", long.encode()))
    expect(page.get_by_test_id("stProgress")).to_be_visible()
    ask(page, "What is the gate code?")
    expect(answers(page).last.locator("details.source", has_text="quick.txt").first).to_be_attached()
    wait_for_end(page)
    expect(answers(page).last.locator(".text")).to_contain_text("9917")


def test_h02_a_missing_model_is_named_and_the_library_works(tmp_path, page):
    server = Server(tmp_path, FOOTNOTE_CHAT_MODEL=str(tmp_path / "gone.gguf")).start()
    try:
        open_page(page, server.url)
        expect(page.get_by_role("alert")).to_contain_text("gone.gguf")
        expect(page.get_by_role("alert")).to_contain_text("FOOTNOTE_CHAT_MODEL")
        add_and_wait(page, ("works.txt", b"Documents can be added all the same."))
        ask(page, "What can be added?")
        expect(page.locator(".fn-question")).to_have_text("What can be added?")
        expect(page.get_by_role("button", name="Try again")).to_be_visible()
    finally:
        server.stop()
    assert server.attempts() == []
