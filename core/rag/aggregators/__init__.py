"""Content aggregators by name: how the rankings of several queries and retrievers become one."""

from core.rag.aggregators.default import DefaultContentAggregator
from core.rag.aggregators.score_sum import ScoreSumContentAggregator

CONTENT_AGGREGATORS = {"default": DefaultContentAggregator, "score_sum": ScoreSumContentAggregator}
