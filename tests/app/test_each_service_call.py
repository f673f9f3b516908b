"""F16 for each call by itself: whatever a page asks the services for may fail, and the page still says one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from pages.ui.session import ServicesHolder

PARTS = ("library", "chat", "models", "preferences", "search", "indexing", "maintenance")


class Watched:
    """Real services whose calls are written down; the one named `broken` raises what nobody foresaw."""

    def __init__(self, target: Any, calls: list[str], broken: str, path: str = "") -> None:
        self._target, self._calls, self._broken, self._path = target, calls, broken, path

    def __getattr__(self, name: str) -> Any:
        found, path = getattr(self._target, name), f"{self._path}{name}"
        if name in PARTS:
            return Watched(found, self._calls, self._broken, f"{path}.")
        if not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            self._calls.append(path)
            if path == self._broken:
                raise RuntimeError("secret detail in /some/folder/file.py")
            return found(*arguments, **options)

        return call


@pytest.mark.parametrize("page", ["chat", "library", "settings"])
def test_f16_each_call_that_a_page_makes_may_fail(add, visit, answered, services, monkeypatch, page):
    document = add("policy.txt", "After that a fee of 25 euros applies.")
    chat = services.chat.create().id
    services.chat.ask(chat, "Which fee applies?", request_key="k")
    answered(chat)
    calls: list[str] = []

    def shown(broken: str):
        monkeypatch.setattr("pages.ui.session.HOLDER", ServicesHolder(lambda: Watched(services, calls, broken)))
        session = visit(chat=chat, document=str(document.id))
        calls.clear()  # of the first run, which is always the chat's
        session.switch_page(f"views/{page}.py").run()
        return session, " ".join(element.value.replace("\\", "") for element in session.error)

    session, errors = shown("")
    assert (list(session.exception), errors) == ([], "")
    made = sorted({call for call in calls if "." in call})
    assert made
    for call in made:
        session, errors = shown(call)
        assert not session.exception, call
        assert "Something went wrong" in errors and "secret" not in errors and "/some" not in errors, call
