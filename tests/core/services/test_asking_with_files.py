"""A question that comes with its files: all the real services, with the models that ship for tests."""

import time
from contextlib import closing

import pytest

from core.bootstrap import build_services
from core.records import MESSAGE_ENDED
from core.settings import Settings
from tests.core.services.chat_parts import FEE, MENU

QUESTION = "How high is the fee in euros?"
SETTLED_S = 0.8  # longer than the engine takes to look for a question


@pytest.fixture
def settings(tmp_path):
    return Settings(data=tmp_path, chat_model="echo", embedding_model="hashing", refusal=False)


def ended(services, message_id):
    deadline = time.monotonic() + 20
    while (message := services.chat.message(message_id)).state not in MESSAGE_ENDED:
        assert time.monotonic() < deadline, (message.state, message.record)
        time.sleep(0.02)
    return message


def ask(services, text, *, after_jobs=(), **options):
    return services.chat.ask(services.chat.create(options).id, text, request_key=text, after_jobs=after_jobs)[1]


def test_it_waits_for_the_files_that_came_with_it_and_others_are_answered_meanwhile(settings):
    with closing(build_services(settings)) as services:
        services.library.add_bytes("menu.txt", MENU.encode())
        services.indexing.run_until_idle()
    with closing(build_services(settings)) as services:
        services.chat.start()  # the indexing isn't: the file can't come in before this test lets it
        job = services.library.add_bytes("policy.txt", FEE.encode())
        waiting = ask(services, QUESTION, after_jobs=[job.id])
        other = ended(services, ask(services, "When is breakfast served?").id)
        assert (other.state, [source.document for source in other.sources]) == ("complete", ["menu.txt"])
        waiting = services.chat.message(waiting.id)
        assert (waiting.state, waiting.record) == ("waiting", {"after_jobs": [job.id]})
        services.indexing.start()
        answer = ended(services, waiting.id)
        assert answer.sources[0].document == "policy.txt"
        assert "25 euros" in answer.text


def test_it_waits_over_a_restart(settings):
    with closing(build_services(settings)) as services:
        job = services.library.add_bytes("policy.txt", FEE.encode())
        waiting = ask(services, QUESTION, after_jobs=[job.id])
    with closing(build_services(settings)) as services:
        services.start()
        assert "25 euros" in ended(services, waiting.id).text


def test_stop_ends_the_waiting_and_a_failed_file_does_too(settings):
    with closing(build_services(settings)) as services:
        services.chat.start()
        job = services.library.add_bytes("broken.pdf", b"%PDF-1.7\nbroken")
        stopped, waiting = (ask(services, text, after_jobs=[job.id]) for text in ("Which fee?", QUESTION))
        services.chat.stop(stopped.id)
        assert services.chat.message(stopped.id).state == "stopped"
        services.indexing.start()
        assert ended(services, waiting.id).text.startswith("There are no documents here yet")


def test_without_documents_it_waits_for_the_first_that_are_on_their_way(settings):
    with closing(build_services(settings)) as services:
        services.chat.start()
        services.library.add_bytes("policy.txt", FEE.encode(), collection="rules")
        waiting = ask(services, QUESTION)
        elsewhere = ask(services, "Which fee is due?", collection="other")
        assert ended(services, elsewhere.id).text.startswith("There are no documents here yet")
        time.sleep(SETTLED_S)
        assert services.chat.message(waiting.id).state == "waiting"
        services.indexing.start()
        assert "25 euros" in ended(services, waiting.id).text


def test_the_command_line_never_waits_for_files_that_nobody_indexes(settings):
    with closing(build_services(settings)) as services:
        services.library.add_bytes("policy.txt", FEE.encode())
        assert services.chat.answer_now(QUESTION).text.startswith("There are no documents here yet")
