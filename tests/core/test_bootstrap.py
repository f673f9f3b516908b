"""What is saved, what the environment says, and what is gone."""

from __future__ import annotations

import pytest

from core.bootstrap import build_services, registries
from core.errors import UnknownNameError
from core.settings import Settings
from storage.database import Database
from storage.settings import SqliteSettingsStore


def settings(tmp_path, **chosen):
    return Settings(data=tmp_path / "data", chat_model="echo", embedding_model="hashing", **chosen)


@pytest.fixture
def saved(tmp_path):
    with Database(tmp_path / "data") as database:
        yield SqliteSettingsStore(database)


def test_a_saved_choice_is_taken_where_nothing_else_is_said(tmp_path, saved):
    saved.save("max_results", 3)
    saved.save("seed", 5)
    services = build_services(settings(tmp_path, seed=7))
    assert (services.settings.max_results, services.settings.seed) == (3, 7)
    services.close()


def test_a_saved_strategy_that_is_gone_locks_nobody_out(tmp_path, saved):
    saved.save("retriever", "was removed")
    services = build_services(settings(tmp_path))
    assert services.settings.retriever == "hybrid"
    services.close()


def test_an_unknown_strategy_in_the_environment_is_an_error(tmp_path):
    with pytest.raises(UnknownNameError, match="unknown retriever 'nope'"):
        build_services(settings(tmp_path, retriever="nope"))
    with pytest.raises(UnknownNameError, match="unknown embedding store 'nope'"):
        build_services(settings(tmp_path, embedding_store="nope"))


def test_a_service_without_models_opens_and_says_what_is_missing(tmp_path):
    services = build_services(Settings(data=tmp_path / "data", models=tmp_path / "nothing"))
    services.start()
    services.library.add_bytes("a.txt", b"The valve opens at 7 bar.")
    assert services.search.search("valve", retriever="keyword").contents == ()
    services.close()


@pytest.mark.parametrize("refusal", [True, False])
def test_the_setting_turns_refusal_before_the_model_on_and_off(tmp_path, refusal):
    services = build_services(settings(tmp_path, refusal=refusal))
    services.library.add_bytes("pump.txt", b"The pump P1 costs 100 euros.", batch="b")
    services.indexing.run_until_idle("b")
    answer = services.chat.answer_now("What is the capital of Peru?")
    services.close()
    # Decided before the model, or the model was asked and read a prompt.
    assert ("refusal" in answer.record, "prompt" in answer.record) == (refusal, not refusal)


def test_every_strategy_says_what_it_does():
    for kind, names in registries().items():
        assert names and all(text.strip() for text in names.values()), kind
