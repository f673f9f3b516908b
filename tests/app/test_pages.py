"""Every page over real services: a first visit, with content, in two sessions, and when things fail."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.chat_models.opening import open_chat_model
from pages.ui.session import ServicesHolder, get_services
from tests.app.conftest import wait_until

POLICY = "Guests can cancel until 48 hours before arrival. After that a fee of 25 euros applies."


def words(session) -> str:
    """All text of a page, sidebar included."""
    kinds = ("markdown", "caption", "title", "subheader", "error", "warning", "info", "html", "text")
    return "\n".join(
        str(getattr(e, "value", "") or getattr(e, "body", "")) for kind in kinds for e in session.get(kind)
    )


def answer_data(session) -> list[dict]:
    """What the answer components were given."""
    given = [json.loads(element.proto.json)[0] for element in session.get("bidi_component")]
    return [data for data in given if "blocks" in data]


@pytest.mark.parametrize("page", ["chat", "library", "settings"])
def test_f13_every_page_renders_at_a_first_visit_with_nothing_there(environment, visit, page):
    session = visit(page)
    assert not session.exception
    assert not session.error
    assert session.sidebar.get("page_link")


@pytest.mark.parametrize("page", ["chat", "library", "settings"])
def test_f13_a_foreign_address_says_so_and_opens(environment, visit, page):
    session = visit(page, chat="f" * 32, document="999")
    assert not session.exception
    assert not session.error


def test_c12_an_empty_library_is_said_before_anybody_asks(environment, visit):
    assert "Drop your first documents here" in words(visit())


def test_ask_and_see_where_the_answer_came_from(add, visit, answered):
    add("policy.txt", POLICY)
    session = visit()
    session.chat_input[0].set_value("Until when can guests cancel?").run()
    chat = session.query_params["chat"]
    question, answer = answered(chat)
    assert (question.text, answer.state) == ("Until when can guests cancel?", "complete")
    data = answer_data(session.run())[-1]
    assert data["sources"][0]["title"] == "policy.txt"
    assert "48 hours" in data["plain"]
    assert "48 hours" in "".join(text for text, _ in data["sources"][0]["runs"])


def test_f05_another_session_opens_the_chat_by_its_address(add, visit, answered):
    add("policy.txt", POLICY)
    first = visit()
    first.chat_input[0].set_value("Which fee applies?").run()
    chat = first.query_params["chat"]
    answered(chat)
    other = visit(chat=chat)
    assert "Which fee applies?" in words(other)
    assert "25 euros" in answer_data(other)[-1]["plain"]


def test_f02_the_same_question_twice_from_one_view_is_one_turn(add, visit, answered):
    add("policy.txt", POLICY)
    opened = visit()
    opened.chat_input[0].set_value("Hello?").run()
    chat = opened.query_params["chat"]
    answered(chat)
    one, two = visit(chat=chat), visit(chat=chat)
    one.chat_input[0].set_value("Which fee applies?").run()
    two.chat_input[0].set_value("Which fee applies?").run()
    messages = answered(chat)
    assert [m.text for m in messages if m.role == "user"] == ["Hello?", "Which fee applies?"]
    assert [m.role for m in messages] == ["user", "assistant"] * 2


def test_e15_the_screen_shows_what_was_typed_and_the_memory_switch_is_kept(add, visit, answered, services):
    add("policy.txt", POLICY)
    session = visit()
    session.chat_input[0].set_value("Which fee applies?").run()
    chat = session.query_params["chat"]
    answered(chat)
    session = visit(chat=chat)
    session.radio(key=f"memory_kind_{chat}").set_value(True).run()
    assert services.chat.conversation(chat).options["store_retrieved_content"] is True
    assert "Which fee applies?" in words(session)
    assert visit(chat=chat).radio(key=f"memory_kind_{chat}").value is True


def test_e02_a_cut_answer_says_so_and_goes_on(environment, monkeypatch, visit, request):
    monkeypatch.setenv("FOOTNOTE_MAX_ANSWER_TOKENS", "16")
    add, answered = map(request.getfixturevalue, ("add", "answered"))  # the services read the environment once
    add("rooms.txt", "Guests sleep in " + ", ".join(f"room {n}" for n in range(30)) + ".")
    session = visit()
    session.chat_input[0].set_value("Where do guests sleep?").run()
    chat = session.query_params["chat"]
    cut = answered(chat)[-1]
    assert cut.state == "cut"
    session.run()
    session.button(key=f"way_on_{cut.id}").click().run()
    assert len(answered(chat)[-1].text) > len(cut.text)
    assert not session.exception


def test_one_collection_is_asked(add, visit, answered, services):
    services.library.add_collection("south")
    add("north.txt", "The total of readings is 100.")
    add("south.txt", "The total of readings is 200.", collection="south")
    session = visit()
    session.radio(key="scope_kind_new").set_value("collection").run()
    session.selectbox(key="scope_collection_new").set_value("south").run()
    session.chat_input[0].set_value("What is the total of readings?").run()
    answer = answered(session.query_params["chat"])[-1]
    assert [source.document for source in answer.sources] == ["south.txt"]


def test_rename_and_delete_a_chat_in_two_steps(add, visit, answered, services):
    add("policy.txt", POLICY)
    session = visit()
    session.chat_input[0].set_value("Which fee applies?").run()
    chat = session.query_params["chat"]
    answered(chat)
    session.run()
    session.text_input(key=f"title_{chat}").set_value("Fees *and* more").run()
    assert services.chat.conversation(chat).title == "Fees *and* more"
    session.button(key=f"delete_chat_{chat}_ask").click().run()
    assert r"Fees \*and\* more" in session.warning[0].value
    assert services.chat.conversation(chat)
    session.button(key=f"delete_chat_{chat}_yes").click().run()
    assert services.chat.conversations() == []
    assert not session.exception


def test_f15_a_document_is_deleted_in_two_steps_that_name_it(add, visit, services):
    document = add("policy.txt", POLICY)
    session = visit("library", document=str(document.id))
    session.button(key=f"delete_document_{document.id}_ask").click().run()
    assert r"policy\.txt" in session.warning[0].value
    assert "its 1 segment?" in session.warning[0].value.replace("\\", "")
    session.button(key=f"delete_document_{document.id}_no").click().run()
    assert services.library.document(document.id)
    session.button(key=f"delete_document_{document.id}_ask").click().run()
    session.button(key=f"delete_document_{document.id}_yes").click().run()
    assert services.library.documents() == []
    assert not session.exception


def test_a42_a44_same_names_and_same_files_are_said(add, visit, services):
    add("readings.txt", "The total is 100.")
    add("readings.txt", "The total is 200.")
    assert len(services.library.documents()) == 2
    add("readings.txt", "The total is 200.")
    assert len(services.library.documents()) == 2
    assert "Already indexed" in words(visit("library"))


def test_a43_the_same_content_under_another_name_names_the_first(add, visit):
    add("one.yaml", "sensor: alpha")
    add("two.yaml", "sensor: alpha")
    assert "Same content as one.yaml" in words(visit("library"))


def test_segments_are_shown_literally(add, visit):
    document = add("odd.txt", "~0.5 # 5 mm :smile: <b>bold</b> $x$")
    shown = [element.proto.body for element in visit("library", document=str(document.id)).get("html")]
    assert any("~0.5 # 5 mm :smile: &lt;b&gt;bold&lt;/b&gt; $x$" in body for body in shown)


def test_a_setting_is_saved_and_reset(environment, visit):
    session = visit("settings")
    session.number_input(key="knob_max_results_0").set_value(9).run()
    assert "1 change takes effect" in session.info[0].value
    assert visit("settings").number_input(key="knob_max_results_0").value == 9
    session.button(key="reset_button_max_results").click().run()
    assert not session.info
    assert session.number_input(key="knob_max_results_1").value == 6


def test_a_setting_of_the_environment_can_not_be_changed_here(environment, visit):
    session = visit("settings")
    assert session.selectbox(key="knob_chat_model_0").disabled
    assert "Set by FOOTNOTE" in words(session)


def test_a_model_that_there_is_not_is_refused_at_once(environment, monkeypatch, visit):
    monkeypatch.delenv("FOOTNOTE_CHAT_MODEL")
    session = visit("settings")
    box = session.selectbox(key="knob_chat_model_0")
    assert {"qwen2.5-coder-0.5b", "echo"} <= set(box.options)
    first = box.options[0]
    box.options.append("gpt-99")  # typed in: the browser takes it, as it isn't only a list
    box.set_value("gpt-99").run()
    assert "gpt" in session.error[0].value and not session.info
    assert session.selectbox(key="knob_chat_model_1").value == first
    session.selectbox(key="knob_chat_model_1").set_value("echo").run()
    assert session.info and not session.error


def test_a_new_collection_is_made_with_enter_and_chosen(environment, visit, services):
    session = visit("library")
    session.text_input(key="new_collection").set_value("boats")
    next(button for button in session.button if button.label == "Add").click().run()
    assert session.selectbox(key="add_collection").value == "boats"
    assert session.text_input(key="new_collection").value == ""
    assert not session.session_state["new_collection_popover"]
    assert not session.exception


def test_finished_jobs_are_cleared_and_failed_ones_stay_until_dismissed(add, visit, services):
    add("fine.txt", "The total is 100.")
    for number in range(5):
        services.library.add_bytes(f"broken{number}.pdf", b"%PDF-1.7\nbroken" + bytes([number]))
    wait_until(lambda: not services.library.jobs(active_only=True))
    session = visit("library")
    assert session.expander[0].label == "5 files couldn't be added"
    session.button(key="clear_jobs").click().run()
    assert "fine" not in words(session).split("broken4")[0] and "broken4" in words(session)
    last = services.library.jobs()[0].id
    session.button(key=f"dismiss_{last}").click().run()
    assert session.expander[0].label == "4 files couldn't be added"
    assert len(services.library.jobs()) == 6
    session.button(key="clear_failed_jobs").click().run()
    assert services.library.jobs() == []
    assert not session.exception


def test_h02_a_missing_model_is_named_with_its_setting_and_the_rest_works(environment, monkeypatch, visit):
    monkeypatch.setenv("FOOTNOTE_CHAT_MODEL", str(environment / "gone.gguf"))
    session = visit()
    assert not session.exception
    assert "gone" in session.warning[0].value
    assert not session.chat_input[0].disabled
    assert not visit("library").error


@pytest.mark.parametrize("page", ["chat", "library", "settings"])
def test_f16_a_data_folder_that_can_not_be_used_is_one_sentence(environment, visit, page):
    environment.write_text("a file where the folder should be")
    session = visit(page)
    assert not session.exception
    shown = " ".join(error.value for error in session.error)
    assert shown
    for secret in ("Traceback", ".py", str(environment.parent)):
        assert secret not in words(session)


class Broken:
    """Services of which every method raises what nobody foresaw."""

    def start(self) -> None:
        pass

    def __getattr__(self, name: str):
        raise RuntimeError(f"secret detail of {name} in /some/folder/file.py")


@pytest.mark.parametrize("page", ["chat", "library", "settings"])
def test_f16_an_unexpected_error_is_a_log_id(visit, caplog, monkeypatch, page):
    monkeypatch.setattr("pages.ui.session.HOLDER", ServicesHolder(Broken))
    session = visit(page)
    assert not session.exception
    message = session.error[-1].value.replace("\\", "")
    assert "Something went wrong" in message
    log_id = message.split("under ")[1].rstrip(".")
    assert any(log_id in record.getMessage() for record in caplog.records)
    for secret in ("secret", "Traceback", "/some"):
        assert secret not in words(session)


def test_e11_sessions_that_open_at_the_same_instant_load_one_model(environment, visit, monkeypatch):
    opened, instant = [], threading.Barrier(3)

    def open_slowly(name, *args, **options):
        opened.append(name)
        time.sleep(0.2)
        return open_chat_model(name, *args, **options)

    def arrive():
        instant.wait()
        return get_services()

    # Counted where the services ask for the model.
    monkeypatch.setattr("core.bootstrap.open_chat_model", open_slowly)
    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(arrive) for _ in range(2)]
        instant.wait()
        session = visit()
        found = {id(other.result()) for other in others}
    assert not session.exception and not session.error
    wait_until(lambda: get_services().chat.model_state().state == "ready")
    assert found == {id(get_services())}
    assert opened == ["echo"]
