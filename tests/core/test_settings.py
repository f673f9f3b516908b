from pathlib import Path

import pytest

from core.errors import ConfigError, UnknownNameError
from core.registry import describe, lookup
from core.settings import Settings, unknown_variables


def test_order_is_default_saved_environment_override(monkeypatch):
    monkeypatch.setenv("FOOTNOTE_MAX_RESULTS", "7")
    settings = Settings.load({"max_results": 4, "seed": 5}, threads=2)
    assert (settings.max_results, settings.seed, settings.threads, settings.candidates) == (7, 5, 2, 50)
    assert Settings.load({"max_results": 4}, max_results=9).max_results == 9


def test_a_saved_choice_that_no_longer_exists_is_passed_over():
    assert Settings.load({"gone": 1}).max_results == 6


def test_h05_the_default_context_is_a_small_one():
    assert Settings().context_tokens == 4096


def test_an_empty_environment_name_is_the_default(monkeypatch):
    monkeypatch.setenv("FOOTNOTE_DATA", "")
    assert Settings.load().data == Path("data")


def test_a_wrong_value_is_one_sentence_with_name_and_value(monkeypatch):
    monkeypatch.setenv("FOOTNOTE_MAX_RESULTS", "many")
    with pytest.raises(
        ConfigError, match=r"setting max_results='many' \(FOOTNOTE_MAX_RESULTS\) is wrong: input should be"
    ):
        Settings.load()


def test_a_wrong_saved_value_doesnt_lock_anyone_out():
    """A range that got narrower must not stop the app: the default comes back."""
    assert Settings.load({"max_results": 10_000, "seed": 5}).seed == 5
    assert Settings.load({"max_results": 10_000}).max_results == 6


def test_every_setting_has_a_group_and_a_help_line():
    for name, field in Settings.model_fields.items():
        assert field.description and field.description.endswith("."), name
        assert field.json_schema_extra["group"] in ("Models", "Retrieval", "Memory", "Documents", "Interface"), name


def test_an_unknown_name_lists_the_choices():
    with pytest.raises(UnknownNameError, match="unknown splitter 'fixd'; choose one of 'fixed', 'line'"):
        lookup({"line": 1, "fixed": 2}, "fixd", kind="splitter")


def test_describe_is_the_first_line():
    assert describe(lookup).startswith("The entry called `name`.")


def test_a_temperature_that_is_no_finite_number_is_said_to_be(monkeypatch):
    monkeypatch.setenv("FOOTNOTE_TEMPERATURE", "nan")
    with pytest.raises(ConfigError, match=r"temperature.*finite number"):
        Settings.load()


def test_a_mistyped_variable_is_named_with_what_may_be_meant():
    given = {"FOOTNOTE_MAX_RESULT": "3", "FOOTNOTE_SEED": "1", "footnote_data": "x", "FOOTNOTE_DEBUG": "1", "PATH": ""}
    assert unknown_variables(given) == [
        "FOOTNOTE_MAX_RESULT is no setting of Footnote and is ignored; did you mean FOOTNOTE_MAX_RESULTS?"
    ]
