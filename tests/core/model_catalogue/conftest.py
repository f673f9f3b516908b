"""Small models and the wheels that carry them, made by the test itself."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from core.errors import ModelError
from core.model_catalogue.model import CatalogueModel, ModelFile, PackageSource
from core.model_catalogue.watch import Watch

PARTS = (b"GGUF one,", b"two,", b"three")


class Index:
    """A package index in memory: gives wheels by requirement, notes what it was asked for."""

    def __init__(self, wheels: dict[str, dict[str, bytes]]) -> None:
        self.wheels = wheels
        self.asked: list[str] = []

    def download(self, requirement: str, folder: Path, done_before: int, watch: Watch) -> Path:
        self.asked.append(requirement)
        watch.report(done_before)
        if requirement not in self.wheels:
            raise ModelError(f"No matching distribution found for {requirement}")
        wheel = folder / f"{requirement.partition('==')[0]}-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for member, data in self.wheels[requirement].items():
                archive.writestr(member, data)
        return wheel


@pytest.fixture
def index() -> Index:
    return Index({f"carrier-part{n}==1": {f"carrier/part{n:02d}.bin": data} for n, data in enumerate(PARTS, start=1)})


@pytest.fixture
def model() -> CatalogueModel:
    whole = b"".join(PARTS)
    return CatalogueModel(
        name="small",
        title="A small model",
        kind="chat",
        files=(ModelFile("small.gguf", len(whole), hashlib.sha256(whole).hexdigest()),),
        licence="MIT",
        sources=(PackageSource(tuple(f"carrier-part{n}==1" for n in (1, 2, 3)), "carrier/part{part:02d}.bin"),),
    )
