"""Models from Hugging Face at a fixed revision, by its own library in a process of its own.

In its own process because the app runs with HF_HUB_OFFLINE=1, which the library reads once, and because a stop must end
it at once. Whether the hub answers is found out first, within seconds: the library alone would try for minutes.
"""

from __future__ import annotations

import os
import queue
import ssl
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from core.errors import ModelError
from core.model_catalogue.model import CatalogueModel, HuggingFaceSource
from core.model_catalogue.tool import run_tool
from core.model_catalogue.watch import Watch, bytes_in

ANSWER_S = 4.0

_SCRIPT = """
import sys
from huggingface_hub import hf_hub_download
repo, revision, folder, *paths = sys.argv[1:]
for path in paths:
    hf_hub_download(repo, path, revision=revision, local_dir=folder)
"""


def answers(url: str, *, timeout_s: float = ANSWER_S) -> bool:
    """Whether anything speaks HTTP at `url` (through the system's proxy), decided within `timeout_s`."""
    result: queue.Queue[bool] = queue.Queue()
    # A thread, because looking up a host's name heeds no timeout.
    threading.Thread(target=lambda: result.put(_ask(url, timeout_s)), daemon=True).start()
    try:
        return result.get(timeout=timeout_s)
    except queue.Empty:
        return False


def _ask(url: str, timeout_s: float) -> bool:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=timeout_s):
            return True
    except urllib.error.HTTPError:
        return True
    except urllib.error.URLError as error:
        # It answers; whether its certificate is good is for the library to judge, which knows the system's own store.
        return isinstance(error.reason, ssl.SSLCertVerificationError)
    except (OSError, ValueError):
        return False


class HuggingFaceFetcher:
    """Fetches a model's files from its repository; huggingface_hub resumes a stopped download itself."""

    def __init__(self, is_reachable: Callable[[str], bool] = answers) -> None:
        self._is_reachable = is_reachable

    def needed_bytes(self, source: HuggingFaceSource, model: CatalogueModel, work: Path) -> int:
        """Disk still needed: what hasn't arrived yet."""
        return max(0, model.bytes - bytes_in(work / "hub"))

    def fetch(self, source: HuggingFaceSource, model: CatalogueModel, work: Path, watch: Watch) -> None:
        """Put the model's files into `work / "files"`. Raises ModelError when the hub can't be reached or refuses."""
        if not self._is_reachable(os.environ.get("HF_ENDPOINT", "https://huggingface.co")):
            raise ModelError("it can't be reached")
        hub = work / "hub"
        # Without xet, plain HTTP: what has arrived is visible as it grows and isn't fetched again after a stop.
        environ = os.environ | {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "0"}
        paths = [file.path for file in model.files]
        command = [sys.executable, "-P", "-c", _SCRIPT, source.repo, source.revision, str(hub), *paths]
        run_tool(command, environ=environ, folder=hub, done_before=0, watch=watch)
        for path in paths:
            target = work / "files" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            (hub / path).replace(target)
