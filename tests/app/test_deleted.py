"""Deleting in the library, and the way back: one click undoes it, and a list keeps what isn't gone yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from core.records import Problem
from pages.ui.deleted import time_left
from tests.app.conftest import wait_until


def names(services) -> list[str]:
    return [document.name for document in services.library.documents()]


def words(session) -> str:
    found = (*session.markdown, *session.caption, *session.info, *session.warning, *session.error)
    return " ".join(element.value.replace("\\", "") for element in found)


def delete(session, document) -> None:
    """On the document's page: asked, then done."""
    session.button(key=f"delete_document_{document.id}_ask").click().run()
    session.button(key=f"delete_document_{document.id}_yes").click().run()


def keys(session) -> set[str]:
    return {button.key for button in session.button}


def test_a_delete_is_undone_with_one_click(add, visit, services):
    document = add("policy.txt", "After that a fee of 25 euros applies.")
    session = visit("library", document=str(document.id))
    delete(session, document)
    assert (names(services), "is deleted" in words(session)) == ([], True)
    session.run()  # stays
    session.button(key="undo").click().run()
    assert names(services) == ["policy.txt"]
    assert "1 document is back." in words(session)
    assert "undo" not in keys(session)
    (found,) = services.search.search("fee in euros").contents
    assert found.document_id == document.id
    assert not session.exception


def test_the_row_can_be_dismissed_and_the_document_is_still_in_the_list(add, visit, services):
    document = add("policy.txt", "After that a fee of 25 euros applies.")
    session = visit("library", document=str(document.id))
    delete(session, document)
    session.button(key="undo_dismiss").click().run()
    assert "undo" not in keys(session)
    assert session.expander[0].label == "Recently deleted · 1"
    session.button(key=f"restore_{document.id}").click().run()
    assert names(services) == ["policy.txt"]
    assert not session.exception


def test_f15_the_question_says_how_long_there_is_a_way_back(add, visit):
    document = add("policy.txt", "After that a fee of 25 euros applies.")
    session = visit("library", document=str(document.id))
    session.button(key=f"delete_document_{document.id}_ask").click().run()
    assert session.warning[0].value.replace("\\", "") == (
        "Delete “policy.txt” with its 1 segment? It can be brought back for 24 hours."
    )


def test_without_undo_the_question_says_so_and_no_way_back_is_offered(environment, monkeypatch, visit, request):
    monkeypatch.setenv("FOOTNOTE_UNDO_HOURS", "0")
    document = request.getfixturevalue("add")("policy.txt", "After that a fee of 25 euros applies.")
    session = visit("library", document=str(document.id))
    session.button(key=f"delete_document_{document.id}_ask").click().run()
    assert session.warning[0].value.replace("\\", "").endswith("This can't be undone.")
    session.button(key=f"delete_document_{document.id}_yes").click().run()
    assert keys(session).isdisjoint({"undo", f"restore_{document.id}"})
    assert "is deleted" in words(session)


def test_a_deleted_document_goes_for_good_after_a_question(add, visit, services):
    document = add("policy.txt", "After that a fee of 25 euros applies.")
    services.library.delete(document.id)
    session = visit("library")
    session.button(key=f"purge_{document.id}_ask").click().run()
    assert services.library.deleted()
    session.button(key=f"purge_{document.id}_yes").click().run()
    assert services.library.deleted() == []
    assert "1 document deleted for good." in words(session)
    assert not session.exception


def test_a_collection_and_what_a_search_lists_are_deleted_and_undone_as_one(add, visit, services):
    for number in range(3):
        add(f"boat{number}.txt", f"The boat {number} is blue.", collection="boats")
    add("car.txt", "The car is red.")
    session = visit("library")
    session.selectbox(key="list_collection").set_value("boats").run()
    session.button(key="delete_many_boats__ask").click().run()
    assert "Delete the collection “boats” with 3 documents?" in words(session)
    session.button(key="delete_many_boats__yes").click().run()
    assert names(services) == ["car.txt"]
    assert "3 documents deleted." in words(session)
    session.button(key="undo").click().run()
    assert sorted(names(services)) == ["boat0.txt", "boat1.txt", "boat2.txt", "car.txt"]
    assert [c.name for c in services.library.collections() if c.documents == 3] == ["boats"]

    session.text_input(key="document_search").set_value("boat1").run()
    session.button(key="delete_many_None_boat1_ask").click().run()
    session.button(key="delete_many_None_boat1_yes").click().run()
    assert sorted(names(services)) == ["boat0.txt", "boat2.txt", "car.txt"]
    session.button(key="undo").click().run()
    assert len(names(services)) == 4
    assert not session.exception


