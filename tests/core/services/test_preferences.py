"""With the real settings table."""

from __future__ import annotations

import pytest

from core.errors import ConfigError
from core.services.preferences import PreferenceService
from core.settings import Settings
from storage.database import Database
from storage.settings import SqliteSettingsStore


@pytest.fixture
def store(tmp_path):
    with Database(tmp_path) as database:
        yield SqliteSettingsStore(database)


def knob(service, name):
    return next(knob for knob in service.describe() if knob.name == name)


def test_a_choice_is_kept_and_takes_effect_at_the_next_start(store):
    service = PreferenceService(Settings(), store)
    service.save("max_results", 4)
    saved = knob(service, "max_results")
    assert (saved.value, saved.saved, saved.default, saved.needs_restart) == (6, 4, 6, True)
    assert Settings.load(store.load()).max_results == 4
    again = knob(PreferenceService(Settings.load(store.load()), store), "max_results")
    assert (again.value, again.needs_restart) == (4, False)


def test_reset_brings_the_default_back(store):
    service = PreferenceService(Settings(), store)
    service.save("retriever", "keyword")
    service.reset("retriever")
    assert knob(service, "retriever").saved == "hybrid" and store.load() == {}


def test_the_environment_wins_and_says_so(store, monkeypatch):
    monkeypatch.setenv("FOOTNOTE_MAX_RESULTS", "9")
    service = PreferenceService(Settings.load(), store)
    service.save("max_results", 4)
    found = knob(service, "max_results")
    assert (found.value, found.from_environment, found.needs_restart) == (9, True, False)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("max_results", 0, "max_results=0 can't be saved: input should be greater than or equal to 1"),
        ("embedding_precision", "int4", "embedding_precision='int4' can't be saved"),
        ("nope", 1, "no setting is called 'nope'"),
        ("data", "elsewhere", "'data' can only be set from outside, as FOOTNOTE_DATA"),
    ],
)
def test_a_wrong_choice_is_refused_and_not_kept(store, name, value, said):
    with pytest.raises(ConfigError) as raised:
        PreferenceService(Settings(), store).save(name, value)
    assert str(raised.value).startswith(said) and store.load() == {}


def test_forms_know_type_choices_and_range(store):
    service = PreferenceService(Settings(), store)
    assert (knob(service, "seed").type, knob(service, "refusal").type) == (int, bool)
    assert knob(service, "embedding_precision").choices == ("auto", "float32", "bfloat16")
    found = knob(service, "temperature")
    assert (found.type, found.minimum, found.maximum, found.environment_name) == (float, 0, 2, "FOOTNOTE_TEMPERATURE")


def test_a_strategy_is_chosen_from_those_there_are(store):
    service = PreferenceService(Settings(), store, {"retriever": ("hybrid", "keyword")})
    assert knob(service, "retriever").choices == ("hybrid", "keyword")
    with pytest.raises(ConfigError, match="unknown retriever 'nope'; choose one of 'hybrid', 'keyword'"):
        service.save("retriever", "nope")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("context_tokens", "abc", "valid integer"),
        ("max_results", 1000, "less than or equal to 50"),
        ("temperature", [1], "valid number"),
        ("refusal", {}, "valid boolean"),
        ("retriever", "gone", "choose one of hybrid, keyword"),
    ],
)
def test_a_saved_value_that_cannot_be_used_is_named_and_can_be_reset(store, name, value, reason):
    store.save(name, value)
    service = PreferenceService(Settings.load(store.load()), store, {"retriever": ("hybrid", "keyword")})
    found = knob(service, name)
    assert found.saved == found.default and repr(value) in found.unusable and reason in found.unusable
    service.reset(name)
    assert knob(service, name).unusable == ""
    assert all(not one.unusable for one in service.describe())


def test_a_model_is_one_of_the_catalogue_or_a_path_that_is_there(store, tmp_path):
    service = PreferenceService(Settings(), store)
    assert {"qwen2.5-coder-1.5b", "echo"} <= set(knob(service, "chat_model").suggestions)
    assert "echo" not in knob(service, "embedding_model").suggestions
    there = tmp_path / "my.gguf"
    there.touch()
    for value in ("qwen2.5-coder-0.5b", "echo", str(there)):
        service.save("chat_model", value)
        assert knob(service, "chat_model").saved == value
    for value in ("gpt-99", str(tmp_path / "gone.gguf"), "all-minilm-l6-v2", "", None):
        with pytest.raises(ConfigError, match=r"can't be saved: choose one of .*, or the path of a GGUF file"):
            service.save("chat_model", value)
    assert knob(service, "chat_model").saved == str(there)
