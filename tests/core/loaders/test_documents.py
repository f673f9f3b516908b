from datetime import UTC, datetime

import pytest

from core.errors import DocumentError
from core.loaders import load_document, load_documents, load_documents_recursively
from core.parsers.text import TextParser


def test_a_document_knows_where_it_came_from(tmp_path):
    path = tmp_path / "файл.md"
    path.write_text("# Title\nText")
    document = load_document(path)
    assert document.text == "# Title\nText"
    assert document.metadata.get_string("file_name") == "файл.md"
    assert document.metadata.get_string("source") == str(path.resolve())
    assert document.metadata.get("last_modified") == datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)


def test_a_given_parser_is_used(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("<p>x</p>")
    assert load_document(str(path)).text == "x"
    assert load_document(path, TextParser()).text == "<p>x</p>"


@pytest.mark.parametrize("name", ["nowhere.txt", "a\x00b.txt", "長" * 100 + ".pdf"])
def test_a46_what_cannot_be_opened_says_so(tmp_path, name):
    with pytest.raises(DocumentError, match=r"^'.*' can't be opened: .*; check the path$"):
        load_document(tmp_path / name)


def test_folders(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("b.txt", "a.txt", "sub/c.txt", "d.md"):
        (tmp_path / name).write_text(name)
    assert [document.text for document in load_documents(tmp_path, glob="*.txt")] == ["a.txt", "b.txt"]
    assert [document.text for document in load_documents_recursively(tmp_path, regex=r".*c\.txt")] == ["sub/c.txt"]


def test_a_file_that_fails_raises_or_is_told(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.txt").write_text("")
    with pytest.raises(DocumentError, match=r"^'b.txt' is empty"):
        load_documents(tmp_path)
    failed = []
    documents = load_documents(tmp_path, on_error=lambda path, error: failed.append((path.name, error.status)))
    assert ([document.text for document in documents], failed) == (["text"], [("b.txt", "failed")])
