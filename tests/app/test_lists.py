"""Small decisions of the pages: days of chats, outcomes of jobs, names of documents, search in settings."""

from __future__ import annotations

from datetime import UTC, date, datetime

from core.records import ConversationRecord, DocumentRecord, JobRecord
from core.services.preferences import Knob
from pages.ui.chat_top import document_names, scope_label
from pages.ui.document_detail import file_size
from pages.ui.jobs import outcome
from pages.ui.knobs import matching
from pages.ui.sidebar import by_day
from pages.ui.texts import ordinal


def chat(id: str, day: int) -> ConversationRecord:
    moment = datetime(2031, 3, day, 12, tzinfo=UTC)
    return ConversationRecord(id, id, moment, moment, {})


def test_chats_by_day():
    chats = [chat("old", 1), chat("b", 4), chat("a", 5), chat("also today", 5)]
    assert [(day, [c.id for c in of_day]) for day, of_day in by_day(chats, date(2031, 3, 5))] == [
        ("Today", ["a", "also today"]),
        ("Yesterday", ["b"]),
        ("2031-03-01", ["old"]),
    ]


def job(state: str, reason: str = "", **result) -> JobRecord:
    now = datetime(2031, 3, 5, tzinfo=UTC)
    return JobRecord(1, "ingest", state, "x.txt", {}, 1.0, "", reason, result, now, now)


def test_a43_a_duplicate_names_the_first():
    assert outcome(job("done", status="duplicate", duplicate_of="a/config.yaml")) == (
        "Same content as a/config.yaml; both names are listed, stored once."
    )


def test_a44_the_same_file_again_is_said_to_be_there():
    assert outcome(job("done", status="unchanged")) == "Already indexed, nothing to do."


def test_outcomes_in_one_sentence():
    assert [
        outcome(job("done", status="indexed", segments=23, warnings=["3 hidden passages skipped"])),
        outcome(job("failed", "'x.txt' is empty")),
        outcome(job("stopped")),
    ] == ["Searchable: 23 segments. 3 hidden passages skipped", "Is empty", "Stopped."]


def document(id: int, name: str, collection: str = "default") -> DocumentRecord:
    now = datetime(2031, 3, 5, 12, 30, tzinfo=UTC)
    return DocumentRecord(id, f"upload:{name}", name, collection, "text", "indexed", None, 1, 9, now, now, "h", 9)


def test_a42_documents_of_one_name_are_told_apart():
    names = document_names(
        [document(1, "a.txt"), document(2, "b.txt"), document(3, "b.txt", "south"), document(4, "a.txt")]
    )
    assert len(set(names.values())) == 4
    assert (names[2], names[3]) == ("b.txt · default", "b.txt · south")
    assert names[1].startswith("a.txt · default · 2031-03-05") and names[1].endswith("· 1")


def test_the_scope_in_words():
    assert [
        scope_label({}),
        scope_label({"collection": "south"}),
        scope_label({"document_ids": (1,)}),
        scope_label({"document_ids": (1, 2)}),
    ] == ["All documents", "south", "1 document", "2 documents"]


def knob(name: str, group: str, help: str) -> Knob:
    return Knob(name, group, help, int, 1, 1, 1, (), None, None, False)


def test_settings_are_found_by_every_word():
    knobs = [knob("max_results", "Retrieval", "Most segments."), knob("seed", "Models", "Seed of the sampler.")]
    assert [k.name for k in matching(knobs, "results SEGMENTS")] == ["max_results"]
    assert [k.name for k in matching(knobs, "")] == ["max_results", "seed"]
    assert matching(knobs, "results sampler") == []


def test_sizes_and_ordinals():
    assert [file_size(999), file_size(1200), file_size(3_400_000)] == ["999 B", "1.2 kB", "3.4 MB"]
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 21, 112)] == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "11th",
        "12th",
        "21st",
        "112th",
    ]
