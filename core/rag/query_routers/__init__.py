"""Query routers by name: which retrievers a query goes to."""

from core.rag.query_routers.default import DefaultQueryRouter
from core.rag.query_routers.intent import IntentQueryRouter

QUERY_ROUTERS = {"default": DefaultQueryRouter, "intent": IntentQueryRouter}
