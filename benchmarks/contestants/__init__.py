"""Footnote and what people would use instead, each behind the same small interface.

A contestant's file holds one class `Contestant`:

    PACKAGES                      names of the packages whose versions are told
    Contestant(model, **)         loads the embedding model
    ingest(folder)                files to searchable, as its documentation shows it; returns the number of segments
    retrievers()                  name -> f(question, limit) -> file names of the segments found, best first
    default                       the retriever that one gets without choosing
    embed(text)                   the question's vector alone, for its share of the time
    texts()                       what was given to the embedding model
    precision                     the number format that computes
    close()

Each runs in a process and an environment of its own (`benchmarks.contestants.run`), so this file imports none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entrant:
    """One row of the tables. `is_peer`: it runs in the environment of benchmarks/requirements.txt."""

    name: str
    module: str
    is_peer: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)


ENTRANTS = (
    Entrant("Footnote", "footnote", is_peer=False),
    Entrant("Footnote, float32", "footnote", is_peer=False, options={"precision": "float32"}),
    Entrant("LangChain", "langchain"),
    Entrant("LlamaIndex", "llama_index"),
    Entrant("LlamaIndex, FAISS", "llama_index", options={"store": "faiss"}),
    Entrant("Haystack", "haystack"),
)
