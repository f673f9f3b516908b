"""Every splitter, in characters and in tokens: exact slices, the limit, nothing lost, and it ends."""

import base64
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain import Document, Mark
from core.embedding_models.hashing import WordTokenizer
from core.errors import ConfigError
from core.splitters import SPLITTERS

ESTIMATORS = {"characters": None, "tokens": WordTokenizer()}
TEXTS = st.text(alphabet="aB1 .!?。、」\"'\n\r\té\u0301\u200d👍🏽🇩🇪甲乙丙-", max_size=200)
every_splitter = pytest.mark.parametrize("name", SPLITTERS)
every_unit = pytest.mark.parametrize("unit", ESTIMATORS)


def size(text: str, unit: str) -> int:
    return len(text) if unit == "characters" else WordTokenizer().count(text)


def blankless(text: str) -> str:
    return "".join(text.split())


@every_splitter
@every_unit
@given(text=TEXTS, limit=st.integers(1, 40), share=st.integers(0, 9))
def test_segments_are_exact_slices_within_the_limit_and_lose_nothing(name, unit, text, limit, share):
    overlap = limit * share // 10
    segments = SPLITTERS[name](limit, overlap, ESTIMATORS[unit]).split(Document.from_text(text))
    assert [segment.index for segment in segments] == list(range(len(segments)))
    rebuilt, reached = "", 0
    for segment in segments:
        assert text[segment.start : segment.end] == segment.text == segment.text.strip() != ""
        assert size(segment.text, unit) <= limit
        assert segment.end > reached and size(text[segment.start : reached], unit) <= overlap
        assert text[reached : segment.start].strip() == ""
        rebuilt += text[max(reached, segment.start) : segment.end]
        reached = segment.end
    assert blankless(rebuilt) == blankless(text)


@every_splitter
@given(text=TEXTS, places=st.lists(st.integers(0, 200), max_size=8))
def test_marks_of_any_shape_do_no_harm(name, text, places):
    kinds = ["heading", "table", "code", "page", "sheet", "rows", "slide", "part"]
    marks = tuple(Mark(place, place + 20, kinds[n % 8], n) for n, place in enumerate(places))
    segments = SPLITTERS[name](12, 4).split(Document(text, marks=marks))
    assert all(text[segment.start : segment.end] == segment.text and len(segment.text) <= 12 for segment in segments)
    assert {c for segment in segments for c in segment.text if not c.isspace()} == set(blankless(text))


@every_splitter
@pytest.mark.parametrize("text", ["", " ", "\n\n\t\r\n", "\u3000"])
def test_a_blank_document_gives_nothing(name, text):
    assert SPLITTERS[name]().split(Document.from_text(text)) == []


@every_splitter
def test_a_document_that_fits_is_one_segment_with_the_documents_metadata(name):
    document = Document.from_text("  One.\n\nTwo.\n", {"owner": "ann"})
    (segment,) = SPLITTERS[name]().split(document)
    assert (segment.text, segment.start, segment.end) == ("One.\n\nTwo.", 2, 12)
    assert segment.metadata.to_dict() == {"owner": "ann", "index": 0}
    segment.metadata.put("owner", "bob")
    assert document.metadata.get_string("owner") == "ann"


@every_splitter
def test_several_documents_are_each_counted_from_zero(name):
    documents = [Document.from_text("aaaa bbbb"), Document.from_text("cccc dddd")]
    segments = SPLITTERS[name](5).split_all(documents)
    assert [(segment.text.strip(), segment.index) for segment in segments] == [
        ("aaaa", 0),
        ("bbbb", 1),
        ("cccc", 0),
        ("dddd", 1),
    ]


@every_splitter
@pytest.mark.parametrize(("most", "overlap"), [(0, 0), (-1, 0), (10, 10), (10, 11), (10, -1)])
def test_sizes_that_cannot_be_are_refused(name, most, overlap):
    with pytest.raises(ConfigError, match=f"{most}"):
        SPLITTERS[name](most, overlap)


BASE64 = base64.b64encode(random.Random(5).randbytes(150_000)).decode()


@every_splitter
@every_unit
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("Some text\n\n" * 100_000, 3, id="b07_100000_blank_lines"),
        pytest.param("A" * 100_000, 1, id="b05_one_endless_word"),
        pytest.param(BASE64, 1, id="b05_base64"),
        pytest.param("\n" * 200_000, 1, id="newlines"),
        pytest.param("." * 100_000, 1, id="dots"),
        pytest.param("e" + "\u0301" * 50_000, 1, id="accents"),
        pytest.param("🇩🇪" * 25_000, 1, id="flags"),
        pytest.param("。" * 50_000, 1, id="ideographic full stops"),
        pytest.param("   x" * 50_000, 2, id="words"),
    ],
)
def test_it_ends_in_linear_time(name, unit, text, seconds):
    begin = time.process_time()
    segments = SPLITTERS[name](300, 30, ESTIMATORS[unit]).split(Document.from_text(text))
    assert time.process_time() - begin < seconds
    assert all(size(segment.text, unit) <= 300 for segment in segments)
