"""Joins core and storage: the only place that knows both. Nothing is loaded or started by building.

services = build_services(Settings.load())
services.start()      # loads models in the background, takes up waiting jobs and answers
…
services.close()
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from core.chat_models.opening import open_chat_model
from core.embedding_models.deferred import DeferredEmbeddingModel
from core.embedding_models.opening import open_embedding_model
from core.evaluation.run import RETRIEVERS, StrategyResult, evaluate
from core.gate import PriorityGate
from core.lazily import Lazily
from core.parsing_worker.worker import ParsingWorker
from core.pipeline import Pipeline
from core.protocols import ComputeGate, ConversationStore, DocumentStore, EmbeddingStore, FileStore, JobStore
from core.rag.query_transformers import QUERY_TRANSFORMERS
from core.rag.retrievers import CONTENT_RETRIEVERS
from core.registry import describe, lookup
from core.services.batches import BatchService
from core.services.chat import ChatService
from core.services.chat_model import ChatModelOwner
from core.services.indexing import IndexingService
from core.services.library import LibraryService
from core.services.model_figures import ModelFigures
from core.services.models import ModelService, ModelState
from core.services.preferences import OUTSIDE, PreferenceService
from core.services.search import SearchService
from core.services.turn_runner import TurnRunner
from core.services.upkeep import UpkeepService
from core.services.warm_up import WarmUp
from core.settings import Settings
from core.text.terms import index_terms

if TYPE_CHECKING:
    from storage.database import Database

logger = logging.getLogger(__name__)

# Settings that name a strategy, and the names there are.
CHOICES = {"retriever": tuple(CONTENT_RETRIEVERS), "query_transformer": tuple(QUERY_TRANSFORMERS)}


@dataclass(frozen=True)
class Services:
    """What pages and the command line call. Thread-safe; one per process."""

    settings: Settings
    library: LibraryService
    indexing: IndexingService
    batches: BatchService
    search: SearchService
    chat: ChatService
    models: ModelService
    preferences: PreferenceService
    maintenance: UpkeepService
    _warm_up: WarmUp = field(repr=False)
    _closing: ExitStack = field(repr=False)

    def start(self) -> None:
        self.indexing.start()
        self.chat.start()
        self._warm_up.start()

    def close(self) -> None:
        """Ends what was started, last first. Unfinished jobs and answers are taken up at the next start."""
        self._closing.close()


def build_services(settings: Settings | None = None, *, fault: Callable[[str], None] = lambda point: None) -> Services:
    """Everything for one data folder. Choices saved in the app are taken where `settings` doesn't name them.

    fault   called with a name at each durable step of a change; tests kill the process there
    raises  ConfigError (a name nothing is registered under), StorageError, NewerDatabaseError
    """
    from storage.conversations import SqliteConversationStore
    from storage.database import Database
    from storage.documents import SqliteDocumentStore
    from storage.embedding_stores import EMBEDDING_STORES
    from storage.files import LocalFileStore
    from storage.jobs import SqliteJobStore
    from storage.maintenance import SqliteMaintenance
    from storage.measurements import SqliteMeasurementStore
    from storage.settings import SqliteSettingsStore

    named = settings or Settings.load()
    with ExitStack() as opened:
        database = opened.enter_context(Database(named.data, fault=fault))
        saved = SqliteSettingsStore(database)
        choices = {**CHOICES, "embedding_store": tuple(EMBEDDING_STORES)}
        settings = _effective(named, saved.load(), choices)
        store_kind = lookup(EMBEDDING_STORES, settings.embedding_store, kind="embedding store")
        files, gate = LocalFileStore(named.data, fault=fault), PriorityGate()
        documents = SqliteDocumentStore(database, files)
        jobs = SqliteJobStore(database)
        model = _embedding_model(settings)
        search = _search(settings, database, documents, model, store_kind, opened)
        indexing = _indexing(settings, documents, files, jobs, model, gate, opened)
        library = LibraryService(
            documents,
            files,
            jobs,
            max_file_mb=settings.max_file_mb,
            undo_hours=settings.undo_hours,
            wake=indexing.wake,
        )
        figures = ModelFigures(SqliteMeasurementStore(database), threads=settings.threads)
        owner = _chat_model_owner(settings, figures)
        chat = _chat(
            settings, SqliteConversationStore(database), owner, search, gate, partial(_arriving, jobs), figures
        )
        opened.callback(chat.close)
        upkeep = UpkeepService(
            partial(SqliteMaintenance, database, files, terms=_terms),
            model,
            library,
            gate,
            run_jobs=indexing.run_until_idle,
        )
        warm_up = _warm_up(search, database, documents, library, upkeep)
        opened.callback(warm_up.close)
        opened.callback(upkeep.close)
        return Services(
            settings,
            library,
            indexing,
            BatchService(settings, library, indexing),
            search,
            chat,
            ModelService(owner.state, lambda: ModelState(model.name, model.state, model.message)),
            PreferenceService(settings, saved, choices),
            upkeep,
            warm_up,
            opened.pop_all(),
        )


def _search(
    settings: Settings,
    database: Database,
    documents: DocumentStore,
    model: DeferredEmbeddingModel,
    store_kind: Callable[..., EmbeddingStore],
    opened: ExitStack,
) -> SearchService:
    from storage.keyword_index import SqliteKeywordIndex
    from storage.segment_reader import SqliteSegmentReader
    from storage.vector_scores import SqliteVectorScores

    store: Lazily[EmbeddingStore] = Lazily(
        lambda: store_kind(database, model_id=model.model_id, dimension=model.dimension)
    )
    opened.callback(store.close)
    keywords = SqliteKeywordIndex(database)
    opened.callback(keywords.close)
    return SearchService(
        settings,
        store=store,
        embedding_model=lambda: model,
        keyword_index=keywords,
        documents=documents,
        vector_scores=Lazily(lambda: SqliteVectorScores(database, model_id=model.model_id)),
        segments=SqliteSegmentReader(database),
    )


def _indexing(
    settings: Settings,
    documents: DocumentStore,
    files: FileStore,
    jobs: JobStore,
    model: DeferredEmbeddingModel,
    gate: PriorityGate,
    opened: ExitStack,
) -> IndexingService:
    limits = settings.parse_timeout_s, settings.parse_memory_mb
    reader, passing = (
        opened.enter_context(ParsingWorker(*limits, is_busy=lambda: gate.is_answering)) for _ in range(2)
    )
    indexing = IndexingService(
        documents,
        files,
        jobs,
        reader,
        model,
        gate=gate,
        passing=passing,
        pipeline=pipeline_of(settings),
        each_hour=partial(documents.purge_deleted, older_than_s=settings.undo_hours * 3600),
    )
    opened.callback(indexing.close)
    return indexing


def _warm_up(
    search: SearchService,
    database: Database,
    documents: DocumentStore,
    library: LibraryService,
    upkeep: UpkeepService,
) -> WarmUp:
    return WarmUp(
        {
            "search": lambda: search.search("warm-up"),
            "filters": database.warm_filters,
            "leftovers of crashes": upkeep.sweep,
            "leftovers of changes": documents.sweep,
            "deleted documents": library.sweep_deleted,
            "look at the data folder": upkeep.look_after,
        }
    )


def _chat(
    settings: Settings,
    conversations: ConversationStore,
    owner: ChatModelOwner,
    search: SearchService,
    gate: ComputeGate,
    arriving: Callable[[str | None], Sequence[int]],
    figures: ModelFigures,
) -> ChatService:
    runner = TurnRunner(
        settings,
        conversations,
        owner,
        search.augmentor(min_share=settings.min_share),
        search.documents,
        gate,
        refusal=search.refusal_check,
        arriving=arriving,
        figures=figures,
    )
    return ChatService(settings, conversations, owner, runner)


def _embedding_model(settings: Settings) -> DeferredEmbeddingModel:
    return DeferredEmbeddingModel(
        settings.embedding_model,
        lambda: open_embedding_model(settings.embedding_model, settings.models, settings.embedding_precision),
    )


def _chat_model_owner(settings: Settings, figures: ModelFigures) -> ChatModelOwner:
    return ChatModelOwner(
        settings.chat_model,
        lambda: figures.tuned(
            open_chat_model(
                settings.chat_model,
                settings.models,
                context_tokens=settings.context_tokens,
                threads=settings.threads,
                gpu_layers=settings.gpu_layers,
                drafting=settings.drafting,
            )
        ),
    )


def _arriving(jobs: JobStore, collection: str | None) -> list[int]:
    """Jobs that bring documents into a collection (None: any), the first of them first."""
    active = jobs.list(states=("running", "waiting"), limit=500)
    return sorted(job.id for job in active if collection in (None, job.payload.get("collection")))


def pipeline_of(settings: Settings) -> Pipeline:
    return Pipeline(settings.max_segment_tokens, settings.overlap_tokens)


def evaluate_retrievers(
    settings: Settings, corpus: Path, queries: Path, qrels: Path, *, retrievers: Sequence[str] = ()
) -> list[StrategyResult]:
    """Measures on a question set, in a store of its own below the data folder. See `core.evaluation.run.evaluate`."""
    names = tuple(retrievers) or RETRIEVERS
    for name in names:
        lookup(CONTENT_RETRIEVERS, name, kind="retriever")
    return evaluate(corpus, queries, qrels, settings.data, settings, names, build=build_services)


def restore_backup(settings: Settings, file: Path) -> dict[str, int]:
    """Brings a backup back into the (empty or missing) data folder; returns counts. raises StorageError"""
    from storage.backup import restore_backup as restore

    return restore(file, settings.data)


def registries() -> dict[str, dict[str, str]]:
    """Every registry: kind -> name -> one-line description. What `cli.py strategies` and the README list."""
    from core.chat_models import CHAT_MODELS
    from core.embedding_models import EMBEDDING_MODELS
    from core.memory import CHAT_MEMORIES
    from core.parsers import PARSERS
    from core.rag.aggregators import CONTENT_AGGREGATORS
    from core.rag.injectors import CONTENT_INJECTORS
    from core.rag.query_routers import QUERY_ROUTERS
    from core.segment_transformers import SEGMENT_TRANSFORMERS
    from core.splitters import SPLITTERS
    from storage.embedding_stores import EMBEDDING_STORES

    found = {
        "parser": PARSERS,
        "splitter": SPLITTERS,
        "segment transformer": SEGMENT_TRANSFORMERS,
        "embedding model": EMBEDDING_MODELS,
        "embedding store": EMBEDDING_STORES,
        "query transformer": QUERY_TRANSFORMERS,
        "query router": QUERY_ROUTERS,
        "retriever": CONTENT_RETRIEVERS,
        "aggregator": CONTENT_AGGREGATORS,
        "injector": CONTENT_INJECTORS,
        "chat model": CHAT_MODELS,
        "memory": CHAT_MEMORIES,
    }
    return {kind: {name: describe(strategy) for name, strategy in names.items()} for kind, names in found.items()}


def _effective(named: Settings, saved: Mapping[str, object], choices: Mapping[str, Sequence[str]]) -> Settings:
    """What `named` says, and for the rest what was saved in the app, but for strategies that are gone by now."""
    kept = {
        name: value
        for name, value in saved.items()
        if name not in OUTSIDE and (name not in choices or value in choices[name])
    }
    return Settings.load(kept, **{name: getattr(named, name) for name in named.model_fields_set})


def _terms(text: str) -> str:
    return " ".join(index_terms(text))
