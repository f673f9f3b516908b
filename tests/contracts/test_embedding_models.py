"""Every embedding model: shapes, order, the short forms, and every parameter either supported or refused."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from core.domain import EmbeddingRequest, TextSegment
from core.embedding_models import EMBEDDING_MODELS, HashingEmbeddingModel, open_embedding_model
from core.errors import UnsupportedFeatureError
from core.model_catalogue import DEFAULT_EMBEDDING_MODEL
from core.protocols import EmbeddingModel
from core.settings import Settings

NAMES = [
    "hashing",
    pytest.param("sentence_transformers", marks=pytest.mark.real_model(DEFAULT_EMBEDDING_MODEL)),
]
PARAMETERS = {"input_type": ["query", "document"], "dimensions": [8]}


@pytest.fixture(scope="module", params=NAMES)
def model(request) -> EmbeddingModel:
    if request.param == "hashing":
        return HashingEmbeddingModel()
    return open_embedding_model(DEFAULT_EMBEDDING_MODEL, Path(Settings.load().models))


def test_every_registered_model_is_under_contract():
    assert set(EMBEDDING_MODELS) == {"hashing", "sentence_transformers"}
    assert set(PARAMETERS) == {field.name for field in fields(EmbeddingRequest)} - {"inputs"}


def test_it_is_an_embedding_model(model):
    assert isinstance(model, EmbeddingModel)
    assert model.model_id.strip() and model.max_tokens > 0


def test_rows_are_float32_of_length_one_in_the_order_of_the_inputs(model):
    texts = ("A long text about the rivers of northern Europe and their floods.", "cats", "Pumps, valves and seals")
    response = model.embed_request(EmbeddingRequest(texts))
    assert response.vectors.shape == (3, model.dimension) and response.vectors.dtype == np.float32
    assert np.linalg.norm(response.vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)
    for text, row in zip(texts, response.vectors, strict=True):
        assert model.embed(text).vector @ row > 0.999
    assert response.token_usage.input_tokens >= sum(model.tokenizer.count_all(texts))
    # A model that tells the tokens of each text tells of all of them, in order.
    counts = response.token_counts
    assert not counts or (sum(counts) == response.token_usage.input_tokens and len(counts) == len(texts))
    assert not counts or all(own >= least for own, least in zip(counts, model.tokenizer.count_all(texts), strict=True))


def test_nothing_gives_nothing(model):
    assert model.embed_all([]) == []
    assert model.embed_request(EmbeddingRequest(())).vectors.shape == (0, model.dimension)


def test_a_segment_is_embedded_by_what_is_to_be_embedded(model):
    segment = TextSegment("cats purr", embedded_text="Pumps, valves and seals")
    assert model.embed(segment).vector @ model.embed("Pumps, valves and seals").vector > 0.999


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in PARAMETERS for value in PARAMETERS[name]])
def test_a_parameter_is_supported_or_refused(model, name, value):
    request = EmbeddingRequest(("cats",), **{name: value})
    if name not in model.supported_parameters():
        with pytest.raises(UnsupportedFeatureError, match=name):
            model.embed_request(request)
    else:
        assert len(model.embed_request(request).vectors) == 1


def test_text_is_the_only_content_that_is_read(model):
    assert model.supported_content_types() == {"text"}
    with pytest.raises(UnsupportedFeatureError, match="bytes"):
        model.embed_request(EmbeddingRequest((b"\x89PNG",)))


@pytest.mark.parametrize("text", ["", " ", "\ud83d x", "🧪🧪", "。", "A" * 5000, "\u0301" * 300])
def test_odd_texts_get_a_vector_too(model, text):
    assert np.isfinite(model.embed(text).vector).all()


def test_nothing_is_cut_silently(model):
    """B01: the end of a text that is longer than the model reads changes its vector."""
    text = "The weather in the valley was mild that year. " * 120
    assert model.tokenizer.count(text) > model.max_tokens
    plain, with_end = model.embed(text).vector, model.embed(text + "THE SECRET CODE IS 9917. " * 20).vector
    assert plain @ with_end < 0.9999
    assert np.linalg.norm(with_end) == pytest.approx(1, abs=1e-6)


def test_the_tokenizer_counts_what_its_offsets_show(model):
    for text in ["", "It cost 3.5 euros.", "日本語の文章です。", "XK-4471-B é 👍🏽"]:
        offsets = model.tokenizer.offsets(text)
        assert len(offsets) == model.tokenizer.count(text) == model.tokenizer.count_all([text])[0]
        assert all(0 <= start < end <= len(text) for start, end in offsets)
