"""In the browser: the library, from a first deep link to a deleted document; hostile files; downloads."""

from __future__ import annotations

import http.client
import json
import urllib.request
from contextlib import closing

import psutil
import pytest
from playwright.sync_api import expect
from screen import add, add_and_wait, ask, open_page, wait_for_end
from server import Server

pytestmark = pytest.mark.browser

HOSTILE = b"<img src=x onerror=alert(1)><script>alert(2)</script> [x](javascript:alert(3)) the valve is blue"


def open_document(page, url: str, name: str) -> None:
    open_page(page, f"{url}/library")
    page.locator(".table button", has_text=name).click()
    expect(page.locator(".fn-name")).to_have_text(name)


def test_a_first_deep_link_on_a_fresh_server_can_be_clicked_and_typed_in(tmp_path, page):
    server = Server(tmp_path).start()
    try:
        page.goto(f"{server.url}/library")
        expect(page.get_by_role("heading", name="Library")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        add_and_wait(page, ("first.txt", b"The gate code is 9917."))
        page.get_by_placeholder("Search documents").fill("nothing like it")
        page.keyboard.press("Enter")
        expect(page.get_by_text("No document fits.")).to_be_visible()
        page.get_by_role("link", name="New chat").click()
        ask(page, "What is the gate code?")
        expect(wait_for_end(page).locator(".text")).to_contain_text("9917")
    finally:
        server.stop()
    assert server.attempts() == []


def test_f15_delete_in_two_steps_then_nothing_is_found(server, page):
    open_page(page, f"{server.url}/library")
    add_and_wait(page, ("pump.txt", b"The pump needs 7731 drops of oil."))
    open_document(page, server.url, "pump.txt")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Delete “pump.txt” with its 1 segment?")).to_be_visible()
    expect(page.get_by_text("It can be brought back for 24 hours.")).to_be_visible()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("“pump.txt” is deleted.")).to_be_visible()
    expect(page.locator(".table button", has_text="pump.txt")).to_have_count(0)
    page.get_by_role("link", name="New chat").click()
    ask(page, "How many drops of oil does the pump need?")
    answer = wait_for_end(page)
    expect(answer).not_to_contain_text("7731")
    expect(answer.locator("details.source", has_text="pump.txt")).to_have_count(0)
    # One click brings it back, with what it's asked about.
    page.get_by_role("link", name="Library").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".table button", has_text="pump.txt")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    page.get_by_role("link", name="New chat").click()
    ask(page, "How many drops of oil does the pump need?")
    answer = wait_for_end(page)
    expect(answer).to_contain_text("7731")
    expect(answer.locator("details.source", has_text="pump.txt")).to_have_count(1)


def test_what_was_deleted_can_be_restored_or_goes_for_good(server, page):
    open_page(page, f"{server.url}/library")
    add_and_wait(page, ("seal.txt", b"The seal is made of rubber."), ("bolt.txt", b"The bolt is made of steel."))
    for name in ("seal.txt", "bolt.txt"):
        open_document(page, server.url, name)
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Delete it").click()
        expect(page.get_by_text(f"“{name}” is deleted.")).to_be_visible()
    page.get_by_text("Recently deleted · 2").click()
    expect(page.get_by_text("24 hours left")).to_have_count(2)
    page.get_by_role("button", name="Restore").last.click()  # newest first
    expect(page.locator(".table button", has_text="seal.txt")).to_be_visible()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("Delete “bolt.txt” for good? This can't be undone.")).to_be_visible()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("1 document deleted for good.")).to_be_visible()
    expect(page.get_by_text("Recently deleted")).to_have_count(0)


def test_f11_markup_in_documents_and_names_is_only_ever_text(server, page):
    name = "<b onmouseover=alert(4)>valve<b>.txt"
    open_page(page, server.url)
    add_and_wait(page, (name, HOSTILE))
    ask(page, "Which colour has the valve?")
    answer = wait_for_end(page)
    answer.locator("details.all").evaluate("all => { all.open = true }")  # closest passages are open already
    source = answer.locator("details.source", has_text="valve").first
    source.locator("summary").click()
    expect(source.locator(".passage")).to_contain_text("<img src=x onerror=alert(1)><script>alert(2)</script>")
    expect(source.locator(".title")).to_have_text(name)
    assert live_markup(page) == []
    open_document(page, server.url, name)
    expect(page.locator(".fn-literal").first).to_contain_text("<script>alert(2)</script>")
    assert live_markup(page) == []


