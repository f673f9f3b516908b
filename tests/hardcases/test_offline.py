"""Nothing leaves this machine, and a first start without internet says what is missing: whole runs of the program.

Each run is a process of its own under the guard of the browser tests, which writes down every attempt to look a host up
or to connect to one. What tells the libraries to stay offline in other tests isn't set here: the product has to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUARD = ROOT / "tests" / "e2e" / "guard"
TINY, MINILM = "smollm2-135m", "all-minilm-l6-v2"
PAGE = """<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html><head><link rel="stylesheet" href="http://style.example/a.css"><base href="http://base.example/"></head>
<body><img src="http://picture.example/a.png"><p>The gate code is 9917.</p></body></html>"""


@pytest.fixture
def run(tmp_path):
    """run(*arguments, FOOTNOTE_…=…) -> (exit status, JSON values printed, standard error, hosts it tried to reach)."""
    connections = tmp_path / "connections.txt"

    def run(*arguments: object, **environment: str):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
        environment = {"FOOTNOTE_CHAT_MODEL": "echo", "FOOTNOTE_EMBEDDING_MODEL": "hashing"} | environment
        environment |= {"PYTHONPATH": str(GUARD), "FOOTNOTE_TEST_CONNECTIONS": str(connections)}
        done = subprocess.run(
            [sys.executable, "cli.py", "--data", str(tmp_path / "data"), "--json", *map(str, arguments)],
            cwd=ROOT,
            env=kept | environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        tried = connections.read_text(encoding="utf-8").splitlines() if connections.exists() else []
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr, tried

    return run


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    (folder / "picture.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg">'
        '<image href="http://picture.example/b.png"/><text>A red pump.</text></svg>'
    )
    (folder / "links.md").write_text("![a](http://picture.example/c.png) The valve is blue.", encoding="utf-8")
    return folder


def test_g10_reading_and_answering_reach_for_nothing(run, folder):
    status, rows, err, tried = run("ingest", folder)
    assert (status, {row["status"] for row in rows}, err, tried) == (0, {"indexed"}, "", [])
    status, [answer], err, tried = run("ask", "What is the gate code?")
    assert (status, err, tried) == (0, "", [])
    assert "9917" in answer["answer"]


@pytest.mark.real_model(TINY, MINILM)
def test_g10_h01_with_the_real_models_here_nothing_is_reached_for_either(run, folder):
    models = {"FOOTNOTE_CHAT_MODEL": TINY, "FOOTNOTE_EMBEDDING_MODEL": MINILM}
    status, rows, err, tried = run("ingest", folder, **models)
    assert (status, {row["status"] for row in rows}, err, tried) == (0, {"indexed"}, "", [])
    status, [answer], _, tried = run("ask", "What is the gate code?", **models, FOOTNOTE_MAX_ANSWER_TOKENS="16")
    assert (status, answer["state"] in ("complete", "cut"), tried) == (0, True, [])
    assert answer["sources"][0]["document"] == "page.html"


def test_h01_without_models_and_network_each_command_says_what_to_fetch_and_words_are_searched(run, folder, tmp_path):
    assert run("ingest", folder)[0] == 0
    none = {"FOOTNOTE_MODELS": str(tmp_path / "none"), "FOOTNOTE_CHAT_MODEL": "", "FOOTNOTE_EMBEDDING_MODEL": ""}
    status, rows, err, tried = run("ingest", folder / "links.md", **none)
    assert (status, rows[0]["status"], tried) == (1, "failed", [])
    assert "python cli.py models fetch all-minilm-l6-v2" in rows[0]["error"]
    assert [line.startswith(str(folder / "links.md")) for line in err.splitlines()] == [True]

    status, [found], err, tried = run("search", "gate code", **none)
    assert (status, found["results"][0]["document"], tried) == (0, "page.html", [])
    assert "models fetch all-minilm-l6-v2" in err and len(err.splitlines()) == 1

    status, [answer], err, tried = run("ask", "What is the gate code?", **none)
    assert (status, answer["state"], answer["sources"][0]["document"], tried) == (1, "failed", "page.html", [])
    assert "python cli.py models fetch qwen2.5-coder-1.5b" in err and "Traceback" not in err

    status, [found], err, tried = run("models", **none)
    assert (status, {row["state"] for row in found["models"]}, err, tried) == (0, {"missing"}, "", [])
