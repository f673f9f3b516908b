import pytest

from core.domain import Document, Mark
from core.embedding_models import HashingEmbeddingModel
from core.errors import ConfigError
from core.pipeline import Pipeline

SECTION = "# Pumps\n\n" + "The pump leaks at its seal. " * 60
DOCUMENT = Document(SECTION, marks=(Mark(0, len(SECTION), "heading", "Manual > Pumps"),))


def test_segments_are_capped_at_what_the_model_reads():
    model = HashingEmbeddingModel(max_tokens=64)
    segments = Pipeline(max_segment_tokens=300).segments(DOCUMENT, model)
    counts = model.tokenizer.count_all([segment.text for segment in segments])
    assert len(segments) > 5 and 50 < max(counts) <= 64
    assert [segment.embedded_text for segment in segments] == [None] * len(segments)


def test_a_prefix_has_its_room_within_the_models_limit():
    model = HashingEmbeddingModel(max_tokens=64)
    segments = Pipeline(prefix="heading").segments(DOCUMENT, model)
    assert [segment.index for segment in segments] == list(range(len(segments)))
    assert segments[-1].text_to_embed == f"Manual > Pumps\n{segments[-1].text}"
    assert max(model.tokenizer.count_all([segment.text_to_embed for segment in segments])) <= 64


def test_the_fingerprint_changes_with_whatever_changes_segments():
    fingerprints = {
        Pipeline().fingerprint("a"),
        Pipeline().fingerprint("b"),
        Pipeline(max_segment_tokens=200).fingerprint("a"),
        Pipeline(overlap_tokens=0).fingerprint("a"),
        Pipeline(prefix="heading").fingerprint("a"),
    }
    assert len(fingerprints) == 5 and Pipeline().fingerprint("a") in fingerprints


def test_an_unknown_prefix_is_refused():
    with pytest.raises(ConfigError, match="'title'"):
        Pipeline(prefix="title")
