"""Splitters: a document into segments, each an exact slice. A new one is one file and one line here; see README.md."""

from core.splitters.character import CharacterSplitter
from core.splitters.line import LineSplitter
from core.splitters.paragraph import ParagraphSplitter
from core.splitters.recursive import RecursiveSplitter
from core.splitters.sentence import SentenceSplitter
from core.splitters.word import WordSplitter

SPLITTERS = {
    "recursive": RecursiveSplitter,
    "paragraph": ParagraphSplitter,
    "line": LineSplitter,
    "sentence": SentenceSplitter,
    "word": WordSplitter,
    "character": CharacterSplitter,
}
