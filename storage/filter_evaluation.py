"""Which segments a filter matches, asked once for each different set of values under the filter's keys.

A hundred thousand segments of documents in ten collections, with page numbers up to twenty, are two hundred questions
for a filter on both, and ten for one on the collection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from core.filters import And, Filter
from core.metadata import Metadata
from storage.document_metadata import merged
from storage.document_views import DocumentViews
from storage.segment_columns import FREE, NO_PLACE, SegmentColumns


def needs_own_metadata(columns: SegmentColumns, documents: DocumentViews, filter: Filter) -> bool:
    """Whether a segment's own metadata, its place in the document apart, can change the answer."""
    own_keys = (filter.keys() & documents.own_keys) - {"index"}
    return bool(own_keys) or bool((columns.texts == FREE).any())


def matching_ids(
    columns: SegmentColumns, own_metadata: Sequence[str], documents: DocumentViews, filter: Filter
) -> np.ndarray:
    """Ids of the segments that the filter matches, as one of their documents shows them; int64, ascending.

    own_metadata  what `columns.own` counts, as JSON
    raises        ConfigError where the filter compares a value with one of another type
    """
    keys = sorted(filter.keys())
    # What can be said of the document alone is said once, and spares asking about its segments.
    parts = list(_conjuncts(filter))
    about_documents = [part for part in parts if part.keys().isdisjoint(documents.own_keys)]
    about_segments = [part for part in parts if not part.keys().isdisjoint(documents.own_keys)]
    groups, group_of_row = _documents_of_rows(columns, documents, about_documents, keys)
    owns, own_of_row = _own_of_rows(columns, own_metadata, keys)
    places, place_of_row = _places_of_rows(columns, keys)
    sizes = (len(groups), len(owns), len(places))
    asked, question_of_row = np.unique(
        np.ravel_multi_index((group_of_row, own_of_row, place_of_row), sizes), return_inverse=True
    )
    answers = np.zeros(len(asked), dtype=bool)
    for number, (group, own, place) in enumerate(zip(*np.unravel_index(asked, sizes), strict=True)):
        whole = [filter] if groups[group] is None else about_segments
        answers[number] = _matches(whole, groups[group], _with_place(owns[own], places[place]))
    return columns.ids[answers[question_of_row]]


def _documents_of_rows(
    columns: SegmentColumns, documents: DocumentViews, about_documents: Sequence[Filter], keys: Sequence[str]
) -> tuple[list[list[Metadata] | None], np.ndarray]:
    """Groups of texts whose documents look the same under the keys, and the group of each row.

    A group is what is left of the documents by the filters that are about them alone; None for free entries.
    """
    text_ids, text_of_row = np.unique(columns.texts, return_inverse=True)
    groups: dict[str, int] = {}
    members: list[list[Metadata] | None] = []
    group_of_text = np.zeros(len(text_ids), dtype=np.int64)
    for number, text_id in enumerate(text_ids.tolist()):
        seen = [[metadata.get(key) for key in keys] for metadata in documents.of_text.get(text_id, ())]
        name = "free" if text_id == FREE else repr(seen)  # repr tells 1 from True
        if name not in groups:
            groups[name] = len(members)
            candidates = [
                Metadata({key: value for key, value in zip(keys, values, strict=True) if value is not None})
                for values in seen
            ]
            members.append(
                None
                if text_id == FREE
                else [one for one in candidates if all(part.matches(one) for part in about_documents)]
            )
        group_of_text[number] = groups[name]
    return members or [None], group_of_text[text_of_row]


def _own_of_rows(
    columns: SegmentColumns, own_metadata: Sequence[str], keys: Sequence[str]
) -> tuple[list[Metadata], np.ndarray]:
    """The different own metadata under the keys, and which of them each row has."""
    if columns.own is None:
        return [Metadata()], np.zeros(len(columns.ids), dtype=np.int64)
    used, used_of_row = np.unique(columns.own, return_inverse=True)
    numbers: dict[str, int] = {}
    values: list[Metadata] = []
    number_of_used = np.zeros(len(used), dtype=np.int64)
    for place, own in enumerate(used.tolist()):
        seen = _under(keys, json.loads(own_metadata[own]))
        name = repr(seen)
        if name not in numbers:
            numbers[name] = len(values)
            values.append(Metadata.from_json(seen))
        number_of_used[place] = numbers[name]
    return values or [Metadata()], number_of_used[used_of_row]


def _places_of_rows(columns: SegmentColumns, keys: Sequence[str]) -> tuple[list[int], np.ndarray]:
    if "index" not in keys or not len(columns.ids):
        return [NO_PLACE], np.zeros(len(columns.ids), dtype=np.int64)
    places, place_of_row = np.unique(columns.positions, return_inverse=True)
    return places.tolist(), place_of_row


def _with_place(own: Metadata, place: int) -> Metadata:
    return own if place == NO_PLACE else own.copy().put("index", place)


def _matches(parts: Sequence[Filter], documents: Sequence[Metadata] | None, own: Metadata) -> bool:
    shown = [own] if documents is None else [merged(document, own) for document in documents]
    return any(all(part.matches(metadata) for part in parts) for metadata in shown)


def _under(keys: Sequence[str], values: Mapping[str, object]) -> dict[str, object]:
    return {key: values[key] for key in keys if key in values}


def _conjuncts(filter: Filter) -> Iterator[Filter]:
    if isinstance(filter, And):
        yield from _conjuncts(filter.left)
        yield from _conjuncts(filter.right)
    else:
        yield filter
