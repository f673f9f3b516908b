"""python -m core.model_catalogue: what it prints, and its exit status."""

from __future__ import annotations

import pytest

from core.model_catalogue import __main__ as command
from core.model_catalogue.entries import CATALOGUE


@pytest.fixture
def only_small(model, tmp_path, monkeypatch):
    """A catalogue of one small model, and a folder for it."""
    monkeypatch.setitem(CATALOGUE, "small", model)
    monkeypatch.setenv("FOOTNOTE_MODELS", str(tmp_path))
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "hashing")
    return model


def test_models_that_are_there_are_not_spoken_of(only_small, tmp_path, monkeypatch, capsys):
    only_small.path_in(tmp_path).parent.mkdir()
    only_small.path_in(tmp_path).write_bytes(b"GGUF one,two,three")
    monkeypatch.setenv("FOOTNOTE_CHAT_MODEL", "small")

    assert (command.main(["ensure"]), capsys.readouterr()) == (0, ("", ""))


def test_a_wrong_path_is_one_line_on_standard_error(only_small, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FOOTNOTE_CHAT_MODEL", str(tmp_path / "no.gguf"))

    assert command.main(["ensure"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "FOOTNOTE_CHAT_MODEL names" in err


def test_a_name_outside_the_catalogue_is_left_to_the_app(only_small, monkeypatch, capsys):
    monkeypatch.setenv("FOOTNOTE_CHAT_MODEL", "echo")
    assert (command.main(["ensure"]), capsys.readouterr()) == (0, ("", ""))


def test_the_list_shows_name_kind_size_licence_and_state(only_small, capsys):
    assert command.main(["list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["small", "chat", "0", "MB", "MIT", "missing"]


def test_an_unknown_name_is_wrong_usage(capsys):
    with pytest.raises(SystemExit) as error:
        command.main(["fetch", "no"])
    assert error.value.code == 2


def test_the_progress_line_tells_bytes_rate_and_time_left(model):
    line = command.ProgressLine(model, is_terminal=True)
    line._first = 0
    assert line.text(6_000_000, 24_000_000, 2.0) == ("small [######                  ] 6 of 24 MB, 3 MB/s, 6 s left")