def live_markup(page) -> list[str]:
    """Elements of documents that came to life, shadow roots included. Dialogs: the context sees to them."""
    return page.evaluate(
        """() => {
          const found = []
          const walk = root => {
            for (const e of root.querySelectorAll('*')) {
              if (e.shadowRoot) walk(e.shadowRoot)
              const handlers = [...e.attributes].filter(a => a.name.startsWith('on')).map(a => a.name)
              if (handlers.length || (e.getAttribute('href') || '').startsWith('javascript:')
                  || (e.getAttribute('src') || '') === 'x') found.push(e.outerHTML.slice(0, 200))
            }
          }
          walk(document)
          return found
        }"""
    )


def test_f03_a_file_is_handed_over_once_however_often_the_page_reruns(server, page):
    open_page(page, f"{server.url}/library")
    add_and_wait(page, ("once.txt", b"This text is read once."))
    for text in ("one", "two", "three"):
        page.get_by_placeholder("Search chats").fill(text)
        page.keyboard.press("Enter")
        expect(page.get_by_text("No chat holds these words.")).to_be_visible()
    page.reload()
    expect(page.locator(".fn-job", has_text="once.txt")).to_have_count(1)
    expect(page.locator(".table button", has_text="once.txt")).to_have_count(1)


def test_bad_files_get_a_sentence_and_the_others_go_on(server, page):
    open_page(page, f"{server.url}/library")
    add(page, ("empty.txt", b""), ("fine.txt", b"All is fine here."), ("cut.pdf", b"%PDF-1.7 nothing else"))
    expect(page.locator(".fn-job", has_text="fine.txt").filter(has_text="Searchable")).to_be_visible(timeout=30_000)
    for name in ("empty.txt", "cut.pdf"):
        job = page.locator(".fn-job", has_text=name).first
        expect(job).to_be_visible(timeout=30_000)
        expect(job).not_to_contain_text("Traceback")


def test_g02_an_uploaded_page_is_handed_out_as_a_download_only(server, page):
    body = b"<html><body><script>document.title='pwned'</script><p>harmless words</p></body></html>"
    open_page(page, f"{server.url}/library")
    add_and_wait(page, ("site.html", body))
    open_document(page, server.url, "site.html")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download original").click()
    assert (download.value.suggested_filename, download.value.path().read_bytes()) == ("site.html", body)
    number = page.url.split("document=")[1]
    with urllib.request.urlopen(f"{server.url}/download/{number}") as answer:
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def put(server, headers: dict[str, str], body: bytes = b"words", name: str = "x.txt") -> tuple[int, dict]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:
        connection.request("PUT", f"/upload?name={name}", body, headers)
        answer = connection.getresponse()
        said = answer.read()
        # Other origins are turned away before the route, in plain words.
        is_json = "json" in answer.headers["content-type"]
        return answer.status, json.loads(said) if is_json else {"error": said.decode()}


def get(server, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_a_foreign_page_can_neither_add_nor_read_files(server):
    own = {"X-Footnote": "upload"}
    assert put(server, {})[0] == 403
    assert put(server, own | {"Origin": "http://evil.example"})[0] == 403
    assert put(server, own | {"Host": "evil.example"})[0] == 403
    assert get(server, "/download/1", {"Host": "evil.example"})[0] == 403


def test_a_document_that_is_not_there_is_a_404_in_one_sentence(server):
    status, body = get(server, "/download/999999", {})
    assert status == 404
    assert b"Traceback" not in body


def test_f08_the_limit_is_stated_and_a_larger_file_never_enters_memory(tmp_path, page):
    server = Server(tmp_path, FOOTNOTE_MAX_FILE_MB="60").start()
    try:
        open_page(page, f"{server.url}/library")
        expect(page.locator(".formats")).to_contain_text("up to 60 MB each")
        process = psutil.Process(server.process.pid)
        before = process.memory_info().rss
        status, answer = put(server, {"X-Footnote": "upload"}, bytes(50_000_000), "zeros.bin")
        assert (status, list(answer)) == (200, ["job"])
        status, answer = put(server, {"X-Footnote": "upload"}, bytes(60_000_001), "huge.bin")
        assert status == 400
        assert "huge.bin" in answer["error"] and "60 MB" in answer["error"]
        assert process.memory_info().rss - before < 40_000_000
    finally:
        server.stop()
