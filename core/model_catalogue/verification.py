"""Is a model really what the catalogue says? Each file is read once; its size, time and checksum are then remembered.

The record lies beside the model (`chat/<name>.verified.json`), so that a start doesn't read a gigabyte again. A file
whose size or time has changed since is read again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path

from core.model_catalogue.model import CatalogueModel, State
from core.model_catalogue.watch import bytes_in

logger = logging.getLogger(__name__)

READ_BYTES = 4 * 1024 * 1024


def work_folder(model: CatalogueModel, models_dir: Path) -> Path:
    """Where a fetch keeps what it has so far."""
    return models_dir / "fetching" / model.name


def state(model: CatalogueModel, models_dir: Path) -> State:
    """`present`, `missing`, `partial` or `damaged`. Reads files that are new here: seconds for a large one."""
    paths = model.paths_in(models_dir)
    found = [path.is_file() for path in paths]
    if not all(found):
        return "partial" if any(found) or bytes_in(work_folder(model, models_dir)) else "missing"
    if any(path.stat().st_size != file.bytes for path, file in zip(paths, model.files, strict=True)):
        return "damaged"
    return "present" if _checksums(model, models_dir) == [file.sha256 for file in model.files] else "damaged"


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def remember(model: CatalogueModel, models_dir: Path) -> None:
    """Note that the files in place were just checked and are those of the catalogue."""
    paths = model.paths_in(models_dir)
    record = {file.path: _entry(path, file.sha256) for file, path in zip(model.files, paths, strict=True)}
    _write_record(_record_path(model, models_dir), record)


def _checksums(model: CatalogueModel, models_dir: Path) -> list[str]:
    """The checksum of each file, from the record where it still holds."""
    known = _read_record(_record_path(model, models_dir))
    record = {}
    for file, path in zip(model.files, model.paths_in(models_dir), strict=True):
        entry = known.get(file.path)
        holds = isinstance(entry, dict) and entry == _entry(path, entry.get("sha256"))
        record[file.path] = entry if holds else _entry(path, sha256_of(path))
    if record != known:
        _write_record(_record_path(model, models_dir), record)
    return [record[file.path]["sha256"] for file in model.files]


def _record_path(model: CatalogueModel, models_dir: Path) -> Path:
    return models_dir / model.kind / f"{model.name}.verified.json"


def _entry(path: Path, sha256: str) -> dict:
    status = path.stat()
    return {"bytes": status.st_size, "modified_ns": status.st_mtime_ns, "sha256": sha256}


def _read_record(path: Path) -> dict:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _write_record(path: Path, record: dict) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(record, indent=1), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        # A models folder that can't be written is fine; its files are then read at every start.
        logger.info("can't remember the checksums of %s: %s", path.parent.name, error)
