"""What all tests share: what is skipped and said to be, and settings that must stand before torch or faiss is imported.

`@pytest.mark.browser` tests need a Chromium (fixture `chromium_path`); `@pytest.mark.real_model` tests need models of
the catalogue (fixture `models_dir`). Where these are missing the tests are skipped, and the run's last lines say so.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

from core.model_catalogue import CATALOGUE, DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL, state
from core.settings import Settings
from scripts.browser import find_chromium

# Nothing imported above loads torch, faiss or the hub's library, which read these once.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
for _name in [name for name in os.environ if name.startswith("FOOTNOTE_")]:
    # The settings of the person who runs the tests aren't theirs; where the models lie is.
    if _name not in ("FOOTNOTE_MODELS", "FOOTNOTE_TEST_MODELS"):
        del os.environ[_name]

NO_MODELS = os.environ.get("FOOTNOTE_TEST_MODELS") == "none"

skipped: dict[str, int] = {}
"""How many tests were skipped for which reason."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what can't run here. Last, so that tests which -k or -m left out aren't counted."""
    for item in items:
        if reason := reason_to_skip(item):
            item.add_marker(pytest.mark.skip(reason=reason))
            skipped[reason] = skipped.get(reason, 0) + 1


def reason_to_skip(item: pytest.Item) -> str | None:
    for marker in item.iter_markers("real_model"):
        if NO_MODELS:
            return "FOOTNOTE_TEST_MODELS=none"
        if missing := missing_models(marker.args or (DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL)):
            return f"{' and '.join(missing)} could not be fetched"
    return "no Chromium was found" if item.get_closest_marker("browser") and not browser() else None


@functools.cache
def browser() -> str | None:
    return find_chromium()


@functools.cache
def missing_models(names: tuple[str, ...]) -> list[str]:
    models = Settings.load().models
    return [name for name in names if state(CATALOGUE[name], models) != "present"]


def pytest_unconfigure(config: pytest.Config) -> None:
    """After pytest's own last line, so that nobody overlooks what didn't run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    for reason, count in skipped.items() if reporter else ():
        reporter.write_line(f"{count} tests were skipped: {reason}", yellow=True)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser to give to Playwright as `executable_path`."""
    found = browser()
    if found is None:
        pytest.skip("no Chromium was found")
    return found


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Where the real models lie."""
    return Settings.load().models
