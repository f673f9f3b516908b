"""state: each file is read once, and again when it has changed."""

from __future__ import annotations

import os

import pytest

from core.model_catalogue import state, verification


@pytest.fixture
def placed(model, tmp_path):
    path = model.path_in(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"GGUF one,two,three")
    return path


def test_a_model_put_there_by_hand_is_checked_once_and_then_remembered(model, placed, tmp_path, monkeypatch):
    assert state(model, tmp_path) == "present"

    monkeypatch.setattr(verification, "sha256_of", lambda path: pytest.fail("read again"))
    assert state(model, tmp_path) == "present"


def test_a_changed_file_of_the_same_size_is_damaged(model, placed, tmp_path):
    assert state(model, tmp_path) == "present"
    placed.write_bytes(b"GGUF ONE,two,three")
    os.utime(placed, ns=(1, 1))

    assert state(model, tmp_path) == "damaged"


def test_a_cut_file_is_damaged(model, placed, tmp_path):
    placed.write_bytes(b"GGUF one,")
    assert state(model, tmp_path) == "damaged"


def test_nothing_there_is_missing(model, tmp_path):
    assert state(model, tmp_path) == "missing"


def test_a_broken_record_is_written_anew(model, placed, tmp_path):
    record = tmp_path / "chat" / "small.verified.json"
    record.write_text("[1, 2")

    assert state(model, tmp_path) == "present"
    assert record.read_text().startswith("{")


def test_a_folder_that_cannot_be_written_does_not_matter(model, placed, tmp_path, monkeypatch):
    (tmp_path / "chat" / f"small.verified.json.{os.getpid()}").mkdir()
    assert state(model, tmp_path) == "present"
