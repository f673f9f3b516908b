"""H07: what people have from an older Footnote, through the start of the app and through the command line.

`storage/format-000N.db.gz` are databases as the programs of their time wrote them; they're never made again. The second
holds four documents by the "hashing" model, one conversation and a saved setting; its originals are written here.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import cli
from core.bootstrap import build_services
from core.errors import StorageError
from core.settings import Settings
from storage.database import Database
from storage.migrations import NEWEST

OLD = Path(__file__).parent / "storage"
CAT = "The office cat is Mira. She sleeps on the printer.\n"
ORIGINALS = (
    CAT,
    "# Pump P1\n\nThe pump P1 costs 100 euros.\n\n# Valve V2\n\nThe valve V2 opens at 7 bar. ✓ größe\n",
    " ".join(f"Line {n} says that tank {n} holds {n * 7} litres of oil." for n in range(300)),
)


@pytest.fixture
def folder(tmp_path, request):
    """A data folder of the format that the test names."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "footnote.db").write_bytes(gzip.decompress((OLD / f"format-{request.param}.db.gz").read_bytes()))
    for text in ORIGINALS if request.param == "0002" else ():
        digest = hashlib.sha256(text.encode()).hexdigest()
        path = data / "originals" / digest[:2] / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return data


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.setenv("FOOTNOTE_CHAT_MODEL", "echo")
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "hashing")

    def run(data: Path, *arguments: str):
        status = cli.main(["--data", str(data), "--json", *arguments])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else None, err

    return run


def version(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]


@pytest.mark.parametrize("folder", ["0002"], indirect=True)
def test_h07_the_command_line_opens_an_old_folder_with_all_that_is_in_it(folder, run, tmp_path):
    status, found, err = run(folder, "documents")
    assert (status, err) == (0, "")
    assert [(row["name"], row["collection"], row["segments"]) for row in found["documents"]] == [
        ("staff.txt", "default", 1),
        ("copy.txt", "home", 1),
        ("pump.md", "default", 1),
        ("long.txt", "home", 13),
    ]
    for query, text in (("cat on the printer", CAT), ("tank 123 oil", "holds 861 litres"), ("price P1", "100 euros")):
        for retriever in ("vector", "keyword", "hybrid"):
            best = run(folder, "search", query, "--retriever", retriever)[1]["results"][0]
            assert retriever == "vector" or text.strip() in best["text"], (query, retriever)
    assert run(folder, "check")[:2] == (0, {"ok": True, "problems": []})
    assert version(folder / "footnote.db") == NEWEST
    (copy,) = (folder / "backups").iterdir()
    assert version(copy) == "0002"
    # The copy of before is itself a way back.
    status, counts, _ = run(tmp_path / "back", "restore", str(copy))
    assert (status, counts["documents"], counts["files"]) == (0, 4, 3)
    assert run(tmp_path / "back", "check")[1]["ok"]


@pytest.mark.parametrize("folder", ["0001"], indirect=True)
def test_h07_the_oldest_folder_opens_and_a_repair_says_what_it_lacks(folder, run):
    assert [row["name"] for row in run(folder, "documents")[1]["documents"]] == ["staff.txt", "config.yaml"]
    status, found, _ = run(folder, "check")
    assert (status, {problem["kind"] for problem in found["problems"]} >= {"missing_original"}) == (1, True)
    status, found, _ = run(folder, "check", "--repair")
    assert (status, found["ok"], found["problems"]) == (0, True, [])
    assert {problem["kind"] for problem in found["mended"]} >= {"missing_original"}
    for row in run(folder, "documents")[1]["documents"]:
        assert row["warnings"] == ["its original file is lost; add the file again"]
    assert run(folder, "search", "Mira")[1]["results"][0]["document"] == "staff.txt"


@pytest.mark.parametrize("folder", ["0002"], indirect=True)
def test_h07_the_services_of_the_app_start_on_an_old_folder(folder):
    services = build_services(Settings(data=folder, chat_model="echo", embedding_model="hashing"))
    services.start()
    try:
        assert services.settings.max_results == 5
        (chat,) = services.chat.conversations()
        question, answer = services.chat.messages(chat.id)
        assert (question.text, answer.text) == ("What does the pump P1 cost?", "The pump P1 costs 100 euros.")
        again = services.chat.answer_now("Where does the cat sleep?", conversation_id=chat.id)
        assert again.sources[0].text == CAT.strip()
        services.library.delete(4)
        services.library.undelete(4)
        assert services.library.document(4).segments == 13
    finally:
        services.close()


@pytest.mark.parametrize("folder", ["0001", "0002"], indirect=True)
def test_h07_without_room_for_the_copy_nothing_is_migrated(folder, run):
    (folder / "backups").write_text("in the way")  # the copy can't be written
    before = (folder / "footnote.db").read_bytes()
    status, found, err = run(folder, "documents")
    assert (status, found, len(err.splitlines())) == (1, None, 1)
    assert "in the data folder 'data' a file named 'backups' is in the way; move it away" in err
    with closing(sqlite3.connect(folder / "footnote.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert (folder / "footnote.db").read_bytes() == before
    (folder / "backups").unlink()
    assert run(folder, "documents")[0] == 0


@pytest.mark.parametrize("data", ["a file", "below a file", "/proc/footnote", "garbage", "cut off", "foreign"])
def test_a_data_folder_that_can_not_be_used_is_one_sentence_and_left_alone(tmp_path, run, data):
    folder = tmp_path / "data"
    if data == "a file":
        folder.write_text("mine")
    elif data == "below a file":
        folder.write_text("mine")
        folder = folder / "below"
    elif data.startswith("/proc"):
        folder = Path(data)
        if not folder.parent.is_dir():
            pytest.skip("without a folder that nobody can write to")
    else:
        _unusable(folder, data)
    before = sorted((path.name, path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file())
    status, found, err = run(folder, "documents")
    assert (status, found, len(err.splitlines())) == (1, None, 1)
    assert err.count(str(tmp_path)) == 0
    assert sorted((path.name, path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file()) == before
    if data in ("garbage", "cut off"):
        assert "restore the newest backup here, 'backups/monday.zip', into a new folder" in err


def _unusable(folder: Path, what: str) -> None:
    (folder / "backups").mkdir(parents=True)
    (folder / "backups" / "monday.zip").write_bytes(b"")
    path = folder / "footnote.db"
    if what == "garbage":
        path.write_bytes(b"garbage" * 1000)
    elif what == "foreign":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE music (title TEXT)")
    else:
        with Database(folder):
            pass
        path.write_bytes(path.read_bytes()[:5000])
        for beside in folder.glob("footnote.db-*"):
            beside.unlink()


def test_h07_a_newer_database_is_refused_by_the_app_too(tmp_path):
    with Database(tmp_path), closing(sqlite3.connect(tmp_path / "footnote.db", isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = (tmp_path / "footnote.db").read_bytes()
    with pytest.raises(StorageError, match=r"was written by a newer Footnote \(format 9999.*update Footnote"):
        build_services(Settings(data=tmp_path, chat_model="echo", embedding_model="hashing"))
    assert (tmp_path / "footnote.db").read_bytes() == before
