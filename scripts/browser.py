"""Finds a Chromium for the browser tests, or installs one: `python -m scripts.browser`. Nothing else needs it.

What is there is taken first: a browser on the PATH, then the one that Playwright keeps for itself. Else it installs
Debian's package when root on Debian, Playwright's own build elsewhere. Prints one line; exit status 1 if there's none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MACOS_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
INSTALL_S = 900


def find_chromium() -> str | None:
    """Path of a Chromium that Playwright can drive, or None."""
    for candidate in (*map(shutil.which, NAMES), *MACOS_APPS):
        if candidate and Path(candidate).is_file():
            return candidate
    kept = playwright_chromium()
    return kept if kept and Path(kept).is_file() else None


def playwright_chromium() -> str | None:
    """Where Playwright keeps its own Chromium, whether or not it is there."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        return None
    try:
        with sync_playwright() as playwright:
            return playwright.chromium.executable_path
    except Error:
        return None


def install_chromium() -> str | None:
    """Install one; the reason when that fails."""
    on_debian = Path("/etc/debian_version").exists() and shutil.which("apt-get")
    if on_debian and hasattr(os, "geteuid") and os.geteuid() == 0:
        run(["apt-get", "update"])
        reason = run(["apt-get", "install", "-y", "--no-install-recommends", "chromium"])
        if reason is None:
            return None
    return run([sys.executable, "-m", "playwright", "install", "chromium"])


def run(command: list[str]) -> str | None:
    """None when the command went well, else its last line."""
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        result = subprocess.run(
            command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_S
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} took longer than {INSTALL_S} s"
    lines = (result.stdout + result.stderr).strip().splitlines()
    return None if result.returncode == 0 else (lines or ["no reason given"])[-1]


def main() -> int:
    found = find_chromium()
    if found is None:
        print("Installing Chromium for the browser tests …", flush=True)
        reason = install_chromium()
        found = find_chromium()
        if found is None:
            print(f"Chromium could not be installed ({reason}); the browser tests are skipped.", file=sys.stderr)
            return 1
    print(f"Browser tests use {found}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
