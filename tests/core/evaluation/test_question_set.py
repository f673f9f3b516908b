import json

import pytest

from core.domain import ChatMessage
from core.errors import ConfigError
from core.evaluation.question_set import Entry, Question, load_question_set

CORPUS = [{"id": "d1", "title": "Pumps", "text": "A pump."}, {"id": "d2", "text": "A valve."}]
QUERIES = [{"id": "q1", "text": "pump?"}, {"id": "q2", "text": "nobody answers this"}]
QRELS = "query_id\tcorpus_id\trel\nq1\td1\t2\nq1\td2\t0\n"


def write(folder, corpus=CORPUS, queries=QUERIES, qrels=QRELS):
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        (folder / name).write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return load_question_set(folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels.tsv")


def test_questions_with_an_answer_and_all_entries(tmp_path):
    loaded = write(tmp_path)
    assert loaded.entries == (Entry("d1", "Pumps", "A pump."), Entry("d2", "", "A valve."))
    assert loaded.questions == (Question("q1", "pump?", {"d1": 2.0}),)
    assert [entry.as_markdown() for entry in loaded.entries] == ["# Pumps\n\nA pump.", "A valve."]


def test_history_in_both_forms(tmp_path):
    turns = ["first", {"speaker": "agent", "text": "answer"}, {"role": "user", "content": "second"}]
    (question,) = write(tmp_path, queries=[{"id": "q1", "text": "and?", "history": turns}]).questions
    assert question.history == (
        ChatMessage("user", "first"),
        ChatMessage("assistant", "answer"),
        ChatMessage("user", "second"),
    )


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"corpus": [CORPUS[0], CORPUS[0]]}, "corpus.jsonl, line 2: the id 'd1' stands there a second time"),
        ({"corpus": [{"id": "d1"}]}, "corpus.jsonl, line 1: the field 'text' is missing"),
        ({"qrels": "h\nq1\td9\t1\n"}, "qrels.tsv, line 2: the corpus has no entry 'd9'"),
        ({"qrels": "h\nq1 d1 1\n"}, "qrels.tsv, line 2: expected query_id, corpus_id and a number"),
        ({"qrels": "h\n"}, "none of the queries in 'queries.jsonl' has a relevant entry"),
        ({"queries": [{"id": "q1", "text": "a", "history": "b"}]}, "queries.jsonl, line 1: 'history' must be a list"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, broken, sentence):
    with pytest.raises(ConfigError, match=sentence):
        write(tmp_path, **broken)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"can't read 'corpus.jsonl'"):
        load_question_set(tmp_path / "corpus.jsonl", tmp_path / "q", tmp_path / "r")
