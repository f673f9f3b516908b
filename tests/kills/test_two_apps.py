"""Two whole apps and the command line on one data folder at the same time (what the stores alone do there is in
`tests/storage/test_two_processes.py`)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kills import peer

ROOT = Path(__file__).parents[2]
NOTHING = {"vector": 0, "keyword": 0}
ONCE = {"vector": 1, "keyword": 1}


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def services(data):
    services = peer.open_services(data)
    yield services
    services.close()


@pytest.fixture
def other(services, data):
    started = peer.Peer(data)
    yield started
    assert started.close() == 0


def text_of(word):
    return f"the {word} is in the drawer"


def both(services, other, words):
    """What both find, which must be the same, at their next search."""
    mine, theirs = peer.find(services, words), other("find", words)
    assert mine == theirs
    return mine


class CommandLine:
    """Runs beside everything else; `answer` waits for it."""

    def __init__(self, data, *arguments):
        environment = os.environ | {"FOOTNOTE_CHAT_MODEL": "echo", "FOOTNOTE_EMBEDDING_MODEL": "hashing"}
        self._process = subprocess.Popen(
            [sys.executable, "cli.py", "--data", str(data), "--json", *map(str, arguments)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self):
        text, _ = self._process.communicate(timeout=60)
        return self._process.returncode, json.loads(text)


@pytest.mark.timeout(300)
def test_h09_two_apps_and_the_command_line_do_50_mixed_operations_at_the_same_time(services, other, data, tmp_path):
    (tmp_path / "line.txt").write_text(text_of("cliword"))
    line = CommandLine(data, "ingest", tmp_path / "line.txt")
    ids = {}
    for number in range(8):  # an operation of each at the same time, then two more: 48, and three of the command line
        mine, theirs = f"mine{number}", f"theirs{number}"
        other.send("add", theirs, text_of(theirs))
        ids[mine] = peer.add(services, mine, text_of(mine))
        ids[theirs] = other.answer()
        assert (both(services, other, mine), both(services, other, theirs)) == (ONCE, ONCE)
        # Each goes on with what the other made.
        if number % 2:
            other.send("delete", ids[mine])
            peer.delete(services, ids[theirs])
            assert other.answer() == ids[mine]
            assert (both(services, other, mine), both(services, other, theirs)) == (NOTHING, NOTHING)
            other.send("undelete", ids[theirs])
            assert peer.undelete(services, ids[mine]) == ids[mine]
            assert other.answer() == ids[theirs]
            assert (both(services, other, mine), both(services, other, theirs)) == (ONCE, ONCE)
        else:
            other.send("add", mine, text_of(f"new{mine}"))
            assert peer.reindex(services, ids[theirs]) == "done"
            assert other.answer() == ids[mine]
            assert (both(services, other, mine), both(services, other, f"new{mine}")) == (NOTHING, ONCE)
            other.send("ask", f"Where is the {theirs}?")
            assert (peer.ask(services, f"Where is the new{mine}?"), other.answer()) == ("complete", "complete")
    status, row = line.answer()
    assert (status, row["status"]) == (0, "indexed")
    assert both(services, other, "cliword") == ONCE
    line = CommandLine(data, "delete", row["document_id"])
    other.send("rename", "default", "renamed")
    assert other.answer() == "renamed"
    assert line.answer()[0] == 0
    assert both(services, other, "cliword") == NOTHING
    jobs = services.library.jobs()
    assert {job.state for job in jobs} == {"done"}
    assert {job.attempts for job in jobs} == {1}  # each was run by exactly one of them
    assert len({job.result["document_id"] for job in jobs}) == 17
    assert {document.collection for document in services.library.documents()} == {"renamed"}
    assert (peer.check(services), other("check"), CommandLine(data, "check").answer()[0]) == ([], [], 0)
