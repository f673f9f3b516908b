"""A part of the kills (`python -m tests.kills` does them all): each kind of fault point once, and random moments."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = 28

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork"),
    pytest.mark.timeout(900),  # half a minute on a machine that has nothing else to do
]

ADDED = {"file written", "file synced", "original renamed", "original put", "job added", "job claimed", "job finished"}
SAVED = {"text written", "segments written", "vectors written", "document row written", "before commit", "committed"}
# What each operation passes at the least: where a change of the code loses one, nothing is killed there any more.
MAIN_POINTS = {
    "upload": ADDED | SAVED,
    "upload long": ADDED
    | {"part's text written", "part's segments written", "part's vectors written", "part written"}
    | {"segments taken over", "segments published", "text published", "document row written", "committed"},
    "duplicate": ADDED | {"document row written", "committed"},
    "replace": ADDED | SAVED | {"old text deleted"},
    "re-index": {"job added", "job claimed", "committed", "job finished"},
    "re-index long": {"part written", "text published", "committed", "job finished"},
    "stop": {"job stop"},
    "delete": {"deleted document kept", "document row deleted", "text hidden", "before commit", "committed"},
    "undelete": {"document row written", "deleted document forgotten", "text shown", "committed"},
    "purge": {"deleted document forgotten", "text deleted", "committed", "original removed"},
    "rename collection": {"before commit", "committed"},
    "delete collection": {"deleted document kept", "text hidden", "committed"},
    "ask": {"turn added", "answer claimed", "answer searching", "answer reading", "answer complete: before commit"},
    "forget": {"conversation deleted"},
    "settings": {"setting saved"},
    "backup": {"database copied", "backup written", "backup renamed"},
    "restore": {"backup unpacked", "restored database opened", "restored folder renamed"},
    "upgrade": {"copy of the old database kept", "version 0002 done", "version 0003 done", "migrated"},
    "first start": {"version 0001 done", "migrated"},
    "close": {"job added", "index file saved", "postings file saved"},
    "start": {"job claimed", "vector index caught up", "keyword index caught up"},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """In a process of its own: it forks, which this one isn't fit for."""
    report = tmp_path_factory.mktemp("kills") / "report.json"
    command = [sys.executable, "-m", "tests.kills", "--kinds", "--kills", str(KILLS), "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    return done, json.loads(report.read_text())


@pytest.mark.parametrize("operation", MAIN_POINTS)
def test_c02_an_operation_passes_its_fault_points(run, operation):
    passed = {point["point"] for point in run[1]["points"] if point["operation"] == operation}
    assert MAIN_POINTS[operation] <= passed


def test_c02_killed_anywhere_nothing_is_lost_or_half_indexed(run):
    done, report = run
    assert [kill["problems"] for kill in report["kills"] if kill["problems"]] == []
    assert len(report["kills"]) >= KILLS
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(kill["reached"] for kill in report["kills"]) >= KILLS - 3  # timing may leave one out
