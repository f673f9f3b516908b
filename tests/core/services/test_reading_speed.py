"""The estimate of a wait: learned, dearer further back in the context, the same after a restart."""

import pytest

from core.chat_models.echo import EchoChatModel
from core.chat_models.tuning import Tuning
from core.services.model_figures import ModelFigures
from core.services.reading_speed import ReadingSpeed
from storage.database import Database
from storage.measurements import SqliteMeasurementStore

BASE, SLOPE = 0.01, 2e-6  # seconds of a token, and for each one before it


def seconds(tokens, known=0):
    return tokens * (BASE + SLOPE * (known + tokens / 2))


def taught(speed):
    for known, tokens in ((0, 900), (900, 120), (1800, 400), (300, 1200), (2500, 700), (0, 200)):
        speed.learn(tokens, seconds(tokens, known), known=known)
    return speed


def test_it_learns_what_a_token_costs_and_how_much_more_behind_a_long_context():
    speed = taught(ReadingSpeed(60.0))
    for tokens, known in ((1000, 0), (100, 3000), (500, 1500)):
        assert speed.seconds(tokens, known=known) == pytest.approx(seconds(tokens, known), rel=0.1)
    assert speed.seconds(100, known=3000) > 1.2 * speed.seconds(100)


def test_only_unread_tokens_count_and_none_take_no_time():
    speed = taught(ReadingSpeed())
    assert speed.seconds(0, known=4000) == 0
    assert speed.seconds(120, known=1440) < speed.seconds(1560) / 5


def test_too_few_tokens_teach_nothing():
    speed = ReadingSpeed(50.0)
    before = speed.seconds(1000)
    assert not speed.learn(31, 30.0)
    assert not speed.learn(100, 0.0)
    assert speed.seconds(1000) == before


def test_noise_never_makes_a_wait_negative():
    speed = ReadingSpeed(100.0)
    for known, tokens, took in ((0, 1000, 60.0), (3000, 1000, 1.0), (0, 1000, 80.0), (3000, 1000, 0.5)):
        speed.learn(tokens, took, known=known)
        assert 0 < speed.seconds(100) <= speed.seconds(100, known=4000)


def test_after_a_restart_the_estimate_is_the_learned_one(tmp_path):
    model = EchoChatModel()
    with Database(tmp_path) as database:
        figures = ModelFigures(SqliteMeasurementStore(database))
        for known, tokens in ((0, 900), (900, 120), (1800, 400)):
            figures.learn_reading(model, tokens, seconds(tokens, known), known=known)
        learned = figures.speed(model).seconds(1240, known=300)
        assert learned != ReadingSpeed().seconds(1240, known=300)
    with Database(tmp_path) as database:
        again = ModelFigures(SqliteMeasurementStore(database))
        assert again.speed(model).seconds(1240, known=300) == learned
        # Another model, or another number of threads, has learned nothing yet.
        fresh = ReadingSpeed().seconds(1240)
        assert again.speed(EchoChatModel(name="other")).seconds(1240) == fresh
        assert ModelFigures(SqliteMeasurementStore(database), threads=1).speed(model).seconds(1240) == fresh


def test_the_first_guess_comes_from_the_calibration():
    figures, model = ModelFigures(), EchoChatModel()
    figures.keep_tuning(model, Tuning(2, 2, 128, 92.0, 28.0))
    assert figures.speed(model).seconds(92) == pytest.approx(1, rel=0.02)


def test_a_record_that_is_not_whole_is_measured_again(tmp_path):
    model = EchoChatModel()
    with Database(tmp_path) as database:
        store = SqliteMeasurementStore(database)
        kept = ModelFigures(store)
        kept.keep_tuning(model, Tuning(2, 1, 128, 92.0, 28.0, 1.2, 1.5, True))
        assert ModelFigures(store).tuning(model) == Tuning(2, 1, 128, 92.0, 28.0, 1.2, 1.5, True)
        name = kept._name("tuning", model)
        for broken in ({}, {"read_threads": "many"}, {**Tuning(0, 1, 1, 1.0, 1.0).to_json()}):
            store.put(name, broken)
            assert ModelFigures(store).tuning(model) is None
        store.put(kept._name("reading", model), {"guess": 0})
        assert ModelFigures(store).speed(model).seconds(60) == ReadingSpeed().seconds(60)
