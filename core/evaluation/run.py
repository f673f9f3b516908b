"""Compares retrievers on a question set, through the same splitter, stores and search as the app's.

One corpus entry is one document, its title in front as a heading. An entry's score is its best segment's. The documents
lie in a store of their own, so that a second run embeds nothing again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.domain import Document, EmbeddingRequest, Mark, text_hash
from core.evaluation.metrics import ndcg_at, recall_at, reciprocal_rank_at
from core.evaluation.question_set import Entry, Question, QuestionSet, load_question_set
from core.metadata import Metadata
from core.pipeline import Pipeline
from core.protocols import DocumentStore, EmbeddingModel
from core.records import DEFAULT_COLLECTION, NewDocument
from core.services.search import SearchService
from core.settings import Settings
from core.text.terms import index_terms

logger = logging.getLogger(__name__)

RETRIEVERS = ("vector", "keyword", "hybrid")
_DEPTH = 10  # entries that the measures look at
_SEGMENTS = 30  # asked for at first; doubled where they are of fewer entries
_ENTRIES_AT_ONCE = 256
_SOURCE = "entry:"

Report = Callable[[str], None]


@dataclass(frozen=True)
class StrategyResult:
    """Means over all questions; `ms_per_query` includes embedding the question."""

    retriever: str
    recall_at_5: float
    mrr_at_10: float
    ndcg_at_10: float
    ms_per_query: float
    questions: int

    def to_row(self) -> dict[str, Any]:
        return {
            "retriever": self.retriever,
            "recall@5": round(self.recall_at_5, 4),
            "mrr@10": round(self.mrr_at_10, 4),
            "ndcg@10": round(self.ndcg_at_10, 4),
            "ms_per_query": round(self.ms_per_query, 2),
            "questions": self.questions,
        }


def evaluate(
    corpus: Path,
    queries: Path,
    qrels: Path,
    data_dir: Path,
    settings: Settings,
    retrievers: Sequence[str] = RETRIEVERS,
    *,
    build: Callable[[Settings], Any],
    report: Report = lambda sentence: None,
) -> list[StrategyResult]:
    """Index the corpus, unless it is, and ask every question with each retriever.

    data_dir  the store is kept below it, in evaluation/<hash>
    build     makes services with `.search` and `.close()` for settings: `core.bootstrap.build_services`
    report    gets a sentence now and then
    raises    ConfigError for files that can't be read, UnknownNameError for a retriever, ModelError
    """
    question_set = load_question_set(corpus, queries, qrels)
    pipeline = Pipeline(settings.max_segment_tokens, settings.overlap_tokens)
    services = build(
        settings.model_copy(update={"data": data_dir / "evaluation" / _store_name(question_set, pipeline, settings)})
    )
    try:
        search: SearchService = services.search
        index_entries(question_set.entries, search.documents, search.embedding_model, pipeline, report)
        return [measure(name, question_set, search, report) for name in retrievers or RETRIEVERS]
    finally:
        services.close()


def index_entries(
    entries: Sequence[Entry],
    documents: DocumentStore,
    model: EmbeddingModel,
    pipeline: Pipeline,
    report: Report = lambda sentence: None,
) -> None:
    """Make every entry that isn't there yet a document of its own, `source` "entry:<id>"."""
    known = {record.source for record in documents.list()}
    missing = [entry for entry in entries if _source(entry) not in known]
    for start in range(0, len(missing), _ENTRIES_AT_ONCE):
        batch = missing[start : start + _ENTRIES_AT_ONCE]
        report(f"indexing entries {start + 1} to {start + len(batch)} of {len(missing)}")
        _save(batch, documents, model, pipeline)


def measure(
    retriever: str, question_set: QuestionSet, search: SearchService, report: Report = lambda sentence: None
) -> StrategyResult:
    """Ask all questions of one retriever."""
    report(f"asking {len(question_set.questions)} questions of {retriever}")
    entry_ids = {record.id: record.source.removeprefix(_SOURCE) for record in search.documents.list()}
    sums, seconds = [0.0, 0.0, 0.0], 0.0
    search.search(question_set.questions[0].text, retriever=retriever)  # what loads, loads now
    for question in question_set.questions:
        ranking, spent = _ranking(retriever, question, search, entry_ids)
        seconds += spent
        sums[0] += recall_at(5, ranking, question.relevant)
        sums[1] += reciprocal_rank_at(_DEPTH, ranking, question.relevant)
        sums[2] += ndcg_at(_DEPTH, ranking, question.relevant)
    count = len(question_set.questions)
    recall, mrr, ndcg = (total / count for total in sums)
    return StrategyResult(retriever, recall, mrr, ndcg, 1000 * seconds / count, count)


def _ranking(
    retriever: str, question: Question, search: SearchService, entry_ids: dict[int, str]
) -> tuple[list[str], float]:
    """(entry ids, best first, seconds of the search)."""
    limit = _SEGMENTS
    seconds = None
    while True:
        started = time.perf_counter()
        found = search.search(question.text, limit=limit, retriever=retriever, history=question.history)
        seconds = time.perf_counter() - started if seconds is None else seconds
        ranking = list(dict.fromkeys(entry_ids[content.document_id] for content in found.contents))
        if len(ranking) >= _DEPTH or len(found.contents) < limit:
            return ranking[:_DEPTH], seconds
        limit *= 2


def _save(entries: Sequence[Entry], documents: DocumentStore, model: EmbeddingModel, pipeline: Pipeline) -> None:
    made = [_document(entry) for entry in entries]
    segments = [pipeline.segments(document, model) for document in made]
    texts = tuple(segment.text_to_embed for of_document in segments for segment in of_document)
    input_type = "document" if "input_type" in model.supported_parameters() else None
    vectors = model.embed_request(EmbeddingRequest(texts, input_type=input_type)).vectors
    start = 0
    for entry, document, of_document in zip(entries, made, segments, strict=True):
        if not of_document:
            logger.warning("entry %s holds no text", entry.id)
            continue
        end = start + len(of_document)
        documents.save(
            NewDocument(
                source=_source(entry),
                name=entry.title or entry.id,
                collection=DEFAULT_COLLECTION,
                type="markdown",
                content_hash=document.content_hash,
                size=len(document.text.encode("utf-8")),
                document=document,
                segments=tuple(of_document),
                vectors=vectors[start:end],
                terms=tuple(" ".join(index_terms(segment.text)) for segment in of_document),
                model_id=model.model_id,
                pipeline=pipeline.fingerprint(model.model_id),
            )
        )
        start = end


def _document(entry: Entry) -> Document:
    text = entry.as_markdown()
    marks = (Mark(0, len(text), "heading", entry.title),) if entry.title else ()
    return Document(text, Metadata({"title": entry.title} if entry.title else {}), marks)


def _source(entry: Entry) -> str:
    return f"{_SOURCE}{entry.id}"


def _store_name(question_set: QuestionSet, pipeline: Pipeline, settings: Settings) -> str:
    """Another corpus, splitter or model gets another store: nothing old is taken for new."""
    entries = text_hash("\0".join(f"{entry.id}\0{entry.as_markdown()}" for entry in question_set.entries))
    model = f"{settings.embedding_model} {settings.embedding_precision}"
    return text_hash(f"{entries} {pipeline.fingerprint(model)}")[:16]
