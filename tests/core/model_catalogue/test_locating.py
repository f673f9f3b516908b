"""locate: the name or path in a setting gives a path or one clear sentence (hard cases H02, H04)."""

from __future__ import annotations

import pytest

from core.errors import ModelError, UnknownNameError
from core.model_catalogue import CATALOGUE, DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL, locate, rows
from core.model_catalogue.locating import is_path


def message(name_or_path, folder, **options) -> str:
    with pytest.raises(ModelError) as error:
        locate(str(name_or_path), folder, **options)
    return str(error.value)


def test_a_gguf_file_of_ones_own_is_taken_as_it_is(tmp_path):
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00")
    assert locate(str(path), tmp_path) == path


def test_a_missing_path_names_path_and_setting(tmp_path):
    path = tmp_path / "no.gguf"
    assert message(path, tmp_path) == (
        f"FOOTNOTE_CHAT_MODEL names '{path}', which doesn't exist; correct the path, or name a model of the catalogue"
    )


def test_a_folder_is_not_a_chat_model(tmp_path):
    assert message(tmp_path, tmp_path).endswith("which is a folder; name the .gguf file in it")


@pytest.mark.parametrize(
    "start, says",
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "is only a Git-LFS pointer; run"),
        (b"ggjt\x03\x00\x00\x00", "is an old GGML file; convert it to GGUF"),
        (b"tjgg\x03\x00\x00\x00", "is an old GGML file; convert it to GGUF"),
        (b"%PDF-1.7", "isn't a GGUF file"),
        (b"", "isn't a GGUF file"),
    ],
)
def test_what_cannot_be_a_model_is_refused_in_one_sentence(start, says, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(start)
    assert f"FOOTNOTE_CHAT_MODEL names '{path}', which {says}" in message(path, tmp_path)


def test_a_catalogue_model_that_is_missing_names_the_command(tmp_path):
    assert message(DEFAULT_CHAT_MODEL, tmp_path) == (
        "chat model 'qwen2.5-coder-1.5b' isn't on this computer yet; "
        "fetch it (1,117 MB) with 'python cli.py models fetch qwen2.5-coder-1.5b'"
    )


def test_a_damaged_catalogue_model_is_said_to_be(tmp_path):
    path = CATALOGUE["smollm2-135m"].path_in(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"GGUF")
    assert "is damaged" in message("smollm2-135m", tmp_path)


@pytest.mark.parametrize(
    "name, kind", [("qwen", "chat"), (DEFAULT_EMBEDDING_MODEL, "chat"), ("smollm2-135m", "embedding")]
)
def test_an_unknown_name_lists_the_choices_of_its_kind(name, kind, tmp_path):
    with pytest.raises(UnknownNameError, match=f"unknown {kind} model '{name}'; choose one of '"):
        locate(name, tmp_path, kind=kind)


def test_an_unknown_name_is_told_what_needs_no_catalogue(tmp_path):
    for kind, others in (("chat", "'echo', or give the path of a GGUF"), ("embedding", "'hashing', or give the path")):
        with pytest.raises(UnknownNameError, match=others):
            locate("nope", tmp_path, kind=kind)


def test_an_embedding_folder_needs_its_modules(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    assert "isn't a folder of a sentence-transformers model" in message(folder, tmp_path, kind="embedding")
    (folder / "modules.json").write_text("[]")
    assert locate(str(folder), tmp_path, kind="embedding") == folder


@pytest.mark.parametrize(
    "text, answer",
    [("qwen2.5-coder-1.5b", False), ("echo", False), ("m.GGUF", True), ("~/m", True), ("./m", True), ("C:\\m", True)],
)
def test_is_path(text, answer):
    assert is_path(text) is answer


def test_rows_show_every_model_with_its_state(tmp_path):
    assert [(row["name"], row["kind"], row["state"], row["default"]) for row in rows(tmp_path)] == [
        ("qwen2.5-coder-1.5b", "chat", "missing", True),
        ("qwen2.5-coder-0.5b", "chat", "missing", False),
        ("smollm2-135m", "chat", "missing", False),
        ("all-minilm-l6-v2", "embedding", "missing", True),
    ]
