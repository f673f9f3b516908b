"""Query transformers by name: what happens to a question before the search."""

from core.rag.query_transformers.carry_over import CarryOverQueryTransformer
from core.rag.query_transformers.default import DefaultQueryTransformer

QUERY_TRANSFORMERS = {"default": DefaultQueryTransformer, "carry_over": CarryOverQueryTransformer}
