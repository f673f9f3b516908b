"""Killed while a real model writes: the answer keeps what was written and its sources, and the conversation goes on."""

import pytest

from tests.kills import peer

CHAT_MODEL = "smollm2-135m"
FACTS = "".join(f"The boiler of house {number} is in the cellar behind the blue door. " for number in range(9))


@pytest.mark.timeout(300)
@pytest.mark.real_model(CHAT_MODEL)
def test_c02_an_answer_that_was_being_written_is_interrupted_and_keeps_its_text_and_sources(tmp_path):
    killed = peer.Peer(tmp_path, CHAT_MODEL)
    killed("add", "boilers.txt", FACTS)
    begun = killed("begin_answer", "Where is the boiler of each house, in the cellar behind the blue door?")
    killed.kill()
    services = peer.open_services(tmp_path, CHAT_MODEL)
    try:
        _, answer = services.chat.messages(begun["conversation"])
        assert (answer.state, answer.text[: len(begun["text"])]) == ("interrupted", begun["text"])
        assert len(answer.sources) == begun["sources"] > 0
        assert answer.reason.startswith("Footnote was closed while this answer was being made")
        assert "phase" not in answer.record
        assert peer.check(services) == []
        again = services.chat.answer_now("Where is the boiler of house 3?", conversation_id=begun["conversation"])
        assert (again.state in ("complete", "cut"), bool(again.text)) == (True, True)
        states = [message.state for message in services.chat.messages(begun["conversation"])]
        assert states == ["complete", "interrupted", "complete", again.state]
        regenerated = services.chat.messages(begun["conversation"])[1]
        assert regenerated.text == answer.text
    finally:
        services.close()
