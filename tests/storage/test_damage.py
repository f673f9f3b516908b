"""Each damage that we know how to do is found, and mended: the same searches give the same answers, or it's said.

The damages stand in `damages.py`. Each is done to a copy of one small library that the real services made.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from core.bootstrap import Services, build_services
from core.settings import Settings
from storage.upkeep.losses import LOST_ORIGINAL, LOST_SEGMENTS, LOST_TEXT
from tests.storage.damages import DAMAGES, damaged_originals, lost_originals, originals, sql

FILES = {
    "pump.md": "# Pump P1\n\nThe pump P1 costs 100 euros.\n\n# Valve V2\n\nThe valve V2 opens at 7 bar.\n",
    "long.txt": " ".join(f"Line {n} says that tank {n} holds {n * 7} litres of oil." for n in range(90)),
    "copy.txt": "The office cat is Mira. She sleeps on the printer.\n",
}
QUERIES = ("price of the pump P1", "tank 42 oil", "the cat on the printer")


def services_on(folder: Path) -> Services:
    return build_services(Settings(data=folder, chat_model="echo", embedding_model="hashing", overlap_tokens=0))


def add(services: Services, name: str, text: str, **options) -> None:
    services.library.add_bytes(name, text.encode(), **options)
    services.indexing.run_until_idle()


def answers(services: Services, *, with_ids: bool = True) -> list:
    """Ids, texts and scores of all searches."""
    return [
        (content.id if with_ids else "", content.segment.text, sorted(content.scores.items()))
        for query in QUERIES
        for retriever in ("vector", "keyword", "hybrid")
        for content in services.search.search(query, retriever=retriever, limit=3).contents
    ]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """(a data folder, the files it was read from, the answers it gives): three documents, a deleted one, a chat."""
    root = tmp_path_factory.mktemp("sound")
    services = services_on(root / "data")
    (root / "files").mkdir()
    for name, text in FILES.items():
        (root / "files" / name).write_text(text)
        services.library.add_path(root / "files" / name)
    add(services, "gone.txt", "This one was deleted.")
    services.library.delete(max(document.id for document in services.library.documents()))
    services.chat.answer_now("What does the pump P1 cost?")
    found = answers(services)
    services.close()
    return root, found


@pytest.fixture
def folder(sound, tmp_path):
    shutil.copytree(sound[0], tmp_path / "root")
    moved = f"UPDATE documents SET source = replace(source, '{sound[0]}', '{tmp_path / 'root'}')"
    sql(moved)(tmp_path / "root" / "data")
    return tmp_path / "root" / "data"


@pytest.fixture
def opened(folder):
    """Damages the folder, then opens it: opened(damage)."""
    made = []

    def damage_and_open(damage=lambda folder: None) -> Services:
        damage(folder)
        made.append(services_on(folder))
        return made[-1]

    yield damage_and_open
    for services in made:
        services.close()


def kinds(problems) -> list[str]:
    return [problem.kind for problem in problems]


# What can't come back as it was: the segment itself was lost, and has another id when its document was read anew.
NEW_IDS = {"vectors_without_rows"}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_found_and_mended(sound, opened, name):
    damage, kind = DAMAGES[name]
    services = opened(damage)
    found = services.maintenance.check()
    assert (kinds(found)[:1] or [""]) == [kind]
    assert services.maintenance.repair(found) == []
    assert answers(services, with_ids=name not in NEW_IDS) == [
        (content_id if name not in NEW_IDS else "", *rest) for content_id, *rest in sound[1]
    ]
    assert services.maintenance.check(full=False) == []
    assert sorted(document.name for document in services.library.documents()) == sorted(FILES)


# Found at the start, in a second, and mended without a question.
AT_THE_START = {
    "index_empty",
    "index_is_a_folder",
    "index_folder_is_a_file",
    "rows_without_vectors",
    "all_vectors_gone",
    "vector_too_short",
    "keywords_table_dropped",
    "keywords_part_dropped",
    "keywords_no_longer_kept",
    "generations_emptied",
    "document_hidden",
    "stale_job",
    "stale_answer",
    "unfinished_original",
    "orphan_original",
}


@pytest.mark.parametrize("name", sorted(AT_THE_START))
def test_what_the_start_finds_is_mended_by_itself(sound, opened, name):
    services = opened(DAMAGES[name][0])
    services.maintenance.look_after()
    assert services.maintenance.left == ()
    assert services.maintenance.check() == []
    assert answers(services) == sound[1]


def test_c01_without_the_index_file_and_with_rows_that_have_no_vector_the_start_makes_the_counts_equal(sound, opened):
    def damage(folder: Path) -> None:
        DAMAGES["index_missing"][0](folder)
        DAMAGES["rows_without_vectors"][0](folder)

    services = opened(damage)
    assert set(kinds(services.maintenance.look())) == {"missing_vectors"}
    services.maintenance.look_after()
    assert (services.maintenance.left, services.maintenance.check()) == ((), [])
    assert answers(services) == sound[1]
    (document,) = services.library.documents(search="long.txt")
    every = services.search.search("tank", retriever="vector", document_ids=[document.id], limit=50)
    assert len(every.contents) == document.segments


def test_what_the_start_cannot_mend_is_kept_to_be_said(opened):
    services = opened(DAMAGES["orphan_text"][0])
    services.maintenance.look_after()
    assert kinds(services.maintenance.left) == ["orphan_text"]
    assert services.maintenance.repair(services.maintenance.check()) == []
    assert services.maintenance.left == ()


@pytest.mark.parametrize("damage", [lost_originals, damaged_originals])
def test_an_original_that_is_where_it_was_read_from_comes_back(folder, opened, damage):
    shutil.rmtree(folder / "backups", ignore_errors=True)
    services = opened(lambda folder: [damage(folder), _remove_deleted(folder)])
    (document, *_) = services.library.documents()
    assert services.maintenance.repair(services.maintenance.check()) == []
    assert services.library.original(document.id)[1] == FILES["pump.md"].encode()
    assert services.library.document(document.id).warnings == ()


def _remove_deleted(folder: Path) -> None:
    """The deleted document was uploaded: no place has its original."""
    sql("DELETE FROM deleted_documents", "DELETE FROM texts WHERE id NOT IN (SELECT text_id FROM documents)")(folder)
    sql("DELETE FROM segments WHERE text_id NOT IN (SELECT id FROM texts)")(folder)
    sql("DELETE FROM vectors WHERE segment_id NOT IN (SELECT id FROM segments)")(folder)
    sql("DELETE FROM text_parts WHERE text_id NOT IN (SELECT id FROM texts)")(folder)


@pytest.mark.parametrize("where", ["a backup", "unused"])
def test_an_original_comes_back_from_what_the_data_folder_keeps(folder, opened, where):
    services = opened()
    shutil.rmtree(folder.parent / "files")
    (folder / "backups").mkdir(exist_ok=True)
    if where == "a backup":
        services.maintenance.backup(folder / "backups" / "monday.zip")
        (folder / "backups" / "broken.zip").write_text("not a zip")
        lost_originals(folder)
    else:
        (folder / "unused").mkdir()
        for path in originals(folder):
            os.replace(path, folder / "unused" / path.name)
    services.library.purge_deleted()
    assert "missing_original" in kinds(services.maintenance.check())
    assert services.maintenance.repair(services.maintenance.check()) == []
    assert services.library.original(1)[1] == FILES["pump.md"].encode()
    assert all(document.warnings == () for document in services.library.documents())


@pytest.mark.parametrize("damage", [lost_originals, damaged_originals])
def test_an_original_that_nobody_has_is_said_on_the_document_until_it_is_added_again(sound, folder, opened, damage):
    services = opened(damage)
    shutil.rmtree(folder.parent / "files")
    assert services.maintenance.repair(services.maintenance.check()) == []  # known by now
    assert {document.warnings for document in services.library.documents()} == {(LOST_ORIGINAL,)}
    assert answers(services) == sound[1]
    if damage is damaged_originals:
        assert {path.read_bytes() for path in (folder / "unused").iterdir()} == {b"other bytes"}
    pump = next(document for document in services.library.documents() if document.name == "pump.md")
    services.library.add_bytes("pump.md", FILES["pump.md"].encode(), source=pump.source, on_conflict="replace")
    services.indexing.run_until_idle()
    assert services.library.document(pump.id).warnings == ()
    assert services.library.original(pump.id)[1] == FILES["pump.md"].encode()
    assert services.maintenance.check() == []
    assert answers(services) == sound[1]


def test_at_the_start_too_a_lost_original_is_said_once_and_found_again_by_itself(folder, opened):
    kept = folder.parent / "kept"
    services = opened(lambda folder: shutil.copytree(folder / "originals", kept))
    lost_originals(folder)
    shutil.rmtree(folder.parent / "files")
    services.maintenance.look_after()
    assert services.maintenance.left == ()
    assert {document.warnings for document in services.library.documents()} == {(LOST_ORIGINAL,)}
    shutil.copytree(kept, folder / "originals", dirs_exist_ok=True)
    services.maintenance.look_after()
    assert {document.warnings for document in services.library.documents()} == {()}
    assert services.maintenance.check() == []


@pytest.mark.parametrize(
    ("statements", "kind", "loss"),
    [
        pytest.param(["DELETE FROM segments WHERE text_id = 1"], "no_segments", LOST_TEXT, id="no_segments"),
        pytest.param(
            ["DELETE FROM segments WHERE text_id = 2 AND position = 1"],
            "lost_segments",
            LOST_SEGMENTS,
            id="lost_segment",
        ),
        pytest.param(["UPDATE text_parts SET text = 'forged'"], "wrong_slices", "", id="text_forged"),
        pytest.param(["DELETE FROM text_parts"], "wrong_slices", "", id="text_gone"),
        pytest.param(["UPDATE segments SET text = 'x', start = 5, stop = 6"], "wrong_slices", "", id="text_and_place"),
    ],
)
def test_a_document_that_lost_a_part_is_read_again_from_its_original_or_says_so(
    sound, folder, opened, statements, kind, loss
):
    def damage(folder: Path) -> None:
        sql("PRAGMA foreign_keys = ON", *statements)(folder)

    services = opened(damage)
    assert kind in kinds(services.maintenance.check())
    assert services.maintenance.repair(services.maintenance.check()) == []
    assert answers(services, with_ids=False) == [("", *rest) for _, *rest in sound[1]]
    assert services.library.document_text(1).text.startswith("# Pump P1")
    if not loss:
        return
    damage(folder)
    lost_originals(folder)
    shutil.rmtree(folder.parent / "files")
    assert services.maintenance.repair(services.maintenance.check()) == []
    said = {warning for document in services.library.documents() for warning in document.warnings}
    assert said == {LOST_ORIGINAL, loss}


def test_a_text_row_that_was_lost_is_made_again_around_what_is_left(sound, opened):
    services = opened(DAMAGES["text_row_gone"][0])
    assert services.maintenance.repair(services.maintenance.check()) == []
    (pump, *_) = sorted(services.library.documents(), key=lambda document: document.id)
    assert services.library.original(pump.id)[1] == FILES["pump.md"].encode()  # found by its size
    assert (pump.type, pump.warnings) == ("md", ())


@pytest.mark.parametrize(
    ("statements", "kind"),
    [
        (["PRAGMA foreign_keys = ON", "DELETE FROM segments WHERE generation = 0"], "lost_deleted"),
        (["DELETE FROM texts WHERE id = (SELECT text_id FROM deleted_documents)"], "dangling_row"),
    ],
    ids=["segments_gone", "text_gone"],
)
def test_a_deleted_document_that_can_not_come_back_is_not_offered(opened, statements, kind):
    services = opened(sql(*statements))
    assert kinds(services.maintenance.check())[0] == kind
    assert services.maintenance.repair(services.maintenance.check()) == []
    assert services.library.deleted() == []


def test_a_table_that_can_not_be_made_again_is_a_damage_and_nothing_is_tidied_away(folder, opened):
    services = opened(sql("DROP TABLE documents"))
    (folder / "backups").mkdir(exist_ok=True)
    (folder / "backups" / "monday.zip").write_bytes(b"")
    (problem,) = services.maintenance.check()
    assert (problem.kind, problem.repairable) == ("damaged_database", False)
    assert "'documents' is gone" in problem.message and "'backups/monday.zip'" in problem.message
    assert services.maintenance.repair([problem]) == [problem]
    assert len(originals(folder)) == 4
