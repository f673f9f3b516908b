"""What happens between a question and the message that a chat model gets: five steps, each replaceable.

    query -> transform -> route -> retrieve -> aggregate -> (without doubles, cut) -> inject

One query and one retriever run in the caller's thread, more run in parallel. A retriever that fails is reported in the
trace and the others answer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from core.domain import Content
from core.errors import ConfigError, FilterError, FootnoteError, RetrievalError
from core.protocols import ContentAggregator, ContentInjector, ContentRetriever, QueryRouter, QueryTransformer
from core.query import Query
from core.rag.aggregators.default import DefaultContentAggregator
from core.rag.executor import IdleThreadExecutor
from core.rag.intent import intent_of
from core.rag.query_routers.default import DefaultQueryRouter
from core.rag.query_transformers.default import DefaultQueryTransformer
from core.rag.retrievers.hybrid import FAILURES, READABLE
from core.rag.shares import far_behind

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RetrieverRun:
    """One retriever asked with one query. `error` is empty where it answered."""

    query: str
    retriever: str
    contents: tuple[Content, ...]
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class CutContent:
    """A content that was found and isn't given on, and why: a sentence for people."""

    content: Content
    reason: str


@dataclass(frozen=True)
class AugmentationTrace:
    """How the contents came about.

    decision  "search", "overview" (of whole documents) or "small_talk" (nothing was looked up)
    failures  one sentence for each retriever, or leg of one, that failed
    readable  how much of the query the embedding model can read, 0 to 1; None where no retriever said so
    seconds   of each step: transform, route, retrieve, aggregate, inject
    """

    decision: str
    queries: tuple[str, ...]
    runs: tuple[RetrieverRun, ...]
    cut: tuple[CutContent, ...]
    failures: tuple[str, ...]
    seconds: Mapping[str, float]
    readable: float | None = None

    def to_record(self) -> dict[str, Any]:
        """Plain JSON for a message's record: ids and numbers, no text of documents."""
        return {
            "decision": self.decision,
            "queries": list(self.queries),
            "runs": [
                {
                    "query": run.query,
                    "retriever": run.retriever,
                    "seconds": round(run.seconds, 4),
                    "error": run.error,
                    "contents": [_content_record(content) for content in run.contents],
                }
                for run in self.runs
            ],
            "cut": [{**_content_record(cut.content), "reason": cut.reason} for cut in self.cut],
            "failures": list(self.failures),
            "readable": self.readable,
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
        }


@dataclass(frozen=True)
class AugmentationResult:
    """`message` is what the chat model is asked; `contents` are in it, best first, and may be none."""

    message: str
    contents: tuple[Content, ...]
    trace: AugmentationTrace


