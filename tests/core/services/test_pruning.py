"""Pruning against real folders, through the command line's own service and database."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.bootstrap import build_services
from core.settings import Settings


@pytest.fixture
def services(tmp_path):
    built = build_services(Settings(data=tmp_path / "data", chat_model="echo", embedding_model="hashing"))
    yield built
    built.close()


def ingest(services, folder, **options):
    return [row["status"] for row in services.batches.ingest([str(folder)], collection="default", **options)]


def write(folder: Path, name: str | bytes, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = Path(os.fsdecode(os.path.join(os.fsencode(folder), os.fsencode(name))))
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["a\tb.txt", "a\nb.txt", "a\u202eb.txt", "a\x1b[31mb.txt", b"a\xff\xfeb.txt"])
def test_a_file_with_an_odd_name_is_pruned_only_when_it_is_gone(services, tmp_path, name):
    folder = tmp_path / "in"
    path = write(folder, name, "The gate code is 9917.")
    write(folder, "plain.txt", "The pump costs 100 euros.")
    assert ingest(services, folder) == ["indexed", "indexed"]
    assert "removed" not in ingest(services, folder, prune=True)
    assert len(services.library.documents()) == 2
    path.unlink()
    assert "removed" in ingest(services, folder, prune=True)
    assert [document.name for document in services.library.documents()] == ["plain.txt"]


def test_a_folder_with_an_odd_name_keeps_its_documents(services, tmp_path):
    folder = tmp_path / "my\tpapers"
    path = write(folder, "a.txt", "The gate code is 9917.")
    ingest(services, folder)
    assert "removed" not in ingest(services, folder, prune=True)
    path.unlink()
    assert ingest(services, folder, prune=True) == ["removed"]


def test_under_a_link_the_same_is_pruned_as_under_the_folder_itself(services, tmp_path):
    folder, link = tmp_path / "real", tmp_path / "link"
    path, kept = write(folder, "a.txt", "The gate code is 9917."), write(folder, "b.txt", "The pump costs 100 euros.")
    link.symlink_to(folder, target_is_directory=True)
    ingest(services, link)
    assert "removed" not in ingest(services, link, prune=True)
    path.unlink()
    assert ingest(services, link, prune=True).count("removed") == 1
    kept.unlink()
    assert "removed" in ingest(services, folder / ".." / "link", prune=True)
    assert services.library.documents() == []


def test_hidden_files_and_those_of_a_neighbour_with_a_longer_name_stay(services, tmp_path):
    folder = tmp_path / "in"
    hidden, beside = write(folder, ".hidden.txt", "The gate code."), write(tmp_path / "in2", "c.txt", "The pump.")
    for path in (hidden, beside):
        ingest(services, path)
    beside.unlink()
    assert "removed" not in ingest(services, folder, prune=True)
    assert len(services.library.documents()) == 2
