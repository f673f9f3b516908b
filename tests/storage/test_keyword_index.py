import threading

import pytest

from core.errors import ConfigError
from core.filters import metadata_key
from core.text.terms import index_terms
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.files import LocalFileStore
from storage.keyword_index import SqliteKeywordIndex
from tests.storage.making import new_document


@pytest.fixture
def database(tmp_path):
    with Database(tmp_path) as database:
        yield database


def documents(database):
    return SqliteDocumentStore(database, LocalFileStore(database.data_dir))


def save(database, text, name="a.txt", **changes):
    new = new_document(text, name, **changes)
    terms = tuple(" ".join(index_terms(segment.text)) for segment in new.segments)
    return documents(database).save(new_document(text, name, terms=terms, **changes)).document


def texts(matches):
    return [match.segment.text.strip() for match in matches]


def test_best_first_with_the_words_as_they_were_typed(database):
    save(database, "The red pump\nA pump and a valve\nNothing here\n")
    first, second = SqliteKeywordIndex(database).search("Which PUMPS are red?", limit=5)
    assert texts([first, second]) == ["The red pump", "A pump and a valve"]
    assert first.matched_terms == ("PUMPS", "red")
    assert second.matched_terms == ("PUMPS",)
    assert first.bm25 > second.bm25 > 0
    assert 0 < second.share < first.share < 1
    assert first.coverage == pytest.approx(1)
    assert first.segment.metadata.get_string("file_name") == "a.txt"


def test_d02_the_code_that_was_asked_for_comes_first(database):
    save(database, "".join(f"Crate QT{number} holds part {number * 7}\n" for number in range(40, 60)))
    save(database, "Filter XK-4471-B\nFilter XK-4417-B\n", "b.txt")
    index = SqliteKeywordIndex(database)
    assert texts(index.search("what is in QT43", limit=1)) == ["Crate QT43 holds part 301"]
    for query in ("XK-4471-B", "xk 4471 b", "xk4471b", "Xk_4471-b?"):
        assert texts(index.search(query, limit=1)) == ["Filter XK-4471-B"], query


@pytest.mark.parametrize(
    "query",
    [
        "AX-2041", "won't", "C++", "AND", "note.md", "room: 7b", '"unbalanced', "(", "*", "", "up-to-date", "{x}",
        "unit NOT", "100%", "body:unit", "NEAR", "^unit", "a\x00b", "\ud800", "terms MATCH 'x' --", "x" * 100_000,
    ],
)  # fmt: skip
def test_d07_a_query_is_data(database, query):
    save(database, "Order AX-2041\nRoom 7b\nsee note.md\n")
    index = SqliteKeywordIndex(database)
    assert set(texts(index.search(query, limit=5))) <= {"Order AX-2041", "Room 7b", "see note.md"}
    assert texts(index.search("room", limit=5)) == ["Room 7b"]


@pytest.mark.parametrize(
    ("query", "found"),
    [("AX-2041", "Order AX-2041"), ("room: 7b", "Room 7b"), ("note.md", "see note.md"), ("NOT unit", "the unit")],
)
def test_d07_operators_find_what_they_say(database, query, found):
    save(database, "Order AX-2041\nRoom 7b\nsee note.md\nthe unit\n")
    assert texts(SqliteKeywordIndex(database).search(query, limit=1)) == [found]


def test_d07_only_punctuation_finds_nothing(database):
    save(database, "a ( b ) * \n")
    assert SqliteKeywordIndex(database).search('(*"', limit=5) == []


def test_a09_ligatures_are_found(database):
    save(database, "The ﬁnancial oﬃce saw deﬁcits\n")
    assert len(SqliteKeywordIndex(database).search("office deficits", limit=5)) == 1


def test_b09_symbols_are_told_apart(database):
    save(database, "🧪🧪\n🎉🎉\n㐂某\n")
    index = SqliteKeywordIndex(database)
    assert [texts(index.search(query, limit=5)) for query in ("🎉", "㐂")] == [["🎉🎉"], ["㐂某"]]


def test_cjk_words_are_shown_whole(database):
    save(database, "東京都の高さ\n")
    assert SqliteKeywordIndex(database).search("東京都はどこ", limit=1)[0].matched_terms == ("東京都",)


def test_c12_more_asked_for_than_there_is(database):
    index = SqliteKeywordIndex(database)
    assert index.search("pump", limit=8) == []
    save(database, "pump 1\npump 2\n")
    assert len(index.search("pump", limit=8)) == 2


def test_c15_the_filter_acts_before_the_best_are_taken(database):
    save(database, "".join(f"pump pump pump {number}\n" for number in range(50)), "a.txt")
    wanted = save(database, "".join(f"a long line about one pump, number {number}\n" for number in range(5)), "b.txt")
    matches = SqliteKeywordIndex(database).search(
        "pump", limit=4, filter=metadata_key("document_id").is_equal_to(wanted.id)
    )
    assert [match.document_id for match in matches] == [wanted.id] * 4


def test_it_keeps_up_with_other_writers(database):
    index = SqliteKeywordIndex(database)
    first = save(database, "Mira is the office cat\n", "staff.txt")
    assert texts(index.search("cat", limit=5)) == ["Mira is the office cat"]
    save(database, "Otto is the office cat\n", "staff.txt")
    assert texts(index.search("cat", limit=5)) == ["Otto is the office cat"]
    documents(database).delete(first.id)
    assert index.search("cat", limit=5) == []


def test_scores_of_named_segments_are_those_of_the_search(database):
    save(database, "red pump\nblue valve\n")
    index = SqliteKeywordIndex(database)
    (hit,) = index.search("red pump", limit=5)
    (other,) = index.search("valve", limit=5)
    scores = index.scores_of("red pump", [other.id, hit.id, "unknown"])
    assert scores.keys() == {hit.id, other.id}
    assert (scores[hit.id].bm25, scores[hit.id].share) == (hit.bm25, hit.share)
    assert (scores[other.id].bm25, scores[other.id].matched_terms) == (0, ())


def test_words_side_by_side_are_told_from_words_anywhere(database):
    save(database, "the red pump\npump, and something red\n")
    index = SqliteKeywordIndex(database)
    by_text = {match.segment.text.strip(): match for match in index.search("red pump", limit=5)}
    assert [by_text[text].phrase for text in ("the red pump", "pump, and something red")] == [1, 0]
    assert index.scores_of("red pump", [by_text["the red pump"].id])[by_text["the red pump"].id].phrase == 1


def test_a_limit_below_one_is_refused(database):
    with pytest.raises(ConfigError, match="limit=0 must be at least 1"):
        SqliteKeywordIndex(database).search("pump", limit=0)


def test_c10_threads_may_search_while_another_writes(database):
    index = SqliteKeywordIndex(database)
    save(database, "pump 0\n", "0.txt")
    failures = []

    def search():
        try:
            for _ in range(20):
                assert index.search("pump", limit=5)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 10):
        save(database, f"pump {number}\n", f"{number}.txt")
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(index.search("pump", limit=20)) == 10
