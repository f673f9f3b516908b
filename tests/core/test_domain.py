import numpy as np
import pytest

from core.domain import (
    Content,
    CosineSimilarity,
    Document,
    Embedding,
    EmbeddingSearchRequest,
    TextSegment,
    TokenUsage,
)
from core.errors import ConfigError
from core.metadata import Metadata


def test_a_document_becomes_one_segment_with_its_metadata_copied():
    document = Document.from_text("abc", {"owner": "ann"})
    segment = document.to_text_segment()
    assert (segment.text, segment.start, segment.end, segment.index) == ("abc", 0, 3, 0)
    assert segment.metadata == Metadata({"owner": "ann", "index": 0})
    assert not document.metadata.contains_key("index")


def test_identity_is_content_and_source():
    ids = {
        Document.from_text(text, {"source": source}).id
        for text in ("a", "b")
        for source in ("x", "y")
        for _ in range(2)
    }
    assert len(ids) == 4


def test_a_transformer_changes_what_is_embedded_never_the_text():
    segment = TextSegment("abc", embedded_text="Guide: abc")
    assert (segment.text, segment.text_to_embed) == ("abc", "Guide: abc")
    assert TextSegment("abc").text_to_embed == "abc"


def test_normalize_works_in_place():
    embedding = Embedding([3, 4])
    assert embedding.normalize() is embedding
    assert embedding.vector.dtype == np.float32
    assert embedding.vector.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("vector", [[0, 0], [float("nan"), 1], [float("inf"), 1]])
def test_what_has_no_direction_cant_be_normalised(vector):
    with pytest.raises(ConfigError):
        Embedding(vector).normalize()


def test_cosine():
    assert CosineSimilarity.between(Embedding([1, 0]), Embedding([5, 5])) == pytest.approx(0.70710678)
    with pytest.raises(ConfigError, match="2 and 3 dimensions"):
        CosineSimilarity.between(Embedding([1, 0]), Embedding([1, 0, 0]))


@pytest.mark.parametrize("wrong", [{"max_results": 0}, {"min_score": -0.1}, {"min_score": 1.1}])
def test_a_search_request_checks_its_limits(wrong):
    with pytest.raises(ConfigError):
        EmbeddingSearchRequest(Embedding([1]), **wrong)


def test_scores_are_added_never_overwritten():
    one = Content(TextSegment("a"), "s1", scores={"cosine": 0.5}, ranks={"vector": 1}, matched_terms=("x",))
    two = Content(
        TextSegment("a"), "s1", scores={"bm25": 7.0, "cosine": 0.1}, ranks={"keyword": 2}, matched_terms=("y",)
    )
    both = one.joined_with(two)
    assert both.scores == {"cosine": 0.5, "bm25": 7.0}
    assert both.ranks == {"vector": 1, "keyword": 2}
    assert both.matched_terms == ("x", "y")
    assert one.scores == {"cosine": 0.5}


def test_a_content_without_id_is_known_by_its_text():
    assert Content(TextSegment("a")).key == Content(TextSegment("a", Metadata({"x": 1}))).key
    assert Content(TextSegment("a"), "1").key != Content(TextSegment("a"), "2").key


def test_usage_adds_up():
    assert (TokenUsage(3, 1) + TokenUsage(1, 1)).total_tokens == 6
