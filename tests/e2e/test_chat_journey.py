"""In the browser: drop a PDF, ask, see the sources, reload, stop, ask again."""

from __future__ import annotations

import re
import time

import pymupdf
import pytest
from playwright.sync_api import expect
from screen import add_and_wait, answers, ask, open_page, stop_button, wait_for_end

pytestmark = pytest.mark.browser

ROOMS = ", ".join(f"room {number} on floor {number % 7}" for number in range(1, 22))
FACTS = [
    # Long, so that its words come one after the other for some seconds.
    f"Guests can cancel until 48 hours before arrival, which holds for {ROOMS}.",
    "After that a fee of 25 euros applies.",
]


def pdf(*pages: str) -> bytes:
    document = pymupdf.open()
    for text in pages:
        document.new_page().insert_textbox((72, 72, 500, 700), text)
    return document.tobytes()


@pytest.fixture(scope="module")
def policy() -> tuple[str, bytes]:
    return "policy.pdf", pdf("The house rules of the Harbour Hotel.", " ".join(FACTS))


@pytest.fixture
def chat_page(server, page, policy):
    """A new chat over a library that holds the policy."""
    open_page(page, server.url)
    add_and_wait(page, policy)
    return page


def test_drop_a_pdf_ask_and_read_the_exact_passage(chat_page):
    page = chat_page
    ask(page, "Until when can guests cancel?")
    answer = answers(page).last
    # The sources stand there before the first word.
    expect(answer.locator("summary.line")).to_contain_text("policy.pdf")
    wait_for_end(page)
    expect(answer.locator(".text")).to_contain_text("48 hours")
    answer.locator("button.marker").first.click()
    source = answer.locator("details.source[open]")
    expect(source.locator(".title")).to_have_text("policy.pdf")
    expect(source.locator(".place")).to_have_text("pp. 1–2")  # two short pages are one passage
    expect(source.locator(".passage")).to_contain_text(FACTS[0])
    assert "".join(source.locator("mark.best").all_text_contents()) == FACTS[0]
    expect(source.locator("mark.word", has_text="cancel").first).to_be_visible()
    expect(source.locator(".facts")).to_contain_text("meaning")
    expect(source.locator(".facts")).to_contain_text("words")


def test_f05_reload_and_a_second_tab_in_the_middle_of_an_answer(server, context, chat_page):
    page = chat_page
    ask(page, "Until when can guests cancel?")
    expect(stop_button(page)).to_be_visible()
    page.reload()
    other = context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        expect(wait_for_end(tab).locator(".text")).to_contain_text("48 hours")
        expect(tab.locator(".fn-question")).to_have_text(["Until when can guests cancel?"])


def test_f01_a_click_elsewhere_while_it_writes_loses_nothing(chat_page):
    page = chat_page
    ask(page, "Until when can guests cancel?")
    expect(answers(page).last.locator(".text")).not_to_be_empty()
    page.get_by_role("button", name="Memory").click()
    page.get_by_text("Keep my question with the passages").click()
    page.keyboard.press("Escape")
    expect(wait_for_end(page).locator(".text")).to_contain_text("48 hours")
    expect(page.locator(".fn-question")).to_have_text(["Until when can guests cancel?"])


def test_f02_enter_twice_asks_once(chat_page):
    page = chat_page
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill("Until when can guests cancel?")
    box.press("Enter")
    box.press("Enter")
    wait_for_end(page)
    expect(page.locator(".fn-question")).to_have_text(["Until when can guests cancel?"])
    expect(answers(page)).to_have_count(1)


def test_e14_stop_frees_the_model_within_a_second(chat_page):
    page = chat_page
    ask(page, "Until when can guests cancel?")
    expect(answers(page).last.locator(".text")).not_to_be_empty()
    stop_button(page).click()
    stopped = time.monotonic()
    expect(page.get_by_text("Stopped")).to_be_visible()
    assert time.monotonic() - stopped < 2
    ask(page, "Which fee applies after that?")
    expect(wait_for_end(page).locator(".text")).to_contain_text("25 euros")
    expect(page.locator(".fn-question")).to_have_count(2)


def test_again_copy_and_export(chat_page):
    page = chat_page
    ask(page, "Which fee applies after that?")
    answer = wait_for_end(page)
    answer.get_by_role("button", name="copy").click()
    assert "25 euros" in page.evaluate("navigator.clipboard.readText()")
    answer.get_by_role("button", name="again").click()
    expect(stop_button(page)).to_be_visible()
    expect(wait_for_end(page).locator(".text")).to_contain_text("25 euros")
    expect(page.locator(".fn-question")).to_have_count(1)
    page.get_by_role("button", name="More").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as Markdown").click()
    exported = download.value.path().read_text(encoding="utf-8")
    assert "Which fee applies after that?" in exported
    assert "25 euros" in exported


def test_d13_a_question_about_something_else_shows_no_sources(chat_page):
    page = chat_page
    ask(page, "What is the capital of Peru?")
    answer = wait_for_end(page)
    expect(answer.locator("button.marker")).to_have_count(0)
    expect(answer.locator("summary.line")).not_to_contain_text("sources")


def test_f10_a_question_is_shown_as_typed(chat_page):
    page = chat_page
    typed = "# fee ~0.5~ *a* :smile: <b>b</b> $x$ and which fee?"
    ask(page, typed)
    wait_for_end(page)
    expect(page.locator(".fn-question")).to_have_text(typed)
    expect(page.locator(".st-key-current_chat")).to_contain_text("# fee ~0.5~ *a* :\u2060smile: <b>b</b> $x$")


def attach(page, *files):
    chosen = [{"name": name, "mimeType": "text/plain", "buffer": content} for name, content in files]
    page.get_by_test_id("stChatInput").locator("input[type=file]").set_input_files(chosen)
    for name, _ in files:
        expect(page.get_by_test_id("stChatInput")).to_contain_text(name)
    expect(page.get_by_test_id("stChatInputSubmitButton")).to_be_enabled()


def test_a_file_attached_to_a_question_comes_into_the_library(server, page):
    open_page(page, server.url)
    attach(page, ("attached.txt", b"The gate code is 9917."))
    page.get_by_test_id("stChatInputSubmitButton").click()
    expect(page.locator(".fn-job", has_text="attached.txt").filter(has_text="Searchable")).to_be_visible()


def test_a_question_waits_for_the_files_that_come_with_it(server, page):
    open_page(page, server.url)
    long = "\n\n".join(f"Berth {n} is {n % 40} metres long and has shore power." for n in range(20_000)).encode()
    attach(page, ("berths.txt", long), ("harbour.txt", b"The harbour master of Lindau is called Zoltan Example."))
    ask(page, "What is the harbour master of Lindau called?")
    expect(page.locator(".status")).to_have_text(re.compile(r"^Waiting for [12] files? that (was|were) just added$"))
    expect(wait_for_end(page, 60_000).locator(".text")).to_contain_text("Zoltan Example")