def _delete_boats_beside_another_window(whole: bool) -> None:
    """A page of its own: in its first run, one of the boats that it has listed is deleted elsewhere."""
    import streamlit as st

    from pages.ui.deleted import delete_each, delete_whole, draw_undo
    from pages.ui.session import get_services

    if st.session_state.setdefault("first run", True):
        st.session_state["first run"] = False
        listed = get_services().library.documents(collection="boats")
        get_services().library.delete(listed[1].id)
        delete_whole("boats") if whole else delete_each(listed)
    draw_undo()


@pytest.mark.parametrize("whole", [False, True])
def test_one_that_is_gone_already_keeps_no_other_from_being_deleted_and_undone(add, services, whole):
    for number in range(3):
        add(f"boat{number}.txt", f"The boat {number} is blue.", collection="boats")
    elsewhere = names(services)[1]
    page = AppTest.from_function(_delete_boats_beside_another_window, default_timeout=30, kwargs={"whole": whole}).run()
    assert (names(services), "2 documents deleted." in words(page)) == ([], True)
    page.button(key="undo").click().run()
    assert len(names(services)) == 2
    assert [document.name for document in services.library.deleted()] == [elsewhere]
    assert not page.exception


def test_one_that_can_not_come_back_is_said_and_the_others_do(add, visit, services):
    first, second = add("a.txt", "The boat is blue."), add("b.txt", "The car is red.")
    session = visit("library")
    session.text_input(key="document_search").set_value(".txt").run()
    session.button(key="delete_many_None_.txt_ask").click().run()
    session.button(key="delete_many_None_.txt_yes").click().run()
    services.library.purge_deleted([first.id])
    session.button(key="undo").click().run()
    assert names(services) == [second.name]
    assert "gone for good" in session.error[0].value and "1 document is back." in words(session)


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (timedelta(minutes=1), "24 hours left"),
        (timedelta(hours=22, minutes=45), "1 hour left"),
        (timedelta(hours=23, minutes=30), "30 minutes left"),
        (timedelta(hours=23, minutes=58, seconds=30), "1 minute left"),
        (timedelta(hours=25), "goes at the next start"),
    ],
)
def test_how_long_a_deleted_document_stays(ago, said):
    now = datetime(2031, 3, 4, tzinfo=UTC)
    assert time_left(now - ago, 24, now) == said


def test_what_the_start_could_not_mend_is_one_calm_sentence(add, visit, services):
    add("policy.txt", "After that a fee of 25 euros applies.")
    wait_until(lambda: not services.library.jobs(active_only=True))
    services.maintenance.left = (Problem("orphan_text", "1 texts belong to no document"),)
    for page in ("library", "chat"):
        session = visit(page)
        assert [warning.value.replace("\\", "") for warning in session.warning] == [
            "Something in the data folder isn't well: 1 texts belong to no document. "
            "“python cli.py check --repair” in a terminal mends what it can."
        ]
        assert not session.exception


def test_a_long_document_is_shown_ten_segments_at_a_time(add, visit, services):
    text = "\n\n".join(f"Paragraph {n}. " + "It says something of some length. " * 40 for n in range(25))
    document = add("long.txt", text)
    assert document.segments > 20
    session = visit("library", document=str(document.id))
    assert sum('class="fn-literal"' in element.proto.body for element in session.get("html")) == 10
    assert [record.segment.index for record in services.library.segments(document.id, limit=2, offset=10)] == [10, 11]
