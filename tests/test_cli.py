"""The command line as a person or a cron line uses it: real services, real database, the shipped small strategies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cli

PUMP = "# Pump P1\n\nThe pump P1 costs 100 euros. It weighs 7 kg.\n"
VALVE = "# Valve V2\n\nThe valve V2 costs 200 euros and opens at 7 bar.\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """run(*arguments) -> (exit status, JSON values printed, standard error)."""
    monkeypatch.setenv("FOOTNOTE_CHAT_MODEL", "echo")
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "hashing")

    def run(*arguments: object):
        status = cli.main(["--data", str(tmp_path / "data"), "--json", *map(str, arguments)])
        out, err = capsys.readouterr()
        return status, [json.loads(line) for line in out.splitlines()], err

    return run


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / "pump.md").write_text(PUMP, encoding="utf-8")
    (folder / "deep" / "valve.md").write_text(VALVE, encoding="utf-8")
    return folder


def test_ingest_search_and_ask(run, folder):
    status, found, err = run("ingest", folder, "--recursive")
    assert (status, err) == (0, "")
    assert {(row["source"], row["status"]) for row in found} == {
        (str(folder / "pump.md"), "indexed"),
        (str(folder / "deep" / "valve.md"), "indexed"),
    }
    assert all(row["segments"] >= 1 and row["tokens"] > 0 and row["error"] == "" for row in found)

    status, [found], _ = run("search", "what does the valve cost")
    best = found["results"][0]
    assert (status, best["rank"], best["document"]) == (0, 1, "valve.md")
    assert "200 euros" in best["text"] and best["text"] == VALVE[best["start"] : best["end"]]
    assert {"cosine", "bm25"} <= best["scores"].keys()

    status, [answer], _ = run("ask", "How much does the valve V2 cost?")
    assert (status, answer["refused"]) == (0, False)
    assert "200 euros" in answer["answer"] and answer["sources"][0]["document"] == "valve.md"
    assert {"retrieval", "first_token", "total"} <= answer["timings"].keys()
    assert answer["sentences"][0]["support"] == "supported"


def test_a_conversation_goes_on(run, folder):
    run("ingest", folder, "--recursive")
    _, [first], _ = run("ask", "Tell me about the valve V2")
    _, [second], _ = run("ask", "And its price?", "--conversation", first["conversation"])
    assert second["conversation"] == first["conversation"]
    assert any(source["document"] == "valve.md" for source in second["sources"])


def test_the_same_folder_again_changed_and_pruned(run, folder):
    run("ingest", folder)
    assert [row["status"] for row in run("ingest", folder)[1]] == ["unchanged"]
    (folder / "pump.md").write_text(PUMP.replace("100", "120"), encoding="utf-8")
    (folder / "copy.md").write_text(PUMP.replace("100", "120"), encoding="utf-8")
    statuses = {row["source"].rsplit("/", 1)[1]: row["status"] for row in run("ingest", folder)[1]}
    assert statuses == {"copy.md": "indexed", "pump.md": "updated"}
    shared = {row["name"]: row["shared_with"] for row in run("documents")[1][0]["documents"]}
    assert shared == {"copy.md": ["pump.md"], "pump.md": ["copy.md"]}
    (folder / "copy.md").unlink()
    removed = [row["source"] for row in run("ingest", folder, "--prune")[1] if row["status"] == "removed"]
    assert removed == [str(folder / "copy.md")]
    _, [found], _ = run("search", "pump price euros")
    assert "120 euros" in found["results"][0]["text"]
    assert run("check")[:2] == (0, [{"ok": True, "problems": []}])


def test_one_file_under_two_spellings_is_one_document(run, folder, monkeypatch):
    (folder.parent / "link").symlink_to(folder)
    monkeypatch.chdir(folder.parent)
    run("ingest", "papers/pump.md")
    for place in ("papers/deep/../pump.md", "link/pump.md", "link", folder / "deep" / ".."):
        assert [(row["source"], row["status"]) for row in run("ingest", place)[1]] == [
            (str(folder / "pump.md"), "unchanged")
        ]
    assert len(run("documents")[1][0]["documents"]) == 1
    (folder / "pump.md").unlink()
    assert [row["status"] for row in run("ingest", "link", "--prune")[1]] == ["removed"]


def test_a_bad_file_is_named_and_the_rest_goes_on(run, folder):
    (folder / "empty.pdf").write_bytes(b"")
    status, found, err = run("ingest", folder, folder / "not there.txt")
    statuses = {row["source"].rsplit("/", 1)[1]: row["status"] for row in found}
    assert (status, statuses) == (1, {"pump.md": "indexed", "empty.pdf": "failed", "not there.txt": "failed"})
    assert len(err.splitlines()) == 2 and "empty.pdf" in err and "not there.txt" in err
    assert "Traceback" not in err


def test_lists_and_delete(run, folder):
    run("ingest", folder, "--collection", "machines")
    _, [found], _ = run("documents")
    [document] = found["documents"]
    assert (document["name"], document["collection"], document["type"]) == ("pump.md", "machines", "markdown")
    _, [found], _ = run("segments", document["id"])
    assert [segment["index"] for segment in found["segments"]] == list(range(document["segments"]))
    _, [found], _ = run("collections")
    assert ("machines", 1) in [(row["name"], row["documents"]) for row in found["collections"]]
    _, [found], _ = run("jobs")
    assert [job["state"] for job in found["jobs"]] == ["done"]
    assert run("delete", document["id"])[1] == [{"deleted": document}]
    assert run("search", "pump")[1][0]["results"] == []
    status, _, err = run("delete", document["id"])
    assert status == 1 and str(document["id"]) in err and len(err.splitlines()) == 1


def test_a_deleted_document_is_listed_and_comes_back_as_it_was_until_it_goes_for_good(run, folder):
    run("ingest", folder)
    _, [found], _ = run("documents")
    [document] = found["documents"]
    before = run("search", "pump")[1][0]["results"]
    run("delete", document["id"])
    _, [found], _ = run("deleted")
    assert [(row["id"], row["name"], row["segments"]) for row in found["deleted"]] == [(document["id"], "pump.md", 1)]
    assert run("undelete", document["id"])[:2] == (0, [{"undeleted": document}])
    assert run("search", "pump")[1][0]["results"] == before
    assert run("undelete", document["id"])[:2] == (0, [{"undeleted": document}])  # it's back already

    run("delete", document["id"])
    assert run("delete", document["id"], "--for-good")[0] == 0  # of what is deleted already
    assert run("deleted")[1] == [{"deleted": []}]
    status, found, err = run("undelete", document["id"])
    assert (status, found, len(err.splitlines())) == (1, [], 1) and "gone for good, or was never there" in err
    run("ingest", folder)
    [again] = run("documents")[1][0]["documents"]
    assert run("delete", again["id"], "--for-good")[1] == [{"deleted": again}]
    assert run("deleted")[1] == [{"deleted": []}]
    assert run("check")[:2] == (0, [{"ok": True, "problems": []}])


def test_each_command_says_in_one_line_that_the_data_folder_is_not_well_and_a_repair_mends_it(run, folder, tmp_path):
    import sqlite3

    run("ingest", folder, "--recursive")
    before = run("search", "valve opens")[1]
    connection = sqlite3.connect(tmp_path / "data" / "footnote.db", isolation_level=None)
    connection.execute("DELETE FROM vectors")
    connection.execute("UPDATE segments SET terms = 'nothing'")
    connection.close()
    status, _, err = run("documents")
    assert status == 0
    assert err.replace("valve.md", "pump.md") == (
        "the data folder isn't well: 1 segments of 'pump.md' have no vector and 1 more; "
        "run: python cli.py check --repair\n"
    )
    status, [found], _ = run("check")
    assert status == 1
    assert {problem["kind"] for problem in found["problems"]} >= {"missing_vectors", "wrong_terms"}
    status, (mended,), _ = run("check", "--repair")
    assert (status, mended["ok"], mended["problems"]) == (0, True, [])
    assert {problem["kind"] for problem in mended["mended"]} >= {"missing_vectors", "wrong_terms"}
    assert run("documents")[2] == ""
    after = run("search", "valve opens")[1]
    assert after[0]["results"] == before[0]["results"]


def test_a_person_who_deletes_reads_how_to_bring_it_back(show, folder, monkeypatch):
    show("ingest", folder)
    assert show("delete", 1)[:2] == (
        0,
        "deleted pump.md (1 segments); for 24 h this brings it back: python cli.py undelete 1\n",
    )
    assert "pump.md" in show("deleted")[1]
    assert show("undelete", 1)[1] == "pump.md is back (1 segments)\n"
    assert show("delete", 1, "--for-good")[1] == "deleted pump.md (1 segments), for good\n"
    monkeypatch.setenv("FOOTNOTE_UNDO_HOURS", "0")
    show("ingest", folder)
    assert show("delete", 2)[1] == "deleted pump.md (1 segments), for good\n"


def test_a_filter_is_json(run, folder):
    run("ingest", folder, "--recursive")
    _, [found], _ = run("search", "euros", "--filter", '{"key": "file_name", "equal": "pump.md"}')
    assert {row["document"] for row in found["results"]} == {"pump.md"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["nope"],
        ["search"],
        ["search", "x", "--filter", "{"],
        ["search", "x", "--filter", '{"like": 1}'],
        ["search", "x", "--retriever", "nope"],
        ["search", "x", "--limit", "0"],
        ["delete", "abc"],
        ["models", "fetch", "nope"],
    ],
)
def test_wrong_usage_is_2(run, arguments):
    status, found, err = run(*arguments)
    assert (status, found) == (2, []) and err and "Traceback" not in err


def test_backup_and_restore(run, folder, tmp_path, monkeypatch, capsys):
    run("ingest", folder, "--recursive")
    before = run("search", "valve opens")[1][0]["results"]
    assert run("backup", tmp_path / "all.zip")[0] == 0
    assert cli.main(["--data", str(tmp_path / "other"), "--json", "restore", str(tmp_path / "all.zip")]) == 0
    capsys.readouterr()
    assert cli.main(["--data", str(tmp_path / "other"), "--json", "search", "valve opens"]) == 0
    after = json.loads(capsys.readouterr().out)["results"]
    assert [(row["text"], row["scores"]) for row in after] == [(row["text"], row["scores"]) for row in before]


def test_evaluate(run, tmp_path):
    corpus = [{"id": f"d{i}", "title": f"Machine {i}", "text": f"Machine {i} weighs {i * 7} kg."} for i in range(1, 13)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text(
        json.dumps({"id": "q", "text": "How heavy is machine 3?"}), encoding="utf-8"
    )
    (tmp_path / "qrels.tsv").write_text("query_id\tcorpus_id\trel\nq\td3\t1\n", encoding="utf-8")
    files = [
        "--corpus",
        tmp_path / "corpus.jsonl",
        "--queries",
        tmp_path / "queries.jsonl",
        "--qrels",
        tmp_path / "qrels.tsv",
    ]
    status, [found], _ = run("evaluate", *files)
    assert status == 0
    assert [row["retriever"] for row in found["strategies"]] == ["vector", "keyword", "hybrid"]
    assert all(row["recall@5"] == 1.0 for row in found["strategies"] if row["retriever"] != "vector")
    assert found["strategies"][0].keys() >= {"retriever", "recall@5", "mrr@10", "ndcg@10", "ms_per_query"}


def test_strategies_and_models_are_listed(run):
    _, [found], _ = run("strategies")
    assert {"recursive"} <= found["strategies"]["splitter"].keys()
    assert all(text for names in found["strategies"].values() for text in names.values())
    _, [found], _ = run("models")
    assert {"qwen2.5-coder-1.5b", "all-minilm-l6-v2"} <= {row["name"] for row in found["models"]}


def test_options_may_stand_anywhere(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "hashing")
    assert cli.main(["documents", "--json", "--data", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"documents": []}


def test_a_newer_database_is_refused_and_left_alone(run, folder, tmp_path):
    import sqlite3

    run("ingest", folder)
    database = tmp_path / "data" / "footnote.db"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999_future'")
    connection.close()
    before = database.read_bytes()
    status, found, err = run("documents")
    assert (status, found, len(err.splitlines())) == (1, [], 1) and "newer" in err
    assert database.read_bytes() == before


def test_a43_a46_odd_names_are_one_line_and_a_copy_names_the_first(tmp_path, folder, monkeypatch, capsys):
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "hashing")
    (folder / "a\n\x1b[31m\u202eb.md").write_text("# Odd", encoding="utf-8")
    (folder / "deep" / "pump.md").write_text(PUMP, encoding="utf-8")
    assert cli.main(["--data", str(tmp_path / "data"), "ingest", str(folder), "--recursive"]) == 0
    lines = _lines(capsys)
    assert len(lines) == 4
    assert any(line.startswith(f"indexed        {folder}/a [31mb.md  1 segment, ") for line in lines)
    (copy,) = [line for line in lines if line.startswith("duplicate")]
    assert copy.endswith(f"same content as '{folder}/deep/pump.md'")
    assert "1 segment, " in copy


def _lines(capsys) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_h02_an_error_of_the_model_names_the_file_too(run, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", str(tmp_path / "gone"))
    status, [row], err = run("ingest", folder)
    assert (status, row["status"]) == (1, "failed")
    assert err.splitlines() == [f"{folder}/pump.md: {row['error']}"]
    assert str(tmp_path / "gone") in row["error"] and "FOOTNOTE_EMBEDDING_MODEL" in row["error"]


@pytest.fixture
def show(tmp_path, monkeypatch, capsys):
    """show(*arguments) -> (exit status, what a person sees, standard error)."""
    monkeypatch.setenv("FOOTNOTE_CHAT_MODEL", "echo")
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "hashing")

    def show(*arguments: object):
        status = cli.main(["--data", str(tmp_path / "data"), *map(str, arguments)])
        out, err = capsys.readouterr()
        return status, out, err

    return show


def test_a_person_sees_which_source_a_sentence_rests_on(show, folder):
    show("ingest", folder, "--recursive")
    status, out, _ = show("ask", "How much does the valve V2 cost?", "--collection", "default")
    assert status == 0
    assert out.splitlines()[:4] == [
        "The valve V2 costs 200 euros and opens at 7 bar [1].",
        "",
        "[1] valve.md, Valve V2",
        "    # Valve V2 The valve V2 costs 200 euros and opens at 7 bar.",
    ]
    assert "closest" not in out


def test_a_person_sees_the_closest_passages_of_a_refusal(show, folder):
    show("ingest", folder, "--recursive")
    _, out, _ = show("ask", "Who won the football championship in Norway?")
    answer, _, heading, first, *_ = out.splitlines()
    assert answer.startswith("The answer isn't in your documents.")
    assert (heading, first[:4]) == ("closest passages:", "[1] ")


def test_a_question_about_things_in_several_documents_is_answered(run, folder):
    (folder / "tank.md").write_text("# Tank T7\n\nThe tank T7 holds 300 litres of oil.\n", encoding="utf-8")
    (folder / "office.md").write_text("# Office\n\nThe office opens at 9, also in winter.\n", encoding="utf-8")
    run("ingest", folder, "--recursive")
    _, [answer], _ = run("ask", "Tell me all about V2 and P1 and T7")
    assert not answer["refused"]
    assert {source["document"] for source in answer["sources"]} >= {"valve.md", "pump.md", "tank.md"}
    assert run("ask", "Tell me all about V3 and P5 and T9")[1][0]["refused"]
    assert run("ask", "Which of V2 and P1 and T7 won the football final in Norway?")[1][0]["refused"]


def test_nothing_is_said_and_not_kept_silent(show, folder):
    (folder / "pump.md").unlink()
    for arguments in ([folder], [folder, "--glob", "*.pdf"], [folder, "--glob", "*.pdf", "--prune"]):
        status, out, err = show("ingest", *arguments)
        assert (status, out, len(err.splitlines())) == (0, "", 1) and "'**/*.md'" in err
    status, out, err = show("ingest", folder, "--glob", "**/*.md")
    assert (status, err) == (0, "") and "deep/valve.md" in out
    assert show("search", "valve", "--filter", '{"key": "file_name", "equal": "no"}')[1] == "nothing found\n"
    assert "100%" in show("jobs")[1]


@pytest.mark.parametrize("arguments", [["search", "valve"], ["ask", "valve?"], ["documents"]])
def test_an_unknown_collection_is_said_and_the_known_ones_named(show, folder, arguments):
    assert show(*arguments, "--collection", "machine")[::2] == (
        2,
        "unknown collection 'machine'; there are none yet, add documents with ingest\n",
    )
    show("ingest", folder, "--collection", "machines")
    show("ingest", folder / "pump.md")
    status, out, err = show(*arguments, "--collection", "machine")
    assert (status, out) == (2, "")
    assert err == "unknown collection 'machine'; choose one of 'default', 'machines'\n"


def test_a_filter_that_is_no_json_is_answered_with_an_example(show):
    status, _, err = show("search", "valve", "--filter", "page=3")
    assert (status, len(err.splitlines())) == (2, 1) and """--filter '{"key": "page", "equal": 3}'""" in err


def test_the_examples_of_the_help_stand_on_lines_of_their_own(show):
    lines = [line.strip() for line in show("--help")[1].splitlines()]
    assert "python cli.py ingest ~/papers --recursive" in lines
    assert 'python cli.py ask "When can I cancel?"' in lines


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("http://[bad", "no valid address"),
        ("HTTP://127.0.0.1:1/a", "private or local"),
        ("file:///etc/passwd", "only http:// and https://"),
        ("FTP://example.org/a", "only http:// and https://"),
        ("/dev/null", "isn't a regular file"),
        ("a" * 300, "can't be read"),
        ("not-there.txt", "doesn't exist"),
    ],
)
def test_a_place_that_cannot_be_read_is_one_row_and_the_rest_goes_on(run, folder, place, said):
    status, found, err = run("ingest", place, folder)
    assert (status, sorted(row["status"] for row in found)) == (1, ["failed", "indexed"])
    assert said in err and len(err.splitlines()) == 1


def test_a_number_beyond_64_bits_is_no_id(run):
    for command in ("delete", "segments"):
        for number in (2**63, 10**30):
            status, found, err = run(command, number)
            assert (status, found, len(err.splitlines())) == (1, [], 1)


@pytest.mark.parametrize("query", ["", "  ", "?!", "..."])
def test_a_query_without_a_word_finds_nothing(run, folder, query):
    run("ingest", folder)
    status, [found], _ = run("search", query)
    assert (status, found["results"]) == (0, [])


@pytest.mark.parametrize(
    "filter",
    [
        '{"not":' * 5000 + '{"key": "page", "equal": 1}' + "}" * 5000,
        '{"not":' * 200_000,
        '{"key": "page", "equal": NaN}',
        '{"key": "page", "in": [null]}',
        '{"key": "file_name", "greater": 3}',
        '{"key": "document_id", "equal": "x"}',
        '{"key": "page", "equal": ' + "9" * 5000 + "}",
    ],
)
def test_a_filter_that_cannot_work_is_one_sentence(run, folder, filter):
    run("ingest", folder)
    status, found, err = run("search", "pump", "--filter", filter)
    assert (len(err.splitlines()), "Traceback" in err) == (1, False)
    assert (status, found) == (2, [])


def test_a_filter_may_hold_any_whole_number(run, folder):
    run("ingest", folder)
    assert run("search", "pump", "--filter", '{"key": "document_id", "less": 1000000000000000000000}')[0] == 0


def test_a_mistyped_variable_is_named(run, monkeypatch):
    monkeypatch.setenv("FOOTNOTE_RETREIVER", "keyword")
    status, _, err = run("documents")
    assert status == 0 and "FOOTNOTE_RETRIEVER" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_what_nobody_foresaw_is_one_sentence_and_a_traceback_only_on_request():
    for debug, lines in (("", 1), ("1", 5)):
        with open("/dev/full", "w") as full:
            environment = os.environ | {"FOOTNOTE_DEBUG": debug}
            ended = subprocess.run(
                [sys.executable, cli.__file__, "strategies"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
        assert ended.returncode == 1 and len(ended.stderr.splitlines()) >= lines
        assert ("Traceback" in ended.stderr) == bool(debug)
        assert "FOOTNOTE_DEBUG=1" in ended.stderr
