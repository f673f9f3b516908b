"""Every knob: its default, range, environment name (FOOTNOTE_ + upper case) and one help line.

`Settings()` reads the environment; `Settings(top_k=5)` overrides it in code. The app's saved choices are passed in by
`bootstrap.build_services`. Nothing is created on disk here.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from core.errors import ConfigError

logger = logging.getLogger(__name__)

_OTHER_VARIABLES = {"FOOTNOTE_DEBUG", "FOOTNOTE_TEST_MODELS", "FOOTNOTE_TEST_CONNECTIONS"}

Group = Literal["Models", "Retrieval", "Memory", "Documents", "Interface"]


def _knob(default, group: Group, help: str, **limits):
    if isinstance(default, float):
        limits["allow_inf_nan"] = False  # NaN is within no range, and says so badly
    return Field(default, description=help, json_schema_extra={"group": group}, **limits)


def default_models_dir() -> Path:
    return user_cache_path("footnote", appauthor=False) / "models"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="FOOTNOTE_", frozen=True, extra="forbid", env_ignore_empty=True)

    data: Path = _knob(
        Path("data"), "Documents", "Folder for everything that is yours: documents, index, conversations."
    )
    models: Path = Field(
        default_factory=default_models_dir,
        description="Folder for models; they can be fetched again.",
        json_schema_extra={"group": "Models"},
    )

    chat_model: str = _knob(
        "qwen2.5-coder-1.5b", "Models", "Chat model: a name of the catalogue, a path to a GGUF file, or 'echo'."
    )
    context_tokens: int = _knob(
        4096, "Models", "Context size of the chat model in tokens; more needs more memory.", ge=512, le=131072
    )
    max_answer_tokens: int = _knob(
        512, "Models", "Longest answer in tokens; this much room is kept free.", ge=16, le=8192
    )
    temperature: float = _knob(0.0, "Models", "0 gives the same answer every time; higher is freer.", ge=0, le=2)
    seed: int = _knob(0, "Models", "Seed of the sampler; the same seed repeats an answer.", ge=0)
    threads: int = _knob(
        0, "Models", "Threads for the chat model; 0 takes what was measured to be fastest here.", ge=0, le=256
    )
    drafting: Literal["auto", "on", "off"] = _knob(
        "auto",
        "Models",
        "Guess words from the passages and check several at once; auto where it changes no text and is faster.",
    )
    gpu_layers: int = _knob(0, "Models", "Layers of the chat model on a graphics card; -1 takes all.", ge=-1)

    embedding_model: str = _knob(
        "all-minilm-l6-v2", "Models", "Embedding model: a name of the catalogue, a local folder, or 'hashing'."
    )
    embedding_precision: Literal["auto", "float32", "bfloat16"] = _knob(
        "auto",
        "Models",
        "Number format of the embedding model; auto takes bfloat16 where the processor is faster with it.",
    )
    embedding_store: str = _knob("faiss", "Retrieval", "Where vectors are searched: 'faiss' or 'in_memory'.")

    retriever: str = _knob("hybrid", "Retrieval", "How segments are found: hybrid, vector, keyword, or hybrid_rrf.")
    max_results: int = _knob(6, "Retrieval", "Most segments that are put in the prompt.", ge=1, le=50)
    candidates: int = _knob(50, "Retrieval", "Segments taken from each leg before fusion.", ge=1, le=1000)
    min_score: float = _knob(0.0, "Retrieval", "Lowest (cosine + 1) / 2 of a vector hit, 0 to 1.", ge=0, le=1)
    min_share: float = _knob(
        0.5,
        "Retrieval",
        "Segments that score below this share of the best one stay out of the prompt; 0 keeps all.",
        ge=0,
        le=1,
    )
    source_tokens: int = _knob(
        1500, "Retrieval", "Most tokens of sources in one prompt; fewer start faster.", ge=64, le=100000
    )
    query_transformer: str = _knob(
        "carry_over", "Retrieval", "What happens to a follow-up before the search: carry_over or default."
    )
    refusal: bool = _knob(True, "Retrieval", "Say when an answer isn't in the documents.")

    memory_messages: int = _knob(10, "Memory", "Messages of the conversation that are sent again.", ge=0, le=200)
    memory_tokens: int = _knob(1200, "Memory", "Most tokens of earlier messages in one prompt.", ge=0, le=100000)
    store_retrieved_content: bool = _knob(
        False, "Memory", "Keep each question with its passages in memory (on), or the question as typed (off)."
    )

    max_segment_tokens: int = _knob(
        300, "Documents", "Longest segment in tokens; capped at what the embedding model reads.", ge=16, le=8192
    )
    overlap_tokens: int = _knob(30, "Documents", "Tokens that a segment repeats of the one before.", ge=0, le=4096)
    max_file_mb: int = _knob(200, "Documents", "Largest file in MB.", ge=1, le=4096)
    undo_hours: int = _knob(
        24, "Documents", "Hours for which a deleted document can be brought back; 0 deletes for good.", ge=0, le=720
    )
    parse_timeout_s: int = _knob(300, "Documents", "Longest time for reading one file, in seconds.", ge=1, le=86400)
    parse_memory_mb: int = _knob(
        2048, "Documents", "Memory that reading one file may take on top of the worker's own, in MB.", ge=64
    )

    allowed_hosts: str = _knob(
        "", "Documents", "Names of private or local servers that web addresses may lead to, separated by commas."
    )

    @classmethod
    def load(cls, saved: dict | None = None, **overrides) -> Settings:
        """Defaults < saved choices < environment < overrides. raises ConfigError: one sentence a wrong value."""
        try:
            named = cls().model_fields_set | overrides.keys()
            known = {
                name: value for name, value in (saved or {}).items() if name in cls.model_fields and name not in named
            }
            return cls(**{**_usable(cls, known), **overrides})
        except ValidationError as error:
            raise ConfigError("; ".join(_sentence(item) for item in error.errors())) from None


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """A sentence for each FOOTNOTE_ variable that is no setting, with the setting that may be meant."""
    known = {f"FOOTNOTE_{name.upper()}" for name in Settings.model_fields} | _OTHER_VARIABLES
    found = sorted(name for name in environment if name.upper().startswith("FOOTNOTE_") and name.upper() not in known)
    return [f"{name} is no setting of Footnote and is ignored{_meant(name, known)}" for name in found]


def _meant(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name.upper(), known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _usable(cls: type[Settings], saved: dict) -> dict:
    """The saved choices that are still allowed; a range that got narrower must not lock anyone out."""
    usable = {}
    for name, value in saved.items():
        try:
            cls(**{name: value})
        except ValidationError as error:
            logger.warning("saved setting passed over: %s", _sentence(error.errors()[0]))
        else:
            usable[name] = value
    return usable


def _sentence(item) -> str:
    name = ".".join(map(str, item["loc"]))
    reason = item["msg"][0].lower() + item["msg"][1:]
    return f"setting {name}={item['input']!r} (FOOTNOTE_{name.upper()}) is wrong: {reason}"
