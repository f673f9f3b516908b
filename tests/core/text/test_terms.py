import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.terms import index_terms, locate_query_terms, query_terms


def test_words_are_folded_and_stemmed_and_repeated():
    assert index_terms("Running pumps, a PUMP runs") == ["run", "pump", "a", "pump", "run"]


def test_a09_ligatures_are_the_letters_they_stand_for():
    assert index_terms("ﬁnancial oﬃce deﬁcits") == index_terms("financial office deficits")
    assert set(query_terms("office deficits")) <= set(index_terms("ﬁnancial oﬃce deﬁcits"))


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Größe", "GROSSE"),
        ("café", "cafe"),
        ("ＡＢＣ１２３", "abc123"),
        ("ｶﾞｽ", "ガス"),
        ("١٢٣", "123"),
        ("1,234,567", "1234567"),
        ("O’Brien", "obrien"),
        ("the driver's licence", "driver"),
        ("written in C++", "c++"),
        ("get_user_name", "getUserName"),
    ],
)
def test_other_spellings_of_the_same_word_meet(written, asked):
    assert set(query_terms(asked)) & set(index_terms(written))


@pytest.mark.parametrize("asked", ["XK-4471-B", "xk 4471 b", "xk4471b", "XK 4471-B", "xk_4471_b"])
@pytest.mark.parametrize("written", ["XK-4471-B", "XK4471B", "xk 4471 b"])
def test_d02_an_identifier_is_found_in_any_spelling(written, asked):
    found = set(query_terms(asked)) & set(index_terms(written))
    other = set(query_terms(asked)) & set(index_terms(written.replace("4471", "4417")))
    assert "4471" in found or "xk4471b" in found
    assert len(found) > len(other)


def test_cjk_is_single_characters_and_pairs():
    assert index_terms("東京都") == ["東", "京", "都", "東京", "京都"]
    assert index_terms("한국") == ["한", "국", "한국"]
    assert index_terms("ไทย") == ["ไท", "ทย"]


def test_a_latin_word_glued_to_cjk_is_its_own_term():
    assert {"xk4471b", "番", "の"} <= set(index_terms("型番XK-4471-Bの"))


def test_vowel_signs_stay_in_their_word():
    assert index_terms("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_b09_symbols_are_terms():
    assert index_terms("🧪🧪 🎉 👍🏽 ❤️ 㐂") == ["🧪", "🧪", "🎉", "👍", "❤", "㐂"]


def test_stop_words_are_searched_only_where_there_is_nothing_else():
    assert query_terms("What is the pump?") == ["pump"]
    assert query_terms("Was ist die Größe?") == ["gross"]
    assert query_terms("won't") == ["wont"]
    assert query_terms("to be or not") == ["to", "be", "or", "not"]


def test_a_decimal_is_not_its_digits():
    assert not set(query_terms("35")) & set(index_terms("3.5"))


@pytest.mark.parametrize("nothing", ["", "   ", "(", "*", '"', "…", "-—-", "\x00"])
def test_d07_no_words_no_terms(nothing):
    assert query_terms(nothing) == index_terms(nothing) == []


def test_places_are_in_the_query_as_typed():
    query = "Where’s the ﬁnancial ｶﾞｽ?"
    assert [(found.term, query[found.start : found.end]) for found in locate_query_terms(query)] == [
        ("financi", "ﬁnancial"),
        ("ガ", "ｶﾞ"),
        ("ス", "ｽ"),
        ("ガス", "ｶﾞｽ"),
    ]


@given(st.text())
def test_any_text_gives_terms_that_blanks_can_join(text):
    for term in index_terms(text) + query_terms(text):
        assert term
        assert all(character.isalnum() if character.isascii() else not character.isspace() for character in term)
    for found in locate_query_terms(text):
        assert 0 <= found.start < found.end <= len(text)
