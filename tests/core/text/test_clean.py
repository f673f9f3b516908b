import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.clean import clean

TRICKY = "\u200d\u200c\xad\n\r \t\ufb01\u0301\u0323e👨👩\ufe0f\U000e0067ا\ud83d\ude00ᄀ\u1161"
ANY_TEXT = st.text(alphabet=st.one_of(st.characters(), st.sampled_from(TRICKY)), max_size=20)


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing_more(text):
    once = clean(text)
    assert clean(once) == once
    assert unicodedata.is_normalized("NFC", once)
    once.encode("utf-8")
    assert not any(char < " " and char not in "\t\n" for char in once)


def test_a09_ligatures_are_letters():
    assert clean("o\ufb03ce de\ufb01cits \ufb00 \ufb02 \ufb04 \ufb05 \ufb06") == "office deficits ff fl ffl st st"


def test_a11_words_on_both_sides_of_a_nul_stay_words():
    assert clean("ab\x00cd\x07\x84e\tf") == "ab cd  e\tf"


def test_b08_lone_surrogates_are_replaced_and_pairs_combined():
    assert clean("bad\ud83d x \ud83d\ude00 \ude00") == "bad\ufffd x 😀 \ufffd"


def test_line_ends_are_newlines():
    assert clean("a\r\nb\rc\x0cd\u2028e\u2029f") == "a\nb\nc\nd\ne\n\nf"


def test_accents_are_composed():
    assert clean("cafe\u0301") == "café"


@pytest.mark.parametrize(
    "kept",
    ["👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "می\u200cخواهم", "क\u094d\u200dष", "🏴\U000e0067\U000e0062\U000e007f"],
)
def test_joiners_with_a_meaning_stay(kept):
    assert clean(kept) == unicodedata.normalize("NFC", kept)


def test_invisible_characters_without_a_meaning_go():
    assert clean("\ufeffa\u200bb\u200dc\u202ed\u2060e\u200e f\U000e0041\U000e0042") == "abcde f"


def test_a_soft_hyphen_at_a_line_end_joins_the_word():
    assert clean("exam\xad\nple, co\xadop") == "example, coop"


def test_blanks_of_any_width_are_blanks():
    assert clean("10\u202f000\xa0€") == "10 000 €"
