"""What a person does on the screens, in words."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

File = tuple[str, bytes]  # name, content


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(".fn-brand")).to_be_visible()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def add(page: Page, *files: File) -> None:
    """Through the drop area of the page that is open."""
    chosen = [{"name": name, "mimeType": "application/octet-stream", "buffer": content} for name, content in files]
    page.locator(".upload input[type=file]").set_input_files(chosen)


def add_and_wait(page: Page, *files: File) -> None:
    add(page, *files)
    for name, _ in files:
        ended = page.locator(".fn-job", has_text=name).filter(has_text=re.compile("Searchable|Already indexed"))
        expect(ended.first).to_be_visible(timeout=30_000)


def ask(page: Page, text: str) -> None:
    """Types it, and waits until it stands on the page."""
    asked = page.locator(".fn-question").count()
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(text)
    box.press("Enter")
    expect(page.locator(".fn-question")).to_have_count(asked + 1)


def answers(page: Page) -> Locator:
    return page.locator(".answer")


def stop_button(page: Page) -> Locator:
    """The one for answers; each job has its own."""
    return page.locator(".st-key-stop button")


def wait_for_end(page: Page, timeout: int = 30_000) -> Locator:
    """The last answer, once the chat can be asked again."""
    expect(answers(page).last).to_have_attribute("data-ended", "true", timeout=timeout)
    expect(stop_button(page)).to_have_count(0)
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_enabled()
    return answers(page).last
