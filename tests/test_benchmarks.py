"""The machinery of `make bench`: what is scored, printed and said where something can't run. No peer is needed."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import own_measurements, side_by_side, tables
from benchmarks.__main__ import main
from benchmarks.contestants import ENTRANTS, Entrant
from benchmarks.contestants.run import ranked
from benchmarks.environment import FILES
from benchmarks.generated_set import generated_set
from benchmarks.question_files import BenchSet, load_sets, scores, write_entries, write_pdfs, write_texts
from benchmarks.side_by_side import Contest
from core.errors import ConfigError
from core.evaluation.question_set import Entry, Question

ROOT = Path(__file__).parent.parent
FOOTNOTE = ENTRANTS[0]


def test_scores_against_a_count_by_hand():
    questions = [Question("q1", "?", {"1": 1.0}), Question("q2", "?", {"2": 1.0, "3": 1.0})]
    ids = {f"{number}.txt": str(number) for number in range(1, 8)}
    rankings = [["4.txt", "1.txt"], ["4.txt", "5.txt", "6.txt", "7.txt", "1.txt", "2.txt"]]
    ideal = 1 + 1 / math.log2(3)
    assert scores(rankings, questions, ids) == {
        "recall@5": pytest.approx((1 + 0) / 2),
        "ndcg@10": pytest.approx((1 / math.log2(3) + (1 / math.log2(7)) / ideal) / 2),
    }


def test_a_files_place_is_its_best_segments_and_enough_segments_are_asked_for():
    found = [f"{number // 8}.txt" for number in range(200)]  # eight segments a file
    asked = []

    def ask(question: str, limit: int) -> list[str]:
        asked.append(limit)
        return found[:limit]

    assert ranked(ask, "?", 200)[0] == [f"{number}.txt" for number in range(10)]
    assert asked == [30, 60, 120]
    asked.clear()
    assert ranked(lambda question, limit: asked.append(limit) or ["a.txt"], "?", 40)[0] == ["a.txt"]
    assert asked == [30, 60]


def test_generated_questions_have_one_right_entry_that_holds_what_they_name():
    one = generated_set(50, 30)
    texts = {entry.id: entry.as_markdown() for entry in one.entries}
    places = {entry.id: entry.title for entry in one.entries}
    assert len(set(places.values())) == 50 and len(one.questions) == 30
    for question in one.questions:
        (entry_id,) = question.relevant
        named = [id for id, place in places.items() if re.search(rf"\b{place}\b", question.text)]
        assert named == [entry_id]
        assert [id for id, text in texts.items() if places[entry_id] in text] == [entry_id]
    assert generated_set(50, 30) == one
    assert generated_set(50, 30, every=7).questions == one.questions[::7]


def test_entries_become_files_and_no_text_is_lost(tmp_path):
    entries = [Entry("a", "", "first text"), Entry("b", "Title", "second text"), Entry("c", "", "third")]
    for name in ("entries", "texts", "pdfs"):
        (tmp_path / name).mkdir()
    assert write_entries(entries, tmp_path / "entries") == {"00000.txt": "a", "00001.md": "b", "00002.txt": "c"}
    assert (tmp_path / "entries" / "00001.md").read_text() == "# Title\n\nsecond text"
    assert write_texts(entries, tmp_path / "texts", 2) == len("first text# Title\n\nsecond text\n\nthird")
    texts = [path.read_text() for path in sorted((tmp_path / "texts").iterdir())]
    assert texts == ["first text", "# Title\n\nsecond text\n\nthird"]
    write_pdfs(entries, tmp_path / "pdfs", 1)
    import pymupdf

    with pymupdf.open(tmp_path / "pdfs" / "00000.pdf") as document:
        assert document[0].get_text().split() == "first text # Title second text third".split()


def test_a_set_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"holds no question set: a folder with corpus\.jsonl, queries\.jsonl, qrels"):
        load_sets(tmp_path)
    with pytest.raises(ConfigError, match=r"there is no question set 'x' in .*; there are none"):
        load_sets(tmp_path, ["x"])
    with pytest.raises(ConfigError, match="holds no question set"):
        load_sets(tmp_path / "missing")


def test_at_most_so_many_questions_are_taken_evenly_spread(tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"id": "a", "title": "", "text": "x"}\n')
    (folder / "queries.jsonl").write_text("".join(f'{{"id": "{n}", "text": "?"}}\n' for n in range(11)))
    (folder / "qrels.tsv").write_text("q\tc\trel\n" + "".join(f"{n}\ta\t1\n" for n in range(11)))

    def asked(**options) -> list[str]:
        return [question.id for question in load_sets(tmp_path, **options)[0].questions]

    assert asked(most=4) == asked(every=3) == ["0", "3", "6", "9"]
    assert len(asked(most=11)) == 11


def test_footnote_takes_part_from_files_to_rankings(tmp_path):
    """A real process, the real services; the hashing model knows words, so that each question finds its text."""
    words = ["lantern", "harbour", "violin", "glacier", "orchard"]
    entries = tuple(Entry(f"e{word}", "", f"This text tells of a {word} and nothing else.") for word in words)
    questions = tuple(Question(word, f"What is told of the {word}?", {f"e{word}": 1.0}) for word in words)
    contest = Contest(None, model="hashing", entrants=[FOOTNOTE, Entrant("Peer", "langchain")])
    rows = side_by_side.search(contest, BenchSet("tiny", entries, questions))
    assert [row["retriever"] for row in rows[:-1]] == ["vector", "keyword", "hybrid"]
    default = next(row for row in rows if row.get("is_default"))
    assert (default["retriever"], default["recall@5"], default["ndcg@10"]) == ("hybrid", 1.0, 1.0)
    assert default["segments"] == default["questions"] == 5
    assert 0 < default["median_ms"] <= default["p95_ms"] and default["peak_ingest_mb"] > 50
    assert rows[-1] == {"set": "tiny", "contestant": "Peer", "failed": "its environment is missing"}
    assert "Peer  not run: its environment is missing" in tables.search_table(rows)
    assert tables.verdicts(rows) == []


def test_a_peer_whose_package_is_missing_is_one_line(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    contest = Contest(Path(sys.executable), model="hashing")
    assert contest.run(Entrant("LangChain", "langchain"), tmp_path) == {
        "failed": "the package langchain_classic is missing"
    }
    assert contest.run(Entrant("Odd", "footnote", options={"colour": "red"}), tmp_path)["failed"].startswith(
        "TypeError: "
    )


def test_ingest_table_sets_everyone_beside_the_first_row():
    row = {
        "precision": "float32",
        "threads": 2,
        "lowest": 1.0,
        "highest": 3.0,
        "characters_per_s": 5000.0,
        "segments": 7,
        "peak_mb": 900.0,
        "load_s": 1.5,
    }
    rows = [
        {**row, "contestant": "Footnote", "seconds": 2.0, "tokens_read": 1000, "cut_share": 0.0},
        {**row, "contestant": "Other", "seconds": 3.0, "tokens_read": 500, "cut_share": 0.5},
        {"contestant": "Third", "failed": "the package x is missing"},
    ]
    header, own, other, third = tables.ingest_table(rows).splitlines()
    assert re.split(r"  +", header)[5:10] == ["x time", "characters/s", "cut", "x a token", "segments"]
    assert re.split(r"  +", own)[3:10] == ["2.0", "1.0 to 3.0", "1.00", "5,000", "0%", "1.00", "7"]
    assert re.split(r"  +", other)[3:10] == ["3.0", "1.0 to 3.0", "1.50", "5,000", "50%", "3.00", "7"]
    assert third == "Third  not run: the package x is missing"


def test_verdicts_name_the_best_of_each_and_say_where_footnote_is_not_above():
    def row(contestant: str, retriever: str, ndcg: float, is_default: bool = False) -> dict:
        names = ("set", "contestant", "retriever", "ndcg@10", "is_default")
        return dict(zip(names, ("s", contestant, retriever, ndcg, is_default), strict=True))

    rows = [row("Footnote", "vector", 0.9), row("Footnote", "hybrid", 0.8, True), row("A", "vector", 0.7, True)]
    rows += [row("A", "hybrid", 0.75), row("B", "vector", 0.6, True), row("B, FAISS", "vector", 0.85, True)]
    assert tables.verdicts(rows) == [
        "s: nDCG@10 0.800, A's best 0.750 (hybrid): above by 0.050",
        "s: nDCG@10 0.800, B's best 0.850 (vector): NOT above: -0.050",
    ]


def test_what_must_hold_is_told_of_everything_that_was_measured():
    speeds = {"tokens_read": 100, "seconds": 2.0, "contestant": "Footnote"}
    text = [speeds, {**speeds, "seconds": 3.0, "tokens_read": 50, "contestant": "LangChain"}]
    text.append({"contestant": "LlamaIndex", "failed": "missing"})
    found = {"machine": {"cores": "2"}, "ingest": {"ok": True, "must": "0.85"}, "soak": {"ok": False}}
    assert [re.split(r"  +", line) for line in tables.held({**found, "peers-ingest": {"text": text}}).splitlines()] == [
        ["table", "must", "held"],
        ["ingest", "0.85", "yes"],
        ["soak", "-", "NO"],
        ["peers-ingest", "2 times as fast as LangChain for what its model reads", "yes: 3.00 (time alone 1.50)"],
    ]
    assert tables.held({"machine": {"cores": "2"}}) == ""


def test_versions_are_told_once_a_family():
    rows = [
        {"contestant": "B", "versions": {"b": "1", "gone": ""}},
        {"contestant": "B, FAISS", "versions": {"b": "1"}},
        {"contestant": "C", "failed": "missing"},
    ]
    assert tables.versions(rows) == "B: b 1"


def test_own_figures_are_printed_flat_and_rows_as_tables():
    found = {"a": 1234567.0, "deep": {"b": 0.12345}, "rows": [{"x": 1}, {"x": None, "y": "z"}]}
    assert tables.own_table(found).splitlines() == [
        "figure   value",
        "a        1,234,567",
        "deep: b  0.1235",
        "",
        "rows",
        "x  y",
        "1  -",
        "-  z",
    ]


def test_a_measurement_gets_the_arguments_that_it_takes():
    def measure(sets: Path, files: list[Path], count: int = 3) -> dict:
        return {}

    offered = {"sets": "a", "files": ["b", "c"], "count": 5, "other": 1}
    found = own_measurements.accepted(measure, offered)
    assert found == {"sets": Path("a"), "files": [Path("b"), Path("c")], "count": 5}


def test_one_command_prints_and_writes_what_it_measured(tmp_path, capsys):
    """Without peers and models; an unknown table is named with what there is."""
    file = tmp_path / "found.json"
    (tmp_path / "sets").mkdir()
    assert main(["--sets", str(tmp_path / "sets"), "--only", "peers-search", "--json", str(file)]) == 1
    printed = capsys.readouterr()
    assert "processor" in printed.out and "torch" in printed.out
    assert printed.err.splitlines()[-1].startswith(f"{tmp_path / 'sets'} holds no question set")
    with pytest.raises(SystemExit):
        main(["--only", "speed"])
    assert "unknown 'speed'; choose from peers-ingest, peers-search, ingest" in capsys.readouterr().err


def test_every_requirement_is_pinned_under_a_line_with_its_reason_and_licence():
    requirements, constraints = (path.read_text(encoding="utf-8").splitlines() for path in FILES)
    pinned = dict(line.split("==") for line in requirements if line and not line.startswith("#"))
    for above, line in zip(["", *requirements], requirements, strict=False):
        if "==" in line:
            assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", line), line
            assert re.match(r"# .+; (MIT|Apache-2.0|BSD-3-Clause)", above), line
    others = dict(line.split("==") for line in constraints if not line.startswith("#"))
    assert others and not pinned.keys() & {name.lower().replace("_", "-") for name in others}
    own = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    for shared in ("torch", "sentence-transformers", "faiss-cpu"):
        assert f"{shared}=={pinned[shared]}\n" in own, f"the contestants must run the same {shared}"


def test_every_table_and_every_file_is_told_of_in_the_readme():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    named = {*own_measurements.MEASUREMENTS, "peers-ingest", "peers-search", "prompts.py", "answers.py", "checks.py"}
    assert [name for name in named if f"`{name}`" not in text] == []
    assert [entrant.name for entrant in ENTRANTS if entrant.name not in text] == []


def test_everything_that_measures_is_run_by_the_command():
    there = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "\ndef measure(" in path.read_text("utf-8")}
    assert there and there - own_measurements.MEASUREMENTS.keys() == set()


def test_no_contestant_is_imported_by_the_runner():
    """The peers' packages live in another environment."""
    code = "import sys, benchmarks.__main__; print([n for n in sys.modules if n.startswith('benchmarks.contestants.')])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout.replace("'", '"')) == []
