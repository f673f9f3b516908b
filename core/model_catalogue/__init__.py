"""The models that Footnote can fetch, where they lie, and whether they are what they should be. See README.md."""

from core.model_catalogue.entries import CATALOGUE, DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL
from core.model_catalogue.fetching import fetch
from core.model_catalogue.locating import find, locate, rows
from core.model_catalogue.model import CatalogueModel, HuggingFaceSource, ModelFile, PackageSource
from core.model_catalogue.verification import state

__all__ = [
    "CATALOGUE",
    "DEFAULT_CHAT_MODEL",
    "DEFAULT_EMBEDDING_MODEL",
    "CatalogueModel",
    "HuggingFaceSource",
    "ModelFile",
    "PackageSource",
    "fetch",
    "find",
    "locate",
    "rows",
    "state",
]