@dataclass
class DefaultRetrievalAugmentor:
    """Transform, route, retrieve, aggregate, inject.

    content_retriever | query_router  one of them; both, or neither, raise ConfigError
    max_contents                      cut to the best so many; None keeps all
    min_share                         cut what scores below this share of the best; 0 keeps all
    content_injector                  None leaves the message as it is, for who packs the prompt later
    """

    content_retriever: ContentRetriever | None = None
    query_router: QueryRouter | None = None
    query_transformer: QueryTransformer = field(default_factory=DefaultQueryTransformer)
    content_aggregator: ContentAggregator = field(default_factory=DefaultContentAggregator)
    content_injector: ContentInjector | None = None
    executor: Executor | None = None
    max_contents: int | None = None
    min_share: float = 0.0

    def __post_init__(self) -> None:
        if (self.content_retriever is None) == (self.query_router is None):
            raise ConfigError("give the augmentor a content_retriever or a query_router, not both and not neither")
        if self.max_contents is not None and self.max_contents < 1:
            raise ConfigError(f"max_contents={self.max_contents} must be at least 1")
        if not 0 <= self.min_share <= 1:
            raise ConfigError(f"min_share={self.min_share} must be between 0 and 1")
        if self.query_router is None:
            self.query_router = DefaultQueryRouter(self.content_retriever)
        self.executor = self.executor or IdleThreadExecutor()

    def augment(self, query: Query) -> AugmentationResult:
        """raises  RetrievalError where every retriever that was asked failed"""
        clock = _Clock()
        queries = list(dict.fromkeys(self.query_transformer.transform(query)))
        clock.lap("transform")
        tasks = [(one, retriever) for one in queries for retriever in self.query_router.route(one)]
        clock.lap("route")
        runs = self._retrieve(tasks)
        clock.lap("retrieve")
        ranked = self.content_aggregator.aggregate(_by_query(tasks, runs)) if tasks else []
        contents, cut = _cut(ranked, self.max_contents, self.min_share)
        clock.lap("aggregate")
        text = query.metadata.user_message or query.text
        message = self.content_injector.inject(contents, text) if self.content_injector else text
        clock.lap("inject")
        intent = intent_of(query)
        failures = [f"{run.retriever}: {run.error}" for run in runs if run.error]
        failures += query.metadata.invocation_parameters.get(FAILURES, ())
        trace = AugmentationTrace(
            "search" if intent is None else intent.kind,
            tuple(one.text for one in queries),
            tuple(runs),
            tuple(cut),
            tuple(dict.fromkeys(failures)),
            clock.laps,
            query.metadata.invocation_parameters.get(READABLE),
        )
        return AugmentationResult(message, tuple(contents), trace)

    def _retrieve(self, tasks: Sequence[tuple[Query, ContentRetriever]]) -> list[RetrieverRun]:
        if len(tasks) == 1:
            runs = [_run(*tasks[0])]
        else:
            runs = [future.result() for future in [self.executor.submit(_run, *task) for task in tasks]]
        if runs and all(run.error for run in runs):
            raise RetrievalError("; ".join(dict.fromkeys(run.error for run in runs)))
        return runs


def _run(query: Query, retriever: ContentRetriever) -> RetrieverRun:
    name = getattr(retriever, "name", type(retriever).__name__)
    started = time.perf_counter()
    try:
        contents, error = retriever.retrieve(query), ""
    except FilterError:
        raise  # the person's own, not the retriever's
    except FootnoteError as failure:
        logger.warning("retriever %s failed: %s", name, failure)
        contents, error = [], str(failure)
    return RetrieverRun(query.text, name, tuple(contents), time.perf_counter() - started, error)


def _by_query(
    tasks: Sequence[tuple[Query, ContentRetriever]], runs: Sequence[RetrieverRun]
) -> dict[Query, list[Sequence[Content]]]:
    results: dict[Query, list[Sequence[Content]]] = {}
    for (query, _), run in zip(tasks, runs, strict=True):
        results.setdefault(query, []).append(run.contents)
    return results


def _cut(ranked: Sequence[Content], most: int | None, min_share: float) -> tuple[list[Content], list[CutContent]]:
    behind = far_behind(ranked, min_share=min_share)
    kept: list[Content] = []
    cut: list[CutContent] = []
    texts: set[str] = set()
    for content in ranked:
        text = " ".join(content.segment.text.split())
        if text in texts:
            cut.append(CutContent(content, "says the same, word for word, as a better one"))
        elif content.key in behind:
            cut.append(CutContent(content, f"scores below {min_share:.0%} of the best one"))
        elif most is not None and len(kept) >= most:
            cut.append(CutContent(content, f"ranked below the best {most}"))
        else:
            kept.append(content)
            texts.add(text)
    return kept, cut


def _content_record(content: Content) -> dict[str, Any]:
    return {
        "segment_id": content.id,
        "document_id": content.document_id,
        "scores": {name: round(score, 6) for name, score in content.scores.items()},
        "ranks": dict(content.ranks),
        "matched_terms": list(content.matched_terms),
    }


class _Clock:
    """Seconds of each step, from the end of the one before."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
