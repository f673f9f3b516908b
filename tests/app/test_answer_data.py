"""What the answer component is given, from message records as the storage gives them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from core.records import MessageRecord, Source
from pages.ui.answer import answer_data, phase, place, reading_line, scores
from pages.ui.chat_thread import note

NOW = datetime(2031, 3, 4, tzinfo=UTC)
SOURCE = Source(
    1,
    "s1",
    7,
    "policy.docx",
    "You can cancel until 48 hours before arrival.",
    page=3,
    scores={"cosine": 0.712, "bm25": 8.44, "coverage": 1.0, "fused": 0.9},
    ranks={"vector": 2, "keyword": 1, "hybrid": 1},
    matched_terms=("cancel",),
)
ANSWER = MessageRecord(
    id=12,
    conversation_id="c",
    role="assistant",
    text="Until 48 hours before. Swim free.",
    state="complete",
    reason="",
    sources=(SOURCE,),
    sentences=(
        {"text": "Until 48 hours before.", "start": 0, "end": 22, "support": "supported", "source": 1},
        {"text": "Swim free.", "start": 23, "end": 33, "support": "not_supported", "source": None},
    ),
    record={"timings": {"tokens_per_s": 26.3}},
    created=NOW,
    updated=NOW,
)


def test_a42_files_of_one_name_are_told_apart_by_their_folders():
    north, south = (
        replace(SOURCE, number=number, document_id=number, metadata={"source": f"/my/{folder}/policy.docx"})
        for number, folder in ((1, "north"), (2, "south"))
    )
    data = answer_data(replace(ANSWER, sources=(north, south, replace(north, number=3))), last=True)
    assert [source["title"] for source in data["sources"]] == [
        "north/policy.docx",
        "south/policy.docx",
        "north/policy.docx",
    ]
    assert data["sources_line"] == "3 sources · north/policy.docx p. 3, south/policy.docx p. 3"


def test_a_complete_answer():
    data = answer_data(ANSWER, last=True)
    assert data["sources_line"] == "1 source · policy.docx p. 3"
    assert data["footer"] == ["1 of 2 sentences supported", "26 tokens/s"]
    assert (data["status"], data["copy"], data["again"]) == ("", "copy", "again")
    assert data["blocks"][0]["s"][1] == {"n": 1}
    assert data["sources"][0]["scores"] == ["meaning 0.71 (2nd)", "words 8.4 (1st)", "together 0.90 (1st)"]
    assert data["sources"][0]["href"] == "/download/7"
    assert ["You can ", "b"] in [list(run) for run in data["sources"][0]["runs"]]


def test_what_was_read_and_what_was_known_already_is_shown():
    assert reading_line({"input_tokens": 1560, "output_tokens": 40, "reused_tokens": 1440}) == [
        "read 120 of 1,560 tokens, 1,440 were known already"
    ]
    assert reading_line({"input_tokens": 1560, "output_tokens": 40, "reused_tokens": 0}) == ["read 1,560 tokens"]
    assert reading_line({}) == []
    usage = {"input_tokens": 10, "output_tokens": 3, "reused_tokens": 9}
    data = answer_data(replace(ANSWER, record={**ANSWER.record, "usage": usage}), last=True)
    assert data["footer"][-1] == "read 1 of 10 tokens, 9 were known already"


def test_sources_stand_there_before_the_first_word():
    data = answer_data(
        replace(ANSWER, text="", state="reading", sentences=(), record={"phase": "Reading 1,240 tokens"})
    )
    assert (data["status"], len(data["sources"]), data["blocks"]) == ("Reading 1,240 tokens", 1, [])
    assert (data["copy"], data["again"], data["footer"]) == ("", "", [])


def test_d13_a_refusal_shows_closest_passages_and_no_numbers():
    data = answer_data(
        replace(ANSWER, text="That is not in your documents. [1]", sentences=(), record={"refused": True})
    )
    assert data["sources_line"] == "Closest passages"
    assert [source["numbered"] for source in data["sources"]] == [False]
    assert data["blocks"] == [{"t": "p", "s": [{"x": "That is not in your documents. [1]"}]}]


def test_only_an_answer_that_may_be_repeated_offers_it():
    assert answer_data(ANSWER)["again"] == ""
    assert answer_data(replace(ANSWER, state="failed"), last=True)["again"] == ""


def test_places():
    bare = replace(SOURCE, page=None)
    assert [
        place(SOURCE),
        place(replace(SOURCE, metadata={"page_end": 4})),
        place(replace(bare, metadata={"sheet": "Costs", "rows": "2-9"})),
        place(replace(bare, metadata={"rows": "6"})),
        place(replace(bare, metadata={"slide": 5})),
        place(bare),
    ] == ["p. 3", "pp. 3–4", "Costs, rows 2-9", "row 6", "slide 5", ""]


def test_scores_without_ranks():
    assert scores(replace(SOURCE, scores={"rrf": 0.0328}, ranks={})) == ["together 0.033"]


def test_e16_an_answer_without_words_is_said_in_words():
    empty = replace(ANSWER, text=" ", sentences=())
    assert note(empty) == "No answer was produced."
    assert note(replace(empty, state="failed", reason="no answer was produced; try again")) == (
        "No answer was produced; try again"
    )
    assert note(ANSWER) == ""


def test_the_wait_for_reading_counts_down_and_then_admits_that_it_is_late():
    record = {"phase": "Reading 1,240 tokens, about 9 s", "reading": {"tokens": 1240, "seconds": 9.0, "started": 100.0}}
    reading = replace(ANSWER, state="reading", text="", record=record)
    assert [phase(reading, now=now) for now in (100.0, 103.2, 108.4, 109.0, 150.0)] == [
        "Reading 1,240 tokens, about 9 s left",
        "Reading 1,240 tokens, about 6 s left",
        "Reading 1,240 tokens, about 1 s left",
        "Reading 1,240 tokens, longer than expected",
        "Reading 1,240 tokens, longer than expected",
    ]
    quick = {"phase": "Reading 20 tokens", "reading": {"tokens": 20, "seconds": 0.3, "started": 100.0}}
    assert phase(replace(reading, record=quick), now=150.0) == "Reading 20 tokens"


def test_a_waiting_question_says_how_many_files_it_waits_for():
    waiting = replace(ANSWER, state="waiting", text="", record={"after_jobs": [4, 5, 6]})
    assert phase(waiting, awaited=3) == "Waiting for 3 files that were just added"
    assert phase(waiting, awaited=1) == "Waiting for 1 file that was just added"
    assert phase(waiting) == "Waiting for its turn"


def test_a_source_whose_document_was_deleted_since_says_so_and_offers_no_original():
    here = answer_data(ANSWER, gone={8})["sources"][0]
    assert (here["href"], here["gone"]) == ("/download/7", "")
    gone = answer_data(ANSWER, gone={7})["sources"][0]
    assert (gone["href"], gone["gone"]) == ("", "deleted since")
