"""The real model: its limit, its precision, its speed-ups that must not change results. Skipped where it isn't here."""

import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from core.domain import Document, EmbeddingRequest
from core.embedding_models import SentenceTransformerEmbeddingModel, open_embedding_model
from core.errors import ConfigError, ModelError, UnknownNameError
from core.model_catalogue import DEFAULT_EMBEDDING_MODEL, locate
from core.settings import Settings
from core.splitters import RecursiveSplitter

real_model = pytest.mark.real_model(DEFAULT_EMBEDDING_MODEL)
TEXTS = [
    "a cat on a mat",
    "The pump XK-4471-B leaks at the seal. " * 12,
    "日本の天気",
    "x",
    "Rivers flood in spring. " * 30,
]


@pytest.fixture(scope="module")
def folder() -> Path:
    return locate(DEFAULT_EMBEDDING_MODEL, Settings.load().models, kind="embedding")


@pytest.fixture(scope="module")
def model(folder) -> SentenceTransformerEmbeddingModel:
    return SentenceTransformerEmbeddingModel(folder, precision="float32")


@real_model
def test_vectors_are_those_of_the_library(folder, model):
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(folder), device="cpu", local_files_only=True).encode(TEXTS[:4])
    assert np.abs(model.embed_request(EmbeddingRequest(tuple(TEXTS[:4]))).vectors - expected).max() < 1e-5


@real_model
def test_bfloat16_gives_nearly_the_same_and_names_itself(folder, model):
    rough = SentenceTransformerEmbeddingModel(folder, precision="bfloat16")
    cosines = np.sum(
        rough.embed_request(EmbeddingRequest(tuple(TEXTS))).vectors
        * model.embed_request(EmbeddingRequest(tuple(TEXTS))).vectors,
        axis=1,
    )
    assert cosines.min() > 0.995
    assert model.model_id != rough.model_id
    assert model.model_id == f"{DEFAULT_EMBEDDING_MODEL}-53aa51172d-float32"


@real_model
def test_the_name_is_known_before_the_model_is_loaded(folder):
    fresh = SentenceTransformerEmbeddingModel(folder, precision="float32", prompts={"query": "q: "})
    known = fresh.model_id
    assert not fresh.loaded
    assert fresh.dimension == 384 and fresh.model_id == known


@real_model
def test_b01_every_segment_is_read_whole_and_its_end_is_found(model):
    text = "The committee met again in the small hall on Tuesday. " * 60 + "THE SECRET CODE IS 9917."
    segments = RecursiveSplitter(model.max_tokens, 30, model.tokenizer).split(Document.from_text(text))
    counts = [len(encoding.ids) for encoding in model.tokenizer.encode([segment.text for segment in segments])]
    assert len(segments) > 2 and max(counts) <= 256
    query = model.embed("What is the secret code?").vector
    scores = [float(query @ model.embed(segment).vector) for segment in segments]
    assert int(np.argmax(scores)) == len(segments) - 1


@real_model
def test_b10_real_tokens_not_characters(model):
    texts = [
        "The committee approved the annual budget. " * 40,
        "日本語の文章を長く続けると、文字数とトークン数は大きく違います。" * 30,
        " ".join(f"XK-{number}-B/{number * 7919}" for number in range(400)),
        "👩\u200d👩\u200d👧\u200d👦🏳️\u200d🌈" * 200,
    ]
    for text in texts:
        segments = RecursiveSplitter(200, 20, model.tokenizer).split(Document.from_text(text))
        assert max(model.tokenizer.count_all([segment.text for segment in segments])) <= 200


@real_model
def test_it_is_loaded_once_by_many_threads(folder):
    model = SentenceTransformerEmbeddingModel(folder)
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(model.embed("a cat").vector)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(found[0], vector) for vector in found)


@real_model
def test_prompts_are_put_in_front_and_leave_less_room(folder, model):
    prompted = SentenceTransformerEmbeddingModel(
        folder, precision="float32", prompts={"query": "query: ", "document": "passage: "}
    )
    assert prompted.supported_parameters() == {"input_type"} and model.supported_parameters() == frozenset()
    assert prompted.max_tokens == model.max_tokens - 2
    request = EmbeddingRequest(("cats",), input_type="query")
    assert prompted.embed_request(request).vectors[0] @ model.embed("query: cats").vector > 0.9999
    assert prompted.embed("cats").vector @ model.embed("cats").vector > 0.9999
    assert prompted.model_id != model.model_id


def test_nothing_is_read_before_it_is_needed(tmp_path):
    model = SentenceTransformerEmbeddingModel(tmp_path / "none")
    with pytest.raises(ModelError, match="no model in"):
        model.embed("x")


def test_wrong_settings_are_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match="float8"):
        SentenceTransformerEmbeddingModel(tmp_path, precision="float8")
    with pytest.raises(UnknownNameError, match="no-such-model"):
        open_embedding_model("no-such-model", tmp_path)


def test_a_damaged_folder_is_one_sentence(tmp_path):
    (tmp_path / "modules.json").write_text("[{]")
    with pytest.raises(ModelError, match="fetch it again"):
        SentenceTransformerEmbeddingModel(tmp_path).embed("x")


@real_model
def test_g07_weights_that_are_a_pickle_are_not_loaded(folder, tmp_path):
    class Evil:
        def __reduce__(self):
            return Path.touch, (tmp_path / "ran",)

    copied = tmp_path / "model"
    shutil.copytree(folder, copied)
    (copied / "model.safetensors").unlink()
    (copied / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ModelError, match="'model' can't be loaded from its folder"):
        SentenceTransformerEmbeddingModel(copied).embed("x")
    assert not (tmp_path / "ran").exists()


def test_importing_and_opening_load_no_heavy_library(tmp_path):
    code = (
        "import sys; from core.embedding_models import *; "
        f"SentenceTransformerEmbeddingModel({str(tmp_path)!r}); "
        "print({'torch', 'transformers', 'sentence_transformers'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
