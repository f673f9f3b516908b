"""Files to add, made from a number: the same number and version are the same bytes in every process of a run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pymupdf

KINDS = ("txt", "md", "html", "csv", "pdf")
LONG = 100  # sentences; longer files are read and kept in parts
COMMON = "kilnstone"  # every segment of every file has this word, so that one search asks for all of them
_WORDS = (
    "amber basin cobalt delta ember fjord garnet harbor indigo jasper kestrel lantern meadow nickel opal pebble quartz "
    "ripple saffron timber umber violet willow xenon yarrow zephyr anchor bridge copper drift engine falcon glacier"
).split()


@dataclass(frozen=True)
class Content:
    """Version 2 shares two sentences of three with version 1, so that some segments stay and some don't."""

    kind: str
    number: int
    version: int = 1
    sentences: int = 12

    @property
    def name(self) -> str:
        """Names it in the ledger."""
        return f"{self.kind}-{self.number}-{self.version}-{self.sentences}"

    @property
    def mark(self) -> str:
        """A word that only versions of this file have."""
        return f"{self.kind}mark{self.number}"

    @cached_property
    def data(self) -> bytes:
        lines = [self._sentence(place) for place in range(self.sentences)]
        match self.kind:
            case "md":
                return "".join(f"# Part {n}\n\n{line}\n\n" for n, line in enumerate(lines)).encode()
            case "html":
                return ("<html><body>" + "".join(f"<p>{line}</p>" for line in lines) + "</body></html>").encode()
            case "csv":
                rows = [f"{n};{line}" for n, line in enumerate(lines)]
                return "\n".join(["place;sentence", *rows]).encode()
            case "pdf":
                return _pdf(lines)
        return "\n\n".join(lines).encode()

    def _sentence(self, place: int) -> str:
        version = self.version if place % 3 == 0 else 1
        chosen = random.Random(f"{self.kind} {self.number} {place} {version}").choices(_WORDS, k=14)
        return f"The {COMMON} of {self.mark} in place {place} is edition {version}: {' '.join(chosen)} {COMMON}."


def content_named(name: str) -> Content:
    kind, *numbers = name.split("-")
    return Content(kind, *map(int, numbers))


def pool(small: int, long: Sequence[tuple[str, int]]) -> list[Content]:
    """Contents that share no sentence: short ones, each in two versions, and long ones by (kind, sentences)."""
    chosen = [Content(KINDS[number % len(KINDS)], number, version) for number in range(small) for version in (1, 2)]
    return chosen + [Content(kind, small + number, 1, sentences) for number, (kind, sentences) in enumerate(long)]


def _pdf(lines: list[str]) -> bytes:
    per_page = 12 if len(lines) <= LONG else 2  # a long one has many pages, which is what it is read by
    with pymupdf.open() as document:
        for start in range(0, len(lines), per_page):
            document.new_page().insert_textbox(
                (60, 60, 540, 780), "\n\n".join(lines[start : start + per_page]), fontsize=10
            )
        return document.tobytes(no_new_id=True)
