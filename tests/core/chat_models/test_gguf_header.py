import pytest

from core.chat_models.gguf_header import read_gguf_header
from core.errors import ModelError
from tests.core.chat_models.gguf import LLAMA, write_gguf


def test_the_header_says_what_the_model_is_and_what_memory_it_needs(tmp_path):
    header = read_gguf_header(write_gguf(tmp_path / "m.gguf", {**LLAMA, "x.y": 1.5, "z": True}))
    assert (header.architecture, header.trained_context_tokens, header.vocabulary) == ("llama", 131072, 3)
    assert header.values["x.y"] == 1.5
    # keys and values of 2 heads, 16 numbers, 2 bytes each, in 2 layers
    assert header.cache_bytes_per_token == 2 * 2 * 2 * 16 * 2
    assert header.memory_bytes(1000) - header.memory_bytes(0) == 1000 * 256


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git-LFS pointer"),
        (b"tjgg" + b"\0" * 40, "old GGML file"),
        (b"ggjt" + b"\0" * 40, "old GGML file"),
        (b"PK\3\4" + b"\0" * 40, "isn't a GGUF file"),
        (b"GGUF" + b"\1\0\0\0" + b"\0" * 16, "GGUF version 1"),
        (b"GGUF" + b"\3\0\0\0", "cut short"),
        (b"GGUF" + b"\3\0\0\0" + b"\0" * 8 + b"\2" + b"\0" * 7 + b"\xff" * 8, "cut short"),
    ],
)
def test_h02_h04_what_is_no_model_is_refused_in_one_sentence(tmp_path, data, says):
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=says):
        read_gguf_header(path)


def test_h02_a_missing_file_and_a_folder_name_the_path_and_the_setting(tmp_path):
    with pytest.raises(ModelError, match=r"FOOTNOTE_CHAT_MODEL.*gone\.gguf"):
        read_gguf_header(tmp_path / "gone.gguf")
    with pytest.raises(ModelError, match="folder"):
        read_gguf_header(tmp_path)
