"""Ways to make one ranking of several. One formula, one file."""

from core.rag.fusion.adaptive import AdaptiveFusion
from core.rag.fusion.reciprocal_rank import reciprocal_rank_fusion
from core.rag.fusion.score_sum import score_sum_fusion

__all__ = ["AdaptiveFusion", "reciprocal_rank_fusion", "score_sum_fusion"]
