import numpy as np
import pytest

from core.domain import EmbeddingRequest
from core.embedding_models import HashingEmbeddingModel
from core.errors import ConfigError


def cosine(a: str, b: str) -> float:
    model = HashingEmbeddingModel()
    return float(model.embed(a).vector @ model.embed(b).vector)


def test_shared_words_bring_texts_together():
    assert cosine("the red pump leaks", "a pump that leaks") > cosine("the red pump leaks", "cats sleep all day")
    assert cosine("東京都の天気", "東京の天気") > cosine("東京都の天気", "猫が眠る")


def test_vectors_are_the_same_on_every_machine():
    assert np.nonzero(HashingEmbeddingModel(8).embed("pump").vector)[0].tolist() == [6]
    assert HashingEmbeddingModel(8).embed("pump").vector[6] == 1.0


@pytest.mark.parametrize("dimensions", [1, 385, 0])
def test_dimensions_out_of_range_are_refused(dimensions):
    with pytest.raises(ConfigError, match=str(dimensions)):
        HashingEmbeddingModel().embed_request(EmbeddingRequest(("x",), dimensions=dimensions))


def test_dimensions_are_what_was_asked_for():
    assert HashingEmbeddingModel().embed_request(EmbeddingRequest(("x",), dimensions=16)).vectors.shape == (1, 16)
